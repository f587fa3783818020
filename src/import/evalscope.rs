//! evalscope's reviews and predictions: a `sample_score` beside the messages; before July 2025 a completion of a server
//! with a `review` in each of its choices and the question under `raw_input`; or the table of its viewer.

use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, flag, set_completion, texts};
use super::task::Task;
use super::told;
use crate::record::{Finish, Record};
use crate::trace::{Notice, Rows};

const SCORES: [&str; 5] = ["acc", "accuracy", "exact_match", "mean_acc", "score"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Review,
    Prediction,
    /// Before July 2025, review or prediction.
    Old,
    /// The columns `Input`, `Generated`, `Gold`, `Pred`, `Score`.
    Table,
}

#[derive(Debug, Clone)]
pub(crate) struct EvalScope {
    form: Form,
    task: Task,
    is_reviewed: bool,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let form_of = |row: &Object| {
        let is_old = row.has("choices") && row.has("origin_prompt") && (row.has("raw_input") || row.has("model_spec"));
        match () {
            () if row.has("sample_score") && (row.has("messages") || row.has("input")) => Some(Form::Review),
            () if row.has("model_output") && row.has("messages") && row.has("index") => Some(Form::Prediction),
            () if is_old => Some(Form::Old),
            () if ["Generated", "Gold", "Pred"].iter().all(|key| row.has(key)) => Some(Form::Table),
            () => None,
        }
    };
    let (row, form) = head.rows.iter().find_map(|row| Some((row, form_of(row)?)))?;
    let reviewed = |choice: &Raw| choice.object().has("review");
    let is_reviewed = match form {
        Form::Review | Form::Table => true,
        Form::Prediction => false,
        Form::Old => row
            .get("choices")
            .is_some_and(|choices| choices.list().iter().any(reviewed)),
    };
    let in_messages = || {
        let messages = row.get("messages")?.list().into_iter().rev();
        messages.map(Raw::object).find_map(|message| message.text("model"))
    };
    Some(Sniffed {
        name: row.text("model").or_else(in_messages),
        split: Some(head.stem.clone()),
        run: Some(format!(
            "{is_reviewed} {}",
            row.text("model").or_else(in_messages).unwrap_or_default()
        )),
        ..Sniffed::new(
            "evalscope",
            EvalScope {
                form,
                task: task(&head.stem, row),
                is_reviewed,
            },
            head.shape.clone(),
        )
    })
}

/// Files are named `BENCHMARK_SUBSET`, and the rows of old name the subset.
fn task(stem: &str, row: &Object) -> Task {
    let named = Task::named(stem);
    let subset = row.text("subset_name").unwrap_or_default();
    match stem.strip_suffix(&subset).map(|rest| rest.trim_end_matches('_')) {
        Some(benchmark) if named.subject.is_empty() && !subset.is_empty() && !benchmark.is_empty() => Task {
            benchmark: Task::named(benchmark).benchmark,
            subject: subset,
        },
        _ => named,
    }
}

impl Layout for EvalScope {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let index = row.first(&["index", "Index"]).and_then(Raw::int);
        let mut record = told::record_of(&self.task, entry.number);
        record.question_id = index.unwrap_or(record.question_id);
        let records = match self.form {
            Form::Review => vec![review(record, &row)?],
            Form::Prediction => vec![prediction(record, &row)?],
            Form::Old => old(&record, &row)?,
            Form::Table => vec![viewed(record, &row)?],
        };
        let one = |record| Answer {
            record,
            order: index.unwrap_or(entry.number as i64),
            is_local_id: true,
            ..Answer::default()
        };
        Ok(records.into_iter().map(one).collect())
    }

    fn kind(&self, tally: &Tally) -> String {
        let what = if self.is_reviewed { "reviews" } else { "predictions" };
        let age = match self.form {
            Form::Old => " before July 2025",
            Form::Table => " as its viewer shows them",
            Form::Review | Form::Prediction => "",
        };
        let tasks = tally.several("tasks");
        format!("evalscope {what}{age}{tasks}")
    }

    fn numbers_attempts(&self) -> bool {
        self.form != Form::Old
    }

    fn notices(&self, rows: &Rows) -> Vec<Notice> {
        let has_gold = rows.answer.list().iter().any(|gold| !gold.is_empty());
        let text = "predictions hold no gold, so no row can be right: golds and picks are in the file of the same name \
                    under reviews";
        let told = Notice {
            kind: "no_gold".to_owned(),
            text: text.to_owned(),
        };
        Some(told).filter(|_| !has_gold).into_iter().collect()
    }
}

