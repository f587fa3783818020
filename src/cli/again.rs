//! `--again`: a second sitting of some rows of a finished run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::prepare::Job;
use crate::engine::Engine;
use crate::engine::remote::Seeds;
use crate::manifest::Manifest;
use crate::run::{Plan, Summary};
use crate::store::again::{self, Kind};

/// The plans of the rows that are answered anew, and the folders of their runs; exams without such a row are left out.
///
/// # Errors
/// When no row is of these kinds, a run is not finished or another one, or the answers would come out the same.
pub(super) fn plans(job: &Job, plans: Vec<Plan>, engine: &dyn Engine) -> Result<(Vec<Plan>, Vec<PathBuf>)> {
    let kinds = &job.settings.again;
    let (mut some, mut runs) = (Vec::new(), Vec::new());
    for mut plan in plans {
        let run = plan.exam.path.clone();
        again::mend(&run)?;
        let rows = again::choose(&run, &plan.manifest, kinds)?;
        if rows.keys.is_empty() {
            continue;
        }
        must_differ(&run, &plan, &rows.kinds, engine)?;
        let begun = again::begun(&run);
        plan.manifest.again = vec![rows.again()];
        some.push(plan.again(rows.keys, again::folder(&run), begun));
        runs.push(run);
    }
    if some.is_empty() {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        bail!("{} has no row that is {}", job.root.display(), names.join(" or "));
    }
    Ok((some, runs))
}

/// Refuses to ask for a text that is known: the same seed and limit give the same one where seeds are honoured.
fn must_differ(run: &Path, plan: &Plan, kinds: &BTreeMap<&'static str, usize>, engine: &dyn Engine) -> Result<()> {
    let same_text = [Kind::Cut, Kind::Unreadable]
        .iter()
        .any(|kind| kinds.contains_key(kind.name()));
    let description = engine.describe();
    let repeats = description
        .served()
        .is_none_or(|served| matches!(served.seeds, Seeds::Honoured | Seeds::HonouredAlone));
    let first = Manifest::read(run)?
        .settings
        .sampling
        .map(|sampling| sampling.max_tokens);
    let now = plan
        .manifest
        .settings
        .sampling
        .as_ref()
        .map(|sampling| sampling.max_tokens);
    if same_text && repeats && first == now {
        bail!(
            "--again: the same seed and --max-tokens {} give the same text; name another --max-tokens, or read the outputs by \
             another rule (markbook rescore)",
            now.unwrap_or_default()
        );
    }
    Ok(())
}

/// Takes what is whole into the runs; a line each.
pub(super) fn end(runs: &[PathBuf], summary: &Summary) -> Result<Vec<String>> {
    if summary.stopped {
        return Ok(Vec::new());
    }
    let merged = runs.iter().map(|run| Ok(again::merge(run)?.in_words()));
    merged.collect()
}
