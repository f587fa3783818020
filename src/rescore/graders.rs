//! Graders as probes: what a lax or a strict one would have told of the same outputs. They are never a trace's picks. A judge
//! model is not among them: its prompt would be one more unknown.

use std::collections::HashMap;
use std::ops::ControlFlow;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::extract::Rule;
use crate::extract::python::stands_alone;
use crate::record::{gold_letters, letter};
use crate::stats::{Questions, Slice, Sum, Tally};
use crate::text::strip;
use crate::trace::{Field, Rows, Trace};

/// How their names begin where a rule is asked for.
pub const PREFIX: &str = "grader:";

/// A way to tell whether an output is right, from the output and the gold alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grader {
    Contains,
    Exact,
    Regex,
    First,
}

/// Every grader with its name and what it calls right.
pub const ALL: [(Grader, &str, &str); 4] = [
    (
        Grader::Contains,
        "contains",
        "the gold letter alone, or the gold's text, stands somewhere in the output",
    ),
    (
        Grader::Exact,
        "exact",
        "the output, white space cut, is the gold letter or the gold's text",
    ),
    (Grader::Regex, "regex", "the first \"answer is X\" is the gold letter"),
    (
        Grader::First,
        "first",
        "the first letter of an option that stands alone is the gold letter",
    ),
];

/// The graders that `grader:NAME` means; `grader:all` is every one.
///
/// # Errors
/// For an unknown name: the known ones are listed.
pub fn named(name: &str) -> Result<Vec<Grader>> {
    let all = ALL.iter().map(|(grader, ..)| *grader);
    if name == "all" {
        return Ok(all.collect());
    }
    match ALL.iter().find(|(_, known, _)| *known == name) {
        Some((grader, ..)) => Ok(vec![*grader]),
        None => {
            let known: Vec<&str> = ALL.iter().map(|(_, name, _)| *name).collect();
            bail!("unknown grader `{name}` (known: {}, all)", known.join(", "))
        }
    }
}

/// What a grader says of the rows that have an output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Graded {
    /// `stored`, or the grader's name.
    pub grader: &'static str,
    pub n: usize,
    pub correct: usize,
    pub accuracy: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// Against the stored scores: wrong there and right here, and back.
    pub gained: usize,
    pub lost: usize,
}

/// The gold of a row.
struct Gold<'g> {
    letters: Vec<char>,
    texts: &'g [String],
    /// Letters of its question's options.
    last: char,
}

/// The stored scores, then each grader's, over the rows that have an output.
///
/// # Errors
/// When texts cannot be read.
pub fn grade(trace: &Trace, graders: &[Grader]) -> Result<Vec<Graded>> {
    let rows = &trace.rows;
    let questions = Questions::of(Slice::all(rows));
    let found = judged(trace, &questions)?;
    let mut all = vec![Graded::of(rows, &questions, "stored", &|row| {
        found[row].map(|_| rows.correct[row])
    })];
    for (at, (_, name, _)) in ALL
        .iter()
        .enumerate()
        .filter(|(_, (grader, ..))| graders.contains(grader))
    {
        let is_right = |row: usize| found[row].map(|bits| bits & 1 << at != 0);
        all.push(Graded::of(rows, &questions, name, &is_right));
    }
    Ok(all)
}

/// What every grader says of each row, a bit each; `None` where a row has no output.
fn judged(trace: &Trace, questions: &Questions) -> Result<Vec<Option<u64>>> {
    let rows = &trace.rows;
    let texts = gold_texts(trace, questions)?;
    let rule = Rule::default();
    let judge = |row: usize, text: &str| {
        let known = questions.number(row).and_then(|question| texts.get(&question));
        let golds = gold_letters(rows.answer.get(row)).unwrap_or_default();
        let options = match rows.options[row] {
            0 => 10,
            options => usize::from(options),
        };
        let gold = Gold {
            letters: golds.into_iter().filter_map(letter).collect(),
            texts: known.map_or(&[], Vec::as_slice),
            last: letter(options - 1).unwrap_or('Z'),
        };
        let bits = ALL.iter().enumerate();
        bits.map(|(at, (grader, ..))| u64::from(grader.is_right(&gold, &rule, text)) << at)
            .sum()
    };
    let mut found = vec![None; rows.len()];
    trace
        .texts
        .map(Field::Completion, &|row| !rows.scored[row], &judge, &mut |row, bits| {
            found[row] = Some(bits);
            ControlFlow::Continue(())
        })?;
    Ok(found)
}

