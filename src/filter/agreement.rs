//! How the attempts at each question agree.

use std::collections::HashMap;

use crate::record::INVALID;
use crate::trace::Rows;

/// The attempts at each question, and how they agree.
#[derive(Debug, Clone, Default)]
pub struct Agreement {
    /// A question number for each row, in order of the questions' first rows.
    pub question: Vec<u32>,
    pub attempts: Vec<u16>,
    /// Attempts that gave the most frequent pick; [`INVALID`] is no pick.
    pub agree: Vec<u16>,
    /// All attempts gave one same letter, and it is wrong.
    pub same_wrong: Vec<bool>,
    /// Rows sorted by question, then attempt; those of question `q` are `members[starts[q]..starts[q + 1]]`. Empty where
    /// they are simply all rows in order.
    members: Vec<u32>,
    starts: Vec<u32>,
}

impl Agreement {
    pub fn of(rows: &Rows) -> Agreement {
        let (question, questions) = number_questions(rows);
        let mut agreement = Agreement {
            question,
            starts: vec![0; questions + 1],
            ..Agreement::default()
        };
        agreement.group(rows);
        agreement.count(rows, questions);
        agreement
    }

    /// Gathers the rows of each question.
    fn group(&mut self, rows: &Rows) {
        for question in &self.question {
            self.starts[*question as usize + 1] += 1;
        }
        for at in 1..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        let is_in_order = (1..rows.len()).all(|row| {
            let (before, here) = (self.question[row - 1], self.question[row]);
            before < here || before == here && rows.attempt[row - 1] <= rows.attempt[row]
        });
        if is_in_order {
            return;
        }
        let mut next = self.starts.clone();
        self.members = vec![0; rows.len()];
        for (row, question) in self.question.iter().enumerate() {
            let place = &mut next[*question as usize];
            self.members[*place as usize] = row as u32;
            *place += 1;
        }
        for range in self.starts.windows(2) {
            self.members[range[0] as usize..range[1] as usize].sort_by_key(|row| (rows.attempt[*row as usize], *row));
        }
    }

    fn count(&mut self, rows: &Rows, questions: usize) {
        let invalid = rows.pick.find(INVALID);
        self.attempts.reserve_exact(questions);
        self.agree.reserve_exact(questions);
        self.same_wrong.reserve_exact(questions);
        let mut picks: Vec<u32> = Vec::new();
        for question in 0..questions {
            picks.clear();
            let (mut attempts, mut any_ok) = (0_u16, false);
            for row in self.rows_of(question as u32) {
                attempts = attempts.saturating_add(1);
                any_ok |= rows.correct[row as usize];
                let code = rows.pick.code(row as usize);
                if Some(code) != invalid {
                    picks.push(code);
                }
            }
            picks.sort_unstable();
            let runs = picks.chunk_by(|a, b| a == b).map(<[u32]>::len);
            let agree = u16::try_from(runs.max().unwrap_or(0)).unwrap_or(u16::MAX);
            self.attempts.push(attempts);
            self.agree.push(agree);
            self.same_wrong.push(attempts > 1 && agree == attempts && !any_ok);
        }
    }

    pub fn questions(&self) -> usize {
        self.attempts.len()
    }

    /// The rows of a question, by attempt.
    pub fn rows_of(&self, question: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let question = question as usize;
        let range = match self.starts.get(question..question + 2) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        };
        range.map(|at| self.members.get(at as usize).copied().unwrap_or(at))
    }

    /// Most rows that a question has.
    pub fn most_attempts(&self) -> usize {
        let sizes = self.starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        sizes.max().unwrap_or(0)
    }

    /// Whether no pick has more than half of the attempts.
    pub fn is_split(&self, row: usize) -> bool {
        let question = self.question[row] as usize;
        self.attempts[question] > 1 && self.agree[question] * 2 <= self.attempts[question]
    }
}

/// A number for each row's question, and how many questions there are.
fn number_questions(rows: &Rows) -> (Vec<u32>, usize) {
    let mut question = Vec::with_capacity(rows.len());
    let mut first: Vec<(u32, i64)> = Vec::new();
    // Rows by question, the usual order, need no table: a key beyond all before is new.
    let mut numbers: Option<HashMap<(u32, i64), u32>> = None;
    for row in 0..rows.len() {
        let key = rows.question_key(row);
        let number = match (first.last(), &mut numbers) {
            (Some(last), None) if *last == key => first.len() as u32 - 1,
            (last, None) if last.is_none_or(|last| *last < key) => {
                first.push(key);
                first.len() as u32 - 1
            }
            (_, known) => {
                let known = known.get_or_insert_with(|| first.iter().copied().zip(0..).collect());
                *known.entry(key).or_insert_with(|| {
                    first.push(key);
                    first.len() as u32 - 1
                })
            }
        };
        question.push(number);
    }
    (question, first.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

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
    fn attempts_are_gathered_in_whatever_order_rows_stand() {
        let list = [
            (1, 0, "A", true),
            (1, 1, "B", false),
            (2, 0, "C", false),
            (2, 1, "C", false),
            (3, 0, INVALID, false),
            (3, 1, "D", true),
        ];
        let sorted = Agreement::of(&rows(&list));
        assert_eq!(sorted.agree, [1, 2, 1]);
        assert_eq!(sorted.same_wrong, [false, true, false]);
        let by_attempt: Vec<_> = [0, 2, 4, 5, 1, 3].into_iter().map(|at| list[at]).collect();
        let mixed = Agreement::of(&rows(&by_attempt));
        assert_eq!((mixed.agree.as_slice(), mixed.questions()), ([1, 2, 1].as_slice(), 3));
        assert_eq!(mixed.rows_of(0).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(mixed.rows_of(2).collect::<Vec<_>>(), [2, 3], "by attempt, not by row");
        assert_eq!(sorted.rows_of(2).collect::<Vec<_>>(), [4, 5]);
        assert_eq!(mixed.rows_of(7).count(), 0);
    }
}
