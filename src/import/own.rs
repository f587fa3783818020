//! Our own kinds, wherever they lie: parquet of records or of five attempts, plain or packed, and run folders in archives.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

use super::archive::Member;
use super::head::Start;
use super::json::{Object, Raw};
use super::source::{Layer, Source};
use crate::files;
use crate::record::{INVALID, letter_index};
use crate::trace::Trace;

/// Whether the rows of a parquet file are those of a trace that opens as it is.
pub(super) fn is_trace(start: &Start) -> bool {
    let first = start.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let columns: Vec<String> = Object::read(first).0.keys().map(str::to_owned).collect();
    crate::parquet::is_trace(&columns)
}

/// Whether a parquet trace can be taken as it is: whole numbers as ids, letters as picks and golds, no options by another name.
/// Records of our own always can.
pub(super) fn is_plain(rows: &[u8]) -> bool {
    let mut rows = rows
        .split(|byte| *byte == b'\n')
        .map(|line| Object::read(line).0)
        .filter(|row| !row.is_empty());
    let is_letter = |row: &Object, name: &str| {
        let text = row.get(name).and_then(Raw::text);
        text.is_some_and(|text| text.is_empty() || text == INVALID || letter_index(&text).is_some())
    };
    rows.all(|row| {
        let is_ours = row.has("target_hash");
        let is_id = row
            .get("question_id")
            .is_some_and(|id| !id.is_string() && id.int().is_some());
        is_ours
            || (is_id
                && (!row.has("choices") || row.has("options"))
                && ["pick", "answer"]
                    .iter()
                    .all(|name| !row.has(name) || row.get(name).is_none() || is_letter(&row, name)))
    })
}

/// The columns that [`is_plain`] looks at; texts are left alone.
pub(super) const PLAIN: [&str; 4] = ["question_id", "pick", "answer", "target_hash"];

/// Opens a parquet trace from under its packing. What is unpacked goes when the trace does.
pub(super) fn open_parquet(path: &Path, layers: Vec<Layer>, scratch: Option<&Path>) -> Result<Trace> {
    if layers.is_empty() {
        return crate::parquet::open(path);
    }
    let source = Source::new(path, layers, scratch);
    let folder = files::scratch_folder(scratch)?;
    let plain = folder.path().join("records.parquet");
    unpack(&source, &plain)?;
    let mut trace = crate::parquet::open(&plain).with_context(|| format!("opening {}", source.name()))?;
    trace.path = Some(path.to_owned());
    let stem = super::folder::stem_of(path, &source.layers);
    stem.rsplit('/').next().unwrap_or_default().clone_into(&mut trace.name);
    Ok(trace)
}

/// A run folder inside an archive.
#[derive(Debug, Clone)]
pub(super) struct ArchivedRun {
    /// The folder with a slash at its end, or nothing.
    folder: String,
    pub files: Vec<Member>,
}

const RUN_FILES: [&str; 3] = ["run.json", "records.parquet", "journal.jsonl"];

/// The run folders among an archive's files: those with a manifest and rows.
pub(super) fn runs_in_archive(members: &[Member]) -> Vec<ArchivedRun> {
    let by_name: HashMap<&str, &Member> = members.iter().map(|member| (member.name.as_str(), member)).collect();
    let folders = members.iter().filter_map(|member| member.name.strip_suffix("run.json"));
    let folders = folders.filter(|folder| folder.is_empty() || folder.ends_with('/'));
    let run = |folder: &str| {
        let inside = RUN_FILES.iter().map(|name| format!("{folder}{name}"));
        let files = inside.filter_map(|name| by_name.get(name.as_str()).copied().cloned());
        ArchivedRun {
            folder: folder.to_owned(),
            files: files.collect(),
        }
    };
    folders.map(run).filter(|run| run.files.len() > 1).collect()
}

pub(super) fn open_archived_run(path: &Path, run: &ArchivedRun, scratch: Option<&Path>) -> Result<Trace> {
    let folder = files::scratch_folder(scratch)?;
    for file in &run.files {
        let place = folder.path().join(&file.name[run.folder.len()..]);
        unpack(&Source::new(path, vec![Layer::Member(file.clone())], scratch), &place)?;
    }
    let mut trace =
        crate::store::open(folder.path()).with_context(|| format!("opening {}{}", path.display(), run.folder))?;
    trace.path = Some(path.to_owned());
    Ok(trace)
}

fn unpack(source: &Source, to: &Path) -> Result<()> {
    let mut to = File::create(to).context("writing a temporary file")?;
    source.copy_to(&mut to)
}
