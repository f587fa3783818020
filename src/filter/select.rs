//! From tests to rows.

use std::collections::HashMap;
use std::ops::ControlFlow;

use anyhow::Result;

use super::{Column, Filter, Numeric, Term, Test};
use crate::diagnose::{Answer, Marks, diagnose};
use crate::extract::Rule;
use crate::record::{INVALID, split_prompt};
use crate::trace::{Field, Names, Rows, Texts};

/// What was found out about each row's text, once, aside: why it is invalid, and the marks it bears.
#[derive(Debug, Clone, Default)]
pub struct Derived {
    pub marks: Vec<Marks>,
}

impl Derived {
    /// Reads every output once. `rule` is the rule by which the picks are shown; `go_on` hears of each row read and may
    /// break, which gives `None`.
    pub fn of(
        rows: &Rows,
        texts: &dyn Texts,
        rule: &Rule,
        go_on: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Option<Derived>> {
        let mut marks = vec![Marks::default(); rows.len()];
        let mut stopped = false;
        let options = option_counts(rows, texts)?;
        // Rows without an output (cloze) keep a diagnosis too: an invalid one has a cause.
        let diagnosis = |row: usize, text: &str| {
            let answer = Answer {
                text,
                pick: rows.pick.get(row),
                finish: rows.finish[row],
                flags: rows.flags.get(row),
                options: usize::from(options[row]),
            };
            diagnose(rule, &answer).marks
        };
        texts.scan(
            Field::Completion,
            &|row| rows.chars[row] > 0 || rows.is_invalid(row),
            &mut |row, text| {
                marks[row] = diagnosis(row, text);
                let flow = go_on(row);
                stopped |= flow.is_break();
                flow
            },
        )?;
        Ok((!stopped).then_some(Derived { marks }))
    }
}

/// Options of each row; counted in the prompt where the file does not say and the pick could lie beyond them.
fn option_counts(rows: &Rows, texts: &dyn Texts) -> Result<Vec<u8>> {
    let mut counts = rows.options.clone();
    let unknown = |row: usize| rows.options[row] == 0 && rows.pick_index(row).is_some_and(|index| index > 2);
    if (0..rows.len()).any(unknown) {
        texts.scan(Field::Prompt, &unknown, &mut |row, prompt| {
            counts[row] = u8::try_from(split_prompt(prompt).options.len()).unwrap_or(u8::MAX);
            ControlFlow::Continue(())
        })?;
    }
    Ok(counts)
}

/// How the attempts at each question agree.
#[derive(Debug, Clone, Default)]
pub struct Agreement {
    /// A question number for each row.
    pub question: Vec<u32>,
    pub attempts: Vec<u16>,
    /// Attempts that gave the most frequent pick; [`INVALID`] is no pick.
    pub agree: Vec<u16>,
    /// All attempts gave one same letter, and it is wrong.
    pub same_wrong: Vec<bool>,
}

impl Agreement {
    pub fn of(rows: &Rows) -> Agreement {
        let mut agreement = Agreement::default();
        let mut numbers: HashMap<(u32, i64), u32> = HashMap::new();
        let mut first: Vec<usize> = Vec::new();
        let mut last = None;
        for row in 0..rows.len() {
            let key = rows.question_key(row);
            let question = match last {
                Some((before, question)) if before == key => question,
                _ => *numbers.entry(key).or_insert_with(|| {
                    first.push(row);
                    first.len() as u32 - 1
                }),
            };
            last = Some((key, question));
            agreement.question.push(question);
        }
        let invalid = rows.pick.find(INVALID);
        let mut picks: Vec<Vec<(u32, u16)>> = vec![Vec::new(); first.len()];
        agreement.attempts = vec![0; first.len()];
        let mut any_ok = vec![false; first.len()];
        for row in 0..rows.len() {
            let question = agreement.question[row] as usize;
            agreement.attempts[question] = agreement.attempts[question].saturating_add(1);
            any_ok[question] |= rows.correct[row];
            let code = rows.pick.code(row);
            if Some(code) == invalid {
                continue;
            }
            match picks[question].iter_mut().find(|(pick, _)| *pick == code) {
                Some((_, count)) => *count += 1,
                None => picks[question].push((code, 1)),
            }
        }
        agreement.agree = picks
            .iter()
            .map(|picks| picks.iter().map(|(_, n)| *n).max().unwrap_or(0))
            .collect();
        agreement.same_wrong = (0..first.len())
            .map(|q| agreement.attempts[q] > 1 && agreement.agree[q] == agreement.attempts[q] && !any_ok[q])
            .collect();
        agreement
    }

