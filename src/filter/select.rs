//! From tests to rows.

use std::ops::ControlFlow;

use anyhow::Result;

use super::pairs::Pairs;
use super::{Agreement, Column, Derived, Filter, Numeric, Term, Test};
use crate::labels::Joined;
use crate::notes::Notes;
use crate::record::INVALID;
use crate::trace::{Field, Names, Rows, Texts};

/// What a filter decides on.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub rows: &'a Rows,
    /// `None` while it is not computed yet: `why:` and the marks then choose nothing.
    pub derived: Option<&'a Derived>,
    pub agreement: Option<&'a Agreement>,
    pub notes: Option<&'a Notes>,
    /// What the other run says of each row, where there are two.
    pub pairs: Option<&'a Pairs>,
    /// What lists say of each question; `None` where none is joined: `label:` then chooses nothing.
    pub labels: Option<&'a Joined>,
}

impl<'a> Context<'a> {
    pub fn new(rows: &'a Rows) -> Context<'a> {
        Context {
            rows,
            derived: None,
            agreement: None,
            notes: None,
            pairs: None,
            labels: None,
        }
    }
}

/// A test bound to a trace's columns: names became tables by code.
enum Bound<'a> {
    Flag(&'a [bool], bool),
    Codes(&'a Names, Vec<bool>),
    Finish([bool; 5]),
    Other(&'a Test),
}

struct BoundTerm<'a> {
    negated: bool,
    bound: Bound<'a>,
    /// The place of a text test among the text tests of the filter.
    text: Option<usize>,
}

/// A filter bound to a trace's columns.
struct BoundFilter<'a> {
    groups: Vec<Vec<BoundTerm<'a>>>,
}

impl Filter {
    /// The rows that pass, in order. Text tests count as passed: use [`Filter::select_by_text`] where there are any.
    pub fn select(&self, context: &Context) -> Vec<u32> {
        let rows = 0..u32::try_from(context.rows.len()).unwrap_or(u32::MAX);
        self.select_among(context, rows)
    }

    /// The same for some rows only.
    pub fn select_among(&self, context: &Context, among: impl Iterator<Item = u32>) -> Vec<u32> {
        if self.is_empty() {
            return among.collect();
        }
        let bound = self.bind(context);
        among
            .filter(|row| bound.passes(context, *row as usize, &|_| None))
            .collect()
    }

