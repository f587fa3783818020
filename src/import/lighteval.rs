//! lighteval's details: since 0.10 a `doc`, a `model_response` and a `metric` a row; before that `full_prompt`,
//! `predictions`, `gold_index`, `metrics` and others side by side, lists written as Python prints them where a writer made
//! texts of them.

use std::borrow::Cow;

use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, set_completion, texts};
use super::runs::{stamp, without_stamp};
use super::task::Task;
use super::told;
use crate::extract::argmax::ArgMax;
use crate::record::{Record, letter, letter_index};
use crate::rows::texts::literal;

const SCORED: u16 = 1;

const GENERATED: u16 = 2;

/// Names of the score, the plainest first.
const SCORES: [&str; 9] = [
    "acc",
    "loglikelihood_acc",
    "exact_match",
    "extractive_match",
    "em",
    "qem",
    "pem",
    "acc_norm",
    "loglikelihood_acc_norm",
];

#[derive(Debug, Clone)]
pub(crate) struct LightEval {
    /// As the file's name tells it; rows of today name theirs.
    task: Task,
    is_old: bool,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let row = head.rows.first()?;
    let is_new = row.has("doc") && row.has("model_response") && row.has("metric");
    let has_gold = row.has("gold_index") || row.has("gold");
    let is_old = row.has("predictions") && has_gold && (row.has("full_prompt") || row.has("cont_tokens"));
    if !is_new && !is_old {
        return None;
    }
    let stem = without_stamp(&head.stem);
    let task = stem.strip_prefix("details_").unwrap_or(&stem).to_owned();
    // A file system that takes no bar or colon has two underscores for either.
    let named = if task.contains('|') {
        task.clone()
    } else {
        task.replace("__", "|")
    };
    let parts: Vec<&str> = named.split('|').collect();
    let named = match parts.as_slice() {
        [benchmark, subject, shots] if !task.contains('|') => format!("{benchmark}:{subject}|{shots}"),
        _ => named,
    };
    let is_named = stem.starts_with("details_");
    Some(Sniffed {
        name: model(head).filter(|_| is_named),
        split: Some(task),
        run: stamp(&head.stem).map(str::to_owned),
        ..Sniffed::new(
            "lighteval",
            LightEval {
                task: if is_named { Task::named(&named) } else { Task::default() },
                is_old,
            },
            head.shape.clone(),
        )
    })
}

/// The model: details lie under `MODEL/TIME`, or in a data set named `details_ORG__MODEL`.
fn model(head: &Head) -> Option<String> {
    let folder = head.folders.iter().find(|folder| stamp(folder).is_none())?;
    Some(folder.trim_start_matches("details_").replace("__", "/"))
}

/// A cell whose list or object may be text.
fn opened(raw: Raw<'_>) -> Cow<'_, [u8]> {
    let text = raw.text().filter(|text| text.starts_with(['[', '(', '{']));
    match text.and_then(|text| literal(&text)) {
        Some(value) => Cow::Owned(value.to_string().into_bytes()),
        None => Cow::Borrowed(raw.0),
    }
}

impl Layout for LightEval {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let cell = |key: &str| row.get(key).map(opened).unwrap_or_default();
        if self.is_old {
            let (choices, golds) = (cell("choices"), cell("gold_index"));
            let (predictions, metrics, gold) = (cell("predictions"), cell("metrics"), cell("gold"));
            let metrics = if metrics.is_empty() {
                row.clone()
            } else {
                Raw(&metrics).object()
            };
            return self.record(&Detail {
                request: row.first(&["full_prompt", "example"]),
                question: row.get("example"),
                task: None,
                choices: texts(Raw(&choices)),
                gold_index: Raw(&golds),
                gold: Raw(&gold),
                predictions: Raw(&predictions),
                scores: Raw(&predictions),
                greedy: Raw(b""),
                metrics,
                number: entry.number,
            });
        }
        let (doc, response) = (row.object("doc"), row.object("model_response"));
        self.record(&Detail {
            request: response.get("input").or_else(|| doc.get("query")),
            question: doc.get("query"),
            task: doc.text("task_name"),
            choices: doc.get("choices").map(texts).unwrap_or_default(),
            gold_index: doc.get("gold_index").unwrap_or(Raw(b"")),
            gold: Raw(b""),
            predictions: response.get("text").unwrap_or(Raw(b"")),
            scores: response.get("logprobs").unwrap_or(Raw(b"")),
            greedy: response.get("argmax_logits_eq_gold").unwrap_or(Raw(b"")),
            metrics: row.object("metric"),
            number: entry.number,
        })
    }

    fn kind(&self, tally: &Tally) -> String {
        let how = match (tally.traits & SCORED != 0, tally.traits & GENERATED != 0) {
            (true, false) => "multiple choice by log-probability",
            (true, true) => "log-probabilities and generated answers",
            _ => "generated answers",
        };
        let age = if self.is_old { " before 0.10" } else { "" };
        let tasks = tally.several("tasks");
        format!("lighteval details{age}, {how}{tasks}")
    }
}

