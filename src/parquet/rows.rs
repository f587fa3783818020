//! Parquet files of questions as JSON rows, column order kept.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow::util::display::array_value_to_string;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Number, Value};

use super::guard::guarded;

/// Rows that are decoded together.
const TOGETHER: usize = 512;

/// All rows of a parquet file. Whole numbers stay whole, lists become arrays, dates and the like become text.
pub fn read_parquet(path: &Path) -> Result<Vec<Map<String, Value>>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let mut rows = Vec::new();
    each_parquet_row(file, usize::MAX, &mut |row| {
        rows.push(row);
        Ok(())
    })
    .with_context(|| format!("{name} is not a whole parquet file (cut off or damaged; fetch it again)"))?;
    Ok(rows)
}

/// Hands on the first `limit` rows of a parquet file, a few hundred in memory at a time.
pub fn each_parquet_row(
    file: File,
    limit: usize,
    visit: &mut dyn FnMut(Map<String, Value>) -> Result<()>,
) -> Result<()> {
    let builder = guarded(|| Ok(ParquetRecordBatchReaderBuilder::try_new(file)?))?;
    let builder = builder.with_batch_size(TOGETHER.min(limit.max(1))).with_limit(limit);
    let mut reader = guarded(|| Ok(builder.build()?))?;
    while let Some(batch) = guarded(|| Ok(reader.next().transpose()?))? {
        batch_rows(&batch)?.into_iter().try_for_each(&mut *visit)?;
    }
    Ok(())
}

/// The rows of a batch, their columns in the file's order.
pub(super) fn batch_rows(batch: &RecordBatch) -> Result<Vec<Map<String, Value>>> {
    let mut rows = vec![Map::new(); batch.num_rows()];
    for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
        for (row, cell) in rows.iter_mut().zip(values(column)?) {
            row.insert(field.name().clone(), cell);
        }
    }
    Ok(rows)
}

/// The cells of one column as JSON values.
fn values(column: &ArrayRef) -> Result<Vec<Value>> {
    macro_rules! numbers {
        ($kind:ty) => {
            column
                .as_primitive::<$kind>()
                .iter()
                .map(|cell| cell.map_or(Value::Null, Value::from))
                .collect()
        };
    }
    Ok(match column.data_type() {
        DataType::Null => vec![Value::Null; column.len()],
        DataType::Boolean => column
            .as_boolean()
            .iter()
            .map(|cell| cell.map_or(Value::Null, Value::Bool))
            .collect(),
        DataType::Int8 => numbers!(Int8Type),
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::UInt8 => numbers!(UInt8Type),
        DataType::UInt16 => numbers!(UInt16Type),
        DataType::UInt32 => numbers!(UInt32Type),
        DataType::UInt64 => numbers!(UInt64Type),
        DataType::Float16 => column
            .as_primitive::<Float16Type>()
            .iter()
            .map(|cell| float(cell.map(f64::from)))
            .collect(),
        DataType::Float32 => column
            .as_primitive::<Float32Type>()
            .iter()
            .map(|cell| float(cell.map(f64::from)))
            .collect(),
        DataType::Float64 => column.as_primitive::<Float64Type>().iter().map(float).collect(),
        DataType::Binary => column.as_binary::<i32>().iter().map(bytes).collect(),
        DataType::LargeBinary => column.as_binary::<i64>().iter().map(bytes).collect(),
        DataType::BinaryView => column.as_binary_view().iter().map(bytes).collect(),
        DataType::Utf8 => column.as_string::<i32>().iter().map(text).collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().map(text).collect(),
        DataType::Utf8View => column.as_string_view().iter().map(text).collect(),
        DataType::List(_) => column.as_list::<i32>().iter().map(list).collect::<Result<_>>()?,
        DataType::LargeList(_) => column.as_list::<i64>().iter().map(list).collect::<Result<_>>()?,
        DataType::FixedSizeList(..) => column.as_fixed_size_list().iter().map(list).collect::<Result<_>>()?,
        DataType::Struct(fields) => {
            let parts = column.as_struct();
            let cells = parts.columns().iter().map(values).collect::<Result<Vec<_>>>()?;
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
        DataType::Dictionary(_, kind) => values(&cast(column, kind)?)?,
        _ => (0..column.len())
            .map(|row| {
                if column.is_null(row) {
                    Ok(Value::Null)
                } else {
                    array_value_to_string(column, row).map(Value::from)
                }
            })
            .collect::<Result<_, _>>()?,
    })
}

/// Numbers that JSON lacks become their name.
fn float(cell: Option<f64>) -> Value {
    let number = |number: f64| Number::from_f64(number).map_or_else(|| number.to_string().into(), Value::Number);
    cell.map_or(Value::Null, number)
}

fn bytes(cell: Option<&[u8]>) -> Value {
    cell.map_or(Value::Null, |bytes| String::from_utf8_lossy(bytes).into())
}

fn text(cell: Option<&str>) -> Value {
    cell.map_or(Value::Null, Value::from)
}

fn list(cell: Option<ArrayRef>) -> Result<Value> {
    cell.map_or(Ok(Value::Null), |items| values(&items).map(Value::Array))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Date32Array, DictionaryArray, Float32Array, Int64Array, ListArray, StringArray, StructArray};
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
}
