//! One JSON object a row: the source's columns in their order, then the added ones.

use std::io::Write;

use anyhow::Result;

use super::Slice;

pub(super) fn write(slice: &Slice, out: &mut dyn Write) -> Result<()> {
    slice.each(&mut |row| {
        serde_json::to_writer(&mut *out, &row)?;
        out.write_all(b"\n")?;
        Ok(())
    })
}