/// The parts of a row, whichever layout it has.
struct Detail<'a> {
    request: Option<Raw<'a>>,
    question: Option<Raw<'a>>,
    task: Option<String>,
    choices: Vec<String>,
    gold_index: Raw<'a>,
    gold: Raw<'a>,
    /// Texts.
    predictions: Raw<'a>,
    /// Log-likelihoods.
    scores: Raw<'a>,
    greedy: Raw<'a>,
    metrics: Object<'a>,
    number: usize,
}

impl LightEval {
    fn record(&self, detail: &Detail) -> Result<Vec<Answer>, RowError> {
        let task = detail.task.as_deref().map_or_else(|| self.task.clone(), Task::named);
        let mut record = told::record_of(&task, detail.number);
        let are_letters =
            !detail.choices.is_empty() && detail.choices.iter().all(|text| letter_index(text.trim()).is_some());
        let golds = detail.golds();
        if !are_letters && golds != detail.choices {
            record.options = detail.choices.iter().map(|text| text.trim().to_owned()).collect();
        }
        if let Some(request) = detail.request.or(detail.question) {
            told::ask(&mut record, request);
        }
        let (metric, stated) = detail.score();
        let numbers = log_likelihoods(detail.scores);
        if numbers.len() > 1 && numbers.len() == detail.choices.len() {
            told::score(&mut record, &numbers, Some(detail.choices.clone()));
            if metric.contains("norm")
                && let Some(pick) = record.scored_pick(ArgMax::PerChar).and_then(letter)
            {
                record.pick = pick.to_string();
            }
            let greedy: Vec<bool> = detail.greedy.list().into_iter().filter_map(Raw::truth).collect();
            record.greedy = Some(greedy).filter(|greedy| greedy.len() == numbers.len());
            told::set_golds(&mut record, &golds);
            told::judge(&mut record, stated);
            return Ok(vec![detail.answer(record, SCORED)]);
        }
        told::demand_options(&record, &golds, &format!("lighteval details ({})", task.benchmark))?;
        let said = detail.predictions.list();
        let count = said.len().max(1);
        let one = |attempt: usize| {
            let mut record = record.clone();
            record.attempt = attempt as i64;
            set_completion(&mut record, said.get(attempt).copied());
            told::read_pick(&mut record);
            told::set_golds(&mut record, &golds);
            told::judge(&mut record, stated.filter(|_| count == 1));
            detail.answer(record, GENERATED)
        };
        Ok((0..count).map(one).collect())
    }
}

impl Detail<'_> {
    /// The metric that says whether the row is right, and what it says; a metric's settings may stand behind its name.
    fn score(&self) -> (String, Option<bool>) {
        let is_set = |key: &str| {
            SCORES.iter().any(|name| {
                key.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with([':', '_', '(']))
            })
        };
        let plain = SCORES.iter().find(|name| self.metrics.get(name).is_some());
        let with_settings = self.metrics.keys().find(|key| is_set(key) && !key.ends_with("stderr"));
        let name = plain.copied().or(with_settings).unwrap_or_default();
        (name.to_owned(), told::stated(&self.metrics, &[name]))
    }

    /// The right answers as texts: letters of the choices, or what the file writes.
    fn golds(&self) -> Vec<String> {
        let indexes: Vec<Raw> = match self.gold_index.list() {
            list if list.is_empty() => vec![self.gold_index],
            list => list,
        };
        let of_choice = |raw: Raw| {
            let index = raw.int().and_then(|index| usize::try_from(index).ok())?;
            letter(index).filter(|_| index < self.choices.len()).map(String::from)
        };
        let golds: Vec<String> = indexes.into_iter().filter_map(of_choice).collect();
        // Where every choice is right they are several right texts, no options.
        if golds.len() >= self.choices.len() {
            return self.choices.clone();
        }
        if !golds.is_empty() {
            return golds;
        }
        match self.gold.list() {
            list if list.is_empty() => self.gold.text().into_iter().collect(),
            list => list.into_iter().map(Raw::shown).collect(),
        }
    }

    fn answer(&self, record: Record, traits: u16) -> Answer {
        Answer {
            record,
            order: self.number as i64,
            is_local_id: true,
            traits,
            ..Answer::default()
        }
    }
}

/// Numbers, also paired with whether they are greedy.
fn log_likelihoods(raw: Raw) -> Vec<f64> {
    let number = |raw: Raw| {
        raw.list()
            .first()
            .copied()
            .unwrap_or(raw)
            .float()
            .filter(|_| !raw.is_string())
    };
    raw.list().into_iter().filter_map(number).collect()
}
