//! lm-evaluation-harness: the samples files of every generation since 0.4.0, log-likelihood and generated.

mod row;
pub(crate) mod within;
pub(crate) mod write_out;

use std::borrow::Cow;

pub(in crate::import) use self::row::options;
use self::row::{
    continuations, finish, gold_of_choice, gold_of_context, gold_text, is_null_response, letter_text, log_likelihoods,
    pick_text, prompt, question, refuse_shares, responses, seed,
};
use super::harness;
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, completion_text, flag, set_completion};
use crate::benchmark::hash::doc_hash;
use crate::extract::argmax::ArgMax;
use crate::record::{INVALID, Record, letter_index};
use crate::trace::{Field, Notice, Rows};

/// Bits of [`Answer::traits`].
const HASHES: u16 = 1;

const FILTER: u16 = 2;

const NAMED_ARGUMENTS: u16 = 4;

const LOGPROBS: u16 = 8;

const GENERATED: u16 = 16;

/// Further responses of a row that the filter did not take.
const UNUSED_RESPONSES: u16 = 32;

#[derive(Debug, Clone)]
pub(crate) struct LmEval {
    /// The task, as the file's name tells it.
    task: Option<String>,
    /// The harness's version, as the results file tells it.
    version: Option<String>,
}

fn is_sample(row: &Object) -> bool {
    let has_answer = row.has("resps") || row.has("filtered_resps");
    let is_named = ["doc", "target", "doc_id", "doc_hash"].iter().any(|key| row.has(key));
    (row.has("doc") && row.has("arguments")) || (is_named && has_answer)
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let row = head.rows.iter().find(|row| is_sample(row))?;
    let named = task_and_stamp(&head.stem);
    let doc = row.object("doc");
    let subject = doc.text("subject").or_else(|| doc.text("category"));
    Some(Sniffed {
        split: named.as_ref().map(|(task, _)| task.clone()).or(subject),
        run: named.clone().map(|(_, stamp)| stamp),
        ..Sniffed::new(
            "lm-eval",
            LmEval {
                task: named.as_ref().map(|(task, _)| task.clone()),
                version: None,
            },
            head.shape.clone(),
        )
    })
}

/// The task and the time stamp in `samples_<task>_2024-11-22T16-44-21.111622`.
pub(crate) fn task_and_stamp(stem: &str) -> Option<(String, String)> {
    let rest = stem.strip_prefix("samples_")?;
    let (task, stamp) = rest.rsplit_once('_')?;
    let is_stamp =
        stamp.len() >= 19 && stamp.is_char_boundary(10) && stamp.as_bytes()[4] == b'-' && stamp[10..].starts_with('T');
    is_stamp.then(|| (task.to_owned(), stamp.to_owned()))
}

