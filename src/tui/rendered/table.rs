//! Tables of bars and dashes, their columns made even.

use std::ops::Range;

use unicode_width::UnicodeWidthStr;

/// A line of a table: where it stands in the text, and how it is shown.
pub type Line = (Range<usize>, String);

/// The table that begins at a line, and where the line after it begins.
pub fn read(text: &str, from: usize) -> Option<(Vec<Line>, usize)> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut at = from;
    while at < text.len() && text[at..].trim_start_matches(' ').starts_with('|') {
        let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
        ranges.push(at..end);
        at = end + 1;
    }
    let rows: Vec<Vec<&str>> = ranges.iter().map(|range| cells(&text[range.clone()])).collect();
    let is_rule = |cell: &&str| cell.contains('-') && cell.chars().all(|c| matches!(c, '-' | ':' | ' '));
    if rows.len() < 2 || !rows[1].iter().all(is_rule) {
        return None;
    }
    let columns = rows.iter().map(Vec::len).max()?;
    let widest = |column: usize| {
        let cells = rows.iter().filter(|row| !row.iter().all(is_rule));
        cells
            .filter_map(|row| Some(row.get(column)?.width()))
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let shown = |row: &Vec<&str>| match row.iter().all(is_rule) {
        true => widths
            .iter()
            .map(|width| "─".repeat(*width))
            .collect::<Vec<_>>()
            .join("─┼─"),
        false => padded(row, &widths),
    };
    let lines = ranges.iter().cloned().zip(rows.iter().map(shown)).collect();
    Some((lines, at))
}

/// Columns of the widest line.
pub fn width(lines: &[Line]) -> usize {
    lines.iter().map(|(_, shown)| shown.width()).max().unwrap_or(0)
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line);
    line.split('|').map(|cell| cell.trim().trim_matches('*')).collect()
}

fn padded(row: &[&str], widths: &[usize]) -> String {
    let cell = |(at, width): (usize, &usize)| {
        let text = row.get(at).copied().unwrap_or_default();
        format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
    };
    widths.iter().enumerate().map(cell).collect::<Vec<_>>().join(" │ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let text = "| a | long name |\n|:--|---:|\n| 12 | 答 |\nafter";
        let (lines, end) = read(text, 0).unwrap();
        let shown: Vec<&str> = lines.iter().map(|(_, shown)| shown.as_str()).collect();
        assert_eq!(shown, ["a  │ long name", "───┼──────────", "12 │ 答       "]);
        assert_eq!(&text[end..], "after");
        assert_eq!(read("| not | a table", 0), None);
        assert_eq!(read("plain", 0), None);
    }
}
