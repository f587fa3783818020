//! Tensors by name, read row by row as f32 out of memory-mapped files: safetensors (one or several) or GGUF of every
//! quantization candle can dequantize.

use std::collections::HashMap;
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use memmap2::Mmap;
use safetensors::SafeTensors;
use sha2::{Digest, Sha256};

use super::kernel::Format;
use super::storage::Storage;
use crate::text::hex;

/// One tensor: which bytes of which file.
#[derive(Debug, Clone)]
struct Entry {
    file: usize,
    storage: Storage,
    shape: Vec<usize>,
    bytes: Range<usize>,
}

/// All tensors of a model.
#[derive(Debug)]
pub struct Weights {
    files: Vec<(PathBuf, Mmap)>,
    entries: HashMap<String, Entry>,
}

/// Maps a file into memory.
#[allow(unsafe_code)]
pub fn map_file(path: &Path) -> Result<Mmap> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    // SAFETY: the map is only read. A file cut short by another process while it is mapped would end this one, as with
    // every program that maps its weights; copying gigabytes of weights is the alternative.
    unsafe { Mmap::map(&file) }.with_context(|| format!("cannot map {}", path.display()))
}

/// Tells the system that the pages of a stretch of a map need not stay in this process's memory.
#[cfg(unix)]
#[allow(unsafe_code)]
fn forget_pages(map: &Mmap, bytes: Range<usize>) {
    // SAFETY: the map is a file's, shared and never written, so that a page given up comes back from the file as it was.
    let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, bytes.start, bytes.len()) };
}

#[cfg(not(unix))]
fn forget_pages(_: &Mmap, _: Range<usize>) {}

impl Weights {
    /// The safetensors of a model folder: `model.safetensors`, the shards that `model.safetensors.index.json` names, or
    /// whatever single `*.safetensors` is there.
    pub fn open_folder(folder: &Path) -> Result<Weights> {
        let paths = safetensors_in(folder)?;
        let mut weights = Weights {
            files: Vec::new(),
            entries: HashMap::new(),
        };
        for path in paths {
            let map = map_file(&path)?;
            weights
                .add_safetensors(&map)
                .with_context(|| format!("{} is not usable", path.display()))?;
            weights.files.push((path, map));
        }
        Ok(weights)
    }

    fn add_safetensors(&mut self, map: &Mmap) -> Result<()> {
        let (header, _) = SafeTensors::read_metadata(map).context("its header is broken or the file is cut short")?;
        let tensors = SafeTensors::deserialize(map).context("its header is broken or the file is cut short")?;
        for (name, view) in tensors.tensors() {
            let storage = Storage::of_safetensors(view.dtype());
            let start = view.data().as_ptr() as usize - map.as_ptr() as usize;
            debug_assert!(start >= header);
            let bytes = start..start + view.data().len();
            let file = self.files.len();
            self.entries.insert(
                name,
                Entry {
                    file,
                    storage,
                    shape: view.shape().to_vec(),
                    bytes,
                },
            );
        }
        Ok(())
    }

