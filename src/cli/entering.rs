//! Entering into the catalogue, never in the way: what cannot be written is told in one line, with the command that mends it.

use std::path::Path;
use std::sync::{Mutex, OnceLock};

use anyhow::{Context, Result};

use super::say;
use crate::catalogue::{self, Catalogue, Entry};
use crate::manifest::Manifest;
use crate::run::Exam;
use crate::text::safe_line;
use crate::trace::{Provenance, Trace};

/// `--no-catalogue`, for the whole of this process.
static OFF: OnceLock<()> = OnceLock::new();

/// What is to be told when the command ends: a screen may stand now. The first failure is enough.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

pub(super) fn switch_off() {
    let _ = OFF.set(());
}

/// Where the catalogue is; none where it is switched off.
pub(super) fn place() -> Result<Option<std::path::PathBuf>> {
    if OFF.get().is_some() {
        Ok(None)
    } else {
        catalogue::place()
    }
}

/// The catalogue, to be written.
///
/// # Errors
/// When it is switched off, or cannot be opened.
pub(super) fn opened() -> Result<Catalogue> {
    let place = place()?.context("the catalogue is switched off (MARKBOOK_CATALOGUE, --no-catalogue)")?;
    open(&place)
}

fn open(place: &Path) -> Result<Catalogue> {
    let catalogue = Catalogue::open(place)?;
    catalogue.told.iter().for_each(|line| remember(line));
    Ok(catalogue)
}

/// Keeps a line for the end of the command.
fn remember(line: &str) {
    if let Ok(mut lines) = LINES.lock()
        && !lines.iter().any(|known| known == line)
    {
        lines.push(line.to_owned());
    }
}

/// Tells what came up: the command is over, and so is its screen.
pub(super) fn tell_lines() {
    let lines = LINES
        .lock()
        .map(|mut lines| std::mem::take(&mut *lines))
        .unwrap_or_default();
    lines.iter().for_each(|line| say::tell(safe_line(line)));
}

/// The catalogue, to be read; none where it is switched off or there is none yet.
pub(super) fn readable() -> Result<Option<Catalogue>> {
    place()?.map_or(Ok(None), |place| Catalogue::read(&place))
}

/// Enters traces; gives their ids, none where that could not be done.
pub(super) fn enter<'t>(traces: impl IntoIterator<Item = &'t Trace>) -> Vec<String> {
    let mut ids = Vec::new();
    for trace in traces.into_iter().filter(|trace| catalogue::can_be_entered(trace)) {
        match enter_one(trace) {
            Ok(entered) => ids.extend(entered),
            Err(error) => {
                failed(trace.path.as_deref(), &error);
                break;
            }
        }
    }
    ids
}

/// Enters a trace and gives the id of one of its benchmarks; `None` where it cannot be entered.
pub(super) fn id_of(trace: &Trace, benchmark: &str) -> Option<String> {
    let ids = enter([trace]);
    let catalogue = readable().ok()??;
    let is_it = |id: &String| catalogue.find(id).is_ok_and(|entry| entry.benchmark == benchmark);
    ids.into_iter().find(is_it)
}

/// Writes something else into the catalogue, never in the way either.
pub(super) fn note(work: impl FnOnce(&mut Catalogue) -> Result<()>) {
    let noted = place().and_then(|place| place.map_or(Ok(()), |place| work(&mut open(&place)?)));
    if let Err(error) = noted {
        remember(&format!("not noted in the catalogue: {error:#}"));
    }
}

fn enter_one(trace: &Trace) -> Result<Vec<String>> {
    let Some(place) = place()? else {
        return Ok(Vec::new());
    };
    let entries: Vec<Entry> = catalogue::entries(trace)?;
    open(&place)?.enter(&entries)
}

fn failed(path: Option<&Path>, error: &anyhow::Error) {
    let mend = path.map_or_else(String::new, |path| format!("; later: markbook add {}", path.display()));
    remember(&format!("not entered into the catalogue: {error:#}{mend}"));
}

/// Enters exams that have begun, on a thread of its own: what is known of them before the first answer.
pub(super) fn begin(exams: &[Exam]) {
    let folders: Vec<_> = exams.iter().map(|exam| exam.path.clone()).collect();
    let work = move || {
        let begun = folders.iter().filter_map(|folder| {
            let manifest = Manifest::read(folder).ok()?;
            let mut trace = Trace::from_records(&manifest.settings.model.name, "", Vec::new());
            trace.path = Some(folder.clone());
            trace.manifest = Some(Provenance::Ours(Box::new(manifest)));
            Some(trace)
        });
        enter(&begun.collect::<Vec<_>>());
    };
    // Without a thread it is entered when it ends.
    let _ = std::thread::Builder::new().name("catalogue".into()).spawn(work);
}
