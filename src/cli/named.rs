//! What a person names a run by, in one place for every command: a path, an id or its unique beginning, `last`, `@BASELINE`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::args::TraceArgs;
use super::{entering, traces};
use crate::catalogue::{Catalogue, Listed};
use crate::trace::Trace;

/// Opens the traces that a name stands for.
pub(super) fn open(name: &str) -> Result<Vec<Trace>> {
    traces::open_stored(&TraceArgs::at(vec![name.into()]))
}

/// Whether a name that is no path can be a run's: no folder is named in it.
fn can_be_named(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\'])
}

/// Where the rows of a run lie that is named by its id, `last` or `@BASELINE`; `None` where no run has that name.
///
/// # Errors
/// When several begin so, or the one's folder is gone.
pub(super) fn path(name: &Path) -> Result<Option<PathBuf>> {
    let Some(name) = name.to_str().filter(|name| can_be_named(name)) else {
        return Ok(None);
    };
    let is_asked = name == "last" || name.starts_with('@');
    let catalogue = match entering::readable() {
        Ok(Some(catalogue)) => catalogue,
        Ok(None) if is_asked => bail!("{name}: no run is in the catalogue yet (markbook add PATH enters one)"),
        Err(error) if is_asked => return Err(error),
        Ok(None) | Err(_) => return Ok(None),
    };
    let entry = match entry(&catalogue, name) {
        Ok(entry) => entry,
        Err(error) if is_asked || error.to_string().contains("runs begin with") => return Err(error),
        Err(_) => return Ok(None),
    };
    if entry.path.is_none() {
        bail!(
            "{}: its folder is gone; markbook add PATH tells where it is",
            entry.run_id
        );
    }
    Ok(entry.path)
}

/// The entry of a name.
///
/// # Errors
/// When there is none, or several begin so.
pub(super) fn entry(catalogue: &Catalogue, name: &str) -> Result<Listed> {
    match name.strip_prefix('@') {
        // One that was frozen elsewhere or before this catalogue is told of by its file.
        Some(baseline) => match catalogue.baseline(baseline)? {
            Some((run_id, _)) => catalogue.find(&run_id),
            None => catalogue.find(&super::baseline::find(baseline)?.run_id),
        },
        None => catalogue.find(name),
    }
}
