//! From a data source to a data set: embedded exam, folder, the user's own file, or files the hub gave.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::columns::{Columns, Names, missing_columns};
use super::files::{benchmark_folder, parts_of, split_files, stem};
use super::own::fill_own;
use super::questions::questions;
use super::slice::fingerprint;
use super::table::{Row, ending, mmlu_rows, parse_json_rows, plain_columns, read_cells, read_rows};
use super::wash::wash;
use super::{Benchmark, Dataset, Form, Question, Washed};
use crate::files;

/// Where questions come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataSource {
    /// The exam inside the program.
    Embedded,
    /// One set, or the folders `mmlu/` and `mmlu_pro/`.
    Folder(PathBuf),
    /// One file: a set of the user's own, or a file of a published set.
    File(PathBuf),
    /// Files of a hub data set that are already on disk.
    Hub {
        id: String,
        revision: Option<String>,
        test: Vec<PathBuf>,
        examples: Vec<PathBuf>,
    },
}

impl DataSource {
    /// `embedded`, a folder or a file; a pipe or `-` is read into one.
    pub fn parse(text: &str) -> Result<DataSource> {
        let path = files::settled(Path::new(text))?;
        match text {
            "embedded" => Ok(DataSource::Embedded),
            _ if path.is_dir() => Ok(DataSource::Folder(path)),
            _ if path.is_file() => Ok(DataSource::File(path)),
            _ => bail!("--data {text}: no such folder or file (a folder, a file, or `embedded`)"),
        }
    }
}

/// Rows of one split, and the file that messages name.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub file: String,
    pub rows: Vec<Row>,
    /// Columns that are hashed by their plain text.
    pub plain: Vec<String>,
}

/// Rows that are told one by one where none is left.
const TOLD: usize = 20;

/// All questions of a split, with the examples that may go before them.
pub fn load(benchmark: &'static Benchmark, source: &DataSource, split: &str) -> Result<Dataset> {
    load_counted(benchmark, source, split, None)
}

/// As [`load`]; `gold_base` says from which number, 0 or 1, an own set counts its options, where that is known.
pub fn load_counted(
    benchmark: &'static Benchmark,
    source: &DataSource,
    split: &str,
    gold_base: Option<i64>,
) -> Result<Dataset> {
    let names = benchmark.split_names(split)?;
    let mut dataset = empty(benchmark, source, names[0]);
    match source {
        DataSource::Embedded => {
            let (rows, examples) = embedded_rows(benchmark, names)?;
            fill_published(&mut dataset, rows, Ok(examples))?;
        }
        DataSource::Folder(root) => load_folder(&mut dataset, root, names, gold_base)?,
        DataSource::File(path) => load_file(&mut dataset, path, names, gold_base)?,
        DataSource::Hub { test, examples, .. } => {
            fill_published(&mut dataset, read_all(benchmark, test)?, read_all(benchmark, examples))?;
        }
    }
    if gold_base.is_some() && dataset.form != Form::Custom {
        bail!(
            "--gold-base is for sets of your own; {} counts its options as published",
            benchmark.title
        );
    }
    if dataset.questions.is_empty() {
        bail!(
            "{} holds no questions that can be asked{}",
            dataset.source,
            told(&dataset)
        );
    }
    let problem = dataset.examples_problem.as_ref();
    let note = problem.map(|problem| format!("no examples (--shots needs them): {problem}"));
    dataset.notes.extend(note);
    dataset.fingerprint = fingerprint(&dataset.questions);
    let own = dataset.questions.iter().flat_map(|question| &question.examples);
    dataset.examples_fingerprint = fingerprint(dataset.examples.values().flatten().chain(own));
    Ok(dataset)
}

/// What was dropped and how the columns were read, for a set of which nothing is left.
fn told(dataset: &Dataset) -> String {
    let (dropped, _) = Washed::count(&dataset.washed);
    let notes = dataset.notes.iter().map(|note| format!("\n  {note}"));
    let rows = dataset.washed.iter().take(TOLD).map(|washed| format!("\n  {washed}"));
    let more = dataset.washed.len().saturating_sub(TOLD);
    let more = (more > 0).then(|| format!("\n  and {more} more"));
    let lines: String = notes.chain(rows).chain(more).collect();
    format!("; rows dropped: {dropped}{lines}")
}

