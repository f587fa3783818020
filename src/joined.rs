//! Several traces read as one: the exams of a run, the files of a set.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use crate::notes::Notes;
use crate::record::Record;
use crate::trace::{Field, Member, Number, Rows, SyncWanted, Texts, Trace, Visit, VisitNumber, Wanted};

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

    fn answers(&self, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
        let records = self.by_part(rows, |texts, rows| texts.answers(rows))?;
        let numbered = rows.iter().zip(records);
        Ok(numbered.map(|(row, record)| self.numbered(*row, record)).collect())
    }

    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        self.by_part(rows, |texts, rows| texts.source(rows))
    }

    fn source_lines(&self, rows: &[usize]) -> Result<Vec<Vec<u8>>> {
        self.by_part(rows, |texts, rows| texts.source_lines(rows))
    }

    fn place(&self, row: usize) -> Option<(PathBuf, u64)> {
        let (local, texts) = self.part(row).ok()?;
        texts.place(local)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.parts.iter().flat_map(|(_, texts)| texts.files()).collect()
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> Result<()> {
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

    fn map(&self, field: Field, wanted: &SyncWanted, number: &Number, visit: &mut VisitNumber) -> Result<()> {
        let mut stopped = false;
        for (start, texts) in &self.parts {
            let wanted = |row: usize| wanted(start + row);
            let number = |row: usize, text: &str| number(start + row, text);
            texts.map(field, &wanted, &number, &mut |row, number| {
                let flow = visit(start + row, number);
                stopped |= flow.is_break();
                flow
            })?;
            if stopped {
                break;
            }
        }
        Ok(())
    }

    fn parts(&self) -> Vec<usize> {
        self.parts.iter().map(|(start, _)| *start).collect()
    }
}

/// A run on the screen, with what a person wrote on its rows.
#[derive(Debug, Clone)]
pub struct Run {
    pub trace: Arc<Trace>,
    /// Notes of earlier sessions, or why they could not be read.
    pub notes: Result<Notes, String>,
}

impl Run {
    /// A run without notes.
    pub fn new(trace: Trace) -> Run {
        Run {
            trace: Arc::new(trace),
            notes: Ok(Notes::default()),
        }
    }

    /// Takes the notes of the same run as it was before.
    pub fn take_notes(&mut self, before: &[Run]) {
        let same = |run: &&Run| run.trace.path == self.trace.path && run.trace.name == self.trace.name;
        if let Some(run) = before.iter().find(same) {
            self.notes = match &run.notes {
                Ok(notes) => Ok(notes.moved(&run.trace.rows, &self.trace.rows)),
                Err(error) => Err(error.clone()),
            };
        }
    }

    /// A run with the notes that were kept.
    pub fn with_notes(trace: Trace) -> Run {
        Run {
            notes: Notes::load(&trace).map_err(|error| format!("{error:#}")),
            trace: Arc::new(trace),
        }
    }
}

/// Joins what belongs to one run (its exams, its files, its attempts); traces on the same questions are runs of their own.
pub fn part_runs(traces: Vec<Trace>) -> Result<Vec<Trace>> {
    let mut runs: Vec<Vec<Trace>> = Vec::new();
    for trace in traces {
        match runs
            .iter_mut()
            .find(|run| run.iter().all(|other| are_one_run(other, &trace)))
        {
            Some(run) => run.push(trace),
            None => runs.push(vec![trace]),
        }
    }
    if runs.is_empty() {
        bail!("there is no trace to show");
    }
    runs.into_iter().map(join).collect()
}

/// Whether traces are parts of one run.
pub fn is_one_run(traces: &[Trace]) -> bool {
    let pairs = traces.iter().enumerate();
    pairs
        .flat_map(|(at, one)| traces[at + 1..].iter().map(move |other| (one, other)))
        .all(|(one, other)| are_one_run(one, other))
}

/// Whether two traces may be of one model: the same is named, or none for one of them and they lie together.
fn may_be_one_model(one: &Trace, other: &Trace) -> bool {
    let folder = |trace: &Trace| match &trace.path {
        Some(path) if path.is_file() => path.parent().map(std::path::Path::to_owned),
        path => path.clone(),
    };
    match (one.model(), other.model()) {
        (Some(model), Some(other)) => model == other,
        _ => one.name == other.name || folder(one) == folder(other),
    }
}

/// Whether two traces are parts of one run: of one model, no row stands in both, and where they share questions, they are
/// attempts of one name.
fn are_one_run(one: &Trace, other: &Trace) -> bool {
    if !may_be_one_model(one, other) {
        return false;
    }
    let (a, b) = (&one.rows, &other.rows);
    let fits = |x: &str, y: &str| x.is_empty() || y.is_empty() || x == y;
    let is_same_question = |x: usize, y: usize| {
        let (hash, other_hash) = (a.doc[x], b.doc[y]);
        fits(a.benchmark.get(x), b.benchmark.get(y))
            && fits(a.subject.get(x), b.subject.get(y))
            && (hash == 0 || other_hash == 0 || hash == other_hash)
    };
    let mut places: HashMap<i64, Vec<usize>> = HashMap::new();
    for row in 0..a.len() {
        places.entry(a.question_id[row]).or_default().push(row);
    }
    let (mut shares_rows, mut shares_questions) = (false, false);
    for row in 0..b.len() {
        let same = places.get(&b.question_id[row]).into_iter().flatten();
        for place in same.filter(|place| is_same_question(**place, row)) {
            shares_questions = true;
            shares_rows |= a.attempt[*place] == b.attempt[row];
        }
        if shares_rows {
            return false;
        }
    }
    !shares_questions || one.name == other.name
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
    let mut members = Vec::new();
    for (number, trace) in traces.iter().enumerate() {
        parts.push((rows.len(), Arc::clone(&trace.texts)));
        let first = rows.len();
        rows.append(&trace.rows);
        if are_attempts {
            rows.attempt[first..].fill(u16::try_from(number).unwrap_or(u16::MAX));
        }
        notices.extend(trace.notices.iter().cloned());
        members.extend(trace.members().into_iter().map(|member| Member {
            first: first + member.first,
            ..member
        }));
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
        members,
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    fn trace(name: &str, texts: &[&str]) -> Trace {
        let record = |text: &&str| Record {
            reasoning: (*text).to_owned(),
            ..Record::default()
        };
        Trace::from_records(name, "test", texts.iter().map(record).collect())
    }

    #[test]
    fn files_of_one_run_are_joined_and_two_runs_on_the_same_questions_are_not() {
        let run = |name: &str, benchmark: &str, attempt: i64| {
            let record = |id: i64| Record {
                question_id: id,
                attempt,
                benchmark: benchmark.to_owned(),
                ..Record::default()
            };
            Trace::from_records(name, "test", (0..4).map(record).collect())
        };
        let count = |traces: Vec<Trace>| {
            let runs = part_runs(traces).unwrap();
            (runs[0].rows.len(), runs.len() - 1)
        };
        assert_eq!(
            count(vec![run("m", "mmlu", 0), run("m", "mmlu_pro", 0)]),
            (8, 0),
            "two exams"
        );
        assert_eq!(
            count(vec![run("m", "mmlu", 0), run("m", "mmlu", 1)]),
            (8, 0),
            "two attempts"
        );
        assert_eq!(
            count(vec![run("a", "mmlu", 0), run("b", "mmlu", 0)]),
            (4, 1),
            "two models"
        );
        assert_eq!(
            count(vec![run("a", "mmlu", 0), run("b", "mmlu", 1)]),
            (4, 1),
            "two models, other seeds"
        );
        assert_eq!(
            count(vec![run("a", "mmlu", 0), run("b", "", 0)]),
            (4, 1),
            "an unnamed benchmark"
        );
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
