//! The known rules side by side on the rows at hand: what each reads, what of that is right, what it loses, and whether
//! what it reads newly is better than chance.

use std::ops::ControlFlow;

use anyhow::Result;
use serde::Serialize;

use crate::extract::python::is_word;
use crate::extract::{Extraction, Rule};
use crate::record::{INVALID, is_right, letter_index};
use crate::trace::{Field, Rows, Trace};

/// The rules of a bench: a short name, and the rule as it is written.
pub const KNOWN: [(&str, &str); 5] = [
    ("lm_eval", "lm_eval_mmlu_pro"),
    ("tiger chain", "tiger_chain"),
    ("last match", r"re:answer is \(?([A-J])\)?@last"),
    ("boxed", r"re:\\boxed\{[^{}A-J]{0,12}([A-J])\b@last"),
    ("colon", r"re:(?i)answer\W{0,3}:\W{0,4}([A-J])\b@last"),
];

/// What one rule makes of the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// `stored`, a short name, or the rule itself.
    pub name: String,
    /// As `--rule` takes it; empty for the stored picks.
    pub rule: String,
    pub rows: usize,
    pub read: usize,
    pub right: usize,
    pub wrong: usize,
    /// Rows whose stored pick is a letter, from which this rule reads none.
    pub lost: usize,
    /// Rows without a stored pick from which it reads one; those that are right, and as many as picks at random would be.
    pub newly_read: usize,
    pub newly_right: usize,
    pub newly_by_chance: f64,
    /// Standard errors between the two; null where nothing is newly read.
    pub newly_z: Option<f64>,
    /// Picks that are the article: `A good answer`.
    pub article: usize,
    /// Picks whose letter begins a word: `answer is Among`.
    pub begins_word: usize,
    /// Picks beyond the options of their question.
    pub beyond: usize,
}

impl Line {
    /// What a reader should know of its picks, in a few words each.
    pub fn warnings(&self) -> Vec<String> {
        let all = [
            (self.article, "picks are the article \"A\""),
            (self.begins_word, "letters begin a word"),
            (self.beyond, "picks lie beyond the options"),
        ];
        let mut warnings: Vec<String> = all
            .into_iter()
            .filter(|(rows, _)| *rows > 0)
            .map(|(rows, what)| format!("{rows} {what}"))
            .collect();
        if self.newly_z.is_some_and(|z| z < 2.0) && self.newly_read > 0 {
            warnings.push("what it reads newly is no better than chance".to_owned());
        }
        warnings
    }
}

/// What a rule reads from one text, in a byte: the option's number in five bits (0: none, 27: a text), then whether it is
/// right, the article, begins a word.
#[derive(Debug, Clone, Copy, Default)]
struct Read(u8);

const OTHER: u8 = 27;

impl Read {
    fn of(extraction: &Extraction, text: &str, answer: &str) -> Read {
        let Some(pick) = extraction.pick else { return Read(0) };
        let code = letter_index(pick).map_or(OTHER, |index| index as u8 + 1);
        let mut after = extraction
            .found
            .as_ref()
            .map_or("", |found| &text[found.letter.end..])
            .chars();
        let (next, then) = (after.next(), after.next());
        let begins_word = next.is_some_and(is_word);
        let is_article = pick == "A" && next == Some(' ') && then.is_some_and(char::is_lowercase);
        Read(code | u8::from(is_right(pick, answer)) << 5 | u8::from(is_article) << 6 | u8::from(begins_word) << 7)
    }

    fn code(self) -> u8 {
        self.0 & 31
    }

    fn has(self, bit: u8) -> bool {
        self.0 & 1 << bit != 0
    }
}

/// Rules that are read in one pass over the texts: a byte of a number each.
const TOGETHER: usize = 8;

