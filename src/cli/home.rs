//! Bare `markbook`: Home, what is chosen there opened one after the other; and what is remembered from one session to the
//! next: files that were opened, the commands of runs, the last view.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use chrono::{DateTime, Local};
use clap::Parser;
use serde::{Deserialize, Serialize};

use super::args::{Cli, Look, OpenArgs, TraceArgs};
use super::{End, traces, usage};
use crate::catalogue::Listed;
use crate::text::count;
use crate::tui::{self, How, Kept, Picked, Seen};
use crate::{files, hub, store};

/// Files that are remembered.
const FILES: usize = 20;

/// Runs whose commands are remembered.
const COMMANDS: usize = 1_000;

/// What one session leaves to the next, in the data directory.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Remembered {
    /// What was opened last, the newest first.
    #[serde(default)]
    opened: Vec<Opened>,
    /// The words after `markbook` that began a run, by its folder.
    #[serde(default)]
    commands: BTreeMap<PathBuf, Vec<String>>,
    /// The words after `markbook` that open the last view.
    #[serde(default)]
    last: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Opened {
    path: PathBuf,
    seen: Seen,
    /// Seconds since 1970.
    at: i64,
}

fn place() -> Result<PathBuf> {
    Ok(hub::home()?.join("remembered.json"))
}

