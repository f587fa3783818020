//! Comma-separated values with a header of every column that a row has; texts as they are, lists and objects as JSON, null
//! as nothing.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value};

use super::Slice;
use crate::json::{Layout, python_json};

pub(super) fn write(slice: &Slice, out: &mut dyn Write) -> Result<()> {
    let mut header: Map<String, Value> = Map::new();
    slice.each(&mut |row| {
        for name in row
            .keys()
            .filter(|name| !header.contains_key(*name))
            .cloned()
            .collect::<Vec<_>>()
        {
            header.insert(name, Value::Null);
        }
        Ok(())
    })?;
    let mut writer = csv::Writer::from_writer(out);
    if !header.is_empty() {
        writer.write_record(header.keys())?;
    }
    slice.each(&mut |row| {
        let cells = header.keys().map(|name| match row.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => python_json(other, Layout::Dense),
        });
        writer.write_record(cells)?;
        Ok(())
    })?;
    writer.flush()?;
    Ok(())
}
