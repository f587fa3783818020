//! Checks on whole records: hashes that their texts do not give.

use anyhow::Result;
use rayon::prelude::*;

use super::{Problem, problem, rows_with_ids};
use crate::benchmark::hash::{doc_hash, hash_text};

use crate::record::{Record, letter_index};
use crate::text::thousands;
use crate::trace::Trace;

/// Records that are read at a time.
const TOGETHER: usize = 1024;

#[derive(Debug, Clone, Copy, Default)]
struct Differs {
    doc: bool,
    prompt: bool,
    target: bool,
    /// The gold is the text of an option.
    gold_is_text: bool,
    /// And the pick is that option's letter.
    picks_that_option: bool,
}

pub(super) fn check(trace: &Trace, problems: &mut Vec<Problem>) -> Result<()> {
    let mut differs: Vec<Differs> = Vec::with_capacity(trace.rows.len());
    let rows: Vec<usize> = (0..trace.rows.len()).collect();
    for together in rows.chunks(TOGETHER) {
        let records = trace.texts.records(together)?;
        differs.par_extend(records.par_iter().map(|record| compare(record)));
    }
    for (name, is_off) in [
        ("doc_hash", &(|row: &Differs| row.doc) as &dyn Fn(&Differs) -> bool),
        ("prompt_hash", &|row| row.prompt),
        ("target_hash", &|row| row.target),
    ] {
        let found: Vec<usize> = (0..differs.len()).filter(|row| is_off(&differs[*row])).collect();
        if !found.is_empty() {
            let detail = format!(
                "{} store a {name} that their text does not give",
                rows_with_ids(&trace.rows, &found)
            );
            problems.push(problem("hash_differs", trace, &found, detail));
        }
    }
    let texts: Vec<usize> = (0..differs.len()).filter(|row| differs[*row].gold_is_text).collect();
    if !texts.is_empty() {
        let right = texts.iter().filter(|row| differs[**row].picks_that_option).count();
        let detail = format!(
            "{} golds are no letter but the text of an option; read as letters, {} of {} picks are right",
            thousands(texts.len()),
            thousands(right),
            thousands(texts.len())
        );
        problems.push(problem("gold_text", trace, &texts, detail));
    }
    Ok(())
}

fn compare(record: &Record) -> Differs {
    let is_hash = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let off = |stored: &str, texts: &[&str]| {
        is_hash(stored) && !texts.is_empty() && !texts.iter().any(|text| hash_text(text).eq_ignore_ascii_case(stored))
    };
    let doc = record.doc.as_deref().and_then(|doc| crate::json::parse(doc).ok());
    let doc_off =
        doc.is_some_and(|doc| is_hash(&record.doc_hash) && !doc_hash(&doc).eq_ignore_ascii_case(&record.doc_hash));
    // The harness hashes the target as it stands: the letter, or a multiple-choice task's option number.
    let index = letter_index(&record.answer)
        .map(|index| index.to_string())
        .unwrap_or_default();
    let prompts: &[&str] = if record.prompt.is_empty() {
        &[]
    } else {
        &[&record.prompt]
    };
    let is_gold = |option: &String| option.trim() == record.answer.trim() && !record.answer.is_empty();
    let gold = match letter_index(&record.answer) {
        None => record.options.iter().position(is_gold),
        Some(_) => None,
    };
    let pick = letter_index(&record.pick);
    Differs {
        gold_is_text: gold.is_some() && pick.is_some(),
        picks_that_option: gold.is_some() && pick == gold,
        doc: doc_off,
        prompt: off(&record.prompt_hash, prompts),
        target: off(
            &record.target_hash,
            &[&record.answer, &index, &format!(" {}", record.answer)],
        ),
    }
}
