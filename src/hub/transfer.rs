//! One file of the hub into the cache: continued where an earlier try ended, checked, and only then given its name.
//!
//! The layout is the hub's own: `blobs/ETAG` holds the content, `snapshots/COMMIT/FILE` points to it. A file on its way
//! is `blobs/ETAG.part`, which nobody takes for a whole one.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hf_hub::Repo;
use sha2::{Digest, Sha256};

use super::client::{Answer, Client, FileHead, Unreachable};
use super::progress::{Coming, Progress, Stopped, Watch, render_share};
use super::weights;
use crate::files::free_space;

/// No configuration, tokenizer or template is larger.
const LARGEST_SETTINGS: u64 = 256 << 20;
/// What is taken of a file whose size nobody says.
const LARGEST_UNKNOWN: u64 = 4 << 30;
/// Tries in a row that bring no byte before it is given up.
const FRUITLESS_TRIES: u32 = 4;

/// Fetches a file at the commit that `repo` names; `coming` says how it is told.
pub(super) fn fetch(client: &Client, repo: &Repo, id: &str, coming: &mut Coming, watch: &mut Watch) -> Result<PathBuf> {
    let file = coming.name;
    let head = client.head(repo, id, file, watch)?;
    let listed = coming.total;
    if let (Some(listed), Some(size)) = (listed, head.size)
        && listed != size
    {
        bail!(
            "{file} of {id} has {listed} bytes by the hub's list, but {size} where it lies (a proxy or sign-in page?)"
        );
    }
    let head = FileHead {
        size: head.size.or(listed),
        ..head
    };
    coming.total = head.size;
    let cached = client.cache.repo(repo.clone());
    let blob = cached.blob_path(&head.etag);
    let pointer = cached.pointer_path(repo.revision()).join(file);
    for folder in [blob.parent(), pointer.parent()].into_iter().flatten() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the cache folder {}", folder.display()))?;
    }
    let _lock = lock(&beside(&blob, "lock"), file, watch)?;
    if !is_whole(&blob, head.size) {
        let part = beside(&blob, "part");
        let transfer = Transfer {
            client,
            repo,
            id,
            file,
            head: &head,
            part: &part,
        };
        // What an earlier start left may be of another content; only a checksum tells.
        let mut goes_on = part.metadata().is_ok_and(|part| part.len() > 0);
        if goes_on && !is_sha256(&head.etag) {
            std::fs::remove_file(&part).ok();
            goes_on = false;
        }
        loop {
            transfer.fill(coming, watch)?;
            match check(&part, &head, file, watch) {
                Err(error) if !error.is::<Stopped>() => {
                    std::fs::remove_file(&part).ok();
                    if !std::mem::take(&mut goes_on) {
                        return Err(error.context(format!("{file} of {id} did not arrive as it was sent; try again")));
                    }
                }
                checked => break checked?,
            }
        }
        std::fs::rename(&part, &blob).with_context(|| format!("cannot name {}", blob.display()))?;
    }
    link(&blob, &pointer).with_context(|| format!("cannot write {}", pointer.display()))?;
    Ok(pointer)
}

/// A file that is being brought here, over as many connections as it takes.
struct Transfer<'a> {
    client: &'a Client<'a>,
    repo: &'a Repo,
    id: &'a str,
    file: &'a str,
    head: &'a FileHead,
    /// Where it grows.
    part: &'a Path,
}

