//! Where models and data sets come from: a path, the hub with its cache, or a package.
//!
//! hf-hub 0.5 (blocking) builds the requests, sends the token and names the folders of the cache, so that other tools
//! find what is fetched here and the other way round. It has no time-out, cannot be stopped and trusts what it resumes,
//! so the transfer itself (`transfer.rs`) is ours.

mod client;
mod dataset;
mod name;
mod package;
mod progress;
mod settings;
mod snapshot;
mod transfer;
mod weights;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use hf_hub::RepoType;

pub use dataset::Split;
pub use name::{ModelName, short_name, trace_set};
pub use progress::{Progress, Stopped};
pub use settings::{Settings, Token, without_passwords};

use progress::Watch;
use snapshot::{Source, Want};

/// The name of the small model that needs no hub.
pub const SMALL: &str = "smollm2-135m";

/// A model that lies on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The folder with `config.json`, or the `.gguf` file.
    pub path: PathBuf,
    /// What a manifest records: the hub's id, the path, or [`SMALL`].
    pub id: String,
    /// The commit, where it came from the hub.
    pub revision: Option<String>,
    /// The files that were asked for.
    pub files: Vec<PathBuf>,
}

/// A data set that lies on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundData {
    /// The folder of the whole set, laid out as on the hub.
    pub path: PathBuf,
    pub id: String,
    /// The commit it was taken at.
    pub revision: String,
    /// In the order asked for.
    pub splits: Vec<Split>,
}

/// A set of traces that lies on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTraces {
    /// The folder of the whole set, laid out as on the hub.
    pub path: PathBuf,
    pub id: String,
    /// The commit it was taken at.
    pub revision: String,
    pub files: Vec<PathBuf>,
}

/// Finds or fetches a model, with the settings of the environment.
///
/// # Errors
/// When it is not there and cannot be fetched; [`Stopped`] where `watch` breaks.
pub fn model(name: &ModelName, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Found> {
    match name {
        ModelName::Folder(path) | ModelName::Gguf(path) => local(path),
        ModelName::Small | ModelName::Hub { .. } => Settings::from_env()?.model(name, watch),
    }
}

/// Finds or fetches the parquet files of some splits, with the settings of the environment. `id` may end in
/// `@revision`; `config` is the hub's name of a part of the set, such as `all` of `cais/mmlu`.
///
/// # Errors
/// As [`model`].
pub fn dataset(
    id: &str,
    config: Option<&str>,
    splits: &[&str],
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<FoundData> {
    Settings::from_env()?.dataset(id, config, splits, watch)
}

/// Finds or fetches every file of a data set that may be traces, with the settings of the environment. `id` may end in
/// `@revision`.
///
/// # Errors
/// As [`model`].
pub fn traces(id: &str, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<FoundTraces> {
    Settings::from_env()?.traces(id, watch)
}

/// Where markbook keeps what it makes: `$MARKBOOK_HOME`, else `markbook` in the platform's data directory. What is said of
/// the hub plays no part in it.
pub fn home() -> Result<PathBuf> {
    settings::home(
        &|name| std::env::var_os(name),
        dirs::home_dir().as_deref(),
        dirs::data_dir(),
    )
}

impl Settings {
    /// As [`model`], with these settings.
    pub fn model(&self, name: &ModelName, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Found> {
        match name {
            ModelName::Folder(path) | ModelName::Gguf(path) => local(path),
            ModelName::Small => package::smollm2(self, &mut Watch::new(watch)),
            ModelName::Hub { id, revision, file } => {
                let source = Source::new(id, RepoType::Model, revision.as_deref());
                let want = Want::Model { file: file.as_deref() };
                let snapshot = snapshot::obtain(self, &source, &want, &mut Watch::new(watch))?;
                let gguf = snapshot.names.iter().find(|name| name::is_gguf(name));
                Ok(Found {
                    path: gguf.map_or_else(|| snapshot.folder.clone(), |name| snapshot.folder.join(name)),
                    id: gguf.map_or_else(|| id.clone(), |name| format!("{id}:{name}")),
                    revision: Some(snapshot.commit),
                    files: snapshot.files,
                })
            }
        }
    }

    /// As [`dataset`], with these settings.
    pub fn dataset(
        &self,
        id: &str,
        config: Option<&str>,
        splits: &[&str],
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<FoundData> {
        let (id, revision) = name::split_revision(id);
        if !name::is_hub_id(id) {
            bail!("{id:?} is no data set of the hub: its names look like cais/mmlu or TIGER-Lab/MMLU-Pro");
        }
        let source = Source::new(id, RepoType::Dataset, revision);
        let want = Want::Data { config, splits };
        let snapshot = snapshot::obtain(self, &source, &want, &mut Watch::new(watch))?;
        Ok(FoundData {
            splits: dataset::group(id, config, splits, &snapshot)?,
            path: snapshot.folder,
            id: id.to_owned(),
            revision: snapshot.commit,
        })
    }
}

impl Settings {
    /// As [`traces`], with these settings.
    pub fn traces(&self, id: &str, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<FoundTraces> {
        let (id, revision) = name::split_revision(id);
        if !name::is_hub_id(id) {
            bail!("{id:?} is no data set of the hub: its names look like org/name");
        }
        let source = Source::new(id, RepoType::Dataset, revision);
        let snapshot = snapshot::obtain(self, &source, &Want::Traces, &mut Watch::new(watch))?;
        Ok(FoundTraces {
            path: snapshot.folder,
            id: id.to_owned(),
            revision: snapshot.commit,
            files: snapshot.files,
        })
    }
}

/// A model named by its path: a `.gguf` file, or a folder with `config.json`.
fn local(path: &Path) -> Result<Found> {
    let id = path.display().to_string();
    if path.is_file() {
        let files = vec![path.to_owned()];
        return Ok(Found {
            path: path.to_owned(),
            id,
            revision: None,
            files,
        });
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .map_err(|error| anyhow::anyhow!("cannot read the folder {id}: {error}"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    if !path.join("config.json").is_file() {
        let ggufs: Vec<String> = files
            .iter()
            .filter(|file| name::is_gguf(file))
            .map(|file| file.display().to_string())
            .collect();
        if ggufs.is_empty() {
            bail!(
                "{id} is no model folder: it has no config.json (a model is a folder with config.json, tokenizer.json \
                 and *.safetensors, or one .gguf file)"
            );
        }
        bail!(
            "{id} has no config.json, but gguf files: name one of them ({})",
            ggufs.join(", ")
        );
    }
    Ok(Found {
        path: path.to_owned(),
        id,
        revision: None,
        files,
    })
}