    /// The tensors of a GGUF file whose header was read.
    pub fn open_gguf(path: &Path, map: Mmap, header: &candle_core::quantized::gguf_file::Content) -> Result<Weights> {
        let mut entries = HashMap::new();
        for (name, info) in &header.tensor_infos {
            let shape = info.shape.dims().to_vec();
            let columns = shape.last().copied().unwrap_or(1);
            let rows = shape
                .iter()
                .rev()
                .skip(1)
                .try_fold(1usize, |rows, dim| rows.checked_mul(*dim));
            let storage = Storage::of_ggml(info.ggml_dtype);
            let named = || format!("{}: tensor {name} of shape {shape:?}", path.display());
            let row = storage.row_bytes(columns).with_context(named)?;
            let length = rows.and_then(|rows| row.checked_mul(rows));
            let length = length.context("its size is out of range").with_context(named)?;
            let start = usize::try_from(header.tensor_data_offset.saturating_add(info.offset)).unwrap_or(usize::MAX);
            let end = start.saturating_add(length);
            ensure!(
                end <= map.len(),
                "{} is cut short: tensor {name} ends at byte {end} of {}",
                path.display(),
                map.len()
            );
            ensure!(
                start.is_multiple_of(4),
                "{}: tensor {name} begins at byte {start}, unaligned",
                path.display()
            );
            entries.insert(
                name.clone(),
                Entry {
                    file: 0,
                    storage,
                    shape,
                    bytes: start..end,
                },
            );
        }
        Ok(Weights {
            files: vec![(path.to_path_buf(), map)],
            entries,
        })
    }

    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The number format of most bytes: `f32`, `bf16`, `q4_1`.
    pub fn format(&self) -> &'static str {
        let mut bytes: Vec<(&str, usize)> = Vec::new();
        for entry in self.entries.values() {
            let name = entry.storage.name();
            match bytes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += entry.bytes.len(),
                None => bytes.push((name, entry.bytes.len())),
            }
        }
        let most = bytes.iter().max_by_key(|(name, sum)| (*sum, *name));
        most.map_or("nothing", |(name, _)| *name)
    }

    /// Whether most bytes are blocks of a quantized file that products are computed with as they are.
    pub fn has_blocks(&self) -> bool {
        let entries = self.entries.values();
        let bytes = |entry: &Entry| (entry.storage.blocks().is_some(), entry.bytes.len());
        let (blocks, rest): (Vec<_>, Vec<_>) = entries.map(bytes).partition(|(is_blocks, _)| *is_blocks);
        let sum = |entries: Vec<(bool, usize)>| entries.iter().map(|(_, bytes)| bytes).sum::<usize>();
        sum(blocks) > sum(rest)
    }

    fn entry(&self, name: &str) -> Result<&Entry> {
        self.entries
            .get(name)
            .with_context(|| format!("{} holds no tensor {name}", self.describe_files()))
    }

    fn describe_files(&self) -> String {
        match self.files.as_slice() {
            [(path, _)] => path.display().to_string(),
            files => format!("{} (and {} more)", files[0].0.display(), files.len() - 1),
        }
    }

    /// Refuses a tensor whose shape is not the expected one.
    pub fn expect_shape(&self, name: &str, expected: &[usize]) -> Result<()> {
        let entry = self.entry(name)?;
        let path = self.files[entry.file].0.display();
        ensure!(
            entry.shape == expected,
            "{path}: tensor {name} has shape {:?}, not {expected:?}",
            entry.shape
        );
        Ok(())
    }

    /// A whole vector of this length.
    pub fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>> {
        self.expect_shape(name, &[length])?;
        let mut values = vec![0.0; length];
        self.decode(name, self.entry(name)?, 0..1, &mut values)?;
        Ok(values)
    }

    /// A vector of whatever length it has.
    pub fn whole_vector(&self, name: &str) -> Result<Vec<f32>> {
        let length = self.entry(name)?.shape.iter().product();
        self.vector(name, length)
    }

    /// Rows of a matrix, one after the other, into `out`.
    pub fn rows(&self, name: &str, rows: Range<usize>, out: &mut [f32]) -> Result<()> {
        let entry = self.entry(name)?;
        ensure!(
            entry.shape.len() == 2 && rows.end <= entry.shape[0],
            "{}: tensor {name} has shape {:?}, not so many rows",
            self.files[entry.file].0.display(),
            entry.shape
        );
        self.decode(name, entry, rows, out)
    }

    /// The block format of a matrix that products can be computed with as it is, and its rows in the file.
    pub fn blocks(&self, name: &str) -> Result<Option<(Format, std::slice::ChunksExact<'_, u8>)>> {
        let entry = self.entry(name)?;
        let Some(format) = entry.storage.blocks() else {
            return Ok(None);
        };
        let row = entry.storage.row_bytes(entry.shape.last().copied().unwrap_or(1))?;
        Ok(Some((
            format,
            self.files[entry.file].1[entry.bytes.clone()].chunks_exact(row),
        )))
    }

    /// Gives up the memory that a matrix's file pages take, if they were read; they are read again where they are needed.
    pub fn forget(&self, name: &str) {
        if let Ok(entry) = self.entry(name) {
            forget_pages(&self.files[entry.file].1, entry.bytes.clone());
        }
    }

    fn decode(&self, name: &str, entry: &Entry, rows: Range<usize>, out: &mut [f32]) -> Result<()> {
        let (path, map) = &self.files[entry.file];
        let columns = entry.shape.last().copied().unwrap_or(1);
        let named = || format!("{}: tensor {name} of shape {:?}", path.display(), entry.shape);
        let row = entry.storage.row_bytes(columns).with_context(named)?;
        let start = entry.bytes.start + rows.start * row;
        let bytes = &map[start..start + rows.len() * row];
        ensure!(
            out.len() == rows.len() * columns,
            "{}: {} rows do not fill {}",
            named(),
            rows.len(),
            out.len()
        );
        entry.storage.decode(bytes, columns, out).with_context(named)
    }

    /// Hash of the weights: of the one file, or of the list of the files' names and hashes. `told` hears the bytes done
    /// and in all, and can stop it.
    pub fn sha256(&self, told: &mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Result<String> {
        let total: u64 = self.files.iter().map(|(_, map)| map.len() as u64).sum();
        let mut done = 0;
        let mut lines = Vec::new();
        for (path, map) in &self.files {
            let mut hasher = Sha256::new();
            for piece in map.chunks(16 << 20) {
                hasher.update(piece);
                let start = piece.as_ptr() as usize - map.as_ptr() as usize;
                forget_pages(map, start..start + piece.len());
                done += piece.len() as u64;
                if told(done, total).is_break() {
                    bail!("loading was stopped");
                }
            }
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            lines.push((name, hex(&hasher.finalize())));
        }
        match lines.as_slice() {
            [(_, only)] => Ok(only.clone()),
            many => {
                let list: String = many.iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect();
                Ok(hex(&Sha256::digest(list.as_bytes())))
            }
        }
    }
}

