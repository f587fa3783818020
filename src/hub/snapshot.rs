//! A repository at one commit, as far as it is needed: out of the cache where it is whole, else from the hub.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use hf_hub::{Cache, Repo, RepoType};

use super::client::{Client, Unreachable, is_commit};
use super::progress::{Coming, Progress, Watch};
use super::settings::Settings;
use super::{SMALL, dataset, transfer, weights};

/// How long a connection may take to stand where there is a cached copy.
const QUICK: Duration = Duration::from_secs(4);

/// A repository of the hub at a revision.
pub(super) struct Source {
    id: String,
    kind: RepoType,
    revision: String,
}

impl Source {
    pub(super) fn new(id: &str, kind: RepoType, revision: Option<&str>) -> Source {
        Source {
            id: id.to_owned(),
            kind,
            revision: revision.unwrap_or("main").to_owned(),
        }
    }

    fn at(&self, revision: &str) -> Repo {
        Repo::with_revision(self.id.clone(), self.kind, revision.to_owned())
    }
}

/// What is wanted of a repository.
pub(super) enum Want<'a> {
    Model {
        file: Option<&'a str>,
    },
    Data {
        config: Option<&'a str>,
        splits: &'a [&'a str],
    },
    /// Everything that may be answers, and the notes on how they were made.
    Traces,
}

impl Want<'_> {
    fn needed(&self, id: &str, files: &[String]) -> Result<Vec<String>> {
        match self {
            Want::Model { file } => weights::needed(id, files, *file),
            Want::Data { config, splits } => dataset::needed(id, files, *config, splits),
            Want::Traces => dataset::traces(id, files),
        }
    }
}

/// The wanted files at one commit, all there.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) folder: PathBuf,
    pub(super) commit: String,
    /// Within the folder.
    pub(super) names: Vec<String>,
    pub(super) files: Vec<PathBuf>,
}

impl Snapshot {
    fn new(folder: PathBuf, commit: &str, names: Vec<String>) -> Snapshot {
        let files = names.iter().map(|name| folder.join(name)).collect();
        Snapshot {
            folder,
            commit: commit.to_owned(),
            names,
            files,
        }
    }
}

/// Finds what is wanted in the cache, or fetches it.
///
/// A whole copy at a commit needs no question. A branch is asked for, because it moves; where the hub cannot be asked,
/// the copy it last stood for is taken, and a note says so.
pub(super) fn obtain(settings: &Settings, source: &Source, want: &Want, watch: &mut Watch) -> Result<Snapshot> {
    let cache = Cache::new(settings.cache.clone());
    let cached = find_cached(&cache, source, want);
    let id = &source.id;
    match &cached {
        Ok(_) if is_commit(&source.revision) => return cached,
        Ok(snapshot) if settings.offline => {
            let commit = &snapshot.commit;
            watch.tell(Progress::Note(format!(
                "{id}: HF_HUB_OFFLINE is set, so the cached copy is used (commit {commit})"
            )))?;
            return cached;
        }
        Err(missing) if settings.offline => bail!(
            "HF_HUB_OFFLINE is set and {id} at {} is not in the cache {}: {missing:#}. To go on: unset it, or {}",
            source.revision,
            settings.cache.display(),
            ways_out(source, want, settings)
        ),
        _ => {}
    }
    // Where a copy can stand in, nobody waits long for a hub that may not be there.
    let connect = if cached.is_ok() {
        settings.connect.min(QUICK)
    } else {
        settings.connect
    };
    let settings = &Settings {
        connect,
        ..settings.clone()
    };
    let client = Client::new(settings)?;
    match (download(&client, source, want, watch), cached) {
        (Err(error), Ok(snapshot)) if error.is::<Unreachable>() => {
            let commit = &snapshot.commit;
            watch.tell(Progress::Note(format!(
                "{error}; the cached copy of {id} is used (commit {commit})"
            )))?;
            Ok(snapshot)
        }
        (Err(error), Ok(_)) if !error.is::<super::Stopped>() => Err(error.context(format!(
            "{id} cannot be brought up to date (HF_HUB_OFFLINE=1 uses the cached copy)"
        ))),
        (Err(error), Err(_)) if error.is::<Unreachable>() => {
            bail!(
                "{id} cannot be fetched: {error}. To go on: {}",
                ways_out(source, want, settings)
            )
        }
        (result, _) => result,
    }
}

/// What can be done where the hub is out of reach.
fn ways_out(source: &Source, want: &Want, settings: &Settings) -> String {
    let prefix = if matches!(want, Want::Traces) { "datasets/" } else { "" };
    let elsewhere = format!(
        "set HF_ENDPOINT to a mirror, or run `markbook fetch {prefix}{}` where there is a network and use its cache ({}) \
         with HF_HUB_OFFLINE=1",
        source.id,
        settings.cache.display()
    );
    match source.kind {
        RepoType::Dataset if matches!(want, Want::Traces) => {
            format!("name the path of a copy of the set's files, {elsewhere}")
        }
        RepoType::Dataset => {
            format!("--data DIR with the set's parquet files, --data embedded for the built-in questions, {elsewhere}")
        }
        _ => format!(
            "--model DIR (config.json, tokenizer.json, *.safetensors), --model FILE.gguf, --model {SMALL}, {elsewhere}"
        ),
    }
}

