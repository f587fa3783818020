//! The writers of tables.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use unicode_width::UnicodeWidthStr;

use super::{Cell, Column, Table};
use crate::text::{markup, safe_line, spreadsheet};

impl Table {
    /// Columns in line, for a terminal or a pipe.
    pub(super) fn term(&self) -> String {
        let cells = |row: &Vec<Cell>| row.iter().map(|cell| cell.shown(safe_line)).collect::<Vec<_>>();
        let heads: Vec<String> = self.columns.iter().map(|column| safe_line(&column.head)).collect();
        let rows: Vec<Vec<String>> = std::iter::once(heads).chain(self.rows.iter().map(cells)).collect();
        let width = |at: usize| rows.iter().map(|row| row[at].width()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut out = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(out, "{}", safe_line(&self.title));
        }
        for row in rows {
            let mut line = String::new();
            for ((cell, width), column) in row.iter().zip(&widths).zip(&self.columns) {
                let room = " ".repeat(width - cell.width());
                line.push_str(&if column.is_text {
                    format!("{cell}{room}  ")
                } else {
                    format!("{room}{cell}  ")
                });
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        for note in &self.notes {
            let _ = writeln!(out, "{}", safe_line(note));
        }
        out
    }

    pub(super) fn markdown(&self) -> String {
        let row = |cells: &mut dyn Iterator<Item = String>| {
            cells.fold("|".to_owned(), |line, cell| format!("{line} {cell} |"))
        };
        let mut out = String::new();
        if !self.title.is_empty() {
            let _ = writeln!(out, "**{}**\n", markup::markdown(&self.title));
        }
        let heads = &mut self.columns.iter().map(|column| markup::markdown(&column.head));
        let _ = writeln!(out, "{}", row(heads));
        let sides = &mut self
            .columns
            .iter()
            .map(|column| if column.is_text { ":--" } else { "--:" }.to_owned());
        let _ = writeln!(out, "{}", row(sides));
        for cells in &self.rows {
            let _ = writeln!(
                out,
                "{}",
                row(&mut cells.iter().map(|cell| cell.shown(markup::markdown)))
            );
        }
        for note in &self.notes {
            let _ = writeln!(out, "\n{}", markup::markdown(note));
        }
        out
    }

    pub(super) fn latex(&self) -> String {
        let sides: String = self
            .columns
            .iter()
            .map(|column| if column.is_text { 'l' } else { 'r' })
            .collect();
        let row = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let mut out = format!("% needs \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{sides}}}\n\\toprule\n");
        out.push_str(&row(self
            .columns
            .iter()
            .map(|column| markup::latex(&column.head))
            .collect()));
        out.push_str("\\midrule\n");
        for cells in &self.rows {
            out.push_str(&row(cells.iter().map(latex_cell).collect()));
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n");
        for note in std::iter::once(&self.title)
            .filter(|title| !title.is_empty())
            .chain(&self.notes)
        {
            let _ = writeln!(out, "\\par\\footnotesize {}", marks(&markup::latex(note)));
        }
        out
    }

    /// Fractions as they are; limits are two columns. Cells that a spreadsheet would run are marked, as exports do.
    pub(super) fn csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let is_pair = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells
                .into_iter()
                .any(|cell| matches!(cell, Cell::Limits(_) | Cell::SignedLimits(_)))
        };
        let heads = self
            .columns
            .iter()
            .enumerate()
            .flat_map(|(at, Column { key, .. })| match is_pair(at) {
                true => vec![format!("{key}_low"), format!("{key}_high")],
                false => vec![spreadsheet::marked(key).into_owned()],
            });
        writer.write_record(heads)?;
        for row in &self.rows {
            let cells = row.iter().enumerate().flat_map(|(at, cell)| match (cell, is_pair(at)) {
                (Cell::Limits(limits) | Cell::SignedLimits(limits), _) => {
                    limits.map(|limit| limit.to_string()).to_vec()
                }
                (_, true) => vec![String::new(); 2],
                (Cell::Text(text), _) => vec![spreadsheet::marked(text).into_owned()],
                (Cell::Nothing, _) => vec![String::new()],
                (figure, _) => vec![figure.json().to_string()],
            });
            writer.write_record(cells)?;
        }
        String::from_utf8(writer.into_inner().context("a table is not whole")?).context("a table is no text")
    }
}

fn latex_cell(cell: &Cell) -> String {
    match cell {
        Cell::SignedLimits([low, high]) => format!("$[{}, {}]$", super::signed(*low), super::signed(*high)),
        Cell::Limits([low, high]) => format!("{}--{}", super::points(*low), super::points(*high)),
        Cell::Signed(share) => format!("${}$", super::signed(*share)),
        other => marks(&other.shown(markup::latex)),
    }
}

/// The marks of footnotes, in characters that every LaTeX has.
fn marks(text: &str) -> String {
    [
        ("◇", "$\\diamond$"),
        ("±", "$\\pm$"),
        ("★", "$\\star$"),
        ("·", "$\\cdot$"),
        ("→", "$\\to$"),
        ("≥", "$\\ge$"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (mark, latex)| text.replace(mark, latex))
}
