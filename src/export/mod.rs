//! The slice, to a file that other tools read.

mod csv;
mod jsonl;
mod lm_eval;
mod pairs;
mod parquet;
mod target;

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

pub use pairs::write_pairs;
pub use target::is_input;

use self::target::{real_path, refuse};
use crate::extract::Rule;
use crate::text::terminal;
use crate::trace::{Rows, Trace};

/// A file format.
#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    pub extension: &'static str,
    pub about: &'static str,
    write: Writer,
}

/// How a format is written.
#[derive(Debug)]
enum Writer {
    /// One file, rows one after another.
    Rows(fn(&Slice, &mut dyn Write) -> Result<()>),
    /// A folder of files.
    Folder(fn(&Trace, &[u32], &Path) -> Result<Vec<PathBuf>>),
}

impl Format {
    /// Whether it is written as a folder of files.
    pub fn is_folder(&self) -> bool {
        matches!(self.write, Writer::Folder(_))
    }
}

/// Every format, the default first.
pub static ALL: &[Format] = &[
    Format {
        name: "jsonl",
        extension: "jsonl",
        about: "one JSON object a row, the source's columns in order",
        write: Writer::Rows(jsonl::write),
    },
    Format {
        name: "csv",
        extension: "csv",
        about: "comma-separated with a header; lists as JSON",
        write: Writer::Rows(csv::write),
    },
    Format {
        name: "parquet",
        extension: "parquet",
        about: "markbook's records, zstd",
        write: Writer::Rows(parquet::write),
    },
    Format {
        name: "lm-eval",
        extension: "",
        about: "a folder of the harness's own samples and results files, one folder an attempt",
        write: Writer::Folder(lm_eval::write_folder),
    },
];

/// The format of a name.
///
/// # Errors
/// For an unknown name, with the list of known ones.
pub fn format(name: &str) -> Result<&'static Format> {
    ALL.iter().find(|format| format.name == name).with_context(|| {
        let known: Vec<&str> = ALL.iter().map(|format| format.name).collect();
        format!("no export format `{name}`; known: {}", known.join(", "))
    })
}

/// Columns that can be added to the source's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extra {
    /// Why the row is invalid.
    Why,
    /// Where the rule matched, in characters from 0: `match_start`, `match_end`.
    Match,
    Note,
    Marks,
}

impl Extra {
    pub const ALL: [(&'static str, Extra); 4] = [
        ("why", Extra::Why),
        ("match", Extra::Match),
        ("note", Extra::Note),
        ("marks", Extra::Marks),
    ];

    pub fn parse(name: &str) -> Result<Extra> {
        Extra::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, extra)| *extra)
            .with_context(|| {
                let known: Vec<&str> = Extra::ALL.iter().map(|(name, _)| *name).collect();
                format!("no export column `{name}`; known: {}", known.join(", "))
            })
    }
}

/// Where an export goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    File(PathBuf),
    Stdout,
}

/// How a slice is written.
#[derive(Debug)]
pub struct Options {
    pub format: &'static Format,
    pub target: Target,
    /// Whether an existing file may be replaced. An input never is.
    pub force: bool,
    pub with: Vec<Extra>,
    /// The rule whose match `Extra::Match` gives.
    pub rule: Rule,
    /// Notes by row.
    pub notes: std::collections::HashMap<u32, String>,
    /// Marked rows.
    pub marks: HashSet<u32>,
    /// Letters that a person gave, by row; written with the marks where there are some.
    pub labels: std::collections::HashMap<u32, char>,
}

impl Options {
    /// JSONL to a target, nothing added.
    pub fn jsonl(target: Target) -> Result<Options> {
        Ok(Options {
            format: &ALL[0],
            target,
            force: false,
            with: Vec::new(),
            rule: Rule::default(),
            notes: std::collections::HashMap::new(),
            marks: HashSet::new(),
            labels: std::collections::HashMap::new(),
        })
    }
}

/// What is written: some rows of a trace.
struct Slice<'a> {
    trace: &'a Trace,
    rows: &'a [u32],
    options: &'a Options,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub rows: usize,
    pub bytes: u64,
}

/// Writes rows of a trace: aside first, then renamed.
///
/// # Errors
/// When the file exists and `force` is not set, when it is one of the trace's own files, or when it cannot be written.
/// What stood there before is then untouched.
pub fn write(trace: &Trace, rows: &[u32], options: &Options) -> Result<Written> {
    let slice = Slice { trace, rows, options };
    let write_rows = match options.format.write {
        Writer::Rows(write_rows) => write_rows,
        Writer::Folder(write_folder) => {
            let Target::File(folder) = &options.target else {
                bail!("{} is a folder of files; name a folder with -o", options.format.name);
            };
            let files = write_folder(trace, rows, folder)?;
            let bytes = files
                .iter()
                .filter_map(|file| std::fs::metadata(file).ok())
                .map(|file| file.len())
                .sum();
            return Ok(Written {
                rows: rows.len(),
                bytes,
            });
        }
    };
    let path = match &options.target {
        Target::Stdout if options.format.name == "parquet" && std::io::stdout().is_terminal() => {
            bail!("parquet is nothing that a terminal can show: name a file with -o, or send it into a pipe")
        }
        Target::Stdout => return stream(&slice, write_rows, terminal::stdout(), "standard output"),
        Target::File(path) => real_path(path),
    };
    let named = || format!("cannot write {}", path.display());
    if std::fs::metadata(&path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        // A pipe or a device takes the rows as they come; nothing could be put in its place.
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .with_context(named)?;
        return stream(&slice, write_rows, file, &path.display().to_string());
    }
    refuse(&path, trace, options.force)?;
    let folder = crate::files::folder_of(&path);
    if !folder.is_dir() {
        bail!(
            "cannot write {}: the folder {} does not exist",
            path.display(),
            folder.display()
        );
    }
    let bytes = crate::files::write_with(&path, |file| {
        let mut out = Counted::new(file);
        write_rows(&slice, &mut out)?;
        out.flush()?;
        Ok(out.bytes)
    })?;
    Ok(Written {
        rows: rows.len(),
        bytes,
    })
}

