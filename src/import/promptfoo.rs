//! promptfoo's output: results under `results.results`, the table of its older versions, one result a line, or its CSV.
//! Gold and options stand among the variables, else in the assertions and the prompt.

use std::borrow::Cow;

use super::head::Head;
use super::json::{self, Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, flag, set_completion, texts};
use super::lm_eval;
use super::split::Shape;
use super::task::Task;
use super::told;
use crate::record::{Finish, Record};

/// Variables that hold the gold.
const GOLDS: [&str; 14] = [
    "answer",
    "gold",
    "expected",
    "target",
    "correct_answer",
    "correctAnswer",
    "correct",
    "label",
    "answer_key",
    "answerKey",
    "ideal",
    "ground_truth",
    "expected_answer",
    "reference",
];

/// Assertions that name the right answer itself.
const ASSERTIONS: [&str; 8] = [
    "equals",
    "contains",
    "icontains",
    "starts-with",
    "contains-any",
    "icontains-any",
    "contains-all",
    "regex",
];

/// How a row holds its variables and outputs.
#[derive(Debug, Clone)]
enum Form {
    /// One result, its variables under `vars`.
    Result,
    /// A row of the table, with these variables and an output a provider and prompt.
    Table(Vec<String>),
    /// Variables, then for each provider and prompt a column `[PROVIDER] PROMPT` with `Status` behind it.
    Csv,
}

#[derive(Debug, Clone)]
pub(crate) struct PromptFoo {
    form: Form,
    /// The table's providers, by column.
    providers: Vec<String>,
    has_several_prompts: bool,
}

fn is_result(row: &Object) -> bool {
    let has_output = row.has("response") || row.has("error") || row.has("output");
    row.has("vars") && row.has("provider") && has_output && (row.has("success") || row.has("gradingResult"))
}

fn path(keys: &[&str]) -> Shape {
    Shape::Array(keys.iter().map(|key| (*key).to_owned()).collect())
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let document = head.document.clone().unwrap_or_default();
    let inner = match document.object("results") {
        inner if inner.is_empty() => document.clone(),
        inner => inner,
    };
    let shapes = [path(&["results", "results"]), path(&["results"]), head.shape.clone()];
    let found = shapes
        .into_iter()
        .find(|shape| head.rows_at(shape).first().is_some_and(is_result));
    let table = inner.object("table").object("head");
    let columns: Vec<Object> = match table.get("prompts").or_else(|| inner.get("prompts")) {
        Some(prompts) => prompts.list().into_iter().map(Raw::object).collect(),
        None => Vec::new(),
    };
    let providers: Vec<String> = columns.iter().map(|prompt| provider(prompt.get("provider"))).collect();
    let prompts: std::collections::HashSet<String> = columns
        .iter()
        .filter_map(|prompt| prompt.text("label").or_else(|| prompt.text("raw")))
        .collect();
    let is_table_row = |row: &Object| row.has("outputs") && row.has("vars");
    let is_csv = |row: &Object| row.keys().any(is_output) && row.has("Status") && row.has("Grader Reason");
    let (shape, form) = match found {
        Some(shape) => (shape, Form::Result),
        None if head.rows.first().is_some_and(is_csv) => (head.shape.clone(), Form::Csv),
        None => {
            let shapes = [path(&["results", "table", "body"]), path(&["table", "body"])];
            let of_rows = |shape: &Shape| head.rows_at(shape).first().is_some_and(is_table_row);
            let shape = shapes.into_iter().find(of_rows)?;
            (shape, Form::Table(table.get("vars").map(texts).unwrap_or_default()))
        }
    };
    let first = head
        .rows_at(&shape)
        .first()
        .map(|row| provider(row.get("provider")))
        .filter(|name| !name.is_empty());
    let model = first.or(providers.first().cloned());
    Some(Sniffed {
        name: model.filter(|model| providers.iter().all(|other| other == model)),
        ..Sniffed::new(
            "promptfoo",
            PromptFoo {
                form,
                providers,
                has_several_prompts: prompts.len() > 1,
            },
            shape,
        )
    })
}

/// Whether a column of the CSV holds outputs.
fn is_output(column: &str) -> bool {
    column.starts_with('[') && column.contains(']')
}

