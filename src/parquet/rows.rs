//! Parquet files of questions as JSON rows, column order kept: what Python's `datasets` gives and `json.dumps` writes.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Number, Value};

use super::DAMAGED;
use super::python::texts;
use crate::guard::guarded;
use crate::json::{float, python_float};

/// Rows that are decoded together.
const TOGETHER: usize = 512;

/// How cells that JSON lacks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Odd {
    /// As Python's `json` and `str` show them, for hashes: NaN a number, bytes as `b'..'`.
    Python,
    /// As plain text: NaN by its name, bytes as the text that they hold.
    Text,
}

/// All rows of a parquet file. Whole numbers stay whole, lists become arrays; dates, bytes and the like become the text
/// that Python's `str` makes of them.
pub fn read_parquet(path: &Path) -> Result<Vec<Map<String, Value>>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let mut rows = Vec::new();
    each_row(file, usize::MAX, Odd::Python, &mut |row| {
        rows.push(row);
        Ok(())
    })
    .map_err(|error| {
        // A column that cannot be shown is no damage.
        let is_whole = error.to_string().starts_with("column ");
        let damage = " is not a whole parquet file (cut off or damaged; fetch it again)";
        error.context(format!("{name}{}", if is_whole { "" } else { damage }))
    })?;
    Ok(rows)
}

/// Hands on the first `limit` rows of a parquet file, a few hundred in memory at a time.
pub fn each_parquet_row(
    file: File,
    limit: usize,
    visit: &mut dyn FnMut(Map<String, Value>) -> Result<()>,
) -> Result<()> {
    each_row(file, limit, Odd::Text, visit)
}

fn each_row(file: File, limit: usize, odd: Odd, visit: &mut dyn FnMut(Map<String, Value>) -> Result<()>) -> Result<()> {
    let builder = guarded(DAMAGED, || Ok(ParquetRecordBatchReaderBuilder::try_new(file)?))?;
    let builder = builder.with_batch_size(TOGETHER.min(limit.max(1))).with_limit(limit);
    let mut reader = guarded(DAMAGED, || Ok(builder.build()?))?;
    while let Some(batch) = guarded(DAMAGED, || Ok(reader.next().transpose()?))? {
        rows_of(&batch, odd)?.into_iter().try_for_each(&mut *visit)?;
    }
    Ok(())
}

/// The rows of a batch, their columns in the file's order.
pub(super) fn batch_rows(batch: &RecordBatch) -> Result<Vec<Map<String, Value>>> {
    rows_of(batch, Odd::Text)
}

fn rows_of(batch: &RecordBatch, odd: Odd) -> Result<Vec<Map<String, Value>>> {
    let mut rows = vec![Map::new(); batch.num_rows()];
    for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
        let cells = values(column, odd).with_context(|| format!("column {}", field.name()))?;
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.insert(field.name().clone(), cell);
        }
    }
    Ok(rows)
}

