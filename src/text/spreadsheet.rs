//! Cells that a spreadsheet would run as a formula, marked so that it shows them, and read back as they were.

use std::borrow::Cow;

/// The column that a table of marked cells has beside its own: of each row, how many cells bear a mark.
pub const COLUMN: &str = "spreadsheet_safe";

/// Spreadsheets show what follows it as text; one that a cell begins with itself is doubled.
const MARK: char = '\'';

/// Whether a spreadsheet would run a cell with this text, or glue it to the one before.
pub fn runs(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
}

/// The cell as it is written where cells are marked.
pub fn marked(cell: &str) -> Cow<'_, str> {
    if runs(cell) || cell.starts_with(MARK) {
        Cow::Owned(format!("{MARK}{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

/// The cell as it was before it was marked.
pub fn unmarked(cell: &[u8]) -> &[u8] {
    cell.strip_prefix(&[MARK as u8]).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_cells_come_back_and_none_is_run() {
        for cell in [
            "=1+1", "+A", "-A", "@x", "\tx", "\r", "'x", "''", "x", "", "x=1", "－1", "\n=",
        ] {
            let written = marked(cell);
            assert!(!runs(&written), "{cell:?}");
            assert_eq!(unmarked(written.as_bytes()), cell.as_bytes());
        }
    }
}
