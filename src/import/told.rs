//! What most tools tell of an answer: the request, the right answer, the model's text or its scores, what was read, and
//! a score. Each format finds these in its own fields; here they become a record.

use std::sync::LazyLock;

use super::json::{Object, Raw};
use super::layout::{RowError, flag, lettered_options, lettered_start, mark};
use super::task::Task;
use crate::benchmark::hash::hash_text;
use crate::extract::{Rule, answer_start};
use crate::record::{INVALID, Record, letter, letter_index, split_prompt};
use crate::rows::nothing::is_nothing;

/// Reads a letter from texts that no tool has read: a bare letter, the harness's phrase, `Answer: C` and its like.
static STATED: LazyLock<Option<Rule>> = LazyLock::new(|| {
    let bare = r"re:\A\s*[*_`(\[]*([A-Z])[)\].:*_`]*\s*\z";
    let named = r#"re:(?i:\b(?:answer|choice|option)|答案|选项|ответ|respuesta|antwort|réponse|resposta)[*_`\s]*(?i:is|:|：|=|是|为|為)[*_`\s]*(?:\$?\\?(?:boxed|text)?\{?)?[(\["'*（]*([A-Z])(?:\b|[是为])@last"#;
    let leading = r"re:\A\s*[*_`(\[]*([A-Z])[)\].:*_`]+\s";
    let boxed = r"re:\\boxed\{\s*(?:\\text\{)?\(?([A-Z])\b@last";
    Rule::parse(&format!(
        "{bare} ?? lm_eval_mmlu_pro ?? {named} ?? {boxed} ?? {leading}"
    ))
    .ok()
});

/// The text of a message: a string, or the texts of its parts.
pub(super) fn content_text(content: Raw) -> String {
    if let Some(text) = content.text() {
        return text;
    }
    let parts = content.list().into_iter();
    let texts = parts.filter_map(|part| part.text().or_else(|| part.object().text("text")));
    texts.collect::<Vec<_>>().join("\n")
}

fn role_and_content(message: &Object) -> (String, String) {
    let content = message.first(&["content", "prompt", "text"]);
    (
        message.first(&["role", "type"]).map(Raw::shown).unwrap_or_default(),
        content.map(content_text).unwrap_or_default(),
    )
}

/// Puts the request in place: a text, or the messages before the model's own. Question and options that the row does not
/// name are cut out of its last turn.
pub(super) fn ask(record: &mut Record, request: Raw) {
    let messages: Vec<Object> = request.list().into_iter().map(Raw::object).collect();
    let turns: Vec<(String, String)> = messages.iter().map(role_and_content).collect();
    let is_model = |(role, _): &(String, String)| matches!(role.as_str(), "assistant" | "model" | "ai" | "bot");
    let end = match turns.last() {
        Some(last) if is_model(last) => turns.len() - 1,
        _ => turns.len(),
    };
    let asked = &turns[..end];
    let last_turn = match asked {
        [] => request.shown(),
        [.., (_, content)] => content.clone(),
    };
    record.prompt = match asked {
        [] => last_turn.clone(),
        [(_, only)] => only.clone(),
        several => {
            let turn = |(role, content): &(String, String)| serde_json::json!({"role": role, "content": content});
            serde_json::Value::Array(several.iter().map(turn).collect()).to_string()
        }
    };
    record.prompt_hash = hash_text(&record.prompt);
    cut_question(record, &last_turn);
}

fn cut_question(record: &mut Record, text: &str) {
    let parts = split_prompt(text);
    let is_split = parts.options.len() > 1;
    if record.options.is_empty() {
        record.options = if is_split {
            parts.options
        } else {
            lettered_options(text)
        };
    }
    if !record.question.is_empty() {
        return;
    }
    record.question = match lettered_start(text).filter(|_| !is_split) {
        Some(start) => question_before(&text[..start]).to_owned(),
        None => parts.question,
    };
}

/// The question at the end of what stands before the options.
fn question_before(text: &str) -> &str {
    let text = text.trim_end();
    let headings = ["Options:", "Choices:", "选项：", "选项:", "options:", "choices:"];
    let text = headings
        .iter()
        .find_map(|heading| text.strip_suffix(heading))
        .unwrap_or(text)
        .trim_end();
    let marks = ["Question:", "question:", "问题：", "问题:", "Q:"];
    let marked = marks
        .iter()
        .filter_map(|mark| Some(text.rfind(mark)? + mark.len()))
        .max();
    let start = marked.or_else(|| Some(text.rfind("\n\n")? + 2)).unwrap_or(0);
    text[start..].trim()
}

