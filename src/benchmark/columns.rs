//! Which column of a file is what: of a published set by its schema, of an own set by the names that people use.

use anyhow::{Result, bail};
use serde_json::Value;

use super::gold::{Asked, Base, Bases, GoldKind};
use super::names::{self, find, plain};
use super::options::{Options, OwnOptions};
use super::table::{Cells, Row, columns_of};
use super::typed::all_columns;
use super::{Benchmark, Form};
use crate::json::{odd_number, python_float};

/// Which column is what, and how the gold is said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    pub form: Form,
    pub question: String,
    pub options: OwnOptions,
    pub gold: String,
    pub gold_kind: GoldKind,
    /// A second column that says the gold.
    pub second: Option<(String, GoldKind)>,
    pub id: Option<String>,
    pub subject: Option<String>,
    pub category: Option<String>,
    pub cot: Option<String>,
    pub examples: Option<String>,
    pub split: Option<String>,
}

/// The columns of an own set before it is known how they say the gold.
#[derive(Debug, Clone)]
pub(super) struct Names {
    all: Vec<String>,
    question: String,
    pub options: OwnOptions,
    /// Columns that may say the gold, by name the likeliest first.
    golds: Vec<String>,
    file: String,
}

impl Columns {
    /// The columns of a published set; an error names those that its rows lack.
    pub fn of_benchmark(benchmark: &Benchmark, rows: &[Row], file: &str) -> Result<Columns> {
        let missing = missing_columns(benchmark, rows);
        if !missing.is_empty() {
            bail!(
                "{file} does not hold {}: it lacks the column{} {} (found: {})",
                benchmark.title,
                if missing.len() == 1 { "" } else { "s" },
                missing.join(", "),
                found_columns(rows)
            );
        }
        let name = |name: &str| Some(name.to_owned());
        let is_pro = benchmark.form == Form::MmluPro;
        let subject = if is_pro { "category" } else { "subject" };
        Ok(Columns {
            form: benchmark.form,
            question: "question".into(),
            options: OwnOptions {
                place: Options::List(if is_pro { "options" } else { "choices" }.into()),
                is_marked: false,
            },
            gold: "answer".into(),
            gold_kind: if is_pro { GoldKind::letter() } else { GoldKind::class() },
            second: is_pro.then(|| ("answer_index".into(), GoldKind::class())),
            id: if is_pro { name("question_id") } else { None },
            subject: name(subject),
            category: name(subject),
            cot: if is_pro { name("cot_content") } else { None },
            examples: None,
            split: None,
        })
    }
}

impl Names {
    /// Recognises the columns of an own set; an error names what its rows lack.
    pub fn of(rows: &[Row], file: &str) -> Result<Names> {
        let all = all_columns(rows);
        let question = find(&all, names::QUESTION).cloned();
        let options = OwnOptions::find(rows, &all);
        let is_taken = |name: &String| {
            question.as_ref() == Some(name)
                || options
                    .as_ref()
                    .is_some_and(|options| options.place.columns().contains(name))
        };
        let golds: Vec<String> = names::GOLD
            .iter()
            .filter_map(|known| all.iter().find(|name| plain(name) == *known && !is_taken(name)))
            .cloned()
            .collect();
        match (question, options) {
            (Some(question), Some(options)) if !golds.is_empty() => Ok(Names {
                all,
                question,
                options,
                golds,
                file: file.to_owned(),
            }),
            (question, options) => {
                let missing = [
                    ("question", question.is_none()),
                    (
                        "options (or option_a, option_b, ...; A, B, ...; choices)",
                        options.is_none(),
                    ),
                    ("gold (or answer)", golds.is_empty()),
                ];
                let missing: Vec<_> = missing.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
                bail!(
                    "{file} is no set of questions: it lacks the column {} (found: {})",
                    missing.join(", and the column "),
                    found_columns(rows)
                );
            }
        }
    }

    /// Where the file says which split a row belongs to.
    pub fn split(&self) -> Option<&String> {
        find(&self.all, names::SPLIT)
    }

    /// Where rows bring examples along.
    pub fn examples(&self) -> Option<&String> {
        find(&self.all, names::EXAMPLES)
    }

    /// How often the numbers of the likeliest gold column name an option.
    pub fn bases(&self, rows: &[Row]) -> Bases {
        let bases = |name: &String| Bases::of(&self.asked(rows, name));
        self.golds
            .iter()
            .map(bases)
            .find(|bases| bases.zero + bases.one > 0)
            .unwrap_or_default()
    }

