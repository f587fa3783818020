//! One output as lines: loops folded, the match lit; and the four scores of a cloze answer.

use std::ops::Range;

use crate::extract::argmax::{ArgMax, answer_of};
use crate::record::{INVALID, Record, letter};
use crate::tui::passage::{Laid, Lights, Passage, line_of};
use crate::tui::reading::Reading;
use crate::tui::rendered::{Token, tokens};
use crate::tui::strip::Strip;
use crate::tui::theme::{Outcome, Role, Theme};

use super::Around;

/// An output laid out.
#[derive(Debug, Clone, Default)]
pub struct Output {
    pub lines: Vec<Laid>,
    /// Where to begin so that the match shows; 0 for an invalid row.
    pub from: usize,
    /// The line of the match or the evidence.
    pub place: Option<usize>,
}

/// What is searched for in the texts on screen.
#[derive(Debug, Clone)]
pub struct Find {
    pub text: String,
    pattern: regex::Regex,
}

impl Find {
    /// Looks for the text itself; folds case unless a capital is typed.
    pub fn new(text: &str) -> Option<Find> {
        let folds = !text.chars().any(char::is_uppercase);
        let pattern = regex::RegexBuilder::new(&regex::escape(text))
            .case_insensitive(folds)
            .build()
            .ok()?;
        (!text.is_empty()).then(|| Find {
            text: text.to_owned(),
            pattern,
        })
    }

    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        self.pattern.find_iter(text).map(|found| found.range()).collect()
    }
}

/// How an output is looked at.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Columns and lines of the pane.
    pub size: (usize, usize),
    /// Whether loops and the text after the match are folded.
    pub folds: bool,
    pub find: Option<&'a Find>,
    /// Whether mark-up is shown as what it means.
    pub renders: bool,
}

/// Lays out a record's output for a pane.
pub fn lay(record: &Record, reading: &Reading, view: View<'_>, theme: &Theme) -> Output {
    let View {
        size,
        folds,
        find,
        renders,
    } = view;
    let (width, height) = size;
    let found = find.map(|find| find.places(&record.reasoning)).unwrap_or_default();
    let rendered = rendered(&record.reasoning, (width, renders), theme);
    let lights = Lights {
        matched: reading.matched.clone(),
        evidence: reading.diagnosis.evidence.clone(),
        tail: reading.diagnosis.tail.as_ref(),
        found: &found,
        folds,
        rendered: &rendered,
    };
    let mut passage = Passage::output(&record.reasoning, &lights, theme);
    if record.reasoning.trim().is_empty() {
        passage.remark("(empty)".to_owned(), Role::Dim);
    }
    let lines = passage.lay(width, theme.ascii);
    let place = reading.place().map(|byte| line_of(&lines, byte));
    let from = match (&reading.matched, place) {
        (Some(_), Some(place)) if place + 2 > height => (place + 1).saturating_sub(height * 2 / 3),
        _ => 0,
    };
    Output { lines, from, place }
}

/// What of a text is rendered on lines of so many columns, where it is to be.
pub fn rendered(text: &str, (width, renders): (usize, bool), theme: &Theme) -> Vec<Token> {
    match renders {
        true => tokens(text, width, theme.ascii),
        false => Vec::new(),
    }
}

/// A text of the question as lines, with what is searched for lit.
pub fn prose(text: &str, width: usize, around: &Around) -> Vec<Laid> {
    let found = around.find.map(|find| find.places(text)).unwrap_or_default();
    let rendered = rendered(text, (width, around.renders), around.theme);
    let lights = Lights {
        found: &found,
        rendered: &rendered,
        ..Lights::default()
    };
    Passage::with_lights(text, &lights).lay(width, around.theme.ascii)
}

/// How a pick is said in titles: `B ✗`, `[invalid]`.
pub fn verdict(record: &Record, theme: &Theme) -> (String, Role) {
    let outcome = Outcome::of(record.pick == INVALID, record.correct);
    let pick = crate::text::safe::one_line(&record.pick, 24, theme.ascii);
    let text = match outcome {
        Outcome::Invalid => INVALID.to_owned(),
        _ => format!("{pick} {}", theme.outcome(outcome)),
    };
    (text, outcome.role())
}

/// The pick of a row with its mark in so many columns: `B ✗`, `!`.
pub fn put_pick<'t>(strip: Strip<'t>, pick: &str, outcome: Outcome, width: usize) -> Strip<'t> {
    let mark = strip.theme.outcome(outcome);
    let text = match outcome {
        Outcome::Invalid => mark.to_owned(),
        _ => format!("{pick} {mark}"),
    };
    strip.field(&text, width, outcome.role())
}

