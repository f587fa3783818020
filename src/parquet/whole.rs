//! Rows with every column that the file has, known or not, as JSON. For exports.

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::read::Table;
use super::rows::batch_rows;
use super::texts::selection_of;

/// Rows that are decoded together.
const BATCH: usize = 512;

/// Some rows of a table, in the order asked.
pub(super) fn whole_rows(table: &Table, wanted: &[usize]) -> Result<Vec<Map<String, Value>>> {
    let mut sorted = wanted.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let columns = table.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut found: HashMap<usize, Map<String, Value>> = HashMap::new();
    let (mut start, mut rest) = (0, sorted.as_slice());
    for (group, size) in table.group_sizes().into_iter().enumerate() {
        let (here, later) = rest.split_at(rest.partition_point(|row| *row < start + size));
        if !here.is_empty() {
            let selection = selection_of(here.iter().map(|row| row - start), size);
            let mut places = here.iter();
            table.read(&columns, vec![group], Some(selection), BATCH, &mut |batch| {
                found.extend(places.by_ref().copied().zip(batch_rows(batch)?));
                Ok(true)
            })?;
        }
        rest = later;
        start += size;
    }
    let row = |row: &usize| {
        let found = found.get(row).cloned();
        found.with_context(|| format!("{}: row {row} cannot be read", table.name))
    };
    wanted.iter().map(row).collect()
}
