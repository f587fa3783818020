//! A table as a value, written five ways: for a terminal, Markdown, CSV, LaTeX (`booktabs`) and JSON. Readers get points,
//! machines get fractions; names are foreign text and escaped for whatever language they come to stand in.

mod write;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Forms of a table, by the name of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Term,
    Md,
    Csv,
    Latex,
    Json,
}

impl Format {
    const ALL: [(&str, Format); 5] = [
        ("term", Format::Term),
        ("md", Format::Md),
        ("csv", Format::Csv),
        ("latex", Format::Latex),
        ("json", Format::Json),
    ];

    /// # Errors
    /// For a name that is not known, with those that are.
    pub fn parse(name: &str) -> Result<Format> {
        let known = Format::ALL.map(|(known, _)| known).join(", ");
        let found = Format::ALL.into_iter().find(|(known, _)| *known == name);
        found
            .map(|(_, format)| format)
            .with_context(|| format!("no format `{name}`; known are {known}"))
    }

    /// The form that a file's name asks for.
    pub fn of_ending(ending: &str) -> Option<Format> {
        let name = match ending {
            "tex" => "latex",
            "txt" => "term",
            other => other,
        };
        Format::parse(name).ok()
    }
}

/// A column: its head, and the name of its values for machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub head: String,
    pub key: String,
    /// Texts stand left, numbers right.
    pub is_text: bool,
}

/// A column of texts.
pub fn text(head: &str) -> Column {
    Column {
        is_text: true,
        ..number(head)
    }
}

/// A column of figures.
pub fn number(head: &str) -> Column {
    Column {
        head: head.to_owned(),
        key: head.replace(' ', "_"),
        is_text: false,
    }
}

impl Column {
    /// Under another name for machines.
    #[must_use]
    pub fn key(self, key: &str) -> Column {
        Column {
            key: key.to_owned(),
            ..self
        }
    }
}

/// What stands in a cell. Fractions lie in 0-1 and are shown as points.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Cell {
    #[default]
    Nothing,
    Text(String),
    Count(usize),
    /// With a mark that a footnote explains.
    Points(f64, &'static str),
    Signed(f64),
    Limits([f64; 2]),
    SignedLimits([f64; 2]),
    /// The chance of a test.
    Chance(f64),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// A share as points; nothing where there is none.
    pub fn points(share: Option<f64>) -> Cell {
        share.map_or(Cell::Nothing, |share| Cell::Points(share, ""))
    }

    /// The cell as it is read, foreign text put through `escape`.
    pub fn shown(&self, escape: impl Fn(&str) -> String) -> String {
        match self {
            Cell::Nothing => String::new(),
            Cell::Text(text) => escape(text),
            Cell::Count(count) => crate::text::thousands(*count),
            Cell::Points(share, mark) if mark.is_empty() => points(*share),
            Cell::Points(share, mark) => format!("{} {}", points(*share), escape(mark)),
            Cell::Signed(share) => signed(*share),
            Cell::Limits([low, high]) => format!("{} - {}", points(*low), points(*high)),
            Cell::SignedLimits([low, high]) => format!("{} to {}", signed(*low), signed(*high)),
            Cell::Chance(p) => chance(*p),
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::Nothing => Value::Null,
            Cell::Text(text) => text.clone().into(),
            Cell::Count(count) => (*count).into(),
            Cell::Points(number, _) | Cell::Signed(number) | Cell::Chance(number) => (*number).into(),
            Cell::Limits(limits) | Cell::SignedLimits(limits) => json!(limits),
        }
    }
}

