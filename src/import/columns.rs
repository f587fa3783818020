//! Tables and row lists of any columns: the user says which is which, or they bear our own names.

use anyhow::{Result, anyhow};

use super::closed::list_of;
use super::harness;
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, flag, mark, set_completion};
use crate::benchmark::hash::hash_text;
use crate::record::{Finish, INVALID, Record, letter};
use crate::trace::{Notice, Rows};

/// What a column can be mapped to, with the names under which it is often found (for suggestions only).
const COLUMNS: [(&str, &[&str]); 15] = [
    (
        "pick",
        &[
            "pred",
            "prediction",
            "predicted_answer",
            "predicted",
            "extracted_answer",
            "extracted",
            "model_answer",
            "parsed_answer",
            "model_pred",
            "model_prediction",
            "llm_answer",
            "final_answer",
            "answer_pred",
            "pred_answer",
            "respuesta_extraida",
            "model_choice",
            "filtered_resps",
        ],
    ),
    (
        "answer",
        &[
            "gold",
            "correct_answer",
            "ground_truth",
            "label",
            "target",
            "true_answer",
            "gold_answer",
            "answer_key",
            "reference",
            "correct_option",
            "expected",
            "respuesta_verdadera",
            "answerKey",
            "truth",
            "gt",
        ],
    ),
    (
        "reasoning",
        &[
            "output",
            "response",
            "completion",
            "generated_text",
            "model_outputs",
            "model_output",
            "generation",
            "raw_output",
            "raw_response",
            "model_response",
            "llm_response",
            "respuesta_llm",
            "outputs",
            "resps",
            "text",
            "cot",
            "rationale",
        ],
    ),
    (
        "prompt",
        &["input", "full_prompt", "prompt_utilizado", "model_input", "query"],
    ),
    ("question", &["pregunta", "question_text", "stem"]),
    ("options", &["choices", "candidates", "opciones"]),
    (
        "category",
        &["subject", "domain", "topic", "task", "subset", "categoria"],
    ),
    ("subject", &[]),
    (
        "question_id",
        &["id", "qid", "idx", "index", "doc_id", "sample_id", "uid"],
    ),
    ("attempt", &["run", "repeat", "epoch", "trial", "sample"]),
    ("seed", &[]),
    ("correct", &["is_correct", "score", "acc", "exact_match"]),
    ("benchmark", &["dataset"]),
    ("doc_hash", &[]),
    ("prompt_hash", &[]),
];

#[derive(Debug, Clone)]
pub(crate) struct Columns {
    /// Our names and the file's.
    map: Vec<(String, String)>,
    source: &'static str,
}

/// Checks a `--map`: known names on the left, each once.
pub(crate) fn check_map(map: &[(String, String)]) -> Result<()> {
    for (i, (ours, _)) in map.iter().enumerate() {
        if !COLUMNS.iter().any(|(name, _)| name == ours) {
            let known: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
            return Err(anyhow!("--map: no column {ours}; known: {}", known.join(", ")));
        }
        if map[..i].iter().any(|(earlier, _)| earlier == ours) {
            return Err(anyhow!("--map names {ours} twice"));
        }
    }
    Ok(())
}

