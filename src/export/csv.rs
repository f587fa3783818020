//! Comma-separated values with a header of every column that a row has; texts as they are, lists and objects as JSON, null
//! as nothing. Where asked for, texts that a spreadsheet would run are marked, and a column of its own says so.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value};

use super::Slice;
use crate::json::{Layout, python_json};
use crate::text::spreadsheet;

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
    let is_safe = slice.options.spreadsheet_safe;
    let mark = |cell: &str, marks: &mut usize| match spreadsheet::marked(cell) {
        Cow::Owned(marked) if is_safe => {
            *marks += 1;
            marked
        }
        _ => {
            let formulas = slice.formulas.get() + usize::from(spreadsheet::runs(cell));
            slice.formulas.set(formulas);
            cell.to_owned()
        }
    };
    let mut writer = csv::Writer::from_writer(out);
    if !header.is_empty() {
        let columns = header.keys().map(|name| mark(name, &mut 0));
        let own = is_safe.then(|| spreadsheet::COLUMN.to_owned());
        writer.write_record(columns.chain(own))?;
    }
    slice.each(&mut |row| {
        let mut marks = 0;
        let cells = header.keys().map(|name| match row.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => mark(text, &mut marks),
            Some(other) => python_json(other, Layout::Dense),
        });
        let mut cells: Vec<String> = cells.collect();
        cells.extend(is_safe.then(|| marks.to_string()));
        writer.write_record(cells)?;
        Ok(())
    })?;
    writer.flush()?;
    Ok(())
}
