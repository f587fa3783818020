//! Closed-answer tables: one row a question, with the picks of all its attempts side by side.

use super::head::Head;
use super::json::{self, Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, flag, mark, texts};
use super::values::choices_of;
use crate::record::{INVALID, Record, letter, letter_index};
use crate::rows::nothing::is_nothing;

/// What [`Layout::kind`] starts with; `check` joins such traces with others by question.
pub(crate) const KIND: &str = "closed-answer table";

#[derive(Debug, Clone)]
pub(crate) struct Closed;

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    head.rows
        .iter()
        .find(|row| row.has("question_id") && row.has("picks"))?;
    Some(Sniffed::new("closed", Closed, head.shape.clone()))
}

/// A list, also one written as text: `["A", "B"]`, `['A', 'B']` or `ABCDE`.
pub(crate) fn list_of(raw: Raw) -> Vec<String> {
    if raw.is_list() {
        return texts(raw);
    }
    let text = raw.shown();
    let trimmed = text.trim();
    if let Some(inner) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let strict = json::values(trimmed.as_bytes())
            .ok()
            .and_then(|values| values.first().map(|list| texts(*list)));
        let loose = || {
            inner
                .split(',')
                .map(|item| item.trim().trim_matches(['\'', '"']).to_owned())
                .collect()
        };
        return strict.unwrap_or_else(loose);
    }
    if trimmed.contains(',') {
        return trimmed.split(',').map(|item| item.trim().to_owned()).collect();
    }
    trimmed
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(String::from)
        .collect()
}

impl Layout for Closed {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let picks = row.get("picks").map(list_of).ok_or("no picks")?;
        if picks.len() > 1000 {
            return Err(format!("{} picks for one question", picks.len()).into());
        }
        let base = base(&row)?;
        let pick_of = |text: &str| match text {
            text if is_nothing(text) => INVALID.to_owned(),
            other => other.to_owned(),
        };
        let mut records: Vec<Record> = Vec::new();
        for (attempt, pick) in picks.iter().enumerate() {
            let mut record = Record {
                attempt: attempt as i64,
                pick: pick_of(pick),
                ..base.clone()
            };
            mark(&mut record);
            records.push(record);
        }
        let differs = |column: &str, count: usize| row.int(column).is_some_and(|stated| stated != count as i64);
        let has_gold = letter_index(&base.answer).is_some();
        let is_off = (has_gold && differs("correct_count", records.iter().filter(|record| record.correct).count()))
            || differs(
                "invalid_count",
                records.iter().filter(|record| record.is_invalid()).count(),
            )
            || differs("k", records.len());
        if is_off {
            for record in &mut records {
                flag(record, "count_differs");
            }
        }
        let order = entry.number as i64;
        Ok(records
            .into_iter()
            .map(|record| Answer {
                record,
                order,
                ..Answer::default()
            })
            .collect())
    }

    fn kind(&self, tally: &Tally) -> String {
        let attempts = tally.rows.checked_div(tally.questions).unwrap_or(0);
        format!("{KIND}, {attempts} attempts a question, no texts")
    }
}

fn base(row: &Object) -> Result<Record, RowError> {
    let category = row.text("category").or_else(|| row.text("subject")).unwrap_or_default();
    let index = row.int("answer_index").and_then(|index| usize::try_from(index).ok());
    let gold = row
        .first(&["answer", "gold", "target"])
        .map(Raw::shown)
        .or_else(|| Some(letter(index?)?.to_string()));
    Ok(Record {
        question_id: row.int("question_id").ok_or("no question_id")?,
        benchmark: row.text("benchmark").unwrap_or_else(|| {
            if row.has("category") {
                "mmlu_pro".to_owned()
            } else {
                String::new()
            }
        }),
        subject: category.clone(),
        category,
        question: row.text("question").unwrap_or_default(),
        options: row
            .first(&["options", "choices"])
            .map(|raw| choices_of(raw).texts)
            .unwrap_or_default(),
        answer: gold.unwrap_or_default(),
        doc_hash: row.text("doc_hash").unwrap_or_default(),
        ..Record::default()
    })
}
