//! The folder of shared reference data, and what a test says where it is absent. The tests inside the crate use it too.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The line that a test prints when it checks nothing. `.ci/run` looks for it: where the data is there, no test may say it.
const SKIPPED: &str = "skipped: no shared data";

/// The folder: `$MARKBOOK_SHARED`, else `../shared` beside the crate. `None` (after saying so): absent.
pub fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("MARKBOOK_SHARED").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("{SKIPPED}");
    None
}

/// A file or folder of it. One that is missing from a folder that is there fails the test.
pub fn shared_path(path: &str) -> Option<PathBuf> {
    let found = shared()?.join(path);
    assert!(found.exists(), "the shared data lack {path}");
    Some(found)
}

/// The cases of a file of `cases/`; none where there is no shared data.
pub fn cases(name: &str) -> Vec<Value> {
    let Some(path) = shared_path(&format!("cases/{name}")) else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(path).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!cases.is_empty(), "{name} holds no case");
    cases
}

/// The case of that id.
pub fn case(name: &str, id: &str) -> Option<Value> {
    let cases = cases(name);
    let found = cases.iter().find(|case| case["id"] == id).cloned();
    assert!(cases.is_empty() || found.is_some(), "{name} holds no case {id}");
    found
}
