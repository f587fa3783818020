//! markbook's own records.

use std::io::Write;

use anyhow::{Context, Result};

use super::Slice;
use crate::record::Record;

pub(super) fn write(slice: &Slice, out: &mut dyn Write) -> Result<()> {
    let mut records: Vec<Record> = Vec::with_capacity(slice.rows.len());
    for row in slice.rows {
        records.push(Record::clone(&*slice.trace.record(*row as usize)?));
    }
    let folder = tempfile::tempdir().context("no room for a temporary file")?;
    let path = folder.path().join("slice.parquet");
    crate::parquet::write_records(&path, &records, crate::parquet::Order::AsGiven)?;
    let mut file = std::fs::File::open(&path)?;
    std::io::copy(&mut file, out)?;
    Ok(())
}
