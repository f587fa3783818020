//! A frozen score, as one file: small, diffable, without a question's text, so that a repository can hold it and a gate on
//! another machine read it. It outlives its run folder.

mod gate;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::card::{Card, Part};
use crate::compare::Right;
use crate::files;
use crate::record::INVALID;
use crate::stats::{Questions, Slice, jitter, mean};
use crate::text::hex;

pub use gate::{Gate, Gated, Rules, Verdict, judge};

/// Loss that raises an alarm where none is given: two points.
pub const THRESHOLD: f64 = 0.02;

/// Version of the file.
const VERSION: u32 = 1;

/// The file's fields, in its order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Baseline {
    pub markbook_baseline: u32,
    pub name: String,
    pub run_id: String,
    /// RFC 3339, with offset.
    pub frozen_at: String,
    pub reason: Option<String>,
    /// In 0-1; set when freezing, so before the next run.
    pub threshold: f64,
    /// Hashes of the card.
    pub procedure: String,
    pub slice: Option<String>,
    pub card: Value,
    /// Rows, and their share of right ones.
    pub n: usize,
    pub accuracy: f64,
    /// `HASH CATEGORY MARKS`, see [`Asked`].
    pub questions: Vec<String>,
    /// Over all fields before it, as JSON without blanks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sha256: String,
}

/// A question of a baseline, or of a run held against one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// 16 hex digits of its hash, or `id:N` where it has none.
    pub key: String,
    pub category: String,
    /// A mark an attempt: `1` right, `0` wrong, `-` invalid.
    pub marks: String,
}

impl Asked {
    fn read(line: &str) -> Option<Asked> {
        let (key, rest) = line.split_once(' ')?;
        let (category, marks) = rest.rsplit_once(' ')?;
        let is_known = !marks.is_empty() && marks.bytes().all(|mark| b"10-".contains(&mark));
        is_known.then(|| Asked {
            key: key.to_owned(),
            category: category.to_owned(),
            marks: marks.to_owned(),
        })
    }

    fn line(&self) -> String {
        format!("{} {} {}", self.key, self.category, self.marks)
    }

    /// Right answers among the attempts.
    pub fn right(&self) -> Right {
        let correct = self.marks.bytes().filter(|mark| *mark == b'1').count() as u32;
        Right {
            correct,
            attempts: self.marks.len() as u32,
        }
    }
}

/// The questions of a slice in the order of their first rows, with what became of each attempt.
pub fn asked(slice: Slice) -> Vec<Asked> {
    let rows = slice.rows;
    let mark = |row: u32| match (rows.correct[row as usize], rows.pick.get(row as usize) == INVALID) {
        (true, _) => '1',
        (false, true) => '-',
        (false, false) => '0',
    };
    let questions = Questions::of(slice);
    let question = questions.iter().filter_map(|mut attempts| {
        let first = attempts.clone().next()? as usize;
        let key = match rows.doc[first] {
            0 => format!("id:{}", rows.question_id[first]),
            doc => format!("{doc:016x}"),
        };
        let category = crate::text::safe_line(rows.category.get(first));
        Some(Asked {
            key,
            category,
            marks: attempts.by_ref().map(mark).collect(),
        })
    });
    question.collect()
}

