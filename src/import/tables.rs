//! Tables as rows of JSON: character-separated text and parquet files of any columns.

use std::fs::File;
use std::io::{Read, Write};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::json;
use crate::json as python;
use crate::parquet::each_parquet_row;
use crate::rows::frames;
use crate::rows::sheets::named_separator;
use crate::text::spreadsheet;

/// Columns in which a cell that is a JSON list or object stands for it; in all others texts stay as they are.
const STRUCTURED: [&str; 31] = [
    "doc",
    "arguments",
    "resps",
    "filtered_resps",
    "options",
    "choices",
    "logprobs",
    "greedy",
    "continuations",
    "continuation_tokens",
    "flags",
    "picks",
    "metrics",
    "messages",
    "scores",
    "model_response",
    "metric",
    "predictions",
    "gold_index",
    "model_output",
    "sample_score",
    "target",
    "raw_input",
    "origin_prompt",
    "input_choice_list",
    "input_correct_responses",
    "input_final_prompts",
    "output_prediction_text",
    "output_choice_completions",
    "output_choice_negative_log_likelihoods",
    "eval_config",
];

/// Writes at most `limit` rows of a character-separated table as objects, one a line; cells are texts but for lists and
/// objects in the columns that are known to hold them. A row that
/// has too few or too many cells becomes a line of text that says so.
/// A row stands on the line on which it begins in the table.
pub(crate) fn csv_rows(text: impl Read, separator: u8, limit: usize, out: &mut dyn Write) -> Result<()> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .flexible(true)
        .has_headers(false)
        .from_reader(text);
    let mut cells = csv::ByteRecord::new();
    if !reader.read_byte_record(&mut cells)? {
        bail!("the table is empty");
    }
    if named_separator(&cells.iter().collect::<Vec<_>>().join(&separator)).is_some() {
        reader.read_byte_record(&mut cells)?;
    }
    let text_of = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    let mut columns: Vec<String> = cells.iter().map(text_of).collect();
    if let Some(first) = columns.first_mut() {
        *first = first.trim_start_matches('\u{feff}').to_owned();
    }
    // A table whose cells markbook marked for spreadsheets says so in a column of its own.
    let marks = columns.iter().position(|column| column == spreadsheet::COLUMN);
    for column in &mut columns {
        *column = text_of(plain(column.as_bytes(), marks.is_some())).trim().to_owned();
    }
    let mut line = 1;
    for _ in 0..limit {
        if !reader.read_byte_record(&mut cells)? {
            break;
        }
        for _ in line..cells.position().map_or(0, csv::Position::line) {
            out.write_all(b"\n")?;
            line += 1;
        }
        line += 1;
        if cells.len() != columns.len() {
            writeln!(out, "\"{} cells, not {}\"", cells.len(), columns.len())?;
            continue;
        }
        let mut start = '{';
        for (at, (column, cell)) in columns.iter().zip(&cells).enumerate() {
            if marks == Some(at) {
                continue;
            }
            let cell = plain(cell, marks.is_some());
            write!(out, "{start}{}:", Value::from(column.as_str()))?;
            match structured(column, cell) {
                Some(line) => out.write_all(&line)?,
                None => write!(out, "{}", Value::String(text_of(cell)))?,
            }
            start = ',';
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}

fn plain(cell: &[u8], is_marked: bool) -> &[u8] {
    if is_marked { spreadsheet::unmarked(cell) } else { cell }
}

/// A cell that is a whole list or object, on one line.
fn structured(column: &str, cell: &[u8]) -> Option<Vec<u8>> {
    let is_open = matches!(cell.first(), Some(b'[' | b'{'));
    let is_whole = || json::value_end(cell, 0).is_ok_and(|end| end == cell.len());
    (is_open && STRUCTURED.contains(&column) && is_whole()).then(|| json::Raw(cell).line())
}

/// The separator of a text's columns: the one of `,` `;` and tab that parts its first rows alike into two or more.
pub(crate) fn csv_separator(head: &[u8], is_whole: bool) -> Option<u8> {
    if let Some((separator, _)) = named_separator(head) {
        return Some(separator);
    }
    let is_alike = |separator: &u8| {
        let reader = csv::ReaderBuilder::new()
            .delimiter(*separator)
            .flexible(true)
            .has_headers(false)
            .from_reader(head);
        let mut widths: Vec<usize> = reader
            .into_byte_records()
            .map_while(Result::ok)
            .take(20)
            .map(|row| row.len())
            .collect();
        if !is_whole {
            widths.pop();
        }
        let first = widths.first().copied().unwrap_or(0);
        first >= 2
            && widths.len() >= 2
            && widths.iter().filter(|width| **width == first).count() * 10 >= widths.len() * 8
    };
    [b',', b'\t', b';'].into_iter().find(is_alike)
}

/// Whether a text breaks off before two whole rows of a table, were it one.
pub(crate) fn is_cut_early(head: &[u8]) -> bool {
    let reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .from_reader(head);
    reader.into_byte_records().take(3).count() < 3
}

/// Writes at most `limit` rows of a parquet file as objects, one a line: of all columns, or of those named.
pub(crate) fn parquet_rows(file: File, limit: (usize, &[&str]), out: &mut dyn Write) -> Result<()> {
    let written = each_parquet_row(file, limit, &mut |row| {
        serde_json::to_writer(&mut *out, &row)?;
        Ok(out.write_all(b"\n")?)
    });
    written.context("no readable parquet file")
}

/// Writes the rows of a table in JSON that is no list of rows, one a line.
pub(crate) fn frame_rows(document: &[u8], limit: usize, out: &mut dyn Write) -> Result<()> {
    let document = python::parse(&String::from_utf8_lossy(document)).context("no whole JSON document")?;
    let rows = frames::rows(&document).context("no table by column")?;
    for row in rows.into_iter().take(limit) {
        out.write_all(python::python_json(&Value::Object(row), python::Layout::Dense).as_bytes())?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_keep_quotes_and_line_breaks() {
        let mut out = Vec::new();
        csv_rows(&b"\xef\xbb\xbfa,b\n1,\"x \"\"y\"\"\nz\"\n2\n"[..], b',', 9, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\n{\"a\":\"1\",\"b\":\"x \\\"y\\\"\\nz\"}\n\n\"1 cells, not 2\"\n"
        );
    }

    #[test]
    fn separators_are_told_from_prose() {
        assert_eq!(csv_separator(b"a;b;c\n1;2,5;3\n4;5,1;6\n", true), Some(b';'));
        assert_eq!(csv_separator(b"a\tb\n1\t2\n", true), Some(b'\t'));
        assert_eq!(
            csv_separator(b"Some prose, with a comma.\nAnd none here\nnor here\n", true),
            None
        );
    }
}
