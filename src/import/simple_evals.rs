//! simple-evals: results that hold a page of HTML an answer (`htmls`), or rows with what was read and whether it is right.

use super::head::Head;
use super::json::{self, Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, lettered_options, set_completion};
use super::split::Shape;
use super::task::Task;
use super::{tiger, told};
use crate::record::Record;

#[derive(Debug, Clone)]
pub(crate) struct SimpleEvals {
    task: Task,
    are_pages: bool,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let are_pages = head
        .document
        .as_ref()
        .is_some_and(|document| document.has("htmls") && document.has("score"));
    let is_row = |row: &Object| {
        ["instruction", "answer", "pred", "is_correct"]
            .iter()
            .all(|key| row.has(key))
            && !row.has("options")
    };
    if !are_pages && !head.rows.iter().any(is_row) {
        return None;
    }
    let shape = if are_pages {
        Shape::Array(vec!["htmls".to_owned()])
    } else {
        head.shape.clone()
    };
    Some(Sniffed::new(
        "simple-evals",
        SimpleEvals {
            task: if head.rows.iter().any(is_of_mmlu_pro) {
                Task::named("mmlu_pro")
            } else {
                task(&head.stem)
            },
            are_pages,
        },
        shape,
    ))
}

/// Results are named `mmlu_MODEL` or `mmlu_MODEL_allresults`.
fn task(stem: &str) -> Task {
    let known = ["mmlu", "gpqa"];
    let found = known
        .iter()
        .find(|name| stem.strip_prefix(**name).is_some_and(|rest| rest.starts_with('_')));
    match found {
        Some(_) if stem.starts_with("mmlu_pro") => Task::named("mmlu_pro"),
        Some(name) => Task::named(name),
        None => Task::default(),
    }
}

/// Ids are `SUBJECT/NUMBER`.
fn subject_and_number(id: &str) -> (&str, &str) {
    id.rsplit_once('/').unwrap_or(("", id))
}

/// Whether a row proves its set: a category of MMLU-Pro, and more than four options.
fn is_of_mmlu_pro(row: &Object) -> bool {
    let id = row.text("id").unwrap_or_default();
    let (category, _) = subject_and_number(&id);
    let options = lettered_options(&row.text("instruction").unwrap_or_default());
    tiger::is_category(&category.replace('_', " ")) && options.len() > 4
}

impl Layout for SimpleEvals {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let record = if self.are_pages {
            self.page(entry)?
        } else {
            self.row(entry)?
        };
        Ok(vec![Answer::local(record, entry)])
    }

    fn stands_alone(&self) -> bool {
        !self.are_pages
    }

    fn kind(&self, _tally: &Tally) -> String {
        "simple-evals results".to_owned()
    }
}

impl SimpleEvals {
    /// A row without a gold: the letter that was read, and whether it is right.
    fn row(&self, entry: &Entry) -> Result<Record, RowError> {
        let row = entry.object()?;
        let id = row.text("id").unwrap_or_default();
        let mut record = told::record_of(&self.task, entry.number);
        if let Some(request) = row.get("instruction") {
            told::ask(&mut record, request);
        }
        let (subject, number) = subject_and_number(&id);
        if !subject.is_empty() {
            subject.clone_into(&mut record.subject);
            subject.clone_into(&mut record.category);
        }
        record.question_id = number.parse().unwrap_or(record.question_id);
        told::demand_options(&record, &[], "simple-evals results")?;
        set_completion(&mut record, row.get("answer"));
        told::set_pick(&mut record, row.get("pred"));
        told::judge(&mut record, row.truth("is_correct"));
        Ok(record)
    }

    /// A page: the conversation, the model's message, then right answer, extracted answer and score.
    fn page(&self, entry: &Entry) -> Result<Record, RowError> {
        let pages = json::values(entry.bytes)?;
        let page = pages.first().and_then(|page| page.text()).ok_or("no page of HTML")?;
        let (asked, said) = page
            .split_once("Sampled message")
            .ok_or("a page without a sampled message")?;
        let mut record = told::record_of(&self.task, entry.number);
        let quoted = |text: String| serde_json::Value::from(text).to_string();
        let request = quoted(texts_of(asked).join("\n\n"));
        told::ask(&mut record, Raw(request.as_bytes()));
        let stated = |label: &str| {
            let rest = said.rsplit_once(&format!("<p>{label}:"))?.1;
            Some(plain(rest.split("</p>").next()?).trim().to_owned())
        };
        let golds: Vec<String> = stated("Correct Answer").into_iter().collect();
        told::demand_options(&record, &golds, "simple-evals results")?;
        let completion = quoted(texts_of(said).join("\n"));
        set_completion(&mut record, Some(Raw(completion.as_bytes())));
        let pick = stated("Extracted Answer").map(quoted);
        told::set_pick(&mut record, pick.as_ref().map(|pick| Raw(pick.as_bytes())));
        told::set_golds(&mut record, &golds);
        let score = stated("Score").map(quoted);
        let score = score.as_ref().map(|score| Raw(score.as_bytes()));
        let is_right = score.and_then(|raw| raw.truth().or_else(|| Some(raw.float()? >= 0.5)));
        told::judge(&mut record, is_right);
        Ok(record)
    }
}

/// The texts of a page's messages.
fn texts_of(page: &str) -> Vec<String> {
    let parts = page.split("<pre>").skip(1);
    parts
        .filter_map(|part| Some(plain(part.split("</pre>").next()?)))
        .collect()
}

/// Text without the escapes of HTML.
fn plain(text: &str) -> String {
    const ESCAPES: [(&str, &str); 7] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#34;", "\""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ];
    let replaced = ESCAPES.iter();
    replaced.fold(text.to_owned(), |text, (escape, sign)| text.replace(escape, sign))
}
