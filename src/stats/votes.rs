//! Several attempts at a question taken together.

use std::collections::HashMap;

use super::Slice;
use crate::trace::Rows;

/// The rows of a slice gathered by question.
#[derive(Debug, Clone, Default)]
pub struct Questions {
    /// Row numbers, those of a question side by side, in slice order.
    order: Vec<u32>,
    /// Where each question's rows begin in `order`; one entry more for the end.
    starts: Vec<u32>,
}

impl Questions {
    /// Questions stand in order of their first row.
    pub fn of(slice: Slice) -> Questions {
        let rows = slice.rows;
        let mut numbers: HashMap<(u32, i64), u32> = HashMap::new();
        let mut sizes: Vec<u32> = Vec::new();
        let mut question_of = Vec::with_capacity(slice.len());
        let mut previous = None;
        for row in slice.iter() {
            let key = rows.question_key(row);
            // Attempts mostly stand side by side.
            let number = match previous {
                Some((known, number)) if known == key => number,
                _ => *numbers.entry(key).or_insert_with(|| {
                    sizes.push(0);
                    sizes.len() as u32 - 1
                }),
            };
            previous = Some((key, number));
            sizes[number as usize] += 1;
            question_of.push(number);
        }
        let mut starts = Vec::with_capacity(sizes.len() + 1);
        let mut next = 0;
        for size in sizes {
            starts.push(next);
            next += size;
        }
        let mut order = vec![0; question_of.len()];
        let mut place = starts.clone();
        for (row, number) in slice.iter().zip(question_of) {
            order[place[number as usize] as usize] = row as u32;
            place[number as usize] += 1;
        }
        starts.push(next);
        Questions { order, starts }
    }

    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of one question.
    pub fn rows(&self, question: usize) -> &[u32] {
        &self.order[self.starts[question] as usize..self.starts[question + 1] as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u32]> + '_ {
        (0..self.len()).map(|question| self.rows(question))
    }
}

/// How the attempts at one question voted.
///
/// The pick given most often wins. `[invalid]` has no vote. Of picks given equally often that of the earliest attempt
/// wins (Python's `Counter.most_common`), and `is_tied` says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Vote {
    pub attempts: u32,
    pub correct: u32,
    pub invalid: u32,
    /// Code of the winning pick in `Rows::pick`; `None` where all are invalid.
    pub winner: Option<u32>,
    /// Votes for it.
    pub agree: u32,
    pub is_tied: bool,
    /// Whether the winner is the right answer.
    pub is_right: bool,
}

impl Vote {
    pub fn of(rows: &Rows, question: &[u32]) -> Vote {
        let mut vote = Vote {
            attempts: question.len() as u32,
            ..Vote::default()
        };
        // Of each pick: votes, earliest attempt, whether right. Few picks, so a list beats a map.
        let mut picks: Vec<(u32, u32, u16, bool)> = Vec::new();
        for row in question.iter().map(|row| *row as usize) {
            vote.correct += u32::from(rows.correct[row]);
            if rows.is_invalid(row) {
                vote.invalid += 1;
                continue;
            }
            let (pick, attempt) = (rows.pick.code(row), rows.attempt[row]);
            match picks.iter_mut().find(|known| known.0 == pick) {
                Some(known) => {
                    known.1 += 1;
                    known.2 = known.2.min(attempt);
                }
                None => picks.push((pick, 1, attempt, rows.correct[row])),
            }
        }
        let Some(best) = picks
            .iter()
            .min_by_key(|(_, votes, attempt, _)| (std::cmp::Reverse(*votes), *attempt))
        else {
            return vote;
        };
        let rivals = picks.iter().filter(|(_, votes, ..)| *votes == best.1).count();
        Vote {
            winner: Some(best.0),
            agree: best.1,
            is_right: best.3,
            is_tied: rivals > 1,
            ..vote
        }
    }

    /// Every one of several attempts gave the same letter, and it is wrong: the gold may be.
    pub fn is_same_wrong(&self) -> bool {
        self.attempts > 1 && self.agree == self.attempts && self.correct == 0
    }

