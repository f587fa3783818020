//! Which column of a file is what: of a published set by its schema, of an own set by the names that people use.

use anyhow::{Result, bail};
use serde_json::Value;

use super::table::{Row, columns_of};
use super::typed::all_columns;
use super::{Benchmark, Form};
use crate::json::{odd_number, python_text};
use crate::rows::Cells;
use crate::rows::names::{self, find, plain};
use crate::rows::naming::{Asked, Base, Bases, Naming};
use crate::rows::nothing::is_nothing;
use crate::rows::options::{Options, OwnOptions, read_choices};

/// Which column is what, and how the gold is said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    pub form: Form,
    pub question: String,
    pub options: OwnOptions,
    pub gold: String,
    pub gold_kind: Naming,
    /// A second column that says the gold.
    pub second: Option<(String, Naming)>,
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
            gold_kind: if is_pro { Naming::letter() } else { Naming::class() },
            second: is_pro.then(|| ("answer_index".into(), Naming::class())),
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
        let cells: Vec<&Cells> = rows.iter().map(|row| &row.cells).collect();
        let options = OwnOptions::find(&cells, &all);
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
                if let Some(broken) = broken_options(rows, &all).filter(|_| options.is_none()) {
                    bail!("{file} is no set of questions: {broken}");
                }
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
    pub fn columns(&self, rows: &[Row], base: Base, usual: Option<&Naming>) -> Columns {
        let are_listed = self.options.place.are_listed();
        let usual = usual.map(Naming::usual);
        let read = |name: &String| {
            let asked = self.asked(rows, name);
            let kind = Naming::find(&asked, are_listed, base, usual);
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
        let is_index = |name: &str| names::GOLD_INDEX.contains(&plain(name).as_str());
        let second = found
            .into_iter()
            .filter(|(name, _, count)| *count > 0 && (!is_index(name) || is_enough(*count)))
            .map(|(name, ..)| self.agreeing(rows, name, (&gold, &gold_kind)))
            .find(|second| is_index(&second.name) || second.is_mended(rows.len()))
            .map(|second| (second.name, second.naming));
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
    fn agreeing(&self, rows: &[Row], name: String, (gold, kind): (&str, &Naming)) -> Second {
        let (asked, golds) = (self.asked(rows, &name), self.asked(rows, gold));
        let of_base = |first: i64| {
            let base = Base { first, is_open: false };
            let naming = Naming::find(&asked, self.options.place.are_listed(), base, None);
            let agrees = |(asked, gold): &(&Asked, &Asked)| {
                gold.is_within(kind.read(gold).index) && naming.read(asked).index == kind.read(gold).index
            };
            let agree = asked.iter().zip(&golds).filter(agrees).count();
            Second {
                name: name.clone(),
                filled: asked
                    .iter()
                    .filter(|asked| !is_nothing(&python_text(&asked.value)))
                    .count(),
                named: asked
                    .iter()
                    .filter(|asked| asked.is_within(naming.read(asked).index))
                    .count(),
                agree,
                naming,
            }
        };
        let (own, other) = (of_base(kind.base().first), of_base(1 - kind.base().first));
        if other.agree > own.agree { other } else { own }
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
                value: row.get(gold).cloned().unwrap_or_default(),
                choices: self.options.of(&row.cells),
            })
            .collect()
    }
}

/// A further column that may say the gold.
struct Second {
    name: String,
    naming: Naming,
    /// Rows in which it says something, names an option, and names the first column's.
    filled: usize,
    named: usize,
    agree: usize,
}

impl Second {
    /// Whether it is a gold too: it mostly agrees with the first, or stands where the first was found wrong.
    fn is_mended(&self, rows: usize) -> bool {
        let name = plain(&self.name);
        let is_said_right = ["correct", "right", "true", "gold"]
            .iter()
            .any(|word| name.starts_with(word));
        let is_sparse = self.filled * 10 < rows * 9;
        self.named * 2 >= self.filled && (self.agree * 2 >= self.filled || (is_sparse && is_said_right))
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

/// The first cell of a column that should hold options and holds none, or one.
fn broken_options(rows: &[Row], all: &[String]) -> Option<String> {
    let column = find(all, names::OPTIONS)?;
    let cells = rows
        .iter()
        .enumerate()
        .map(|(number, row)| (number, row.get(column).unwrap_or(&Value::Null)));
    let (number, cell) = cells
        .clone()
        .find(|(_, cell)| !is_nothing(&python_text(cell)))
        .or_else(|| cells.clone().next())?;
    let text: String = python_text(cell).chars().take(60).collect();
    let what = match read_choices(cell).texts.len() {
        1 => "one text instead of a list",
        _ if text.is_empty() => "nothing instead of a list",
        _ => "no list of options that can be read",
    };
    Some(format!("column {column}, row {number}: {what} ({text:?})"))
}

fn found_columns(rows: &[Row]) -> String {
    rows.first()
        .map_or_else(|| "no rows".to_owned(), |row| columns_of(&row.cells))
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
