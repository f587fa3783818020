//! What Python's `datasets` makes of the rows of a file before the harness hashes them: JSON rows get all columns of
//! their file, CSV cells the type of their column.

use std::collections::HashSet;

use serde_json::Value;

use super::table::Row;
use crate::json::{float, odd_number, whole};
use crate::rows::Cells;

/// Gives each JSON row the columns that other rows have (as null), and numbers of one column one type.
pub(super) fn type_json(rows: &mut [Row]) {
    let columns = all_columns(rows);
    let is_whole = |row: &Row| row.cells.keys().eq(columns.iter());
    let types: Vec<_> = columns
        .iter()
        .map(|column| Type::of(&mut rows.iter().filter_map(|row| row.cells.get(column))))
        .collect();
    if rows.iter().all(is_whole) && types.iter().all(|kind| *kind == Type::AsItIs) {
        return;
    }
    for row in rows {
        let cells = columns.iter().zip(&types).map(|(column, kind)| {
            let cell = row.cells.get(column).unwrap_or(&Value::Null);
            (column.clone(), kind.give(cell))
        });
        row.doc = Some(cells.collect());
    }
}

/// The columns of all rows, in order of appearance.
pub(super) fn all_columns(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for name in rows.iter().flat_map(|row| row.cells.keys()) {
        if seen.insert(name) {
            names.push(name.clone());
        }
    }
    names
}

/// What the cells of a JSON column become.
#[derive(Debug, PartialEq)]
enum Type {
    AsItIs,
    /// Whole numbers among floats are floats.
    Float,
    List(Box<Type>),
    Object(Vec<(String, Type)>),
}

impl Type {
    fn of(cells: &mut dyn Iterator<Item = &Value>) -> Type {
        let cells: Vec<&Value> = cells.filter(|cell| !cell.is_null()).collect();
        let all = |is: &dyn Fn(&Value) -> bool| !cells.is_empty() && cells.iter().all(|cell| is(cell));
        let is_float = |cell: &Value| cell.is_f64() || odd_number(cell).is_some_and(|text| text.ends_with(['N', 'y']));
        let is_number = |cell: &Value| cell.is_number() || odd_number(cell).is_some();
        if all(&is_number) {
            let is_mixed = cells.iter().any(|cell| is_float(cell)) && !all(&is_float);
            return if is_mixed { Type::Float } else { Type::AsItIs };
        }
        if all(&Value::is_array) {
            let inner = Type::of(&mut cells.iter().filter_map(|cell| cell.as_array()).flatten());
            return match inner {
                Type::AsItIs => Type::AsItIs,
                inner => Type::List(Box::new(inner)),
            };
        }
        let objects: Vec<&Cells> = cells.iter().filter_map(|cell| cell.as_object()).collect();
        let Some(first) = objects.first().filter(|_| objects.len() == cells.len()) else {
            return Type::AsItIs;
        };
        let has_same_keys =
            |object: &&Cells| object.len() == first.len() && first.keys().all(|key| object.contains_key(key));
        if !objects.iter().all(has_same_keys) {
            return Type::AsItIs;
        }
        let parts: Vec<_> = first
            .keys()
            .map(|key| {
                (
                    key.clone(),
                    Type::of(&mut objects.iter().filter_map(|object| object.get(key))),
                )
            })
            .collect();
        let is_ordered = objects.iter().all(|object| object.keys().eq(first.keys()));
        if is_ordered && parts.iter().all(|(_, part)| *part == Type::AsItIs) {
            Type::AsItIs
        } else {
            Type::Object(parts)
        }
    }

    fn give(&self, cell: &Value) -> Value {
        match (self, cell) {
            (Type::Float, Value::Number(number)) => number.as_f64().map_or(Value::Null, float),
            (Type::Float, odd) => match odd_number(odd).and_then(|text| text.parse::<f64>().ok()) {
                Some(number) if number.is_finite() => float(number),
                _ => odd.clone(),
            },
            (Type::List(inner), Value::Array(items)) => items.iter().map(|item| inner.give(item)).collect(),
            (Type::Object(parts), Value::Object(object)) => parts
                .iter()
                .map(|(key, part)| (key.clone(), part.give(object.get(key).unwrap_or(&Value::Null))))
                .collect(),
            _ => cell.clone(),
        }
    }
}