/// What cannot be read is begun anew: nothing in it is the only copy of anything.
fn recall() -> Remembered {
    let text = place().ok().and_then(|place| std::fs::read(place).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// Changes what is remembered; that it cannot be kept is no reason to fail.
fn remember(change: impl FnOnce(&mut Remembered)) {
    let mut remembered = recall();
    change(&mut remembered);
    if let (Ok(place), Ok(text)) = (place(), serde_json::to_vec(&remembered)) {
        let _ = std::fs::create_dir_all(files::folder_of(&place));
        let _ = files::write_aside(&place, &text);
    }
}

/// Remembers what was opened, and the view that it was left in.
pub(super) fn opened(paths: &[PathBuf], exit: &tui::Exit) {
    let absolute = |path: &PathBuf| std::path::absolute(path).ok().filter(|path| path.exists());
    let first = paths.first().and_then(absolute).filter(|_| paths.len() == 1);
    remember(|remembered| {
        remembered.last = exit.view.iter().map(|word| whole(word)).collect();
        if let (Some(path), Some(seen)) = (first, exit.seen.clone()) {
            remembered.opened.retain(|known| known.path != path);
            let at = Local::now().timestamp();
            remembered.opened.insert(0, Opened { path, seen, at });
            remembered.opened.truncate(FILES);
        }
    });
}

/// A word of a command that names a file of the present folder, so that it holds in another one.
fn whole(word: &str) -> String {
    let path = Path::new(word);
    let is_here = path.is_relative() && path.exists() && !word.starts_with('-');
    let path = is_here.then(|| std::path::absolute(path).ok()).flatten();
    path.map_or_else(|| word.to_owned(), |path| path.display().to_string())
}

/// Remembers how a run was begun, so that Home can let it go on. An address with a password in it is not kept.
pub(super) fn began(root: &Path) {
    let words: Option<Vec<String>> = std::env::args_os()
        .skip(1)
        .map(|word| word.into_string().ok())
        .collect();
    let is_open = |words: &Vec<String>| words.iter().all(|word| hub::without_passwords(word) == *word);
    if let (Some(words), Ok(root)) = (words.filter(is_open), std::path::absolute(root)) {
        remember(|remembered| {
            remembered
                .commands
                .insert(root, words.iter().map(|word| whole(word)).collect());
            while remembered.commands.len() > COMMANDS {
                remembered.commands.pop_first();
            }
        });
    }
}

/// `markbook -`: the view that was left last.
pub(super) fn last(look: &Look) -> Result<End> {
    let words = recall().last;
    if words.is_empty() {
        bail!("there is no last view yet: open something first");
    }
    let cli = usage(Cli::try_parse_from(std::iter::once("markbook".to_owned()).chain(words)).context("the last view"))?;
    let args = match cli.command {
        Some(super::args::Command::Open(args)) => args,
        _ => cli.open,
    };
    traces::open(&args, look)
}

/// Home, until it is left.
pub(super) fn home(look: &Look) -> Result<End> {
    let mut told = None;
    loop {
        let exit = tui::home(list, told.take(), traces::tui_options(look, None, None))?;
        let how = match exit.picked {
            Some(Picked::Open(paths)) => match traces::browse_from_home(&OpenArgs::at(paths), look) {
                Ok(exit) => exit.how,
                Err(error) => {
                    told = Some(format!("{error:#}"));
                    How::Back
                }
            },
            Some(Picked::Demo) => return go("markbook demo".split(' ').map(str::to_owned).collect()),
            Some(Picked::Resume(root)) => return resume(&root),
            None => exit.how,
        };
        if how != How::Back {
            return Ok(traces::end_of(how));
        }
    }
}

/// The run in a folder goes on, by the command that began it.
fn resume(root: &Path) -> Result<End> {
    let commands = recall().commands;
    let words = commands.get(root).context("how this run was begun is not known")?;
    let mut words = words.clone();
    words.insert(0, "markbook".to_owned());
    for (flag, value) in [("--out", root.to_str()), ("--resume", None)] {
        if !words.iter().any(|word| word == flag) {
            words.push(flag.to_owned());
            words.extend(value.map(str::to_owned));
        }
    }
    go(words)
}

fn go(words: Vec<String>) -> Result<End> {
    super::carry_out(usage(Cli::try_parse_from(words).map_err(anyhow::Error::from))?)
}

/// What Home lists, the newest first: own runs as the catalogue and the runs folder know them, what was opened lately, then
/// the other traces of the catalogue.
fn list() -> Vec<Kept> {
    let remembered = recall();
    let runs = hub::home().map(|home| home.join("runs")).unwrap_or_default();
    let entered = super::entering::readable().ok().flatten();
    let entered = entered.and_then(|catalogue| catalogue.list().ok()).unwrap_or_default();
    let mut roots = BTreeMap::<PathBuf, Vec<Listed>>::new();
    for entry in entered.into_iter().filter(|entry| !entry.is_hidden) {
        let root = entry.path.as_ref().filter(|path| path.exists());
        if let Some(root) = root.map(|path| root_of(path, &entry, &remembered)) {
            roots.entry(root).or_default().push(entry);
        }
    }
    for folder in std::fs::read_dir(&runs).into_iter().flatten().flatten() {
        // The catalogue may be switched off, or another's.
        roots.entry(folder.path()).or_default();
    }
    let is_recent = |path: &PathBuf| remembered.opened.iter().any(|opened| opened.path == *path);
    let mut own: Vec<(DateTime<Local>, Kept)> = Vec::new();
    let mut other: Vec<(DateTime<Local>, Kept)> = Vec::new();
    for (root, entries) in roots {
        let is_own = entries.is_empty() || entries.iter().any(|entry| entry.kind == "markbook run");
        if is_own {
            own.extend(run_of(root, &entries, &remembered));
        } else if !is_recent(&root) {
            other.extend(
                entries
                    .first()
                    .map(|entry| (at(&entry.created_at), of_entries(root, &entries))),
            );
        }
    }
    let is_own = |path: &PathBuf| own.iter().any(|(_, kept)| kept.path == *path);
    let recent = remembered
        .opened
        .iter()
        .filter(|opened| opened.path.exists() && !is_own(&opened.path));
    let recent: Vec<Kept> = recent.map(of_opened).collect();
    for list in [&mut own, &mut other] {
        list.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    }
    let own = own.into_iter().map(|(_, kept)| kept);
    own.chain(recent)
        .chain(other.into_iter().map(|(_, kept)| kept))
        .collect()
}

/// The folder that holds a run's exams: the one above where the run was begun there or has other exams beside it.
fn root_of(path: &Path, entry: &Listed, remembered: &Remembered) -> PathBuf {
    let is_exam = path.file_name().is_some_and(|name| *name == *entry.benchmark) && entry.kind == "markbook run";
    match path.parent() {
        Some(above) if is_exam && remembered.commands.contains_key(above) => above.to_owned(),
        Some(above) if is_exam && above.parent().is_some_and(|runs| runs.ends_with("runs")) => above.to_owned(),
        _ => path.to_owned(),
    }
}

fn at(text: &str) -> DateTime<Local> {
    DateTime::parse_from_rfc3339(text).map_or_else(|_| DateTime::UNIX_EPOCH.into(), |at| at.with_timezone(&Local))
}

/// What the catalogue tells of what lies at a place.
fn of_entries(path: PathBuf, entries: &[Listed]) -> Kept {
    let rows: usize = entries.iter().map(|entry| entry.rows).sum();
    let invalid: usize = entries.iter().map(|entry| entry.invalid).sum();
    let figure = |entry: &Listed| {
        let half = (entry.high? - entry.low?) / 2.0;
        Some((entry.benchmark.clone(), entry.accuracy?, half))
    };
    let mut accuracy: Vec<_> = entries.iter().filter_map(figure).collect();
    accuracy.sort_by(|one, other| one.0.cmp(&other.0));
    Kept {
        name: name_of(&path),
        what: count(rows, "row"),
        accuracy,
        invalid: (rows > 0).then(|| invalid as f64 / rows as f64),
        when: entries
            .first()
            .map_or_else(String::new, |entry| when(at(&entry.created_at))),
        path,
        ..Kept::default()
    }
}

fn of_opened(opened: &Opened) -> Kept {
    Kept {
        path: opened.path.clone(),
        name: name_of(&opened.path),
        what: count(opened.seen.rows, "row"),
        accuracy: opened.seen.accuracy.clone(),
        invalid: opened.seen.invalid,
        when: DateTime::from_timestamp(opened.at, 0).map_or(String::new(), |at| when(at.into())),
        ..Kept::default()
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// A folder of one exam, or of one folder an exam; what the catalogue does not tell is looked for in it.
fn run_of(root: PathBuf, entries: &[Listed], remembered: &Remembered) -> Option<(DateTime<Local>, Kept)> {
    let exams: Vec<PathBuf> = if entries.is_empty() && !store::is_run(&root) {
        let inside = std::fs::read_dir(&root).ok()?.flatten().map(|entry| entry.path());
        inside.filter(|path| store::is_run(path)).collect()
    } else if entries.is_empty() {
        vec![root.clone()]
    } else {
        entries.iter().filter_map(|entry| entry.path.clone()).collect()
    };
    let has_records = |exam: &PathBuf| exam.join(store::RECORDS).is_file();
    let is_whole = !entries.is_empty() && entries.iter().all(|entry| entry.is_complete);
    let is_complete = is_whole || (!exams.is_empty() && exams.iter().all(has_records));
    let at = match entries.first() {
        Some(entry) => at(&entry.created_at),
        None => std::fs::metadata(exams.first()?).ok()?.modified().ok()?.into(),
    };
    let what = match (is_complete, exams.len()) {
        (false, _) => "stopped".to_owned(),
        (true, 1) => String::new(),
        (true, many) => count(many, "exam"),
    };
    let opened = remembered.opened.iter().find(|opened| opened.path == root);
    let can_resume = !is_complete && remembered.commands.contains_key(&root);
    let known = match opened.filter(|_| entries.is_empty()) {
        Some(opened) => of_opened(opened),
        None => of_entries(root, entries),
    };
    let kept = Kept {
        what,
        when: when(at),
        is_run: true,
        can_resume,
        ..known
    };
    Some((at, kept))
}

/// `today 06:06`, `2026-11-28`.
fn when(at: DateTime<Local>) -> String {
    let now = Local::now();
    if at.date_naive() == now.date_naive() {
        return format!("today {}", at.format("%H:%M"));
    }
    at.format("%Y-%m-%d").to_string()
}

impl OpenArgs {
    /// What lies at some paths, as it opens by itself.
    fn at(paths: Vec<PathBuf>) -> OpenArgs {
        OpenArgs {
            trace: TraceArgs::at(paths),
            filter: None,
            view: None,
            follow: false,
            print: false,
            size: None,
            stats_on_exit: false,
        }
    }

    /// Whether nothing is asked for: Home is shown then.
    pub(super) fn is_bare(&self) -> bool {
        let trace = &self.trace;
        let opens = !trace.paths.is_empty() || trace.rule.is_some() || self.filter.is_some() || self.view.is_some();
        !opens && !self.follow && !self.print && !self.stats_on_exit
    }
}
