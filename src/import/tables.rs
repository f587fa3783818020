//! Tables as rows of JSON: character-separated text and parquet files of any columns.

use std::fs::File;
use std::io::{Read, Write};

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Number, Value};

use crate::parquet::guarded;

/// Writes at most `limit` rows of a character-separated table as objects, one a line; all cells are texts. A row that
/// has too few or too many cells becomes a line of text that says so.
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
    let text_of = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
    let mut columns: Vec<String> = cells.iter().map(text_of).collect();
    if let Some(first) = columns.first_mut() {
        *first = first.trim_start_matches('\u{feff}').to_owned();
    }
    for _ in 0..limit {
        if !reader.read_byte_record(&mut cells)? {
            break;
        }
        let line = if cells.len() == columns.len() {
            let row = columns
                .iter()
                .cloned()
                .zip(cells.iter().map(|cell| Value::String(text_of(cell))));
            Value::Object(row.collect())
        } else {
            Value::String(format!("{} cells, not {}", cells.len(), columns.len()))
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The separator of a text's columns: the one of `,` `;` and tab that parts its first rows alike into two or more.
pub(crate) fn csv_separator(head: &[u8], is_whole: bool) -> Option<u8> {
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

/// Writes at most `limit` rows of a parquet file as objects, one a line.
pub(crate) fn parquet_rows(file: File, limit: usize, out: &mut dyn Write) -> Result<()> {
    guarded(|| write_parquet_rows(file, limit, out))
}

fn write_parquet_rows(file: File, limit: usize, out: &mut dyn Write) -> Result<()> {
    let reader = SerializedFileReader::new(file).context("no readable parquet file")?;
    for row in reader.get_row_iter(None)?.take(limit) {
        writeln!(out, "{}", row_value(&row?))?;
    }
    Ok(())
}

fn row_value(row: &Row) -> Value {
    let fields = row
        .get_column_iter()
        .map(|(name, field)| (name.clone(), field_value(field)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

fn field_value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(value) => Value::from(*value),
        Field::Short(value) => Value::from(*value),
        Field::Int(value) | Field::Date(value) | Field::TimeMillis(value) => Value::from(*value),
        Field::Long(value)
        | Field::TimeMicros(value)
        | Field::TimestampMillis(value)
        | Field::TimestampMicros(value) => Value::from(*value),
        Field::UByte(value) => Value::from(*value),
        Field::UShort(value) => Value::from(*value),
        Field::UInt(value) => Value::from(*value),
        Field::ULong(value) => Value::from(*value),
        Field::Float16(value) => float(value.to_f64()),
        Field::Float(value) => float(f64::from(*value)),
        Field::Double(value) => float(*value),
        Field::Decimal(_) => Value::String(field.to_string()),
        Field::Str(text) => Value::String(text.clone()),
        Field::Bytes(bytes) => Value::String(String::from_utf8_lossy(bytes.data()).into_owned()),
        Field::Group(row) => row_value(row),
        Field::ListInternal(list) => list.elements().iter().map(field_value).collect(),
        Field::MapInternal(map) => map
            .entries()
            .iter()
            .map(|(key, value)| (key_text(key), field_value(value)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

fn key_text(key: &Field) -> String {
    match field_value(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Numbers that JSON lacks become their name.
fn float(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number)
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
            "{\"a\":\"1\",\"b\":\"x \\\"y\\\"\\nz\"}\n\"1 cells, not 2\"\n"
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
