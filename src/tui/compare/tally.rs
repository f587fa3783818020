//! Two runs counted against each other, over all rows or those of a filter.

use std::sync::Arc;

use crate::compare::{Comparison, Pairing};
use crate::filter::Pairs;
use crate::stats::percent;
use crate::trace::{Rows, Trace};

/// Which pairs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listed {
    #[default]
    AOnly,
    BOnly,
    /// The same question, another pick, right or wrong.
    OtherPick,
}

impl Listed {
    pub const ALL: [Listed; 3] = [Listed::AOnly, Listed::BOnly, Listed::OtherPick];

    /// The filter word that chooses the same rows.
    pub fn word(self) -> &'static str {
        match self {
            Listed::AOnly => "a-only",
            Listed::BOnly => "b-only",
            Listed::OtherPick => "other-pick",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Listed::AOnly => "A ok, B wrong",
            Listed::BOnly => "B ok, A wrong",
            Listed::OtherPick => "changed pick",
        }
    }

    pub fn next(self) -> Listed {
        let at = Listed::ALL.iter().position(|listed| *listed == self).unwrap_or(0);
        Listed::ALL[(at + 1) % Listed::ALL.len()]
    }
}

/// Two runs whose rows are paired.
#[derive(Debug)]
pub struct Paired {
    pub a: Arc<Trace>,
    pub b: Arc<Trace>,
    pub pairing: Pairing,
    /// What the two say of each row of A, for the filter.
    pub facts: Arc<Pairs>,
}

/// Counts and lists of a view.
#[derive(Debug, Clone)]
pub struct Tallied {
    pub comparison: Comparison,
    /// By [`Listed::ALL`]: the pairs (row of A, row of B), in the order of the view.
    pub lists: [Arc<Vec<(u32, u32)>>; 3],
    /// Changed questions: a row of A and a row of B each.
    pub changed: Arc<Vec<(u32, u32)>>,
}

impl Paired {
    pub fn new(a: Arc<Trace>, b: Arc<Trace>) -> Paired {
        let pairing = crate::compare::pair(&a.rows, &b.rows);
        let (facts, _) = Pairs::of_both(&a.rows, &b.rows, &pairing);
        Paired {
            a,
            b,
            pairing,
            facts: Arc::new(facts),
        }
    }

    /// Counts the rows of a view; `None`: all rows, in A's order.
    pub fn tally(&self, selected: Option<&[u32]>) -> Tallied {
        let (a, b) = (&self.a.rows, &self.b.rows);
        let pairing = match selected {
            None => self.pairing.clone(),
            Some(rows) => {
                let mut wanted = vec![false; a.len()];
                rows.iter().for_each(|row| wanted[*row as usize] = true);
                self.pairing.among(|row| wanted[row as usize])
            }
        };
        let order = selected
            .filter(|rows| !rows.is_sorted())
            .map(|rows| places(rows, a.len()));
        let lists = Listed::ALL.map(|listed| {
            let is_listed = |(x, y): &(u32, u32)| is_in(a, b, listed, (*x as usize, *y as usize));
            let mut list: Vec<(u32, u32)> = pairing.pairs.iter().copied().filter(is_listed).collect();
            if let Some(order) = &order {
                list.sort_by_key(|(x, _)| order[*x as usize]);
            }
            Arc::new(list)
        });
        let changed = Arc::new(pairing.changed_questions(a));
        Tallied {
            comparison: Comparison::over(pairing, a, b),
            lists,
            changed,
        }
    }
}

/// Where each row stands in a view.
fn places(view: &[u32], rows: usize) -> Vec<u32> {
    let mut places = vec![u32::MAX; rows];
    for (place, row) in view.iter().enumerate() {
        places[*row as usize] = place as u32;
    }
    places
}

fn is_in(a: &Rows, b: &Rows, listed: Listed, (x, y): (usize, usize)) -> bool {
    match listed {
        Listed::AOnly => a.correct[x] && !b.correct[y],
        Listed::BOnly => !a.correct[x] && b.correct[y],
        Listed::OtherPick => a.pick.get(x) != b.pick.get(y),
    }
}

impl Tallied {
    pub fn list(&self, listed: Listed) -> &Arc<Vec<(u32, u32)>> {
        let at = Listed::ALL.iter().position(|known| *known == listed).unwrap_or(0);
        &self.lists[at]
    }

    /// Share of right answers of A (0) or B (1) over the pairs, of each exam by itself.
    pub fn accuracy(&self, side: usize) -> String {
        let sums = &self.comparison.sides[side];
        if sums.len() < 2 {
            return sums
                .total
                .accuracy()
                .map_or("-".to_owned(), |share| percent(Some(share)) + "%");
        }
        let exams = sums
            .iter()
            .map(|(exam, sum)| format!("{exam} {}%", percent(sum.accuracy())));
        exams.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Fact;
    use crate::record::Record;

    fn trace(name: &str, picks: &[(&str, &str)]) -> Arc<Trace> {
        let record = |(id, (pick, doc)): (usize, &(&str, &str))| Record {
            question_id: id as i64,
            pick: (*pick).to_owned(),
            answer: "A".to_owned(),
            correct: *pick == "A",
            doc_hash: format!("{doc:0>16}"),
            ..Record::default()
        };
        Arc::new(Trace::from_records(
            name,
            "test",
            picks.iter().enumerate().map(record).collect(),
        ))
    }

    #[test]
    fn pairs_are_listed_by_quadrant_under_the_view_and_in_its_order() {
        let a = trace("a", &[("A", "1"), ("B", "2"), ("A", "3"), ("C", "4"), ("A", "5")]);
        let b = trace("b", &[("B", "1"), ("A", "2"), ("C", "3"), ("D", "4"), ("A", "9")]);
        let paired = Paired::new(a, b);
        let all = paired.tally(None);
        assert_eq!(**all.list(Listed::AOnly), [(0, 0), (2, 2)]);
        assert_eq!(**all.list(Listed::BOnly), [(1, 1)]);
        assert_eq!(**all.list(Listed::OtherPick), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(*all.changed, [(4, 4)]);
        assert_eq!([all.accuracy(0), all.accuracy(1)], ["50.0%", "25.0%"]);
        let some = paired.tally(Some(&[3, 2, 0]));
        assert_eq!(**some.list(Listed::AOnly), [(2, 2), (0, 0)], "in the order of the view");
        assert_eq!((some.comparison.overall.counts.pairs(), some.changed.len()), (3, 0));
        assert!(paired.facts.holds(4, Fact::Changed) && !paired.facts.holds(4, Fact::GoldChanged));
    }
}
