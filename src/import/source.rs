//! The bytes of a trace file: as they lie on disk, or unpacked once into a temporary file, so that any part can be read at
//! any time in bounded memory.

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow, bail};

use super::archive::{Archive, Member};
use super::head::DOCUMENT;
use super::spool::Spool;
use super::tables;
use crate::files::{self, Stretch};
use crate::rows::sheets;

/// What lies between a file and its rows of JSON.
#[derive(Debug, Clone)]
pub(crate) enum Layer {
    Gzip,
    Zstd,
    /// One file of a zip archive.
    Member(Member),
    /// All samples of an Inspect log, one after the other.
    Samples,
    /// Text in UTF-16.
    Utf16,
    /// A table in one JSON document, by column or beside its names.
    Frame,
    /// Character-separated columns.
    Csv(u8),
    Parquet,
}

/// A file and the layers to take off it.
#[derive(Debug)]
pub(crate) struct Source {
    pub path: PathBuf,
    pub layers: Vec<Layer>,
    /// Where unpacked bytes may lie; the system's folder for temporary files if `None`.
    scratch: Option<PathBuf>,
    plain: OnceLock<Result<Stretch, String>>,
}

impl Source {
    pub fn new(path: &Path, layers: Vec<Layer>, scratch: Option<&Path>) -> Source {
        Source {
            path: path.to_owned(),
            layers,
            scratch: scratch.map(Path::to_owned),
            plain: OnceLock::new(),
        }
    }

    /// The file's name with the archive member, where it is one.
    pub fn name(&self) -> String {
        shown_name(&self.path, &self.layers)
    }

    fn plain(&self) -> Result<&Stretch> {
        let plain = self
            .plain
            .get_or_init(|| self.unpack().map_err(|error| format!("{error:#}")));
        plain.as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// How many bytes there are.
    pub fn size(&self) -> Result<u64> {
        Ok(self.plain()?.size)
    }

    pub fn read(&self, start: u64, length: usize) -> Result<Vec<u8>> {
        let plain = self.plain()?;
        let end = start.checked_add(length as u64).filter(|end| *end <= plain.size);
        if end.is_none() {
            bail!("{} is shorter than when it was indexed", self.name());
        }
        let mut bytes = vec![0; length];
        self.read_some(start, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes` from `start` on; gives how many there were.
    pub fn read_some(&self, start: u64, bytes: &mut [u8]) -> Result<usize> {
        let read = self.plain()?.read_some(start, bytes);
        read.with_context(|| format!("reading {}", self.name()))
    }

    /// The bytes without layers as a file of their own.
    pub fn unpacked(&self) -> Result<File> {
        if self.layers.is_empty() {
            return Ok(File::open(&self.path)?);
        }
        let mut file = files::scratch_file(self.scratch.as_deref())?;
        self.copy_to(&mut file)?;
        file.rewind()?;
        Ok(file)
    }

    /// Writes the bytes that lie under a packing.
    pub fn copy_to(&self, out: &mut dyn Write) -> Result<()> {
        let limit = self.spool()?.left();
        let mut copy = |reader: &mut dyn Read| {
            let copied = std::io::copy(&mut reader.take(limit), out)?;
            anyhow::ensure!(copied < limit, "it unpacks to far more bytes than a trace would");
            Ok(())
        };
        stream(&self.path, &self.layers, &mut copy).with_context(|| format!("unpacking {}", self.name()))
    }

    /// Where it is unpacked to: the files of an archive into one file.
    fn spool(&self) -> Result<Arc<Spool>> {
        if let Some(Layer::Member(member)) = self.layers.first() {
            return Ok(Arc::clone(&member.archive.spool));
        }
        let packed = self.path.metadata()?.len();
        Ok(Arc::new(Spool::new(self.scratch.as_deref(), packed)))
    }

    fn unpack(&self) -> Result<Stretch> {
        let Some((last, packing)) = self.layers.split_last() else {
            let file = File::open(&self.path).with_context(|| format!("opening {}", self.path.display()))?;
            return Ok(Stretch::whole(file)?);
        };
        let copy = |reader: &mut dyn Read, out: &mut dyn Write| Ok(std::io::copy(reader, out).map(|_| ())?);
        let write = |out: &mut dyn Write| match last {
            Layer::Samples => samples(&self.path, out),
            Layer::Csv(separator) => stream(&self.path, packing, &mut |reader| {
                tables::csv_rows(BufReader::new(reader), *separator, usize::MAX, out)
            }),
            Layer::Frame => stream(&self.path, packing, &mut |reader| {
                tables::frame_rows(&document(reader)?, usize::MAX, out)
            }),
            Layer::Parquet => {
                let packed = Source::new(&self.path, packing.to_vec(), self.scratch.as_deref());
                tables::parquet_rows(packed.unpacked()?, (usize::MAX, &[]), out)
            }
            Layer::Gzip | Layer::Zstd | Layer::Member(_) | Layer::Utf16 => {
                stream(&self.path, &self.layers, &mut |reader| copy(reader, out))
            }
        };
        let kept = self.spool().and_then(|spool| spool.keep(&write));
        kept.with_context(|| format!("unpacking {}", self.name()))
    }
}

fn shown_name(path: &Path, layers: &[Layer]) -> String {
    let mut name = files::shown(path);
    for layer in layers {
        if let Layer::Member(member) = layer {
            name.push('/');
            name.push_str(&member.name);
        }
    }
    name
}

/// The first bytes of a file with these layers taken off (none of them a table's), at most `length`. What stops the
/// reading early is given too, where something was read before.
pub(crate) fn head(path: &Path, layers: &[Layer], length: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = stream(path, layers, &mut |reader| {
        reader.take(length).read_to_end(&mut bytes)?;
        Ok(())
    });
    match read {
        Err(error) if bytes.is_empty() && layers.is_empty() => Err(error),
        Err(error) if bytes.is_empty() => Err(error.context(format!("unpacking {}", shown_name(path, layers)))),
        _ => Ok(bytes),
    }
}

/// Hands on a reader of a file's bytes with these packings taken off.
fn stream(path: &Path, layers: &[Layer], take: &mut dyn FnMut(&mut dyn Read) -> Result<()>) -> Result<()> {
    let Some((last, earlier)) = layers.split_last() else {
        let mut file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        return take(&mut file);
    };
    match last {
        Layer::Gzip => stream(path, earlier, &mut |packed| {
            take(&mut flate2::bufread::MultiGzDecoder::new(BufReader::new(packed)))
        }),
        Layer::Zstd => stream(path, earlier, &mut |packed| {
            take(&mut zstd::stream::read::Decoder::new(packed)?)
        }),
        Layer::Member(member) => member.read(take),
        Layer::Utf16 => stream(path, earlier, &mut |text| take(&mut &*sheets::utf8(&document(text)?))),
        Layer::Samples | Layer::Csv(_) | Layer::Parquet | Layer::Frame => bail!("a table has no bytes of its own"),
    }
}

/// All bytes of what is read as one document.
fn document(reader: &mut dyn Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(DOCUMENT).read_to_end(&mut bytes)?;
    if bytes.len() as u64 >= DOCUMENT {
        bail!(
            "more than {} MB in one document: write it as UTF-8, by rows",
            DOCUMENT >> 20
        );
    }
    Ok(bytes)
}

fn samples(path: &Path, out: &mut dyn Write) -> Result<()> {
    for member in Archive::open(path, None)?.members()? {
        if member.is_sample() {
            member.read(&mut |reader| Ok(std::io::copy(reader, out).map(|_| ())?))?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}
