//! Where the files of a split lie inside a folder, by the names that the hub, the original MMLU and people use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::table::{ENDINGS, ending};
use super::{Benchmark, Form, mmlu};

/// The folder that holds this benchmark's files: `root` itself, or its sub-folder of the benchmark's name.
pub(super) fn benchmark_folder(root: &Path, benchmark: &Benchmark) -> Result<PathBuf> {
    if !root.is_dir() {
        let what = if root.exists() {
            "is not a folder"
        } else {
            "does not exist"
        };
        bail!("data folder {} {what}", root.display());
    }
    let own = root.join(benchmark.name);
    Ok(if own.is_dir() { own } else { root.to_owned() })
}

/// The files of a split under any of its names, sorted; empty where there are none.
pub(super) fn split_files(folder: &Path, names: &[&str], benchmark: &Benchmark) -> Result<Vec<PathBuf>> {
    let places = ["", benchmark.hub_config, "data", "default"];
    for place in places
        .iter()
        .map(|place| folder.join(place))
        .filter(|place| place.is_dir())
    {
        for name in names {
            let files = files_in(&place, name)?;
            if !files.is_empty() {
                return Ok(files);
            }
        }
    }
    if benchmark.form == Form::Mmlu {
        subject_folders(folder, names)
    } else {
        Ok(Vec::new())
    }
}

/// `test.parquet`, else `test-00000-of-00001.parquet` and so on, else the files of a folder `test/`.
fn files_in(place: &Path, name: &str) -> Result<Vec<PathBuf>> {
    let is_whole = |stem: &str| stem == name;
    let is_part = |stem: &str| {
        let rest = stem.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| rest.contains("-of-"))
    };
    let files = readable_files(place)?;
    for test in [&is_whole as &dyn Fn(&str) -> bool, &is_part] {
        for known in ENDINGS {
            let found: Vec<_> = files
                .iter()
                .filter(|file| ending(file) == *known && test(&stem(file)))
                .cloned()
                .collect();
            if !found.is_empty() {
                refuse_missing_parts(&found)?;
                return Ok(found);
            }
        }
    }
    let inner = place.join(name);
    if inner.is_dir() {
        let files = readable_files(&inner)?;
        refuse_missing_parts(&files)?;
        Ok(files)
    } else {
        Ok(Vec::new())
    }
}

/// Refuses files named `x-00001-of-00003` where not all of the parts are there.
fn refuse_missing_parts(files: &[PathBuf]) -> Result<()> {
    let names: Vec<String> = files.iter().map(|file| name_of(file)).collect();
    let parts: Vec<Part> = names.iter().filter_map(|name| Part::of(name)).collect();
    let sets: BTreeSet<_> = parts.iter().map(|part| (part.before, part.count, part.width)).collect();
    let mut missing = Vec::new();
    for (before, count, width) in sets {
        let of_set = parts.iter().filter(|part| part.before == before && part.count == count);
        let there: BTreeSet<usize> = of_set.map(|part| part.number).collect();
        let absent = (0..count).filter(|number| !there.contains(number));
        missing.extend(absent.map(|number| format!("{before}-{number:0width$}-of-{count:0width$}")));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let folder = files[0].parent().unwrap_or(Path::new(""));
    let more = missing.len().saturating_sub(10);
    missing.truncate(10);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    bail!(
        "{} lacks parts of its set: {}{more}",
        folder.display(),
        missing.join(", ")
    )
}

/// What `test-00001-of-00003.parquet` says of itself, also with a mark of its own before the ending.
struct Part<'a> {
    before: &'a str,
    /// From 0.
    number: usize,
    count: usize,
    width: usize,
}

impl Part<'_> {
    fn of(name: &str) -> Option<Part<'_>> {
        let (front, back) = name.rsplit_once("-of-")?;
        let (before, number) = front.rsplit_once('-')?;
        let count = back.split(['.', '-']).next()?;
        let is_number = |digits: &str| digits.len() == number.len() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(count) || !is_number(number) {
            return None;
        }
        let width = number.len();
        let (number, count) = (number.parse().ok()?, count.parse().ok()?);
        (number < count && count < 100_000).then_some(Part {
            before,
            number,
            count,
            width,
        })
    }
}

/// The hub's layout of one folder a subject of MMLU.
fn subject_folders(folder: &Path, names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let is_subject = |entry: &PathBuf| entry.is_dir() && mmlu::category_of(&stem(entry)).is_some();
    for place in entries(folder)?.into_iter().filter(is_subject) {
        for name in names {
            let found = files_in(&place, name)?;
            if !found.is_empty() {
                files.extend(found);
                break;
            }
        }
    }
    Ok(files)
}

fn readable_files(place: &Path) -> Result<Vec<PathBuf>> {
    let mut files = entries(place)?;
    files.retain(|file| file.is_file() && ENDINGS.contains(&ending(file).as_str()));
    Ok(files)
}

fn entries(place: &Path) -> Result<Vec<PathBuf>> {
    let list = || -> std::io::Result<Vec<PathBuf>> { fs::read_dir(place)?.map(|entry| Ok(entry?.path())).collect() };
    let mut entries = list().with_context(|| format!("cannot list {}", place.display()))?;
    entries.retain(|entry| !stem(entry).starts_with('.'));
    entries.sort();
    Ok(entries)
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// How many files the set has of which this file is one part.
pub(super) fn parts_of(file: &Path) -> Option<usize> {
    Some(Part::of(&name_of(file))?.count)
}

pub(super) fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}
