//! `suspects`: questions whose key deserves a look, and what a person found of them.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::args::TraceArgs;
use super::reports::put_json;
use super::{End, say, traces, usage};
use crate::labels::{Joined, Label, List, OK, WRONG_KEY};
use crate::notes::Notes;
use crate::stats::percent;
use crate::suspects::{Queue, Suspect};
use crate::text::{count, safe_line, thousands};
use crate::trace::Trace;

/// `suspects`.
#[derive(Debug, Clone, Args)]
pub struct SuspectsArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// So many questions, the most suspect first
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = super::numbers::count)]
    pub top: usize,
    /// Write your verdicts as a list of labels (JSONL): the letters that you gave in blind mode
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Whose verdicts they are
    #[arg(long, value_name = "NAME", requires = "output")]
    pub by: Option<String>,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// A question of the queue with what is known of it.
#[derive(Debug, Serialize)]
struct Entry<'q> {
    #[serde(flatten)]
    suspect: &'q Suspect,
    /// What lists say of it.
    labels: Vec<String>,
    /// The letter that the person gave.
    yours: Option<char>,
}

/// How a person's letters agree with the models and the key.
#[derive(Debug, Default, Serialize)]
struct Own {
    given: usize,
    with_key: usize,
    with_rival: usize,
    neither: usize,
}

pub(super) fn suspects(args: &SuspectsArgs) -> Result<End> {
    let opened = traces::load(&args.trace)?;
    traces::tell_notices(&opened);
    let queue = Queue::of(&opened);
    let yours = letters(&opened)?;
    if let Some(path) = &args.output {
        write_verdicts(&queue, &yours, (path, args.by.as_deref()), args.force)?;
    }
    let shown = &queue.questions[..queue.questions.len().min(args.top)];
    let entries = entries(shown, &opened, &yours)?;
    let own = tally(&queue, &yours);
    if args.json {
        let questions = serde_json::json!({ "models": queue.models, "older": queue.older, "other_keys": queue.other_keys,
            "of": queue.questions.len(), "yours": own, "questions": entries });
        return put_json(&questions).map(|()| End::Done);
    }
    let mut out = say::out();
    write(&queue, &entries, &own, &mut out)?;
    out.flush()?;
    Ok(End::Done)
}

/// The letters that a person gave, by benchmark and question.
fn letters(opened: &[Trace]) -> Result<HashMap<(String, i64), char>> {
    let mut letters = HashMap::new();
    for trace in opened {
        for (row, letter) in Notes::load(trace)?.labels() {
            let row = row as usize;
            letters.insert(
                (trace.rows.benchmark.get(row).to_owned(), trace.rows.question_id[row]),
                letter,
            );
        }
    }
    Ok(letters)
}

fn letter_of(yours: &HashMap<(String, i64), char>, suspect: &Suspect) -> Option<char> {
    yours.get(&(suspect.benchmark.clone(), suspect.question_id)).copied()
}

fn entries<'q>(shown: &'q [Suspect], opened: &[Trace], yours: &HashMap<(String, i64), char>) -> Result<Vec<Entry<'q>>> {
    let mut joined: HashMap<usize, Joined> = HashMap::new();
    let mut entries = Vec::new();
    for suspect in shown {
        let (trace, row) = suspect.place;
        if let std::collections::hash_map::Entry::Vacant(place) = joined.entry(trace) {
            place.insert(Joined::load(&opened[trace].rows, &*opened[trace].texts)?);
        }
        let labels = joined[&trace].labels(row as usize).map(|label| label.label.clone());
        entries.push(Entry {
            suspect,
            labels: labels.collect(),
            yours: letter_of(yours, suspect),
        });
    }
    Ok(entries)
}

