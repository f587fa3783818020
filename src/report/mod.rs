//! A report: one typed value, written as HTML, Markdown and JSON. It says what was measured, how, on what and against what, so
//! that a stranger can repeat the run; what is not known is told, and counted.

mod acceptance;
mod html;
mod markdown;
mod parts;
mod repeat;
mod scored;
mod scores;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use crate::baseline::{Baseline, Gate};
use crate::figure::{Body, Figure, Item};
use crate::published::Published;
use crate::table::Table;

pub use acceptance::{Accepted, CONFIRMED, Confirmation, State};
pub use markdown::figure_file;
pub use scored::Scored;
pub use scores::{by_category, matching, scores};

/// A whole report.
#[derive(Debug, Clone)]
pub struct Report {
    pub title: String,
    /// RFC 3339, and the program that made it.
    pub made: String,
    /// The result in a sentence a run.
    pub head: Vec<String>,
    /// Of the ten checklist items, those that something is missing of, by name.
    pub missing: Vec<String>,
    pub parts: Vec<Part>,
    pub acceptance: Vec<Accepted>,
}

/// The items of the checklist.
pub const ITEMS: usize = 10;

/// A numbered part; its blocks in order.
#[derive(Debug, Clone, Default)]
pub struct Part {
    pub title: String,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
pub enum Block {
    /// A heading within the part: which of several runs.
    Run(String),
    Text(String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// What is not known of the part, and what would tell it.
    Missing(Vec<String>),
    /// A long text under a title, shown when asked for.
    Folded(String, String),
    Table(Table),
    Figure(Box<Figure>),
}

/// What a report is made of.
#[derive(Debug)]
pub struct Source<'a> {
    pub runs: &'a [Scored],
    pub baseline: Option<(&'a Baseline, Vec<Gate>)>,
    pub published: &'a [Published],
    pub confirmed: &'a [Confirmation],
    /// What `check` found, in lines.
    pub warnings: &'a [String],
    /// Whether the runs are in the catalogue; `None` where there is none.
    pub is_entered: Option<bool>,
}

impl Report {
    /// # Errors
    /// When rows or files cannot be read.
    pub fn of(source: &Source) -> Result<Report> {
        let names: Vec<String> = source.runs.iter().map(Scored::title).collect();
        let mut missing = Vec::new();
        let parts = parts::all(source, &mut missing)?;
        let now = chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, false);
        Ok(Report {
            title: names.join(", "),
            made: format!("{now} by markbook {}", env!("CARGO_PKG_VERSION")),
            head: parts::head(source),
            missing,
            parts,
            acceptance: acceptance::judge(source),
        })
    }

    /// One line on the checklist.
    pub fn items(&self) -> String {
        let known = ITEMS - self.missing.len();
        match self.missing.as_slice() {
            [] => format!("checklist: {known} of {ITEMS} items"),
            missing => format!("checklist: {known} of {ITEMS} items; missing: {}", missing.join(", ")),
        }
    }

    /// The whole as JSON; every figure that the HTML shows is in it.
    pub fn json(&self) -> Value {
        let part = |part: &Part| json!({"title": part.title, "blocks": part.blocks.iter().map(Block::json).collect::<Vec<_>>()});
        json!({
            "markbook_report": 1,
            "title": self.title,
            "made": self.made,
            "head": self.head,
            "checklist": {"items": ITEMS, "known": ITEMS - self.missing.len(), "missing": self.missing},
            "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
            "acceptance": self.acceptance,
        })
    }

    /// The figures, in order.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let blocks = self.parts.iter().flat_map(|part| &part.blocks);
        blocks.filter_map(|block| match block {
            Block::Figure(figure) => Some(&**figure),
            _ => None,
        })
    }
}

impl Block {
    fn json(&self) -> Value {
        match self {
            Block::Run(name) => json!({ "run": name }),
            Block::Text(text) => json!({ "text": text }),
            Block::Facts(facts) => json!({ "facts": facts }),
            Block::Missing(missing) => json!({ "missing": missing }),
            Block::Folded(title, text) => json!({ "title": title, "text": text }),
            Block::Table(table) => json!({ "table": table.json() }),
            Block::Figure(figure) => json!({ "figure": figure_json(figure) }),
        }
    }
}

/// A figure's values, without places and colours.
fn figure_json(figure: &Figure) -> Value {
    let item = |item: &Item| match *item {
        Item::Point { at, ink } => json!({"at": at, "of": ink.name()}),
        Item::Interval { low, at, high, ink } => json!({"low": low, "at": at, "high": high, "of": ink.name()}),
        Item::Bar { from, to, ink } => json!({"from": from, "to": to, "of": ink.name()}),
    };
    let body = match &figure.body {
        Body::Chart(chart) => {
            let row = |row: &crate::figure::Row| json!({"label": row.label, "value": row.value, "items": row.items.iter().map(item).collect::<Vec<_>>()});
            let guide = |guide: &crate::figure::Guide| json!({"at": guide.at, "name": guide.name});
            let (rows, guides): (Vec<_>, Vec<_>) = (
                chart.rows.iter().map(row).collect(),
                chart.guides.iter().map(guide).collect(),
            );
            json!({"rows": rows, "guides": guides})
        }
        Body::Grid(grid) => {
            let row = |row: &crate::figure::GridRow| json!({"label": row.label, "counts": row.cells.iter().map(|cell| cell.count).collect::<Vec<_>>()});
            json!({"columns": grid.columns, "rows": grid.rows.iter().map(row).collect::<Vec<_>>()})
        }
    };
    json!({"name": figure.name, "title": figure.title, "says": figure.says, "body": body})
}

/// How an acceptance item reads.
impl Serialize for Accepted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let by_hand = self
            .by_hand
            .as_ref()
            .map(|confirmation| json!({"text": confirmation.text, "at": confirmation.at}));
        json!({"item": self.key, "what": self.what, "state": self.state.word(), "why": self.why, "confirmed": by_hand})
            .serialize(serializer)
    }
}
