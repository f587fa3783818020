//! Several attempts at a question taken together.
//!
//! The **vote** is the pick given more often than every other; `[invalid]` has no vote, and picks given equally often are
//! a **tie**: no pick is the vote. A **majority** is a pick that more than half of the attempts gave. A question is
//! **split** where it has several attempts and no majority. **Any**: some attempt is right.

use super::{Questions, Slice, sum::share};
use crate::record::INVALID;
use crate::trace::Rows;

/// How the attempts at one question voted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Vote {
    pub attempts: u32,
    pub correct: u32,
    pub invalid: u32,
    /// Code of the pick given most often in `Rows::pick`; `None` for a tie and where all are invalid.
    pub winner: Option<u32>,
    /// Attempts that gave the most frequent pick, tied or not.
    pub agree: u32,
    pub is_tied: bool,
    /// Whether there is a winner and it is the right answer.
    pub is_right: bool,
}

impl Vote {
    pub fn of(rows: &Rows, question: impl Iterator<Item = u32>) -> Vote {
        Vote::count(rows, rows.pick.find(INVALID), question, &mut Vec::new())
    }

    /// The votes of all questions of a slice, in their order.
    pub fn each<'a>(rows: &'a Rows, questions: &'a Questions) -> impl Iterator<Item = Vote> + 'a {
        let (invalid, mut picks) = (rows.pick.find(INVALID), Vec::new());
        questions
            .iter()
            .map(move |question| Vote::count(rows, invalid, question, &mut picks))
    }

    /// Counts with the code of invalid picks, and `picks` as room for those of one question.
    fn count(
        rows: &Rows,
        invalid: Option<u32>,
        question: impl Iterator<Item = u32>,
        picks: &mut Vec<(u32, bool)>,
    ) -> Vote {
        picks.clear();
        let mut vote = Vote::default();
        for row in question.map(|row| row as usize) {
            let (pick, is_correct) = (rows.pick.code(row), rows.correct[row]);
            vote.attempts += 1;
            vote.correct += u32::from(is_correct);
            if Some(pick) == invalid {
                vote.invalid += 1;
            } else {
                picks.push((pick, is_correct));
            }
        }
        if let [(pick, is_right)] = picks[..] {
            (vote.agree, vote.winner, vote.is_right) = (1, Some(pick), is_right);
            return vote;
        }
        picks.sort_unstable();
        for same in picks.chunk_by(|a, b| a.0 == b.0) {
            let (pick, is_right) = same[same.len() - 1];
            let votes = same.len() as u32;
            if votes > vote.agree {
                (vote.agree, vote.is_tied, vote.winner, vote.is_right) = (votes, false, Some(pick), is_right);
            } else if votes == vote.agree {
                (vote.is_tied, vote.winner, vote.is_right) = (true, None, false);
            }
        }
        vote
    }

    /// Whether one pick was given by more than half of the attempts.
    pub fn is_majority(&self) -> bool {
        self.agree * 2 > self.attempts
    }

    /// Several attempts, and no majority.
    pub fn is_split(&self) -> bool {
        self.attempts > 1 && !self.is_majority()
    }

    /// Every one of several attempts gave the same letter, and it is wrong: the gold may be.
    pub fn is_same_wrong(&self) -> bool {
        self.attempts > 1 && self.agree == self.attempts && self.correct == 0
    }
}

/// Votes over questions; sums of different questions add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Votes {
    pub questions: usize,
    /// Most attempts that a question has.
    pub attempts: usize,
    /// Questions whose vote is right; whose majority is; with at least one right attempt.
    pub vote: usize,
    pub majority: usize,
    pub any: usize,
    /// Questions whose most frequent picks are several.
    pub ties: usize,
}

impl Votes {
    pub fn of(slice: Slice, questions: &Questions) -> Votes {
        let mut votes = Votes::default();
        Vote::each(slice.rows, questions).for_each(|vote| votes.add(&vote));
        votes
    }

    pub fn add(&mut self, vote: &Vote) {
        self.questions += 1;
        self.attempts = self.attempts.max(vote.attempts as usize);
        self.vote += usize::from(vote.is_right);
        self.majority += usize::from(vote.is_right && vote.is_majority());
        self.any += usize::from(vote.correct > 0);
        self.ties += usize::from(vote.is_tied);
    }

    /// A count of questions as a share of them; `None` where no question has several attempts: there is no vote.
    pub fn share(&self, count: usize) -> Option<f64> {
        share(count, self.questions).filter(|_| self.attempts > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::push;

    fn vote(picks: &[&str]) -> (Option<String>, Vote) {
        let mut rows = Rows::default();
        for (attempt, pick) in picks.iter().enumerate() {
            push(&mut rows, 7, attempt as u16, "law", pick);
        }
        let vote = Vote::of(&rows, 0..picks.len() as u32);
        let winner = vote.winner.map(|code| rows.pick.list()[code as usize].to_string());
        (winner, vote)
    }

    #[test]
    fn the_most_given_letter_wins_and_invalid_has_no_vote() {
        let (winner, counted) = vote(&["A", "A", "B", INVALID, "A"]);
        assert_eq!((winner.as_deref(), counted.agree, counted.invalid), (Some("A"), 3, 1));
        assert!(counted.is_majority() && !counted.is_split());
        let (winner, counted) = vote(&[INVALID, INVALID, INVALID, "B", "B"]);
        assert_eq!((winner.as_deref(), counted.is_right), (Some("B"), true));
        assert!(counted.is_split(), "two of five are no majority");
        let (winner, counted) = vote(&[INVALID; 5]);
        assert_eq!((winner, counted.agree, counted.is_tied), (None, 0, false));
        assert!(counted.is_split());
    }

    #[test]
    fn picks_given_equally_often_are_a_tie_that_nobody_wins() {
        let (winner, counted) = vote(&["C", "B", "B", "C", "D"]);
        assert_eq!((winner, counted.agree, counted.is_tied), (None, 2, true));
        assert!(!counted.is_right && counted.is_split());
        let (winner, counted) = vote(&["B", "A", "C", "B"]);
        assert_eq!(
            (winner.as_deref(), counted.is_tied, counted.is_right),
            (Some("B"), false, true)
        );
        assert!(counted.is_split(), "half is no majority");
    }

    #[test]
    fn agreeing_on_a_wrong_letter_is_suspect() {
        assert!(vote(&["A"; 5]).1.is_same_wrong());
        assert!(!vote(&["B"; 5]).1.is_same_wrong());
        assert!(!vote(&["A", "A", INVALID]).1.is_same_wrong());
        assert!(!vote(&["A"]).1.is_same_wrong());
    }

    #[test]
    fn votes_majorities_and_ties_are_counted_by_question() {
        let mut rows = Rows::default();
        for attempt in 0..3 {
            for (id, picks) in [(1, ["B", "B", "A"]), (2, ["B", "A", "C"]), (3, ["B", INVALID, INVALID])] {
                push(&mut rows, id, attempt, "law", picks[attempt as usize]);
            }
        }
        let slice = Slice::all(&rows);
        let votes = Votes::of(slice, &Questions::of(slice));
        let expected = Votes {
            questions: 3,
            attempts: 3,
            vote: 2,
            majority: 1,
            any: 3,
            ties: 1,
        };
        assert_eq!((votes, votes.share(votes.ties)), (expected, Some(1.0 / 3.0)));
        let single = Slice::of(&rows, &[0, 1]);
        assert_eq!(Votes::of(single, &Questions::of(single)).share(1), None);
    }
}