/// A whole copy in the cache, at the commit or at the one its branch last stood for.
fn find_cached(cache: &Cache, source: &Source, want: &Want) -> Result<Snapshot> {
    let repo = source.at(&source.revision);
    let commit = if is_commit(&source.revision) {
        source.revision.clone()
    } else {
        let reference = cache
            .path()
            .join(repo.folder_name())
            .join("refs")
            .join(&source.revision);
        let commit = std::fs::read_to_string(&reference).map_err(|_| anyhow!("no copy of it was ever finished"))?;
        commit.trim().to_owned()
    };
    if !is_commit(&commit) {
        bail!("its cache names no commit");
    }
    if matches!(want, Want::Traces) && !all_traces(source, &commit, cache).is_file() {
        bail!("not all of its files are there");
    }
    let folder = cache.repo(repo).pointer_path(&commit);
    let mut there = Vec::new();
    list_folder(&folder, "", &mut there);
    let mut names = want.needed(&source.id, &there)?;
    add_shards(&folder, &mut names)?;
    match names.iter().find(|name| !folder.join(name).is_file()) {
        Some(missing) => bail!("{missing} is missing"),
        None => Ok(Snapshot::new(folder, &commit, names)),
    }
}

/// What says that all traces of a commit were fetched: which files a set has is not to be seen in its folder. It is a
/// reference, as branches have.
fn all_traces(source: &Source, commit: &str, cache: &Cache) -> PathBuf {
    let repo = source.at(&trace_reference(commit)).folder_name();
    cache.path().join(repo).join("refs").join(trace_reference(commit))
}

fn trace_reference(commit: &str) -> String {
    format!("markbook-traces-{}", &commit[..12])
}

fn download(client: &Client, source: &Source, want: &Want, watch: &mut Watch) -> Result<Snapshot> {
    let id = &source.id;
    let repo = source.at(&source.revision);
    let listed = client.list(&repo, id, watch)?;
    let commit = listed.sha.clone();
    let pinned = source.at(&commit);
    let folder = client.cache.repo(pinned.clone()).pointer_path(&commit);
    let known: Vec<String> = listed.names().filter(|name| is_safe(name)).map(str::to_owned).collect();
    let mut names = want.needed(id, &known)?;
    let mut place = 0;
    while place < names.len() {
        let name = names[place].clone();
        place += 1;
        if !folder.join(&name).is_file() {
            let mut coming = Coming::new(id, &name, place, names.len(), listed.size(&name));
            transfer::fetch(client, &pinned, id, &mut coming, watch)?;
        }
        if name == weights::INDEX {
            add_shards(&folder, &mut names)?;
            if let Some(missing) = names.iter().find(|name| !known.contains(name)) {
                bail!("{id}: {} names {missing:?}, which is not there", weights::INDEX);
            }
        }
    }
    if matches!(want, Want::Traces) {
        let repo = client.cache.repo(source.at(&trace_reference(&commit)));
        let written = repo.create_ref(&commit);
        written.with_context(|| format!("cannot write into {}", client.cache.path().display()))?;
    }
    if source.revision != commit {
        let written = client.cache.repo(repo).create_ref(&commit);
        written.with_context(|| format!("cannot note the commit of {id} in {}", client.cache.path().display()))?;
    }
    Ok(Snapshot::new(folder, &commit, names))
}

/// Adds the files that the index in the folder lists, if there is one among the names.
fn add_shards(folder: &Path, names: &mut Vec<String>) -> Result<()> {
    if names.last().is_some_and(|name| name == weights::INDEX) {
        names.extend(weights::shards(&folder.join(weights::INDEX))?);
    }
    Ok(())
}

/// Whether a name that came from elsewhere stays inside its folder.
pub(super) fn is_safe(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(['\\', ':'])
        && !name.chars().any(char::is_control)
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

/// A list of names short enough to be read.
pub(super) fn some_of<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(12).map(AsRef::as_ref).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

fn list_folder(folder: &Path, inner: &str, names: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = format!("{inner}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            list_folder(&entry.path(), &format!("{name}/"), names);
        } else {
            names.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_their_folder_are_not_safe() {
        for name in ["a.json", "data/test-00000-of-00001.parquet", "with space.gguf"] {
            assert!(is_safe(name), "{name}");
        }
        for name in ["", "/etc/passwd", "../x", "a/../../x", "a\\b", "C:/x", "a\u{1b}[2J"] {
            assert!(!is_safe(name), "{name:?}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..15).map(|number| number.to_string()).collect();
        assert!(some_of(&names).ends_with("11 and 3 more"));
    }

    #[test]
    fn out_of_reach_every_way_out_is_named() {
        let settings = Settings::from_variables(&|_| None, Some(Path::new("/home/ada")), Some("/data".into())).unwrap();
        let model = ways_out(
            &Source::new("org/name", RepoType::Model, None),
            &Want::Model { file: None },
            &settings,
        );
        for way in [
            "--model DIR",
            ".gguf",
            SMALL,
            "HF_ENDPOINT",
            "HF_HUB_OFFLINE",
            "markbook fetch org/name",
        ] {
            assert!(model.contains(way), "{way}: {model}");
        }
        let splits = Want::Data {
            config: None,
            splits: &[],
        };
        let data = ways_out(&Source::new("org/name", RepoType::Dataset, None), &splits, &settings);
        assert!(
            data.contains("--data DIR") && data.contains("--data embedded"),
            "{data}"
        );
    }
}
