//! The rows of a trace by question: the one grouping that counts, votes and checks start from.

use std::collections::HashMap;

use super::Slice;
use crate::trace::Rows;

/// The rows of a slice gathered by question, questions in order of their first rows.
#[derive(Debug, Clone, Default)]
pub struct Questions {
    /// The question of each row of the slice.
    numbers: Vec<u32>,
    /// Row numbers by question, then attempt, then place; those of question `q` are `members[starts[q]..starts[q + 1]]`.
    /// Empty where they are simply all rows in order.
    members: Vec<u32>,
    starts: Vec<u32>,
}

impl Questions {
    pub fn of(slice: Slice) -> Questions {
        let (numbers, count) = number(slice);
        let mut starts = vec![0; count + 1];
        for question in &numbers {
            starts[*question as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let members = if slice.picked.is_none() && is_in_order(slice.rows, &numbers) {
            Vec::new()
        } else {
            gathered(slice, &numbers, &starts)
        };
        Questions {
            numbers,
            members,
            starts,
        }
    }

    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The question of the slice's row at `index`: over all rows, of that row.
    pub fn number(&self, index: usize) -> Option<u32> {
        self.numbers.get(index).copied()
    }

    /// The slice's rows with their questions' numbers.
    pub fn numbered<'a>(&'a self, slice: Slice<'a>) -> impl Iterator<Item = (usize, u32)> + 'a {
        slice.iter().zip(self.numbers.iter().copied())
    }

    /// Some rows with their questions' numbers, where these are the questions of all rows.
    pub fn numbers_of<'a>(&'a self, picked: impl Iterator<Item = u32> + 'a) -> impl Iterator<Item = (usize, u32)> + 'a {
        picked.map(|row| (row as usize, self.numbers[row as usize]))
    }

    /// The rows of a question, by attempt; none of a question that is not there.
    pub fn rows(&self, question: u32) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone + '_ {
        let question = question as usize;
        let range = match self.starts.get(question..question.saturating_add(2)) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        };
        range.map(|at| self.members.get(at as usize).copied().unwrap_or(at))
    }

    /// Every question's rows.
    pub fn iter(
        &self,
    ) -> impl Iterator<Item = impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone + '_> + '_ {
        (0..self.len() as u32).map(|question| self.rows(question))
    }

    /// Most rows that a question has.
    pub fn most_attempts(&self) -> usize {
        let sizes = self.starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        sizes.max().unwrap_or(0)
    }
}

/// A number for each row's question, and how many questions there are.
fn number(slice: Slice) -> (Vec<u32>, usize) {
    let mut numbers = Vec::with_capacity(slice.len());
    let mut first: Vec<(u32, i64)> = Vec::new();
    // Rows by question, the usual order, need no table: a key beyond all before is new.
    let mut known: Option<HashMap<(u32, i64), u32>> = None;
    let mut last = None;
    for row in slice.iter() {
        let key = slice.rows.question_key(row);
        let number = match (last, &mut known) {
            (Some((key_before, number)), _) if key_before == key => number,
            (_, None) if first.last().is_none_or(|last| *last < key) => {
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
        last = Some((key, number));
        numbers.push(number);
    }
    (numbers, first.len())
}

fn is_in_order(rows: &Rows, numbers: &[u32]) -> bool {
    (1..numbers.len()).all(|row| {
        let (before, here) = (numbers[row - 1], numbers[row]);
        before < here || before == here && rows.attempt[row - 1] <= rows.attempt[row]
    })
}

fn gathered(slice: Slice, numbers: &[u32], starts: &[u32]) -> Vec<u32> {
    let mut next = starts.to_vec();
    let mut members = vec![0; numbers.len()];
    for (row, question) in slice.iter().zip(numbers) {
        let place = &mut next[*question as usize];
        members[*place as usize] = row as u32;
        *place += 1;
    }
    for range in starts.windows(2) {
        members[range[0] as usize..range[1] as usize].sort_by_key(|row| slice.rows.attempt[*row as usize]);
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::push;

    fn gathered(list: &[(i64, u16)]) -> Vec<Vec<u32>> {
        let mut rows = Rows::default();
        list.iter()
            .for_each(|(id, attempt)| push(&mut rows, *id, *attempt, "law", "A"));
        Questions::of(Slice::all(&rows)).iter().map(Iterator::collect).collect()
    }

    #[test]
    fn rows_are_gathered_by_question_in_whatever_order_they_stand() {
        assert_eq!(
            gathered(&[(1, 0), (1, 1), (2, 0), (2, 1)]),
            [[0, 1], [2, 3]],
            "the usual order"
        );
        assert_eq!(
            gathered(&[(9, 0), (4, 0), (7, 0), (9, 1), (4, 1), (7, 1)]),
            [[0, 3], [1, 4], [2, 5]]
        );
        assert_eq!(
            gathered(&[(1, 1), (2, 0), (1, 0), (2, 0)]),
            [[2, 0], [1, 3]],
            "by attempt, equal ones by place"
        );
    }

    #[test]
    fn a_slice_holds_its_own_rows_only() {
        let mut rows = Rows::default();
        for id in [5, 5, 6, 6] {
            push(&mut rows, id, 0, "law", "A");
        }
        let picked = [3, 1];
        let questions = Questions::of(Slice::of(&rows, &picked));
        assert_eq!(
            questions.iter().map(Iterator::collect).collect::<Vec<Vec<u32>>>(),
            [[3], [1]]
        );
        assert_eq!(
            (questions.number(0), questions.number(1), questions.number(2)),
            (Some(0), Some(1), None)
        );
        assert_eq!((questions.rows(7).count(), questions.most_attempts()), (0, 1));
    }
}
