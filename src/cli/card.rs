//! `card`: what is known of how a number came about, and what differs between two.

use std::io::Write;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::args::CardArgs;
use super::reports::put_json;
use super::{End, named, say};
use crate::card::{self, Card, Change, Difference, Field, Kind, Part, fields};
use crate::text::{safe_line, thousands};
use crate::trace::Trace;

/// Characters of a value that are shown where not all is asked for.
const SHORT: usize = 48;

pub(super) fn card(args: &CardArgs) -> Result<End> {
    let mine = cards(&args.run)?;
    let Some(other) = &args.other else {
        return one(&mine, args);
    };
    let theirs = cards(other)?;
    let pairs = paired(&mine, &theirs)?;
    let differences = pairs.iter().map(|(a, b)| card::differ(&a.1, &b.1));
    let differences: Vec<Difference> = differences.collect();
    if args.json {
        let entry = |((a, b), difference): (&(&Named, &Named), &Difference)| json!({"a": a.1.value(), "b": b.1.value(), "difference": difference, "verdict": difference.verdict.words()});
        put_json(&json!({ "pairs": pairs.iter().zip(&differences).map(entry).collect::<Vec<_>>() }))?;
        return Ok(End::Done);
    }
    let mut out = say::out();
    for ((a, b), difference) in pairs.iter().zip(&differences) {
        two(a, b, difference, args.all, &mut out)?;
    }
    out.flush()?;
    Ok(End::Done)
}

/// A trace's name, and its card.
type Named = (String, Card);

/// The cards of all that a name stands for.
fn cards(name: &str) -> Result<Vec<Named>> {
    let mut cards = Vec::new();
    for trace in named::open(name)? {
        cards.extend(card::each(&trace)?.into_iter().map(|(_, card)| (title(&trace), card)));
    }
    if cards.is_empty() {
        bail!("{name} holds no rows");
    }
    Ok(cards)
}

fn title(trace: &Trace) -> String {
    let path = trace.path.as_ref().map(|path| path.display().to_string());
    path.unwrap_or_else(|| trace.name.clone())
}

/// Cards of the same benchmark; one card each where there is no other.
fn paired<'a>(a: &'a [Named], b: &'a [Named]) -> Result<Vec<(&'a Named, &'a Named)>> {
    if let ([a], [b]) = (a, b) {
        return Ok(vec![(a, b)]);
    }
    let exam = |card: &Named| card.1.text("benchmark");
    let pairs: Vec<_> = a
        .iter()
        .filter_map(|one| Some((one, b.iter().find(|other| exam(other) == exam(one))?)))
        .collect();
    if pairs.is_empty() {
        bail!("the two have no benchmark in common");
    }
    Ok(pairs)
}

fn one(cards: &[Named], args: &CardArgs) -> Result<End> {
    if args.json {
        let values: Vec<&Value> = cards.iter().map(|(_, card)| card.value()).collect();
        put_json(&json!({ "cards": values }))?;
        return Ok(End::Done);
    }
    let mut out = say::out();
    for (at, (title, card)) in cards.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        whole(title, card, args.all, &mut out)?;
    }
    out.flush()?;
    Ok(End::Done)
}

/// `procedure 3f9c12ab   slice b8c790c6   ...`.
fn hashes(card: &Card) -> String {
    let hash = |part: Part| format!("{} {}", part.name(), card.hash(part).map_or("-", card::short));
    Part::ALL.map(hash).join("   ")
}

fn whole(title: &str, card: &Card, all: bool, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}", safe_line(title))?;
    writeln!(
        out,
        "  {} · {}",
        safe_line(&card.text("model.name")),
        safe_line(&card.text("benchmark"))
    )?;
    writeln!(out, "  {}", hashes(card))?;
    let parts = Part::ALL.into_iter().map(Some).chain([None]);
    for part in parts {
        let own = fields::ALL
            .iter()
            .filter(|field| field.part == part && (all || part.is_some()));
        let known: Vec<_> = own.filter(|field| !card.get(field.name).is_null()).collect();
        if !known.is_empty() {
            writeln!(out, "{}", part.map_or("moves no number", Part::name))?;
        }
        for field in known {
            writeln!(out, "  {:30}  {}", field.name, value_text(card.get(field.name), all))?;
        }
    }
    let is_unknown = |field: &&Field| card.get(field.name).is_null() && field.kind != Kind::Label;
    let is_proved = card.hash(Part::Slice).is_some();
    for part in Part::ALL.into_iter().filter(|part| *part != Part::Slice || !is_proved) {
        let unknown = fields::ALL
            .iter()
            .filter(is_unknown)
            .filter(|field| field.part == Some(part));
        let names: Vec<&str> = unknown.map(|field| field.name).collect();
        if !names.is_empty() {
            writeln!(out, "unknown of the {}: {}", part.name(), names.join(", "))?;
        }
    }
    Ok(())
}