/// Writes rows to where nothing can be put aside.
fn stream(
    slice: &Slice,
    write_rows: fn(&Slice, &mut dyn Write) -> Result<()>,
    out: impl Write,
    name: &str,
) -> Result<Written> {
    let mut out = Counted::new(out);
    write_rows(slice, &mut out)?;
    out.flush().with_context(|| format!("cannot write to {name}"))?;
    Ok(Written {
        rows: slice.rows.len(),
        bytes: out.bytes,
    })
}

/// A writer that counts what goes through.
struct Counted<W: Write> {
    inner: std::io::BufWriter<W>,
    bytes: u64,
}

impl<W: Write> Counted<W> {
    fn new(inner: W) -> Counted<W> {
        Counted {
            inner: std::io::BufWriter::with_capacity(1 << 17, inner),
            bytes: 0,
        }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Every row of the questions that have a row in the slice, in order.
pub fn whole_questions(rows: &Rows, slice: &[u32]) -> Vec<u32> {
    let wanted: HashSet<(u32, i64)> = slice.iter().map(|row| rows.question_key(*row as usize)).collect();
    (0..rows.len() as u32)
        .filter(|row| wanted.contains(&rows.question_key(*row as usize)))
        .collect()
}

/// About how many bytes an export takes as JSONL, from a few of its rows.
pub fn estimate(trace: &Trace, rows: &[u32]) -> Result<u64> {
    let step = (rows.len() / 24).max(1);
    let some: Vec<usize> = rows.iter().step_by(step).map(|row| *row as usize).collect();
    if some.is_empty() {
        return Ok(0);
    }
    let lines = trace.texts.source_lines(&some)?;
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    Ok((bytes as f64 / some.len() as f64 * rows.len() as f64) as u64)
}

impl Slice<'_> {
    /// The rows, as many at a time as are held in memory.
    fn chunks(&self) -> impl Iterator<Item = &[u32]> {
        self.rows.chunks(256)
    }

    fn source_lines(&self, rows: &[u32]) -> Result<Vec<Vec<u8>>> {
        let rows: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
        self.trace.texts.source_lines(&rows)
    }

    /// Hands on the source's columns with the added ones.
    fn each(&self, visit: &mut dyn FnMut(Map<String, Value>) -> Result<()>) -> Result<()> {
        for chunk in self.chunks() {
            let indexes: Vec<usize> = chunk.iter().map(|row| *row as usize).collect();
            for (row, mut source) in chunk.iter().zip(self.trace.texts.source(&indexes)?) {
                self.add(*row, &mut source)?;
                visit(source)?;
            }
        }
        Ok(())
    }

    /// Adds what the source does not have: another rule's picks, and the columns asked for.
    fn add(&self, row: u32, source: &mut Map<String, Value>) -> Result<()> {
        if let Some(rule) = &self.trace.rule {
            let light = self.trace.rows.light(row as usize);
            source.insert(format!("pick_{rule}"), light.pick.into());
            source.insert(format!("correct_{rule}"), light.correct.into());
        }
        self.add_extras(row, source)
    }

    fn add_extras(&self, row: u32, source: &mut Map<String, Value>) -> Result<()> {
        for extra in &self.options.with {
            match extra {
                Extra::Why => {
                    let record = self.trace.record(row as usize)?;
                    let answer = crate::diagnose::Answer {
                        text: &record.reasoning,
                        pick: &record.pick,
                        finish: record.finish,
                        flags: &record.flags.join(","),
                        options: record.options.len(),
                    };
                    let cause = crate::diagnose::diagnose(&self.options.rule, &answer).cause;
                    let cause = cause.map(crate::diagnose::Cause::name);
                    source.insert("why".into(), cause.into());
                }
                Extra::Match => {
                    let record = self.trace.texts.record(row as usize)?;
                    let text = &record.reasoning;
                    let found = self.options.rule.read(text).found.map(|found| found.whole);
                    let at = |byte: usize| text[..byte].chars().count();
                    source.insert("match_start".into(), found.as_ref().map(|range| at(range.start)).into());
                    source.insert("match_end".into(), found.as_ref().map(|range| at(range.end)).into());
                }
                Extra::Note => {
                    source.insert("note".into(), self.options.notes.get(&row).cloned().into());
                }
                Extra::Marks => {
                    source.insert("marks".into(), self.options.marks.contains(&row).into());
                    if !self.options.labels.is_empty() {
                        let label = self.options.labels.get(&row).map(char::to_string);
                        source.insert("label".into(), label.into());
                    }
                }
            }
        }
        Ok(())
    }
}
