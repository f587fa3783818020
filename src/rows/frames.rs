//! Tables in JSON that are not a list of rows: written by column, or as lists beside the names of their columns.

use serde_json::Value;

use super::Cells;
use super::names::is_known;

/// The rows of a table that was written by column (`{"question": {"0": ..}}` or `{"question": [..]}`) or as lists beside
/// their names (`{"columns": [..], "data": [[..]]}`, `[["question", ..], [..]]`); `None` for any other value.
pub(crate) fn rows(document: &Value) -> Option<Vec<Cells>> {
    match document {
        Value::Array(lists) => {
            let (names, lists) = lists.split_first()?;
            beside_names(names, lists).filter(|_| are_names(names))
        }
        Value::Object(fields) => {
            let split = || beside_names(fields.get("columns")?, fields.get("data")?.as_array()?);
            split().or_else(|| by_column(fields))
        }
        _ => None,
    }
}

/// Whether the beginning of a document is that of a table by column: a key and what stands first in its value.
pub(crate) fn begins_by_column(key: &str, value: &[u8]) -> bool {
    let inside = value.trim_ascii_start();
    match inside.split_first() {
        Some((b'[', _)) => is_known(key) || key == "columns",
        Some((b'{', rest)) => {
            let first = rest.trim_ascii_start().strip_prefix(b"\"").unwrap_or_default();
            let digits = first.iter().take_while(|byte| byte.is_ascii_digit()).count();
            is_known(key) && digits > 0 && first.get(digits) == Some(&b'"')
        }
        _ => false,
    }
}

fn are_names(names: &Value) -> bool {
    let names = names.as_array().into_iter().flatten();
    names.clone().all(Value::is_string) && names.filter_map(Value::as_str).any(is_known)
}

fn beside_names(names: &Value, lists: &[Value]) -> Option<Vec<Cells>> {
    let names: Vec<&str> = names.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let row = |list: &Value| {
        let cells = list.as_array().filter(|cells| cells.len() == names.len())?;
        Some(
            names
                .iter()
                .map(|name| (*name).to_owned())
                .zip(cells.iter().cloned())
                .collect(),
        )
    };
    lists.iter().map(row).collect()
}

fn by_column(fields: &Cells) -> Option<Vec<Cells>> {
    if !fields.keys().any(|name| is_known(name)) {
        return None;
    }
    let columns: Vec<(&String, Vec<(String, &Value)>)> = fields
        .iter()
        .map(|(name, column)| Some((name, cells(column)?)))
        .collect::<Option<_>>()?;
    let (_, first) = columns.first()?;
    let is_alike = |column: &[(String, &Value)]| {
        column.len() == first.len() && column.iter().zip(first).all(|((a, _), (b, _))| a == b)
    };
    if first.is_empty() || !columns.iter().all(|(_, column)| is_alike(column)) {
        return None;
    }
    let row = |at: usize| {
        columns
            .iter()
            .map(|(name, column)| ((*name).clone(), column[at].1.clone()))
            .collect()
    };
    Some((0..first.len()).map(row).collect())
}

/// The cells of a column under the keys of their rows.
fn cells(column: &Value) -> Option<Vec<(String, &Value)>> {
    match column {
        Value::Object(cells) => Some(cells.iter().map(|(row, cell)| (row.clone(), cell)).collect()),
        Value::Array(cells) => Some(
            cells
                .iter()
                .enumerate()
                .map(|(row, cell)| (row.to_string(), cell))
                .collect(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_by_column_and_lists_beside_names_are_rows() {
        let expected = r#"[{"question":"a","answer":"B"},{"question":"b","answer":"C"}]"#;
        for table in [
            json!({"question": {"0": "a", "1": "b"}, "answer": {"0": "B", "1": "C"}}),
            json!({"question": ["a", "b"], "answer": ["B", "C"]}),
            json!({"columns": ["question", "answer"], "index": [0, 1], "data": [["a", "B"], ["b", "C"]]}),
            json!([["question", "answer"], ["a", "B"], ["b", "C"]]),
        ] {
            assert_eq!(
                serde_json::to_string(&rows(&table).unwrap()).unwrap(),
                expected,
                "{table}"
            );
        }
        for other in [
            json!({"question": "a", "options": ["x", "y"]}),
            json!({"0": {"question": "a"}, "1": {"question": "b"}}),
            json!({"question": {"0": "a"}, "answer": {"1": "B"}}),
            json!([[1, 2], [3, 4]]),
            json!([{"question": "a"}]),
        ] {
            assert!(rows(&other).is_none(), "{other}");
        }
        assert!(begins_by_column("question", b" {\"0\": "));
        assert!(!begins_by_column("q0", b"{\"question\": "));
        assert!(!begins_by_column("0", b"{\"0\": "));
    }
}
