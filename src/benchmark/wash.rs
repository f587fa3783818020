//! Rules that look for rows no exam should hold; whatever they find is counted and listed.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::questions::Questions;
use super::{Form, Question};
use crate::text::strip;

/// What can be wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    EmptyQuestion,
    FewerThanTwoOptions,
    GoldOutsideOptions,
    /// An option has no text; it keeps its letter.
    EmptyOption,
    /// More options than letters; those after Z are not asked.
    TooManyOptions,
    /// The letter and the index of the gold option disagree; the letter counts.
    GoldConflict,
    /// The gold can be read in two ways that name different options.
    AmbiguousGold,
    /// The later row gets a number of its own, so that its answers stay apart.
    DuplicateId,
}

/// A row that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Washed {
    pub rule: Rule,
    /// 0-based row of the file.
    pub row: usize,
    /// Which of the examples that the row brings along, where it is one of them.
    pub example: Option<usize>,
    pub detail: String,
    /// Whether the row was left out, for this rule or another, or merely flagged.
    pub dropped: bool,
}

/// Version of these rules; a change of what they drop or flag makes it one more.
pub const VERSION: u32 = 1;

/// Options that a letter names.
const LETTERS: usize = 26;

impl Rule {
    /// The rule's name, which is also the flag on the row.
    pub fn name(self) -> &'static str {
        match self {
            Rule::EmptyQuestion => "empty_question",
            Rule::FewerThanTwoOptions => "fewer_than_two_options",
            Rule::GoldOutsideOptions => "gold_outside_options",
            Rule::EmptyOption => "empty_option",
            Rule::TooManyOptions => "too_many_options",
            Rule::GoldConflict => "gold_conflict",
            Rule::AmbiguousGold => "ambiguous_gold",
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

impl Washed {
    /// How many rows were dropped, and how many were kept with a flag.
    pub fn count(all: &[Washed]) -> (usize, usize) {
        let rows = |dropped: bool| {
            let found = all.iter().filter(|washed| washed.dropped == dropped);
            found
                .map(|washed| (washed.row, washed.example))
                .collect::<HashSet<_>>()
                .len()
        };
        (rows(true), rows(false))
    }
}

impl fmt::Display for Washed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "row {}", self.row)?;
        if let Some(example) = self.example {
            write!(f, ", example {example}")?;
        }
        let outcome = if self.dropped { "dropped" } else { "flagged" };
        write!(f, ": {} ({}), {outcome}", self.rule.name(), self.detail)
    }
}

/// Flags the rows that a rule finds, leaves out those that it drops, and tells both. The questions are the rows of one
/// file in its order.
pub(super) fn wash(questions: Questions, form: Form) -> (Vec<Question>, Vec<Washed>) {
    let Questions { list, mut odd, ids, .. } = questions;
    let mut washed = Vec::new();
    let mut seen = Seen::new(&list, &ids);
    let mut kept = Vec::with_capacity(list.len());
    for (row, mut question) in list.into_iter().enumerate() {
        let name = ids
            .get(&row)
            .map_or_else(|| question.id.to_string(), |id| format!("{id:?}"));
        let mut found = broken_rules(&question, &name, form);
        found.extend(odd.remove(&row).unwrap_or_default());
        let is_dropped = found.iter().any(|(rule, _)| rule.drops(form));
        if !is_dropped {
            found.extend(seen.again(row, &mut question).map(|detail| (Rule::DuplicateId, detail)));
        }
        question.flags.extend(found.iter().map(|(rule, _)| rule.name()));
        washed.extend(found.into_iter().map(|(rule, detail)| Washed {
            rule,
            row,
            example: None,
            detail,
            dropped: is_dropped,
        }));
        if !is_dropped {
            kept.push(question);
        }
    }
    (kept, washed)
}

/// The ids that were there.
struct Seen<'a> {
    /// Ids of rows that are numbered.
    texts: &'a HashMap<usize, String>,
    numbers: HashSet<i64>,
    by_text: HashMap<&'a str, usize>,
    free: i64,
}

