//! Records held in memory, as the texts of a trace.

use std::ops::ControlFlow;
use std::sync::{Arc, RwLock};

use anyhow::{Result, bail};

use super::{Field, Texts};
use crate::record::Record;

/// Records held in memory; a run at work appends to it.
#[derive(Debug, Default)]
pub struct Memory {
    records: RwLock<Vec<Arc<Record>>>,
}

impl Memory {
    pub fn new(records: Vec<Record>) -> Memory {
        Memory {
            records: RwLock::new(records.into_iter().map(Arc::new).collect()),
        }
    }

    pub fn push(&self, record: Arc<Record>) {
        self.records
            .write()
            .expect("no reader panics while it holds the lock")
            .push(record);
    }

    fn snapshot(&self) -> Vec<Arc<Record>> {
        self.records
            .read()
            .expect("no writer panics while it holds the lock")
            .clone()
    }
}

impl Texts for Memory {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        let records = self.records.read().expect("no writer panics while it holds the lock");
        match records.get(row) {
            Some(record) => Ok(Arc::clone(record)),
            None => bail!("row {row} is not among the {} rows of this trace", records.len()),
        }
    }

    fn scan(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        for (row, record) in self.snapshot().iter().enumerate() {
            if !wanted(row) {
                continue;
            }
            let text = match field {
                Field::Prompt => &record.prompt,
                Field::Completion => &record.reasoning,
                Field::Question => &record.question,
            };
            if visit(row, text).is_break() {
                break;
            }
        }
        Ok(())
    }
}