    /// The columns: gold is what names an option in half of the rows at least, by the likeliest name; else what names
    /// one in most.
    pub fn columns(&self, rows: &[Row], base: Base, usual: Option<&GoldKind>) -> Columns {
        let are_listed = self.options.place.are_listed();
        let usual = usual.map(GoldKind::usual);
        let read = |name: &String| {
            let asked = self.asked(rows, name);
            let kind = GoldKind::find(&asked, are_listed, base, usual);
            let count = asked
                .iter()
                .filter(|asked| asked.is_within(kind.read(asked).index))
                .count();
            (name.clone(), kind, count)
        };
        let mut found: Vec<_> = self.golds.iter().map(read).collect();
        let most = found.iter().map(|(.., count)| *count).max().unwrap_or(0);
        let is_enough = |count: usize| count * 2 >= rows.len() && count > 0;
        let chosen = found.iter().position(|(.., count)| is_enough(*count));
        let chosen = chosen.or_else(|| found.iter().position(|(.., count)| *count == most));
        let (gold, gold_kind, _) = found.remove(chosen.unwrap_or(0));
        let is_second = |name: &str| names::GOLD_INDEX.contains(&plain(name).as_str());
        let second = found
            .into_iter()
            .find(|(name, _, count)| is_second(name) && is_enough(*count))
            .map(|(name, ..)| {
                let kind = self.agreeing(rows, &name, (&gold, &gold_kind));
                (name, kind)
            });
        let category = find(&self.all, names::CATEGORY).cloned();
        let is_free = |name: &&String| !self.options.place.columns().contains(*name);
        Columns {
            form: Form::Custom,
            question: self.question.clone(),
            options: self.options.clone(),
            gold,
            gold_kind,
            second,
            id: find(&self.all, names::ID).cloned(),
            subject: find(&self.all, names::SUBJECT).cloned().or_else(|| category.clone()),
            category,
            cot: find(&self.all, names::COT).filter(is_free).cloned(),
            examples: self.examples().cloned(),
            split: self.split().cloned(),
        }
    }

    /// How a second gold column is meant: counted from where it agrees with the first in more rows.
    fn agreeing(&self, rows: &[Row], name: &str, (gold, kind): (&str, &GoldKind)) -> GoldKind {
        let (asked, golds) = (self.asked(rows, name), self.asked(rows, gold));
        let of_base = |first: i64| {
            let base = Base { first, is_open: false };
            let second = GoldKind::find(&asked, self.options.place.are_listed(), base, None);
            let agrees = |(asked, gold): &(&Asked, &Asked)| {
                gold.is_within(kind.read(gold).index) && second.read(asked).index == kind.read(gold).index
            };
            let count = asked.iter().zip(&golds).filter(agrees).count();
            (second, count)
        };
        let ((from_zero, zero), (from_one, one)) = (of_base(0), of_base(1));
        if one > zero { from_one } else { from_zero }
    }

    /// What was passed over for the gold column.
    pub fn note_on_gold(&self, columns: &Columns) -> Option<String> {
        let first = &self.golds[0];
        (*first != columns.gold).then(|| {
            format!(
                "{}: column {first} names no option in most rows; the gold is read from {}",
                self.file, columns.gold
            )
        })
    }

    fn asked(&self, rows: &[Row], gold: &str) -> Vec<Asked> {
        rows.iter()
            .map(|row| Asked {
                gold: row.get(gold).cloned().unwrap_or_default(),
                choices: self.options.of(row),
            })
            .collect()
    }
}

/// The required columns that no row has.
pub(super) fn missing_columns(benchmark: &Benchmark, rows: &[Row]) -> Vec<&'static str> {
    let has = |column: &&&str| rows.iter().any(|row| row.cells.contains_key(**column));
    benchmark
        .columns
        .iter()
        .filter(|column| !has(column))
        .copied()
        .collect()
}

fn found_columns(rows: &[Row]) -> String {
    rows.first()
        .map_or_else(|| "no rows".to_owned(), |row| columns_of(&row.cells))
}

/// What Python's `str` makes of a value; nothing of `None`.
pub(super) fn python_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().map(python_float).unwrap_or_default(),
        other => match odd_number(other) {
            Some("NaN") => "nan".into(),
            Some(text) if text.ends_with("Infinity") => text.replace("Infinity", "inf"),
            Some(digits) => digits.to_owned(),
            None => other.to_string(),
        },
    }
}

/// A row whose question is an object (`{"stem": ..., "choices": [...]}`) with the parts of it as columns.
pub(super) fn unnested(row: &mut Row) {
    let Some(name) = row.cells.keys().find(|name| names::is_question(name)).cloned() else {
        return;
    };
    let Some(Value::Object(parts)) = row.get(&name).filter(|cell| odd_number(cell).is_none()) else {
        return;
    };
    let mut cells = Cells::new();
    for (part, value) in parts.clone() {
        let part = if names::is_question(&part) || plain(&part) == "content" {
            name.clone()
        } else {
            part
        };
        cells.entry(part).or_insert(value);
    }
    let whole = row.cells.clone();
    for (column, value) in whole.clone() {
        if column != name {
            cells.insert(column, value);
        }
    }
    row.doc.get_or_insert(whole);
    row.cells = cells;
}
