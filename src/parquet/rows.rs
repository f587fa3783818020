//! Parquet files of questions as JSON rows, column order kept: as Python's `datasets` gives them, dates and the like as plain text.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use arrow::util::display::array_value_to_string;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Number, Value};

use super::DAMAGED;
use crate::guard::guarded;
use crate::json;

/// Rows that are decoded together.
const TOGETHER: usize = 512;

/// What is made of a float.
type Float = fn(f64) -> Value;

/// All rows of a parquet file. Whole numbers stay whole, lists become arrays, NaN stays a number; dates, times, decimals
/// and bytes become plain text.
pub fn read_parquet(path: &Path) -> Result<Vec<Map<String, Value>>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let mut rows = Vec::new();
    each_row(file, (usize::MAX, &[]), json::float, &mut |row| {
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

/// The columns of a parquet file that [`read_parquet`] gives as plain text, though they hold none.
pub fn plain_columns(path: &Path) -> Result<Vec<String>> {
    let builder = guarded(DAMAGED, || {
        Ok(ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?)
    })?;
    let fields = builder.schema().fields().iter();
    Ok(fields
        .filter(|field| is_plain(field.data_type()))
        .map(|field| field.name().clone())
        .collect())
}

fn is_plain(kind: &DataType) -> bool {
    match kind {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_plain(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| is_plain(field.data_type())),
        DataType::Dictionary(_, kind) => is_plain(kind),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => true,
        kind => kind.is_temporal() || kind.is_binary() || matches!(kind, DataType::FixedSizeBinary(_)),
    }
}

/// Hands on the first `limit` rows of a parquet file, a few hundred in memory at a time; NaN by its name. Only the columns
/// that are named, where any are.
pub fn each_parquet_row(
    file: File,
    limit: (usize, &[&str]),
    visit: &mut dyn FnMut(Map<String, Value>) -> Result<()>,
) -> Result<()> {
    each_row(file, limit, named_float, visit)
}

fn named_float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| json::python_float(number).into(), Value::Number)
}

fn each_row(
    file: File,
    (limit, columns): (usize, &[&str]),
    float: Float,
    visit: &mut dyn FnMut(Map<String, Value>) -> Result<()>,
) -> Result<()> {
    let builder = guarded(DAMAGED, || Ok(ParquetRecordBatchReaderBuilder::try_new(file)?))?;
    let mut builder = builder.with_batch_size(TOGETHER.min(limit.max(1))).with_limit(limit);
    if !columns.is_empty() {
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    let mut reader = guarded(DAMAGED, || Ok(builder.build()?))?;
    while let Some(batch) = guarded(DAMAGED, || Ok(reader.next().transpose()?))? {
        rows_of(&batch, float)?.into_iter().try_for_each(&mut *visit)?;
    }
    Ok(())
}

/// The rows of a batch, their columns in the file's order.
pub(super) fn batch_rows(batch: &RecordBatch) -> Result<Vec<Map<String, Value>>> {
    rows_of(batch, named_float)
}

fn rows_of(batch: &RecordBatch, float: Float) -> Result<Vec<Map<String, Value>>> {
    let mut rows = vec![Map::new(); batch.num_rows()];
    for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
        let cells = values(column, float).with_context(|| format!("column {}", field.name()))?;
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.insert(field.name().clone(), cell);
        }
    }
    Ok(rows)
}

