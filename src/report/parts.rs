//! What a report says, part by part: the ten checklist items filled from cards and rows.

use anyhow::Result;
use serde_json::Value;

use super::{Block, Part, Scored, Source, repeat, scores};
use crate::baseline::{Baseline, Gate, Verdict};
use crate::card::{self, Change, NONE, Part as Hash};
use crate::charts::{self, Mark};
use crate::published::Published;
use crate::stats::percent;
use crate::table::{Cell, Table, chance, number, points, signed, text};
use crate::text::{count, thousands};

/// The checklist: an item, the part it stands in, the card fields that tell it.
const CHECKLIST: [(&str, usize, &[&str]); 8] = [
    ("model and revision", 1, &["model.id", "model.revision"]),
    ("harness and version", 2, &["harness.name", "harness.version"]),
    ("shots and examples", 2, &["prompt.shots", "prompt.examples"]),
    (
        "prompt, template and rule",
        2,
        &["prompt.template", "prompt.chat", "rule", "rule_sha256"],
    ),
    ("questions", 3, &["data.source", "data.revision", "data.split", "slice"]),
    (
        "decoding",
        4,
        &[
            "sampling.temperature",
            "sampling.top_p",
            "sampling.top_k",
            "sampling.max_tokens",
            "seeds",
        ],
    ),
    ("hardware and precision", 4, &["machine.device", "engine.dtype"]),
    ("date and id", 9, &["run.started"]),
];

/// Parts 1 to 4 and what they show of the card: name and field.
const SHOWN: [(&str, &[(&str, &str)]); 4] = [
    (
        "What was measured",
        &[
            ("model", "model.id"),
            ("revision", "model.revision"),
            ("architecture", "model.architecture"),
            ("format", "model.format"),
            ("weights sha256", "engine.weights_sha256"),
            ("tokenizer sha256", "engine.tokenizer_sha256"),
            ("engine", "engine.engine"),
            ("engine version", "engine.version"),
            ("served as", "server.model"),
        ],
    ),
    (
        "How",
        &[
            ("benchmark", "benchmark"),
            ("task version", "task_version"),
            ("method", "method"),
            ("harness", "harness.name"),
            ("version", "harness.version"),
            ("parity", "harness.parity"),
            ("shots", "prompt.shots"),
            ("examples", "prompt.examples"),
            ("style", "prompt.style"),
            ("chat", "prompt.chat"),
            ("examples in a chat", "prompt.chat_shots"),
            ("system text", "prompt.system"),
            ("system turn", "prompt.system_kept"),
            ("beginning of sequence", "prompt.bos"),
            ("rule", "rule"),
            ("rule sha256", "rule_sha256"),
            ("unreadable answers", "unreadable"),
            ("average", "average"),
        ],
    ),
    (
        "On what",
        &[
            ("set", "data.source"),
            ("revision", "data.revision"),
            ("split", "data.split"),
            ("subjects", "data.subjects"),
            ("per subject", "data.per_subject"),
            ("limit", "data.limit"),
            ("slice", "slice"),
            ("fingerprint", "data.fingerprint"),
            ("wash rules", "data.wash"),
            ("questions", "counts.questions"),
            ("attempts", "counts.attempts"),
        ],
    ),
    (
        "Decoding, hardware, precision",
        &[
            ("temperature", "sampling.temperature"),
            ("top p", "sampling.top_p"),
            ("top k", "sampling.top_k"),
            ("longest completion", "sampling.max_tokens"),
            ("stop texts", "sampling.stops"),
            ("seeds", "seeds"),
            ("context", "context.length"),
            ("rows cut", "context.rows_cut"),
            ("device", "machine.device"),
            ("processor features", "machine.features"),
            ("cores", "machine.cores"),
            ("driver", "machine.driver"),
            ("system", "machine.os"),
            ("number format", "engine.dtype"),
            ("kernel", "engine.kernel"),
            ("rounding", "engine.rounding"),
            ("batch", "engine.batch"),
        ],
    ),
];

