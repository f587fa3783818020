//! One output as lines: loops folded, the match lit; and the four scores of a cloze answer.

use std::ops::Range;

use crate::extract::argmax::{ArgMax, answer_of};
use crate::record::{INVALID, Record, letter};
use crate::tui::passage::{Laid, Lights, Passage, line_of};
use crate::tui::reading::Reading;
use crate::tui::strip::Strip;
use crate::tui::theme::{Role, Theme};

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
}

/// Lays out a record's output for a pane.
pub fn lay(record: &Record, reading: &Reading, view: View<'_>, theme: &Theme) -> Output {
    let View { size, folds, find } = view;
    let (width, height) = size;
    let found = find.map(|find| find.places(&record.reasoning)).unwrap_or_default();
    let lights = Lights {
        matched: reading.matched.clone(),
        evidence: reading.diagnosis.evidence.clone(),
        tail: reading.diagnosis.tail.as_ref(),
        found: &found,
        folds,
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

/// How a pick is said in titles.
pub fn verdict(record: &Record, ascii: bool) -> (String, Role) {
    let pick = crate::text::safe::one_line(&record.pick, 24, ascii);
    if record.pick == INVALID {
        (INVALID.to_owned(), Role::Invalid)
    } else if record.correct {
        (format!("{pick} ok"), Role::Correct)
    } else {
        (format!("{pick} x"), Role::Wrong)
    }
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
        let (mark, role) = option_mark(record, &name);
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
    if role == Role::Plain { Role::Dim } else { role }
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

/// `*` for the key, `x` for a wrong pick.
pub fn option_mark(record: &Record, name: &str) -> (&'static str, Role) {
    match (record.answer == name, record.pick == name) {
        (true, _) => ("*", Role::Correct),
        (false, true) => ("x", Role::Wrong),
        (false, false) => (" ", Role::Plain),
    }
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
