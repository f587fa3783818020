//! Traces that other tools wrote: told by their content, whatever they are packed in, opened as [`Trace`]s.

mod archive;
mod cache;
mod closed;
mod cloze;
mod columns;
mod deepeval;
mod details;
mod evalscope;
mod folder;
mod formats;
mod harness;
mod head;
mod helm;
mod index;
mod inspect;
mod json;
mod layout;
mod lighteval;
mod lm_eval;
mod map;
mod notes;
mod olmes;
mod openai_evals;
mod opencompass;
mod overlay;
mod own;
mod own_row;
mod parts;
mod probs;
mod promptfoo;
mod provenance;
mod reader;
mod refuse;
mod results;
mod runs;
mod scan;
mod simple_evals;
mod source;
mod split;
mod spool;
mod suggest;
mod tables;
mod task;
mod texts;
mod tiger;
mod told;
mod values;
mod wide;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, anyhow, bail};

use self::columns::Columns;
use self::folder::Group;
use self::formats::MapUse;
use self::head::Head;
use self::layout::Sniffed;
use crate::benchmark::hash::doc_hash;
use crate::record::{Record, letter_index};
use crate::trace::{Notice, Provenance, Trace};

pub use self::formats::{ALL, Format};
pub use self::map::parse_map;

pub(crate) use self::closed::KIND as CLOSED_KIND;
pub(crate) use self::lm_eval::task_and_stamp;

/// How files are opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Our column names and the file's: `--map pick=pred,reasoning=output`.
    pub map: Vec<(String, String)>,
    /// Number of the first option, 0 or 1, where golds or picks are numbers; `None`: 0, and it is told where 1 fits better.
    pub gold_base: Option<i64>,
    /// Where indexes of large files are kept and archives are unpacked; nothing is kept if `None`.
    pub cache_dir: Option<PathBuf>,
    /// Ends the opening early, with an error.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Options {
    /// Whether it is said how values are to be read.
    fn has_reading(&self) -> bool {
        !self.map.is_empty() || self.gold_base.is_some()
    }

    /// Where archives are unpacked.
    fn scratch(&self) -> Option<PathBuf> {
        self.cache_dir.as_ref().map(|folder| folder.join("unpacked"))
    }
}

/// The kind of notice that an index could not be kept.
const UNKEPT: &str = "index_not_kept";

