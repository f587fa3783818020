//! Which files make one run: splits by subject and filters of one time stamp belong together, two runs never.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use super::archive::Archive;
use super::head::{self, Head, Start};
use super::index::Part;
use super::json::Object;
use super::layout::Sniffed;
use super::results::read_results;
use super::runs::{Candidate, grouped, shared_name, without_reviewed, without_stamp};
use super::source::{self, Layer, Source};
use super::{Options, lm_eval, own, refuse, tables};
use crate::files;
use crate::trace::{Notice, Trace};

/// Folders are searched this deep, for at most so many files.
const DEEPEST: usize = 5;

const MOST_FILES: usize = 20_000;

/// The files of one run.
pub(crate) struct Group {
    /// The user named one of its files, so that a failure is an error and not a notice.
    pub is_named: bool,
    pub content: Content,
}

pub(crate) enum Content {
    /// A run folder or a parquet file of ours.
    Own(Opener, PathBuf),
    Foreign(Vec<Part>, Facts),
}

pub(crate) type Opener = Box<dyn FnOnce() -> Result<Trace>>;

/// What is known of a run beside its rows.
pub(crate) struct Facts {
    pub format: &'static str,
    pub name: String,
    pub path: PathBuf,
    pub manifest: Option<Value>,
    pub notices: Vec<Notice>,
}

enum Examined {
    Own(Opener, PathBuf),
    Foreign(Box<Candidate>),
    /// A results file of lm-eval.
    Results(PathBuf),
}

/// Parts the files under these paths into runs. Files that are no traces are given as lines that say what they are; one
/// that the user named is an error if nothing else is there.
pub(crate) fn groups(paths: &[PathBuf], options: &Options) -> Result<(Vec<Group>, Vec<String>)> {
    let mut refused = Vec::new();
    let mut results = Vec::new();
    let mut own = Vec::new();
    let mut candidates: Vec<Candidate> = Vec::new();
    for path in paths {
        let files = if path.is_dir() {
            files_under(path)?
        } else {
            vec![path.clone()]
        };
        let is_named = !path.is_dir();
        if is_named && !path.exists() {
            bail!("{}: no such file or folder", path.display());
        }
        for file in files {
            for examined in examine(&file, options, is_named) {
                match examined {
                    Ok(Examined::Own(open, path)) => own.push((open, path, is_named, candidates.len())),
                    Ok(Examined::Foreign(candidate)) => candidates.push(*candidate),
                    Ok(Examined::Results(path)) => results.push(path),
                    Err(error) => refused.push(format!("{error:#}")),
                }
            }
        }
    }
    if candidates.is_empty() && own.is_empty() {
        refused.extend(results.iter().map(|path| {
            format!(
                "{}: results of lm-eval without samples: open its samples_*.jsonl",
                path.display()
            )
        }));
        results.clear();
    }
    without_reviewed(&mut candidates);
    let mut groups: Vec<Group> = Vec::new();
    let mut own = own.into_iter().peekable();
    for (first, members) in grouped(candidates) {
        while let Some((open, path, is_named, _)) = own.next_if(|(.., before)| *before <= first) {
            groups.push(Group {
                is_named,
                content: Content::Own(open, path),
            });
        }
        groups.push(run_of(members, &results, options));
    }
    groups.extend(own.map(|(open, path, is_named, _)| Group {
        is_named,
        content: Content::Own(open, path),
    }));
    Ok((groups, refused))
}

/// The files under a folder in the order of their names; a run folder of ours counts as one.
pub(super) fn files_under(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(folder, 0, &mut files).with_context(|| format!("reading the folder {}", folder.display()))?;
    Ok(files)
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    if crate::store::is_run(folder) {
        files.push(folder.to_owned());
        return Ok(());
    }
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if files.len() >= MOST_FILES {
            return Ok(());
        }
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_hidden || entry.file_name() == "provenance" {
            continue;
        }
        if path.is_file() {
            files.push(path);
        } else if depth < DEEPEST && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A folder that may not be read is passed over.
            let _ = walk(&path, depth + 1, files);
        }
    }
    Ok(())
}

/// What a file is; an archive of several files is each of them.
fn examine(path: &Path, options: &Options, is_named: bool) -> Vec<Result<Examined>> {
    if path.is_dir() {
        return vec![own_run(path, options)];
    }
    let is_part_of_run = path
        .file_name()
        .is_some_and(|name| name == "run.json" || name == "journal.jsonl");
    if let Some(folder) = path
        .parent()
        .filter(|folder| is_part_of_run && crate::store::is_run(folder))
    {
        return vec![own_run(folder, options)];
    }
    let context = |error: anyhow::Error, name: &str| anyhow!("{name}: {error:#}");
    let name = files::shown(path);
    let start = match first_bytes(path) {
        Ok(bytes) => bytes,
        Err(error) => return vec![Err(context(error, &name))],
    };
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        return examine_archive(path, options, is_named).unwrap_or_else(|error| vec![Err(error)]);
    }
    each(examine_file(path, &[], options, is_named).map_err(|error| context(error, &name)))
}