impl Baseline {
    /// Of rows that have this card.
    ///
    /// # Errors
    /// When there are none.
    pub fn of(name: &str, slice: Slice, card: &Card) -> Result<Baseline> {
        let right = slice.iter().filter(|row| slice.rows.correct[*row]).count();
        ensure!(!slice.is_empty(), "there are no rows to freeze");
        Ok(Baseline {
            markbook_baseline: VERSION,
            name: name.to_owned(),
            frozen_at: chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, false),
            threshold: THRESHOLD,
            procedure: card.hash(Part::Procedure).unwrap_or_default().to_owned(),
            slice: card.hash(Part::Slice).map(str::to_owned),
            card: card.value().clone(),
            n: slice.len(),
            accuracy: right as f64 / slice.len() as f64,
            questions: asked(slice).iter().map(Asked::line).collect(),
            ..Baseline::default()
        })
    }

    /// # Errors
    /// For a file that is none, was changed, or comes from a later version.
    pub fn read(path: &Path) -> Result<Baseline> {
        let named = || format!("{} is no baseline", path.display());
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let value: Value = serde_json::from_str(&text).with_context(named)?;
        let version = value["markbook_baseline"].as_u64().with_context(named)?;
        ensure!(
            version == u64::from(VERSION),
            "{} is a baseline of version {version}; this markbook reads version {VERSION}",
            path.display()
        );
        let baseline: Baseline = serde_json::from_value(value).with_context(named)?;
        ensure!(
            baseline.sum()? == baseline.sha256,
            "{} was changed after it was frozen: its sha256 does not fit; freeze the run again",
            path.display()
        );
        baseline.asked().with_context(named)?;
        Ok(baseline)
    }

    /// Writes it aside, then in its place, a question a line.
    pub fn write(&mut self, path: &Path) -> Result<()> {
        self.sha256 = self.sum()?;
        let text = serde_json::to_string_pretty(self).context("a baseline does not turn into JSON")?;
        files::write_aside(path, format!("{text}\n").as_bytes())
    }

    fn sum(&self) -> Result<String> {
        let bare = Baseline {
            sha256: String::new(),
            ..self.clone()
        };
        let text = serde_json::to_vec(&bare).context("a baseline does not turn into JSON")?;
        Ok(hex(&Sha256::digest(text)))
    }

    /// # Errors
    /// For a line that is no question.
    pub fn asked(&self) -> Result<Vec<Asked>> {
        let read = |line: &String| {
            Asked::read(line).with_context(|| format!("`{}` is no question", crate::text::safe_line(line)))
        };
        self.questions.iter().map(read).collect()
    }

    pub fn card(&self) -> Card {
        Card::read(self.card.clone())
    }

    /// The variance of one attempt at a question: 0 without sampling, `None` where a sampled run has one attempt each.
    pub fn within(&self) -> Option<f64> {
        let asked = self.asked().ok()?;
        let of_question = |asked: &Asked| {
            let right = asked.right();
            jitter::within_of(right.correct as usize, right.attempts as usize)
        };
        let is_drawn = self.card["seeds"] != crate::card::NONE;
        mean(&asked.iter().filter_map(of_question).collect::<Vec<_>>()).or((!is_drawn).then_some(0.0))
    }

    /// Accuracy of each category, in the order of first appearance.
    pub fn categories(&self) -> Vec<(String, f64)> {
        let mut sums: Vec<(String, Right)> = Vec::new();
        for asked in self.asked().unwrap_or_default() {
            let right = asked.right();
            match sums.iter_mut().find(|(name, _)| *name == asked.category) {
                Some((_, sum)) => {
                    sum.correct += right.correct;
                    sum.attempts += right.attempts;
                }
                None => sums.push((asked.category, right)),
            }
        }
        sums.into_iter()
            .map(|(name, sum)| (name, f64::from(sum.correct) / f64::from(sum.attempts.max(1))))
            .collect()
    }
}

/// Where a baseline of this name lies.
///
/// # Errors
/// For a name that is no file's, or where there is no data directory.
pub fn place(home: &Path, name: &str) -> Result<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(is_plain) {
        bail!(
            "`{}` names no baseline: letters, digits, - and _ make its name",
            crate::text::safe_line(name)
        );
    }
    Ok(home.join("baselines").join(format!("{name}.json")))
}

/// The baselines in the data directory, by name; files that are none are told beside them.
pub fn list(home: &Path) -> Vec<(PathBuf, Result<Baseline>)> {
    let entries = fs::read_dir(home.join("baselines")).into_iter().flatten().flatten();
    // An older file, NAME.DATE.json, is nobody's baseline any more.
    let is_current = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "json")
            && path
                .file_stem()
                .is_some_and(|stem| Path::new(stem).extension().is_none())
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_current).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), Baseline::read(&path)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::push;
    use crate::trace::Rows;

    fn frozen(folder: &Path) -> (PathBuf, Baseline) {
        let mut rows = Rows::default();
        for (id, picks) in [(1, ["B", "A"]), (2, ["B", INVALID])] {
            picks
                .iter()
                .zip(0..)
                .for_each(|(pick, attempt)| push(&mut rows, id, attempt, "computer science", pick));
        }
        let mut baseline = Baseline::of("july", Slice::all(&rows), &Card::default()).unwrap();
        let path = folder.join("july.json");
        baseline.write(&path).unwrap();
        (path, baseline)
    }

    #[test]
    fn a_baseline_comes_back_as_it_was_frozen() {
        let folder = tempfile::tempdir().unwrap();
        let (path, baseline) = frozen(folder.path());
        let read = Baseline::read(&path).unwrap();
        assert_eq!(read, baseline);
        assert_eq!(
            read.questions,
            [
                "0000000000000002 computer science 10",
                "0000000000000003 computer science 1-"
            ]
        );
        assert_eq!((read.accuracy, read.within()), (0.5, Some(0.5)));
        assert_eq!(read.categories(), [("computer science".to_owned(), 0.5)]);
    }

    #[test]
    fn a_baseline_that_was_changed_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = frozen(folder.path());
        let text = fs::read_to_string(&path).unwrap();
        for (old, new) in [("science 10", "science 00"), ("0.02", "0.2"), ("july", "june")] {
            fs::write(&path, text.replacen(old, new, 1)).unwrap();
            let error = format!("{:#}", Baseline::read(&path).unwrap_err());
            assert!(error.contains("was changed after it was frozen"), "{old}: {error}");
        }
        fs::write(
            &path,
            text.replacen("\"markbook_baseline\": 1", "\"markbook_baseline\": 2", 1),
        )
        .unwrap();
        assert!(format!("{:#}", Baseline::read(&path).unwrap_err()).contains("version 2"));
        fs::write(&path, "{}").unwrap();
        assert!(format!("{:#}", Baseline::read(&path).unwrap_err()).contains("is no baseline"));
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let home = Path::new("home");
        assert!(place(home, "july-2").is_ok());
        for name in ["", "../x", "a/b", "a.b", "a b"] {
            assert!(place(home, name).is_err(), "{name}");
        }
    }
}
