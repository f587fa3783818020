//! Puts the commit into a release build, so that a run's manifest can name it. Other builds stay without: they would be
//! made anew at each commit.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    for name in ["HEAD", "logs/HEAD", "index"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // An export of the source inside another repository has no commit of its own.
    let is_ours = git(&["rev-parse", "--show-prefix"]).is_none();
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
    if let (true, Some(commit)) = (is_ours, commit) {
        println!("cargo::rustc-env=MARKBOOK_COMMIT={commit}");
    }
}