impl Seen<'_> {
    fn new<'a>(questions: &[Question], texts: &'a HashMap<usize, String>) -> Seen<'a> {
        Seen {
            texts,
            numbers: HashSet::new(),
            by_text: HashMap::new(),
            free: questions.iter().map(|question| question.id).max().unwrap_or(0),
        }
    }

    /// Remembers a row's id. Where it was there before, the row keeps or gets a number of its own, and that is told.
    fn again(&mut self, row: usize, question: &mut Question) -> Option<String> {
        if let Some(text) = self.texts.get(&row) {
            let first = *self.by_text.entry(text).or_insert(row);
            return (first != row).then(|| format!("{text:?} was there before, in row {first}; this row is {row}"));
        }
        if self.numbers.insert(question.id) {
            return None;
        }
        let id = question.id;
        // Numbers may end at the greatest: then the first free ones serve.
        self.free = self.free.checked_add(1).unwrap_or(0);
        while !self.numbers.insert(self.free) {
            self.free = self.free.wrapping_add(1);
        }
        question.id = self.free;
        Some(format!("{id} was there before; this row is {}", question.id))
    }
}

fn broken_rules(question: &Question, id: &str, form: Form) -> Vec<(Rule, String)> {
    let mut found = Vec::new();
    let count = question.options.len();
    if strip(&question.question).is_empty() {
        found.push((Rule::EmptyQuestion, format!("id {id}")));
    }
    if count < 2 {
        found.push((Rule::FewerThanTwoOptions, format!("id {id}: {count}")));
    }
    let asked = if form == Form::Custom {
        count.min(LETTERS)
    } else {
        count
    };
    if question.gold.is_none_or(|gold| gold >= asked) {
        let among = if asked < count {
            format!("{count}, letters end at Z")
        } else {
            count.to_string()
        };
        let detail = format!("id {id}: {:?} among {among}", question.stored_answer);
        found.push((Rule::GoldOutsideOptions, detail));
    }
    if form != Form::Custom {
        return found;
    }
    if count > LETTERS {
        found.push((Rule::TooManyOptions, format!("id {id}: {count}, letters end at Z")));
    }
    if let Some(first) = question.options.iter().position(|option| strip(option).is_empty()) {
        let letter = char::from(b'A' + first.min(25) as u8);
        found.push((Rule::EmptyOption, format!("id {id}: option {letter} has no text")));
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

    fn read(list: Vec<Question>) -> Questions {
        Questions {
            list,
            ..Questions::default()
        }
    }

    #[test]
    fn a_published_set_keeps_every_row_and_lists_the_odd_ones() {
        let mut rows = read(odd_rows());
        rows.odd.insert(0, vec![(Rule::GoldConflict, "D, 1".into())]);
        let (kept, washed) = wash(rows, Form::MmluPro);
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
        let (kept, washed) = wash(read(odd_rows()), Form::Custom);
        assert_eq!(kept.iter().map(|question| question.id).collect::<Vec<_>>(), [7, 11]);
        assert_eq!(washed.iter().filter(|found| found.dropped).count(), 3);
        assert_eq!(washed[0].to_string(), "row 1: empty_question (id 8), dropped");
    }
    #[test]
    fn a_row_is_counted_once_however_many_rules_find_it() {
        let rows = vec![
            question(1, "", 1, None),
            question(2, "fine", 3, Some(1)),
            question(2, "again", 30, Some(1)),
            question(3, "beyond the letters", 30, Some(27)),
        ];
        let (kept, washed) = wash(read(rows), Form::Custom);
        assert_eq!(kept.len(), 2);
        assert_eq!(Washed::count(&washed), (2, 1));
        let told: Vec<_> = washed.iter().map(ToString::to_string).collect();
        assert_eq!(
            told[3..],
            [
                "row 2: too_many_options (id 2: 30, letters end at Z), flagged",
                "row 2: duplicate_id (2 was there before; this row is 4), flagged",
                "row 3: gold_outside_options (id 3: \"\" among 30, letters end at Z), dropped",
                "row 3: too_many_options (id 3: 30, letters end at Z), dropped",
            ]
        );
    }

    #[test]
    fn an_id_at_the_end_of_the_numbers_may_be_there_twice() {
        let rows = vec![
            question(i64::MAX, "a", 2, Some(0)),
            question(i64::MAX, "b", 2, Some(0)),
            question(0, "c", 2, Some(0)),
        ];
        let (kept, _) = wash(read(rows), Form::Custom);
        let ids: HashSet<i64> = kept.iter().map(|question| question.id).collect();
        assert_eq!(ids.len(), 3);
    }
}
