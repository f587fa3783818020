//! Which recognised files are parts of one run, and what it is called.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::layout::Sniffed;
use super::source::Layer;

/// A file that was recognised.
pub(super) struct Candidate {
    pub path: PathBuf,
    /// The path with the archive's member, endings off.
    pub stem: String,
    pub layers: Vec<Layer>,
    pub sniffed: Sniffed,
    pub is_named: bool,
}

/// What the files of one run share. `is_exact`: their time stamps too.
fn run_key(candidate: &Candidate, is_exact: bool) -> String {
    let sniffed = &candidate.sniffed;
    let folder = candidate.stem.rsplit_once('/').map_or("", |(folder, _)| folder);
    // Files of two models are never one run.
    let model = sniffed.name.as_deref().unwrap_or_default();
    match (&sniffed.split, &sniffed.run) {
        (None, _) => candidate.stem.clone(),
        (Some(split), Some(run)) => format!("{} {} {run} {model}", sniffed.format, without(folder, split)),
        (Some(split), None) => {
            let stem = if is_exact {
                &candidate.stem
            } else {
                &without_stamp(&candidate.stem)
            };
            format!("{} {} {model}", sniffed.format, without(stem, split))
        }
    }
}

/// A path without the subject in it, however that is written; a subject is no part of a longer word.
fn without(path: &str, split: &str) -> String {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '-'], " ");
    let (path, split) = (plain(path), plain(split));
    let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let whole = path.match_indices(&split).find(|(at, _)| {
        let (before, after) = (&path[..*at], &path[at + split.len()..]);
        is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    });
    match whole {
        Some((at, _)) if !split.is_empty() => format!("{}\u{1}{}", &path[..at], &path[at + split.len()..]),
        _ => path,
    }
}

static STAMP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[_-]?(\d{8}[_T-]?\d{6}|\d{4}[-_]\d\d[-_]\d\d[T_]\d\d[-_:]\d\d[-_:]\d\d(?:\.\d+)?)")
        .expect("the pattern is fixed and valid")
});

/// `law_result_20241128_105928` and `law_result_2024-11-28T10-59-28` without the time.
pub(super) fn without_stamp(stem: &str) -> String {
    STAMP.replace_all(stem, "").into_owned()
}

/// The time in a name.
pub(super) fn stamp(name: &str) -> Option<&str> {
    Some(STAMP.captures(name)?.get(1)?.as_str())
}

/// Leaves out evalscope's predictions whose reviews are there too: these hold the same and more.
pub(super) fn without_reviewed(candidates: &mut Vec<Candidate>) {
    let stems: HashSet<String> = candidates.iter().map(|candidate| candidate.stem.clone()).collect();
    candidates.retain(|candidate| {
        let reviews = candidate.stem.replace("predictions/", "reviews/");
        let is_reviewed =
            candidate.sniffed.format == "evalscope" && reviews != candidate.stem && stems.contains(&reviews);
        candidate.is_named || !is_reviewed
    });
}

/// Candidates by run, in the order of their first file, each with that file's place. Files of different times are one
/// run only where no subject comes twice.
pub(super) fn grouped(candidates: Vec<Candidate>) -> Vec<(usize, Vec<Candidate>)> {
    let loose: Vec<String> = candidates.iter().map(|candidate| run_key(candidate, false)).collect();
    let mut seen = HashSet::new();
    let mut repeated = HashSet::new();
    for (candidate, key) in candidates.iter().zip(&loose) {
        if !seen.insert((key, &candidate.sniffed.split)) {
            repeated.insert(key.clone());
        }
    }
    let keys: Vec<String> = candidates
        .iter()
        .zip(&loose)
        .map(|(candidate, key)| run_key(candidate, repeated.contains(key)))
        .collect();
    let mut groups: Vec<(usize, Vec<Candidate>)> = Vec::new();
    // How often a subject came under a key, and the groups of the key: the nth time it goes into the nth of them.
    let mut times: HashMap<(String, Option<String>), usize> = HashMap::new();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, (candidate, key)) in candidates.into_iter().zip(keys).enumerate() {
        let nth = times.entry((key.clone(), candidate.sniffed.split.clone())).or_default();
        let known = places.entry(key).or_default();
        if let Some(group) = known.get(*nth) {
            groups[*group].1.push(candidate);
        } else {
            known.push(groups.len());
            groups.push((place, vec![candidate]));
        }
        *nth += 1;
    }
    groups
}

/// Folders that say how, not who, as those at the end of `MODEL/CoT/all/law.json`.
const PLAIN: [&str; 12] = [
    "all",
    "cot",
    "test",
    "results",
    "result",
    "eval_results",
    "predictions",
    "outputs",
    "output",
    "mmlu",
    "mmlu_pro",
    "0shot",
];

/// The name of a run in several files, one a subject: what their names share, else the folder's.
pub(super) fn shared_name(members: &[Candidate]) -> String {
    let first = &members[0];
    let stem = first.stem.rsplit('/').next().unwrap_or_default();
    let stem = without_stamp(stem);
    let subject = first.sniffed.split.as_deref().unwrap_or_default();
    let spellings = [subject.to_owned(), subject.replace(' ', "_"), subject.replace(' ', "-")];
    let rest = spellings
        .iter()
        .find(|spelling| !spelling.is_empty() && stem.contains(spelling.as_str()))
        .map_or_else(|| stem.clone(), |spelling| stem.replacen(spelling.as_str(), "", 1));
    let rest = rest.replace("_result", "");
    let rest = rest.trim_matches(['_', '-', '.', ' ']);
    if !rest.is_empty() {
        return rest.to_owned();
    }
    let folders: Vec<&str> = first.stem.rsplit('/').skip(1).take(4).collect();
    let own = folders
        .iter()
        .position(|folder| !PLAIN.iter().any(|plain| folder.eq_ignore_ascii_case(plain)));
    let named = own.map_or(&folders[..folders.len().min(1)], |own| &folders[..=own]);
    named.iter().rev().copied().collect::<Vec<_>>().join("/")
}
