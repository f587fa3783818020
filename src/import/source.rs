//! The bytes of a trace file: as they lie on disk, or unpacked once into an unnamed temporary file, so that any part can
//! be read at any time in bounded memory.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow, bail};
use zip::{CompressionMethod, ZipArchive};

use super::tables;

/// What lies between a file and its rows of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layer {
    Gzip,
    Zstd,
    /// One file of a zip archive.
    Member(String),
    /// All samples of an Inspect log, one after the other.
    Samples,
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
    plain: OnceLock<Result<Plain, String>>,
}

#[derive(Debug, Clone)]
struct Plain {
    file: Arc<File>,
    size: u64,
}

/// Unpacked bytes may be this many, and beyond it [`RATIO`] times the packed ones: an archive made to fill the disk is
/// refused.
const UNPACKED: u64 = 512 << 20;
const RATIO: u64 = 200;

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

    fn plain(&self) -> Result<&Plain> {
        let plain = self
            .plain
            .get_or_init(|| self.unpack().map_err(|error| format!("{error:#}")));
        plain.as_ref().map_err(|error| anyhow!("{error}"))
    }

    pub fn read(&self, start: u64, length: usize) -> Result<Vec<u8>> {
        let plain = self.plain()?;
        let end = start.checked_add(length as u64).filter(|end| *end <= plain.size);
        if end.is_none() {
            bail!("{} is shorter than when it was indexed", self.name());
        }
        let mut bytes = vec![0; length];
        read_exact_at(&plain.file, &mut bytes, start).with_context(|| format!("reading {}", self.name()))?;
        Ok(bytes)
    }

    /// Fills `bytes` from `start` on; gives how many there were.
    pub fn read_some(&self, start: u64, bytes: &mut [u8]) -> Result<usize> {
        let plain = self.plain()?;
        let length = usize::try_from(plain.size.saturating_sub(start))
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        read_exact_at(&plain.file, &mut bytes[..length], start).with_context(|| format!("reading {}", self.name()))?;
        Ok(length)
    }

    /// A handle of its own on the bytes without layers.
    pub fn unpacked(&self) -> Result<File> {
        Ok(self.plain()?.file.try_clone()?)
    }

    fn unpack(&self) -> Result<Plain> {
        let open = || File::open(&self.path).with_context(|| format!("opening {}", self.path.display()));
        let mut file = open()?;
        for (depth, layer) in self.layers.iter().enumerate() {
            let name = shown_name(&self.path, &self.layers[..=depth]);
            file = self
                .take_off(layer, file)
                .with_context(|| format!("unpacking {name}"))?;
        }
        let size = file.metadata()?.len();
        Ok(Plain {
            file: Arc::new(file),
            size,
        })
    }

    fn take_off(&self, layer: &Layer, mut packed: File) -> Result<File> {
        let limit = UNPACKED.saturating_add(packed.metadata()?.len().saturating_mul(RATIO));
        packed.seek(SeekFrom::Start(0))?;
        let unpacked = match &self.scratch {
            Some(folder) if std::fs::create_dir_all(folder).is_ok() => tempfile::tempfile_in(folder)?,
            _ => tempfile::tempfile()?,
        };
        let mut out = Limited {
            out: BufWriter::with_capacity(1 << 18, unpacked),
            left: limit,
        };
        match layer {
            Layer::Samples => samples(packed, &mut out)?,
            Layer::Csv(separator) => tables::csv_rows(BufReader::new(packed), *separator, usize::MAX, &mut out)?,
            Layer::Parquet => tables::parquet_rows(packed, usize::MAX, &mut out)?,
            Layer::Gzip | Layer::Zstd | Layer::Member(_) => {
                decode(layer, packed, &mut |reader| {
                    std::io::copy(reader, &mut out).map(|_| ()).map_err(Into::into)
                })?;
            }
        }
        out.out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .context("writing a temporary file")
    }
}