    /// Several attempts, and no pick was given more often than all others.
    pub fn is_split(&self) -> bool {
        self.attempts > 1 && (self.is_tied || self.winner.is_none())
    }
}

/// Votes over the questions of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VoteCounts {
    pub questions: usize,
    /// Most attempts that a question has.
    pub attempts: usize,
    /// Questions whose majority is right; with at least one right attempt.
    pub majority: usize,
    pub any: usize,
    /// Questions that have all `attempts`, and the same two counts over them: what to show while a run is at work.
    pub complete: usize,
    pub complete_majority: usize,
    pub complete_any: usize,
}

impl VoteCounts {
    pub fn of(rows: &Rows, questions: &Questions) -> VoteCounts {
        let attempts = questions.iter().map(<[u32]>::len).max().unwrap_or(0);
        let mut counts = VoteCounts {
            questions: questions.len(),
            attempts,
            ..VoteCounts::default()
        };
        for question in questions.iter() {
            let vote = Vote::of(rows, question);
            let is_complete = question.len() == attempts;
            counts.majority += usize::from(vote.is_right);
            counts.any += usize::from(vote.correct > 0);
            counts.complete += usize::from(is_complete);
            counts.complete_majority += usize::from(is_complete && vote.is_right);
            counts.complete_any += usize::from(is_complete && vote.correct > 0);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::INVALID;
    use crate::stats::tests::push;

    fn vote(picks: &[&str]) -> (Option<String>, Vote) {
        let mut rows = Rows::default();
        for (attempt, pick) in picks.iter().enumerate() {
            push(&mut rows, 7, attempt as u16, "law", pick);
        }
        let questions = Questions::of(Slice::all(&rows));
        let vote = Vote::of(&rows, questions.rows(0));
        (
            vote.winner.map(|code| rows.pick.list()[code as usize].to_string()),
            vote,
        )
    }

    #[test]
    fn the_most_given_letter_wins_and_invalid_has_no_vote() {
        let (winner, counted) = vote(&["A", "A", "B", INVALID, "A"]);
        assert_eq!((winner.as_deref(), counted.agree, counted.invalid), (Some("A"), 3, 1));
        let (winner, counted) = vote(&[INVALID, INVALID, INVALID, "B", "B"]);
        assert_eq!((winner.as_deref(), counted.is_right), (Some("B"), true));
        let (winner, counted) = vote(&[INVALID; 5]);
        assert_eq!((winner, counted.agree, counted.is_split()), (None, 0, true));
    }

    #[test]
    fn of_equals_the_earliest_attempt_wins() {
        let (winner, counted) = vote(&["C", "B", "B", "C", "D"]);
        assert_eq!(
            (winner.as_deref(), counted.agree, counted.is_tied, counted.is_right),
            (Some("C"), 2, true, false)
        );
        assert!(counted.is_split());
    }

    #[test]
    fn agreeing_on_a_wrong_letter_is_suspect() {
        assert!(vote(&["A"; 5]).1.is_same_wrong());
        assert!(!vote(&["B"; 5]).1.is_same_wrong());
        assert!(!vote(&["A", "A", INVALID]).1.is_same_wrong());
        assert!(!vote(&["A"]).1.is_same_wrong());
    }

    #[test]
    fn rows_in_any_order_are_gathered_by_question() {
        let mut rows = Rows::default();
        for attempt in 0..3 {
            for id in [9, 4, 7] {
                push(&mut rows, id, attempt, "law", if id == 4 { "B" } else { "A" });
            }
        }
        let questions = Questions::of(Slice::all(&rows));
        assert_eq!(
            questions.iter().map(<[u32]>::to_vec).collect::<Vec<_>>(),
            [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
        );
        push(&mut rows, 4, 3, "law", "B");
        let counts = VoteCounts::of(&rows, &Questions::of(Slice::all(&rows)));
        assert_eq!((counts.questions, counts.majority, counts.any), (3, 1, 1));
        assert_eq!((counts.attempts, counts.complete), (4, 1));
    }
}
