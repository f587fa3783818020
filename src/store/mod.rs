//! The run folder: `run.json` (the manifest), `journal.jsonl` while it runs, `records.parquet` when done.

pub mod again;
mod folder;
pub mod journal;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

pub use folder::{Resumed, RunFolder};
pub use journal::Journal;

pub use crate::manifest::{Manifest, Settings};

use crate::trace::{Notice, Provenance, Trace};
use crate::{manifest, parquet};

/// The finished records' file name in a run folder.
pub const RECORDS: &str = "records.parquet";

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

/// Opens a run folder: the finished records, or the journal of a run that is at work or was stopped.
pub fn open(folder: &Path) -> Result<Trace> {
    let manifest = Manifest::find(folder)?;
    let mut damage = match &manifest {
        Err(problem) if folder.join(manifest::FILE).is_file() => vec![problem.clone()],
        _ => Vec::new(),
    };
    let manifest = manifest.ok();
    let (finished, has_journal) = (folder.join(RECORDS), folder.join(journal::FILE).is_file());
    let records = finished.is_file().then(|| parquet::open(&finished));
    let mut trace = match records {
        Some(Ok(mut trace)) => {
            if manifest.is_some() {
                trace.kind = format!("markbook run, {} rows", trace.rows.len());
            }
            trace
        }
        Some(Err(error)) if !has_journal => return Err(error),
        None if !has_journal => bail!(
            "{} holds no {RECORDS} and no {}: not a run's folder",
            folder.display(),
            journal::FILE
        ),
        broken => {
            let error = broken.and_then(Result::err);
            damage
                .extend(error.map(|error| format!("{error:#}: {} is read instead, --resume mends it", journal::FILE)));
            open_journal(folder, manifest.as_ref().map(|manifest| manifest.rows))?
        }
    };
    trace.notices.extend(damage.into_iter().map(|text| Notice {
        kind: "broken_file".into(),
        text,
    }));
    trace.rows.depends_on_cell = depending(folder);
    trace.path = Some(folder.to_owned());
    if let Some(manifest) = manifest {
        trace.name = format!("{} {}", manifest.settings.model.name, manifest.settings.benchmark);
        trace.notices.extend(manifest.again.iter().map(|again| Notice {
            kind: "again".into(),
            text: again.in_words(),
        }));
        trace.manifest = Some(Provenance::Ours(Box::new(manifest)));
    } else {
        trace.name = folder
            .file_name()
            .map_or_else(|| "run".into(), |name| name.to_string_lossy().into_owned());
    }
    Ok(trace)
}

/// The file in a study's folder with the ids of the questions whose outcome is not the same in all its cells, one a line.
pub const SPLIT: &str = "style-split.txt";

/// What the study that a run folder lies in found; empty where there is none.
fn depending(folder: &Path) -> HashSet<i64> {
    let list = folder.parent().map(|study| study.join(SPLIT));
    let text = list
        .and_then(|list| std::fs::read_to_string(list).ok())
        .unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// The answers of a journal, each (question, attempt) once; their texts are read when they are shown.
fn open_journal(folder: &Path, planned: Option<usize>) -> Result<Trace> {
    let mut trace = Trace::from_records("", "", Vec::new());
    let lines = journal::Lines::open(folder)?;
    let mut seen = HashSet::new();
    let contents = journal::each(folder, &mut |record, place| {
        if seen.insert((record.question_id, record.attempt)) {
            trace.rows.push_record(&record);
            lines.push(place);
        }
        Ok(())
    })?;
    trace.texts = Arc::new(lines);
    let rows = planned.map_or(String::new(), |rows| format!(" of {rows}"));
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
            trace.manifest = Some(Provenance::Ours(Box::new(manifest)));
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
