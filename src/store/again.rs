//! A second sitting: some rows of a finished run are answered anew, with other limits. It is a run folder of its own inside
//! the run's until all of its answers are there; then the run takes them in, and keeps the first ones beside.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::{RECORDS, journal};
use crate::manifest::{self, Again, Manifest};
use crate::parquet;
use crate::record::{Finish, Record};

/// The folder of a further sitting inside a run's.
const FOLDER: &str = "again";

/// The flag of a row that was answered anew.
const FLAG: &str = "again";

/// Why rows are answered anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// The token limit was reached.
    Cut,
    /// No letter could be read.
    Unreadable,
    /// The engine failed on it.
    Error,
    /// Not a word came.
    Empty,
}

impl Kind {
    pub const ALL: [(Kind, &'static str); 4] = [
        (Kind::Cut, "cut"),
        (Kind::Unreadable, "unreadable"),
        (Kind::Error, "error"),
        (Kind::Empty, "empty"),
    ];

    pub fn name(self) -> &'static str {
        Kind::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }

    /// Whether a row is one of this kind; a failed or empty one is no other.
    pub fn holds(self, record: &Record) -> bool {
        let failed = record.finish == Some(Finish::Error);
        let is_empty = !failed && record.logprobs.is_none() && record.reasoning.is_empty();
        match self {
            Kind::Error => failed,
            Kind::Empty => is_empty,
            Kind::Cut => !failed && !is_empty && matches!(record.finish, Some(Finish::Length | Finish::User)),
            Kind::Unreadable => !failed && !is_empty && record.is_invalid(),
        }
    }
}

/// Rows that are answered anew.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chosen {
    /// Question and attempt.
    pub keys: HashSet<(i64, i64)>,
    /// By the first kind that holds, in the order asked for.
    pub kinds: BTreeMap<&'static str, usize>,
}

impl Chosen {
    /// The sitting that is to be.
    pub fn again(&self) -> Again {
        Again {
            kinds: self
                .kinds
                .iter()
                .map(|(name, rows)| ((*name).to_owned(), *rows))
                .collect(),
            ..Again::default()
        }
    }
}

/// The folder of a further sitting of a run.
pub fn folder(run: &Path) -> PathBuf {
    run.join(FOLDER)
}

/// The rows of a finished run that are of some kinds.
///
/// # Errors
/// When the run is not finished or its settings are others than now, the longest completion aside.
pub fn choose(run: &Path, now: &Manifest, kinds: &[Kind]) -> Result<Chosen> {
    ensure!(
        run.join(RECORDS).is_file() && !run.join(journal::FILE).is_file(),
        "{} is not finished: go on with it by --resume, then --again",
        run.display()
    );
    let mut stored = Manifest::read(run)?.settings;
    if let (Some(before), Some(now)) = (&mut stored.sampling, &now.settings.sampling) {
        before.max_tokens = now.max_tokens;
    }
    let same = stored.must_equal(&now.settings);
    same.with_context(|| format!("cannot answer rows of {} again", run.display()))?;
    let mut chosen = Chosen::default();
    parquet::each_record(&run.join(RECORDS), &mut |record| {
        if let Some(kind) = kinds.iter().find(|kind| kind.holds(&record)) {
            chosen.keys.insert((record.question_id, record.attempt));
            *chosen.kinds.entry(kind.name()).or_default() += 1;
        }
        Ok(())
    })?;
    Ok(chosen)
}

/// Takes the answers of a finished sitting into the run: they stand in the place of the first ones, which are kept in a file
/// beside. A kill at any moment leaves what the next call ends.
///
/// # Errors
/// When a file cannot be read or written; the run then is as it was.
pub fn merge(run: &Path) -> Result<Again> {
    let sitting = folder(run);
    let (mut whole, own) = (Manifest::read(run)?, Manifest::read(&sitting)?);
    if let Some(done) = whole.again.iter().find(|again| again.started == own.started) {
        remove(&sitting)?;
        return Ok(done.clone());
    }
    let before = format!("records.{}.parquet", whole.again.len());
    let kept = run.join(&before);
    if !kept.is_file() {
        let bytes = std::fs::read(run.join(RECORDS)).with_context(|| format!("cannot read {}", run.display()))?;
        crate::files::write_aside(&kept, &bytes)?;
    }
    let mut new = HashMap::new();
    parquet::each_record(&sitting.join(RECORDS), &mut |record| {
        new.insert((record.question_id, record.attempt), record);
        Ok(())
    })?;
    let limit = |manifest: &Manifest| manifest.settings.sampling.as_ref().map(|sampling| sampling.max_tokens);
    let mut again = Again {
        rows: new.len(),
        kinds: own.again.first().map(|again| again.kinds.clone()).unwrap_or_default(),
        max_tokens: limit(&whole).zip(limit(&own)),
        started: own.started.clone(),
        before,
        ..Again::default()
    };
    let first = parquet::open(&kept)?;
    let records = (0..first.rows.len()).map(|row| Ok(take(&mut again, &*first.texts.record(row)?, &mut new)));
    parquet::write_each(&run.join(RECORDS), records)?;
    if !new.is_empty() {
        bail!(
            "{} holds answers to questions that the run did not ask",
            sitting.display()
        );
    }
    whole.again.push(again.clone());
    whole.write(run)?;
    remove(&sitting)?;
    Ok(again)
}

