//! How the attempts at each question agree.

use crate::stats::{Questions, Slice, Vote};
use crate::trace::Rows;

/// The attempts at each question, and how they agree.
#[derive(Debug, Clone, Default)]
pub struct Agreement {
    pub questions: Questions,
    /// By question: attempts that gave the most frequent pick; `[invalid]` is no pick.
    agree: Vec<u16>,
    /// By question: all attempts gave one same letter, and it is wrong.
    same_wrong: Vec<bool>,
    /// By question: no pick has more than half of the attempts.
    split: Vec<bool>,
}

impl Agreement {
    pub fn of(rows: &Rows) -> Agreement {
        let questions = Questions::of(Slice::all(rows));
        let mut agreement = Agreement {
            agree: Vec::with_capacity(questions.len()),
            same_wrong: Vec::with_capacity(questions.len()),
            split: Vec::with_capacity(questions.len()),
            ..Agreement::default()
        };
        for vote in Vote::each(rows, &questions) {
            agreement.agree.push(u16::try_from(vote.agree).unwrap_or(u16::MAX));
            agreement.same_wrong.push(vote.is_same_wrong());
            agreement.split.push(vote.is_split());
        }
        Agreement { questions, ..agreement }
    }

    fn question(&self, row: usize) -> usize {
        self.questions
            .number(row)
            .map_or(usize::MAX, |question| question as usize)
    }

    /// Attempts at the row's question that gave its most frequent pick.
    pub fn agree(&self, row: usize) -> u16 {
        self.agree.get(self.question(row)).copied().unwrap_or(0)
    }

    /// Whether all attempts at the row's question gave one same letter, and it is wrong.
    pub fn is_same_wrong(&self, row: usize) -> bool {
        self.same_wrong.get(self.question(row)).is_some_and(|is| *is)
    }

    /// Whether no pick has more than half of the attempts at the row's question, of which there are several.
    pub fn is_split(&self, row: usize) -> bool {
        self.split.get(self.question(row)).is_some_and(|is| *is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{INVALID, Record};

    fn rows(list: &[(i64, i64, &str, bool)]) -> Rows {
        let mut rows = Rows::default();
        for (question_id, attempt, pick, correct) in list {
            rows.push_record(&Record {
                question_id: *question_id,
                attempt: *attempt,
                pick: (*pick).to_owned(),
                correct: *correct,
                ..Record::default()
            });
        }
        rows
    }

    #[test]
    fn each_row_tells_how_the_attempts_at_its_question_agree() {
        let list = [
            (1, 0, "A", true),
            (2, 0, "C", false),
            (3, 0, INVALID, false),
            (1, 1, "B", false),
            (2, 1, "C", false),
            (3, 1, "D", true),
            (4, 0, "D", true),
        ];
        let agreement = Agreement::of(&rows(&list));
        let all = 0..list.len();
        assert_eq!(
            all.clone().map(|row| agreement.agree(row)).collect::<Vec<_>>(),
            [1, 2, 1, 1, 2, 1, 1]
        );
        let same_wrong: Vec<usize> = all.clone().filter(|row| agreement.is_same_wrong(*row)).collect();
        let split: Vec<usize> = all.filter(|row| agreement.is_split(*row)).collect();
        assert_eq!((same_wrong, split), (vec![1, 4], vec![0, 2, 3, 5]));
        assert!(!agreement.is_split(99) && agreement.agree(99) == 0);
    }
}
