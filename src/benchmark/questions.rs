//! From rows to questions: texts, gold, ids, the examples that rows bring along, and what is odd about them.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::json::{self, Layout, python_json, python_text};
use crate::record::letter;
use crate::rows::naming::{Asked, Naming, Way};
use crate::rows::nothing::is_nothing;
use crate::rows::values::whole_number;

use super::columns::{Columns, unnested};
use super::hash::doc_hash;
use super::table::Row;
use super::wash::Rule;
use super::{Form, Question, mmlu};

/// The questions of one file in its order, with what only a comparison of columns or rows can tell of them.
#[derive(Debug, Default)]
pub(super) struct Questions {
    pub list: Vec<Question>,
    /// What was found odd about a row while it was read.
    pub odd: HashMap<usize, Vec<(Rule, String)>>,
    /// The ids of rows that are numbered because not all ids are numbers.
    pub ids: HashMap<usize, String>,
    pub notes: Vec<String>,
}

/// Reads the questions of the rows.
pub(super) fn questions(columns: &Columns, rows: Vec<Row>) -> Questions {
    let mut found = Questions::default();
    let ids = ids_of(columns, &rows, &mut found);
    let mut golds = Golds::new(columns);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (number, row) in rows.into_iter().enumerate() {
        let mut question = question_of(columns, &row);
        question.id = ids.as_ref().map_or(number as i64, |ids| ids[number]);
        golds.read(&row, &mut question);
        let count = counts.entry(question.subject.clone()).or_default();
        (question.doc_id, question.row) = (*count, number);
        *count += 1;
        let doc = row.into_doc();
        question.doc_hash = doc_hash(&doc);
        question.doc = python_json(&doc, Layout::Dense);
        found.list.push(question);
    }
    golds.tell(&mut found);
    found
}

/// The ids, where every row has one and all are whole numbers; else it is told why the rows are numbered.
fn ids_of(columns: &Columns, rows: &[Row], found: &mut Questions) -> Option<Vec<i64>> {
    let column = columns.id.as_ref()?;
    let cell = |row: &Row| {
        row.get(column)
            .filter(|cell| !cell.is_null() && cell.as_str() != Some(""))
            .cloned()
    };
    let numbers: Option<Vec<i64>> = rows.iter().map(|row| whole_number(&cell(row)?)).collect();
    if numbers.is_some() {
        return numbers;
    }
    let ids = rows
        .iter()
        .enumerate()
        .filter_map(|(number, row)| Some((number, python_text(&cell(row)?))));
    found.ids = ids.collect();
    let missing = rows.len() - found.ids.len();
    let why = if missing == 0 {
        format!("column {column} holds ids that are not all whole numbers of 64 bits")
    } else if missing < rows.len() {
        format!("column {column} has no id in {missing} of {} rows", rows.len())
    } else {
        format!("column {column} is empty")
    };
    if columns.form == Form::Custom {
        found
            .notes
            .push(format!("{why}: the rows are numbered from 0, their ids stay in doc"));
    }
    None
}

fn question_of(columns: &Columns, row: &Row) -> Question {
    let cell = |column: &Option<String>| {
        let cell = column.as_ref().and_then(|column| row.get(column));
        cell.map(python_text).unwrap_or_default()
    };
    let stored_answer = row.get(&columns.gold).map(python_text).unwrap_or_default();
    let subject = cell(&columns.subject);
    let category = match columns.form {
        Form::Mmlu => mmlu::category_of(&subject).unwrap_or("Other").to_owned(),
        Form::MmluPro | Form::Custom => cell(&columns.category),
    };
    Question {
        subject,
        category,
        question: row.get(&columns.question).map(python_text).unwrap_or_default(),
        answer: stored_answer.clone(),
        stored_answer,
        cot: cell(&columns.cot),
        ..Question::default()
    }
}

/// Reads golds, and remembers what a person should know of how they were read.
struct Golds<'a> {
    columns: &'a Columns,
    /// All that was asked, for what can be told of the whole only.
    asked: Vec<Asked>,
    ways: BTreeMap<&'static str, usize>,
    doubtful: Vec<(usize, String)>,
    /// What the second gold column names, and how it says it.
    second: Vec<Option<(usize, String)>>,
    /// Rows whose gold only the second column says.
    from_second: usize,
    /// Rows in which the second column names several options, and none of them.
    several_second: usize,
    no_second: usize,
}

