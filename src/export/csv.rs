//! Comma-separated values with a header; texts as they are, lists and objects as JSON, null as nothing.

use std::io::Write;

use anyhow::Result;
use serde_json::Value;

use super::Slice;

pub(super) fn write(slice: &Slice, out: &mut dyn Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let mut header: Option<Vec<String>> = None;
    slice.each(&mut |row| {
        if header.is_none() {
            let names: Vec<String> = row.keys().cloned().collect();
            writer.write_record(&names)?;
            header = Some(names);
        }
        let cells = header.iter().flatten().map(|name| match row.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        });
        writer.write_record(cells)?;
        Ok(())
    })?;
    writer.flush()?;
    Ok(())
}