impl Transfer<'_> {
    /// Brings `part` to the file's full size.
    fn fill(&self, coming: &mut Coming, watch: &mut Watch) -> Result<()> {
        let size = self.head.size;
        let most = self.most();
        if let Some(size) = size.filter(|size| *size > most) {
            bail!(
                "{} of {} has {size} bytes; at most {most} are taken for it",
                self.file,
                self.id
            );
        }
        let open = File::options().create(true).append(true).read(true).open(self.part);
        let mut sink = open.with_context(|| self.cannot_write())?;
        let mut here = sink.metadata().with_context(|| self.cannot_write())?.len();
        if size.is_some_and(|size| here > size) || size == Some(0) {
            here = self.restart(&mut sink)?;
        }
        let mut fruitless = 0;
        while size.is_none_or(|size| here < size) {
            let before = here;
            let Err(error) = self.pour(&mut sink, &mut here, coming, watch) else {
                break;
            };
            if !error.is::<Unreachable>() {
                return Err(error);
            }
            fruitless = if here > before { 1 } else { fruitless + 1 };
            let reason = reason_of(&error);
            if fruitless >= FRUITLESS_TRIES || (here == 0 && is_dead(reason)) {
                let share = render_share(here, size);
                return Err(self.broken(&format!(
                    "{reason} ({share} came and are kept; the next start goes on from there)"
                )));
            }
            let note = format!("{} of {} broke off ({reason}); trying again", self.file, self.id);
            watch.sleep(self.client.settings.pause * 2_u32.pow(fruitless - 1), || {
                Progress::Note(note.clone())
            })?;
        }
        sink.sync_all().with_context(|| self.cannot_write())
    }

    /// Takes what one connection gives; done when the file is whole.
    fn pour(&self, sink: &mut File, here: &mut u64, coming: &mut Coming, watch: &mut Watch) -> Result<()> {
        let answer = self
            .client
            .open(self.repo, self.id, self.file, &self.head.url, *here, watch)?;
        let is_partial = *here > 0 || answer.status == 206;
        if is_partial && !continues(&answer, *here) {
            *here = self.restart(sink)?;
            if answer.status != 200 {
                return Err(self.broken("it cannot go on where it broke off"));
            }
        }
        if !matches!(answer.status, 200 | 206) {
            return Err(self.broken(&format!("it answers HTTP {}", answer.status)));
        }
        let told = if answer.status == 206 {
            answer.range().1
        } else {
            answer.length()
        };
        let size = self.head.size.or(told);
        let most = self.most();
        coming.total = size;
        let chunks = read_ahead(answer.body);
        watch.tell(coming.at(*here))?;
        loop {
            match chunks.recv_timeout(Duration::from_millis(100)) {
                Ok(Ok(chunk)) if chunk.is_empty() => break,
                Ok(Ok(chunk)) => {
                    sink.write_all(&chunk).with_context(|| self.cannot_write())?;
                    *here += chunk.len() as u64;
                }
                Ok(Err(error)) => return Err(self.broken(&error.to_string())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.broken("the connection broke")),
            }
            if *here > size.unwrap_or(most) {
                self.restart(sink)?;
                std::fs::remove_file(self.part).ok();
                let (file, id) = (self.file, self.id);
                match size {
                    Some(_) => bail!("{file} of {id} is longer than the hub says"),
                    None => bail!("{file} of {id} goes on beyond {most} bytes, the most that is taken for it"),
                }
            }
            watch.beat(|| coming.at(*here))?;
        }
        if size.is_some_and(|size| *here < size) {
            return Err(self.broken("the connection ended early"));
        }
        Ok(watch.tell(coming.at(*here))?)
    }

    /// Bytes that are taken at most: what the disk has room for, and of settings far less.
    fn most(&self) -> u64 {
        let is_settings = weights::BESIDE.contains(&self.file) || self.file == weights::INDEX;
        let most = match (self.head.size, is_settings) {
            (_, true) => LARGEST_SETTINGS,
            (None, false) => LARGEST_UNKNOWN,
            (Some(_), false) => u64::MAX,
        };
        let here = self.part.metadata().map_or(0, |part| part.len());
        most.min(
            self.part
                .parent()
                .and_then(free_space)
                .map_or(u64::MAX, |free| free.saturating_add(here)),
        )
    }

    fn restart(&self, sink: &mut File) -> Result<u64> {
        let emptied = sink.set_len(0).and_then(|()| sink.seek(SeekFrom::Start(0)));
        emptied.with_context(|| self.cannot_write())
    }

    fn broken(&self, reason: &str) -> anyhow::Error {
        self.client
            .unreachable(&format!("{} of {}", self.file, self.id), reason)
    }

    fn cannot_write(&self) -> String {
        format!("cannot write {}", self.part.display())
    }
}

