//! What can be read only once (a pipe, a terminal, `-`) is read once, into a temporary file that goes with the process.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use tempfile::TempPath;

/// A pipe that was read: as the user named it, and what came out of it.
type Pipe = (PathBuf, Temporary);

/// A process has one standard input, and whatever else can be read once it can read once: so all that was read is here.
static READ: Mutex<Vec<Pipe>> = Mutex::new(Vec::new());

fn pipes() -> std::sync::MutexGuard<'static, Vec<Pipe>> {
    READ.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A path that can be read as often as needed: itself, if it is a file, a folder, or not there; for a pipe, a device or
/// `-` the place of what came out of it.
///
/// # Errors
/// When it cannot be read, or does not fit into the folder for temporary files.
pub fn settled(path: &Path) -> Result<PathBuf> {
    let is_stdin = path == Path::new("-");
    let real = if is_stdin { Path::new("/dev/stdin") } else { path };
    match real.metadata() {
        // Standard input may be a file, which has a name, or had one.
        Ok(facts) if facts.is_file() && real.starts_with("/dev") => match real.canonicalize() {
            Ok(file) if file.is_file() => return Ok(file),
            _ => {}
        },
        Ok(facts) if facts.is_file() || facts.is_dir() => return Ok(path.to_owned()),
        Err(_) if !is_stdin => return Ok(path.to_owned()),
        _ => {}
    }
    if let Some((_, known)) = pipes().iter().find(|(asked, _)| asked == path) {
        return Ok(known.place.clone());
    }
    let read = if is_stdin {
        spool(&mut std::io::stdin().lock())
    } else {
        File::open(path)
            .map_err(Into::into)
            .and_then(|mut pipe| spool(&mut pipe))
    };
    let temporary = read.with_context(|| format!("cannot read {}", shown_name(path)))?;
    let place = temporary.place.clone();
    pipes().push((path.to_owned(), temporary));
    Ok(place)
}

/// Lets go of all that was read of pipes, at the end of the process.
pub fn forget_pipes() {
    pipes().clear();
}

/// Whether a path is the place of what came out of a pipe.
pub fn is_pipe(path: &Path) -> bool {
    pipes().iter().any(|(_, read)| read.place == path)
}

/// How a path is named to the user: a pipe's place by what was asked for.
pub fn shown(path: &Path) -> String {
    let pipes = pipes();
    let asked = pipes.iter().find(|(_, read)| read.place == path);
    asked.map_or_else(|| path.display().to_string(), |(asked, _)| shown_name(asked))
}

/// A message in which the places of pipes stand under the names that the user gave.
pub fn named(message: &str) -> String {
    let pipes = pipes();
    let mut places: Vec<(String, &Path)> = pipes
        .iter()
        .map(|(asked, read)| (read.place.display().to_string(), asked.as_path()))
        .collect();
    // `/proc/self/fd/3` begins `/proc/self/fd/31` too.
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
    places.iter().fold(message.to_owned(), |message, (place, asked)| {
        message.replace(place, &shown_name(asked))
    })
}

fn shown_name(path: &Path) -> String {
    match path.to_str() {
        Some("-" | "/dev/stdin" | "/dev/fd/0") => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

/// Copies all of a pipe into a temporary file; some of the free space stays free.
fn spool(pipe: &mut dyn Read) -> Result<Temporary> {
    let temporary = super::in_scratch(None, temporary)?;
    let limit = super::free_space(&temporary.folder).map_or(u64::MAX, |free| free / 10 * 9);
    let folder = || temporary.folder.display();
    let copied = std::io::copy(&mut pipe.take(limit), &mut &temporary.file)
        .with_context(|| format!("what comes out of it does not fit into {}", folder()))?;
    if copied == limit {
        bail!(
            "it does not end, or does not fit into {} ({} free); TMPDIR names another folder",
            folder(),
            crate::text::size(limit)
        );
    }
    (&temporary.file).rewind()?;
    Ok(temporary)
}

/// A file that goes with the process.
struct Temporary {
    folder: PathBuf,
    /// By which it can be opened again and again.
    place: PathBuf,
    /// Its bytes are gone when this is closed.
    file: File,
    /// Where an open file cannot be reached without a name of its own.
    _name: Option<TempPath>,
}

/// On Linux a file that has no name, so that none can be left behind, is reached by its handle.
#[cfg(target_os = "linux")]
fn temporary(folder: &Path) -> std::io::Result<Temporary> {
    use std::os::fd::AsRawFd;
    let file = tempfile::tempfile_in(folder)?;
    let place = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    if place.is_file() {
        return Ok(Temporary {
            folder: folder.to_owned(),
            place,
            file,
            _name: None,
        });
    }
    with_name(folder)
}

#[cfg(not(target_os = "linux"))]
use with_name as temporary;

fn with_name(folder: &Path) -> std::io::Result<Temporary> {
    let (file, name) = tempfile::Builder::new()
        .prefix(super::ASIDE)
        .tempfile_in(folder)?
        .into_parts();
    Ok(Temporary {
        folder: folder.to_owned(),
        place: name.to_path_buf(),
        file,
        _name: Some(name),
    })
}
