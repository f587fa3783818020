//! What a second run on the same questions says of each row.

use crate::compare::Pairing;
use crate::trace::Rows;

/// Something that two runs say of a row together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// Only the first run is right.
    AOnly,
    /// Only the second run is right.
    BOnly,
    /// The other run asks another question under this number: the two are never compared.
    Changed,
    /// A changed question whose gold changed too.
    GoldChanged,
    /// The same question with another pick.
    OtherPick,
    /// The other run has the same question and attempt.
    Paired,
}

/// The facts of each row of one of the runs, a bit each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    facts: Vec<u8>,
}

impl Pairs {
    /// What two runs say of the rows of each.
    pub fn of_both(a: &Rows, b: &Rows, pairing: &Pairing) -> (Pairs, Pairs) {
        let new = |rows: &Rows| Pairs {
            facts: vec![0; rows.len()],
        };
        let (mut of_a, mut of_b) = (new(a), new(b));
        let mut set = |(x, y): (u32, u32), fact: Fact| {
            of_a.set(x as usize, fact);
            of_b.set(y as usize, fact);
        };
        for pair in &pairing.pairs {
            let (row, other) = (pair.0 as usize, pair.1 as usize);
            set(*pair, Fact::Paired);
            match (a.correct[row], b.correct[other]) {
                (true, false) => set(*pair, Fact::AOnly),
                (false, true) => set(*pair, Fact::BOnly),
                _ => {}
            }
            if a.pick.get(row) != b.pick.get(other) {
                set(*pair, Fact::OtherPick);
            }
        }
        for pair in &pairing.changed {
            set(*pair, Fact::Changed);
            if Pairing::has_other_gold(a, b, *pair) {
                set(*pair, Fact::GoldChanged);
            }
        }
        (of_a, of_b)
    }

    fn set(&mut self, row: usize, fact: Fact) {
        if let Some(facts) = self.facts.get_mut(row) {
            *facts |= 1 << fact as u8;
        }
    }

    pub fn holds(&self, row: usize, fact: Fact) -> bool {
        self.facts.get(row).is_some_and(|facts| facts & (1 << fact as u8) != 0)
    }
}
