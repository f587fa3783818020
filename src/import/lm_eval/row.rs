//! The parts of a samples row, whatever generation of the harness wrote it.

use crate::import::json::{Object, Raw};
use crate::import::layout::{RowError, flag, mark, texts};
use crate::record::{INVALID, Record, letter, letter_index};

/// The prompt: the first request's text. Chat messages stay the JSON text that was hashed.
pub(super) fn prompt(row: &Object) -> String {
    let Some(arguments) = row.get("arguments") else {
        return row.text("input").unwrap_or_default();
    };
    let first = if arguments.is_object() {
        arguments
            .object()
            .fields()
            .next()
            .and_then(|(_, request)| request.object().get("arg_0"))
    } else {
        match arguments.list().first() {
            Some(request) if request.is_list() => request.list().first().copied(),
            Some(request) if request.is_object() => request.object().get("arg_0"),
            other => other.copied(),
        }
    };
    match first {
        Some(messages) if messages.is_list() => messages.list().first().map(|raw| raw.shown()).unwrap_or_default(),
        Some(text) => text.shown(),
        None => String::new(),
    }
}

/// What each request asked the model to continue with.
pub(super) fn continuations(row: &Object) -> Vec<String> {
    let Some(arguments) = row.get("arguments") else {
        return Vec::new();
    };
    if arguments.is_object() {
        let second = |request: Raw| request.object().get("arg_1").and_then(Raw::text);
        return arguments
            .object()
            .fields()
            .filter_map(|(_, request)| second(request))
            .collect();
    }
    arguments
        .list()
        .into_iter()
        .filter_map(|request| request.list().get(1).and_then(|raw| raw.text()))
        .collect()
}

/// The seed among the generation settings, where one was passed.
pub(super) fn seed(row: &Object) -> Option<i64> {
    let arguments = row.get("arguments")?;
    let settings = if arguments.is_object() {
        let requests = arguments.object();
        let (_, first) = requests.fields().next()?;
        first.object().get("arg_1")?
    } else {
        *arguments.list().first()?.list().get(1)?
    };
    settings.object().get("seed")?.int()
}

pub(super) fn question(doc: &Object) -> String {
    let keys = [
        "question",
        "Question",
        "question_stem",
        "query",
        "input",
        "sentence",
        "prompt",
        "text",
        "ctx",
        "goal",
        "premise",
    ];
    doc.first(&keys).and_then(Raw::text).unwrap_or_default()
}

pub(in crate::import) fn options(doc: &Object) -> Vec<String> {
    if let Some(list) = doc.first(&["options", "choices", "endings"]) {
        if list.is_object() {
            return list.object().get("text").map(texts).unwrap_or_default();
        }
        return texts(list);
    }
    let numbered = |stem: &str, from: usize| -> Vec<String> {
        (from..from + 26)
            .map_while(|i| doc.shown(&format!("{stem}{i}")))
            .collect()
    };
    let lettered = |stem: &str, from: char, to: char| -> Vec<String> {
        (from..=to)
            .map_while(|letter| doc.shown(&format!("{stem}{letter}")))
            .collect()
    };
    let lists = [
        numbered("choice", 1),
        numbered("option", 1),
        numbered("choice", 0),
        numbered("sol", 1),
        lettered("", 'A', 'Z'),
        lettered("option_", 'a', 'z'),
        lettered("option_", 'A', 'Z'),
        lettered("choice_", 'a', 'z'),
        lettered("op", 'a', 'z'),
    ];
    lists.into_iter().find(|list| list.len() > 1).unwrap_or_default()
}

/// Log-likelihoods with their greedy flags, one a choice; `None` where the row holds texts.
pub(super) fn log_likelihoods(row: &Object) -> Option<Vec<(f64, Option<bool>)>> {
    let pair = |raw: Raw| {
        let items = raw.list();
        let inner = items.first().filter(|item| item.is_list()).copied();
        let items = inner.map_or(items, Raw::list);
        match items.as_slice() {
            [number, greedy] => Some((number.float()?, Some(greedy.truth()?))),
            _ => None,
        }
    };
    let pairs = |key: &str| {
        let items = row.get(key)?.list();
        let found: Vec<_> = items.iter().map_while(|raw| pair(*raw)).collect();
        (!found.is_empty() && found.len() == items.len()).then_some(found)
    };
    pairs("filtered_resps")
        .filter(|found| found.len() > 1)
        .or_else(|| pairs("resps"))
}