/// A pick or a gold as a letter: the letter itself, within brackets, stars or a sentence's dot, or the text of one of the
/// options; any other text as it is.
pub(super) fn letter_of(text: &str, options: &[String]) -> String {
    let trimmed = text.trim();
    let is_option = |option: &String| option.trim() == trimmed;
    if letter_index(trimmed).is_some() {
        return trimmed.to_owned();
    }
    if let Some(letter) = options.iter().position(is_option).and_then(letter) {
        return letter.to_string();
    }
    let bare =
        trimmed.trim_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace() || "（）【】。：、".contains(c));
    let wide = match bare.chars().next() {
        Some(c @ 'Ａ'..='Ｚ') if bare.chars().count() == 1 => letter(c as usize - 'Ａ' as usize).map(String::from),
        _ => None,
    };
    wide.or_else(|| letter_index(bare).map(|_| bare.to_owned()))
        .unwrap_or_else(|| trimmed.to_owned())
}

/// The letter that a sentence names (`Answer: C`), else the sentence as it is.
pub(super) fn letter_said(text: &str, options: &[String]) -> String {
    let letter = letter_of(text, options);
    let said = STATED.as_ref().and_then(|rule| rule.read(text).pick.map(str::to_owned));
    match said.filter(|_| letter_index(&letter).is_none()) {
        Some(said) => said,
        None => letter,
    }
}

/// Refuses rows that offer nothing to choose from: no options, and no letter for a gold.
pub(super) fn demand_options(record: &Record, golds: &[String], what: &str) -> Result<(), RowError> {
    let is_letter = |gold: &String| letter_index(&letter_of(gold, &record.options)).is_some();
    if record.options.len() < 2 && !golds.iter().any(is_letter) {
        return Err(format!("{what} of free-text answers, no options").into());
    }
    Ok(())
}

/// A record with what its task says, numbered from `number`.
pub(super) fn record_of(task: &Task, number: usize) -> Record {
    let category = if task.subject.is_empty() {
        &task.benchmark
    } else {
        &task.subject
    };
    Record {
        question_id: number as i64,
        category: category.clone(),
        subject: task.subject.clone(),
        benchmark: task.benchmark.clone(),
        ..Record::default()
    }
}

/// The gold out of one or several right answers; of several the one that the pick names, flagged.
pub(super) fn set_golds(record: &mut Record, golds: &[String]) {
    let golds: Vec<String> = golds.iter().map(|gold| letter_of(gold, &record.options)).collect();
    let named = golds.iter().find(|gold| **gold == record.pick);
    record.answer = named.or(golds.first()).cloned().unwrap_or_default();
    if golds.iter().any(|gold| *gold != record.answer) {
        flag(record, "several_golds");
    }
}

/// Puts a stored pick in place.
pub(super) fn set_pick(record: &mut Record, stored: Option<Raw>) {
    let stored = stored.map(|raw| raw.list().first().copied().unwrap_or(raw));
    let text = stored.filter(|raw| !raw.is_null()).map(Raw::shown).unwrap_or_default();
    let pick = letter_of(&text, &record.options);
    let is_none = is_nothing(&pick);
    record.pick = if is_none { INVALID.to_owned() } else { pick };
}

/// Reads the pick from the model's text where the tool stored none.
pub(super) fn read_pick(record: &mut Record) {
    flag(record, "answer_read");
    let said = &record.reasoning[answer_start(&record.reasoning)..];
    let pick = STATED.as_ref().and_then(|rule| rule.read(said).pick);
    record.pick = pick.map_or_else(|| INVALID.to_owned(), str::to_owned);
}

/// Puts log-likelihoods of the options in place; the pick is the largest.
pub(super) fn score(record: &mut Record, numbers: &[f64], continuations: Option<Vec<String>>) {
    record.pick = crate::extract::argmax::argmax_first(numbers)
        .and_then(letter)
        .map_or_else(|| INVALID.to_owned(), String::from);
    if numbers.iter().any(|number| number.is_nan()) {
        flag(record, "nan");
    }
    let are_letters = |texts: &Vec<String>| texts.iter().all(|text| letter_index(text.trim()).is_some());
    if continuations.as_ref().is_some_and(are_letters) {
        record.letter_mass = Some(numbers.iter().map(|number| number.exp()).sum::<f64>() as f32);
    }
    record.logprobs = Some(numbers.iter().map(|number| *number as f32).collect());
    record.continuations = continuations.filter(|texts| texts.len() == numbers.len());
}

/// Marks a record right or wrong and holds it against the file's own score. A pick that was read here and not by the tool
/// yields to that score: it is the gold where the tool found it right, and none where it found the gold wrong.
pub(super) fn judge(record: &mut Record, stated: Option<bool>) {
    mark(record);
    let is_read = record.flags.iter().any(|flag| flag == "answer_read");
    match stated {
        Some(stated) if record.answer.is_empty() => record.correct = stated,
        Some(stated) if stated != record.correct && is_read => {
            flag(record, "score_stands");
            record.pick = if stated {
                record.answer.clone()
            } else {
                INVALID.to_owned()
            };
            record.correct = stated;
        }
        Some(stated) if stated != record.correct => flag(record, "score_differs"),
        _ => {}
    }
}

/// The first of these scores that an object holds: right from one half on.
pub(super) fn stated(metrics: &Object, names: &[&str]) -> Option<bool> {
    let score = metrics.first(names)?;
    score.truth().or_else(|| Some(score.float()? >= 0.5))
}