/// The stored picks, then each rule on the rows that `wanted` takes and that have an output to read. Rules are given with
/// the names they are shown by.
///
/// # Errors
/// When the outputs cannot be read.
pub fn bench(trace: &Trace, rules: &[(String, Rule)], wanted: &(dyn Fn(usize) -> bool + Sync)) -> Result<Vec<Line>> {
    let rows = &trace.rows;
    let is_asked = |row: usize| wanted(row) && !rows.scored[row];
    let mut lines = vec![Line::new("stored", "")];
    (0..rows.len()).filter(|row| is_asked(*row)).for_each(|row| {
        let (pick, answer) = (rows.pick.get(row), rows.answer.get(row));
        let stored = Extraction {
            pick: Some(pick).filter(|pick| *pick != INVALID),
            ..Extraction::default()
        };
        lines[0].add(rows, row, Read::of(&stored, "", answer));
    });
    for part in rules.chunks(TOGETHER) {
        let mut own: Vec<Line> = part.iter().map(|(name, rule)| Line::new(name, rule.name())).collect();
        let read = |row: usize, text: &str| {
            let bytes = part
                .iter()
                .map(|(_, rule)| Read::of(&rule.read(text), text, rows.answer.get(row)).0);
            bytes
                .enumerate()
                .fold(0_u64, |all, (at, byte)| all | u64::from(byte) << (8 * at))
        };
        trace
            .texts
            .map(Field::Completion, &is_asked, &read, &mut |row, bytes| {
                for (line, byte) in own.iter_mut().zip(bytes.to_le_bytes()) {
                    line.add(rows, row, Read(byte));
                }
                ControlFlow::Continue(())
            })?;
        lines.append(&mut own);
    }
    lines.iter_mut().for_each(Line::settle);
    Ok(lines)
}

/// The known rules with their short names.
pub fn known() -> Vec<(String, Rule)> {
    let rules = KNOWN
        .iter()
        .filter_map(|(name, rule)| Some(((*name).to_owned(), Rule::parse(rule).ok()?)));
    rules.collect()
}

impl Line {
    fn new(name: &str, rule: &str) -> Line {
        Line {
            name: name.to_owned(),
            rule: rule.to_owned(),
            rows: 0,
            read: 0,
            right: 0,
            wrong: 0,
            lost: 0,
            newly_read: 0,
            newly_right: 0,
            newly_by_chance: 0.0,
            newly_z: None,
            article: 0,
            begins_word: 0,
            beyond: 0,
        }
    }

    fn add(&mut self, rows: &Rows, row: usize, read: Read) {
        let was_read = !rows.is_invalid(row);
        self.rows += 1;
        if read.code() == 0 {
            self.lost += usize::from(was_read);
            return;
        }
        let (is_right, options) = (read.has(5), rows.options[row]);
        self.read += 1;
        self.right += usize::from(is_right);
        self.wrong += usize::from(!is_right);
        self.article += usize::from(read.has(6));
        self.begins_word += usize::from(read.has(7));
        self.beyond += usize::from(options > 0 && read.code() != OTHER && read.code() > options);
        if !was_read {
            let chance = 1.0 / f64::from(if options == 0 { 10 } else { options });
            self.newly_read += 1;
            self.newly_right += usize::from(is_right);
            self.newly_by_chance += chance;
            // The variance, until the line is settled.
            *self.newly_z.get_or_insert(0.0) += chance * (1.0 - chance);
        }
    }

    fn settle(&mut self) {
        let z = |variance: f64| (self.newly_right as f64 - self.newly_by_chance) / variance.sqrt();
        self.newly_z = self.newly_z.filter(|variance| *variance > 0.0).map(z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn each_rule_tells_what_it_reads_loses_and_mistakes() {
        let row = |stored: &str, text: &str| Record {
            pick: stored.into(),
            answer: "A".into(),
            correct: stored == "A",
            reasoning: text.into(),
            reasoning_chars: text.len() as i64,
            options: vec![String::new(); 4],
            ..Record::default()
        };
        let texts = [
            ("A", "the answer is (A)"),
            (INVALID, "Answer: A good one"),
            (INVALID, r"\boxed{B}"),
            ("C", "so C it is"),
            (INVALID, "the answer is Among them"),
            (INVALID, "the answer is (J)"),
        ];
        let trace = Trace::from_records("t", "test", texts.iter().map(|(pick, text)| row(pick, text)).collect());
        let lines = bench(&trace, &known(), &|_| true).unwrap();
        let line = |name: &str| lines.iter().find(|line| line.name == name).unwrap();
        let counts = |line: &Line| {
            (
                line.read,
                line.right,
                line.wrong,
                line.lost,
                line.newly_read,
                line.newly_right,
            )
        };
        assert_eq!(counts(line("stored")), (2, 1, 1, 0, 0, 0));
        assert_eq!(counts(line("lm_eval")), (3, 2, 1, 1, 2, 1));
        assert_eq!((line("lm_eval").begins_word, line("lm_eval").beyond), (1, 1));
        assert_eq!(counts(line("boxed")), (1, 0, 1, 2, 1, 0));
        assert_eq!((line("colon").article, line("colon").newly_right), (1, 1));
        assert_eq!(bench(&trace, &known(), &|row| row == 2).unwrap()[1].rows, 1);
    }
}