/// All parts; names of checklist items that something is missing of are added to `missing`.
pub(super) fn all(source: &Source, missing: &mut Vec<String>) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = SHOWN
        .iter()
        .zip(1..)
        .map(|((title, fields), at)| card_part(source, title, fields, at))
        .collect();
    let marks = marks(source);
    parts.push(each(source, "Result", |run| result(run, &marks))?);
    parts.push(each(source, "Jitter", jitter)?);
    parts.push(each(source, "Letters", letters)?);
    parts.push(against(source));
    parts.push(each(source, "Where", place)?);
    let lacks = |names: &[&str]| {
        source
            .runs
            .iter()
            .any(|run| names.iter().any(|name| run.card.get(name).is_null()))
    };
    missing.extend(
        CHECKLIST
            .iter()
            .filter(|(_, _, fields)| lacks(fields))
            .map(|(item, ..)| (*item).to_owned()),
    );
    if source
        .runs
        .iter()
        .any(|run| run.run.seeds.len() < 2 && run.card.text("seeds") != NONE)
    {
        missing.push("jitter".to_owned());
    }
    let is_compared = source.runs.len() > 1 || source.baseline.is_some();
    if !is_compared
        && source
            .runs
            .iter()
            .all(|run| scores::matching(source.published, run).is_empty())
    {
        missing.push("comparison".to_owned());
    }
    parts.push(Part {
        title: "Acceptance".to_owned(),
        blocks: Vec::new(),
    });
    parts.push(limits(source));
    Ok(parts)
}

/// A part with blocks of each run, headed where there are several.
fn each(source: &Source, title: &str, blocks: impl Fn(&Scored) -> Result<Vec<Block>>) -> Result<Part> {
    let mut part = Part {
        title: title.to_owned(),
        blocks: Vec::new(),
    };
    for run in source.runs {
        if source.runs.len() > 1 {
            part.blocks.push(Block::Run(run.title()));
        }
        part.blocks.extend(blocks(run)?);
    }
    Ok(part)
}

fn card_part(source: &Source, title: &str, fields: &[(&str, &str)], at: usize) -> Part {
    let blocks = |run: &Scored| {
        let facts = fields.iter().filter(|(_, field)| !run.card.get(field).is_null());
        let mut blocks = vec![Block::Facts(
            facts
                .map(|(name, field)| ((*name).to_owned(), value(run.card.get(field))))
                .collect(),
        )];
        let needed = CHECKLIST
            .iter()
            .filter(|(_, part, _)| *part == at)
            .flat_map(|(_, _, fields)| fields.iter());
        let lacking: Vec<String> = needed
            .filter(|field| run.card.get(field).is_null())
            .map(|field| match run.trace.ours() {
                Some(_) => format!("not known: {field}"),
                None => format!("not known: {field}; `markbook run` would keep it"),
            })
            .collect();
        if !lacking.is_empty() {
            blocks.push(Block::Missing(lacking));
        }
        if at == 2 {
            blocks.extend(texts(run));
        }
        if let Some(washed) = run
            .trace
            .ours()
            .map(|run| &run.settings.data.washed)
            .filter(|washed| at == 3 && !washed.is_empty())
        {
            blocks.push(Block::Folded(
                format!("what the wash rules did: {}", count(washed.len(), "line")),
                washed.join("\n"),
            ));
        }
        Ok(blocks)
    };
    each(source, title, blocks).unwrap_or_default()
}

/// A value with figures as they are read.
fn value(value: &Value) -> String {
    card::shown(value)
}

/// The prompt and chat template in full, one prompt as it was sent, the rule's patterns.
fn texts(run: &Scored) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut fold = |title: &str, text: String| {
        if !text.is_empty() && text != NONE {
            blocks.push(Block::Folded(title.to_owned(), text));
        }
    };
    fold("prompt template", run.card.text("prompt.template"));
    let ours = run.trace.ours();
    fold(
        "chat template",
        ours.and_then(|run| run.settings.prompt.chat_template.clone())
            .unwrap_or_default(),
    );
    let first = run.picked.first().and_then(|row| run.trace.record(*row as usize).ok());
    fold(
        "a prompt as it was sent",
        first.map(|record| record.prompt.clone()).unwrap_or_default(),
    );
    let rule = run.card.text("rule");
    let help = crate::extract::help();
    let about: Vec<&str> = help
        .lines()
        .filter(|line| line.split_whitespace().next() == Some(rule.as_str()))
        .collect();
    fold("rule", about.join("\n"));
    blocks
}

