//! A set of the user's own, read as a whole: its questions, the examples beside them, and those that rows bring along.

use anyhow::{Result, anyhow};

use super::columns::{Columns, Names, unnested};
use super::load::Rows;
use super::questions::{example_rows, questions};
use super::table::Row;
use super::wash::wash;
use super::{Dataset, Form, Washed};
use crate::rows::naming::{Base, Bases};

/// Rows with the names of their columns.
struct Part {
    names: Names,
    file: String,
    rows: Vec<Row>,
}

impl Part {
    fn of(mut rows: Rows) -> Result<Part> {
        rows.rows.iter_mut().for_each(unnested);
        let names = Names::of(&rows.rows, &rows.file)?;
        Ok(Part {
            names,
            file: rows.file,
            rows: rows.rows,
        })
    }
}

/// Reads the questions of an own set and its examples. From which number they count the options is decided once, over
/// all of them. Examples that cannot be read are told, and refused only when they are asked for.
pub(super) fn fill_own(
    dataset: &mut Dataset,
    rows: Rows,
    examples: Result<Rows>,
    gold_base: Option<i64>,
) -> Result<()> {
    dataset.form = Form::Custom;
    if !rows.plain.is_empty() {
        let plain = rows.plain.join(", ");
        let note = format!("doc_hash is markbook's own: dates, times, decimals or bytes are hashed as text ({plain})");
        dataset.notes.push(note);
    }
    let main = Part::of(rows)?;
    let beside = examples.and_then(|rows| (!rows.rows.is_empty()).then(|| Part::of(rows)).transpose());
    let beside = beside.unwrap_or_else(|problem| {
        dataset.examples_problem = Some(format!("{problem:#}"));
        None
    });
    let inside = Inside::of(&main, dataset);
    let parts = [Some(&main), beside.as_ref(), inside.as_ref().map(|inside| &inside.part)];
    let bases = parts.iter().flatten().map(|part| part.names.bases(&part.rows));
    let base = match gold_base {
        Some(first) => Base { first, is_open: false },
        None => bases.reduce(Bases::add).unwrap_or_default().likely(),
    };
    let columns = main.names.columns(&main.rows, base, None);
    let columns_of = |part: &Part| part.names.columns(&part.rows, base, Some(&columns.gold_kind));
    let beside = beside.map(|part| (columns_of(&part), part));
    let inside = inside.map(|inside| (columns_of(&inside.part), inside));

    dataset.notes.extend(main.names.note_on_gold(&columns));
    dataset.notes.extend(columns.options.notes());
    let mut read = questions(&columns, main.rows);
    dataset.notes.extend(read.notes.iter().cloned());
    let washed_inside = inside.map(|(columns, inside)| inside.give(&columns, &mut read.list, dataset));
    (dataset.questions, dataset.washed) = wash(read, Form::Custom);
    dataset.washed.extend(washed_inside.into_iter().flatten());
    dataset.washed.sort_by_key(|washed| washed.row);
    if let Some((columns, part)) = beside {
        set_examples(dataset, &columns, part);
    }
    let unnamed = dataset
        .questions
        .iter_mut()
        .filter(|question| question.category.is_empty());
    unnamed.for_each(|question| question.category.clone_from(&dataset.name));
    Ok(())
}

fn set_examples(dataset: &mut Dataset, columns: &Columns, part: Part) {
    let read = questions(columns, part.rows);
    note_on_examples(dataset, &read.notes);
    let (list, washed) = wash(read, Form::Custom);
    dataset
        .notes
        .push(format!("examples: {} from {}", list.len(), part.file));
    dataset
        .notes
        .extend(washed.iter().map(|found| format!("{}: {found}", part.file)));
    for question in list {
        dataset
            .examples
            .entry(question.subject.clone())
            .or_default()
            .push(question);
    }
}

/// Tells what the examples say otherwise than the questions.
fn note_on_examples(dataset: &mut Dataset, notes: &[String]) {
    let new: Vec<_> = notes.iter().filter(|note| !dataset.notes.contains(note)).collect();
    let new: Vec<_> = new.into_iter().map(|note| format!("examples: {note}")).collect();
    dataset.notes.extend(new);
}

/// Examples that rows bring along.
struct Inside {
    /// All of them, row by row.
    part: Part,
    /// The row of each.
    owners: Vec<usize>,
}

impl Inside {
    fn of(main: &Part, dataset: &mut Dataset) -> Option<Inside> {
        let column = main.names.examples()?;
        let mut all = Vec::new();
        let mut owners = Vec::new();
        let mut problems = Vec::new();
        for (number, row) in main.rows.iter().enumerate() {
            match row.get(column).map_or(Ok(Vec::new()), example_rows) {
                Ok(rows) => {
                    owners.extend(rows.iter().map(|_| number));
                    all.extend(rows);
                }
                Err(problem) => problems.push(format!("row {number}: {problem:#}")),
            }
        }
        if !all.is_empty() {
            let rows = Rows {
                file: format!("{}, column {column}", main.file),
                rows: all,
                plain: Vec::new(),
            };
            match Part::of(rows) {
                Ok(part) => {
                    note_problems(dataset, column, &problems);
                    return Some(Inside { part, owners });
                }
                Err(problem) => problems.insert(0, problem.to_string()),
            }
        }
        note_problems(dataset, column, &problems);
        None
    }

    /// Gives each question its examples, but for those that cannot be shown, which are told.
    fn give(self, columns: &Columns, list: &mut [super::Question], dataset: &mut Dataset) -> Vec<Washed> {
        // Examples are numbered within their row.
        let columns = Columns {
            id: None,
            ..columns.clone()
        };
        note_on_examples(dataset, &questions(&columns, self.part.rows.clone()).notes);
        let mut all_washed = Vec::new();
        let mut rows = self.part.rows.into_iter().zip(self.owners).peekable();
        while let Some((first, owner)) = rows.next() {
            let mut own = vec![first];
            while let Some((row, _)) = rows.next_if(|(_, next)| *next == owner) {
                own.push(row);
            }
            let (examples, washed) = wash(questions(&columns, own), Form::Custom);
            list[owner].examples = examples;
            all_washed.extend(washed.into_iter().map(|found| Washed {
                row: owner,
                example: Some(found.row),
                ..found
            }));
        }
        all_washed
    }
}

fn note_problems(dataset: &mut Dataset, column: &str, problems: &[String]) {
    let Some(first) = problems.first() else { return };
    let more = match problems.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    dataset.examples_problem = Some(anyhow!("column {column}: {first}{more}").to_string());
}