/// A fraction in points with one decimal, as every screen has it.
pub fn points(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// The same of a difference, always with its sign; none is written `-0.0`.
pub fn signed(share: f64) -> String {
    let text = format!("{:+.1}", 100.0 * share);
    if text == "-0.0" { "+0.0".to_owned() } else { text }
}

/// The chance of a test.
pub fn chance(p: f64) -> String {
    match p {
        p if p >= 0.1 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.0e}"),
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// Lines below it: what marks mean, what a reader must know.
    pub notes: Vec<String>,
}

impl Table {
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Table {
        Table {
            title: title.into(),
            columns,
            ..Table::default()
        }
    }

    /// Rows as objects by the columns' keys, with title and notes.
    pub fn json(&self) -> Value {
        let row = |cells: &Vec<Cell>| -> Map<String, Value> {
            self.columns
                .iter()
                .zip(cells)
                .map(|(column, cell)| (column.key.clone(), cell.json()))
                .collect()
        };
        json!({
            "title": self.title,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    /// The whole table in this form, ending in a line break.
    ///
    /// # Errors
    /// Where a cell cannot be written as CSV.
    pub fn write(&self, format: Format) -> Result<String> {
        match format {
            Format::Term => Ok(self.term()),
            Format::Md => Ok(self.markdown()),
            Format::Latex => Ok(self.latex()),
            Format::Csv => self.csv(),
            Format::Json => Ok(format!("{:#}\n", self.json())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "=cmd|a_b & <script>\u{1b}[2J";

    fn table() -> Table {
        let mut table = Table::new(
            "Scores",
            vec![
                text("model"),
                number("ours"),
                number("95 % of delta").key("ci95_delta"),
                number("n"),
            ],
        );
        table.rows = vec![
            vec![
                Cell::text(HOSTILE),
                Cell::Points(0.4824, "◇"),
                Cell::SignedLimits([-0.0201, 0.0351]),
                Cell::Count(1254),
            ],
            vec![Cell::text("b"), Cell::Nothing, Cell::Nothing, Cell::Count(5)],
        ];
        table.notes = vec!["◇ told without rows".to_owned()];
        table
    }

    #[test]
    fn every_form_has_the_figures_and_no_foreign_text_is_mark_up_in_it() {
        let written = |format| table().write(format).unwrap();
        for format in [Format::Term, Format::Md, Format::Latex] {
            let text = written(format);
            let limits = if format == Format::Latex {
                "$[-2.0, +3.5]$"
            } else {
                "-2.0 to +3.5"
            };
            assert!(
                text.contains("48.2") && text.contains("1,254") && text.contains(limits),
                "{text}"
            );
            assert!(!text.contains('\u{1b}') && text.contains("told without rows"), "{text}");
        }
        assert!(
            written(Format::Md).contains("=cmd\\|a\\_b &amp; &lt;script&gt;␛\\[2J"),
            "{}",
            written(Format::Md)
        );
        assert!(written(Format::Latex).contains("=cmd|a\\_b \\& \\textless{}script\\textgreater{}"));
        let csv = written(Format::Csv);
        assert!(
            csv.starts_with("model,ours,ci95_delta_low,ci95_delta_high,n\n"),
            "{csv}"
        );
        assert!(
            csv.contains("'=cmd") && csv.contains("0.4824,-0.0201,0.0351,1254"),
            "{csv}"
        );
        let json: Value = serde_json::from_str(&written(Format::Json)).unwrap();
        assert_eq!(
            (json["rows"][0]["model"].as_str(), json["rows"][0]["ours"].as_f64()),
            (Some(HOSTILE), Some(0.4824))
        );
        assert_eq!(json["rows"][1]["ours"], Value::Null);
    }

    #[test]
    fn an_unknown_form_is_refused_with_those_that_are_known() {
        assert!(
            Format::parse("xml")
                .unwrap_err()
                .to_string()
                .contains("term, md, csv, latex, json")
        );
        assert_eq!(
            (Format::of_ending("tex"), Format::of_ending("png")),
            (Some(Format::Latex), None)
        );
    }

    #[test]
    fn nothing_is_written_as_less_than_nothing() {
        assert_eq!(
            (signed(-0.0001), signed(0.0075), chance(0.25), chance(2e-19)),
            ("+0.0".into(), "+0.8".into(), "0.25".into(), "2e-19".into())
        );
    }
}
