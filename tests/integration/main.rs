//! Whole behaviour, in one binary.

#![allow(clippy::unwrap_used)] // clippy knows test functions, not the helpers that they share

mod browsing;
mod comparing;
mod extraction;
mod harness_files;
mod hub;
mod import;
mod live;
mod own_sets;
mod program;
mod prompts;
mod run_cases;
mod runs;
mod scoring;
mod screens;
mod sitting;
mod tiny;
mod tokens;
mod untrusted;

use std::path::PathBuf;

use serde_json::Value;

/// The folder of shared reference data: `$MARKBOOK_SHARED`, else beside the crate. `None` (after saying so): absent.
fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("MARKBOOK_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no shared data");
    None
}

/// The cases of a shared file; none where there is no shared data.
fn cases(name: &str) -> Vec<Value> {
    let Some(folder) = shared() else { return Vec::new() };
    let text = std::fs::read_to_string(folder.join("cases").join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