impl Golds<'_> {
    fn new(columns: &Columns) -> Golds<'_> {
        Golds {
            columns,
            asked: Vec::new(),
            ways: BTreeMap::new(),
            doubtful: Vec::new(),
            second: Vec::new(),
            from_second: 0,
            several_second: 0,
            no_second: 0,
        }
    }

    fn read(&mut self, row: &Row, question: &mut Question) {
        let columns = self.columns;
        let asked_by = |column: &str| Asked {
            value: row.get(column).cloned().unwrap_or_default(),
            choices: columns.options.of(&row.cells),
        };
        let asked = asked_by(&columns.gold);
        let gold = columns.gold_kind.read(&asked);
        if let Some(way) = gold.way {
            *self.ways.entry(way.name()).or_default() += 1;
        }
        question.gold = gold.index;
        let second = columns.second.as_ref().and_then(|(column, kind)| {
            let asked = asked_by(column);
            let (index, text) = (kind.read(&asked).index, python_text(&asked.value));
            if index.is_none() && !is_nothing(&text) {
                let is_several = asked.several(kind).is_some();
                self.several_second += usize::from(is_several);
                self.no_second += usize::from(!is_several);
            }
            Some((index?, text))
        });
        if let Some((index, _)) = second
            .as_ref()
            .filter(|_| columns.form == Form::Custom && gold.way.is_none())
        {
            question.gold = Some(*index);
            self.from_second += 1;
        }
        self.second.push(second);
        question.options.clone_from(&asked.choices.texts);
        if let Some(letter) = question.gold.and_then(letter) {
            question.answer = letter.into();
        }
        if let (Some(index), Some(other)) = (gold.index, gold.otherwise) {
            let name = |index: usize| letter(index).map_or_else(|| index.to_string(), String::from);
            let detail = format!(
                "id {}: {:?} read as {}, could be {}",
                question.id,
                question.stored_answer,
                name(index),
                name(other)
            );
            self.doubtful.push((self.asked.len(), detail));
        }
        self.asked.push(asked);
    }

    fn tell(self, found: &mut Questions) {
        let conflicts = self.conflicts(&found.list);
        let on_second = self.note_on_second(conflicts.len());
        for (row, detail) in self.doubtful {
            found.odd.entry(row).or_default().push((Rule::AmbiguousGold, detail));
        }
        for (row, detail) in conflicts {
            found.odd.entry(row).or_default().push((Rule::GoldConflict, detail));
        }
        if self.columns.form != Form::Custom {
            return;
        }
        let (column, kind) = (&self.columns.gold, &self.columns.gold_kind);
        found.notes.extend(on_second);
        found.notes.extend(note_on_ways(column, kind, &self.ways));
        if let Some((way, count)) = kind.differing(&self.asked) {
            found.notes.push(format!(
                "column {column}: read as {} it would name another option in {count} of {} rows",
                way.name(),
                self.asked.len()
            ));
        }
        if let Some((second, _)) = self.columns.second.as_ref().filter(|_| self.from_second > 0) {
            let count = self.from_second;
            found
                .notes
                .push(format!("rows whose gold only column {second} names: {count}"));
        }
    }

    /// What a second gold column says otherwise.
    fn note_on_second(&self, conflicts: usize) -> Option<String> {
        let (column, _) = self.columns.second.as_ref()?;
        let filled = self.second.iter().flatten().count() + self.several_second + self.no_second;
        let odd = conflicts + self.several_second + self.no_second;
        (odd > 0).then(|| {
            format!(
                "column {column} holds a key in {filled} of {} rows beside {}: another option in {conflicts}, several in {}, \
                 none of the options in {}; {} is used",
                self.asked.len(),
                self.columns.gold,
                self.several_second,
                self.no_second,
                self.columns.gold
            )
        })
    }

    /// The rows whose gold and second gold column disagree.
    fn conflicts(&self, questions: &[Question]) -> Vec<(usize, String)> {
        let rows = questions.iter().zip(&self.second).enumerate();
        let pairs =
            rows.filter_map(|(row, (question, second))| Some((row, question, question.gold?, second.as_ref()?)));
        pairs
            .filter(|(_, _, gold, (index, _))| gold != index)
            .map(|(row, question, _, (_, text))| (row, format!("id {}: {}, {text}", question.id, question.answer)))
            .collect()
    }
}

fn note_on_ways(column: &str, kind: &Naming, ways: &BTreeMap<&'static str, usize>) -> Option<String> {
    let base = kind.base();
    let numbers = if base.is_open {
        let other = 1 - base.first;
        format!(
            "from {} (they fit from {other} as well: --gold-base {other})",
            base.first
        )
    } else {
        format!("from {}", base.first)
    };
    if ways.len() > 1 {
        let ways: Vec<String> = ways
            .iter()
            .map(|(way, count)| match *way {
                "a number" => format!("a number {numbers} in {count}"),
                way => format!("{way} in {count}"),
            })
            .collect();
        return Some(format!(
            "column {column} names the right option in several ways: {}",
            ways.join(", ")
        ));
    }
    match ways.keys().next() {
        Some(&"a number") => Some(format!("column {column} counts the options {numbers}")),
        Some(&"a letter") | None => None,
        Some(_) => Some(format!("column {column} holds the text or label of the right option")),
    }
}

impl Way {
    /// The way, for notes.
    fn name(self) -> &'static str {
        match self {
            Way::Label => "a label",
            Way::Letter => "a letter",
            Way::Text => "its text",
            Way::Number => "a number",
        }
    }
}

/// The rows in a cell of examples; none in an empty one.
pub(super) fn example_rows(cell: &Value) -> Result<Vec<Row>> {
    let items = match cell {
        Value::Null => return Ok(Vec::new()),
        Value::String(text) if text.trim().is_empty() => return Ok(Vec::new()),
        Value::String(text) => json::parse(text).context("not a JSON list of rows")?,
        value => value.clone(),
    };
    let Value::Array(items) = items else {
        bail!("not a list of rows");
    };
    items
        .into_iter()
        .map(|item| match item {
            Value::Object(cells) => {
                let mut row = Row::from(cells);
                unnested(&mut row);
                Ok(row)
            }
            other => bail!("not a list of rows, but of {other}"),
        })
        .collect()
}