impl Layout for LmEval {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let doc = row.get("doc").unwrap_or(Raw(b"{}"));
        let mut answer = Answer {
            record: self.record(&row, doc),
            ..Answer::default()
        };
        if let Some(filter) = row.text("filter") {
            answer.traits |= FILTER;
            answer.series = Cow::Owned(filter);
        }
        if row.has("doc_hash") {
            answer.traits |= HASHES;
        }
        if row.get("arguments").is_some_and(Raw::is_object) {
            answer.traits |= NAMED_ARGUMENTS;
        }
        let doc_id = row.int("doc_id");
        answer.order = doc_id.unwrap_or(entry.number as i64);
        if let Some(id) = doc.object().int("question_id") {
            answer.record.question_id = id;
        } else {
            answer.record.question_id = answer.order;
            answer.is_local_id = true;
        }
        match log_likelihoods(&row) {
            Some(pairs) if pairs.len() > 1 => Ok(vec![scored(answer, &row, &pairs)?]),
            Some(_) => Err("a log-likelihood of one text, no choice".into()),
            None => generated(answer, &row),
        }
    }

    fn kind(&self, tally: &Tally) -> String {
        let version = match &self.version {
            Some(version) => format!("lm-eval {version}"),
            None if tally.traits & FILTER != 0 => "lm-eval 0.4.7 or later".to_owned(),
            None if tally.traits & HASHES != 0 => "lm-eval 0.4.3 to 0.4.6".to_owned(),
            None => "lm-eval 0.4.0 to 0.4.2".to_owned(),
        };
        let how = match (tally.traits & LOGPROBS != 0, tally.traits & GENERATED != 0) {
            (true, false) => "multiple choice by log-probability",
            (true, true) => "log-probabilities and generated answers",
            _ => "generated answers",
        };
        let filter = match tally.series.as_slice() {
            [] => "one filter".to_owned(),
            [only] if only.is_empty() => "one filter".to_owned(),
            [only] => format!("one filter ({only})"),
            several => format!(
                "filter {} of {} ({})",
                tally.own_series,
                several.len(),
                several.join(", ")
            ),
        };
        let ranks = if tally.ranks > 1 {
            format!(", {} ranks", tally.ranks)
        } else {
            String::new()
        };
        let tasks = tally.several("tasks");
        format!("{version}, {how}, {filter}{ranks}{tasks}")
    }

    fn text(&self, entry: &Entry, part: usize, field: Field) -> Option<String> {
        let row = entry.object().ok()?;
        match field {
            Field::Prompt => Some(prompt(&row)),
            Field::Completion if log_likelihoods(&row).is_some() => Some(String::new()),
            Field::Completion => {
                let text = responses(&row)
                    .get(part)
                    .map(|raw| completion_text(Some(*raw)).0)
                    .unwrap_or_default();
                Some(if is_null_response(&row, &text) {
                    String::new()
                } else {
                    text
                })
            }
            Field::Question => None,
        }
    }

    fn with_version(&self, version: &str) -> Option<Box<dyn Layout>> {
        Some(Box::new(LmEval {
            version: Some(version.to_owned()),
            ..self.clone()
        }))
    }

    fn is_numbered(&self) -> bool {
        true
    }

    fn notices(&self, rows: &Rows) -> Vec<Notice> {
        let look_alike = rows
            .benchmark
            .list()
            .iter()
            .find(|name| name.starts_with("leaderboard_mmlu"));
        let text = |name: &str| {
            format!(
                "{name} is a task of its own: its prompts and scoring are not those of {}",
                &name["leaderboard_".len()..]
            )
        };
        look_alike
            .map(|name| Notice {
                kind: "look_alike".to_owned(),
                text: text(name),
            })
            .into_iter()
            .collect()
    }
}

/// Ends of the names of MMLU tasks that ask the same questions in another way.
const MMLU_VARIANTS: [&str; 2] = ["_continuation", "_generative"];

impl LmEval {
    fn record(&self, row: &Object, doc: Raw) -> Record {
        let fields = doc.object();
        let (benchmark, subject) = self.benchmark_and_subject(&fields);
        let hash = |key: &str| row.text(key).unwrap_or_default();
        let stored = hash("doc_hash");
        let alone = subject.is_empty().then_some(benchmark.as_str());
        Record {
            category: alone.unwrap_or(&subject).to_owned(),
            benchmark,
            subject,
            doc_id: row.int("doc_id"),
            seed: seed(row),
            question: question(&fields),
            options: options(&fields),
            doc: Some(doc.one_line()).filter(|_| !fields.is_empty()),
            prompt: prompt(row),
            doc_hash: if stored.is_empty() && !fields.is_empty() {
                doc_hash(&doc.value())
            } else {
                stored
            },
            prompt_hash: hash("prompt_hash"),
            target_hash: hash("target_hash"),
            ..Record::default()
        }
    }

    fn benchmark_and_subject(&self, doc: &Object) -> (String, String) {
        let stated = doc.first(&["category", "subject", "Subdomain"]).and_then(Raw::text);
        let Some(task) = &self.task else {
            let benchmark = match (doc.has("options"), doc.has("choices")) {
                (true, _) if doc.has("cot_content") => "mmlu_pro",
                (_, true) if doc.has("subject") => "mmlu",
                _ => "",
            };
            return (benchmark.to_owned(), stated.unwrap_or_default());
        };
        let task = MMLU_VARIANTS
            .iter()
            .find_map(|variant| task.strip_suffix(variant).filter(|task| task.starts_with("mmlu_")))
            .unwrap_or(task);
        let subject_part = stated.as_deref().map(|name| name.replace(' ', "_"));
        let benchmark = match subject_part.as_deref().and_then(|part| task.strip_suffix(part)) {
            Some(rest) if !rest.is_empty() => rest.trim_end_matches(['_', '-']),
            _ if task.starts_with("mmlu_") && doc.has("choices") && stated.is_none() => "mmlu",
            _ => task,
        };
        let named = || {
            task.strip_prefix("mmlu_")
                .filter(|_| benchmark == "mmlu")
                .unwrap_or(task)
                .to_owned()
        };
        if stated.is_none() && benchmark == task {
            return (benchmark.to_owned(), String::new());
        }
        let benchmark = if benchmark == "hendrycksTest" {
            "mmlu"
        } else {
            benchmark
        };
        (benchmark.to_owned(), stated.unwrap_or_else(named))
    }
}