impl Graded {
    /// `is_right` tells the outcome of a row that has an output.
    fn of(
        rows: &Rows,
        questions: &Questions,
        grader: &'static str,
        is_right: &dyn Fn(usize) -> Option<bool>,
    ) -> Graded {
        let mut sum = Sum::default();
        let (mut gained, mut lost) = (0, 0);
        for question in questions.iter() {
            let mut tally = Tally::default();
            for (row, is) in question.filter_map(|row| Some((row as usize, is_right(row as usize)?))) {
                tally += Tally::one(is, false);
                gained += usize::from(is && !rows.correct[row]);
                lost += usize::from(!is && rows.correct[row]);
            }
            if tally.n > 0 {
                sum.add(tally);
            }
        }
        Graded {
            grader,
            n: sum.rows(),
            correct: sum.tally.correct,
            accuracy: sum.accuracy(),
            ci95: sum.interval().map(|interval| [interval.low, interval.high]),
            gained,
            lost,
        }
    }
}

/// The texts of each question's right options, where its options are stored.
fn gold_texts(trace: &Trace, questions: &Questions) -> Result<HashMap<u32, Vec<String>>> {
    let mut found = HashMap::new();
    let firsts: Vec<(u32, usize)> = (0..questions.len() as u32)
        .filter_map(|question| Some((question, questions.rows(question).next()? as usize)))
        .collect();
    for part in firsts.chunks(1024) {
        let rows: Vec<usize> = part.iter().map(|(_, row)| *row).collect();
        for ((question, row), record) in part.iter().zip(trace.texts.records(&rows)?) {
            let golds = gold_letters(trace.rows.answer.get(*row)).unwrap_or_default();
            let texts = golds
                .into_iter()
                .filter_map(|gold| Some(strip(record.options.get(gold)?).to_owned()));
            found.insert(*question, texts.filter(|text| !text.is_empty()).collect());
        }
    }
    Ok(found)
}

impl Grader {
    fn is_right(self, gold: &Gold, rule: &Rule, text: &str) -> bool {
        let is_gold = |pick: &str| gold.letters.iter().any(|letter| pick.chars().eq([*letter]));
        match self {
            Grader::Exact => is_gold(strip(text)) || gold.texts.iter().any(|known| known == strip(text)),
            Grader::Regex => rule.read(text).pick.is_some_and(is_gold),
            Grader::First => letters_alone(text, gold.last)
                .next()
                .is_some_and(|found| gold.letters.contains(&found)),
            Grader::Contains => {
                letters_alone(text, gold.last).any(|found| gold.letters.contains(&found))
                    || gold.texts.iter().any(|known| text.contains(known.as_str()))
            }
        }
    }
}

/// The letters from A to `last` that stand alone in a text, in order.
fn letters_alone(text: &str, last: char) -> impl Iterator<Item = char> + '_ {
    let capitals = text
        .bytes()
        .enumerate()
        .filter(move |(_, byte)| (b'A'..=last as u8).contains(byte));
    capitals
        .filter(move |(at, _)| stands_alone(text, *at, at + 1))
        .map(|(_, byte)| char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn graders_differ_on_the_same_outputs() {
        let row = |id: i64, text: &str| Record {
            question_id: id,
            answer: "B".into(),
            pick: "B".into(),
            correct: id == 0,
            options: ["one", "two", "three", "four"].map(String::from).to_vec(),
            reasoning: text.into(),
            reasoning_chars: text.len() as i64,
            ..Record::default()
        };
        let texts = [
            "the answer is (B)",
            " two\n",
            "B",
            "C? no, B",
            "The answer is two",
            "nothing",
        ];
        let records = (0..).zip(texts).map(|(id, text)| row(id, text)).collect();
        let trace = Trace::from_records("t", "test", records);
        let all = named("all").unwrap();
        let right: Vec<(&str, usize)> = grade(&trace, &all)
            .unwrap()
            .iter()
            .map(|line| (line.grader, line.correct))
            .collect();
        assert_eq!(
            right,
            [("stored", 1), ("contains", 5), ("exact", 2), ("regex", 1), ("first", 2)]
        );
        assert!(
            named("judge")
                .unwrap_err()
                .to_string()
                .contains("contains, exact, regex, first, all")
        );
    }
}
