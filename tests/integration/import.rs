//! Traces of other tools: public files with their known counts, odd files, and files that chance has broken.

mod broken;
mod cases;
mod checks;
mod commands;
mod exports;
mod formats;
mod kinds;
mod maps;
mod public;

use std::path::{Path, PathBuf};

use markbook::import::{self, Options};
use markbook::trace::Trace;
use serde_json::json;
use tempfile::TempDir;

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

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

fn write_one(name: &str, content: &str) -> (TempDir, Trace) {
    let folder = folder(&[(name, content)]);
    let trace = open_one(&folder.path().join(name));
    (folder, trace)
}

fn lm_eval_row(doc_id: usize, pick: &str) -> String {
    let doc = json!({"question": "2+2?", "options": ["3", "4"], "answer": "B", "answer_index": 1, "category": "math", "question_id": doc_id + 7});
    json!({"doc_id": doc_id, "doc": doc, "target": "B", "arguments": {"gen_args_0": {"arg_0": "PROMPT"}},
           "resps": [["So 4. The answer is (B)."]], "filtered_resps": [pick], "filter": "custom-extract",
           "exact_match": f64::from(u8::from(pick == "B"))})
    .to_string()
}