/// The scores of a cloze answer, one line an option.
pub fn scores<'t>(record: &Record, bar: usize, theme: &'t Theme) -> Vec<Strip<'t>> {
    let Some(scores) = &record.logprobs else {
        return Vec::new();
    };
    let thousandths = |share: f64| (share * 1000.0).round() as usize;
    let shares = shares(scores);
    let most = shares.iter().copied().fold(0.0f64, f64::max);
    let line = |(at, (score, share)): (usize, (&f32, &f64))| {
        let name = letter(at).map(String::from).unwrap_or_default();
        let (mark, role) = option_mark(record, &name, theme);
        Strip::new(theme)
            .put(format!(" {mark} {name} "), role)
            .text(format!("{score:>8.3} {:>5.1}% ", share * 100.0))
            .solid_bar(thousandths(*share), thousandths(most), bar, role_of_bar(role))
    };
    scores.iter().zip(&shares).enumerate().map(line).collect()
}

/// Whether whole answer texts were scored, not letters.
pub fn scores_texts(record: &Record) -> bool {
    let is_letter = |text: &String| crate::record::letter_index(text.trim()).is_some();
    record
        .continuations
        .as_ref()
        .is_some_and(|texts| !texts.iter().all(is_letter))
}

/// Of scored texts: the log-probability per character and per token, with what was scored, one line an option below a
/// head line; nothing of letters.
pub fn lengths(record: &Record, width: usize, ascii: bool) -> Vec<String> {
    let (Some(scores), Some(texts)) = (&record.logprobs, &record.continuations) else {
        return Vec::new();
    };
    if !scores_texts(record) {
        return Vec::new();
    }
    let tokens = record.continuation_tokens.as_deref().unwrap_or_default();
    let picks = [ArgMax::PerChar, ArgMax::PerToken].map(|rule| record.scored_pick(rule));
    let head = "     per char   per token  tokens  scored".to_owned();
    let lines = scores.iter().zip(texts).enumerate().map(|(at, (score, text))| {
        let answer = answer_of(text, record.options.get(at).map(String::as_str));
        let name = letter(at).map(String::from).unwrap_or_default();
        let number = |length: f64, pick: Option<usize>| {
            let mark = if pick == Some(at) { '<' } else { ' ' };
            format!("{:>9.3} {mark}", f64::from(*score) / length)
        };
        let per_char = number(answer.chars().count() as f64, picks[0]);
        let (per_token, count) = match tokens.get(at) {
            Some(count) => (number(*count as f64, picks[1]), count.to_string()),
            None => (format!("{:>9}  ", "-"), "-".to_owned()),
        };
        let text = crate::text::safe::one_line(&format!("{text:?}"), width.saturating_sub(35), ascii);
        format!("   {name}{per_char}{per_token}{count:>6}  {text}")
    });
    std::iter::once(head).chain(lines).collect()
}

fn role_of_bar(role: Role) -> Role {
    if role == Role::Plain { Role::Bar } else { role }
}

/// Probabilities among the options.
pub fn shares(scores: &[f32]) -> Vec<f64> {
    let top = scores
        .iter()
        .copied()
        .filter(|score| !score.is_nan())
        .fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = scores.iter().map(|score| f64::from(score - top).exp()).collect();
    let sum: f64 = weights.iter().filter(|weight| weight.is_finite()).sum();
    weights
        .iter()
        .map(|weight| {
            if weight.is_finite() && sum > 0.0 {
                weight / sum
            } else {
                0.0
            }
        })
        .collect()
}

/// The mark of the key, and of a wrong pick; as wide for every option.
pub fn option_mark(record: &Record, name: &str, theme: &Theme) -> (String, Role) {
    mark_of(record.answer == name, record.pick == name, theme)
}

pub fn mark_of(is_key: bool, is_picked: bool, theme: &Theme) -> (String, Role) {
    let outcome = match (is_key, is_picked) {
        (true, _) => Some(Outcome::Right),
        (false, true) => Some(Outcome::Wrong),
        (false, false) => None,
    };
    let width = if theme.ascii { 2 } else { 1 };
    let mark = outcome.map_or("", |outcome| theme.outcome(outcome));
    (format!("{mark:<width$}"), outcome.map_or(Role::Plain, Outcome::role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_scores_add_up_and_survive_nonsense() {
        let shares = shares(&[-1.0, -1.0, f32::NAN, f32::NEG_INFINITY]);
        assert!(
            (shares[0] - 0.5).abs() < 1e-9 && shares[2] == 0.0 && shares[3] == 0.0,
            "{shares:?}"
        );
    }

    #[test]
    fn find_folds_case_unless_a_capital_is_typed() {
        assert_eq!(Find::new("ab").unwrap().places("xAB ab").len(), 2);
        assert_eq!(Find::new("Ab").unwrap().places("xAB ab").len(), 0);
        assert!(Find::new("").is_none());
    }
}
