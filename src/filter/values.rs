//! What stands after a filter word's colon: names, causes, ranges, ids and patterns.

use std::collections::HashSet;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use regex::{Regex, RegexBuilder};

use super::parse::{Mode, Read};
use super::{Column, Numeric, Test};
use crate::diagnose::Cause;
use crate::extract;
use crate::text::size;
use crate::trace::{Field, Rows};

/// Prefixes; a value that is a whole name of the column stands for that name alone.
pub(super) fn names(column: Column, list: &[String], rows: &Rows, mode: Mode) -> Result<Vec<(String, bool)>> {
    let known: Vec<String> = column.known(rows);
    list.iter()
        .map(|value| {
            let value = value.to_lowercase();
            let whole = known.iter().any(|name| name.to_lowercase() == value);
            let fits = |name: &String| {
                if column.is_letter() {
                    whole
                } else {
                    name.to_lowercase().starts_with(&value)
                }
            };
            let named = matches!(
                column,
                Column::Category | Column::Subject | Column::Exam | Column::Finish
            );
            if mode == Mode::Strict && named && !known.is_empty() && !known.iter().any(fits) {
                bail!(
                    "no {} begins with `{value}`; known: {}",
                    column.noun(),
                    known.join(", ")
                );
            }
            Ok((value, whole || column.is_letter()))
        })
        .collect()
}

pub(super) fn causes(list: &[String]) -> Result<Vec<Cause>> {
    let mut causes = Vec::new();
    for value in list {
        let fitting: Vec<Cause> = match Cause::ALL.iter().find(|cause| cause.name() == value) {
            Some(exact) => vec![*exact],
            None => Cause::ALL
                .iter()
                .copied()
                .filter(|cause| cause.name().starts_with(value.as_str()))
                .collect(),
        };
        if fitting.is_empty() {
            let known: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
            bail!("no cause begins with `{value}`; known: {}", known.join(" "));
        }
        causes.extend(fitting);
    }
    Ok(causes)
}

pub(super) fn ranges(name: &str, list: &[String]) -> Result<Vec<(i64, i64)>> {
    list.iter()
        .map(|value| {
            let number = |text: &str| -> Result<i64> {
                text.parse()
                    .map_err(|_| anyhow!("`{name}:{value}`: `{text}` is no whole number (a range is written 3-7)"))
            };
            match value.get(1..).and_then(|rest| rest.find('-')).map(|at| at + 1) {
                Some(at) => Ok((number(&value[..at])?, number(&value[at + 1..])?)),
                None => number(value).map(|number| (number, number)),
            }
        })
        .collect()
}

/// A file of question ids may be this long; tens of millions of ids fit.
const LONGEST_IDS: u64 = 256 << 20;

pub(super) fn read_ids(list: &[String]) -> Result<Read> {
    let (files, written): (Vec<&String>, Vec<&String>) = list.iter().partition(|value| value.starts_with('@'));
    let written: Vec<String> = written.into_iter().cloned().collect();
    let ranges = ranges("q", &written)?;
    if files.is_empty() {
        return Ok(Read::Test(Test::Number(Numeric::Question, ranges)));
    }
    let mut ids = HashSet::new();
    for file in files.iter().map(|value| &value[1..]) {
        if file.is_empty() {
            return Ok(Read::Pending);
        }
        ids_of_file(file, &mut ids).with_context(|| format!("q:@{file}"))?;
    }
    Ok(Read::Test(Test::Ids(ids, ranges)))
}

/// Adds the question ids of a file: parted by line ends, blanks, tabs or commas, in quotes or brackets or not.
fn ids_of_file(file: &str, ids: &mut HashSet<i64>) -> Result<()> {
    let facts = std::fs::metadata(file).context("cannot read the file of question ids")?;
    // A filter is read again and again while it is typed; a pipe could be read once.
    ensure!(facts.is_file(), "is no file; write the question ids into one");
    ensure!(
        facts.len() <= LONGEST_IDS,
        "is {} long; files of question ids may be {}",
        size(facts.len()),
        size(LONGEST_IDS)
    );
    let bytes = std::fs::read(file).context("cannot read the file of question ids")?;
    let text = std::str::from_utf8(&bytes).map_err(|_| anyhow!("is no text in UTF-8, so no file of question ids"))?;
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let items = line.split(|c: char| c == ',' || c.is_whitespace());
        for item in items
            .map(|item| item.trim_matches(['"', '[', ']']))
            .filter(|item| !item.is_empty())
        {
            ids.insert(item.parse().map_err(|_| {
                let shown: String = item.chars().take(40).collect();
                anyhow!("line {}: `{shown}` is no question id", at + 1)
            })?);
        }
    }
    Ok(())
}

/// More states than a pattern of a filter may spell out: it is held against every output.
const HEAVY: usize = 1_000;

pub(super) fn read_regex(value: &str) -> Result<Read> {
    let pattern = value
        .strip_prefix('/')
        .map_or(value, |rest| rest.strip_suffix('/').unwrap_or(rest));
    if pattern.is_empty() {
        return Ok(Read::Pending);
    }
    let states = extract::states(pattern);
    ensure!(
        states <= HEAVY,
        "re:/…/ spells out {states} states, which is too heavy to be held against every output; {HEAVY} are the most"
    );
    // A capital after a backslash is a class (\S, \W), not a typed letter.
    let mut escaped = false;
    let has_capital = pattern.chars().any(|c| {
        let counts = c.is_uppercase() && !escaped;
        escaped = c == '\\' && !escaped;
        counts
    });
    let regex = RegexBuilder::new(pattern)
        .case_insensitive(!has_capital)
        .multi_line(true)
        .build()
        .map_err(|error| {
            let reason = crate::extract::describe(&error.to_string());
            anyhow!("re:/{pattern}/ is not a regular expression: {reason}")
        })?;
    Ok(Read::Test(Test::Text(Field::Completion, vec![regex])))
}

pub(super) fn literals(list: &[String]) -> Result<Vec<Regex>> {
    list.iter().map(|value| literal(value)).collect()
}

pub(super) fn literal(text: &str) -> Result<Regex> {
    let has_capital = text.chars().any(char::is_uppercase);
    RegexBuilder::new(&regex::escape(text))
        .case_insensitive(!has_capital)
        .build()
        .with_context(|| format!("`{text}` is too long to be looked for"))
}

impl Column {
    pub(super) fn known(self, rows: &Rows) -> Vec<String> {
        let names = match self {
            Column::Category => &rows.category,
            Column::Subject => &rows.subject,
            Column::Exam => &rows.benchmark,
            Column::Pick => &rows.pick,
            Column::Key => &rows.answer,
            Column::Flag => {
                let mut flags: Vec<String> = rows
                    .flags
                    .list()
                    .iter()
                    .flat_map(|list| list.split(','))
                    .filter(|flag| !flag.is_empty())
                    .map(str::to_owned)
                    .collect();
                flags.sort();
                flags.dedup();
                return flags;
            }
            Column::Finish => return ["eos", "stop", "length", "error"].map(str::to_owned).to_vec(),
        };
        names.list().iter().map(ToString::to_string).collect()
    }

    fn is_letter(self) -> bool {
        matches!(self, Column::Pick | Column::Key | Column::Flag)
    }

    fn noun(self) -> &'static str {
        match self {
            Column::Category => "category",
            Column::Subject => "subject",
            Column::Exam => "exam",
            Column::Pick => "pick",
            Column::Key => "gold letter",
            Column::Flag => "flag",
            Column::Finish => "finish",
        }
    }
}
