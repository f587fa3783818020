//! Files of questions as rows: parquet, JSON lines, a JSON array, CSV with a header, and the header-less CSV of MMLU.

use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::typed::{dated_columns, pandas_names, type_csv, type_json};
use crate::files;
use crate::json;
use crate::rows::names::{is_examples, is_question};
use crate::rows::{Cells, frames, sheets};

/// A row of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// What the file holds; the cells of a CSV are texts.
    pub cells: Cells,
    /// The row as Python's `datasets` gives it to the harness, where that differs.
    pub doc: Option<Cells>,
}

impl Row {
    pub fn get(&self, column: &str) -> Option<&Value> {
        self.cells.get(column)
    }

    /// The row that is hashed.
    pub fn into_doc(self) -> Value {
        Value::Object(self.doc.unwrap_or(self.cells))
    }
}

impl From<Cells> for Row {
    fn from(cells: Cells) -> Row {
        Row { cells, doc: None }
    }
}

/// File endings that [`read_rows`] can read.
pub const ENDINGS: &[&str] = &["parquet", "jsonl", "ndjson", "json", "csv", "tsv"];

/// All rows of a file, by its ending.
pub fn read_rows(path: &Path) -> Result<Vec<Row>> {
    let name = files::shown(path);
    match ending(path).as_str() {
        "parquet" => Ok(crate::parquet::read_parquet(path)?.into_iter().map(Row::from).collect()),
        "jsonl" | "ndjson" | "json" => parse_json_rows(&read_text(path)?, &name),
        "csv" | "tsv" => {
            let cells = read_cells(path)?;
            let (header, cells) = cells.split_first().with_context(|| format!("{name} is empty"))?;
            rows_under_header(header, cells, &name)
        }
        other => bail!(
            "{name}: no reader for files that end in {other:?} (known: {})",
            ENDINGS.join(", ")
        ),
    }
}

/// The columns whose cells are hashed by their plain text, though the harness would hash them otherwise: dates and the like.
pub(super) fn plain_columns(path: &Path, rows: &[Row]) -> Result<Vec<String>> {
    match ending(path).as_str() {
        "parquet" => crate::parquet::plain_columns(path),
        "csv" | "tsv" => Ok(Vec::new()),
        _ => Ok(dated_columns(rows)),
    }
}

/// The lower-case ending of a file's name; of what came out of a pipe, the ending that its first bytes would have.
pub fn ending(path: &Path) -> String {
    let named = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    named.unwrap_or_else(|| {
        let kind = files::is_pipe(path).then(|| kind_of_pipe(path));
        kind.unwrap_or_default().to_owned()
    })
}

fn kind_of_pipe(path: &Path) -> &'static str {
    let mut start = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut start));
    let first_line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match start.trim_ascii_start() {
        _ if read.is_err() => "",
        [0x1f, 0x8b, ..] => "gz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zst",
        [b'P', b'A', b'R', b'1', ..] => "parquet",
        [b'{' | b'[', ..] => "jsonl",
        _ if first_line.contains(&b'\t') => "tsv",
        _ => "csv",
    }
}

/// The rows of a JSON text: one object a line (blank lines skipped), one array of objects, or an object that holds
/// nothing but such an array besides plain values.
pub fn parse_json_rows(text: &str, name: &str) -> Result<Vec<Row>> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rows: Vec<Row> = objects(text, name)?.into_iter().map(Row::from).collect();
    type_json(&mut rows);
    Ok(rows)
}

fn objects(text: &str, name: &str) -> Result<Vec<Cells>> {
    if text.trim_start().starts_with('[') {
        let not_rows = || format!("{name} is not a JSON array of objects");
        let document = json::parse(text).with_context(not_rows)?;
        if let Some(rows) = frames::rows(&document) {
            return Ok(rows);
        }
        return match document {
            Value::Array(items) => items
                .into_iter()
                .map(|item| object(item).with_context(not_rows))
                .collect(),
            _ => bail!(not_rows()),
        };
    }
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match json::parse_object(line) {
            Ok(row) => rows.push(row),
            Err(error) => match json::parse_object(text) {
                Ok(whole) if rows.is_empty() => return Ok(wrapped(whole)),
                _ => bail!("{name}, line {}: not a JSON object ({error})", number + 1),
            },
        }
    }
    match <[Cells; 1]>::try_from(rows) {
        Ok([row]) => Ok(wrapped(row)),
        Err(rows) => Ok(rows),
    }
}

fn object(value: Value) -> Option<Cells> {
    match value {
        Value::Object(cells) => Some(cells),
        _ => None,
    }
}

