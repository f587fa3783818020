//! From rows to questions: which column is what, and how its gold is to be read.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::record::letter;

use super::gold::{GoldKind, whole_number};
use super::hash::{doc_hash, python_float};
use super::options::Options;
use super::table::{Row, columns_of};
use super::{Benchmark, Form, Question, mmlu};

/// Which column is what.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    form: Form,
    question: String,
    options: Options,
    gold: String,
    gold_kind: GoldKind,
    /// A second column that says the gold by index.
    gold_index: Option<String>,
    id: Option<String>,
    subject: Option<String>,
    category: Option<String>,
    cot: Option<String>,
    examples: Option<String>,
    pub split: Option<String>,
}

const QUESTION: &[&str] = &["question", "query", "problem", "prompt", "input", "stem", "text"];
const GOLD: &[&str] = &[
    "gold",
    "answer",
    "answerkey",
    "answer_key",
    "key",
    "correct",
    "correct_answer",
    "correct_option",
    "label",
    "target",
    "cop",
    "answer_index",
    "answer_idx",
    "gold_index",
];
const GOLD_INDEX: &[&str] = &["answer_index", "answer_idx", "gold_index"];
const ID: &[&str] = &["id", "question_id", "qid", "uid"];
const CATEGORY: &[&str] = &["category", "subject", "topic", "domain", "discipline"];
const COT: &[&str] = &[
    "cot_content",
    "cot",
    "reasoning",
    "rationale",
    "explanation",
    "solution",
];

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
        Ok(Columns {
            form: benchmark.form,
            question: "question".into(),
            options: Options::One(if is_pro { "options" } else { "choices" }.into()),
            gold: "answer".into(),
            gold_kind: if is_pro {
                GoldKind::Letter
            } else {
                GoldKind::Index { base: 0 }
            },
            gold_index: if is_pro { name("answer_index") } else { None },
            id: if is_pro { name("question_id") } else { None },
            subject: name(if is_pro { "category" } else { "subject" }),
            category: name(if is_pro { "category" } else { "subject" }),
            cot: if is_pro { name("cot_content") } else { None },
            examples: None,
            split: None,
        })
    }

    /// The columns of an own set, recognised by their names, with what had to be found out about them.
    pub fn of_own_set(rows: &[Row], file: &str) -> Result<(Columns, Vec<String>)> {
        let names = all_columns(rows);
        let find = |known: &[&str]| {
            known
                .iter()
                .find_map(|known| names.iter().find(|name| name.to_lowercase() == *known))
                .cloned()
        };
        let question = find(QUESTION);
        let options = Options::find(rows, &names);
        let option_column = options.as_ref().and_then(Options::column).map(str::to_owned);
        let gold = GOLD
            .iter()
            .filter_map(|known| find(&[known]))
            .find(|name| option_column.as_ref() != Some(name) && question.as_ref() != Some(name));
        let (Some(question), Some(options), Some(gold)) = (question.clone(), options.clone(), gold.clone()) else {
            let missing = [
                ("question", question.is_none()),
                (
                    "options (or option_a, option_b, ...; A, B, ...; choices)",
                    options.is_none(),
                ),
                ("gold (or answer)", gold.is_none()),
            ];
            let missing: Vec<_> = missing
                .iter()
                .filter(|(_, is_missing)| *is_missing)
                .map(|(name, _)| *name)
                .collect();
            bail!(
                "{file} is no set of questions: it lacks the column {} (found: {})",
                missing.join(", and the column "),
                found_columns(rows)
            );
        };
        let category = find(CATEGORY);
        let gold_kind = GoldKind::find(rows, &gold, &options);
        let notes = gold_kind.note(&gold).into_iter().collect();
        let columns = Columns {
            form: Form::Custom,
            question,
            options,
            gold_kind,
            gold_index: find(GOLD_INDEX).filter(|name| *name != gold),
            gold,
            id: find(ID),
            subject: find(&["subject"]).or_else(|| category.clone()),
            category,
            cot: find(COT).filter(|name| option_column.as_ref() != Some(name)),
            examples: find(&["examples", "shots", "few_shot"]),
            split: find(&["split"]),
        };
        Ok((columns, notes))
    }

    /// The questions of the rows, and the rows whose two gold columns disagree with what they say.
    pub fn questions(&self, rows: Vec<Row>, file: &str) -> Result<(Vec<Question>, HashMap<usize, String>)> {
        let has_ids = rows.iter().all(|row| self.id_of(row).is_some());
        let mut counts: HashMap<String, usize> = HashMap::new();
        let mut indexes = Vec::new();
        let mut questions = Vec::with_capacity(rows.len());
        for (number, row) in rows.into_iter().enumerate() {
            let mut question = self
                .question_of(&row)
                .with_context(|| format!("{file}, row {number}"))?;
            question.id = self.id_of(&row).filter(|_| has_ids).unwrap_or(number as i64);
            let count = counts.entry(question.subject.clone()).or_default();
            question.doc_id = *count;
            *count += 1;
            indexes.push(
                self.gold_index
                    .as_ref()
                    .and_then(|column| whole_number(row.get(column)?)),
            );
            let doc = Value::Object(row);
            question.doc_hash = doc_hash(&doc);
            question.doc = doc.to_string();
            questions.push(question);
        }
        let conflicts = self.conflicts(&questions, &indexes);
        Ok((questions, conflicts))
    }

    /// The rows whose gold and second gold column disagree; an own set may count that column from 1.
    fn conflicts(&self, questions: &[Question], indexes: &[Option<i64>]) -> HashMap<usize, String> {
        let pairs = || {
            let golds = questions.iter().map(|question| question.gold.map(|gold| gold as i64));
            golds
                .zip(indexes)
                .enumerate()
                .filter_map(|(row, (gold, index))| Some((row, gold?, (*index)?)))
        };
        let agreeing = |base: i64| pairs().filter(|(_, gold, index)| gold + base == *index).count();
        let base = i64::from(self.form == Form::Custom && agreeing(1) > agreeing(0));
        pairs()
            .filter(|(_, gold, index)| gold + base != *index)
            .map(|(row, _, index)| {
                (
                    row,
                    format!("id {}: {}, {index}", questions[row].id, questions[row].answer),
                )
            })
            .collect()
    }

    fn id_of(&self, row: &Row) -> Option<i64> {
        self.id.as_ref().and_then(|column| whole_number(row.get(column)?))
    }

    fn question_of(&self, row: &Row) -> Result<Question> {
        let cell = |column: &Option<String>| {
            column
                .as_ref()
                .and_then(|column| row.get(column))
                .map(python_text)
                .unwrap_or_default()
        };
        let stored = row.get(&self.gold).unwrap_or(&Value::Null);
        let (options, labels) = self.options.of(row);
        let gold = self.gold_kind.read(stored, &options, &labels);
        let stored_answer = python_text(stored);
        let answer = gold
            .and_then(letter)
            .map_or_else(|| stored_answer.clone(), String::from);
        let subject = cell(&self.subject);
        let category = match self.form {
            Form::Mmlu => mmlu::category_of(&subject).unwrap_or("Other").to_owned(),
            Form::MmluPro | Form::Custom => cell(&self.category),
        };
        Ok(Question {
            subject,
            category,
            question: row.get(&self.question).map(python_text).unwrap_or_default(),
            options,
            gold,
            answer,
            stored_answer,
            cot: cell(&self.cot),
            examples: self.examples_of(row)?,
            ..Question::default()
        })
    }

    fn examples_of(&self, row: &Row) -> Result<Vec<Question>> {
        let Some(cell) = self.examples.as_ref().and_then(|column| row.get(column)) else {
            return Ok(Vec::new());
        };
        let rows: Vec<Row> = match cell {
            Value::Null => return Ok(Vec::new()),
            Value::String(text) if text.trim().is_empty() => return Ok(Vec::new()),
            Value::String(text) => serde_json::from_str(text).context("examples: not a JSON list of rows")?,
            list => serde_json::from_value(list.clone()).context("examples: not a list of rows")?,
        };
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let (columns, _) = Columns::of_own_set(&rows, "examples")?;
        Ok(columns.questions(rows, "examples")?.0)
    }
}

/// The required columns that no row has.
pub(super) fn missing_columns(benchmark: &Benchmark, rows: &[Row]) -> Vec<&'static str> {
    let has = |column: &&&str| rows.iter().any(|row| row.contains_key(**column));
    benchmark
        .columns
        .iter()
        .filter(|column| !has(column))
        .copied()
        .collect()
}

fn all_columns(rows: &[Row]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for name in rows.iter().flat_map(Row::keys) {
        if seen.insert(name) {
            names.push(name.clone());
        }
    }
    names
}

fn found_columns(rows: &[Row]) -> String {
    rows.first().map_or_else(|| "no rows".to_owned(), columns_of)
}

/// What Python's `str` makes of a value; nothing of `None`.
pub(super) fn python_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().map(python_float).unwrap_or_default(),
        other => other.to_string(),
    }
}
