//! Rules that look for rows no exam should hold; whatever they find is counted and listed.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::style::strip;
use super::{Form, Question};

/// What can be wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    EmptyQuestion,
    FewerThanTwoOptions,
    GoldOutsideOptions,
    /// The letter and the index of the gold option disagree; the letter counts.
    GoldConflict,
    /// The later row gets a number of its own, so that its answers stay apart.
    DuplicateId,
}

/// A row that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Washed {
    pub rule: Rule,
    /// 0-based row of the file.
    pub row: usize,
    pub detail: String,
    /// Whether the row was left out, or merely flagged.
    pub dropped: bool,
}

impl Rule {
    /// The rule's name, which is also the flag on the row.
    pub fn name(self) -> &'static str {
        match self {
            Rule::EmptyQuestion => "empty_question",
            Rule::FewerThanTwoOptions => "fewer_than_two_options",
            Rule::GoldOutsideOptions => "gold_outside_options",
            Rule::GoldConflict => "gold_conflict",
            Rule::DuplicateId => "duplicate_id",
        }
    }

    /// The published sets lose nothing that the harness keeps; of an own set, what cannot be answered is left out.
    fn drops(self, form: Form) -> bool {
        form == Form::Custom
            && matches!(
                self,
                Rule::EmptyQuestion | Rule::FewerThanTwoOptions | Rule::GoldOutsideOptions
            )
    }
}

impl fmt::Display for Washed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let outcome = if self.dropped { "dropped" } else { "flagged" };
        write!(f, "row {}: {} ({}), {outcome}", self.row, self.rule.name(), self.detail)
    }
}

/// Flags the rows that a rule finds, leaves out those that it drops, and tells both. `questions` are the rows of one
/// file in its order; `conflicts` the rows whose letter and index disagree, with what they say.
pub(super) fn wash(
    questions: Vec<Question>,
    conflicts: &HashMap<usize, String>,
    form: Form,
) -> (Vec<Question>, Vec<Washed>) {
    let mut washed = Vec::new();
    let mut seen = HashSet::new();
    let mut free_id = questions.iter().map(|question| question.id).max().unwrap_or(0);
    let mut kept = Vec::with_capacity(questions.len());
    for (row, mut question) in questions.into_iter().enumerate() {
        let mut found = broken_rules(&question);
        found.extend(conflicts.get(&row).map(|detail| (Rule::GoldConflict, detail.clone())));
        let is_dropped = found.iter().any(|(rule, _)| rule.drops(form));
        if !is_dropped && !seen.insert(question.id) {
            let id = question.id;
            free_id = free_id.saturating_add(1);
            question.id = free_id;
            seen.insert(free_id);
            found.push((
                Rule::DuplicateId,
                format!("{id} was there before; this row is {free_id}"),
            ));
        }
        question.flags.extend(found.iter().map(|(rule, _)| rule.name()));
        washed.extend(found.into_iter().map(|(rule, detail)| Washed {
            rule,
            row,
            detail,
            dropped: rule.drops(form),
        }));
        if !is_dropped {
            kept.push(question);
        }
    }
    (kept, washed)
}

fn broken_rules(question: &Question) -> Vec<(Rule, String)> {
    let mut found = Vec::new();
    let count = question.options.len();
    if strip(&question.question).is_empty() {
        found.push((Rule::EmptyQuestion, format!("id {}", question.id)));
    }
    if count < 2 {
        found.push((Rule::FewerThanTwoOptions, format!("id {}: {count}", question.id)));
    }
    if question.gold.is_none_or(|gold| gold >= count) {
        let detail = format!("id {}: {:?} among {count}", question.id, question.stored_answer);
        found.push((Rule::GoldOutsideOptions, detail));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(id: i64, text: &str, options: usize, gold: Option<usize>) -> Question {
        let options = (0..options).map(|index| index.to_string()).collect();
        Question {
            id,
            question: text.into(),
            options,
            gold,
            ..Question::default()
        }
    }

    fn odd_rows() -> Vec<Question> {
        vec![
            question(7, "fine", 4, Some(3)),
            question(8, " \n", 4, Some(0)),
            question(9, "one option", 1, Some(0)),
            question(10, "gold past the end", 2, Some(2)),
            question(7, "same id", 2, Some(1)),
        ]
    }

    #[test]
    fn a_published_set_keeps_every_row_and_lists_the_odd_ones() {
        let (kept, washed) = wash(odd_rows(), &HashMap::from([(0, "D, 1".to_owned())]), Form::MmluPro);
        let rules: Vec<_> = washed
            .iter()
            .map(|found| (found.row, found.rule.name(), found.dropped))
            .collect();
        assert_eq!(
            rules,
            [
                (0, "gold_conflict", false),
                (1, "empty_question", false),
                (2, "fewer_than_two_options", false),
                (3, "gold_outside_options", false),
                (4, "duplicate_id", false)
            ]
        );
        assert_eq!(
            kept.iter().map(|question| question.id).collect::<Vec<_>>(),
            [7, 8, 9, 10, 11]
        );
        assert_eq!(kept[0].flags, ["gold_conflict"]);
    }

    #[test]
    fn an_own_set_loses_what_cannot_be_answered_and_says_so() {
        let (kept, washed) = wash(odd_rows(), &HashMap::new(), Form::Custom);
        assert_eq!(kept.iter().map(|question| question.id).collect::<Vec<_>>(), [7, 11]);
        assert_eq!(washed.iter().filter(|found| found.dropped).count(), 3);
        assert_eq!(washed[0].to_string(), "row 1: empty_question (id 8), dropped");
    }
}
