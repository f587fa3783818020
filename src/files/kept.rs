//! Data made from files and kept from one session to the next, with a sum over every byte: a damaged one is made anew.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// The first bytes; the number changes with the frame around what is kept.
const MAGIC: &[u8; 20] = b"markbook kept 00001\n";

/// Where something is kept, and what must hold for it to be used: the files it was made from as they are, the rule,
/// this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub file: PathBuf,
    pub key: String,
}

/// What was kept, checked, to be read from its beginning.
#[derive(Debug)]
pub struct Content {
    file: File,
    left: u64,
}

/// This very program: what another build makes of the same files may differ.
pub fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let facts = std::env::current_exe().and_then(|path| path.metadata());
        let build = facts.map(|facts| (facts.len(), facts.modified().ok()));
        format!("{} {build:?}", env!("CARGO_PKG_VERSION"))
    })
}

impl Kept {
    /// Whether something of this key is there. Only [`Kept::load`] says whether it is whole.
    pub fn is_there(&self) -> bool {
        self.open().is_some()
    }

    /// What is kept there, if it is of this key and as it was written.
    pub fn load(&self) -> Option<Content> {
        let (mut file, start, end) = self.open()?;
        let mut sum = crc32fast::Hasher::new();
        let mut block = vec![0; 1 << 18];
        let mut left = end;
        file.rewind().ok()?;
        while left > 0 {
            let length = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            file.read_exact(&mut block[..length]).ok()?;
            sum.update(&block[..length]);
            left -= length as u64;
        }
        let mut stated = [0; 4];
        file.read_exact(&mut stated).ok()?;
        file.seek(SeekFrom::Start(start)).ok()?;
        (u32::from_le_bytes(stated) == sum.finalize()).then_some(Content {
            file,
            left: end - start,
        })
    }

    /// The file, where its content begins, and where the sum over all before it stands.
    fn open(&self) -> Option<(File, u64, u64)> {
        let mut file = File::open(&self.file).ok()?;
        let head = self.head();
        let mut found = vec![0; head.len()];
        file.read_exact(&mut found).ok()?;
        let end = file.metadata().ok()?.len().checked_sub(4)?;
        let start = head.len() as u64;
        (found == head && start <= end).then_some((file, start, end))
    }

    fn head(&self) -> Vec<u8> {
        [
            MAGIC.as_slice(),
            &(self.key.len() as u64).to_le_bytes(),
            self.key.as_bytes(),
        ]
        .concat()
    }

    /// Keeps what `write` writes.
    ///
    /// # Errors
    /// When the folder cannot be made or written.
    pub fn save(&self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let folder = super::folder_of(&self.file);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        super::write_with(&self.file, |file| {
            let mut out = Summed {
                out: BufWriter::with_capacity(1 << 18, file),
                sum: crc32fast::Hasher::new(),
            };
            out.write_all(&self.head())?;
            write(&mut out)?;
            let sum = out.sum.clone().finalize();
            out.out.write_all(&sum.to_le_bytes())?;
            Ok(out.out.flush()?)
        })
    }
}

impl Content {
    /// Bytes that were not read yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes; `None` where so many are not there.
    pub fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        self.left = self.left.checked_sub(length as u64)?;
        let mut bytes = vec![0; length];
        self.file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

struct Summed<W> {
    out: W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_back_under_its_own_key_and_never_when_a_bit_differs() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept {
            file: folder.path().join("below/x"),
            key: "v 1 2 3".into(),
        };
        assert!(kept.load().is_none() && !kept.is_there());
        kept.save(|out| Ok(out.write_all(b"some content")?)).unwrap();
        let mut content = kept.load().unwrap();
        assert_eq!(
            (content.left(), content.take(12).unwrap()),
            (12, b"some content".to_vec())
        );
        assert!(content.take(1).is_none());
        let other = Kept {
            key: "v 1 2 4".into(),
            ..kept.clone()
        };
        assert!(other.load().is_none());
        let whole = std::fs::read(&kept.file).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&kept.file, damaged).unwrap();
            assert!(kept.load().is_none(), "bit {bit}");
        }
        for length in 0..whole.len() {
            std::fs::write(&kept.file, &whole[..length]).unwrap();
            assert!(kept.load().is_none(), "cut at {length}");
        }
    }
}