/// The cells of one column as JSON values.
fn values(column: &ArrayRef, odd: Odd) -> Result<Vec<Value>> {
    macro_rules! numbers {
        ($kind:ty, $value:expr) => {
            column
                .as_primitive::<$kind>()
                .iter()
                .map(|cell| cell.map_or(Value::Null, $value))
                .collect()
        };
    }
    let decimal = |number: f64| match odd {
        Odd::Python => float(number),
        Odd::Text => Number::from_f64(number).map_or_else(|| python_float(number).into(), Value::Number),
    };
    let list = |cell: Option<ArrayRef>| list(cell, odd);
    Ok(match column.data_type() {
        DataType::Binary if odd == Odd::Text => column.as_binary::<i32>().iter().map(bytes).collect(),
        DataType::LargeBinary if odd == Odd::Text => column.as_binary::<i64>().iter().map(bytes).collect(),
        DataType::BinaryView if odd == Odd::Text => column.as_binary_view().iter().map(bytes).collect(),
        DataType::Null => vec![Value::Null; column.len()],
        DataType::Boolean => column
            .as_boolean()
            .iter()
            .map(|cell| cell.map_or(Value::Null, Value::Bool))
            .collect(),
        DataType::Int8 => numbers!(Int8Type, Value::from),
        DataType::Int16 => numbers!(Int16Type, Value::from),
        DataType::Int32 => numbers!(Int32Type, Value::from),
        DataType::Int64 => numbers!(Int64Type, Value::from),
        DataType::UInt8 => numbers!(UInt8Type, Value::from),
        DataType::UInt16 => numbers!(UInt16Type, Value::from),
        DataType::UInt32 => numbers!(UInt32Type, Value::from),
        DataType::UInt64 => numbers!(UInt64Type, Value::from),
        DataType::Float16 => numbers!(Float16Type, |number| decimal(number.into())),
        DataType::Float32 => numbers!(Float32Type, |number| decimal(number.into())),
        DataType::Float64 => numbers!(Float64Type, decimal),
        DataType::Utf8 => column.as_string::<i32>().iter().map(text).collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().map(text).collect(),
        DataType::Utf8View => column.as_string_view().iter().map(text).collect(),
        DataType::List(_) => column.as_list::<i32>().iter().map(list).collect::<Result<_>>()?,
        DataType::LargeList(_) => column.as_list::<i64>().iter().map(list).collect::<Result<_>>()?,
        DataType::FixedSizeList(..) => column.as_fixed_size_list().iter().map(list).collect::<Result<_>>()?,
        DataType::ListView(_) => column.as_list_view::<i32>().iter().map(list).collect::<Result<_>>()?,
        DataType::LargeListView(_) => column.as_list_view::<i64>().iter().map(list).collect::<Result<_>>()?,
        DataType::Map(..) => column
            .as_map()
            .iter()
            .map(|entries| {
                let Some(entries) = entries else { return Ok(Value::Null) };
                let (keys, cells) = (values(entries.column(0), odd)?, values(entries.column(1), odd)?);
                let pairs = keys.into_iter().zip(cells);
                Ok(pairs.map(|(key, cell)| Value::Array(vec![key, cell])).collect())
            })
            .collect::<Result<_>>()?,
        DataType::Struct(fields) => {
            let parts = column.as_struct();
            let cells = parts
                .columns()
                .iter()
                .map(|part| values(part, odd))
                .collect::<Result<Vec<_>>>()?;
            let mut cells: Vec<_> = cells.into_iter().map(Vec::into_iter).collect();
            (0..column.len())
                .map(|row| {
                    let object: Map<String, Value> = fields
                        .iter()
                        .zip(&mut cells)
                        .map(|(field, cells)| (field.name().clone(), cells.next().unwrap_or_default()))
                        .collect();
                    if parts.is_null(row) {
                        Value::Null
                    } else {
                        Value::Object(object)
                    }
                })
                .collect()
        }
        DataType::Dictionary(_, kind) => values(&cast(column, kind)?, odd)?,
        _ => texts(column)?
            .into_iter()
            .map(|text| text.map_or(Value::Null, Value::from))
            .collect(),
    })
}

fn text(cell: Option<&str>) -> Value {
    cell.map_or(Value::Null, Value::from)
}

fn bytes(cell: Option<&[u8]>) -> Value {
    cell.map_or(Value::Null, |bytes| String::from_utf8_lossy(bytes).into())
}

