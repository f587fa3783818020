//! What tells a file's content from other content at the same place.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Files up to this size are read whole for it.
const WHOLE: u64 = 256 << 10;

/// Of larger ones, this much at their beginning and end, and so many pieces of so many bytes between.
const END: usize = 16 << 10;
const PIECES: u64 = 30;
const PIECE: usize = 4 << 10;

/// A file's length, times and place on the disk, with a sum over some of its bytes: a rewrite of the same length within
/// the clock's step, or one whose times were set back, is another content too. `None` where the file cannot be read.
pub fn identity(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let facts = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let modified = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let sum = sum_of_some(&mut file, facts.len()).ok()?;
    Some(format!("{} {modified} {} {sum:08x}", facts.len(), on_disk(&facts)))
}

/// What no program sets: the inode, and when it was last changed.
#[cfg(unix)]
fn on_disk(facts: &std::fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("{} {}.{:09}", facts.ino(), facts.ctime(), facts.ctime_nsec())
}

#[cfg(not(unix))]
fn on_disk(_: &std::fs::Metadata) -> String {
    String::new()
}

fn sum_of_some(file: &mut File, length: u64) -> std::io::Result<u32> {
    let mut sum = crc32fast::Hasher::new();
    let mut take = |start: u64, length: usize| {
        let mut bytes = Vec::with_capacity(length);
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(length as u64).read_to_end(&mut bytes)?;
        sum.update(&bytes);
        Ok::<(), std::io::Error>(())
    };
    if length <= WHOLE {
        take(0, WHOLE as usize)?;
    } else {
        take(0, END)?;
        take(length - END as u64, END)?;
        for piece in 1..=PIECES {
            take(length / (PIECES + 1) * piece, PIECE)?;
        }
    }
    Ok(sum.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_of_the_same_length_and_time_is_another_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for size in [10, 300_000, 3_000_000] {
            std::fs::write(&path, vec![b'a'; size]).unwrap();
            let time = path.metadata().unwrap().modified().unwrap();
            let before = identity(&path).unwrap();
            assert_eq!(identity(&path).unwrap(), before);
            std::fs::write(&path, vec![b'b'; size]).unwrap();
            File::options()
                .append(true)
                .open(&path)
                .unwrap()
                .set_modified(time)
                .unwrap();
            assert_ne!(identity(&path).unwrap(), before);
        }
        assert!(identity(folder.path()).is_none(), "a folder has no content");
    }
}
