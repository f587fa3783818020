//! What a record's fields are as parquet columns, by their types.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float32Type, Int64Type};

use crate::record::{Finish, ServedBy};

/// One value: a cell, or an item of a list.
pub(super) trait Item: Sized {
    const KIND: DataType;

    /// What stands for an item that is null in a list that is not.
    fn absent() -> Self;
    fn array<'a>(items: impl Iterator<Item = Option<&'a Self>>) -> ArrayRef
    where
        Self: 'a;
    /// The value at a place that is not null; none where it is no value of this type.
    fn at(array: &ArrayRef, at: usize) -> Option<Self>;

    fn item(array: &ArrayRef, at: usize) -> Option<Self> {
        array.is_valid(at).then(|| Self::at(array, at)).flatten()
    }
}

macro_rules! items {
    ($($item:ty: $kind:ident, $absent:expr, $array:ident, $give:expr, $take:expr;)*) => {
        $(impl Item for $item {
            const KIND: DataType = DataType::$kind;

            fn absent() -> $item {
                $absent
            }

            fn array<'a>(items: impl Iterator<Item = Option<&'a $item>>) -> ArrayRef {
                Arc::new($array::from_iter(items.map(|item| item.map($give))))
            }

            fn at(array: &ArrayRef, at: usize) -> Option<$item> {
                let take: fn(&ArrayRef, usize) -> Option<$item> = $take;
                take(array, at)
            }
        })*
    };
}

items! {
    String: Utf8, String::new(), StringArray, String::as_str,
        |array, at| Some(array.as_string::<i32>().value(at).to_owned());
    Finish: Utf8, Finish::Error, StringArray, |finish| finish.name(),
        |array, at| Finish::from_name(array.as_string::<i32>().value(at));
    Box<ServedBy>: Utf8, Box::default(), StringArray, |served| serde_json::to_string(served).unwrap_or_default(),
        // A foreign column of this name is none of ours.
        |array, at| serde_json::from_str(array.as_string::<i32>().value(at)).ok();
    i64: Int64, 0, Int64Array, |number| *number, |array, at| Some(array.as_primitive::<Int64Type>().value(at));
    f32: Float32, f32::NAN, Float32Array, |number| *number,
        |array, at| Some(array.as_primitive::<Float32Type>().value(at));
    bool: Boolean, false, BooleanArray, |flag| *flag, |array, at| Some(array.as_boolean().value(at));
}

/// A record's field as a column.
pub(super) trait Cell: Sized + Default {
    const IS_NULLABLE: bool;

    fn kind() -> DataType;
    fn column<'a>(cells: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
    /// The cell at a place of a column of this kind; the default where it is null.
    fn at(column: &ArrayRef, at: usize) -> Self;

    fn field(name: &str) -> Field {
        Field::new(name, Self::kind(), Self::IS_NULLABLE)
    }

    /// The cells of a batch's column; defaults where it has none, or one that holds no lists though it should.
    fn read(batch: &RecordBatch, name: &str) -> Result<Vec<Self>> {
        let wants_list = matches!(Self::kind(), DataType::List(_));
        let column = match batch.column_by_name(name) {
            Some(column) if wants_list && column.as_list_opt::<i32>().is_none() => None,
            Some(_) if wants_list => typed(batch, name, &Self::kind()).unwrap_or_default(),
            _ => typed(batch, name, &Self::kind())?,
        };
        let cell = |at| {
            column
                .as_ref()
                .map_or_else(Self::default, |column| Self::at(column, at))
        };
        Ok((0..batch.num_rows()).map(cell).collect())
    }
}

impl<T: Item + Default> Cell for T {
    const IS_NULLABLE: bool = false;

    fn kind() -> DataType {
        T::KIND
    }

    fn column<'a>(cells: impl Iterator<Item = &'a T>) -> ArrayRef
    where
        T: 'a,
    {
        T::array(cells.map(Some))
    }

    fn at(column: &ArrayRef, at: usize) -> T {
        T::item(column, at).unwrap_or_default()
    }
}

impl<T: Item> Cell for Option<T> {
    const IS_NULLABLE: bool = true;

    fn kind() -> DataType {
        T::KIND
    }

    fn column<'a>(cells: impl Iterator<Item = &'a Option<T>>) -> ArrayRef
    where
        T: 'a,
    {
        T::array(cells.map(Option::as_ref))
    }

    fn at(column: &ArrayRef, at: usize) -> Option<T> {
        T::item(column, at)
    }
}

impl<T: Item> Cell for Vec<T> {
    const IS_NULLABLE: bool = false;

    fn kind() -> DataType {
        Option::<Vec<T>>::kind()
    }

    fn column<'a>(cells: impl Iterator<Item = &'a Vec<T>>) -> ArrayRef
    where
        T: 'a,
    {
        lists(cells.map(Some).collect())
    }

    fn at(column: &ArrayRef, at: usize) -> Vec<T> {
        Option::<Vec<T>>::at(column, at).unwrap_or_default()
    }
}

impl<T: Item> Cell for Option<Vec<T>> {
    const IS_NULLABLE: bool = true;

    fn kind() -> DataType {
        DataType::List(Arc::new(Field::new("item", T::KIND, true)))
    }

    fn column<'a>(cells: impl Iterator<Item = &'a Option<Vec<T>>>) -> ArrayRef
    where
        T: 'a,
    {
        lists(cells.map(Option::as_ref).collect())
    }

    fn at(column: &ArrayRef, at: usize) -> Option<Vec<T>> {
        let list = column.as_list::<i32>();
        list.is_valid(at).then(|| {
            let items = list.value(at);
            let item = |at| T::item(&items, at).unwrap_or_else(T::absent);
            (0..items.len()).map(item).collect()
        })
    }
}

fn lists<T: Item>(cells: Vec<Option<&Vec<T>>>) -> ArrayRef {
    let lengths = cells.iter().map(|cell| cell.map_or(0, Vec::len));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let nulls: NullBuffer = cells.iter().map(Option::is_some).collect();
    let items = T::array(cells.into_iter().flatten().flatten().map(Some));
    let field = Arc::new(Field::new("item", T::KIND, true));
    Arc::new(ListArray::new(field, offsets, items, Some(nulls)))
}

/// A column in the type that is wanted; `None` where the file has no such column.
pub(super) fn typed(batch: &RecordBatch, name: &str, kind: &DataType) -> Result<Option<ArrayRef>> {
    let Some(array) = batch.column_by_name(name) else {
        return Ok(None);
    };
    if array.data_type() == kind {
        return Ok(Some(Arc::clone(array)));
    }
    let cast = cast(array, kind).with_context(|| {
        let held = array.data_type();
        format!("column `{name}` holds {held}, which does not turn into {kind}")
    })?;
    Ok(Some(cast))
}
