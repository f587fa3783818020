//! Which rows are shown, and in which order.

use super::super::snapshot::Snapshot;

/// What rows are shown, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub filter: String,
    pub sort: Sort,
    pub is_reversed: bool,
    /// One row a question instead of one an attempt.
    pub by_question: bool,
}

/// A column to sort by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    File,
    Question,
    Attempt,
    Pick,
    Key,
    Category,
    Chars,
    Agreement,
}

impl View {
    /// The same view under another filter.
    pub fn with(&self, filter: String) -> View {
        View { filter, ..self.clone() }
    }
}

impl Sort {
    pub const ALL: [(Sort, &'static str, &'static str); 8] = [
        (Sort::File, "file", "order of the file"),
        (Sort::Question, "qid", "question id"),
        (Sort::Attempt, "at", "attempt"),
        (Sort::Pick, "pick", "letter read"),
        (Sort::Key, "key", "gold letter"),
        (Sort::Category, "category", "category, then subject"),
        (Sort::Chars, "chars", "length of the output"),
        (Sort::Agreement, "agree", "attempts that agree"),
    ];

    pub fn name(self) -> &'static str {
        Sort::ALL
            .iter()
            .find(|(sort, ..)| *sort == self)
            .map_or("", |(_, name, _)| name)
    }
}

/// Puts rows into the order of a view.
pub(super) fn sort(snapshot: &Snapshot, view: &View, rows: &mut [u32]) {
    let columns = snapshot.rows();
    let at = |row: &u32| *row as usize;
    match view.sort {
        Sort::File => {}
        Sort::Question => rows.sort_by_key(|row| (columns.question_id[at(row)], columns.attempt[at(row)])),
        Sort::Attempt => rows.sort_by_key(|row| columns.attempt[at(row)]),
        Sort::Pick => rows.sort_by(|a, b| columns.pick.get(at(a)).cmp(columns.pick.get(at(b)))),
        Sort::Key => rows.sort_by(|a, b| columns.answer.get(at(a)).cmp(columns.answer.get(at(b)))),
        Sort::Category => rows.sort_by(|a, b| {
            let place = |row: &u32| (columns.category.get(at(row)), columns.subject.get(at(row)));
            place(a).cmp(&place(b))
        }),
        Sort::Chars => rows.sort_by_key(|row| columns.chars[at(row)]),
        Sort::Agreement => rows.sort_by_key(|row| snapshot.agreement.agree(*row as usize)),
    }
    if view.is_reversed {
        rows.reverse();
    }
}