fn examine_archive(path: &Path, options: &Options, is_named: bool) -> Result<Vec<Result<Examined>>> {
    let name = files::shown(path);
    let scratch = options.scratch();
    let members = Archive::open(path, scratch.as_deref())?.members()?;
    if head::log_header(&members).is_some() {
        let log = head::eval_log(path, &members).and_then(|start| recognise(path, &start, options, is_named, true));
        return Ok(each(log.with_context(|| name)));
    }
    let runs = own::runs_in_archive(&members);
    if !runs.is_empty() && !options.map.is_empty() {
        bail!("{name}: --map does not apply to a run folder of markbook's own");
    }
    let mut found: Vec<Result<Examined>> = Vec::new();
    let mut held = HashSet::new();
    for run in runs {
        held.extend(run.files.iter().map(|file| file.name.clone()));
        let (place, scratch) = (path.to_owned(), scratch.clone());
        let open = move || own::open_archived_run(&place, &run, scratch.as_deref());
        found.push(Ok(Examined::Own(Box::new(open), path.to_owned())));
    }
    let visible = members.into_iter().filter(|member| {
        let is_hidden = member.name.rsplit('/').next().is_some_and(|file| file.starts_with('.'));
        !is_hidden && !held.contains(&member.name)
    });
    for member in visible.take(MOST_FILES) {
        let place = format!("{name}/{}", member.name);
        let examined = examine_file(path, &[Layer::Member(member)], options, is_named);
        found.extend(each(examined.with_context(|| place)));
    }
    if found.is_empty() {
        bail!("{name}: an empty zip archive");
    }
    Ok(found)
}

fn own_run(folder: &Path, options: &Options) -> Result<Examined> {
    if !options.map.is_empty() {
        bail!(
            "{}: --map does not apply to a run folder of markbook's own",
            folder.display()
        );
    }
    let place = folder.to_owned();
    let open = move || crate::store::open(&place);
    Ok(Examined::Own(Box::new(open), folder.to_owned()))
}

fn each<T>(found: Result<Vec<T>>) -> Vec<Result<T>> {
    match found {
        Ok(several) => several.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    }
}

fn first_bytes(path: &Path) -> Result<Vec<u8>> {
    source::head(path, &[], 8)
}

fn examine_file(path: &Path, layers: &[Layer], options: &Options, is_named: bool) -> Result<Vec<Examined>> {
    if layers.is_empty() && !options.has_reading() && first_bytes(path)?.starts_with(b"PAR1") {
        let (columns, _) = crate::parquet::columns(path)?;
        let mut rows = Vec::new();
        if crate::parquet::is_trace(&columns) {
            tables::parquet_rows(File::open(path)?, (head::PARQUET_SAMPLE, &own::PLAIN), &mut rows)?;
        }
        if !rows.is_empty() && own::is_plain(&rows) {
            let place = path.to_owned();
            let open = move || crate::parquet::open(&place);
            return Ok(vec![Examined::Own(Box::new(open), path.to_owned())]);
        }
    }
    let mut length = head::LENGTH;
    loop {
        let is_last = length >= head::LONGEST;
        let start = head::start(path, layers, length)?;
        let Some(start) = start else {
            length *= head::STEP;
            continue;
        };
        if start.source == "parquet" && !options.has_reading() && own::is_trace(&start) && own::is_plain(&start.bytes) {
            let layers = start.layers[..start.layers.len() - 1].to_vec();
            let (place, scratch) = (path.to_owned(), options.scratch());
            let open = move || own::open_parquet(&place, layers, scratch.as_deref());
            return Ok(vec![Examined::Own(Box::new(open), path.to_owned())]);
        }
        // A start that ends within its first row tells only documents, whose rows stand further inside.
        let is_last = is_last || start.is_whole || start.has_row();
        let found = recognise(path, &start, options, is_named, is_last);
        let has_row = |examined: &Examined| match examined {
            Examined::Foreign(candidate) => start.has_row_at(&candidate.sniffed.shape),
            _ => true,
        };
        if is_last || found.as_ref().is_ok_and(|found| found.iter().all(has_row)) {
            return found;
        }
        length *= head::STEP;
    }
}