/// A provider's label, else its id; it may be the id alone.
fn provider(raw: Option<Raw>) -> String {
    let Some(raw) = raw else { return String::new() };
    let fields = raw.object();
    let named = fields
        .text("label")
        .filter(|label| !label.is_empty())
        .or_else(|| fields.text("id"));
    named.or_else(|| raw.text()).unwrap_or_default()
}

impl Layout for PromptFoo {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        match &self.form {
            Form::Result => {
                let outcome = Outcome::of_result(&row);
                let series = self.series(&provider(row.get("provider")), &row.object("prompt"));
                Ok(vec![self.answer(
                    entry,
                    &row,
                    &fields(&row.object("vars")),
                    &outcome,
                    series,
                )?])
            }
            Form::Table(names) => self.table_row(entry, &row, names),
            Form::Csv => self.csv_row(entry, &row),
        }
    }

    fn stands_alone(&self) -> bool {
        false
    }

    fn kind(&self, tally: &Tally) -> String {
        let series = match tally.series.len() {
            0 | 1 => String::new(),
            several => format!(", {} of {several} providers and prompts", tally.own_series),
        };
        format!("promptfoo output{series}")
    }
}

fn fields<'a>(object: &Object<'a>) -> Vec<(String, Raw<'a>)> {
    object.fields().map(|(key, raw)| (key.to_owned(), raw)).collect()
}

/// What one provider answered, and how that was graded.
#[derive(Default)]
struct Outcome<'a> {
    prompt: Option<Raw<'a>>,
    output: Option<Raw<'a>>,
    error: bool,
    is_right: Option<bool>,
    grading: Object<'a>,
    test: Object<'a>,
    seconds: f64,
}