fn list(cell: Option<ArrayRef>, odd: Odd) -> Result<Value> {
    cell.map_or(Ok(Value::Null), |items| values(&items, odd).map(Value::Array))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BinaryArray, Date32Array, Decimal128Array, DictionaryArray, DurationMicrosecondArray, DurationNanosecondArray,
        Float32Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
        Time64NanosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    };
    use arrow::datatypes::{Field, Int8Type, Int32Type};
    use parquet::arrow::ArrowWriter;

    use super::*;

    #[test]
    fn columns_keep_their_order_and_whole_numbers_stay_whole() {
        let pair = StructArray::from(vec![(
            Arc::new(Field::new("text", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("t"), None])) as ArrayRef,
        )]);
        let names: DictionaryArray<Int8Type> = vec!["law", "law"].into_iter().collect();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("question", Arc::new(StringArray::from(vec![Some("ü\n"), None]))),
            (
                "options",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
                    Some(vec![Some(3), None]),
                    None,
                ])),
            ),
            ("answer", Arc::new(Int64Array::from(vec![1, -2]))),
            ("weight", Arc::new(Float32Array::from(vec![0.1, 2.0]))),
            ("category", Arc::new(names)),
            ("day", Arc::new(Date32Array::from(vec![Some(0), None]))),
            ("more", Arc::new(pair)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        assert_eq!(
            serde_json::to_string(&read_parquet(&path).unwrap()).unwrap(),
            concat!(
                r#"[{"question":"ü\n","options":[3,null],"answer":1,"weight":0.10000000149011612,"category":"law","#,
                r#""day":"1970-01-01","more":{"text":"t"}},"#,
                r#"{"question":null,"options":null,"answer":-2,"weight":2.0,"category":"law","day":null,"more":{"text":null}}]"#,
            )
        );
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let error = read_parquet(&path).unwrap_err().to_string();
            assert!(error.contains("rows.parquet is not a whole parquet file"), "{error}");
        }
    }

    /// One column written to a file and read back, as JSON texts.
    fn read_back(column: ArrayRef) -> Vec<String> {
        let batch = RecordBatch::try_from_iter(vec![("x", column)]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let rows = read_parquet(&path).unwrap();
        let text = |row: &Map<String, Value>| crate::json::python_json(&row["x"], crate::json::Layout::OneLine);
        rows.iter().map(text).collect()
    }

    /// The expected texts are those of Python: `json.dumps(value, default=str, ensure_ascii=False)` of what pyarrow
    /// gives for the column.
    #[test]
    fn what_json_has_no_word_for_is_written_as_python_shows_it() {
        let moment = [Some(1), Some(2_000_000), Some(-1), None];
        let winter = [Some(1_700_000_000_000_000), Some(1_690_000_000_000_000)];
        let day: i64 = 86_400_000_000;
        let bytes = vec![Some(&b"it's"[..]), Some(b"\"'\\\n\x00\xff"), None];
        let cases: Vec<(ArrayRef, &[&str])> = vec![
            (
                Arc::new(TimestampMicrosecondArray::from(moment.to_vec())),
                &[
                    "\"1970-01-01 00:00:00.000001\"",
                    "\"1970-01-01 00:00:02\"",
                    "\"1969-12-31 23:59:59.999999\"",
                    "null",
                ],
            ),
            (
                Arc::new(TimestampMicrosecondArray::from(moment.to_vec()).with_timezone("UTC")),
                &[
                    "\"1970-01-01 00:00:00.000001+00:00\"",
                    "\"1970-01-01 00:00:02+00:00\"",
                    "\"1969-12-31 23:59:59.999999+00:00\"",
                    "null",
                ],
            ),
            (
                Arc::new(TimestampMicrosecondArray::from(winter.to_vec()).with_timezone("Europe/Berlin")),
                &["\"2023-11-14 23:13:20+01:00\"", "\"2023-07-22 06:26:40+02:00\""],
            ),
            (
                Arc::new(TimestampMillisecondArray::from(vec![1, -3_600_000]).with_timezone("-03:30")),
                &["\"1969-12-31 20:30:00.001000-03:30\"", "\"1969-12-31 19:30:00-03:30\""],
            ),
            (
                Arc::new(TimestampNanosecondArray::from(vec![1, 1_000])),
                &["\"1970-01-01 00:00:00.000000001\"", "\"1970-01-01 00:00:00.000001\""],
            ),
            (
                Arc::new(Time64NanosecondArray::from(vec![999, 3_600_000_001_000])),
                &["\"00:00:00\"", "\"01:00:00.000001\""],
            ),
            (
                Arc::new(DurationMicrosecondArray::from(vec![
                    1,
                    day + 3_661_500_000,
                    -1,
                    -day,
                    200 * day,
                ])),
                &[
                    "\"0:00:00.000001\"",
                    "\"1 day, 1:01:01.500000\"",
                    "\"-1 day, 23:59:59.999999\"",
                    "\"-1 day, 0:00:00\"",
                    "\"200 days, 0:00:00\"",
                ],
            ),
            (
                Arc::new(DurationNanosecondArray::from(vec![1, -1, 90_061_000_000_000])),
                &[
                    "\"0 days 00:00:00.000000001\"",
                    "\"-1 days +23:59:59.999999999\"",
                    "\"1 days 01:01:01\"",
                ],
            ),
            (
                Arc::new(BinaryArray::from(bytes)),
                &[
                    "\"b\\\"it's\\\"\"",
                    "\"b'\\\"\\\\'\\\\\\\\\\\\n\\\\x00\\\\xff'\"",
                    "null",
                ],
            ),
            (
                Arc::new(
                    Decimal128Array::from(vec![0, 1_000, -15_000_000_000])
                        .with_precision_and_scale(20, 10)
                        .unwrap(),
                ),
                &["\"0E-10\"", "\"1.000E-7\"", "\"-1.5000000000\""],
            ),
            (
                Arc::new(Float64Array::from(vec![
                    Some(f64::NAN),
                    Some(f64::NEG_INFINITY),
                    Some(1e16),
                    None,
                ])),
                &["NaN", "-Infinity", "1e+16", "null"],
            ),
            (
                Arc::new(Float32Array::from(vec![f32::INFINITY, 0.5])),
                &["Infinity", "0.5"],
            ),
        ];
        for (column, expected) in cases {
            let kind = column.data_type().clone();
            assert_eq!(read_back(column), expected, "{kind}");
        }
    }
}
