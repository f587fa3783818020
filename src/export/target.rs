//! Where an export goes: what may be written there, and what never is.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::trace::Trace;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

/// What a target's name ends with.
pub(super) struct Ending {
    /// The name without its endings.
    pub stem: PathBuf,
    /// `jsonl` of `x.jsonl.gz`, in small letters. What does not begin with a letter is part of the name: `qwen-0.5b`.
    pub format: Option<String>,
    pub packing: Option<Packing>,
}

impl Ending {
    pub fn of(target: &Path) -> Ending {
        let is_ending = |ending: &String| {
            ending.starts_with(|c: char| c.is_ascii_alphabetic())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let ending = |path: &Path| {
            let ending = path
                .extension()
                .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
            ending.filter(is_ending)
        };
        let mut stem = target.to_owned();
        let packing = match ending(&stem).as_deref() {
            Some("gz") => Some(Packing::Gzip),
            Some("zst") => Some(Packing::Zstd),
            _ => None,
        };
        if packing.is_some() {
            stem.set_extension("");
        }
        let format = ending(&stem);
        if format.is_some() {
            stem.set_extension("");
        }
        Ending { stem, format, packing }
    }
}

/// Fills a file, packed as its name says.
pub(super) fn pack(
    packing: Option<Packing>,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    match packing {
        None => fill(out),
        Some(Packing::Gzip) => {
            let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            fill(&mut packed)?;
            packed.finish()?;
            Ok(())
        }
        Some(Packing::Zstd) => {
            let mut packed = zstd::Encoder::new(out, 0)?;
            fill(&mut packed)?;
            packed.finish()?;
            Ok(())
        }
    }
}

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

/// A file is there that was not to be replaced.
#[derive(Debug)]
pub struct Exists(pub PathBuf);

impl std::fmt::Display for Exists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} exists; --force replaces it", self.0.display())
    }
}

impl std::error::Error for Exists {}

pub(super) fn refuse(path: &Path, trace: &Trace, force: bool) -> Result<()> {
    if is_input(path, trace) {
        bail!(
            "{} is what is being read; an export never replaces its input",
            path.display()
        );
    }
    if path.is_dir() || path.to_string_lossy().ends_with(std::path::MAIN_SEPARATOR) {
        bail!("{} is a folder; name a file in it", path.display());
    }
    if path.exists() && !force {
        return Err(Exists(path.to_owned()).into());
    }
    Ok(())
}

/// Whether a path leads, by whatever name, to a file that the trace is read from.
pub fn is_input(path: &Path, trace: &Trace) -> bool {
    let mut inputs = trace.texts.files();
    inputs.extend(trace.members().into_iter().filter_map(|member| member.path));
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