/// The row that the run has by now in the place of a first one; counted.
fn take(again: &mut Again, first: &Record, new: &mut HashMap<(i64, i64), Record>) -> Record {
    let record = match new.remove(&(first.question_id, first.attempt)) {
        Some(mut record) => {
            record.flags.push(FLAG.to_owned());
            record
        }
        None => first.clone(),
    };
    again.of += 1;
    again.correct.0 += usize::from(first.correct);
    again.correct.1 += usize::from(record.correct);
    again.changed += usize::from(first.pick != record.pick);
    record
}

/// Ends what a kill may have left: a sitting whose answers were all there and were not taken in.
pub fn mend(run: &Path) -> Result<()> {
    let is_whole = begun(run) && Manifest::read(&folder(run)).is_ok_and(|own| own.ended.is_some());
    if is_whole { merge(run).map(drop) } else { Ok(()) }
}

/// Whether a further sitting was begun before: it is gone on with.
pub fn begun(run: &Path) -> bool {
    folder(run).join(manifest::FILE).is_file()
}

fn remove(sitting: &Path) -> Result<()> {
    std::fs::remove_dir_all(sitting).with_context(|| format!("cannot remove {}", sitting.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: i64, pick: &str, finish: Finish) -> Record {
        Record {
            question_id: id,
            pick: pick.into(),
            answer: "B".into(),
            correct: pick == "B",
            reasoning: if finish == Finish::Error {
                String::new()
            } else {
                format!("{id} {pick}")
            },
            finish: Some(finish),
            ..Record::default()
        }
    }

    fn finished(path: &Path, records: &[Record], started: &str, chosen: &Chosen) -> Manifest {
        std::fs::create_dir_all(path).unwrap();
        parquet::write_records(&path.join(RECORDS), records, parquet::Order::ByQuestion).unwrap();
        let manifest = Manifest {
            started: started.into(),
            rows: records.len(),
            again: (!chosen.keys.is_empty()).then(|| chosen.again()).into_iter().collect(),
            ..Manifest::default()
        };
        manifest.write(path).unwrap();
        manifest
    }

    #[test]
    fn rows_answered_again_are_reported_before_and_after_and_the_first_ones_stay() {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join("run");
        let invalid = crate::record::INVALID;
        let all = [
            record(1, "B", Finish::Eos),
            record(2, invalid, Finish::Length),
            record(3, invalid, Finish::Error),
            record(4, invalid, Finish::Eos),
        ];
        let now = finished(&run, &all, "first", &Chosen::default());
        let chosen = choose(&run, &now, &[Kind::Cut, Kind::Error]).unwrap();
        assert_eq!(chosen.keys, HashSet::from([(2, 0), (3, 0)]));
        assert_eq!(chosen.kinds, BTreeMap::from([("cut", 1), ("error", 1)]));
        for started in ["second", "second"] {
            finished(
                &folder(&run),
                &[record(2, "B", Finish::Eos), record(3, "A", Finish::Eos)],
                started,
                &chosen,
            );
            let again = merge(&run).unwrap();
            assert_eq!((again.rows, again.of, again.correct, again.changed), (2, 4, (1, 2), 2));
            let words = again.in_words();
            assert!(
                words.contains("2 of 4 rows") && words.contains("before 25.0, after 50.0"),
                "{words}"
            );
        }
        assert_eq!(Manifest::read(&run).unwrap().again.len(), 1, "a sitting counts once");
        let picks = |file: &str| -> Vec<String> {
            let records = parquet::read_records(&run.join(file)).unwrap();
            records.into_iter().map(|record| record.pick).collect()
        };
        assert_eq!(picks(RECORDS), ["B", "B", "A", invalid]);
        assert_eq!(picks("records.0.parquet"), ["B", invalid, invalid, invalid]);
        assert!(!begun(&run));
    }

    #[test]
    fn a_run_that_is_not_finished_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let error = choose(home.path(), &Manifest::default(), &[Kind::Cut])
            .unwrap_err()
            .to_string();
        assert!(error.contains("--resume"), "{error}");
    }
}