fn shown_name(path: &Path, layers: &[Layer]) -> String {
    let mut name = path.display().to_string();
    for layer in layers {
        if let Layer::Member(member) = layer {
            name.push('/');
            name.push_str(member);
        }
    }
    name
}

struct Limited<W> {
    out: W,
    left: u64,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            return Err(std::io::Error::other("it unpacks to far more bytes than a trace would"));
        };
        self.left = left;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// The first bytes of a file with these layers taken off (none of them a table's), at most `length`. What stops the
/// reading early is given too, where something was read before.
pub(crate) fn head(path: &Path, layers: &[Layer], length: u64) -> Result<Vec<u8>> {
    let mut file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let Some((last, earlier)) = layers.split_last() else {
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        return Ok(bytes);
    };
    for layer in earlier {
        file = Source::new(path, Vec::new(), None).take_off(layer, file)?;
    }
    let mut bytes = Vec::new();
    let read = decode(last, file, &mut |reader| {
        reader
            .take(length)
            .read_to_end(&mut bytes)
            .map(|_| ())
            .map_err(Into::into)
    });
    match read {
        Err(error) if bytes.is_empty() => Err(error.context(format!("unpacking {}", shown_name(path, layers)))),
        _ => Ok(bytes),
    }
}

fn decode(layer: &Layer, packed: File, take: &mut dyn FnMut(&mut dyn Read) -> Result<()>) -> Result<()> {
    match layer {
        Layer::Gzip => take(&mut flate2::bufread::MultiGzDecoder::new(BufReader::new(packed))),
        Layer::Zstd => take(&mut zstd::stream::read::Decoder::new(packed)?),
        Layer::Member(name) => {
            let mut archive = ZipArchive::new(BufReader::new(packed))?;
            let index = archive
                .index_for_name(name)
                .with_context(|| format!("no file {name} in the archive"))?;
            member(&mut archive, index, take)
        }
        Layer::Samples | Layer::Csv(_) | Layer::Parquet => bail!("a table has no bytes of its own"),
    }
}

fn member(
    archive: &mut ZipArchive<BufReader<File>>,
    index: usize,
    take: &mut dyn FnMut(&mut dyn Read) -> Result<()>,
) -> Result<()> {
    let mut raw = archive.by_index_raw(index)?;
    // Newer Inspect logs hold zstd inside the zip, for which the zip crate is built without a decoder.
    if raw.compression() == CompressionMethod::ZSTD {
        return take(&mut zstd::stream::read::Decoder::new(&mut raw)?);
    }
    drop(raw);
    take(&mut archive.by_index(index)?)
}

/// The names of the files in a zip archive.
pub(crate) fn members(path: &Path) -> Result<Vec<String>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let archive =
        ZipArchive::new(BufReader::new(file)).with_context(|| format!("{} is a broken zip archive", path.display()))?;
    let names = archive
        .file_names()
        .map(|name| name.map(std::borrow::Cow::into_owned))
        .collect::<Result<Vec<_>, _>>();
    let names = names.with_context(|| format!("{} is a broken zip archive", path.display()))?;
    Ok(names
        .into_iter()
        .filter(|name| !name.ends_with('/') && !name.starts_with("__MACOSX/"))
        .collect())
}

/// Whether an archive's member holds one sample of an Inspect log.
pub(crate) fn is_sample(name: &str) -> bool {
    name.starts_with("samples/") && Path::new(name).extension().is_some_and(|ending| ending == "json")
}

fn samples(packed: File, out: &mut dyn Write) -> Result<()> {
    let mut archive = ZipArchive::new(BufReader::new(packed))?;
    for index in 0..archive.len() {
        let is_wanted = archive
            .name_for_index(index)
            .is_some_and(|name| name.is_ok_and(|name| is_sample(&name)));
        if is_wanted {
            member(&mut archive, index, &mut |reader| {
                std::io::copy(reader, out).map(|_| ()).map_err(Into::into)
            })?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], start: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, bytes, start)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[count..];
        start += count as u64;
    }
    Ok(())
}