/// The baseline and published values that a run's figures mark.
fn marks(source: &Source) -> Vec<(String, Mark)> {
    let mut marks: Vec<(String, Mark)> = Vec::new();
    if let Some((baseline, _)) = &source.baseline {
        let exam = baseline.card().text("benchmark");
        let mark = Mark {
            name: format!("@{}", baseline.name),
            accuracy: baseline.accuracy,
            categories: baseline.categories(),
        };
        marks.push((exam, mark));
    }
    for run in source.runs {
        let published = scores::matching(source.published, run);
        marks.extend(published.into_iter().map(|value| {
            let mark = Mark {
                name: "published".to_owned(),
                accuracy: value.value,
                categories: Vec::new(),
            };
            (run.card.text("benchmark"), mark)
        }));
    }
    marks.dedup();
    marks
}

fn result(run: &Scored, marks: &[(String, Mark)]) -> Result<Vec<Block>> {
    let report = &run.run;
    let exam = run.card.text("benchmark");
    let marks: Vec<Mark> = marks
        .iter()
        .filter(|(own, _)| *own == exam)
        .map(|(_, mark)| mark.clone())
        .collect();
    let share = |share: Option<f64>| share.map_or("none".to_owned(), |share| format!("{} %", percent(Some(share))));
    let mut facts = vec![
        (
            "accuracy".to_owned(),
            format!(
                "{} ({} of {} rows)",
                share(report.accuracy),
                thousands(report.correct),
                thousands(report.n)
            ),
        ),
        (
            "95 % interval".to_owned(),
            report.ci95.map_or(String::new(), |[low, high]| {
                format!("{} - {}", points(low), points(high))
            }),
        ),
        ("mean over categories".to_owned(), share(report.macro_accuracy)),
        (
            "[invalid]".to_owned(),
            format!(
                "{} ({})",
                thousands(report.invalid),
                share(Some(report.invalid as f64 / report.n.max(1) as f64))
            ),
        ),
    ];
    for (name, value) in [
        ("vote", report.vote),
        ("majority", report.majority),
        ("any", report.any),
    ] {
        facts.extend(value.map(|value| (name.to_owned(), share(Some(value)))));
    }
    let mut columns = Table::new(
        "",
        vec![
            text("category"),
            number("n"),
            number("right"),
            number("accuracy"),
            number("95 %").key("ci95"),
            number("[invalid]").key("invalid"),
        ],
    );
    columns.rows = report
        .categories
        .iter()
        .map(|(name, group)| {
            vec![
                Cell::text(name),
                Cell::Count(group.n),
                Cell::Count(group.correct),
                Cell::points(group.accuracy),
                group.ci95.map_or(Cell::Nothing, Cell::Limits),
                Cell::Count(group.invalid),
            ]
        })
        .collect();
    let mut blocks = vec![Block::Facts(facts)];
    blocks.extend(figures(run, &["categories"], &marks)?);
    blocks.push(Block::Table(columns));
    blocks.extend(figures(run, &["causes", "lengths", "calibration"], &[])?);
    Ok(blocks)
}

fn figures(run: &Scored, names: &[&str], marks: &[Mark]) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for name in names {
        let figure = run.figure(charts::Chart::find(name)?, marks)?;
        blocks.extend(figure.map(|figure| Block::Figure(Box::new(figure))));
    }
    Ok(blocks)
}

fn jitter(run: &Scored) -> Result<Vec<Block>> {
    let report = &run.run;
    let (Some(mean), Some(std)) = (report.seed_mean, report.seed_std) else {
        let drawn = run.card.text("seeds") != NONE;
        let words = if drawn {
            "one attempt a question: what another draw of the seeds would give is not known"
        } else {
            "no sampling: the run repeats itself on the same machine"
        };
        let rounding = run.card.text("engine.rounding");
        let rounding = if rounding.is_empty() {
            String::new()
        } else {
            format!("; rounding of the number format: {rounding}")
        };
        return Ok(vec![Block::Text(format!("{words}{rounding}."))]);
    };
    let mut facts = vec![
        (
            "mean ± std over seeds".to_owned(),
            format!("{} ± {}", points(mean), points(std)),
        ),
        ("attempts".to_owned(), thousands(report.seeds.len())),
    ];
    if let Some(expected) = report.seed_std_expected {
        facts.push(("std by chance".to_owned(), points(expected)));
        let words = report
            .seeds_odd
            .map_or("as uneven as chance makes them", crate::stats::Oddness::text);
        facts.push(("the attempts are".to_owned(), words.to_owned()));
    }
    let mut blocks = vec![Block::Facts(facts)];
    blocks.extend(figures(run, &["seeds"], &[])?);
    Ok(blocks)
}

