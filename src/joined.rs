//! Several traces read as one: the exams of a run, the files of a set.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use crate::record::Record;
use crate::trace::{Field, Rows, Texts, Trace};

struct Joined {
    /// The first row of each part, and its texts.
    parts: Vec<(usize, Arc<dyn Texts>)>,
    rows: usize,
    /// Whether each part is an attempt of its own.
    are_attempts: bool,
}

impl Joined {
    fn part(&self, row: usize) -> Result<(usize, &dyn Texts)> {
        if row >= self.rows {
            bail!("row {row} is not among the {} rows", self.rows);
        }
        let at = self.parts.partition_point(|(start, _)| *start <= row) - 1;
        let (start, texts) = &self.parts[at];
        Ok((row - start, &**texts))
    }
}

impl Joined {
    /// Asks each trace for its own rows, neighbours together; the answers stand in the order asked.
    fn by_part<T>(&self, rows: &[usize], ask: impl Fn(&dyn Texts, &[usize]) -> Result<Vec<T>>) -> Result<Vec<T>> {
        let mut found = Vec::with_capacity(rows.len());
        let mut rest = rows;
        while let Some(first) = rest.first() {
            let (local, texts) = self.part(*first)?;
            let start = first - local;
            let mut own = vec![local];
            for row in &rest[1..] {
                match self.part(*row)? {
                    (local, _) if row.checked_sub(local) == Some(start) => own.push(local),
                    _ => break,
                }
            }
            rest = &rest[own.len()..];
            found.extend(ask(texts, &own)?);
        }
        Ok(found)
    }

    /// The record with its attempt, where that is the part's number.
    fn numbered(&self, row: usize, record: Arc<Record>) -> Arc<Record> {
        if !self.are_attempts {
            return record;
        }
        let attempt = self.parts.partition_point(|(start, _)| *start <= row) - 1;
        Arc::new(Record {
            attempt: attempt as i64,
            ..Record::clone(&record)
        })
    }
}

impl Texts for Joined {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        let (local, texts) = self.part(row)?;
        Ok(self.numbered(row, texts.record(local)?))
    }

    fn records(&self, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
        let records = self.by_part(rows, |texts, rows| texts.records(rows))?;
        let numbered = rows
            .iter()
            .zip(records)
            .map(|(row, record)| self.numbered(*row, record));
        Ok(numbered.collect())
    }

    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        self.by_part(rows, |texts, rows| texts.source(rows))
    }

    fn source_lines(&self, rows: &[usize]) -> Result<Vec<Vec<u8>>> {
        self.by_part(rows, |texts, rows| texts.source_lines(rows))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.parts.iter().flat_map(|(_, texts)| texts.files()).collect()
    }

    fn scan(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut stopped = false;
        for (start, texts) in &self.parts {
            texts.scan(field, &|row| wanted(start + row), &mut |row, text| {
                let flow = visit(start + row, text);
                stopped |= flow.is_break();
                flow
            })?;
            if stopped {
                break;
            }
        }
        Ok(())
    }
}

/// One trace over all; a single one stays as it is.
pub fn join(traces: Vec<Trace>) -> Result<Trace> {
    joined(traces, false)
}

/// One trace over all, each of them an attempt at the same questions, in their order.
pub fn attempts(traces: Vec<Trace>) -> Result<Trace> {
    joined(traces, true)
}

fn joined(mut traces: Vec<Trace>, are_attempts: bool) -> Result<Trace> {
    match traces.len() {
        0 => bail!("there is no trace to show"),
        1 => return Ok(traces.remove(0)),
        _ => {}
    }
    let mut rows = Rows::default();
    let mut parts = Vec::new();
    let mut notices = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for (number, trace) in traces.iter().enumerate() {
        parts.push((rows.len(), Arc::clone(&trace.texts)));
        for row in 0..trace.rows.len() {
            rows.push_row(&trace.rows, row);
            if let Some(attempt) = rows.attempt.last_mut().filter(|_| are_attempts) {
                *attempt = u16::try_from(number).unwrap_or(u16::MAX);
            }
        }
        notices.extend(trace.notices.iter().cloned());
        if !names.contains(&trace.name) {
            names.push(trace.name.clone());
        }
    }
    let rule = traces[0].rule.clone();
    Ok(Trace {
        name: names.join(", "),
        path: traces[0].path.clone(),
        kind: traces[0].kind.clone(),
        texts: Arc::new(Joined {
            parts,
            rows: rows.len(),
            are_attempts,
        }),
        rows,
        manifest: None,
        notices,
        rule,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(name: &str, texts: &[&str]) -> Trace {
        let record = |text: &&str| Record {
            reasoning: (*text).to_owned(),
            ..Record::default()
        };
        Trace::from_records(name, "test", texts.iter().map(record).collect())
    }

    #[test]
    fn joined_traces_read_and_search_as_one() {
        let joined = join(vec![trace("a", &["one", "two"]), trace("b", &["three"])]).unwrap();
        assert_eq!((joined.name.as_str(), joined.rows.len()), ("a, b", 3));
        assert_eq!(joined.texts.record(2).unwrap().reasoning, "three");
        assert!(joined.texts.record(3).is_err());
        let mut seen = Vec::new();
        let visit = &mut |row, text: &str| {
            seen.push((row, text.to_owned()));
            if row == 1 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        joined.texts.scan(Field::Completion, &|row| row > 0, visit).unwrap();
        assert_eq!(seen, [(1, "two".to_owned())]);
    }

    #[test]
    fn attempts_are_numbered_in_rows_and_records() {
        let joined = attempts(vec![trace("a", &["one", "two"]), trace("b", &["three", "four"])]).unwrap();
        assert_eq!(joined.rows.attempt, [0, 0, 1, 1]);
        let records = joined.texts.records(&[1, 2]).unwrap();
        assert_eq!((records[0].attempt, records[1].attempt), (0, 1));
        assert_eq!(joined.record(3).unwrap().attempt, 1);
    }
}
