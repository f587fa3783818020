//! The slice, to a file that other tools read.

mod csv;
mod formats;
mod jsonl;
mod lm_eval;
mod pairs;
mod parquet;
mod target;

use std::cell::Cell;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

pub use formats::{ALL, FORMATS, Format, format, format_of};
pub use pairs::write_pairs;
pub use target::{Exists, is_input};

use self::formats::Writer;
use self::target::{Ending, real_path, refuse};
use crate::extract::Rule;
use crate::text::terminal;
use crate::trace::{Member, Rows, Trace};

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
    /// Whether cells of a CSV that a spreadsheet would run are marked.
    pub spreadsheet_safe: bool,
    /// The rule whose match `Extra::Match` gives, where a run does not name its own.
    pub rule: Rule,
    /// Whether a column `model` says which run a row is of.
    pub names_runs: bool,
    /// Notes by row.
    pub notes: std::collections::HashMap<u32, String>,
    /// Marked rows.
    pub marks: HashSet<u32>,
    /// Letters that a person gave, by row; written with the marks where there are some.
    pub labels: std::collections::HashMap<u32, char>,
    /// Counts the rows as they are written, for whoever waits.
    pub written: Arc<AtomicUsize>,
}

impl Options {
    /// JSONL to a target, nothing added.
    pub fn jsonl(target: Target) -> Result<Options> {
        Ok(Options {
            format: &ALL[0],
            target,
            force: false,
            with: Vec::new(),
            names_runs: false,
            spreadsheet_safe: false,
            rule: Rule::default(),
            notes: std::collections::HashMap::new(),
            marks: HashSet::new(),
            labels: std::collections::HashMap::new(),
            written: Arc::default(),
        })
    }
}

/// What is written: some rows of a trace.
struct Slice<'a> {
    trace: &'a Trace,
    rows: &'a [u32],
    options: &'a Options,
    /// The runs of the trace, each with the rule by which its picks were read.
    runs: Vec<(Member, Rule)>,
    /// Cells written so far that a spreadsheet would run.
    formulas: Cell<usize>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub rows: usize,
    pub bytes: u64,
    /// Cells that a spreadsheet would run.
    pub formulas: usize,
}

/// Writes rows of a trace: aside first, then renamed.
///
/// # Errors
/// When the file exists and `force` is not set, when it is one of the trace's own files, or when it cannot be written.
/// What stood there before is then untouched.
pub fn write(trace: &Trace, rows: &[u32], options: &Options) -> Result<Written> {
    let slice = Slice::new(trace, rows, options);
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
                formulas: 0,
            });
        }
    };
    let bytes = match &options.target {
        Target::Stdout if options.format.name == "parquet" && std::io::stdout().is_terminal() => {
            bail!("parquet is nothing that a terminal can show: name a file with -o, or send it into a pipe")
        }
        Target::Stdout => stream(std::io::stdout().lock(), "standard output", |out| {
            write_rows(&slice, out)
        })?,
        Target::File(path) => write_file(path, &[trace], options.force, |out| write_rows(&slice, out))?,
    };
    Ok(Written {
        rows: rows.len(),
        bytes,
        formulas: slice.formulas.get(),
    })
}

/// Fills a file aside, then renames it; gives its bytes. Missing folders are made; a pipe or a device takes what comes.
fn write_file(
    path: &Path,
    inputs: &[&Trace],
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<u64> {
    let path = real_path(path);
    let named = || format!("cannot write {}", path.display());
    if std::fs::metadata(&path).is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .with_context(named)?;
        return stream(file, &path.display().to_string(), fill);
    }
    for input in inputs {
        refuse(&path, input, force)?;
    }
    let folder = crate::files::folder_of(&path);
    std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot make its folder", named()))?;
    crate::files::write_with(&path, |file| {
        let mut out = Counted::new(file);
        target::pack(Ending::of(&path).packing, &mut out, fill)?;
        out.flush()?;
        Ok(out.bytes)
    })
}

/// Writes to where nothing can be put aside; gives the bytes. A terminal gets nothing that it would act on.
fn stream(out: impl Write + IsTerminal, name: &str, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<u64> {
    let mut out = Counted::new(terminal::safe_where_it_leads(out));
    fill(&mut out)?;
    out.flush().with_context(|| format!("cannot write to {name}"))?;
    Ok(out.bytes)
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

/// About how many bytes a row takes in a format, from a few of the rows; a folder's rows are about as long as JSONL's.
pub fn bytes_a_row(trace: &Trace, rows: &[u32], format: &'static Format) -> Result<f64> {
    let step = (rows.len() / 24).max(1);
    let some: Vec<u32> = rows.iter().step_by(step).copied().collect();
    let write = match format.write {
        Writer::Rows(write) => write,
        Writer::Folder(_) => jsonl::write,
    };
    let options = Options::jsonl(Target::Stdout)?;
    let bytes = |rows: &[u32]| -> Result<u64> {
        let mut out = Counted::new(std::io::sink());
        write(&Slice::new(trace, rows, &options), &mut out)?;
        Ok(out.bytes)
    };
    // What is written once, whatever the rows, does not count.
    let more = bytes(&some)?.saturating_sub(bytes(&[])?);
    Ok(more as f64 / some.len().max(1) as f64)
}

impl<'a> Slice<'a> {
    fn new(trace: &'a Trace, rows: &'a [u32], options: &'a Options) -> Slice<'a> {
        let rule = |member: &Member| match member.rule().filter(|_| trace.rule.is_none()) {
            Some(rule) => Rule::of_texts(Some(rule)),
            None => options.rule.clone(),
        };
        let runs = trace.members().into_iter().map(|member| (rule(&member), member));
        Slice {
            trace,
            rows,
            options,
            runs: runs.map(|(rule, member)| (member, rule)).collect(),
            formulas: Cell::new(0),
        }
    }

    /// The run of a row, and its rule.
    fn run(&self, row: u32) -> &(Member, Rule) {
        let after = self.runs.partition_point(|(member, _)| member.first <= row as usize);
        &self.runs[after.saturating_sub(1)]
    }
    /// The rows, as many at a time as are held in memory.
    fn chunks(&self) -> impl Iterator<Item = &[u32]> {
        let count = |chunk: &&[u32]| {
            self.options.written.fetch_add(chunk.len(), Ordering::Relaxed);
        };
        self.rows.chunks(256).inspect(count)
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
        if self.options.names_runs {
            source.insert("model".into(), self.run(row).0.name.as_str().into());
        }
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
                    let cause = crate::diagnose::diagnose(&self.run(row).1, &answer).cause;
                    let cause = cause.map(crate::diagnose::Cause::name);
                    source.insert("why".into(), cause.into());
                }
                Extra::Match => {
                    let record = self.trace.texts.record(row as usize)?;
                    let text = &record.reasoning;
                    let found = self.run(row).1.read(text).found.map(|found| found.whole);
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