/// The safetensors files that make up a model folder.
pub fn safetensors_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let index = folder.join("model.safetensors.index.json");
    if index.is_file() {
        return shards(folder, &index).with_context(|| format!("{} is not usable", index.display()));
    }
    let single = folder.join("model.safetensors");
    if single.is_file() {
        return Ok(vec![single]);
    }
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    found.sort();
    ensure!(
        !found.is_empty(),
        "{} holds no model.safetensors (nor its index, nor any *.safetensors)",
        folder.display()
    );
    Ok(found)
}

fn shards(folder: &Path, index: &Path) -> Result<Vec<PathBuf>> {
    let index: serde_json::Value = serde_json::from_slice(&std::fs::read(index)?)?;
    let map = index
        .get("weight_map")
        .and_then(serde_json::Value::as_object)
        .context("it lacks weight_map")?;
    let mut names: Vec<&str> = map.values().filter_map(serde_json::Value::as_str).collect();
    names.sort_unstable();
    names.dedup();
    ensure!(!names.is_empty(), "its weight_map is empty");
    for name in &names {
        ensure!(!name.contains(['/', '\\']), "it names {name:?}, outside the folder");
        ensure!(folder.join(name).is_file(), "it names {name}, which is not there");
    }
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use safetensors::Dtype;
    use safetensors::tensor::TensorView;

    use super::*;

    fn save(folder: &Path, file: &str, name: &str, values: &[f32], dtype: Dtype) {
        let bytes: Vec<u8> = match dtype {
            Dtype::F32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Dtype::F16 => values
                .iter()
                .flat_map(|value| f16::from_f32(*value).to_le_bytes())
                .collect(),
            _ => values
                .iter()
                .flat_map(|value| bf16::from_f32(*value).to_le_bytes())
                .collect(),
        };
        let view = TensorView::new(dtype, vec![2, values.len() / 2], &bytes).unwrap();
        safetensors::serialize_to_file([(name, view)], None, &folder.join(file)).unwrap();
    }

    #[test]
    fn every_stored_width_reads_as_the_same_numbers() {
        for dtype in [Dtype::F32, Dtype::F16, Dtype::BF16] {
            let folder = tempfile::tempdir().unwrap();
            save(folder.path(), "model.safetensors", "w", &[1.0, -2.0, 0.5, 4.0], dtype);
            let weights = Weights::open_folder(folder.path()).unwrap();
            let mut row = [0.0; 2];
            weights.rows("w", 1..2, &mut row).unwrap();
            assert_eq!(row, [0.5, 4.0]);
            assert_eq!(weights.format() == "bf16", dtype == Dtype::BF16);
        }
    }

    #[test]
    fn a_format_that_is_not_read_is_named_with_its_tensor() {
        let folder = tempfile::tempdir().unwrap();
        let view = TensorView::new(Dtype::F8_E4M3, vec![2, 2], &[1, 2, 3, 4]).unwrap();
        safetensors::serialize_to_file([("w", view)], None, &folder.path().join("model.safetensors")).unwrap();
        let weights = Weights::open_folder(folder.path()).unwrap();
        let error = format!("{:#}", weights.rows("w", 0..1, &mut [0.0; 2]).unwrap_err());
        assert!(
            error.contains("model.safetensors: tensor w of shape [2, 2]") && error.contains("F8_E4M3; known: F32"),
            "{error}"
        );
    }

    #[test]
    fn shards_are_found_by_their_index_and_a_missing_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let index = r#"{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}"#;
        std::fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
        save(folder.path(), "one.safetensors", "a", &[1.0, 2.0], Dtype::F32);
        let error = format!("{:#}", Weights::open_folder(folder.path()).unwrap_err());
        assert!(error.contains("two.safetensors"), "{error}");
        save(folder.path(), "two.safetensors", "b", &[3.0, 4.0], Dtype::F32);
        let weights = Weights::open_folder(folder.path()).unwrap();
        assert!(weights.has("a") && weights.has("b"));
        let error = weights.vector("c", 1).unwrap_err().to_string();
        assert!(
            error.contains("one.safetensors (and 1 more) holds no tensor c"),
            "{error}"
        );
        let error = weights.expect_shape("a", &[3, 3]).unwrap_err().to_string();
        assert!(error.contains("[2, 1], not [3, 3]"), "{error}");
    }

    #[test]
    fn a_broken_safetensors_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), "model.safetensors", "w", &[1.0; 64], Dtype::F32);
        let path = folder.path().join("model.safetensors");
        let whole = std::fs::read(&path).unwrap();
        let huge = [u64::MAX.to_le_bytes().as_slice(), &whole[8..]].concat();
        for broken in [&whole[..whole.len() - 9], &whole[..20], &whole[..3], &huge] {
            std::fs::write(&path, broken).unwrap();
            let error = format!("{:#}", Weights::open_folder(folder.path()).unwrap_err());
            assert!(error.contains("model.safetensors"), "{error}");
        }
    }
}
