//! Bytes of an open file, read by position, by several threads at once.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Some bytes of an open file. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Stretch {
    pub file: Arc<File>,
    pub start: u64,
    pub size: u64,
}

impl Stretch {
    pub fn whole(file: File) -> std::io::Result<Stretch> {
        let size = file.metadata()?.len();
        Ok(Stretch {
            file: Arc::new(file),
            start: 0,
            size,
        })
    }

    /// Fills `bytes` from `at` on, as far as the stretch goes; gives how many there were.
    pub fn read_some(&self, at: u64, bytes: &mut [u8]) -> std::io::Result<usize> {
        let wanted = usize::try_from(self.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = wanted.min(bytes.len());
        let mut done = 0;
        while done < wanted {
            match read_at(&self.file, &mut bytes[done..wanted], self.start + at + done as u64) {
                Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted)
    }

    /// A reader with a position of its own.
    pub fn reader(&self) -> Reader {
        Reader {
            stretch: self.clone(),
            at: 0,
        }
    }
}

/// Reads a stretch from its beginning.
#[derive(Debug, Clone)]
pub struct Reader {
    stretch: Stretch,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stretch.read_some(self.at, bytes)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.stretch.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Reads at a position; may give fewer bytes than asked for.
#[cfg(unix)]
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

#[cfg(windows)]
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, at)
}