    /// Whether no pick has more than half of the attempts.
    pub fn is_split(&self, row: usize) -> bool {
        let question = self.question[row] as usize;
        self.attempts[question] > 1 && self.agree[question] * 2 <= self.attempts[question]
    }
}

/// What a filter decides on.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub rows: &'a Rows,
    /// `None` while it is not computed yet: `why:` and the marks then choose nothing.
    pub derived: Option<&'a Derived>,
    pub agreement: Option<&'a Agreement>,
    pub marked: Option<&'a dyn Fn(usize) -> bool>,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl<'a> Context<'a> {
    pub fn new(rows: &'a Rows) -> Context<'a> {
        Context {
            rows,
            derived: None,
            agreement: None,
            marked: None,
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

    /// Reads the text that the filter needs and calls `hit` with each row that passes, in row order where only one
    /// text column is asked for. Stops when `hit` or `go_on` breaks.
    pub fn select_by_text(
        &self,
        context: &Context,
        texts: &dyn Texts,
        go_on: &mut dyn FnMut(usize) -> ControlFlow<()>,
        hit: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<()> {
        let bound = self.bind(context);
        let tests: Vec<(Field, &[regex::Regex])> = self
            .terms()
            .filter_map(|term| match &term.test {
                Test::Text(field, patterns) => Some((*field, &patterns[..])),
                _ => None,
            })
            .collect();
        let fields = self.fields();
        let possible: Vec<bool> = (0..context.rows.len())
            .map(|row| bound.passes(context, row, &|_| None))
            .collect();
        let mut found: Vec<Vec<bool>> = tests.iter().map(|_| Vec::new()).collect();
        let (last, earlier) = match fields.split_last() {
            Some((last, earlier)) => (*last, earlier),
            None => {
                for row in (0..context.rows.len()).filter(|row| possible[*row]) {
                    if hit(row as u32).is_break() {
                        break;
                    }
                }
                return Ok(());
            }
        };
        let mut stopped = false;
        for field in earlier {
            for (test, flags) in tests.iter().zip(&mut found) {
                if test.0 == *field {
                    *flags = vec![false; context.rows.len()];
                }
            }
            texts.scan(*field, &|row| possible[row], &mut |row, text| {
                for ((_, patterns), flags) in tests.iter().zip(&mut found).filter(|((of, _), _)| of == field) {
                    flags[row] = patterns.iter().any(|pattern| pattern.is_match(text));
                }
                let flow = go_on(row);
                stopped |= flow.is_break();
                flow
            })?;
            if stopped {
                return Ok(());
            }
        }
        texts.scan(last, &|row| possible[row], &mut |row, text| {
            let passed = bound.passes(context, row, &|test| {
                let (field, patterns) = tests[test];
                Some(if field == last {
                    patterns.iter().any(|pattern| pattern.is_match(text))
                } else {
                    found[test][row]
                })
            });
            if passed {
                hit(row as u32)?;
            }
            go_on(row)
        })
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
                        Numeric::Seed => rows.seed[row],
                        Numeric::Question => rows.question_id[row],
                        Numeric::Chars => i64::from(rows.chars[row]),
                    };
                    ranges.iter().any(|(low, high)| (*low..=*high).contains(&number))
                }
                Test::Ids(ids) => ids.contains(&rows.question_id[row]),
                Test::Agree(low, high) => context.agreement.is_some_and(|agreement| {
                    let agree = i64::from(agreement.agree[agreement.question[row] as usize]);
                    (*low..=*high).contains(&agree)
                }),
                Test::SameWrong => context
                    .agreement
                    .is_some_and(|agreement| agreement.same_wrong[agreement.question[row] as usize]),
                Test::Split => context.agreement.is_some_and(|agreement| agreement.is_split(row)),
                Test::Marked => context.marked.is_some_and(|marked| marked(row)),
                Test::Wrong | Test::Ok | Test::Invalid | Test::Column(..) | Test::Text(..) => true,
            },
        }
    }
}
