//! A view as text: what `Y` copies and `--view` takes, beside the filter.

use anyhow::{Context, Result, bail};

use super::compare::Listed;
use super::panes::question::Arrangement;
use super::worker::Sort;

/// Every word of `--view` and what it means.
pub const WORDS: &[(&str, &str)] = &[
    ("sort:", "rows by a column: file qid at pick key category chars agree"),
    ("reverse", "the other way round"),
    ("questions", "one row a question"),
    (
        "row:",
        "the row under the cursor: row:886.1 is attempt 1 at question 886; row:mmlu/12 with its exam",
    ),
    ("question", "the question of that row, open"),
    ("one", "its outputs one at a time"),
    ("side", "its outputs side by side"),
    ("stacked", "its outputs one above the other"),
    ("unfolded", "loops and the text after the match in full"),
    ("prompt", "the prompt, as sent; of two runs, how the prompts differ"),
    ("scroll:", "the text from this line on, counted from 0"),
    ("find:", "lit in the text: find:\"internal point\""),
    ("browse", "of two runs only the first, without comparing"),
    ("list:", "of two runs: a-only b-only other-pick"),
    ("aligned", "of two runs: equal words on equal lines"),
    ("lab:", "the regex lab with this rule: lab:/answer is ([A-J])/"),
];

/// A row by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowName {
    pub exam: Option<String>,
    pub question: i64,
    pub attempt: Option<u16>,
}

/// What is seen, beside the filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    pub sort: Sort,
    pub is_reversed: bool,
    pub by_question: bool,
    pub row: Option<RowName>,
    pub is_open: bool,
    pub arrangement: Arrangement,
    pub unfolded: bool,
    pub prompt: bool,
    pub scroll: Option<usize>,
    pub find: Option<String>,
    /// Two runs are open and only the first is browsed.
    pub browses: bool,
    pub list: Option<Listed>,
    pub is_aligned: bool,
    pub lab: Option<String>,
}

impl Place {
    /// # Errors
    /// For a word that is not known, with the list of those that are.
    pub fn parse(text: &str) -> Result<Place> {
        let mut place = Place::default();
        for word in crate::filter::words(text) {
            let (name, value) = match word.split_once(':') {
                Some((name, value)) => (name, Some(value.replace('"', ""))),
                None => (word, None),
            };
            let number = |value: &str| {
                value
                    .parse()
                    .with_context(|| format!("--view: `{word}` takes a number"))
            };
            match (name, value) {
                ("sort", Some(value)) => place.sort = sort_of(&value)?,
                ("reverse", None) => place.is_reversed = true,
                ("questions", None) => place.by_question = true,
                ("row", Some(value)) => place.row = Some(row_of(&value)?),
                ("question", None) => place.is_open = true,
                ("one", None) => place.arrangement = Arrangement::One,
                ("side", None) => place.arrangement = Arrangement::Side,
                ("stacked", None) => place.arrangement = Arrangement::Stacked,
                ("unfolded", None) => place.unfolded = true,
                ("prompt", None) => place.prompt = true,
                ("scroll", Some(value)) => place.scroll = Some(number(&value)?),
                ("find", Some(value)) => place.find = Some(value),
                ("browse", None) => place.browses = true,
                ("list", Some(value)) => place.list = Some(list_of(&value)?),
                ("aligned", None) => place.is_aligned = true,
                ("lab", Some(_)) => place.lab = word.strip_prefix("lab:").map(lab_of),
                _ => {
                    let known: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
                    bail!("--view: no word `{word}`; known: {}", known.join(" "))
                }
            }
        }
        Ok(place)
    }

    /// The words that [`Place::parse`] reads; empty for the view that opens by itself.
    pub fn text(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        if self.sort != Sort::File {
            words.push(format!("sort:{}", self.sort.name()));
        }
        let mut flag = |is_set: bool, word: &str| {
            if is_set {
                words.push(word.to_owned());
            }
        };
        flag(self.is_reversed, "reverse");
        flag(self.by_question, "questions");
        flag(self.browses, "browse");
        if let Some(list) = self.list {
            words.push(format!("list:{}", list.word()));
        }
        if let Some(row) = &self.row {
            let exam = row.exam.as_ref().map_or(String::new(), |exam| format!("{exam}/"));
            let attempt = row.attempt.map_or(String::new(), |attempt| format!(".{attempt}"));
            words.push(quoted("row", &format!("{exam}{}{attempt}", row.question)));
        }
        let mut flag = |is_set: bool, word: &str| {
            if is_set {
                words.push(word.to_owned());
            }
        };
        flag(self.is_open, "question");
        match self.arrangement {
            Arrangement::Lines => {}
            Arrangement::Side => flag(true, "side"),
            Arrangement::Stacked => flag(true, "stacked"),
            Arrangement::One => flag(true, "one"),
        }
        flag(self.unfolded, "unfolded");
        flag(self.is_aligned, "aligned");
        flag(self.prompt, "prompt");
        if let Some(line) = self.scroll {
            words.push(format!("scroll:{line}"));
        }
        if let Some(find) = &self.find {
            words.push(quoted("find", find));
        }
        if let Some(rule) = &self.lab {
            words.push(format!("lab:/{rule}/"));
        }
        words.join(" ")
    }
}

fn quoted(name: &str, value: &str) -> String {
    if value.contains(char::is_whitespace) {
        format!("{name}:\"{value}\"")
    } else {
        format!("{name}:{value}")
    }
}

fn sort_of(value: &str) -> Result<Sort> {
    let found = Sort::ALL.iter().find(|(_, name, _)| *name == value);
    found.map(|(sort, ..)| *sort).with_context(|| {
        let known: Vec<&str> = Sort::ALL.iter().map(|(_, name, _)| *name).collect();
        format!("--view: no column `{value}`; known: {}", known.join(" "))
    })
}

fn list_of(value: &str) -> Result<Listed> {
    let found = Listed::ALL.into_iter().find(|listed| listed.word() == value);
    found.with_context(|| {
        let known = Listed::ALL.map(Listed::word);
        format!("--view: no list `{value}`; known: {}", known.join(" "))
    })
}

fn row_of(value: &str) -> Result<RowName> {
    let wrong = || format!("--view: `row:{value}`: a row is written 886.1 or exam/886.1");
    let (exam, rest) = match value.rsplit_once('/') {
        Some((exam, rest)) => (Some(exam.to_owned()), rest),
        None => (None, value),
    };
    let (question, attempt) = match rest.split_once('.') {
        Some((question, attempt)) => (question, Some(attempt.parse().with_context(wrong)?)),
        None => (rest, None),
    };
    Ok(RowName {
        exam,
        question: question.parse().with_context(wrong)?,
        attempt,
    })
}

fn lab_of(value: &str) -> String {
    let inside = value.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    inside.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "",
            "sort:chars reverse row:886.1",
            "questions row:\"my exam/-3\" question stacked unfolded scroll:12 find:\"internal point\"",
            "browse row:12 question one prompt",
            "list:b-only row:71.0 aligned",
            "lab:/answer is \\(?([A-J])/",
        ] {
            assert_eq!(Place::parse(text).unwrap().text(), text);
        }
    }

    #[test]
    fn unknown_words_are_refused_with_the_list() {
        for (text, part) in [
            ("rows:3", "known: sort:"),
            ("sort:size", "known: file qid"),
            ("row:law", "886.1"),
            ("scroll:far", "takes a number"),
            ("list:all", "a-only"),
            ("reverse:1", "known: sort:"),
        ] {
            let error = format!("{:#}", Place::parse(text).unwrap_err());
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