/// The gold letter of a multiple-choice row: its target is the option's number, its letter or its text.
pub(super) fn gold_of_choice(target: Raw, record: &Record, continuations: &[String]) -> String {
    let shown = target.shown();
    let trimmed = shown.trim();
    if let Some(index) = target.int() {
        let in_range = usize::try_from(index)
            .ok()
            .filter(|index| *index < record.options.len().max(continuations.len()));
        return in_range.map_or(shown, |index| letter_text(Some(index)));
    }
    if letter_index(trimmed).is_some() {
        return trimmed.to_owned();
    }
    let among = |list: &[String]| list.iter().position(|text| text.trim() == trimmed);
    among(&record.options)
        .or_else(|| among(continuations))
        .map_or(shown, |index| letter_text(Some(index)))
}

/// The gold letter where the requests differ in their context: the document numbers it as its options are numbered
/// (`option1` is 1), else the score tells it of two.
pub(super) fn gold_of_context(row: &Object, count: usize) -> String {
    let doc = row.object("doc");
    let first = usize::from(doc.has("option1") && !doc.has("option0"));
    let stated = doc.first(&["answer", "label", "gold"]).and_then(Raw::int);
    let index = stated.and_then(|number| usize::try_from(number).ok()?.checked_sub(first));
    index
        .filter(|index| *index < count)
        .map_or_else(String::new, |index| letter_text(Some(index)))
}

/// Refuses rows that are not right or wrong: the score is a share of the probability, or no accuracy at all.
pub(super) fn refuse_shares(row: &Object, requests: usize) -> Result<(), RowError> {
    let doc = row.object("doc");
    let targets = |key: &str| doc.object(key).get("choices").map_or(0, |choices| choices.list().len());
    let is_mass = targets("mc2_targets") == requests && targets("mc1_targets") != requests;
    let score = row.first(&["acc", "exact_match", "acc_norm"]).and_then(Raw::float);
    if is_mass || score.is_some_and(|score| score > 0.0 && score < 1.0) {
        return Err("a score that is a probability mass over several right answers, neither right nor wrong".into());
    }
    let metrics = row.get("metrics").map(texts).unwrap_or_default();
    let is_accuracy = |name: &String| {
        ["acc", "exact_match", "em", "mc1"]
            .iter()
            .any(|known| name.starts_with(known))
    };
    if score.is_none() && !metrics.is_empty() && !metrics.iter().any(is_accuracy) {
        return Err(format!("scored by {}, neither right nor wrong", metrics.join(", ")).into());
    }
    Ok(())
}

pub(super) fn letter_text(index: Option<usize>) -> String {
    index.and_then(letter).map_or_else(|| INVALID.to_owned(), String::from)
}

/// The texts that the model gave, one a repeat.
pub(super) fn responses<'a>(row: &Object<'a>) -> Vec<Raw<'a>> {
    let Some(resps) = row.get("resps") else {
        return Vec::new();
    };
    match resps.list().first() {
        Some(first) if first.is_list() => first.list(),
        Some(first) => vec![*first],
        None if resps.is_string() => vec![resps],
        None => Vec::new(),
    }
}

/// The harness writes a null response as the word `None`.
pub(super) fn is_null_response(row: &Object, text: &str) -> bool {
    text == "None"
        && row
            .get("filtered_resps")
            .is_none_or(|picks| pick_text(Some(picks)) == INVALID)
}

/// A stored pick as text; null and nothing are no pick.
pub(super) fn pick_text(raw: Option<Raw>) -> String {
    let text = match raw {
        Some(list) if list.is_list() => return pick_text(list.list().first().copied()),
        Some(raw) if raw.is_null() => String::new(),
        Some(raw) => raw.shown(),
        None => String::new(),
    };
    if text.is_empty() { INVALID.to_owned() } else { text }
}

pub(super) fn gold_text(target: Raw) -> String {
    match target.list().as_slice() {
        [] => target.shown(),
        several => several.iter().map(|raw| raw.shown()).collect::<Vec<_>>().join(", "),
    }
}

/// Marks the record right or wrong, and flags a stored score that says otherwise.
pub(super) fn finish(record: &mut Record, row: &Object, metrics: &[&str]) {
    mark(record);
    let Some(score) = row.first(metrics).and_then(Raw::float) else {
        return;
    };
    if score.is_nan() {
        flag(record, "nan");
    } else if record.answer.is_empty() {
        record.correct = score >= 0.5;
    } else if (score >= 0.5) != record.correct {
        flag(record, "score_differs");
    }
}