/// Opens by the user's map, or by our own names; without a pick or a text it is an error that helps to write a map.
pub(crate) fn sniff(head: &Head, map: &[(String, String)]) -> Option<Result<Sniffed>> {
    let first = head.rows.first()?;
    let columns: Vec<String> = first.keys().map(str::to_owned).collect();
    let listed = listed(&columns);
    let has = |name: &str| head.rows.iter().any(|row| row.has(name));
    let mut known: Vec<(String, String)> = map.to_vec();
    for (name, _) in &COLUMNS {
        if !known.iter().any(|(ours, _)| ours == name) && has(name) && !known.iter().any(|(_, theirs)| theirs == name) {
            known.push(((*name).to_owned(), (*name).to_owned()));
        }
    }
    if let Some((ours, theirs)) = map.iter().find(|(_, theirs)| !has(theirs)) {
        let text = format!("--map {ours}={theirs}: no column {theirs}; the columns are: {listed}");
        return Some(Err(anyhow!(text)));
    }
    let is_known = |name: &str| known.iter().any(|(ours, _)| ours == name);
    let is_usable = (is_known("pick") || is_known("reasoning")) && (is_known("answer") || !map.is_empty());
    if !is_usable {
        return Some(Err(anyhow!(help(&columns, &listed))));
    }
    let split = known.iter().find(|(ours, _)| ours == "category" || ours == "subject");
    Some(Ok(Sniffed {
        format: "columns",
        split: split.and_then(|(_, theirs)| first.text(theirs)),
        layout: Box::new(Columns {
            map: known,
            source: head.source,
        }),
        shape: head.shape.clone(),
        name: None,
        run: None,
        manifest: None,
    }))
}

/// Column names for a message: a table without a header has its first row's texts there.
fn listed(columns: &[String]) -> String {
    let shown = columns
        .iter()
        .take(40)
        .map(|name| name.chars().take(50).collect::<String>().replace(char::is_control, " "));
    let more = if columns.len() > 40 { ", ..." } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

fn help(columns: &[String], listed: &str) -> String {
    let mut taken: Vec<&str> = Vec::new();
    let mut pairs = Vec::new();
    for (ours, theirs) in &COLUMNS {
        let exact = theirs
            .iter()
            .find_map(|name| columns.iter().find(|column| column.eq_ignore_ascii_case(name)));
        let own = columns.iter().find(|column| *column == ours);
        if let Some(column) = own.or(exact).filter(|column| !taken.contains(&column.as_str())) {
            taken.push(column);
            if own.is_none() {
                pairs.push(format!("{ours}={column}"));
            }
        }
    }
    if !pairs
        .iter()
        .any(|pair| pair.starts_with("pick=") || pair.starts_with("reasoning="))
    {
        let has_own = columns.iter().any(|column| column == "pick" || column == "reasoning");
        let what = if has_own {
            "no column is the answer"
        } else {
            "no column looks like a pick or an output"
        };
        return format!(
            "rows of an unknown kind, {what}; columns: {listed}. If one is, --map pick=COLUMN,answer=COLUMN,reasoning=COLUMN"
        );
    }
    format!(
        "rows of an unknown kind; columns: {listed}. Say which is which, e.g. --map {}",
        pairs.join(",")
    )
}

impl Layout for Columns {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let order = entry.number as i64;
        let is_ours = row.has("reasoning_chars") && self.map.iter().all(|(ours, theirs)| ours == theirs);
        // A row of our own JSONL has every column of a record.
        if is_ours && let Ok(record) = serde_json::from_slice(entry.bytes) {
            return Ok(vec![Answer {
                record,
                order,
                ..Answer::default()
            }]);
        }
        let text = |name: &str| self.column(&row, name).map(Raw::shown).unwrap_or_default();
        let int = |name: &str| self.column(&row, name).and_then(Raw::int);
        let mut record = Record {
            question_id: int("question_id").unwrap_or(entry.number as i64),
            attempt: int("attempt").unwrap_or(0),
            seed: int("seed"),
            benchmark: text("benchmark"),
            category: text("category"),
            subject: text("subject"),
            prompt: text("prompt"),
            question: text("question"),
            options: self.column(&row, "options").map(options).unwrap_or_default(),
            doc_hash: text("doc_hash"),
            prompt_hash: text("prompt_hash"),
            ..Record::default()
        };
        if record.category.is_empty() {
            record.category.clone_from(&record.subject);
        }
        if self.name_of("reasoning").is_some() {
            set_completion(&mut record, self.column(&row, "reasoning"));
        }
        record.answer = self.letter_or_text(&row, "answer", &mut record);
        record.pick = if self.name_of("pick").is_some() {
            let pick = self.letter_or_text(&row, "pick", &mut record);
            if pick.is_empty() { INVALID.to_owned() } else { pick }
        } else {
            flag(&mut record, "pick_read");
            harness::read(&record.reasoning)
        };
        mark(&mut record);
        if let Some(stated) = self.column(&row, "correct").and_then(Raw::truth) {
            if record.answer.is_empty() {
                record.correct = stated;
            } else if stated != record.correct {
                flag(&mut record, "score_differs");
            }
        }
        if record.prompt_hash.is_empty() && !record.prompt.is_empty() {
            record.prompt_hash = hash_text(&record.prompt);
        }
        record.finish = row
            .text("finish")
            .or_else(|| row.text("finish_reason"))
            .and_then(|name| match name.as_str() {
                "eos" => Some(Finish::Eos),
                "stop" => Some(Finish::Stop),
                "length" => Some(Finish::Length),
                "error" => Some(Finish::Error),
                _ => None,
            });
        let is_local_id = self.name_of("question_id").is_none();
        Ok(vec![Answer {
            record,
            order,
            is_local_id,
            ..Answer::default()
        }])
    }

    fn kind(&self, _tally: &Tally) -> String {
        let renamed = self.map.iter().filter(|(ours, theirs)| ours != theirs);
        let renamed: Vec<String> = renamed.map(|(ours, theirs)| format!("{ours}={theirs}")).collect();
        let map = if renamed.is_empty() {
            String::new()
        } else {
            format!(", {}", renamed.join(", "))
        };
        format!("{}{map}", self.source)
    }

    fn notices(&self, rows: &Rows) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut tell = |kind: &str, text: &str| {
            notices.push(Notice {
                kind: kind.to_owned(),
                text: text.to_owned(),
            });
        };
        if self.name_of("answer").is_none() && self.name_of("correct").is_none() {
            tell("no_gold", "no column is the answer: no row can be right");
        }
        if self.name_of("pick").is_none() {
            tell(
                "no_pick",
                "no column is the pick: the harness rule read the whole output",
            );
        }
        if rows
            .flags
            .list()
            .iter()
            .any(|flags| flags.split(',').any(|flag| flag == "number_pick"))
        {
            tell(
                "number_pick",
                "pick or answer are numbers from 0: shown as the letters of the options",
            );
        }
        notices
    }

    fn numbers_attempts(&self) -> bool {
        self.name_of("attempt").is_none() && self.name_of("question_id").is_some()
    }
}