/// The columns whose texts all are dates: Python's `datasets` would make moments of them, here they stay as they are.
pub(super) fn dated_columns(rows: &[Row]) -> Vec<String> {
    let is_dated = |text: &str| match text.as_bytes() {
        [year @ .., b'-', _, _, b'-', _, _] => year.len() == 4 && year.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    let mut columns = all_columns(rows);
    columns.retain(|column| {
        let mut cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .filter(|cell| !cell.is_null())
            .peekable();
        let begins = |cell: &Value| cell.as_str().is_some_and(|text| text.get(..10).is_some_and(is_dated));
        cells.peek().is_some() && cells.all(begins)
    });
    columns
}

/// What pandas takes for no value.
const MISSING: &[&str] = &[
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// Gives the texts of each CSV column the type that pandas finds for it; columns under the names that it gives them.
pub(super) fn type_csv(header: &[String], rows: &mut [Row], cells: &[Vec<String>]) {
    let mut docs = vec![Cells::new(); rows.len()];
    for (index, name) in pandas_names(header).into_iter().enumerate() {
        let texts: Vec<Option<&str>> = cells
            .iter()
            .map(|row| {
                row.get(index)
                    .map(String::as_str)
                    .filter(|text| !MISSING.contains(text))
            })
            .collect();
        for (doc, value) in docs.iter_mut().zip(column_values(&texts)) {
            doc.insert(name.clone(), value);
        }
    }
    for (row, doc) in rows.iter_mut().zip(docs) {
        row.doc = (doc != row.cells).then_some(doc);
    }
}

/// Names as pandas has them: `Unnamed: 3` for none, `x.1` for a second `x`.
pub(super) fn pandas_names(header: &[String]) -> Vec<String> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut names = Vec::with_capacity(header.len());
    for (index, name) in header.iter().enumerate() {
        let base = if name.is_empty() {
            format!("Unnamed: {index}")
        } else {
            name.clone()
        };
        let mut name = base.clone();
        let mut count = 0;
        while seen.contains(&name) || count > 0 && header.contains(&name) {
            count += 1;
            name = format!("{base}.{count}");
        }
        seen.insert(name.clone());
        names.push(name);
    }
    names
}

fn column_values(texts: &[Option<&str>]) -> Vec<Value> {
    let present = || texts.iter().flatten().map(|text| text.trim_matches(' '));
    let is_full = texts.iter().all(Option::is_some);
    let give = |value: &dyn Fn(&str) -> Value| texts.iter().map(|text| text.map_or(Value::Null, value)).collect();
    if present().next().is_none() {
        return vec![Value::Null; texts.len()];
    }
    if is_full && present().all(|text| digits_of(text).is_some()) {
        let is_signed = present().any(|text| text.starts_with('-'));
        let is_wide = present().any(|text| digits_of(text).is_some_and(|digits| digits.parse::<i64>().is_err()));
        // Numbers of both kinds fit no type of pandas: their texts stay.
        if !(is_signed && is_wide) {
            return give(&|text| digits_of(text.trim_matches(' ')).map_or(Value::Null, |digits| whole(&digits)));
        }
    } else if let Some(numbers) = present().map(pandas_float).collect::<Option<Vec<f64>>>() {
        let mut numbers = numbers.into_iter();
        return texts
            .iter()
            .map(|text| text.and_then(|_| numbers.next()).map_or(Value::Null, float))
            .collect();
    } else if present().all(|text| pandas_bool(text).is_some()) {
        return give(&|text| pandas_bool(text.trim_matches(' ')).map_or(Value::Null, Value::Bool));
    }
    give(&|text| text.into())
}

/// The digits of a whole number, as Python writes them.
fn digits_of(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match digits.trim_start_matches('0') {
        "" => Some("0".into()),
        digits => Some(format!("{sign}{digits}")),
    }
}

fn pandas_float(text: &str) -> Option<f64> {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_infinite = bare.eq_ignore_ascii_case("inf") || bare.eq_ignore_ascii_case("infinity");
    let is_number = bare.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    (is_infinite || is_number).then(|| text.parse().ok())?
}

fn pandas_bool(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else {
        text.eq_ignore_ascii_case("false").then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are those of pandas.
    #[test]
    fn csv_columns_have_the_types_that_pandas_finds() {
        for (texts, expected) in [
            (vec!["1", " -2", "+3"], "[1,-2,3]"),
            (vec!["1", "", "3"], "[1.0,null,3.0]"),
            (vec!["007", "-0"], "[7,0]"),
            (vec!["1.", ".5", "2E-2"], "[1.0,0.5,0.02]"),
            (vec!["inf", "-Infinity", "nan"], r"[Infinity,-Infinity,null]"),
            (vec!["1e400", "1"], r"[Infinity,1.0]"),
            (vec!["True", "FALSE", ""], "[true,false,null]"),
            (vec!["True", "1"], r#"["True","1"]"#),
            (vec!["NA", "None", "none", "x"], r#"[null,null,"none","x"]"#),
            (vec!["", "NULL"], "[null,null]"),
            (vec!["9223372036854775808", "1"], "[9223372036854775808,1]"),
            (vec!["9223372036854775808", "-1"], r#"["9223372036854775808","-1"]"#),
            (vec!["1_000", "0x10"], r#"["1_000","0x10"]"#),
            (vec![" a", "b "], r#"[" a","b "]"#),
        ] {
            let texts: Vec<Option<&str>> = texts
                .into_iter()
                .map(|text| (!MISSING.contains(&text)).then_some(text))
                .collect();
            let values = Value::Array(column_values(&texts));
            assert_eq!(crate::json::python_json(&values, crate::json::Layout::Dense), expected);
        }
        let header: Vec<String> = ["x", "", "x", "x.1"].map(str::to_owned).into();
        assert_eq!(pandas_names(&header), ["x", "Unnamed: 1", "x.2", "x.1"]);
    }
}