fn empty(benchmark: &'static Benchmark, source: &DataSource, split: &str) -> Dataset {
    let (source, revision) = match source {
        DataSource::Embedded => ("embedded".to_owned(), None),
        DataSource::Folder(path) | DataSource::File(path) => (files::shown(path), None),
        DataSource::Hub { id, revision, .. } => (id.clone(), revision.clone()),
    };
    Dataset {
        benchmark,
        form: benchmark.form,
        name: benchmark.name.to_owned(),
        source,
        revision,
        split: split.to_owned(),
        questions: Vec::new(),
        examples: BTreeMap::new(),
        examples_problem: None,
        washed: Vec::new(),
        notes: Vec::new(),
        fingerprint: String::new(),
        examples_fingerprint: String::new(),
        available: BTreeMap::new(),
    }
}

fn embedded_rows(benchmark: &Benchmark, names: &[&str]) -> Result<(Rows, Rows)> {
    let exam = benchmark.embedded.as_ref().with_context(|| {
        format!(
            "there is no embedded exam for {} (name your file: --data FILE)",
            benchmark.name
        )
    })?;
    let parse = |text: &str, name: &str| -> Result<Rows> {
        let file = format!("the embedded {} {name}", benchmark.title);
        Ok(Rows {
            rows: parse_json_rows(text, &file)?,
            file,
            plain: Vec::new(),
        })
    };
    let text = if names[0] == "test" {
        exam.test
    } else if benchmark.example_splits.contains(&names[0]) {
        exam.examples
    } else {
        let examples = benchmark.example_splits[0];
        bail!(
            "the embedded exam has no split {:?} (known: test, {examples})",
            names[0]
        );
    };
    Ok((parse(text, "questions")?, parse(exam.examples, "examples")?))
}

/// A folder of files, examples among them.
fn load_folder(dataset: &mut Dataset, root: &Path, names: &[&str], gold_base: Option<i64>) -> Result<()> {
    let benchmark = dataset.benchmark;
    let folder = benchmark_folder(root, benchmark)?;
    let files = split_files(&folder, names, benchmark)?;
    if files.is_empty() {
        let split = names[0];
        let config = Some(benchmark.hub_config).filter(|config| !config.is_empty());
        bail!(
            "no {split} questions of {} in {} (looked for {split}.parquet, {split}-00000-of-00001.parquet, \
             {split}.jsonl, {split}.csv and {split}/, there and in {}/)",
            benchmark.title,
            folder.display(),
            config.unwrap_or("data")
        );
    }
    let rows = read_all(benchmark, &files)?;
    let examples = examples_in(&folder, benchmark, None);
    if benchmark.form != Form::Custom {
        return fill_published(dataset, rows, examples);
    }
    dataset.name = folder
        .file_name()
        .map_or_else(|| "custom".into(), |name| name.to_string_lossy().into());
    fill_own(dataset, rows, examples, gold_base)
}

/// A file by itself: a published set by its columns, else an own set. Examples lie beside it or in its rows.
fn load_file(dataset: &mut Dataset, path: &Path, names: &[&str], gold_base: Option<i64>) -> Result<()> {
    let benchmark = dataset.benchmark;
    let folder = path.parent().unwrap_or(Path::new(""));
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let rows = read_all(benchmark, &[path.to_owned()])?;
    let parts = parts_of(path).filter(|count| *count > 1);
    dataset
        .notes
        .extend(parts.map(|count| format!("{} is one of {count} parts; its folder holds them all", path.display())));
    let beside = examples_in(folder, benchmark, Some(path));
    if benchmark.form != Form::Custom && missing_columns(benchmark, &rows.rows).is_empty() {
        return fill_published(dataset, rows, beside);
    }
    dataset.name = stem(Path::new(&files::shown(path)));
    let columns = Names::of(&rows.rows, &rows.file);
    let Some(column) = columns.ok().and_then(|names| names.split().cloned()) else {
        return fill_own(dataset, rows, beside, gold_base);
    };
    let is_in = |row: &Row, names: &[&str]| {
        row.get(&column)
            .and_then(|cell| cell.as_str())
            .is_some_and(|name| names.contains(&name.trim()))
    };
    let Rows { file, rows, plain } = rows;
    let (asked, rest): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| is_in(row, names));
    let examples = rest
        .into_iter()
        .filter(|row| is_in(row, benchmark.example_splits))
        .collect();
    if asked.is_empty() {
        bail!("{file}: no row says {:?} in its column {column}", names[0]);
    }
    let examples = Rows {
        file: file.clone(),
        rows: examples,
        plain: Vec::new(),
    };
    let asked = Rows {
        file,
        rows: asked,
        plain,
    };
    fill_own(dataset, asked, Ok(examples), gold_base)
}

