//! The SQLite file: opened, made, migrated, put aside where it is broken.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::schema::{APPLICATION, MIGRATIONS};

/// How long another process's transaction is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// The catalogue was written by a newer version: it is read, never written.
#[derive(Debug)]
pub struct Newer {
    version: i32,
}

impl fmt::Display for Newer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it has the form {} of a newer markbook, this one knows {}: it is only read",
            self.version,
            MIGRATIONS.len()
        )
    }
}

impl std::error::Error for Newer {}

fn pragma(db: &Connection, name: &str) -> rusqlite::Result<i32> {
    db.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

/// Opens to write, making and migrating what is missing; gives what should be told of it.
pub(super) fn open(path: &Path) -> Result<(Connection, Vec<String>)> {
    let named = || format!("the catalogue {} cannot be opened", path.display());
    std::fs::create_dir_all(crate::files::folder_of(path)).with_context(named)?;
    let mut db = Connection::open(path).with_context(named)?;
    db.busy_timeout(BUSY).with_context(named)?;
    let version = pragma(&db, "user_version").with_context(named)?;
    refuse(&db, version).with_context(named)?;
    let told = journal(&db, path, version == 0).with_context(named)?;
    db.execute_batch("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;")
        .with_context(named)?;
    if (version as usize) < MIGRATIONS.len() {
        migrate(&mut db).with_context(named)?;
    }
    Ok((db, told))
}

/// A file of another program, and one of a newer version, is not written.
fn refuse(db: &Connection, version: i32) -> Result<()> {
    let application = pragma(db, "application_id")?;
    let tables: i32 = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if application != APPLICATION && (application != 0 || tables > 0) {
        bail!("it is another program's database; MARKBOOK_CATALOGUE names the file to use");
    }
    if version as usize > MIGRATIONS.len() {
        return Err(Newer { version }.into());
    }
    Ok(())
}

/// Write-ahead, so that readers and a writer do not wait for each other; where the file system has no shared memory for it,
/// the rollback journal.
fn journal(db: &Connection, path: &Path, is_new: bool) -> Result<Vec<String>> {
    let wanted = if is_remote(path) { "DELETE" } else { "WAL" };
    let mode: String = db.query_row(&format!("PRAGMA journal_mode = {wanted}"), [], |row| row.get(0))?;
    let line = "it lies on a network file system: written with a rollback journal, readers wait for writers";
    let is_told = is_new && !mode.eq_ignore_ascii_case("wal");
    Ok(is_told
        .then(|| format!("{}: {line}", path.display()))
        .into_iter()
        .collect())
}

/// Whether a file lies where processes of several machines could open it.
#[allow(clippy::useless_conversion)] // the type of a file system's number differs between platforms
fn is_remote(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        // NFS, CIFS, SMB2, FUSE, 9p, Lustre, Ceph.
        const REMOTE: [i64; 7] = [
            0x6969,
            0xFF53_4D42,
            0xFE53_4D42,
            0x6573_5546,
            0x0102_1997,
            0x0BD0_0BD0,
            0x00C3_6400,
        ];
        let facts = rustix::fs::statfs(crate::files::folder_of(path));
        facts.is_ok_and(|facts| REMOTE.contains(&i64::from(facts.f_type)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

fn migrate(db: &mut Connection) -> Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it meanwhile.
    let version = pragma(&transaction, "user_version")?;
    for (number, text) in MIGRATIONS.iter().enumerate().skip(version as usize) {
        transaction.execute_batch(text)?;
        transaction.execute_batch(&format!(
            "PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION}",
            number + 1
        ))?;
    }
    Ok(transaction.commit()?)
}

/// Opens to read alone, also a file of a newer version, also in a folder that cannot be written.
pub(super) fn open_to_read(path: &Path) -> Result<(Connection, Vec<String>)> {
    // Where the folder cannot be written, the shared memory beside the file cannot be made.
    const CLOSED: [Option<ErrorCode>; 2] = [Some(ErrorCode::CannotOpen), Some(ErrorCode::ReadOnly)];
    let named = || format!("the catalogue {} cannot be read", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |path: &Path, flags| -> rusqlite::Result<(Connection, i32)> {
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(BUSY)?;
        let version = pragma(&db, "user_version")?;
        Ok((db, version))
    };
    let (db, version) = match open(path, flags) {
        Err(error) if CLOSED.contains(&error.sqlite_error_code()) => {
            // Nobody can write there, so that the file alone is the whole.
            let text = path
                .display()
                .to_string()
                .replace('%', "%25")
                .replace('?', "%3f")
                .replace('#', "%23");
            let uri = format!("file:{text}?immutable=1");
            open(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        opened => opened,
    }
    .with_context(named)?;
    match refuse(&db, version) {
        Ok(()) => Ok((db, Vec::new())),
        Err(error) if error.is::<Newer>() => Ok((db, vec![format!("{}: {error}", path.display())])),
        Err(error) => Err(error).with_context(named),
    }
}

/// Whether an error says that the file is damaged, or no database at all.
pub(super) fn is_broken(error: &anyhow::Error) -> bool {
    let code = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<rusqlite::Error>()?.sqlite_error_code();
    let broken = [Some(ErrorCode::NotADatabase), Some(ErrorCode::DatabaseCorrupt)];
    error.chain().any(|cause| broken.contains(&code(cause)))
}

/// The files of a database: itself and what stands beside it while it is open.
fn beside(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        name.into()
    })
}

/// Renames a broken file; gives its new name, and nothing where another process has done it meanwhile.
pub(super) fn put_aside(path: &Path) -> Result<Option<PathBuf>> {
    let named = || format!("the broken catalogue {} cannot be put aside", path.display());
    let lock = std::fs::File::create(path.with_extension("lock")).with_context(named)?;
    lock.lock().with_context(named)?;
    if open(path).is_ok() {
        return Ok(None);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let date = chrono::Local::now().format("%Y-%m-%dT%H-%M-%S%.3f");
    let kept = path.with_file_name(format!("{stem}.broken-{date}.db"));
    std::fs::rename(path, &kept).with_context(named)?;
    for stray in beside(path) {
        // They belong to the broken file; to a new one they would be a journal of another's pages.
        let _ = std::fs::remove_file(stray);
    }
    Ok(Some(kept))
}

/// Puts a new file in the place of a whole one that nobody else has open.
///
/// # Errors
/// When another process holds the old one.
pub(super) fn replace(new: tempfile::TempPath, path: &Path) -> Result<()> {
    if path.is_file() {
        let db = Connection::open(path)?;
        db.busy_timeout(BUSY)?;
        let busy = "another markbook holds the catalogue open; try again when it has ended";
        let mode: String = db
            .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))
            .context(busy)?;
        if !mode.eq_ignore_ascii_case("delete") {
            bail!(busy);
        }
    }
    new.persist(path)
        .with_context(|| format!("cannot put {} in its place", path.display()))
}
