//! `--map` over a known format: some of its columns are taken from where the user says, the others as the format knows.

use super::columns::Columns;
use super::harness;
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally};
use crate::trace::{Field, Notice, Rows};

/// A known format, with some columns taken from where the user says.
#[derive(Debug)]
struct Overlay {
    inner: Box<dyn Layout>,
    columns: Columns,
}

/// Puts a map over a known format.
pub(super) fn over(sniffed: Sniffed, columns: Columns) -> Sniffed {
    let inner = sniffed.layout;
    Sniffed {
        layout: Box::new(Overlay { inner, columns }),
        ..sniffed
    }
}

impl Layout for Overlay {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let mut answers = self.inner.answers(entry)?;
        let is_per_answer = ["pick", "reasoning", "correct", "attempt", "seed"]
            .iter()
            .any(|name| self.columns.name_of(name).is_some());
        if answers.len() > 1 && is_per_answer {
            return Err("several attempts in one row: --map cannot say which is whose".into());
        }
        for answer in &mut answers {
            let record = &mut answer.record;
            self.columns.fill(&row, record);
            let is_read = record.flags.iter().any(|flag| flag == "pick_read");
            if is_read && self.columns.name_of("pick").is_some() {
                record.flags.retain(|flag| flag != "pick_read");
            } else if is_read && self.columns.name_of("reasoning").is_some() {
                record.pick = harness::read(&record.reasoning);
            }
            record.flags.retain(|flag| flag != "score_differs");
            self.columns.judge(&row, record);
            answer.is_local_id &= self.columns.name_of("question_id").is_none();
            if self.columns.name_of("question_id").is_some() {
                answer.text_id = self.columns.text_id(&row, entry.number);
            }
        }
        Ok(answers)
    }

    fn kind(&self, tally: &Tally) -> String {
        format!("{}{}", self.inner.kind(tally), self.columns.shown())
    }

    fn group(&self, entry: &Entry) -> Option<String> {
        self.inner.group(entry)
    }

    fn text(&self, entry: &Entry, part: usize, field: Field) -> Option<String> {
        let name = match field {
            Field::Prompt => "prompt",
            Field::Completion => "reasoning",
            Field::Question => "question",
        };
        match self.columns.name_of(name) {
            Some(_) => None,
            None => self.inner.text(entry, part, field),
        }
    }

    fn notices(&self, rows: &Rows) -> Vec<Notice> {
        let mut notices = self.inner.notices(rows);
        notices.extend(self.columns.value_notices(rows));
        notices
    }

    fn with_version(&self, version: &str) -> Option<Box<dyn Layout>> {
        Some(Box::new(Overlay {
            inner: self.inner.with_version(version)?,
            columns: self.columns.clone(),
        }))
    }

    fn stands_alone(&self) -> bool {
        self.inner.stands_alone()
    }

    fn is_numbered(&self) -> bool {
        self.inner.is_numbered()
    }

    fn numbers_attempts(&self) -> bool {
        self.inner.numbers_attempts()
    }
}
