//! One JSON object a row: the source's columns in their order and as they are written there, then the added ones.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value};

use super::Slice;
use crate::trace::as_line;

pub(super) fn write(slice: &Slice, out: &mut dyn Write) -> Result<()> {
    for chunk in slice.chunks() {
        for (row, line) in chunk.iter().zip(slice.source_lines(chunk)?) {
            let mut added = Map::new();
            slice.add(*row, &mut added)?;
            out.write_all(&with_added(line, &added)?)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Puts columns at the end of an object; one that is there already is replaced.
fn with_added(mut line: Vec<u8>, added: &Map<String, Value>) -> Result<Vec<u8>> {
    if added.is_empty() {
        return Ok(line);
    }
    let is_there = |name: &String| {
        let name = format!("{}:", Value::from(name.as_str()));
        memchr::memmem::find(&line, name.as_bytes()).is_some()
    };
    if added.keys().any(is_there)
        && let Ok(mut fields) = serde_json::from_slice::<Map<String, Value>>(&line)
    {
        fields.extend(added.clone());
        return Ok(as_line(fields));
    }
    let added = as_line(added.clone());
    line.pop();
    if line.len() > 1 {
        line.push(b',');
    }
    line.extend_from_slice(&added[1..]);
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_columns_stand_last_and_leave_the_source_as_it_is_written() {
        let added = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), Value::from(1))).collect();
        let with = |line: &str, names: &[&str]| {
            String::from_utf8(with_added(line.as_bytes().to_vec(), &added(names)).unwrap()).unwrap()
        };
        assert_eq!(
            with(r#"{"a":1.50,"b":"\ud83d"}"#, &["why"]),
            r#"{"a":1.50,"b":"\ud83d","why":1}"#
        );
        assert_eq!(with("{}", &["x", "y"]), r#"{"x":1,"y":1}"#);
        assert_eq!(with(r#"{"why":null,"a":2}"#, &["why"]), r#"{"why":1,"a":2}"#);
        assert_eq!(with(r#"{"a":1.50}"#, &[]), r#"{"a":1.50}"#);
    }
}
