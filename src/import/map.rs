//! `--map pick=pred,reasoning=output`: which of a file's columns are ours.

use anyhow::{Context, Result, bail};

use super::columns::has;
use super::json::Object;
use super::suggest::listed;
use crate::rows::names::COLUMNS;

/// Reads `pick=pred,reasoning=output`.
pub fn parse_map(text: &str) -> Result<Vec<(String, String)>> {
    let pair = |part: &str| {
        let (ours, theirs) = part
            .split_once('=')
            .with_context(|| format!("--map: no = in \"{part}\""))?;
        Ok((ours.trim().to_owned(), theirs.trim().to_owned()))
    };
    let map = text
        .split(',')
        .filter(|part| !part.trim().is_empty())
        .map(pair)
        .collect::<Result<Vec<_>>>()?;
    check_map(&map)?;
    Ok(map)
}

/// Checks a `--map`: known names on the left, each once.
pub(super) fn check_map(map: &[(String, String)]) -> Result<()> {
    for (i, (ours, theirs)) in map.iter().enumerate() {
        if !COLUMNS.iter().any(|(name, _)| name == ours) {
            let known: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
            bail!("--map: no column {ours} of ours; known: {}", known.join(", "));
        }
        if theirs.is_empty() {
            bail!("--map {ours}=: no column of the file is named");
        }
        if map[..i].iter().any(|(earlier, _)| earlier == ours) {
            bail!("--map names {ours} twice");
        }
    }
    Ok(())
}

/// Refuses a map that names a column which no row has.
pub(super) fn check_there(rows: &[Object], map: &[(String, String)]) -> Result<()> {
    for (ours, theirs) in map {
        let missing = parts(ours, theirs).find(|part| !rows.iter().any(|row| has(row, part)));
        if let (Some(missing), Some(first)) = (missing, rows.first()) {
            bail!(
                "--map {ours}={theirs}: no column {missing}; the columns are: {}",
                listed(first)
            );
        }
    }
    Ok(())
}

/// The columns that a mapping names: options and log-likelihoods may be several, `options=A+B+C+D`.
pub(super) fn parts<'a>(ours: &str, theirs: &'a str) -> impl Iterator<Item = &'a str> {
    let several = matches!(ours, "options" | "logprobs") && theirs.contains('+');
    theirs.split(move |c| several && c == '+')
}
