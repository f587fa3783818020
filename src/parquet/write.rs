//! Records to a parquet file.

use std::borrow::Borrow;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::cells::Cell;
use crate::record::{Finish, Record, ServedBy, columns};

/// Rows of a row group.
const GROUP: usize = 2_000;

/// Rows that are turned into columns together.
const TOGETHER: usize = 500;

/// In which order rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    AsGiven,
    /// By question, then attempt.
    ByQuestion,
}

macro_rules! give {
    ($(#[doc = $about:literal] $(#[$serde:meta])? $name:ident: $kind:ty,)*) => {
        pub(super) fn schema() -> Arc<Schema> {
            Arc::new(Schema::new(vec![$(<$kind as Cell>::field(stringify!($name))),*]))
        }

        fn batch(rows: &[&Record]) -> Result<RecordBatch> {
            let columns = vec![$(<$kind as Cell>::column(rows.iter().map(|record| &record.$name))),*];
            RecordBatch::try_new(schema(), columns).context("the columns of a record disagree")
        }
    };
}
columns!(give);

/// Writes records to `path`: aside first, then renamed, so that a half-written file never replaces a good one.
///
/// # Errors
/// When the folder cannot be written or the disk is full; the file that stood at `path` is then untouched.
pub fn write_records<R: Borrow<Record>>(path: &Path, records: &[R], order: Order) -> Result<()> {
    let mut records: Vec<&Record> = records.iter().map(Borrow::borrow).collect();
    if order == Order::ByQuestion {
        records.sort_by_key(|record| (record.question_id, record.attempt));
    }
    write_each(path, records.into_iter().map(Ok))
}

/// The same for records that come one by one: a row group of them is held in memory.
///
/// # Errors
/// The same, and where a record does not come.
pub fn write_each<R: Borrow<Record>>(path: &Path, records: impl IntoIterator<Item = Result<R>>) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(GROUP))
        .set_data_page_row_count_limit(250)
        .set_write_batch_size(250)
        .set_created_by(format!("markbook {}", env!("CARGO_PKG_VERSION")))
        .build();
    crate::files::write_with(path, |file| {
        let mut writer = ArrowWriter::try_new(file, schema(), Some(properties))?;
        let mut records = records.into_iter().peekable();
        while records.peek().is_some() {
            let rows: Vec<R> = records.by_ref().take(TOGETHER).collect::<Result<_>>()?;
            let rows: Vec<&Record> = rows.iter().map(Borrow::borrow).collect();
            writer.write(&batch(&rows)?)?;
        }
        writer.close()?;
        Ok(())
    })
}