fn letters(run: &Scored) -> Result<Vec<Block>> {
    let mut blocks = figures(run, &["letters"], &[])?;
    if let Some(Block::Figure(figure)) = blocks.first() {
        blocks.push(Block::Text(figure.says.clone()));
    }
    Ok(blocks)
}

/// Published values, other runs, the gate, what differs on the cards.
fn against(source: &Source) -> Part {
    let mut blocks = vec![Block::Table(scores::scores(source.runs, source.published))];
    if source.runs.len() > 1
        && source
            .runs
            .iter()
            .all(|run| run.card.text("benchmark") == source.runs[0].card.text("benchmark"))
    {
        blocks.push(Block::Table(scores::by_category(source.runs)));
    }
    if let Some((baseline, gates)) = &source.baseline {
        blocks.extend(
            gates
                .iter()
                .flat_map(|gate| [Block::Text(gate_line(baseline, gate)), Block::Table(gate_table(gate))]),
        );
        blocks.extend(gates.iter().flat_map(|gate| differs(&gate.difference)));
    }
    if let Some((first, others)) = source.runs.split_first() {
        for other in others
            .iter()
            .filter(|other| other.card.text("benchmark") == first.card.text("benchmark"))
        {
            let difference = card::differ(&first.card, &other.card);
            blocks.push(Block::Text(format!(
                "{} against {}: {}",
                other.title(),
                first.title(),
                difference.verdict.words()
            )));
            blocks.extend(differs(&difference));
        }
    }
    Part {
        title: "Against".to_owned(),
        blocks,
    }
}

/// A gate in a sentence.
pub(super) fn gate_line(baseline: &Baseline, gate: &Gate) -> String {
    let reasons = gate.reasons.join("; ");
    let Some(all) = &gate.overall else {
        return format!("gate against @{}: {} ({reasons})", baseline.name, gate.verdict.word());
    };
    let [low, high] = all.ci95;
    let line = format!(
        "gate against @{}: {}; {} -> {}, {} points [{}, {}], threshold {}, p {}",
        baseline.name,
        gate.verdict.word(),
        points(all.baseline),
        points(all.new),
        signed(all.change),
        signed(low),
        signed(high),
        points(gate.threshold),
        chance(all.p)
    );
    if reasons.is_empty() {
        line
    } else {
        format!("{line} ({reasons})")
    }
}

fn gate_table(gate: &Gate) -> Table {
    let mut table = Table::new(
        "Gate by category",
        vec![
            text("category"),
            number("questions"),
            number("baseline"),
            number("new"),
            number("change"),
            number("95 % of change").key("ci95_change"),
            number("p, Holm").key("p_holm"),
        ],
    );
    table.rows = gate
        .categories
        .iter()
        .map(|part| {
            vec![
                Cell::text(&part.name),
                Cell::Count(part.questions),
                Cell::Points(part.baseline, ""),
                Cell::Points(part.new, ""),
                Cell::Signed(part.change),
                Cell::SignedLimits(part.ci95),
                Cell::Chance(part.p_holm),
            ]
        })
        .collect();
    table
}