/// The rows inside an object that wraps them (`{"version": 1, "data": [...]}`), that is a table by column or holds a row
/// under each key, else the object as the one row.
fn wrapped(object: Cells) -> Vec<Cells> {
    let object = Value::Object(object);
    if let Some(rows) = frames::rows(&object) {
        return rows;
    }
    let Value::Object(object) = object else {
        return Vec::new();
    };
    let asks = |cells: &Cells| cells.keys().any(|name| is_question(name));
    let rows_of = |(name, value): (&String, &Value)| -> Option<Vec<Cells>> {
        let items = value
            .as_array()
            .filter(|items| !items.is_empty() && !is_examples(name))?;
        let rows = items.iter().map(|item| item.as_object().cloned());
        rows.collect::<Option<Vec<Cells>>>()
            .filter(|rows| rows.iter().all(asks))
    };
    let mut lists: Vec<Vec<Cells>> = object.iter().filter_map(rows_of).collect();
    match lists.pop() {
        Some(rows) if lists.is_empty() && !asks(&object) => rows,
        _ if object.len() > 1 && object.values().all(|row| row.as_object().is_some_and(asks)) => {
            object.into_iter().filter_map(|(_, row)| self::object(row)).collect()
        }
        _ => vec![object],
    }
}

/// The cells of a CSV file as Python's `csv` module reads them: quoted line breaks kept, no cell changed. They are
/// parted by commas, in a `.tsv` by tabs; by semicolons, tabs or bars where the first line has no three cells else.
pub fn read_cells(path: &Path) -> Result<Vec<Vec<String>>> {
    let text = read_text(path)?;
    let text = text.trim_start_matches('\u{feff}');
    let named = sheets::named_separator(text.as_bytes());
    let text = named.and_then(|(_, start)| text.get(start..)).unwrap_or(text);
    let separator = named.map(|(separator, _)| [separator]);
    let delimiters: &[u8] = if let Some(separator) = &separator {
        separator
    } else if ending(path) == "tsv" {
        b"\t,;|"
    } else {
        b",;\t|"
    };
    let is_table = |delimiter: &u8| {
        let first = csv_reader(text, *delimiter).records().next();
        first.is_some_and(|record| record.is_ok_and(|record| record.len() > 2))
    };
    let delimiter = delimiters.iter().copied().find(is_table).unwrap_or(delimiters[0]);
    let name = path.display();
    let mut cells = Vec::new();
    for record in csv_reader(text, delimiter).records() {
        let record = record.with_context(|| format!("{name} is not a CSV file in UTF-8"))?;
        let is_blank = record.len() == 1 && record[0].trim().is_empty();
        if !is_blank {
            cells.push(record.iter().map(str::to_owned).collect());
        }
    }
    Ok(cells)
}

fn csv_reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text.as_bytes())
}

/// The rows of an original MMLU file (question, A, B, C, D, letter; no header) as the hub set has them.
pub fn mmlu_rows(cells: &[Vec<String>], subject: &str, name: &str) -> Result<Vec<Row>> {
    if let Some((header, cells)) = cells.split_first().filter(|(header, _)| is_mmlu_header(header)) {
        return rows_under_header(header, cells, name)?
            .iter()
            .map(|row| mmlu_row_of_header(&row.cells, subject).with_context(|| format!("{name}: columns of a row")))
            .collect();
    }
    cells
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let [question, choices @ .., letter] = row.as_slice() else {
                bail!("{name}: record {number} is empty")
            };
            if choices.len() != 4 {
                bail!(
                    "{name}: record {} has {} cells instead of 6 (question, A, B, C, D, letter)",
                    number + 1,
                    row.len()
                );
            }
            Ok(hub_row(question, subject, choices, letter))
        })
        .collect()
}

/// Whether a first row names its columns. A question may have the choices `Question` and `Answer`: then a letter ends it
/// and there are no columns `A` to `D`.
fn is_mmlu_header(row: &[String]) -> bool {
    let cells: Vec<String> = row.iter().map(|cell| cell.trim().to_lowercase()).collect();
    let has = |name: &str| cells.iter().any(|cell| cell == name);
    let ends_in_gold = cells.last().is_some_and(|cell| gold_of(cell).is_some());
    let has_choices = ["a", "b", "c", "d"].iter().all(|letter| has(letter));
    (has("question") || has("prompt")) && has("answer") && (has_choices || !ends_in_gold)
}

/// The class number of a gold letter or number.
fn gold_of(cell: &str) -> Option<i64> {
    match cell.trim().as_bytes() {
        [letter @ (b'A'..=b'D' | b'a'..=b'd')] => Some(i64::from(letter.to_ascii_uppercase() - b'A')),
        _ => cell.trim().parse().ok(),
    }
}