impl Columns {
    fn name_of(&self, ours: &str) -> Option<&str> {
        self.map
            .iter()
            .find(|(name, _)| name == ours)
            .map(|(_, theirs)| theirs.as_str())
    }

    fn column<'a>(&self, row: &Object<'a>, ours: &str) -> Option<Raw<'a>> {
        row.get(self.name_of(ours)?)
    }

    /// A stored text; a number that names one of the row's options becomes its letter.
    fn letter_or_text(&self, row: &Object, ours: &str, record: &mut Record) -> String {
        let Some(raw) = self.column(row, ours) else {
            return String::new();
        };
        let raw = raw.list().first().copied().unwrap_or(raw);
        let index = raw
            .int()
            .and_then(|index| usize::try_from(index).ok())
            .filter(|index| *index < record.options.len());
        if let Some(name) = index.and_then(letter) {
            flag(record, "number_pick");
            return name.to_string();
        }
        if raw.is_null() { String::new() } else { raw.shown() }
    }
}

fn options(raw: Raw) -> Vec<String> {
    if raw.is_object() {
        let fields = raw.object();
        return match fields.get("text") {
            Some(list) => list_of(list),
            None => fields.fields().map(|(_, text)| text.shown()).collect(),
        };
    }
    let text = raw.shown();
    if raw.is_list() || text.trim_start().starts_with('[') {
        return list_of(raw);
    }
    super::layout::lettered_options(&text)
}