/// Opens files and folders: files of one run as one trace, several runs as several, in the order of the paths.
pub fn open(paths: &[PathBuf], options: &Options) -> Result<Vec<Trace>> {
    map::check_map(&options.map)?;
    let (groups, refused) = folder::groups(paths, options)?;
    let mut traces = Vec::new();
    let mut failed: Vec<anyhow::Error> = Vec::new();
    let mut parquet = Vec::new();
    for group in groups {
        let is_named = group.is_named;
        let is_parquet = matches!(&group.content, folder::Content::Own(_, path) if path.is_file());
        match open_group(group, options) {
            Ok(found) => {
                parquet.extend((traces.len()..traces.len() + found.len()).filter(|_| is_parquet));
                traces.extend(found);
            }
            Err(error) if is_named => return Err(error),
            Err(error) => failed.push(error),
        }
    }
    let traces = parts::join(traces, &parquet)?;
    let mut traces = by_seed_folder(traces)?;
    // One folder that takes no index takes none of any: that is told once.
    let mut told = false;
    for trace in &mut traces {
        trace
            .notices
            .retain(|notice| notice.kind != UNKEPT || !std::mem::replace(&mut told, true));
    }
    let skipped: Vec<String> = failed.iter().map(|error| format!("{error:#}")).chain(refused).collect();
    let Some(first) = traces.first_mut() else {
        match skipped.as_slice() {
            [] => bail!(
                "no trace in {}",
                paths
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            [only] => bail!("{only}"),
            [first, rest @ ..] => bail!("no trace: {first} (and {} more files)", rest.len()),
        }
    };
    if !skipped.is_empty() {
        let more = if skipped.len() > 8 {
            format!("; and {} more", skipped.len() - 8)
        } else {
            String::new()
        };
        let listed = skipped.iter().take(8).cloned().collect::<Vec<_>>().join("; ");
        let text = format!("{} files were not opened: {listed}{more}", skipped.len());
        first.notices.push(Notice {
            kind: "skipped_file".to_owned(),
            text,
        });
    }
    Ok(traces)
}

/// Reads a row of a file as Python's `json.loads` does; half of a surrogate pair becomes U+FFFD. `None` for what is no JSON.
pub(crate) fn parse(row: &[u8]) -> Option<serde_json::Value> {
    let text = std::str::from_utf8(row).ok();
    let parsed = text.and_then(|text| crate::json::parse(text).ok());
    parsed.or_else(|| Some(json::Raw(row).value()).filter(|value| !value.is_null()))
}

/// Runs that lie side by side in folders named by their seeds (`seed-42`, `seed-43`, ...) are attempts of one run.
fn by_seed_folder(traces: Vec<Trace>) -> Result<Vec<Trace>> {
    let mut sets: Vec<(Option<(PathBuf, &'static str)>, Vec<Trace>)> = Vec::new();
    for trace in traces {
        let place = trace.path.as_deref().and_then(seed_folder);
        let kind = trace.kind.split(',').next().unwrap_or_default().to_owned();
        let same = |set: &&mut (Option<(PathBuf, &str)>, Vec<Trace>)| {
            place.is_some()
                && set.0 == place
                && set.1[0].kind.starts_with(&kind)
                && set.1[0].rows.len() == trace.rows.len()
        };
        match sets.iter_mut().find(same) {
            Some((_, set)) => set.push(trace),
            None => sets.push((place, vec![trace])),
        }
    }
    let one = |(place, mut set): (Option<(PathBuf, &str)>, Vec<Trace>)| match place {
        Some((parent, stem)) if set.len() > 1 => {
            if stem == "seed" {
                set.iter_mut().for_each(know_seed);
            }
            let (count, manifest) = (set.len(), set[0].manifest.clone());
            let mut trace = crate::joined::attempts(set)?;
            trace.name = parent
                .file_name()
                .map_or_else(|| trace.name.clone(), |name| name.to_string_lossy().into_owned());
            trace.kind = format!("{}, {count} seed folders", trace.kind);
            trace.path = Some(parent);
            trace.manifest = manifest;
            Ok(vec![trace])
        }
        _ => Ok(set),
    };
    let joined: Result<Vec<Vec<Trace>>> = sets.into_iter().map(one).collect();
    Ok(joined?.into_iter().flatten().collect())
}

/// Gives rows that tell no seed the one that their folder is named by.
fn know_seed(trace: &mut Trace) {
    let path = trace.path.as_deref();
    let folder = path.and_then(|path| if path.is_dir() { Some(path) } else { path.parent() });
    let name = folder.and_then(|folder| folder.file_name()?.to_str());
    let seed = name.and_then(|name| name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok());
    if let Some(seed) = seed.filter(|_| trace.rows.seed.is_empty()) {
        trace.rows.seed = vec![seed; trace.rows.len()];
    }
}

/// The folder that holds a seed's folder, and what the latter's name begins with.
fn seed_folder(path: &Path) -> Option<(PathBuf, &'static str)> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    let name = folder.file_name()?.to_str()?;
    let stem = ["seed", "attempt"].into_iter().find(|stem| {
        name.strip_prefix(stem)
            .map(|rest| rest.trim_start_matches(['-', '_']))
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })?;
    Some((folder.parent()?.to_owned(), stem))
}

/// Rows that are shown first, while all of a large file is opened.
const FIRST: usize = 2_000;

/// The first rows of one large file; `None` where opening all of it takes no time, or it is no trace.
pub fn peek(paths: &[PathBuf], options: &Options) -> Option<Trace> {
    let [path] = paths else { return None };
    if !path.is_file() {
        return None;
    }
    let (mut groups, _) = folder::groups(paths, options).ok()?;
    let group = groups.pop().filter(|_| groups.is_empty())?;
    match group.content {
        folder::Content::Own(..) => crate::parquet::peek(path, FIRST),
        folder::Content::Foreign(parts, facts) => {
            let place = cache::place(options, &parts, facts.format);
            if place.is_some_and(|place| place.is_there()) {
                return None;
            }
            let parts = Arc::new(parts);
            let indexed = index::head(&parts)?;
            Some(trace_of(indexed, &parts, &facts, facts.name.clone()))
        }
    }
}

/// A number that changes when a file under these paths grows, changes, comes or goes: for following a run at work.
pub fn stamp(paths: &[PathBuf]) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut take = |path: &Path| {
        if let Ok(facts) = path.metadata() {
            (path, facts.len(), facts.modified().ok()).hash(&mut hasher);
        }
    };
    for path in paths {
        take(path);
        for file in folder::files_under(path).unwrap_or_default() {
            take(&file);
            // A run folder of ours counts as one there.
            let inside = std::fs::read_dir(&file).into_iter().flatten().flatten();
            inside.for_each(|entry| take(&entry.path()));
        }
    }
    hasher.finish()
}

fn open_group(group: Group, options: &Options) -> Result<Vec<Trace>> {
    let (parts, facts) = match group.content {
        folder::Content::Own(open, path) => {
            let mut trace = open().with_context(|| format!("opening {}", path.display()))?;
            provenance::attach(&mut trace, &path);
            return Ok(vec![trace]);
        }
        folder::Content::Foreign(parts, facts) => (Arc::new(parts), facts),
    };
    let place = cache::place(options, &parts, facts.format);
    let kept = place.as_ref().and_then(cache::load);
    let mut facts = facts;
    let all = if let Some(all) = kept {
        all
    } else {
        let all = index::index(&parts, options.stop.as_deref())?;
        // A cache that cannot be written only costs time.
        if let Some(Err(error)) = place.map(|place| cache::save(&place, &all)) {
            facts.notices.push(Notice {
                kind: UNKEPT.to_owned(),
                text: format!("no index of it can be kept, so that it is read anew each time: {error:#}"),
            });
        }
        all
    };
    let several = all.len() > 1;
    let trace = |indexed: index::Indexed| {
        let name = if several && parts[0].layout.series() == "models" {
            indexed.series.clone()
        } else if several {
            format!("{} [{}]", facts.name, indexed.series)
        } else {
            facts.name.clone()
        };
        let mut trace = trace_of(indexed, &parts, &facts, name);
        results::note_samples(&mut trace);
        provenance::attach(&mut trace, &facts.path);
        trace
    };
    Ok(all.into_iter().map(trace).collect())
}

fn trace_of(indexed: index::Indexed, parts: &Arc<Vec<index::Part>>, facts: &folder::Facts, name: String) -> Trace {
    let one_line = |text: &str| text.replace(char::is_control, " ");
    let texts = texts::Indexed {
        parts: Arc::clone(parts),
        spans: indexed.spans,
        offsets: indexed.offsets,
        attempts: indexed.attempts,
        questions: indexed.has_text_ids.then(|| indexed.rows.question_id.clone()),
        kept: Mutex::new(VecDeque::new()),
    };
    let notices = facts.notices.iter().cloned().chain(indexed.notices).collect();
    Trace {
        name: one_line(&name),
        path: Some(facts.path.clone()),
        kind: one_line(&indexed.kind),
        rows: indexed.rows,
        texts: Arc::new(texts),
        manifest: facts.manifest.clone().map(Provenance::Foreign),
        notices,
        rule: None,
        members: Vec::new(),
    }
}

/// Tells what a file is, or why it cannot be opened.
fn sniff(head: &Head, options: &Options) -> Result<Sniffed> {
    let known = ALL
        .iter()
        .find_map(|format| Some((format, format.sniff(head, options)?)));
    match known {
        Some((_, sniffed)) if options.map.is_empty() => return Ok(sniffed),
        Some((format, sniffed)) if format.map != MapUse::Instead => {
            return map_over(head, format, sniffed, options);
        }
        _ => {}
    }
    if let Some(sniffed) = wide::sniff(head, options) {
        return Ok(sniffed);
    }
    if options.map.is_empty()
        && let Some(what) = refuse::json_without_answers(head)
    {
        bail!("{what}");
    }
    let is_keyed = matches!(head.shape, split::Shape::Fields(_));
    let is_document = head.document.is_some() && !is_keyed && head.source == "JSON" && options.map.is_empty();
    match columns::sniff(head, options) {
        Some(Err(_)) if is_document => {
            let keys: Vec<&str> = head.document.iter().flat_map(json::Object::keys).take(8).collect();
            bail!("a JSON document without rows of answers (keys {})", keys.join(", "))
        }
        Some(sniffed) => sniffed,
        None => Err(anyhow!("JSON without rows of answers")),
    }
}

/// A map over what a format knows: applied, or refused where the format makes a record of several rows.
fn map_over(head: &Head, format: &Format, sniffed: Sniffed, options: &Options) -> Result<Sniffed> {
    let map = &options.map;
    if format.map == MapUse::Refused {
        bail!("--map does not apply to {}: their columns are known", format.about);
    }
    let rows = head.rows_at(&sniffed.shape);
    let rows = if rows.is_empty() {
        head.rows.as_slice()
    } else {
        rows.as_slice()
    };
    map::check_there(rows, map)?;
    Ok(overlay::over(
        sniffed,
        Columns::new(map.to_vec(), "", rows, options.gold_base),
    ))
}

/// The row of the MMLU set that a record tells of, for its hash: the set's columns in its order.
fn harness_doc(record: &mut Record) {
    let Some(gold) = letter_index(&record.answer).filter(|gold| *gold < record.options.len()) else {
        return;
    };
    let doc = serde_json::json!({
        "question": record.question,
        "subject": record.subject,
        "choices": record.options,
        "answer": gold,
    });
    record.doc_hash = doc_hash(&doc);
    record.doc = Some(doc.to_string());
}