    /// Reads the text that the filter needs and calls `hit` with each row that passes, in row order. Stops when `hit` or
    /// `go_on` breaks.
    pub fn select_by_text(
        &self,
        context: &Context,
        texts: &dyn Texts,
        go_on: &mut dyn FnMut(usize) -> ControlFlow<()>,
        hit: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<()> {
        let bound = self.bind(context);
        let tests = self.text_tests();
        let fields = self.fields();
        let possible: Vec<bool> = (0..context.rows.len())
            .map(|row| bound.passes(context, row, &|_| None))
            .collect();
        let Some((last, earlier)) = fields.split_last() else {
            for row in (0..context.rows.len()).filter(|row| possible[*row]) {
                if hit(row as u32).is_break() {
                    break;
                }
            }
            return Ok(());
        };
        let holding = |field: Field, text: &str| holding(&tests, field, text);
        let mut found = vec![0_u64; if earlier.is_empty() { 0 } else { possible.len() }];
        let mut stopped = false;
        for field in earlier {
            texts.map(
                *field,
                &|row| possible[row],
                &|_, text| holding(*field, text),
                &mut |row, bits| {
                    found[row] |= bits;
                    let flow = go_on(row);
                    stopped |= flow.is_break();
                    flow
                },
            )?;
            if stopped {
                return Ok(());
            }
        }
        texts.map(
            *last,
            &|row| possible[row],
            &|_, text| holding(*last, text),
            &mut |row, bits| {
                let bits = bits | found.get(row).copied().unwrap_or(0);
                if bound.passes(context, row, &|test| Some(bits & 1 << test != 0)) {
                    hit(row as u32)?;
                }
                go_on(row)
            },
        )
    }

    /// The text tests, in the order of their bits.
    fn text_tests(&self) -> Vec<(Field, &[regex::Regex])> {
        let tests = self.terms().filter_map(|term| match &term.test {
            Test::Text(field, patterns) => Some((*field, &patterns[..])),
            _ => None,
        });
        tests.collect()
    }

    /// Every row that passes, text tests included; for use without a screen.
    pub fn select_all(&self, context: &Context, texts: &dyn Texts) -> Result<Vec<u32>> {
        if self.fields().is_empty() {
            return Ok(self.select(context));
        }
        let mut rows = Vec::new();
        self.select_by_text(context, texts, &mut |_| ControlFlow::Continue(()), &mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    fn bind<'a>(&'a self, context: &Context<'a>) -> BoundFilter<'a> {
        let mut texts = 0;
        let groups = self
            .groups
            .iter()
            .map(|group| {
                group
                    .iter()
                    .map(|term| bind_term(term, context.rows, &mut texts))
                    .collect()
            })
            .collect();
        BoundFilter { groups }
    }
}

fn bind_term<'a>(term: &'a Term, rows: &'a Rows, texts: &mut usize) -> BoundTerm<'a> {
    let table = |names: &'a Names, values: &[(String, bool)]| {
        let fits = |name: &str| {
            let name = name.to_lowercase();
            values.iter().any(|(value, whole)| {
                if *whole {
                    name == *value
                } else {
                    name.starts_with(value.as_str())
                }
            })
        };
        Bound::Codes(names, names.list().iter().map(|name| fits(name)).collect())
    };
    let mut text = None;
    let bound = match &term.test {
        Test::Wrong => Bound::Flag(&rows.correct, false),
        Test::Ok => Bound::Flag(&rows.correct, true),
        Test::Invalid => Bound::Codes(
            &rows.pick,
            rows.pick.list().iter().map(|pick| &**pick == INVALID).collect(),
        ),
        Test::Column(column, values) => match column {
            Column::Category => table(&rows.category, values),
            Column::Subject => table(&rows.subject, values),
            Column::Exam => table(&rows.benchmark, values),
            Column::Pick => table(&rows.pick, values),
            Column::Key => table(&rows.answer, values),
            Column::Flag => {
                let has = |list: &str| {
                    list.split(',')
                        .any(|flag| values.iter().any(|(value, _)| *value == flag.to_lowercase()))
                };
                Bound::Codes(&rows.flags, rows.flags.list().iter().map(|list| has(list)).collect())
            }
            Column::Finish => {
                let wanted = |name: &str| values.iter().any(|(value, _)| name.starts_with(value.as_str()));
                Bound::Finish([false, wanted("eos"), wanted("stop"), wanted("length"), wanted("error")])
            }
        },
        Test::Text(..) => {
            text = Some(*texts);
            *texts += 1;
            Bound::Other(&term.test)
        }
        other => Bound::Other(other),
    };
    BoundTerm {
        negated: term.negated,
        bound,
        text,
    }
}

impl BoundFilter<'_> {
    /// Whether a row passes. `text` tells the outcome of a text test, `None` where it is not known: such a term counts as
    /// passed.
    fn passes(&self, context: &Context, row: usize, text: &dyn Fn(usize) -> Option<bool>) -> bool {
        self.groups.is_empty()
            || self.groups.iter().any(|group| {
                group.iter().all(|term| match term.text {
                    Some(test) => text(test).is_none_or(|found| found != term.negated),
                    None => term.bound.holds(context, row) != term.negated,
                })
            })
    }
}

impl Bound<'_> {
    fn holds(&self, context: &Context, row: usize) -> bool {
        let rows = context.rows;
        match self {
            Bound::Flag(flags, wanted) => flags[row] == *wanted,
            Bound::Codes(names, wanted) => wanted[names.code(row) as usize],
            Bound::Finish(wanted) => wanted[rows.finish[row].map_or(0, |finish| finish as usize + 1)],
            Bound::Other(test) => match test {
                Test::Why(causes) => context
                    .derived
                    .and_then(|derived| derived.marks.get(row)?.cause())
                    .is_some_and(|cause| causes.contains(&cause)),
                Test::Mark(mark) => context
                    .derived
                    .and_then(|derived| derived.marks.get(row))
                    .is_some_and(|marks| marks.has(*mark)),
                Test::Number(what, ranges) => {
                    let number = match what {
                        Numeric::Attempt => i64::from(rows.attempt[row]),
                        Numeric::Seed => rows.seed(row).unwrap_or(i64::MIN),
                        Numeric::Question => rows.question_id[row],
                        Numeric::Chars => i64::from(rows.chars[row]),
                    };
                    is_within(number, ranges)
                }
                Test::Ids(ids, ranges) => {
                    let id = rows.question_id[row];
                    ids.contains(&id) || is_within(id, ranges)
                }
                Test::Agree(low, high) => context
                    .agreement
                    .is_some_and(|agreement| (*low..=*high).contains(&i64::from(agreement.agree(row)))),
                Test::SameWrong => context.agreement.is_some_and(|agreement| agreement.is_same_wrong(row)),
                Test::Split => context.agreement.is_some_and(|agreement| agreement.is_split(row)),
                Test::StyleSplit => rows.depends_on_cell.contains(&rows.question_id[row]),
                Test::Marked => context.notes.is_some_and(|notes| notes.is_marked(row as u32)),
                Test::Note(patterns) => context.notes.is_some_and(|notes| {
                    let text = notes.text(row as u32);
                    !text.is_empty() && patterns.iter().any(|pattern| pattern.is_match(text))
                }),
                Test::Label(words) => context.labels.is_some_and(|labels| labels.holds(row, words)),
                Test::Pair(fact) => context.pairs.is_some_and(|pairs| pairs.holds(row, *fact)),
                Test::Wrong | Test::Ok | Test::Invalid | Test::Column(..) | Test::Text(..) => true,
            },
        }
    }
}
fn is_within(number: i64, ranges: &[(i64, i64)]) -> bool {
    ranges.iter().any(|(low, high)| (*low..=*high).contains(&number))
}

/// The tests of a field that hold on a text, a bit each.
fn holding(tests: &[(Field, &[regex::Regex])], field: Field, text: &str) -> u64 {
    let of_field = tests.iter().enumerate().filter(|(_, (of, _))| *of == field);
    let held = of_field.filter(|(_, (_, patterns))| patterns.iter().any(|pattern| pattern.is_match(text)));
    held.fold(0, |bits, (test, _)| bits | 1 << test)
}