impl<'a> Outcome<'a> {
    fn of_result(row: &Object<'a>) -> Outcome<'a> {
        let response = row.object("response");
        let prompt = row.object("prompt");
        Outcome {
            prompt: prompt.get("raw").or_else(|| row.get("prompt")),
            output: response.get("output").or_else(|| row.get("output")),
            error: response.has("error") || row.get("error").is_some() && response.is_empty(),
            is_right: row.truth("success"),
            grading: row.object("gradingResult"),
            test: row.object("testCase"),
            seconds: row.float("latencyMs").unwrap_or(0.0) / 1000.0,
        }
    }

    fn of_table(output: &Object<'a>) -> Outcome<'a> {
        Outcome {
            prompt: output.get("prompt"),
            output: output.object("response").get("output").or_else(|| output.get("text")),
            error: output.get("error").is_some(),
            is_right: output.truth("pass"),
            grading: output.object("gradingResult"),
            test: output.object("testCase"),
            seconds: output.float("latencyMs").unwrap_or(0.0) / 1000.0,
        }
    }

    /// The values of the assertions that name the answer; templates are not filled in.
    fn asserted(&self, row: &Object<'a>) -> Vec<String> {
        let components = self.grading.list("componentResults");
        let graded = components.into_iter().map(|result| result.object().object("assertion"));
        let tests = [self.test.clone(), row.object("test"), row.object("testCase")];
        let written = tests
            .iter()
            .filter_map(|test| test.get("assert"))
            .flat_map(Raw::list)
            .map(Raw::object);
        let named = graded.chain(written).filter(|assertion| {
            assertion
                .text("type")
                .is_some_and(|kind| ASSERTIONS.contains(&kind.as_str()))
        });
        let values = named.filter_map(|assertion| assertion.get("value"));
        let values = values.flat_map(|value| {
            if value.is_list() {
                texts(value)
            } else {
                vec![value.shown()]
            }
        });
        values.filter(|value| !value.contains("{{")).collect()
    }
}

impl PromptFoo {
    fn table_row(&self, entry: &Entry, row: &Object, names: &[String]) -> Result<Vec<Answer>, RowError> {
        let values = row.list("vars");
        let variables: Vec<(String, Raw)> = names.iter().cloned().zip(values).collect();
        let outputs = row.list("outputs");
        let one = |(column, output): (usize, &Raw)| {
            let output = output.object();
            let named = provider(output.get("provider"));
            let named = if named.is_empty() {
                self.providers.get(column).cloned().unwrap_or_default()
            } else {
                named
            };
            let series = if outputs.len() > 1 {
                format!("{named} {}", column + 1)
            } else {
                named
            };
            self.answer(entry, row, &variables, &Outcome::of_table(&output), series)
        };
        outputs.iter().enumerate().map(one).collect()
    }

    /// Columns of the same name come again for each provider: those up to the next output belong to one.
    fn csv_row(&self, entry: &Entry, row: &Object) -> Result<Vec<Answer>, RowError> {
        let cells = fields(row);
        let starts: Vec<usize> = (0..cells.len()).filter(|at| is_output(&cells[*at].0)).collect();
        let variables = &cells[..starts.first().copied().unwrap_or(cells.len())];
        let ends = starts.iter().skip(1).copied().chain([cells.len()]);
        let one = |(start, end): (&usize, usize)| {
            let status = cells[*start..end].iter().find(|(name, _)| name == "Status");
            let outcome = Outcome {
                output: Some(cells[*start].1),
                is_right: status.map(|(_, status)| status.shown() == "PASS"),
                error: status.is_some_and(|(_, status)| status.shown() == "ERROR"),
                ..Outcome::default()
            };
            let series = cells[*start]
                .0
                .split(']')
                .next()
                .unwrap_or_default()
                .trim_start_matches('[');
            self.answer(entry, row, variables, &outcome, series.to_owned())
        };
        starts.iter().zip(ends).map(one).collect()
    }

    fn series(&self, provider: &str, prompt: &Object) -> Cow<'static, str> {
        match prompt.text("label").filter(|_| self.has_several_prompts) {
            Some(label) => Cow::Owned(format!("{provider}, {}", label.chars().take(40).collect::<String>())),
            None => Cow::Owned(provider.to_owned()),
        }
    }

    fn answer(
        &self,
        entry: &Entry,
        row: &Object,
        variables: &[(String, Raw)],
        outcome: &Outcome,
        series: impl Into<Cow<'static, str>>,
    ) -> Result<Answer, RowError> {
        let variable = |names: &[&str]| {
            let of = |name: &&str| variables.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            names
                .iter()
                .find_map(of)
                .map(|(_, raw)| *raw)
                .filter(|raw| !raw.is_null())
        };
        let task = Task {
            benchmark: variable(&["benchmark", "dataset"]).map(Raw::shown).unwrap_or_default(),
            subject: variable(&["subject", "category"]).map(Raw::shown).unwrap_or_default(),
        };
        let number = row.int("testIdx");
        let mut record = told::record_of(&task, entry.number);
        record.question_id = number.unwrap_or(record.question_id);
        record.question = variable(&["question"]).map(Raw::shown).unwrap_or_default();
        record.options = options(variables);
        if let Some(prompt) = outcome.prompt {
            // A chat's prompt is the text of its messages.
            let inner = prompt.text().filter(|text| text.trim_start().starts_with('['));
            let is_chat = |text: &String| json::values(text.as_bytes()).is_ok();
            match inner.filter(is_chat) {
                Some(text) => told::ask(&mut record, Raw(text.trim().as_bytes())),
                None => told::ask(&mut record, prompt),
            }
        }
        let golds = match variable(&GOLDS) {
            Some(gold) if gold.is_list() => texts(gold),
            Some(gold) => vec![gold.shown()],
            None => outcome
                .asserted(row)
                .iter()
                .map(|value| told::letter_said(value, &record.options))
                .collect(),
        };
        told::demand_options(&record, &golds, "promptfoo output")?;
        read_output(&mut record, outcome);
        told::set_golds(&mut record, &golds);
        told::judge(&mut record, outcome.is_right);
        Ok(Answer {
            order: record.question_id,
            record,
            series: series.into(),
            is_local_id: number.is_none(),
            ..Answer::default()
        })
    }
}

fn read_output(record: &mut Record, outcome: &Outcome) {
    set_completion(record, outcome.output);
    record.seconds = outcome.seconds as f32;
    if outcome.error {
        record.finish = Some(Finish::Error);
        flag(record, "error");
    }
    told::read_pick(record);
}

/// The options among the variables: a list, or a variable each.
fn options(variables: &[(String, Raw)]) -> Vec<String> {
    let object: Vec<u8> = variables
        .iter()
        .flat_map(|(name, raw)| {
            [
                b",",
                serde_json::Value::from(name.as_str()).to_string().as_bytes(),
                b":",
                raw.0,
            ]
            .concat()
        })
        .collect();
    let object = [b"{", object.get(1..).unwrap_or_default(), b"}"].concat();
    lm_eval::options(&Object::read(&object).0)
}
