//! Records held in memory, as the texts of a trace.

use std::sync::Arc;

use anyhow::{Result, bail};

use super::{Field, Texts, Visit, Wanted};
use crate::record::Record;

/// Records held in memory.
#[derive(Debug, Default)]
pub struct Memory {
    records: Vec<Arc<Record>>,
}

impl Memory {
    pub fn new(records: Vec<Record>) -> Memory {
        Memory {
            records: records.into_iter().map(Arc::new).collect(),
        }
    }
}

impl Texts for Memory {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        match self.records.get(row) {
            Some(record) => Ok(Arc::clone(record)),
            None => bail!("row {row} is not among the {} rows of this trace", self.records.len()),
        }
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> Result<()> {
        for (row, record) in self.records.iter().enumerate() {
            if wanted(row) && visit(row, field.of(record)).is_break() {
                break;
            }
        }
        Ok(())
    }
}