fn mmlu_row_of_header(row: &Cells, subject: &str) -> Result<Row> {
    let cell = |names: &[&str]| {
        row.iter()
            .find(|(column, _)| names.contains(&column.trim().to_lowercase().as_str()))
            .and_then(|(_, cell)| cell.as_str())
            .with_context(|| format!("no column {} (found: {})", names[0], columns_of(row)))
    };
    let choices = [
        ["a", "option_a"],
        ["b", "option_b"],
        ["c", "option_c"],
        ["d", "option_d"],
    ]
    .iter()
    .map(|names| cell(names).map(str::to_owned))
    .collect::<Result<Vec<_>>>()?;
    let subject = cell(&["subject"]).unwrap_or(subject);
    Ok(hub_row(
        cell(&["question", "prompt"])?,
        subject,
        &choices,
        cell(&["answer"])?,
    ))
}

/// A row with the hub's columns; the answer is the class number there.
fn hub_row(question: &str, subject: &str, choices: &[String], answer: &str) -> Row {
    let mut row = Cells::new();
    row.insert("question".into(), question.into());
    row.insert("subject".into(), subject.into());
    row.insert("choices".into(), choices.to_vec().into());
    row.insert(
        "answer".into(),
        gold_of(answer).map_or_else(|| answer.trim().into(), Value::from),
    );
    row.into()
}

fn rows_under_header(header: &[String], cells: &[Vec<String>], name: &str) -> Result<Vec<Row>> {
    let trimmed: Vec<String> = header.iter().map(|column| column.trim().to_owned()).collect();
    let columns = pandas_names(&trimmed);
    let mut rows = Vec::with_capacity(cells.len());
    for (number, row) in cells.iter().enumerate() {
        let cells = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
        if cells > header.len() {
            bail!(
                "{name}: record {} has {} cells under a header of {}",
                number + 2,
                row.len(),
                header.len()
            );
        }
        let texts = row.iter().map(|cell| Value::from(cell.as_str()));
        let texts = texts.chain(std::iter::repeat(Value::Null));
        rows.push(Row::from(columns.iter().cloned().zip(texts).collect::<Cells>()));
    }
    type_csv(header, &mut rows, cells);
    Ok(rows)
}

/// The names of a row's columns, for messages.
pub fn columns_of(row: &Cells) -> String {
    row.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn read_text(path: &Path) -> Result<String> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let text = sheets::utf8(&bytes).into_owned();
    String::from_utf8(text).with_context(|| format!("{name} is not text in UTF-8 or UTF-16"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(name: &str, text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn an_original_csv_keeps_every_cell_as_it_is() {
        let (_folder, path) = write("x_test.csv", "\" Say \"\"hi\"\"\r\nnow \",1,\"2, 3\", 4 ,,C\r\n");
        let rows = mmlu_rows(&read_cells(&path).unwrap(), "x", "x_test.csv").unwrap();
        assert_eq!(
            serde_json::to_string(&rows[0].cells).unwrap(),
            r#"{"question":" Say \"hi\"\r\nnow ","subject":"x","choices":["1","2, 3"," 4 ",""],"answer":2}"#
        );
    }

    #[test]
    fn a_csv_row_with_a_stray_comma_is_refused_by_number() {
        let (_folder, path) = write("x_test.csv", "q,1,2,3,4,A\nq, really,1,2,3,4,A\n");
        let error = mmlu_rows(&read_cells(&path).unwrap(), "x", "x_test.csv")
            .unwrap_err()
            .to_string();
        assert!(error.contains("record 2 has 7 cells"), "{error}");
    }

    #[test]
    fn json_lines_may_have_a_mark_blank_lines_and_carriage_returns() {
        let rows = parse_json_rows("\u{feff}{\"a\":1}\r\n\r\n{\"a\":2.5}\r\n", "x.jsonl").unwrap();
        let cells: Vec<_> = rows.iter().map(|row| &row.cells).collect();
        assert_eq!(serde_json::to_string(&cells).unwrap(), r#"[{"a":1},{"a":2.5}]"#);
        assert_eq!(parse_json_rows("[\n {\"a\": 1}\n]", "x.json").unwrap().len(), 1);
        assert_eq!(parse_json_rows("{\n \"a\": 1\n}", "x.json").unwrap().len(), 1);
    }

    #[test]
    fn a_cut_line_is_named() {
        let error = parse_json_rows("{\"a\":1}\n{\"a\":", "x.jsonl")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("x.jsonl, line 2"), "{error}");
    }

    #[test]
    fn a_damaged_parquet_is_named() {
        let (_folder, path) = write("test.parquet", "PAR1 but no more");
        let error = read_rows(&path).unwrap_err().to_string();
        assert!(error.contains("test.parquet is not a whole parquet file"), "{error}");
    }
}