fn review(mut record: Record, row: &Object) -> Result<Record, RowError> {
    let sample = row.object("sample_score");
    let score = sample.object("score");
    let messages = row.first(&["messages", "input"]);
    if let Some(messages) = messages {
        told::ask(&mut record, messages);
    }
    let golds = match row.get("target") {
        Some(target) if target.is_list() => texts(target),
        target => target.map(Raw::shown).into_iter().collect(),
    };
    told::demand_options(&record, &golds, "an evalscope run")?;
    set_completion(&mut record, score.get("prediction"));
    told::set_pick(&mut record, score.get("extracted_prediction"));
    told::set_golds(&mut record, &golds);
    let group = sample.int("group_id");
    record.attempt = sample.int("generation_index").unwrap_or(0);
    record.question_id = group.unwrap_or(record.question_id);
    if score.text("status").is_some_and(|status| status != "success") {
        flag(&mut record, "error");
    }
    told::judge(&mut record, told::stated(&score.object("value"), &SCORES));
    Ok(record)
}

fn prediction(mut record: Record, row: &Object) -> Result<Record, RowError> {
    if let Some(messages) = row.get("messages") {
        told::ask(&mut record, messages);
    }
    told::demand_options(&record, &[], "an evalscope run")?;
    let output = row.object("model_output");
    let choice = output.list("choices");
    let choice = choice.first().map(|choice| choice.object()).unwrap_or_default();
    set_output(&mut record, &choice, &output.object("usage"));
    told::read_pick(&mut record);
    Ok(record)
}

/// Text and end of a server's choice.
fn set_output(record: &mut Record, choice: &Object, usage: &Object) {
    let content = choice.object("message").get("content");
    let text = content.map(|content| serde_json::Value::from(told::content_text(content)).to_string());
    set_completion(record, text.as_ref().map(|text| Raw(text.as_bytes())));
    record.finish = match choice
        .first(&["stop_reason", "finish_reason"])
        .and_then(Raw::text)
        .as_deref()
    {
        Some("stop") => Some(Finish::Eos),
        Some("max_tokens" | "model_length" | "length") => Some(Finish::Length),
        Some("content_filter") => Some(Finish::Error),
        _ => None,
    };
    record.prompt_tokens = usage.first(&["input_tokens", "prompt_tokens"]).and_then(Raw::int);
    record.output_tokens = usage.first(&["output_tokens", "completion_tokens"]).and_then(Raw::int);
}

/// A record a choice of the server's answer.
fn old(record: &Record, row: &Object) -> Result<Vec<Record>, RowError> {
    let mut record = record.clone();
    let (asked, raw) = (row.object("origin_prompt"), row.object("raw_input"));
    let raw = if raw.is_empty() { asked.object("raw_input") } else { raw };
    let question = raw.first(&["question", "query", "input"]).and_then(Raw::text);
    record.question = question.unwrap_or_default();
    record.options = super::values::choices_of(raw.first(&["choices", "options"]).unwrap_or(Raw(b"[]"))).texts;
    let data = asked.list("data");
    if let Some(request) = data.first().copied().or_else(|| row.get("origin_prompt")) {
        told::ask(&mut record, request);
    }
    let choices = row.list("choices");
    let one = |(attempt, choice): (usize, &Raw)| {
        let choice = choice.object();
        let review = choice.object("review");
        let mut record = Record {
            attempt: attempt as i64,
            ..record.clone()
        };
        set_output(&mut record, &choice, &row.object("usage"));
        let stored = review.get("gold");
        let stored = stored.or_else(|| raw.first(&["answerKey", "answer", "target", "gold"]));
        let golds: Vec<String> = stored.map(Raw::shown).into_iter().collect();
        told::demand_options(&record, &golds, "an evalscope run")?;
        match review.field("pred") {
            Some(pick) => told::set_pick(&mut record, Some(pick)),
            None => told::read_pick(&mut record),
        }
        told::set_golds(&mut record, &golds);
        told::judge(&mut record, told::stated(&review, &["result", "score"]));
        Ok(record)
    };
    choices.iter().enumerate().map(one).collect()
}

/// A row of the viewer's table; it writes a sentence where a pick is the whole output.
fn viewed(mut record: Record, row: &Object) -> Result<Record, RowError> {
    if let Some(input) = row.get("Input") {
        told::ask(&mut record, input);
    }
    let golds = match row.get("Gold") {
        Some(gold) if gold.is_list() => texts(gold),
        gold => gold.map(Raw::shown).into_iter().collect(),
    };
    told::demand_options(&record, &golds, "an evalscope run")?;
    set_completion(&mut record, row.get("Generated"));
    let is_same = row.text("Pred").is_some_and(|pick| pick.starts_with("*Same as"));
    told::set_pick(&mut record, row.get(if is_same { "Generated" } else { "Pred" }));
    told::set_golds(&mut record, &golds);
    let score = row.object("Score");
    let stated = told::stated(row, &["NScore", "Score"]).or_else(|| told::stated(&score.object("value"), &SCORES));
    told::judge(&mut record, stated);
    Ok(record)
}
