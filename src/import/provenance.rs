//! `provenance/*.json` beside a set: how it was made, in its makers' words.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::trace::Trace;

/// Larger files are no notes on how a set was made.
const LARGEST: u64 = 4 << 20;

/// Files that are read.
const MOST: usize = 100;

/// Puts the files of the folder `provenance` beside a set into its manifest; where the set lies in `data`, beside that.
pub(super) fn attach(trace: &mut Trace, path: &Path) {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    let outer = folder.parent().filter(|_| folder.ends_with("data"));
    let found = std::iter::once(folder)
        .chain(outer)
        .map(|folder| read(&folder.join("provenance")))
        .find(|found| !found.is_empty());
    let Some(found) = found else { return };
    trace.manifest.get_or_insert_default().add_beside(found);
}

fn read(folder: &Path) -> Map<String, Value> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| {
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        is_json && path.metadata().is_ok_and(|facts| facts.len() <= LARGEST)
    });
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        Some((name, value))
    };
    paths.iter().take(MOST).filter_map(read).collect()
}