/// The examples in a folder, beside a file that is asked itself: the first split of them that can be read.
fn examples_in(folder: &Path, benchmark: &Benchmark, asked: Option<&Path>) -> Result<Rows> {
    let mut problem = None;
    for name in benchmark.example_splits {
        let read = || -> Result<Rows> {
            let mut files = split_files(folder, &[name], benchmark)?;
            files.retain(|file| asked.is_none_or(|asked| file != asked && file.file_name() != asked.file_name()));
            let rows = read_all(benchmark, &files)?;
            if !files.is_empty() {
                match benchmark.form {
                    Form::Custom => drop(Names::of(&rows.rows, &rows.file)?),
                    _ => drop(Columns::of_benchmark(benchmark, &rows.rows, &rows.file)?),
                }
            }
            Ok(rows)
        };
        match read() {
            Ok(rows) if rows.rows.is_empty() => {}
            Ok(rows) => return Ok(rows),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    problem.map_or_else(|| Ok(Rows::default()), Err)
}

fn read_all(benchmark: &Benchmark, paths: &[PathBuf]) -> Result<Rows> {
    let mut all = Rows::default();
    for file in paths {
        let name = files::shown(file);
        let rows = if benchmark.form == Form::Mmlu && ending(file) == "csv" && is_original_mmlu(file)? {
            mmlu_rows(&read_cells(file)?, &subject_of_file(file), &name)?
        } else {
            read_rows(file)?
        };
        if all.file.is_empty() {
            all.file = name;
            all.plain = plain_columns(file, &rows)?;
        }
        all.rows.extend(rows);
    }
    if let [first, .., last] = paths {
        all.file = format!("{} to {}", first.display(), last.display());
    }
    Ok(all)
}

/// Whether a CSV is one of the original set's: `abstract_algebra_test.csv`, six cells a row.
fn is_original_mmlu(file: &Path) -> Result<bool> {
    let cells = read_cells(file)?;
    Ok(!subject_of_file(file).is_empty() || cells.first().is_some_and(|row| row.len() == 6))
}

/// `abstract_algebra` of `abstract_algebra_test.csv`; empty where the name is not of that kind.
fn subject_of_file(file: &Path) -> String {
    let stem = stem(file);
    ["_test", "_val", "_dev", "_validation"]
        .iter()
        .find_map(|ending| stem.strip_suffix(ending))
        .unwrap_or_default()
        .to_owned()
}

/// Reads the questions of a published set and its examples. Examples that cannot be read are told, and refused only
/// when they are asked for.
fn fill_published(dataset: &mut Dataset, rows: Rows, examples: Result<Rows>) -> Result<()> {
    let benchmark = dataset.benchmark;
    let columns = Columns::of_benchmark(benchmark, &rows.rows, &rows.file)?;
    let examples = examples.and_then(|examples| {
        let has_some = !examples.rows.is_empty();
        let columns = has_some.then(|| Columns::of_benchmark(benchmark, &examples.rows, &examples.file));
        Ok((columns.transpose()?, examples))
    });
    match examples {
        Ok((Some(columns), examples)) => set_examples(dataset, &columns, examples),
        Ok((None, _)) => {}
        Err(problem) => dataset.examples_problem = Some(format!("{problem:#}")),
    }
    (dataset.questions, dataset.washed) = wash(questions(&columns, rows.rows), dataset.form);
    Ok(())
}

fn set_examples(dataset: &mut Dataset, columns: &Columns, rows: Rows) {
    let (list, washed) = wash(questions(columns, rows.rows), dataset.form);
    dataset
        .notes
        .extend(washed.iter().map(|found: &Washed| format!("{}: {found}", rows.file)));
    for question in list {
        let list: &mut Vec<Question> = dataset.examples.entry(question.subject.clone()).or_default();
        list.push(question);
    }
}
