//! What a word may become, with counts under the filter so far.

use super::parse::split;
use super::{Column, Context, Filter, Mode, TWO_RUNS, WORDS};
use crate::diagnose::Cause;

/// One way to go on with the word under the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The whole word, to stand in place of the one under the cursor.
    pub word: String,
    /// Rows that pass the other words and this one; `None` where that takes text or a value is still to come.
    pub count: Option<usize>,
}

/// Words that begin as the one that ends at `cursor` does; values of `cat:` and its like with counts, most rows first.
/// `None` where `stopped` says so: counting takes a while on a million rows.
pub fn complete(text: &str, cursor: usize, context: &Context, stopped: &dyn Fn() -> bool) -> Option<Vec<Completion>> {
    let cursor = floor_boundary(text, cursor);
    let span = split(text)
        .into_iter()
        .find(|span| span.start <= cursor && cursor <= span.end)
        .unwrap_or(cursor..cursor);
    let typed = &text[span.start..cursor];
    let (negation, body) = match typed.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", typed),
    };
    let rest = format!("{} {}", &text[..span.start], &text[span.end..]);
    let parse = match context.pairs {
        Some(_) => Filter::parse_for_two,
        None => Filter::parse,
    };
    let others = parse(&rest, Mode::Typing, context.rows).unwrap_or_default();
    let among = others.select(context);
    let candidates: Vec<String> = match body.split_once(':') {
        Some((name, value)) => values(name, value, context),
        None => WORDS
            .iter()
            .map(|(word, _)| (*word).to_owned())
            .filter(|word| word.starts_with(body))
            .filter(|word| context.pairs.is_some() || !TWO_RUNS.contains(&word.as_str()))
            .collect(),
    };
    let mut completions = Vec::new();
    for word in candidates {
        if stopped() {
            return None;
        }
        let word = format!("{negation}{word}");
        let count = parse(&word, Mode::Strict, context.rows)
            .ok()
            .filter(|filter| filter.fields().is_empty() && !filter.is_empty())
            .filter(|filter| !filter.needs_derived() || context.derived.is_some())
            .filter(|filter| !filter.needs_agreement() || context.agreement.is_some())
            .map(|filter| filter.select_among(context, among.iter().copied()).len());
        completions.push(Completion { word, count });
    }
    if body.contains(':') {
        completions.sort_by_key(|completion| std::cmp::Reverse(completion.count.unwrap_or(0)));
    }
    Some(completions)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn values(name: &str, value: &str, context: &Context) -> Vec<String> {
    let (before, last) = match value.rsplit_once(',') {
        Some((before, last)) => (format!("{before},"), last),
        None => (String::new(), value),
    };
    let last = last.replace('"', "").to_lowercase();
    let names: Vec<String> = match name {
        "cat" => Column::Category.known(context.rows),
        "sub" => Column::Subject.known(context.rows),
        "exam" => Column::Exam.known(context.rows),
        "pick" => Column::Pick.known(context.rows),
        "key" => Column::Key.known(context.rows),
        "flag" => Column::Flag.known(context.rows),
        "finish" => Column::Finish.known(context.rows),
        "why" => Cause::ALL.iter().map(|cause| cause.name().to_owned()).collect(),
        "agree" => {
            let most = context
                .agreement
                .map_or(0, |agreement| agreement.questions.most_attempts());
            numbers(0..=most as i64)
        }
        "at" => numbers(context.rows.attempt.iter().map(|attempt| i64::from(*attempt))),
        "seed" => numbers((0..context.rows.seed.len()).filter_map(|row| context.rows.seed(row))),
        _ => Vec::new(),
    };
    names
        .into_iter()
        .filter(|candidate| !candidate.is_empty() && candidate.to_lowercase().starts_with(&last))
        .map(|candidate| {
            let quoted = candidate.contains([' ', ',', '|']);
            if quoted {
                format!("{name}:{before}\"{candidate}\"")
            } else {
                format!("{name}:{before}{candidate}")
            }
        })
        .collect()
}

fn numbers(numbers: impl Iterator<Item = i64>) -> Vec<String> {
    let few: std::collections::BTreeSet<i64> = numbers.collect();
    few.into_iter().take(50).map(|number| number.to_string()).collect()
}
