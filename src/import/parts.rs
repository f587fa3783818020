//! Parquet traces in several files: the shards of a split, a file a subject or an attempt, are one run where no answer is
//! in two of them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use crate::joined;
use crate::text::thousands;
use crate::trace::{Notice, Trace};

/// Joins the traces at these places that are parts of one run; the others stay as they are.
pub(super) fn join(traces: Vec<Trace>, parquet: &[usize]) -> Result<Vec<Trace>> {
    let mut families: Vec<(String, Vec<Trace>)> = Vec::new();
    for (place, trace) in traces.into_iter().enumerate() {
        let family = if parquet.contains(&place) {
            family(&trace)
        } else {
            format!("\0{place}")
        };
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, members)) => members.push(trace),
            None => families.push((family, vec![trace])),
        }
    }
    let mut all = Vec::new();
    for (_, members) in families {
        if members.len() > 1 && are_disjoint(&members) {
            all.push(one(members)?);
        } else {
            all.extend(members);
        }
    }
    Ok(all)
}

fn stem(trace: &Trace) -> String {
    let path = trace.path.as_deref().unwrap_or(Path::new(""));
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// What the files of one run share: their folder, and their name without numbers and without the only subject they hold.
fn family(trace: &Trace) -> String {
    static NUMBERS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+").expect("the pattern is fixed and valid"));
    let folder = trace.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let mut name = stem(trace).to_lowercase().replace(['_', '-'], " ");
    if let [only] = trace.rows.category.list() {
        let subject = only.to_lowercase().replace(['_', '-'], " ");
        if !subject.is_empty() {
            name = name.replacen(&subject, "*", 1);
        }
    }
    let what = trace.kind.split(',').next().unwrap_or_default();
    format!("{} {what} {}", folder.display(), NUMBERS.replace_all(&name, "#"))
}

fn are_disjoint(traces: &[Trace]) -> bool {
    let mut seen: HashSet<(&str, i64, u16, Option<i64>)> = HashSet::new();
    for trace in traces {
        let rows = &trace.rows;
        let own: HashSet<_> = (0..rows.len())
            .map(|row| {
                (
                    rows.benchmark.get(row),
                    rows.question_id[row],
                    rows.attempt[row],
                    rows.seed(row),
                )
            })
            .collect();
        if own.iter().any(|key| seen.contains(key)) {
            return false;
        }
        seen.extend(own);
    }
    true
}

fn one(members: Vec<Trace>) -> Result<Trace> {
    let names: Vec<String> = members.iter().map(stem).collect();
    let what = members[0].kind.split(',').next().unwrap_or_default().to_owned();
    let folder = members[0].path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let manifest = members[0].manifest.clone();
    let files = members.len();
    let mut trace = joined::join(members)?;
    let rows = &trace.rows;
    let questions: HashSet<_> = (0..rows.len()).map(|row| rows.question_key(row)).collect();
    trace.kind = format!(
        "{what}, {} rows, {} questions, {files} files",
        thousands(rows.len()),
        thousands(questions.len())
    );
    trace.name = shared_name(&names).unwrap_or_else(|| {
        let folder = folder.as_deref().and_then(Path::file_name).unwrap_or_default();
        folder.to_string_lossy().into_owned()
    });
    trace.path = folder;
    trace.manifest = manifest;
    let mut shown = names.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
    if files > 6 {
        shown.push_str(", ...");
    }
    trace.notices.dedup();
    trace.notices.push(Notice {
        kind: "several_files".to_owned(),
        text: format!("{files} files are read as one run: {shown}"),
    });
    Ok(trace)
}

/// What names begin with alike: `test` of `test-00000-of-00002` and `test-00001-of-00002`.
fn shared_name(names: &[String]) -> Option<String> {
    let first = names.first()?;
    let shared = names.iter().fold(first.chars().count(), |shared, name| {
        first
            .chars()
            .zip(name.chars())
            .take(shared)
            .take_while(|(a, b)| a == b)
            .count()
    });
    let name: String = first.chars().take(shared).collect();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '.' | ' '));
    Some(name.to_owned()).filter(|name| !name.is_empty())
}