fn tally(queue: &Queue, yours: &HashMap<(String, i64), char>) -> Own {
    let mut own = Own::default();
    for suspect in &queue.questions {
        let Some(letter) = letter_of(yours, suspect).map(String::from) else {
            continue;
        };
        own.given += 1;
        own.with_key += usize::from(suspect.key == letter);
        own.with_rival += usize::from(suspect.rival.as_ref() == Some(&letter));
        own.neither += usize::from(suspect.key != letter && suspect.rival.as_ref() != Some(&letter));
    }
    own
}

/// The person's letters as a list: the key's letter says that it is right, another one that it is wrong.
fn write_verdicts(
    queue: &Queue,
    yours: &HashMap<(String, i64), char>,
    (path, by): (&Path, Option<&str>),
    force: bool,
) -> Result<()> {
    if path.exists() && !force {
        usage(Err(anyhow::anyhow!("{} exists; --force replaces it", path.display())))?;
    }
    let verdict = |suspect: &Suspect| {
        let letter = letter_of(yours, suspect)?.to_string();
        let is_key = letter == suspect.key;
        Some(Label {
            set: suspect.benchmark.clone(),
            question_id: Some(suspect.question_id),
            subject: suspect.category.clone(),
            answer: suspect.key.clone(),
            label: if is_key { OK } else { WRONG_KEY }.to_owned(),
            right: if is_key { String::new() } else { letter },
            by: by.unwrap_or_default().to_owned(),
            ..Label::default()
        })
    };
    let labels: Vec<Label> = queue.questions.iter().filter_map(verdict).collect();
    if labels.is_empty() {
        bail!("no letters of yours stand on these questions: give them in blind mode (b), then A to J");
    }
    let list = List {
        name: String::new(),
        labels,
    };
    list.write(path)?;
    say::tell(format!("{} → {}", count(list.labels.len(), "verdict"), path.display()));
    Ok(())
}

fn write(queue: &Queue, entries: &[Entry], own: &Own, out: &mut impl Write) -> Result<()> {
    for model in &queue.models {
        let accuracy = percent(Some(model.accuracy));
        writeln!(
            out,
            "{accuracy:>5}%  {:>7}  {}",
            thousands(model.questions),
            safe_line(&model.name)
        )?;
    }
    for older in &queue.older {
        writeln!(out, "left out, a newer run of the model is here: {}", safe_line(older))?;
    }
    if !queue.other_keys.is_empty() {
        writeln!(
            out,
            "! {} another key in another trace: the key of most traces counts",
            having(queue.other_keys.len())
        )?;
    }
    write_queue(entries, out)?;
    if own.given > 0 {
        writeln!(
            out,
            "your letters: {}, with the key {}, with the rival {}, with neither {}",
            own.given, own.with_key, own.with_rival, own.neither
        )?;
    }
    let ids: Vec<String> = entries
        .iter()
        .take(20)
        .map(|entry| entry.suspect.question_id.to_string())
        .collect();
    if !ids.is_empty() {
        writeln!(
            out,
            "look at the first ones blind: markbook open TRACE -f q:{} , then b",
            ids.join(",")
        )?;
    }
    Ok(())
}

fn write_queue(entries: &[Entry], out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "{:>8}  {:20}  {:3}  {:5}  {:>6}  {:>7}  {:>6}  {:4}  label",
        "question", "category", "key", "rival", "score", "against", "on key", "you"
    )?;
    for Entry { suspect, labels, yours } in entries {
        let category: String = safe_line(&suspect.category).chars().take(20).collect();
        writeln!(
            out,
            "{:>8}  {category:20}  {:3}  {:5}  {:>6.2}  {:>7.1}  {:>6.1}  {:4}  {}",
            suspect.question_id,
            safe_line(&suspect.key),
            safe_line(suspect.rival.as_deref().unwrap_or("-")),
            suspect.score,
            suspect.against,
            suspect.on_key,
            yours.map_or_else(String::new, String::from),
            safe_line(&labels.join(", "))
        )?;
    }
    Ok(())
}

fn having(number: usize) -> String {
    if number == 1 {
        "1 question has".to_owned()
    } else {
        format!("{} questions have", thousands(number))
    }
}
