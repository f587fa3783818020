//! Unpacked bytes in a temporary file without a name, in bounds.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};

use crate::files::{self, Stretch};

/// Unpacked bytes may be this many, and beyond it [`RATIO`] times the packed ones: an archive made to fill the disk is
/// refused.
const UNPACKED: u64 = 512 << 20;
const RATIO: u64 = 200;

/// Where the bytes of one file, or of all files of an archive, are unpacked to, one after the other.
#[derive(Debug)]
pub(crate) struct Spool {
    scratch: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: Option<Arc<File>>,
    /// Where the next bytes go.
    end: u64,
    /// Bytes that may still come.
    left: u64,
}

impl Spool {
    /// For what so many packed bytes hold; `scratch` is tried before the system's folder for temporary files.
    pub fn new(scratch: Option<&Path>, packed: u64) -> Spool {
        Spool {
            scratch: scratch.map(Path::to_owned),
            state: Mutex::new(State {
                file: None,
                end: 0,
                left: UNPACKED.saturating_add(packed.saturating_mul(RATIO)),
            }),
        }
    }

    /// Bytes that it may still take.
    pub fn left(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).left
    }

    /// Keeps what `write` writes. Where one folder has no room for it, the next is tried.
    pub fn keep(&self, write: &dyn Fn(&mut dyn Write) -> Result<()>) -> Result<Stretch> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut refused = anyhow!("there is no folder for temporary files; TMPDIR names one");
        if let Some(file) = state.file.clone() {
            match state.keep_in(&file, write) {
                Err((error, true)) => refused = error,
                kept => return kept.map_err(|(error, _)| error),
            }
        }
        for folder in files::scratch_folders(self.scratch.as_deref()) {
            let Ok(file) = tempfile::tempfile_in(&folder) else {
                continue;
            };
            state.end = 0;
            match state.keep_in(&Arc::new(file), write) {
                Err((error, true)) => refused = error.context(format!("no room in {}", folder.display())),
                kept => return kept.map_err(|(error, _)| error),
            }
        }
        Err(refused)
    }
}

impl State {
    /// The error says too whether it was the folder that took no more.
    fn keep_in(
        &mut self,
        file: &Arc<File>,
        write: &dyn Fn(&mut dyn Write) -> Result<()>,
    ) -> Result<Stretch, (anyhow::Error, bool)> {
        let mut out = Limited {
            out: BufWriter::with_capacity(1 << 16, &**file),
            written: 0,
            left: self.left,
            is_refused: false,
        };
        let written = (|| {
            (&**file).seek(SeekFrom::Start(self.end))?;
            write(&mut out)?;
            out.flush().context("writing a temporary file")
        })();
        let (size, is_refused) = (out.written, out.is_refused);
        // What could not be written is not tried again when the buffer is dropped.
        let _ = out.out.into_parts();
        written.map_err(|error| (error, is_refused))?;
        let start = self.end;
        self.end += size;
        self.left -= size;
        self.file = Some(Arc::clone(file));
        Ok(Stretch {
            file: Arc::clone(file),
            start,
            size,
        })
    }
}

struct Limited<W: Write> {
    out: BufWriter<W>,
    written: u64,
    left: u64,
    /// The file took no more.
    is_refused: bool,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.written + bytes.len() as u64 > self.left {
            return Err(std::io::Error::other("it unpacks to far more bytes than a trace would"));
        }
        let count = self.out.write(bytes).inspect_err(|_| self.is_refused = true)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush().inspect_err(|_| self.is_refused = true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_lies_side_by_side_within_bounds() {
        let spool = Spool::new(None, 0);
        let kept: Vec<Stretch> = ["ab", "", "cde"]
            .iter()
            .map(|text| spool.keep(&|out| Ok(out.write_all(text.as_bytes())?)).unwrap())
            .collect();
        let failed = spool.keep(&|out| {
            out.write_all(b"half")?;
            anyhow::bail!("broken")
        });
        assert!(failed.is_err());
        let last = spool.keep(&|out| Ok(out.write_all(b"f")?)).unwrap();
        assert_eq!((kept[2].start, last.start), (2, 5));
        let mut bytes = [0; 3];
        assert_eq!(kept[2].read_some(0, &mut bytes).unwrap(), 3);
        assert_eq!(&bytes, b"cde");
        let zeros = vec![0; 1 << 20];
        let bomb = spool.keep(&|out| (0..600).try_for_each(|_| Ok(out.write_all(&zeros)?)));
        assert!(bomb.unwrap_err().to_string().contains("far more bytes"));
    }
}