/// The cells of one column as JSON values.
fn values(column: &ArrayRef, float: Float) -> Result<Vec<Value>> {
    fn all<T>(cells: impl IntoIterator<Item = Option<T>>, give: impl Fn(T) -> Value) -> Vec<Value> {
        let cells = cells.into_iter();
        cells.map(|cell| cell.map_or(Value::Null, &give)).collect()
    }
    let as_kind = |kind: &DataType| cast(column, kind);
    let list = |cell: Option<ArrayRef>| cell.map_or(Ok(Value::Null), |items| values(&items, float).map(Value::Array));
    Ok(match column.data_type() {
        DataType::Null => vec![Value::Null; column.len()],
        DataType::Boolean => all(column.as_boolean(), Value::Bool),
        DataType::UInt64 => all(column.as_primitive::<UInt64Type>(), Value::from),
        kind if kind.is_integer() => all(as_kind(&DataType::Int64)?.as_primitive::<Int64Type>(), Value::from),
        kind if kind.is_floating() => all(as_kind(&DataType::Float64)?.as_primitive::<Float64Type>(), float),
        kind if kind.is_string() => all(as_kind(&DataType::LargeUtf8)?.as_string::<i64>(), Value::from),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into();
            all(as_kind(&DataType::LargeBinary)?.as_binary::<i64>(), text)
        }
        DataType::List(_) => column.as_list::<i32>().iter().map(list).collect::<Result<_>>()?,
        DataType::LargeList(_) => column.as_list::<i64>().iter().map(list).collect::<Result<_>>()?,
        DataType::FixedSizeList(..) => column.as_fixed_size_list().iter().map(list).collect::<Result<_>>()?,
        DataType::ListView(_) => column.as_list_view::<i32>().iter().map(list).collect::<Result<_>>()?,
        DataType::LargeListView(_) => column.as_list_view::<i64>().iter().map(list).collect::<Result<_>>()?,
        DataType::Map(..) => maps(column, float)?,
        DataType::Struct(_) => objects(column, float)?,
        DataType::Dictionary(_, kind) => values(&as_kind(kind)?, float)?,
        // Zones are shown by UTC: their names would take a table of all of them.
        DataType::Timestamp(unit, Some(zone)) if &**zone != "+00:00" => {
            values(&as_kind(&DataType::Timestamp(*unit, Some("+00:00".into())))?, float)?
        }
        _ => (0..column.len())
            .map(|row| match column.is_null(row) {
                true => Ok(Value::Null),
                false => Ok(array_value_to_string(column, row)?.into()),
            })
            .collect::<Result<_>>()?,
    })
}

/// Maps as lists of pairs.
fn maps(column: &ArrayRef, float: Float) -> Result<Vec<Value>> {
    let maps = column.as_map().iter().map(|entries| {
        let Some(entries) = entries else { return Ok(Value::Null) };
        let (keys, cells) = (values(entries.column(0), float)?, values(entries.column(1), float)?);
        let pairs = keys.into_iter().zip(cells);
        Ok(pairs.map(|(key, cell)| Value::Array(vec![key, cell])).collect())
    });
    maps.collect()
}

fn objects(column: &ArrayRef, float: Float) -> Result<Vec<Value>> {
    let parts = column.as_struct();
    let mut objects = vec![Map::new(); column.len()];
    for (part, name) in parts.columns().iter().zip(parts.column_names()) {
        for (object, cell) in objects.iter_mut().zip(values(part, float)?) {
            object.insert(name.to_owned(), cell);
        }
    }
    let objects = objects.into_iter().enumerate();
    Ok(objects
        .map(|(row, object)| {
            if parts.is_null(row) {
                Value::Null
            } else {
                Value::Object(object)
            }
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        BinaryArray, Date32Array, Decimal128Array, DictionaryArray, DurationMicrosecondArray, Float32Array,
        Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
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

    #[test]
    fn what_json_has_no_word_for_is_plain_text() {
        let day: i64 = 86_400_000_000;
        let cases: Vec<(ArrayRef, &[&str])> = vec![
            (
                Arc::new(
                    TimestampMicrosecondArray::from(vec![Some(1_700_000_000_000_001), None])
                        .with_timezone("Europe/Berlin"),
                ),
                &["\"2023-11-14T22:13:20.000001Z\"", "null"],
            ),
            (Arc::new(DurationMicrosecondArray::from(vec![day])), &["\"PT86400S\""]),
            (
                Arc::new(BinaryArray::from(vec![Some(&b"it's \xff"[..]), None])),
                &["\"it's \u{fffd}\"", "null"],
            ),
            (
                Arc::new(
                    Decimal128Array::from(vec![-15_000])
                        .with_precision_and_scale(20, 4)
                        .unwrap(),
                ),
                &["\"-1.5000\""],
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
            assert_eq!(is_plain(&kind), !kind.is_floating(), "{kind}");
            assert_eq!(read_back(column), expected, "{kind}");
        }
    }
}
