//! Zip archives: their directory is read once, and what their files unpack to lies in one temporary file.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use zip::{CompressionMethod, ZipArchive};

use super::spool::Spool;
use crate::files::Stretch;

type Zip = ZipArchive<crate::files::StretchReader>;

/// An archive's directory, and where its files are unpacked. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct Archive {
    zip: Zip,
    pub spool: Arc<Spool>,
}

/// One file of an archive.
#[derive(Clone)]
pub(crate) struct Member {
    pub name: String,
    index: usize,
    pub archive: Archive,
}

/// Its name tells a file from the others of its archive.
impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl Archive {
    /// Reads the directory of an archive; its files are unpacked into `scratch`.
    pub fn open(path: &Path, scratch: Option<&Path>) -> Result<Archive> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        let bytes = Stretch::whole(file)?;
        let spool = Arc::new(Spool::new(scratch, bytes.size));
        let zip = ZipArchive::new(bytes.reader());
        let zip = zip.with_context(|| format!("{} is a broken zip archive", path.display()))?;
        Ok(Archive { zip, spool })
    }

    /// The files in it, without what a Mac puts beside them.
    pub fn members(&self) -> Result<Vec<Member>> {
        let mut members = Vec::with_capacity(self.zip.len());
        for index in 0..self.zip.len() {
            let name = self.zip.name_for_index(index).context("a file without an entry")?;
            let name = name.context("a broken zip archive")?.into_owned();
            if !name.ends_with('/') && !name.starts_with("__MACOSX/") {
                members.push(Member {
                    name,
                    index,
                    archive: self.clone(),
                });
            }
        }
        Ok(members)
    }
}

impl Member {
    /// Hands on a reader of what it unpacks to.
    pub fn read(&self, take: &mut dyn FnMut(&mut dyn Read) -> Result<()>) -> Result<()> {
        let mut zip = self.archive.zip.clone();
        let mut raw = zip.by_index_raw(self.index)?;
        // Newer Inspect logs hold zstd inside the zip, for which the zip crate is built without a decoder.
        if raw.compression() == CompressionMethod::ZSTD {
            return take(&mut zstd::stream::read::Decoder::new(&mut raw)?);
        }
        drop(raw);
        take(&mut zip.by_index(self.index)?)
    }

    /// Whether it holds one sample of an Inspect log.
    pub fn is_sample(&self) -> bool {
        self.name.starts_with("samples/") && Path::new(&self.name).extension().is_some_and(|ending| ending == "json")
    }
}