/// What the start of a file tells. `is_last`: no more of it will be read for that.
fn recognise(path: &Path, start: &Start, options: &Options, is_named: bool, is_last: bool) -> Result<Vec<Examined>> {
    let stem = stem_of(path, &start.layers);
    let head = start.head(&stem)?;
    let candidate = |sniffed: Sniffed| {
        Examined::Foreign(Box::new(Candidate {
            path: path.to_owned(),
            stem: stem.clone(),
            layers: start.layers.clone(),
            sniffed,
            is_named,
        }))
    };
    if let Some(document) = head.document.as_ref().filter(|document| refuse::is_results(document))
        && options.map.is_empty()
    {
        let may_have_samples = document.has("samples") || !start.is_whole;
        let whole = if may_have_samples {
            head::document(path, &start.layers)?
        } else {
            None
        };
        let tasks = whole
            .map(|whole| lm_eval::within::sniff(&whole, &head.stem))
            .unwrap_or_default();
        if !tasks.is_empty() {
            return Ok(tasks.into_iter().map(candidate).collect());
        }
        if start.layers.iter().all(|layer| !matches!(layer, Layer::Member(_))) {
            return Ok(vec![Examined::Results(path.to_owned())]);
        }
    }
    let is_document = head.document.is_some() && start.source == "JSON";
    let sniffed = match super::sniff(&head, options) {
        Err(error) if is_document && is_last && refuse::json_without_answers(&head).is_none() => {
            sniff_within(path, start, &head, options)?.ok_or(error)?
        }
        other => other?,
    };
    Ok(vec![candidate(sniffed)])
}

/// Rows of a known kind in the midst of a document.
fn sniff_within(path: &Path, start: &Start, head: &Head, options: &Options) -> Result<Option<Sniffed>> {
    let Some((shape, rows)) = head::rows_within(path, &start.layers)? else {
        return Ok(None);
    };
    let rows: Vec<Object> = rows
        .split(|byte| *byte == b'\n')
        .map(|row| Object::read(row).0)
        .filter(|row| !row.is_empty())
        .collect();
    let inner = Head {
        stem: head.stem.clone(),
        folders: head.folders.clone(),
        bytes: b"",
        shape,
        rows,
        document: None,
        is_eval_log: false,
        source: "JSON document",
    };
    super::sniff(&inner, options).map(Some)
}

/// The path without the endings of packings and formats.
pub(super) fn stem_of(path: &Path, layers: &[Layer]) -> String {
    let member = layers.iter().find_map(|layer| {
        if let Layer::Member(name) = layer {
            Some(&name.name)
        } else {
            None
        }
    });
    let mut stem = match member {
        // An archive of one file is named after it.
        Some(member) => path
            .parent()
            .unwrap_or(Path::new(""))
            .join(member)
            .display()
            .to_string(),
        None => files::shown(path),
    };
    loop {
        let ending = [
            ".gz", ".zst", ".zip", ".jsonl", ".json", ".csv", ".tsv", ".parquet", ".eval", ".txt",
        ]
        .iter()
        .find(|ending| stem.to_ascii_lowercase().ends_with(*ending));
        match ending {
            Some(ending) => stem.truncate(stem.len() - ending.len()),
            None => return stem,
        }
    }
}

fn run_of(mut members: Vec<Candidate>, results: &[PathBuf], options: &Options) -> Group {
    members.sort_by(|a, b| a.sniffed.split.cmp(&b.sniffed.split).then_with(|| a.path.cmp(&b.path)));
    let is_named = members.iter().any(|member| member.is_named);
    let first = &members[0];
    let mut facts = Facts {
        format: first.sniffed.format,
        name: match &first.sniffed.name {
            Some(name) => name.clone(),
            None if members.len() > 1 && first.sniffed.run.is_none() => shared_name(&members),
            None => first.stem.rsplit('/').next().unwrap_or_default().to_owned(),
        },
        path: if members.len() == 1 {
            first.path.clone()
        } else {
            first.path.parent().unwrap_or(&first.path).to_owned()
        },
        manifest: first.sniffed.manifest.clone(),
        notices: Vec::new(),
    };
    if members.iter().any(|member| {
        let stamp = |stem: &str| stem.len() - without_stamp(stem).len();
        member.sniffed.run.is_none() && stamp(&member.stem) > 0
    }) && members.len() > 1
    {
        facts.notices.push(Notice {
            kind: "several_times".to_owned(),
            text: format!(
                "{} files of several times are read as one run, one a category",
                members.len()
            ),
        });
    }
    let mut version = None;
    if facts.format == "lm-eval" && facts.manifest.is_none() {
        version = read_results(&first.path, first.sniffed.run.as_deref(), results, &mut facts);
    }
    if let Some(name) = first.sniffed.name.as_ref().filter(|_| facts.manifest.is_none()) {
        facts.manifest = Some(serde_json::json!({ "model": name }));
    }
    let scratch = options.scratch();
    let parts = members.into_iter().map(|member| {
        let mut layout: Arc<dyn super::layout::Layout> = Arc::from(member.sniffed.layout);
        if let Some(version) = &version
            && let Some(named) = layout.with_version(version)
        {
            layout = Arc::from(named);
        }
        Part {
            source: Source::new(&member.path, member.layers, scratch.as_deref()),
            layout,
            shape: member.sniffed.shape,
            format: member.sniffed.format,
        }
    });
    Group {
        is_named,
        content: Content::Foreign(parts.collect(), facts),
    }
}