fn scored(mut answer: Answer, row: &Object, pairs: &[(f64, Option<bool>)]) -> Result<Answer, RowError> {
    refuse_shares(row, pairs.len())?;
    let record = &mut answer.record;
    let continuations = continuations(row);
    if record.options.is_empty() {
        record.options = continuations.iter().map(|text| text.trim().to_owned()).collect();
    }
    // Requests beyond the options score the continuations without their context.
    let count = if record.options.len() > 1 {
        pairs.len().min(record.options.len())
    } else {
        pairs.len()
    };
    let numbers: Vec<f64> = pairs[..count].iter().map(|(number, _)| *number).collect();
    record.pick = letter_text(crate::extract::argmax::argmax_first(&numbers));
    let is_one_text =
        continuations.len() >= count && continuations[..count].iter().all(|text| *text == continuations[0]);
    record.answer = match row.get("target") {
        // Several contexts before one text: the gold is the place of the right context, which the target is not.
        Some(_) if is_one_text => gold_of_context(row, count),
        Some(target) => gold_of_choice(target, record, &continuations),
        None => String::new(),
    };
    if numbers.iter().any(|number| number.is_nan()) {
        flag(record, "nan");
    }
    let are_letters = continuations
        .iter()
        .take(count)
        .all(|text| letter_index(text.trim()).is_some());
    if are_letters && !continuations.is_empty() {
        record.letter_mass = Some(numbers.iter().map(|number| number.exp()).sum::<f64>() as f32);
    }
    record.continuations = (continuations.len() >= count).then(|| continuations[..count].to_vec());
    record.logprobs = Some(numbers.iter().map(|number| *number as f32).collect());
    record.greedy = pairs[..count].iter().map(|(_, greedy)| *greedy).collect();
    let is_by_length = !row.has("acc") && !row.has("exact_match") && row.has("acc_norm");
    if is_by_length && let Some(pick) = record.scored_pick(ArgMax::PerChar) {
        record.pick = letter_text(Some(pick));
    }
    finish(record, row, &["acc", "exact_match", "acc_norm"]);
    answer.traits |= LOGPROBS;
    Ok(answer)
}

fn generated(mut answer: Answer, row: &Object) -> Result<Vec<Answer>, RowError> {
    let texts = responses(row);
    if !row.has("resps") && !row.has("filtered_resps") {
        return Err("no resps and no filtered_resps".into());
    }
    let picks = match row.get("filtered_resps") {
        Some(picks) if picks.is_list() => picks.list(),
        Some(pick) => vec![pick],
        None => Vec::new(),
    };
    let picks = match picks.as_slice() {
        [only] if only.is_list() => only.list(),
        _ => picks,
    };
    answer.traits |= GENERATED;
    answer.record.answer = row.get("target").map(gold_text).unwrap_or_default();
    let count = if picks.len() == texts.len() {
        texts.len().max(1)
    } else {
        1
    };
    if texts.len() > count {
        answer.traits |= UNUSED_RESPONSES;
    }
    let one = |i: usize| {
        let mut record = answer.record.clone();
        record.attempt = i as i64;
        set_completion(&mut record, texts.get(i).copied());
        if is_null_response(row, &record.reasoning) {
            record.reasoning.clear();
            record.reasoning_chars = 0;
            flag(&mut record, "no_output");
        }
        record.pick = match picks.get(i) {
            Some(pick) => pick_text(Some(*pick)),
            None if row.has("filtered_resps") => INVALID.to_owned(),
            None => {
                flag(&mut record, "pick_read");
                harness::read(&record.reasoning)
            }
        };
        finish(&mut record, row, if count == 1 { &["exact_match", "acc"] } else { &[] });
        Answer {
            record,
            series: answer.series.clone(),
            text_id: None,
            ..answer
        }
    };
    Ok((0..count).map(one).collect())
}

/// What the notice says where the file stores no picks or more responses than picks.
pub(crate) fn traits_notices(traits: u16, notices: &mut Vec<Notice>) {
    let mut tell = |kind: &str, text: &str| {
        notices.push(Notice {
            kind: kind.to_owned(),
            text: text.to_owned(),
        });
    };
    if traits & UNUSED_RESPONSES != 0 {
        tell(
            "unused_responses",
            "rows hold several responses and one pick: the first response is shown",
        );
    }
}