/// What differs between two cards, where anything does.
fn differs(difference: &card::Difference) -> Option<Block> {
    let groups = [
        ("moves the number", &difference.moved),
        ("another slice", &difference.slice),
        ("another model", &difference.model),
        ("may jitter", &difference.jitter),
    ];
    let mut table = Table::new(
        "What differs",
        vec![
            text("kind"),
            text("field"),
            text("first"),
            text("second"),
            text("known size").key("size"),
        ],
    );
    for (kind, changes) in groups {
        table.rows.extend(changes.iter().map(|change| change_row(kind, change)));
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

fn change_row(kind: &str, change: &Change) -> Vec<Cell> {
    let short = |value: &Value| Cell::text(crate::text::safe::one_line(&card::shown(value), 60, false));
    let size = change
        .size
        .map(|size| format!("{size} ({})", change.source.unwrap_or_default()));
    vec![
        Cell::text(kind),
        Cell::text(change.name),
        short(&change.a),
        short(&change.b),
        Cell::text(size.unwrap_or_default()),
    ]
}

fn place(run: &Scored) -> Result<Vec<Block>> {
    let mut facts = vec![("run id".to_owned(), run.run_id.clone())];
    for (name, field) in [
        ("started", "run.started"),
        ("ended", "run.ended"),
        ("kind of file", "run.kind"),
    ] {
        let text = run.card.text(field);
        if !text.is_empty() {
            facts.push((name.to_owned(), text));
        }
    }
    facts.extend(
        run.trace
            .path
            .as_ref()
            .map(|path| ("place".to_owned(), path.display().to_string())),
    );
    facts.extend(
        repeat::files(run)?
            .into_iter()
            .map(|(name, sum)| (format!("sha256 of {name}"), sum)),
    );
    let hash = |part: Hash| {
        (
            format!("hash of the {}", part.name()),
            run.card.hash(part).unwrap_or("not known").to_owned(),
        )
    };
    facts.extend(Hash::ALL.map(hash));
    let at = run
        .trace
        .path
        .as_ref()
        .map_or_else(|| "RUN".to_owned(), |path| repeat::quoted(&path.display().to_string()));
    let mut commands: Vec<String> = repeat::run_command(run).into_iter().collect();
    commands.push(format!("markbook report {at} -o report.html"));
    commands.extend(
        charts::ALL
            .iter()
            .map(|chart| format!("markbook report {at} --figure {} -o {}.svg", chart.name, chart.name)),
    );
    Ok(vec![
        Block::Facts(facts),
        Block::Folded(
            "the commands that make run, report and figures again".to_owned(),
            commands.join("\n"),
        ),
    ])
}

/// The result in a sentence a run.
pub(super) fn head(source: &Source) -> Vec<String> {
    let sentence = |run: &Scored| {
        let report = &run.run;
        let limits = report
            .ci95
            .map(|[low, high]| format!(" ({} to {}, 95 %)", points(low), points(high)));
        let shots = run.card.text("prompt.shots");
        let shots = if shots.is_empty() {
            String::new()
        } else {
            format!(", {shots}-shot")
        };
        let seeds = report
            .seed_std
            .map(|std| format!(", ± {} over {}", points(std), count(report.seeds.len(), "attempt")));
        format!(
            "{} scored {} %{} on {}: {}{shots}{}.{}",
            run.model(),
            percent(report.accuracy),
            limits.unwrap_or_default(),
            run.card.text("benchmark"),
            count(report.questions, "question"),
            seeds.unwrap_or_default(),
            beside(run, source.published)
        )
    };
    let mut lines: Vec<String> = source.runs.iter().map(sentence).collect();
    if let Some((baseline, gates)) = &source.baseline {
        lines.extend(gates.iter().map(|gate| gate_line(baseline, gate)));
    }
    lines
}

fn beside(run: &Scored, published: &[Published]) -> String {
    let Some((value, interval)) = scores::matching(published, run)
        .first()
        .copied()
        .zip(run.sum().interval())
    else {
        return String::new();
    };
    let is_inside = interval.low <= value.value && value.value <= interval.high;
    let word = if is_inside { "lies inside" } else { "lies outside" };
    format!(" The published {} {word} that interval.", points(value.value))
}

fn limits(source: &Source) -> Part {
    let mut lines: Vec<String> = Vec::new();
    for run in source.runs {
        let unknown = run.card.unknown();
        if !unknown.is_empty() {
            lines.push(format!(
                "{}: not known of the procedure: {}",
                run.title(),
                unknown.join(", ")
            ));
        }
        lines.extend(
            run.run
                .warnings
                .iter()
                .map(|warning| format!("{}: {warning}", run.title())),
        );
        lines.extend(
            run.trace
                .notices
                .iter()
                .map(|notice| format!("{}: {}", run.title(), notice.text)),
        );
    }
    lines.extend(source.warnings.iter().cloned());
    if source
        .baseline
        .as_ref()
        .is_some_and(|(_, gates)| gates.iter().any(|gate| gate.verdict == Verdict::Held))
    {
        lines.push("a held gate says nothing of another task".to_owned());
    }
    lines.push(
        "the intervals speak of questions like these, not of use in the field; published values are taken as exact"
            .to_owned(),
    );
    lines.dedup();
    let blocks = lines.into_iter().map(Block::Text).collect();
    Part {
        title: "Limits".to_owned(),
        blocks,
    }
}