/// Reads a body on a thread of its own, so that a silent connection can be left; an empty chunk is the end.
fn read_ahead(mut body: Box<dyn Read + Send>) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(16);
    std::thread::spawn(move || {
        loop {
            let mut chunk = vec![0; 128 << 10];
            let read = match body.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read,
            };
            let is_last = !matches!(read, Ok(count) if count > 0);
            let message = read.map(|count| {
                chunk.truncate(count);
                chunk
            });
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

/// Whether the answer begins at the byte that was asked for.
fn continues(answer: &Answer, here: u64) -> bool {
    answer.status == 206 && answer.range().0 == Some(here)
}

fn reason_of(error: &anyhow::Error) -> &str {
    error
        .downcast_ref::<Unreachable>()
        .map_or("", |error| error.reason.as_str())
}

/// Whether nothing listens at all, so that trying again at once is of no use.
fn is_dead(reason: &str) -> bool {
    ["host not found", "refused", "instead of the file"]
        .iter()
        .any(|sign| reason.contains(sign))
}

fn is_sha256(etag: &str) -> bool {
    etag.len() == 64 && etag.chars().all(|c| c.is_ascii_hexdigit())
}

/// The hub names large files by their sha256; of others only the beginning is known.
fn check(part: &Path, head: &FileHead, name: &str, watch: &mut Watch) -> Result<()> {
    if !is_sha256(&head.etag) {
        return check_beginning(part, name);
    }
    let (found, etag) = (sha256(part, name, watch)?, &head.etag);
    if !found.eq_ignore_ascii_case(etag) {
        bail!("its sha256 is {found}, not {etag}");
    }
    Ok(())
}

/// Refuses what cannot be a file of its name: a page of a proxy, say, that calls itself something else.
fn check_beginning(part: &Path, name: &str) -> Result<()> {
    let mut bytes = Vec::new();
    let file = File::open(part).with_context(|| format!("cannot read {}", part.display()))?;
    let read = file.take(512).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", part.display()))?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).trim_ascii_start();
    let begins = |marks: &[&[u8]]| marks.iter().any(|mark| text.starts_with(mark));
    let is_page = {
        let lower = text[..text.len().min(64)].to_ascii_lowercase();
        lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html")
    };
    let is_right = match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "json" => begins(&[b"{", b"["]),
        "gguf" => begins(&[b"GGUF"]),
        "parquet" => begins(&[b"PAR1"]),
        "safetensors" => bytes.get(8) == Some(&b'{'),
        "html" | "htm" => true,
        _ => !is_page,
    };
    if !is_right {
        let what = if is_page { "an HTML page" } else { "something else" };
        bail!("{what} came instead of the file (a proxy or sign-in page?)");
    }
    Ok(())
}

/// The sha256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path, name: &str, watch: &mut Watch) -> Result<String> {
    let cannot_read = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot_read)?;
    let total = file.metadata().with_context(cannot_read)?.len();
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut chunk).with_context(cannot_read)?;
        if count == 0 {
            return Ok(format!("{:x}", hash.finalize()));
        }
        hash.update(&chunk[..count]);
        bytes += count as u64;
        watch.beat(|| Progress::Verifying {
            name: name.to_owned(),
            bytes,
            total,
        })?;
    }
}

/// Two starts at once fetch a file once: the second waits for the first. hf-hub takes the same lock.
fn lock(path: &Path, file: &str, watch: &mut Watch) -> Result<File> {
    let lock = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    while let Err(error) = lock.try_lock() {
        match error {
            std::fs::TryLockError::WouldBlock => {
                let note = format!("{file} is being fetched by another process; waiting for it");
                watch.sleep(Duration::from_millis(500), || Progress::Note(note.clone()))?;
            }
            // Some file systems know no locks; then two starts at once are the user's own affair.
            std::fs::TryLockError::Error(_) => break,
        }
    }
    Ok(lock)
}

fn is_whole(blob: &Path, size: Option<u64>) -> bool {
    blob.metadata()
        .is_ok_and(|metadata| metadata.is_file() && size.is_none_or(|size| metadata.len() == size))
}

/// `blobs/ETAG` and an ending of ours; an etag may hold dots, so that nothing of it is cut off.
fn beside(blob: &Path, ending: &str) -> PathBuf {
    let mut name = blob.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Makes `snapshots/COMMIT/FILE` lead to the blob, by a relative link where the platform has them.
fn link(blob: &Path, pointer: &Path) -> io::Result<()> {
    if pointer.exists() {
        return Ok(());
    }
    std::fs::remove_file(pointer).ok();
    #[cfg(unix)]
    {
        let snapshot = pointer.parent().unwrap_or(pointer);
        let repository = blob.parent().and_then(Path::parent).unwrap_or(blob);
        let depth = snapshot
            .strip_prefix(repository)
            .map_or(0, |inner| inner.components().count());
        let up: PathBuf = std::iter::repeat_n("..", depth).collect();
        let target = blob
            .strip_prefix(repository)
            .map_or_else(|_| blob.to_owned(), |inner| up.join(inner));
        if std::os::unix::fs::symlink(target, pointer).is_ok() {
            return Ok(());
        }
    }
    std::fs::hard_link(blob, pointer).or_else(|_| std::fs::copy(blob, pointer).map(|_| ()))
}
