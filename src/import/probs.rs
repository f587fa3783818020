//! Tables with one row a question and a probability for each option letter, as the MMLU authors' script and its many
//! descendants write them: `NAME_correct`, `NAME_choiceA_probs`, ..., or `prob_A`, ...; one or several models side by side.

use std::borrow::Cow;

use super::harness;
use super::head::Head;
use super::json::Object;
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, flag, mark, stated_score};
use crate::record::{Record, letter, letter_index};

/// How a letter's column is named, the letter at `?`; a model's name may stand before or after.
const FORMS: [&str; 8] = [
    "choice?_probs",
    "choice?_prob",
    "prob_?",
    "?_probs",
    "?_prob",
    "logprob_?",
    "?_logprob",
    "lls_?",
];

#[derive(Debug, Clone)]
pub(crate) struct Probs {
    models: Vec<Model>,
    question: Question,
    subject: String,
}

/// One model's columns.
#[derive(Debug, Clone)]
struct Model {
    name: String,
    /// Column of each letter, from A on.
    letters: Vec<String>,
    correct: Option<String>,
    /// The column with the letter that the script picked.
    pick: Option<String>,
}

/// Where the question stands.
#[derive(Debug, Clone)]
struct Question {
    text: Option<String>,
    options: Vec<String>,
    gold: String,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let row = head.rows.first().filter(|row| !row.has("doc"))?;
    let columns: Vec<&str> = row.keys().collect();
    let models = models(&columns);
    let question = question(&columns)?;
    let first = models.first()?;
    let subject = head
        .stem
        .trim_end_matches("_result")
        .trim_end_matches("_test")
        .to_owned();
    let only = Some(first.name.clone()).filter(|name| models.len() == 1 && !name.is_empty());
    Some(Sniffed {
        name: only.or_else(|| head.folders.first().cloned()),
        split: Some(head.stem.clone()),
        run: Some(
            models
                .iter()
                .map(|model| model.name.as_str())
                .collect::<Vec<_>>()
                .join(" "),
        ),
        ..Sniffed::new(
            "option-probs",
            Probs {
                models,
                question,
                subject,
            },
            head.shape.clone(),
        )
    })
}

/// The models whose columns are there: at least A and B of one form.
fn models(columns: &[&str]) -> Vec<Model> {
    for form in FORMS {
        let of_letter = |index: usize| letter(index).map(|name| form.replace('?', name.encode_utf8(&mut [0; 4])));
        let Some(first) = of_letter(0) else { continue };
        let mut found: Vec<Model> = Vec::new();
        for (before, after) in columns.iter().filter_map(|column| column.split_once(first.as_str())) {
            let named = |what: &str| {
                columns
                    .iter()
                    .find(|column| **column == what)
                    .map(|column| (*column).to_owned())
            };
            let letters: Vec<String> = (0..26)
                .map_while(|index| named(&format!("{before}{}{after}", of_letter(index)?)))
                .collect();
            if letters.len() < 2 {
                continue;
            }
            let of_model = |names: &[&str]| names.iter().find_map(|name| named(&format!("{before}{name}{after}")));
            found.push(Model {
                name: format!("{before}{after}").trim_matches(['_', '/', ' ']).to_owned(),
                letters,
                correct: of_model(&["correct", "correctness", "is_correct"]),
                pick: of_model(&["model_output", "prediction", "pred"]),
            });
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn question(columns: &[&str]) -> Option<Question> {
    let named = |names: &[&str]| {
        columns
            .iter()
            .find(|column| names.iter().any(|name| column.eq_ignore_ascii_case(name)))
            .map(|column| (*column).to_owned())
    };
    // The header-less source of the set keeps numbers for names: the question, its options, the gold.
    let numbered: Vec<String> = (0..30)
        .map(|number| number.to_string())
        .take_while(|number| columns.contains(&number.as_str()))
        .collect();
    if let [text, options @ .., gold] = numbered.as_slice()
        && options.len() >= 2
    {
        return Some(Question {
            text: Some(text.clone()),
            options: options.to_vec(),
            gold: gold.clone(),
        });
    }
    let options = (0..26)
        .map_while(|index| named(&[letter(index)?.encode_utf8(&mut [0; 4])]))
        .collect();
    Some(Question {
        text: named(&["question", "input", "prompt"]),
        options,
        gold: named(&["answer", "gold", "target", "label", "correct_answer"])?,
    })
}

impl Layout for Probs {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let order = entry.number as i64;
        self.models
            .iter()
            .map(|model| {
                let record = self.record(model, &row, order)?;
                Ok(Answer {
                    record,
                    order,
                    series: Cow::Owned(model.name.clone()),
                    is_local_id: true,
                    ..Answer::default()
                })
            })
            .collect()
    }

    fn stands_alone(&self) -> bool {
        self.models.len() == 1
    }

    fn kind(&self, tally: &Tally) -> String {
        let model = match self.models.len() {
            1 => String::new(),
            several => format!(", {} of {several} models", tally.own_series),
        };
        let subjects = tally.several("subjects");
        format!("table of option probabilities, one row a question{model}{subjects}")
    }
}

impl Probs {
    fn record(&self, model: &Model, row: &Object, order: i64) -> Result<Record, RowError> {
        let text = |column: &str| row.shown(column).unwrap_or_default();
        let number = |column: &String| {
            let number = row.float(column);
            number.ok_or_else(|| format!("no number in {column}"))
        };
        let numbers = model.letters.iter().map(number).collect::<Result<Vec<f64>, _>>()?;
        // Probabilities become logarithms; a table of logarithms has a negative number in each row.
        let logprobs: Vec<f64> = if numbers.iter().any(|number| *number < 0.0) {
            numbers
        } else {
            numbers.iter().map(|number| number.ln()).collect()
        };
        let subject = ["subject", "category", "task"]
            .iter()
            .find_map(|column| row.text(column))
            .unwrap_or_else(|| self.subject.clone());
        let gold = text(&self.question.gold);
        let mut record = Record {
            question_id: order,
            benchmark: "mmlu".to_owned(),
            category: subject.clone(),
            subject,
            question: self.question.text.as_deref().map(text).unwrap_or_default(),
            options: self.question.options.iter().map(|column| text(column)).collect(),
            pick: match model.pick.as_deref().and_then(|column| row.text(column)) {
                Some(pick) if letter_index(&pick).is_some() => pick,
                _ => harness::argmax_letter(&logprobs),
            },
            answer: match row.int(&self.question.gold).map(usize::try_from) {
                Some(Ok(index)) if index < model.letters.len() => letter(index).map_or(gold, String::from),
                _ => gold.trim().to_owned(),
            },
            ..Record::default()
        };
        if logprobs.iter().any(|number| number.is_nan()) {
            flag(&mut record, "nan");
        }
        record.logprobs = Some(logprobs.iter().map(|number| *number as f32).collect());
        mark(&mut record);
        stated_score(
            &mut record,
            model.correct.as_deref().and_then(|column| row.get(column)?.truth()),
        );
        super::harness_doc(&mut record);
        Ok(record)
    }
}
