//! Where an export goes: what may be written there, and what never is.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::trace::Trace;

/// Where a link leads: the file behind it is what is written.
pub(super) fn real_path(path: &Path) -> PathBuf {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_symlink());
    let target = is_link.then(|| std::fs::read_link(path).ok()).flatten();
    match (std::fs::canonicalize(path), target) {
        (Ok(real), Some(_)) => real,
        // A link to nothing yet.
        (Err(_), Some(target)) => path.parent().unwrap_or(Path::new("")).join(target),
        _ => path.to_owned(),
    }
}

pub(super) fn refuse(path: &Path, trace: &Trace, force: bool) -> Result<()> {
    if is_input(path, trace) {
        bail!(
            "{} is what is being read; an export never replaces its input",
            path.display()
        );
    }
    if path.is_dir() {
        bail!("{} is a folder; name a file in it", path.display());
    }
    if path.exists() && !force {
        bail!("{} exists; --force replaces it", path.display());
    }
    Ok(())
}

/// Whether a path leads, by whatever name, to a file that the trace is read from.
pub fn is_input(path: &Path, trace: &Trace) -> bool {
    let mut inputs = trace.texts.files();
    inputs.extend(trace.path.clone());
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let Some(target) = real(path) else { return false };
    inputs.iter().any(|input| {
        let is_inside_run =
            |input: &Path| target.parent() == Some(input) && crate::store::is_run(input) && target.is_file();
        real(input).is_some_and(|input| input == target || is_inside_run(&input) || is_same_file(&input, &target))
    })
}

/// Whether two names lead to one file.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (std::fs::metadata(one), std::fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other
}
