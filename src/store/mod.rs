//! The run folder: `run.json` (the manifest), `journal.jsonl` while it runs, `records.parquet` when done.

pub mod journal;
pub mod manifest;

use std::borrow::Borrow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub use journal::Journal;
pub use manifest::{Manifest, Settings};

use crate::parquet::{self, Order};
use crate::record::Record;
use crate::trace::{Notice, Trace};

/// The finished records' file name in a run folder.
pub const RECORDS: &str = "records.parquet";

/// A run folder that a run writes into.
#[derive(Debug)]
pub struct RunFolder {
    pub path: PathBuf,
    journal: Journal,
}

/// Whether a folder holds a run.
pub fn is_run(folder: &Path) -> bool {
    [manifest::FILE, journal::FILE, RECORDS]
        .iter()
        .any(|name| folder.join(name).is_file())
}

/// Refuses, before any work, a folder that a run could not be written into.
///
/// # Errors
/// When it cannot be made or is not writable, or it already holds a run and `resume` is not asked for.
pub fn preflight(folder: &Path, resume: bool) -> Result<()> {
    if is_run(folder) {
        if !resume {
            bail!(
                "{} already holds a run: go on with it by --resume, or take another --out",
                folder.display()
            );
        }
    } else if resume {
        bail!(
            "{} holds no run to resume; without --resume a new one is made there",
            folder.display()
        );
    }
    // What is missing above the folder is made with it.
    let writable = folder
        .ancestors()
        .find(|above| above.exists())
        .unwrap_or(Path::new("."));
    if !writable.is_dir() {
        bail!("{} is a file; --out takes a folder", writable.display());
    }
    tempfile::tempfile_in(writable)
        .with_context(|| format!("cannot write into {}; take another --out", writable.display()))?;
    Ok(())
}

impl RunFolder {
    /// Makes the folder of a new run and writes its manifest.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<RunFolder> {
        preflight(path, false)?;
        std::fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))?;
        manifest.write(path)?;
        Ok(RunFolder {
            path: path.to_owned(),
            journal: Journal::open(path, 0)?,
        })
    }

    /// Opens the folder of a run that was stopped, with the records it has. A half line at the journal's end is dropped.
    ///
    /// # Errors
    /// When the settings differ: the message names which.
    pub fn resume(path: &Path, settings: &Settings) -> Result<(RunFolder, Manifest, Vec<Record>)> {
        let manifest = Manifest::read(path)?;
        manifest
            .settings
            .must_equal(settings)
            .with_context(|| format!("cannot resume {}", path.display()))?;
        // The lock comes first: what is read is then not being written.
        let journal = Journal::lock(path)?;
        let contents = journal::read(path)?;
        let mut records = contents.records;
        let journal = if contents.broken.is_empty() {
            journal.cut(contents.len)?
        } else {
            journal.rewrite(path, &records)?
        };
        let finished = path.join(RECORDS);
        if finished.is_file() {
            // Killed between the rename and the journal's end, or complete: what both hold counts once.
            let mut seen: std::collections::HashSet<(i64, i64)> = records
                .iter()
                .map(|record| (record.question_id, record.attempt))
                .collect();
            let more = parquet::read_records(&finished)?;
            records.extend(
                more.into_iter()
                    .filter(|record| seen.insert((record.question_id, record.attempt))),
            );
        }
        Ok((
            RunFolder {
                path: path.to_owned(),
                journal,
            },
            manifest,
            records,
        ))
    }

    /// Keeps a finished answer.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        self.journal.append(record)
    }

    pub fn sync(&mut self) -> Result<()> {
        self.journal.sync()
    }

    /// Writes `records.parquet` and the manifest; the journal goes last.
    pub fn finish<R: Borrow<Record>>(&mut self, manifest: &Manifest, records: &[R]) -> Result<()> {
        self.journal.sync()?;
        parquet::write_records(&self.path.join(RECORDS), records, Order::ByQuestion)?;
        manifest.write(&self.path)?;
        let journal = self.path.join(journal::FILE);
        std::fs::remove_file(&journal).with_context(|| format!("cannot remove {}", journal.display()))
    }
}

