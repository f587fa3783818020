//! The traces that a command names: paths, or sets of the hub, which are fetched first.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;

use super::named;
use super::plain::Plain;
use super::usage;
use crate::files;
use crate::hub::{self, FoundTraces};
use crate::import::{self, Options};
use crate::run::Update;
use crate::store;
use crate::trace::Trace;

/// What is there to be opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Inputs {
    paths: Vec<PathBuf>,
    /// What came from the hub.
    sets: Vec<FoundTraces>,
}

impl Inputs {
    /// Finds every path, reading pipes and `-` to their ends; what is no path is the name of a
    /// run, or a set of the hub. A path that exists wins.
    pub fn find(paths: &[PathBuf]) -> Result<Inputs> {
        let mut inputs = Inputs::default();
        for path in paths {
            let name = path.to_str().and_then(hub::trace_set);
            let settled = files::settled(path)?;
            if settled.exists() {
                inputs.paths.push(settled);
                continue;
            }
            match (named::path(path)?, name) {
                (Some(run), _) => inputs.paths.push(run),
                (None, Some(name)) if !starts_in_a_folder(path) => {
                    let set = fetch(name)?;
                    inputs.paths.push(set.path.clone());
                    inputs.sets.push(set);
                }
                _ => bail!("{}: no such file or folder", path.display()),
            }
        }
        Ok(inputs)
    }

    /// Where the files lie.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The traces; without any path, the recorded demo.
    pub fn open(&self, options: &Options) -> Result<Vec<Trace>> {
        if self.paths.is_empty() {
            usage(if options.map.is_empty() {
                Ok(())
            } else {
                Err(anyhow::anyhow!("--map needs a file whose columns it names"))
            })?;
            return store::recorded_demo();
        }
        let mut traces = import::open(&self.paths, options)?;
        let paths = traces.iter_mut().filter_map(|trace| trace.path.as_mut());
        for path in paths.filter(|path| files::is_pipe(path)) {
            *path = files::shown(path).into();
        }
        for set in &self.sets {
            name_by(set, &mut traces);
        }
        Ok(traces)
    }
}

/// How files are opened: with a map, golds counted from a number, the cache in the data directory.
pub(super) fn options(map: &[(String, String)], gold_base: Option<i64>) -> Options {
    Options {
        map: map.to_vec(),
        gold_base,
        cache_dir: hub::home().ok().map(|home| home.join("cache")),
        ..Options::default()
    }
}

/// Whether the first part of a path that is not there is a folder here: then a file in it is missing.
fn starts_in_a_folder(path: &Path) -> bool {
    path.components().next().is_some_and(|first| Path::new(&first).is_dir())
}

/// Fetches what is not in the cache, told on standard error. Ended by a signal, it goes on from there the next time.
fn fetch(name: &str) -> Result<FoundTraces> {
    let mut plain = Plain::new();
    let found = hub::traces(name, &mut |progress| {
        plain.tell(&Update::Status(progress.to_string()));
        ControlFlow::Continue(())
    });
    plain.end();
    found
}

/// Names the traces of a set by its id, and notes the commit.
fn name_by(set: &FoundTraces, traces: &mut [Trace]) {
    let is_of_set = |trace: &Trace| trace.path.as_deref().is_some_and(|path| path.starts_with(&set.path));
    let several = traces.iter().filter(|trace| is_of_set(trace)).count() > 1;
    for trace in traces.iter_mut().filter(|trace| is_of_set(trace)) {
        trace.name = if several {
            format!("{} {}", set.id, trace.name)
        } else {
            set.id.clone()
        };
        trace.kind = format!(
            "{}, {}@{}",
            trace.kind,
            set.id,
            &set.revision[..set.revision.len().min(8)]
        );
        let commit = json!({ "id": set.id, "revision": set.revision });
        trace.manifest.get_or_insert_default().add("hub", commit);
    }
}
