//! Traces of other tools: public files with their known counts, odd files, and files that chance has broken.

mod broken;
mod cases;
mod public;

use std::path::{Path, PathBuf};

use markbook::import::{self, Options};
use markbook::trace::Trace;

fn open_with(paths: &[&Path], options: &Options) -> anyhow::Result<Vec<Trace>> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    import::open(&paths, options)
}

fn open(path: &Path) -> anyhow::Result<Vec<Trace>> {
    open_with(&[path], &Options::default())
}

/// The only trace that a path gives.
fn open_one(path: &Path) -> Trace {
    let mut traces = open(path).unwrap();
    assert_eq!(traces.len(), 1, "{}: {traces:?}", path.display());
    traces.remove(0)
}

/// Rows, right ones, invalid ones.
fn counts(trace: &Trace) -> (usize, usize, usize) {
    let rows = &trace.rows;
    let invalid = (0..rows.len()).filter(|row| rows.is_invalid(*row)).count();
    (
        rows.len(),
        rows.correct.iter().filter(|correct| **correct).count(),
        invalid,
    )
}

/// What opening told under one kind of notice.
fn notice<'a>(trace: &'a Trace, kind: &str) -> &'a str {
    trace
        .notices
        .iter()
        .find(|notice| notice.kind == kind)
        .map_or("", |notice| notice.text.as_str())
}
