//! Files of questions as rows: parquet, JSON lines, a JSON array, CSV with a header, and the header-less CSV of MMLU.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// A row of a file, column order kept.
pub type Row = Map<String, Value>;

/// File endings that [`read_rows`] can read.
pub const ENDINGS: &[&str] = &["parquet", "jsonl", "ndjson", "json", "csv"];

/// All rows of a file, by its ending.
pub fn read_rows(path: &Path) -> Result<Vec<Row>> {
    let name = path.display().to_string();
    match ending(path).as_str() {
        "parquet" => crate::parquet::read_parquet(path),
        "jsonl" | "ndjson" | "json" => parse_json_rows(&read_text(path)?, &name),
        "csv" => {
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

/// The lower-case ending of a file's name.
pub fn ending(path: &Path) -> String {
    path.extension()
        .map(|ending| ending.to_string_lossy().to_lowercase())
        .unwrap_or_default()
}

/// The rows of a JSON text: one object a line (blank lines skipped), or one array of objects.
pub fn parse_json_rows(text: &str, name: &str) -> Result<Vec<Row>> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).with_context(|| format!("{name} is not a JSON array of objects"));
    }
    let is_one_object = || text.trim_start().starts_with('{') && serde_json::from_str::<Row>(text).is_ok();
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Row>(line) {
            Ok(row) => rows.push(row),
            Err(_) if rows.is_empty() && is_one_object() => return Ok(vec![serde_json::from_str(text)?]),
            Err(error) => bail!("{name}, line {}: not a JSON object ({error})", number + 1),
        }
    }
    Ok(rows)
}

/// The cells of a CSV file as Python's `csv` module reads them: quoted line breaks kept, no cell changed.
pub fn read_cells(path: &Path) -> Result<Vec<Vec<String>>> {
    let text = read_text(path)?;
    let name = path.display();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    reader
        .records()
        .map(|record| {
            let record = record.with_context(|| format!("{name} is not a CSV file in UTF-8"))?;
            Ok(record.iter().map(str::to_owned).collect())
        })
        .collect()
}

/// The rows of an original MMLU file (question, A, B, C, D, letter; no header) as the hub set has them.
pub fn mmlu_rows(cells: &[Vec<String>], subject: &str, name: &str) -> Result<Vec<Row>> {
    let is_header = |row: &[String]| row.iter().any(|cell| cell.trim().eq_ignore_ascii_case("question"));
    if let Some((header, cells)) = cells.split_first().filter(|(header, _)| is_header(header)) {
        return rows_under_header(header, cells, name)?
            .iter()
            .map(|row| mmlu_row_of_header(row, subject).with_context(|| format!("{name}: columns of a row")))
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

fn mmlu_row_of_header(row: &Row, subject: &str) -> Result<Row> {
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
    let letter = answer.trim();
    let answer = match letter.as_bytes() {
        [letter @ b'A'..=b'D'] => Value::from(letter - b'A'),
        _ => letter.parse::<i64>().map_or_else(|_| Value::from(answer), Value::from),
    };
    let mut row = Row::new();
    row.insert("question".into(), question.into());
    row.insert("subject".into(), subject.into());
    row.insert("choices".into(), choices.to_vec().into());
    row.insert("answer".into(), answer);
    row
}

fn rows_under_header(header: &[String], cells: &[Vec<String>], name: &str) -> Result<Vec<Row>> {
    cells
        .iter()
        .enumerate()
        .map(|(number, row)| {
            if row.len() > header.len() {
                bail!(
                    "{name}: record {} has {} cells under a header of {}",
                    number + 2,
                    row.len(),
                    header.len()
                );
            }
            let cells = row
                .iter()
                .map(|cell| Value::from(cell.as_str()))
                .chain(std::iter::repeat(Value::Null));
            Ok(header
                .iter()
                .map(|column| column.trim().to_owned())
                .zip(cells)
                .collect())
        })
        .collect()
}

/// The names of a row's columns, for messages.
pub fn columns_of(row: &Row) -> String {
    row.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn read_text(path: &Path) -> Result<String> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    String::from_utf8(bytes).with_context(|| format!("{name} is not text in UTF-8"))
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
            serde_json::to_string(&rows[0]).unwrap(),
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
        assert_eq!(serde_json::to_string(&rows).unwrap(), r#"[{"a":1},{"a":2.5}]"#);
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