fn value_text(value: &Value, all: bool) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        value => card::shown(value),
    };
    if all {
        return safe_line(&text);
    }
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut short: String = if is_hash {
        card::short(&text).to_owned()
    } else {
        text.chars().take(SHORT).collect()
    };
    if !is_hash && short.len() < text.len() {
        short.push('…');
    }
    safe_line(&short)
}

fn two(a: &Named, b: &Named, difference: &Difference, all: bool, out: &mut impl Write) -> Result<()> {
    for (letter, (title, card)) in [("A", a), ("B", b)] {
        writeln!(out, "{letter} {}", safe_line(title))?;
        writeln!(out, "  {}", hashes(card))?;
    }
    writeln!(out, "{}", headline(difference))?;
    let (procedure, others) = difference.unknown.split_at(difference.unknown_procedure);
    let groups = [
        ("moves the number", difference.moved.as_slice()),
        ("another slice", &difference.slice),
        ("another model", &difference.model),
        ("may jitter", &difference.jitter),
        ("unknown on a side, which is never called equal", procedure),
    ];
    for (title, changes) in groups {
        group(title, changes, all, out)?;
    }
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|change| change.name).collect();
        writeln!(out, "unknown of model and environment: {}", names.join(", "))?;
    }
    if all {
        group("moves no number", &difference.irrelevant, all, out)?;
        writeln!(out, "same: {}", difference.same.join(", "))?;
    }
    if !difference.settled.is_empty() {
        writeln!(out, "settled by the rows' hashes: {}", difference.settled.join(", "))?;
    }
    if !all {
        let (same, irrelevant) = (difference.same.len(), difference.irrelevant.len());
        writeln!(out, "same {same}, irrelevant {irrelevant} (--all lists them)")?;
    }
    Ok(())
}

/// The verdict, and what it rests on.
fn headline(difference: &Difference) -> String {
    let [of_a, of_b] = difference.questions.map(thousands);
    let common = difference.common.map(|common| match difference.questions {
        [a, b] if a == common && b == common => format!("{} questions, proved equal", thousands(common)),
        _ => format!("{} questions are common, of {of_a} and {of_b}", thousands(common)),
    });
    let prompts = difference.same_prompts.map(|same| {
        let word = if same { "the same" } else { "not the same" };
        format!("prompts proved {word}")
    });
    let unknown = (difference.unknown_procedure > 0)
        .then(|| format!("{} procedure fields unknown", difference.unknown_procedure));
    let parts = [Some(difference.verdict.words().to_owned()), common, prompts, unknown];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn group(title: &str, changes: &[Change], all: bool, out: &mut impl Write) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    for change in changes {
        let (a, b) = (value_text(&change.a, all), value_text(&change.b, all));
        writeln!(out, "  {:26}  {a}  ->  {b}", change.name)?;
        let is_moved = !change.a.is_null() && !change.b.is_null();
        match (change.size, change.knob) {
            _ if !is_moved => {}
            (Some(size), _) => {
                let source = change.source.unwrap_or_default();
                writeln!(out, "  {:26}  known size: {size} ({source})", "")?;
            }
            (None, Some(knob)) => {
                let values = [&change.a, &change.b].map(|value| safe_line(&card::shown(value)));
                writeln!(
                    out,
                    "  {:26}  not published: measure it, markbook study --knob {knob}={}",
                    "",
                    values.join(",")
                )?;
            }
            (None, None) => {}
        }
    }
    Ok(())
}
