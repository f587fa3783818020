//! Files written aside and renamed, data kept between sessions, pipes read once: what is half written, damaged or made
//! from other files is never read.

mod identity;
mod kept;
mod pipe;
mod stretch;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use identity::identity;
pub use kept::{Content, Kept, program};
pub use pipe::{forget_pipes, is_pipe, named, settled, shown};
pub use stretch::{Reader as StretchReader, Stretch, read_at};

/// What the names of files begin with while they are written. One that a kill left behind belongs to nobody.
pub const ASIDE: &str = ".markbook-";

/// Writes a whole file aside, then renames it to its place, so that no half file is ever seen there.
///
/// # Errors
/// When the folder cannot be written or the disk is full; what stood at `path` is then untouched.
pub fn write_aside(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, |mut file| Ok(file.write_all(bytes)?))
}

/// The same for what is written piece by piece; gives what `write` gives.
pub fn write_with<T>(path: &Path, write: impl FnOnce(&File) -> Result<T>) -> Result<T> {
    let named = || format!("cannot write {}", path.display());
    let mut builder = tempfile::Builder::new();
    builder.prefix(ASIDE);
    // Files written aside are else for their owner only; the umask then takes from this what it takes from any new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let aside = builder.tempfile_in(folder_of(path)).with_context(named)?;
    let made = write(aside.as_file()).with_context(named)?;
    aside.as_file().sync_all().with_context(named)?;
    aside
        .persist(path)
        .with_context(|| format!("cannot put {} in its place", path.display()))?;
    // The new name is on the disk before anything that relies on it; where folders cannot be synced, it comes later.
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(made)
}

/// The folder that a file lies in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Where temporary files may lie, the first choice first: `scratch`, the system's folder for them, memory.
pub fn scratch_folders(scratch: Option<&Path>) -> Vec<PathBuf> {
    let wanted = scratch.filter(|folder| std::fs::create_dir_all(folder).is_ok());
    let usual = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
    wanted.map(Path::to_owned).into_iter().chain(usual).collect()
}

/// An unnamed temporary file in the first of these folders that takes one.
pub fn scratch_file(scratch: Option<&Path>) -> Result<File> {
    in_scratch(scratch, |folder| tempfile::tempfile_in(folder))
}

/// The same for a folder, which goes when it is dropped.
pub fn scratch_folder(scratch: Option<&Path>) -> Result<tempfile::TempDir> {
    in_scratch(scratch, |folder| {
        tempfile::Builder::new().prefix(ASIDE).tempdir_in(folder)
    })
}

fn in_scratch<T>(scratch: Option<&Path>, make: impl Fn(&Path) -> std::io::Result<T>) -> Result<T> {
    let mut refused = None;
    for folder in scratch_folders(scratch) {
        match make(&folder) {
            Ok(made) => return Ok(made),
            Err(error) => refused = refused.or(Some((folder, error))),
        }
    }
    let (folder, error) = refused.context("there is no folder for temporary files")?;
    Err(error).with_context(|| {
        format!(
            "no temporary file can be made in {}; TMPDIR names another",
            folder.display()
        )
    })
}

/// Bytes that may still be written into a folder; `None` where that cannot be told.
pub fn free_space(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let facts = rustix::fs::statvfs(folder).ok()?;
        Some(facts.f_bavail.saturating_mul(facts.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_what_was_there_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_aside(&path, b"old").unwrap();
        let failed: Result<()> = write_with(&path, |mut file| {
            file.write_all(b"half")?;
            anyhow::bail!("the disk is full")
        });
        let error = format!("{:#}", failed.unwrap_err());
        assert!(
            error.contains("a.json") && error.contains("the disk is full"),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_scratch_folder_that_cannot_be_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a-file");
        std::fs::write(&file, "").unwrap();
        assert!(scratch_file(Some(&file.join("below"))).is_ok());
        assert!(!scratch_folder(Some(&file)).unwrap().path().starts_with(folder.path()));
    }
}
