//! Parquet files of a case: columns with the types that it names, or rows of JSON with the types that fit.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use parquet::arrow::ArrowWriter;
use serde_json::{Map, Value};

/// Writes columns as `{"name": ["int64", [1, 2]]}` gives them.
pub(super) fn write_columns(columns: &Map<String, Value>, path: &Path) {
    let columns = columns.iter().map(|(name, column)| {
        let values = column[1].as_array().unwrap();
        (name.clone(), array(&kind(column[0].as_str().unwrap()), values))
    });
    write(columns.collect(), path);
}

/// Writes rows of JSON, one a line.
pub(super) fn write_rows(lines: &str, path: &Path) {
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kind = rows
        .iter()
        .fold(DataType::Null, |kind, row| merged(&kind, &kind_of(row)));
    let DataType::Struct(fields) = &kind else {
        panic!("rows are objects")
    };
    let cells = |field: &Field| rows.iter().map(|row| row[field.name()].clone()).collect::<Vec<_>>();
    let columns = fields
        .iter()
        .map(|field| (field.name().clone(), array(field.data_type(), &cells(field))));
    write(columns.collect(), path);
}

fn write(columns: Vec<(String, ArrayRef)>, path: &Path) {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// The type of a name such as `int64`, `float64`, `large_string`, `dictionary`, `list<string>`.
fn kind(name: &str) -> DataType {
    if let Some(inner) = name.strip_prefix("list<").and_then(|rest| rest.strip_suffix('>')) {
        return list_of(kind(inner));
    }
    match name {
        "int64" => DataType::Int64,
        "int32" => DataType::Int32,
        "int8" => DataType::Int8,
        "float64" | "double" => DataType::Float64,
        "float32" | "float" => DataType::Float32,
        "bool" => DataType::Boolean,
        "string" => DataType::Utf8,
        "large_string" => DataType::LargeUtf8,
        "dictionary" | "category" | "categorical" => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        other => panic!("no type {other}"),
    }
}

fn list_of(inner: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", inner, true)))
}

/// The type that fits a value.
fn kind_of(value: &Value) -> DataType {
    match value {
        Value::Null => DataType::Null,
        Value::Bool(_) => DataType::Boolean,
        Value::Number(number) if number.is_f64() => DataType::Float64,
        Value::Number(_) => DataType::Int64,
        Value::String(_) => DataType::Utf8,
        Value::Array(items) => list_of(
            items
                .iter()
                .fold(DataType::Null, |kind, item| merged(&kind, &kind_of(item))),
        ),
        Value::Object(object) => DataType::Struct(
            object
                .iter()
                .map(|(name, value)| Field::new(name, kind_of(value), true))
                .collect(),
        ),
    }
}

/// The type that fits both.
fn merged(a: &DataType, b: &DataType) -> DataType {
    match (a, b) {
        (DataType::Null, other) | (other, DataType::Null) => other.clone(),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => DataType::Float64,
        (DataType::List(a), DataType::List(b)) => list_of(merged(a.data_type(), b.data_type())),
        (DataType::Struct(a), DataType::Struct(b)) => {
            let mut fields: Vec<Field> = a.iter().map(|field| field.as_ref().clone()).collect();
            for field in b {
                match fields.iter_mut().find(|known| known.name() == field.name()) {
                    Some(known) => known.set_data_type(merged(known.data_type(), field.data_type())),
                    None => fields.push(field.as_ref().clone()),
                }
            }
            DataType::Struct(Fields::from(fields))
        }
        _ => a.clone(),
    }
}

/// The values as an array of this type; "NaN" is the number.
fn array(kind: &DataType, values: &[Value]) -> ArrayRef {
    let number = |value: &Value| match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        _ => value.as_f64(),
    };
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    match kind {
        DataType::Boolean => Arc::new(values.iter().map(Value::as_bool).collect::<BooleanArray>()),
        DataType::Int64 => Arc::new(values.iter().map(Value::as_i64).collect::<Int64Array>()),
        DataType::Int32 => {
            let values = values.iter().map(|value| value.as_i64().map(|number| number as i32));
            Arc::new(values.collect::<Int32Array>())
        }
        DataType::Float64 => Arc::new(values.iter().map(number).collect::<Float64Array>()),
        DataType::Float32 => {
            let values = values.iter().map(|value| number(value).map(|number| number as f32));
            Arc::new(values.collect::<Float32Array>())
        }
        DataType::Utf8 => Arc::new(values.iter().map(text).collect::<StringArray>()),
        DataType::List(field) => list(field, values),
        DataType::Struct(fields) => structure(fields, values),
        DataType::Null => new_null_array(&DataType::Utf8, values.len()),
        DataType::Int8 => cast(&array(&DataType::Int64, values), kind).unwrap(),
        _ => cast(&array(&DataType::Utf8, values), kind).unwrap(),
    }
}

fn list(field: &Arc<Field>, values: &[Value]) -> ArrayRef {
    let lists: Vec<Vec<Value>> = values
        .iter()
        .map(|value| value.as_array().cloned().unwrap_or_default())
        .collect();
    let items: Vec<ArrayRef> = lists.iter().map(|list| array(field.data_type(), list)).collect();
    let items: Vec<&dyn arrow::array::Array> = items.iter().map(AsRef::as_ref).collect();
    let items = concat(&items).unwrap();
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
    let valid = values.iter().map(|value| !value.is_null()).collect::<Vec<bool>>();
    Arc::new(ListArray::new(field, offsets, items, Some(valid.into())))
}

fn structure(fields: &Fields, values: &[Value]) -> ArrayRef {
    if fields.is_empty() {
        return new_null_array(&DataType::Utf8, values.len());
    }
    let cells = |name: &str| values.iter().map(|value| value[name].clone()).collect::<Vec<_>>();
    let arrays: Vec<ArrayRef> = fields
        .iter()
        .map(|field| array(field.data_type(), &cells(field.name())))
        .collect();
    let fields: Fields = fields
        .iter()
        .zip(&arrays)
        .map(|(field, array)| Field::new(field.name(), array.data_type().clone(), true))
        .collect();
    let valid = values.iter().map(|value| !value.is_null()).collect::<Vec<bool>>();
    Arc::new(StructArray::new(fields, arrays, Some(valid.into())))
}
