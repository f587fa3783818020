//! Which row of one trace answers to which row of the other.

use crate::trace::Rows;

/// Rows of two traces, A's first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pairing {
    /// The same question and attempt; in A's order.
    pub pairs: Vec<(u32, u32)>,
    /// The same id and attempt, but another question: never compared.
    pub changed: Vec<(u32, u32)>,
    /// Rows whose question and attempt are in one trace only.
    pub only_a: Vec<u32>,
    pub only_b: Vec<u32>,
}

impl Pairing {
    /// Only what belongs to some rows of A; rows that B alone has stay.
    #[must_use]
    pub fn among(&self, is_wanted: impl Fn(u32) -> bool) -> Pairing {
        let pairs = |list: &[(u32, u32)]| list.iter().copied().filter(|(x, _)| is_wanted(*x)).collect();
        Pairing {
            pairs: pairs(&self.pairs),
            changed: pairs(&self.changed),
            only_a: self.only_a.iter().copied().filter(|row| is_wanted(*row)).collect(),
            only_b: self.only_b.clone(),
        }
    }

    /// With the rows that are not used.
    fn with_the_rest(self, used_a: &[bool], used_b: &[bool]) -> Pairing {
        let unused = |used: &[bool]| {
            (0..used.len())
                .filter(|row| !used[*row])
                .map(|row| row as u32)
                .collect()
        };
        Pairing {
            only_a: unused(used_a),
            only_b: unused(used_b),
            ..self
        }
    }

    /// Changed questions, once each: a row of A and a row of B.
    pub fn changed_questions(&self, a: &Rows) -> Vec<(u32, u32)> {
        let mut questions = self.changed.clone();
        questions.sort_by_key(|(x, _)| (a.question_key(*x as usize), *x));
        questions.dedup_by_key(|(x, _)| a.question_key(*x as usize));
        questions.sort_unstable();
        questions
    }

    /// Whether the gold of a changed question changed too.
    pub fn has_other_gold(a: &Rows, b: &Rows, (x, y): (u32, u32)) -> bool {
        a.answer.get(x as usize) != b.answer.get(y as usize)
    }

    /// What shows that a question changed, in a few words.
    pub fn what_changed(a: &Rows, b: &Rows, (x, y): (u32, u32)) -> &'static str {
        let has_other_options = a.options[x as usize] != b.options[y as usize];
        match (has_other_options, Pairing::has_other_gold(a, b, (x, y))) {
            (true, _) => "other options",
            (false, true) => "another key",
            (false, false) => "other text",
        }
    }

    /// Every id is in both, no question is: the hashes were made in two ways, or these are two data sets.
    pub fn is_suspicious(&self) -> bool {
        self.pairs.is_empty() && !self.changed.is_empty()
    }
}

/// Pairs rows on the question's hash and the attempt; equal questions (MMLU repeats 27) in their order. Rows without a
/// hash on one side pair on benchmark, question id and attempt, unless their numbers of options differ.
pub fn pair(a: &Rows, b: &Rows) -> Pairing {
    let mut pairing = Pairing::default();
    let hashed = |rows: &Rows| -> Vec<(Hash, u32)> {
        let all = 0..rows.len();
        all.filter(|row| rows.doc[*row] != 0)
            .map(|row| ((rows.doc[row], rows.attempt[row]), row as u32))
            .collect()
    };
    let (mut used_a, mut used_b) = (vec![false; a.len()], vec![false; b.len()]);
    for (x, y) in join(hashed(a), hashed(b)) {
        (used_a[x as usize], used_b[y as usize]) = (true, true);
        pairing.pairs.push((x, y));
    }
    let benchmarks = Benchmarks::of(a, b);
    let left = |rows: &Rows, used: &[bool], code: &dyn Fn(usize) -> u32| -> Vec<(Id, u32)> {
        let all = (0..rows.len()).filter(|row| !used[*row]);
        all.map(|row| ((code(row), rows.question_id[row], rows.attempt[row]), row as u32))
            .collect()
    };
    let left_a = left(a, &used_a, &|row| benchmarks.of_a(a, row));
    let left_b = left(b, &used_b, &|row| benchmarks.of_b(b, row));
    for (x, y) in join(left_a, left_b) {
        (used_a[x as usize], used_b[y as usize]) = (true, true);
        let list = if is_changed(a, x as usize, b, y as usize) {
            &mut pairing.changed
        } else {
            &mut pairing.pairs
        };
        list.push((x, y));
    }
    pairing.pairs.sort_unstable();
    pairing.changed.sort_unstable();
    pairing.with_the_rest(&used_a, &used_b)
}

/// Pairs rows on benchmark, question id and attempt alone, whatever their questions say; repeated ones in their order.
pub fn pair_by_id(a: &Rows, b: &Rows) -> Pairing {
    let benchmarks = Benchmarks::of(a, b);
    let keys = |rows: &Rows, code: &dyn Fn(usize) -> u32| -> Vec<(Id, u32)> {
        let key = |row: usize| ((code(row), rows.question_id[row], rows.attempt[row]), row as u32);
        (0..rows.len()).map(key).collect()
    };
    let of_a = keys(a, &|row| benchmarks.of_a(a, row));
    let mut pairs = join(of_a, keys(b, &|row| benchmarks.of_b(b, row)));
    pairs.sort_unstable();
    let (mut used_a, mut used_b) = (vec![false; a.len()], vec![false; b.len()]);
    for (x, y) in &pairs {
        (used_a[*x as usize], used_b[*y as usize]) = (true, true);
    }
    let pairing = Pairing {
        pairs,
        ..Pairing::default()
    };
    pairing.with_the_rest(&used_a, &used_b)
}