/// Opens a run folder: the finished records, or the journal of a run that is at work or was stopped.
pub fn open(folder: &Path) -> Result<Trace> {
    let manifest = if folder.join(manifest::FILE).is_file() {
        Some(Manifest::read(folder)?)
    } else {
        None
    };
    let finished = folder.join(RECORDS);
    let mut trace = if finished.is_file() {
        parquet::open(&finished)?
    } else if folder.join(journal::FILE).is_file() {
        let contents = journal::read(folder)?;
        let mut trace = Trace::from_records("", "", contents.records);
        let rows = manifest
            .as_ref()
            .map_or(String::new(), |manifest| format!(" of {}", manifest.rows));
        trace.kind = format!("markbook run, not finished: {}{rows} rows", trace.rows.len());
        if !contents.broken.is_empty() {
            let lines: Vec<String> = contents.broken.iter().take(10).map(ToString::to_string).collect();
            trace.notices.push(Notice {
                kind: "broken_row".into(),
                text: format!(
                    "{}: {} broken lines left out (line {}); --resume asks them again",
                    journal::FILE,
                    contents.broken.len(),
                    lines.join(", ")
                ),
            });
        }
        if contents.half_line {
            trace.notices.push(Notice {
                kind: "half_line".into(),
                text: format!(
                    "{}: its last line was cut off while it was written and is left out",
                    journal::FILE
                ),
            });
        }
        trace
    } else {
        bail!(
            "{} holds no {RECORDS} and no {}: not a run's folder",
            folder.display(),
            journal::FILE
        );
    };
    trace.path = Some(folder.to_owned());
    if let Some(manifest) = manifest {
        if finished.is_file() {
            trace.kind = format!("markbook run, {} rows", trace.rows.len());
        }
        trace.name = format!("{} {}", manifest.settings.model.name, manifest.settings.benchmark);
        trace.manifest = Some(serde_json::to_value(&manifest)?);
    } else {
        trace.name = folder
            .file_name()
            .map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    }
    Ok(trace)
}

/// The demo run that is inside the program: both exams over the embedded questions, recorded by markbook itself.
pub fn recorded_demo() -> Result<Vec<Trace>> {
    let exams: [(&[u8], &str); 2] = [
        (
            include_bytes!("../../assets/demo-run/mmlu/records.parquet"),
            include_str!("../../assets/demo-run/mmlu/run.json"),
        ),
        (
            include_bytes!("../../assets/demo-run/mmlu_pro/records.parquet"),
            include_str!("../../assets/demo-run/mmlu_pro/run.json"),
        ),
    ];
    exams
        .into_iter()
        .map(|(records, manifest)| {
            let manifest: Manifest =
                serde_json::from_str(manifest).context("the recorded demo's manifest is broken")?;
            let mut trace = parquet::open_bytes("the recorded demo", records)?;
            trace.kind = format!("recorded demo run, {} rows", trace.rows.len());
            trace.name = format!("recorded demo {}", manifest.settings.benchmark);
            trace.manifest = Some(serde_json::to_value(&manifest)?);
            Ok(trace)
        })
        .collect()
}

/// A folder name for a model: short, unique, without characters that file systems refuse.
pub fn folder_name(model: &str) -> String {
    use sha2::{Digest, Sha256};
    let clean: String = model
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let clean = clean.trim_matches(['_', '.']).to_owned();
    if clean.len() <= 80 && clean == model {
        return clean;
    }
    let digest = Sha256::digest(model.as_bytes());
    let short: String = clean
        .chars()
        .rev()
        .take(60)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    format!(
        "{}-{:02x}{:02x}{:02x}{:02x}",
        short.trim_start_matches(['_', '.', '-']),
        digest[0],
        digest[1],
        digest[2],
        digest[3]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_or_odd_model_names_become_short_unique_folder_names() {
        let long = format!("/very/long/{}/ckpt:1", "x".repeat(400));
        let other = format!("/very/long/{}/ckpt:2", "x".repeat(400));
        for name in [&long, &other] {
            let folder = folder_name(name);
            assert!(folder.len() < 100 && !folder.contains(['/', ':']), "{folder}");
        }
        assert_ne!(folder_name(&long), folder_name(&other));
        assert_ne!(folder_name("a/b"), folder_name("a:b"));
        assert_eq!(folder_name("SmolLM2-135M"), "SmolLM2-135M");
    }

    #[test]
    fn missing_parents_are_made_and_a_run_already_there_is_refused_before_any_work() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let error = preflight(&folder.path().join("file/run"), false)
            .unwrap_err()
            .to_string();
        assert!(error.contains("is a file"), "{error}");
        let out = folder.path().join("a/b/run");
        preflight(&out, false).unwrap();
        RunFolder::create(&out, &Manifest::default()).unwrap();
        let error = preflight(&out, false).unwrap_err().to_string();
        assert!(error.contains("--resume") && error.contains("--out"), "{error}");
        preflight(&out, true).unwrap();
    }
}
