//! Bytes that a parquet reader can ask for by position, from a file or from memory, by several threads at once.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use parquet::file::reader::{ChunkReader, Length};

use crate::files::read_at;

/// A parquet file's bytes. Cloning is cheap; reads carry their own position, so clones may read at the same time.
#[derive(Debug, Clone)]
pub enum Source {
    File(Arc<File>, u64),
    Memory(Bytes),
}

impl Source {
    pub fn open(path: &Path) -> Result<Source> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let metadata = file
            .metadata()
            .with_context(|| format!("cannot read {}", path.display()))?;
        anyhow::ensure!(metadata.is_file(), "{} is not a file", path.display());
        Ok(Source::File(Arc::new(file), metadata.len()))
    }
}

/// A reader that starts at a position of a source.
#[derive(Debug)]
pub struct Cursor {
    source: Source,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = match &self.source {
            Source::File(file, _) => read_at(file, buffer, self.at)?,
            Source::Memory(bytes) => {
                let rest = bytes
                    .get(usize::try_from(self.at).unwrap_or(usize::MAX)..)
                    .unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                count
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        match self {
            Source::File(_, len) => *len,
            Source::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for Source {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(Cursor {
            source: self.clone(),
            at: start,
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len());
        let Some(end) = end else {
            return Err(parquet::errors::ParquetError::EOF(format!(
                "bytes {start} and {length} more lie beyond the end of the file ({} bytes)",
                self.len()
            )));
        };
        match self {
            Source::Memory(bytes) => Ok(bytes.slice(start as usize..end as usize)),
            Source::File(..) => {
                let mut buffer = vec![0; length];
                Cursor {
                    source: self.clone(),
                    at: start,
                }
                .read_exact(&mut buffer)?;
                Ok(buffer.into())
            }
        }
    }
}