/// Doc hash and attempt.
type Hash = (u64, u16);
/// Benchmark, question id and attempt.
type Id = (u32, i64, u16);

/// Of two rows that share an id: whether they are known to be different questions.
fn is_changed(a: &Rows, x: usize, b: &Rows, y: usize) -> bool {
    let (options_a, options_b) = (a.options[x], b.options[y]);
    (a.doc[x] != 0 && b.doc[y] != 0) || (options_a != 0 && options_b != 0 && options_a != options_b)
}

/// Pairs of values with equal keys; several with one key in their order.
fn join<K: Ord>(mut a: Vec<(K, u32)>, mut b: Vec<(K, u32)>) -> Vec<(u32, u32)> {
    a.sort_unstable();
    b.sort_unstable();
    let (mut pairs, mut at) = (Vec::with_capacity(a.len().min(b.len())), 0);
    for (key, x) in a {
        while at < b.len() && b[at].0 < key {
            at += 1;
        }
        if at < b.len() && b[at].0 == key {
            pairs.push((x, b[at].1));
            at += 1;
        }
    }
    pairs
}

/// Benchmark names as numbers that two traces share. A file that does not say its benchmark pairs with any.
struct Benchmarks {
    are_known: bool,
    b_in_a: Vec<u32>,
}

impl Benchmarks {
    fn of(a: &Rows, b: &Rows) -> Benchmarks {
        let are_known = [a, b].iter().all(|rows| rows.benchmark.find("").is_none());
        let unknown = a.benchmark.list().len() as u32;
        let b_in_a = b
            .benchmark
            .list()
            .iter()
            .map(|name| a.benchmark.find(name).unwrap_or(unknown))
            .collect();
        Benchmarks { are_known, b_in_a }
    }

    fn of_a(&self, a: &Rows, row: usize) -> u32 {
        if self.are_known { a.benchmark.code(row) } else { 0 }
    }

    fn of_b(&self, b: &Rows, row: usize) -> u32 {
        if self.are_known {
            self.b_in_a[b.benchmark.code(row) as usize]
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::push;

    fn rows(ids: &[i64], docs: &[u64]) -> Rows {
        let mut rows = Rows::default();
        for (id, doc) in ids.iter().zip(docs) {
            push(&mut rows, *id, 0, "law", "B");
            *rows.doc.last_mut().unwrap() = *doc;
        }
        rows
    }

    #[test]
    fn equal_questions_pair_in_their_order_whatever_the_ids() {
        let pairing = pair(&rows(&[1, 2, 3], &[7, 8, 7]), &rows(&[30, 10, 20], &[7, 7, 8]));
        assert_eq!(pairing.pairs, [(0, 0), (1, 2), (2, 1)]);
        assert!(pairing.changed.is_empty() && pairing.only_a.is_empty() && pairing.only_b.is_empty());
    }

    #[test]
    fn a_question_that_changed_under_its_id_is_listed_not_compared() {
        let (a, b) = (rows(&[1, 2, 3], &[7, 8, 9]), rows(&[1, 2, 4], &[7, 88, 99]));
        let pairing = pair(&a, &b);
        assert_eq!(
            (&pairing.pairs[..], &pairing.changed[..]),
            (&[(0, 0)][..], &[(1, 1)][..])
        );
        assert_eq!((&pairing.only_a[..], &pairing.only_b[..]), (&[2][..], &[2][..]));
        assert_eq!(Pairing::what_changed(&a, &b, (1, 1)), "other text");
    }

    #[test]
    fn without_hashes_the_ids_pair_unless_the_options_differ() {
        let (a, mut b) = (rows(&[1, 2], &[0, 0]), rows(&[2, 1], &[5, 6]));
        assert_eq!(pair(&a, &b).pairs, [(0, 1), (1, 0)]);
        b.options[0] = 5;
        let pairing = pair(&a, &b);
        assert_eq!(
            (&pairing.pairs[..], &pairing.changed[..]),
            (&[(0, 1)][..], &[(1, 0)][..])
        );
        assert_eq!(Pairing::what_changed(&a, &b, (1, 0)), "other options");
    }

    #[test]
    fn attempts_pair_with_their_like_and_a_changed_question_counts_once() {
        let mut a = Rows::default();
        let mut b = Rows::default();
        for attempt in 0..3 {
            push(&mut a, 1, attempt, "law", "B");
            push(&mut a, 2, attempt, "law", "B");
            push(&mut b, 1, attempt, "law", "A");
            push(&mut b, 2, attempt, "law", "A");
            *b.doc.last_mut().unwrap() = 77;
        }
        let pairing = pair(&a, &b);
        assert_eq!(pairing.pairs, [(0, 0), (2, 2), (4, 4)]);
        assert_eq!(
            (pairing.changed.len(), pairing.changed_questions(&a)),
            (3, vec![(1, 1)])
        );
    }
}
