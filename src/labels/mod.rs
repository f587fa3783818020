//! What is known of questions: lists of labels (wrong key, unclear, ...) by others or of one's own, joined to the rows of a
//! trace, and what scores are worth without the questions known to be bad.
//!
//! A list is a file of JSON lines in the data directory, `labels/NAME.jsonl`. Labels are opinions with names.

mod join;
mod read;
mod scores;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{files, hub, json};

pub use join::Joined;
pub use read::{Found, read_rows};
pub use scores::{Labelled, Part, Scores, Subject};

/// The label of a question with which nothing is wrong.
pub const OK: &str = "ok";
/// The label of a question whose key is another option; `right` then says which.
pub const WRONG_KEY: &str = "wrong_groundtruth";

/// What somebody says of one question, found by its hash, by set and id, or by subject, question and choices together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Label {
    /// The benchmark; with `question_id` it must be there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub set: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doc_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub question: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The letter that the list takes for the set's key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// In snake case: [`OK`], `bad_question_clarity`, [`WRONG_KEY`], …
    pub label: String,
    /// The letters that are right, several joined by ` or `; empty where the list tells none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub right: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
}

impl Label {
    /// Whether it says that something is wrong with its question.
    pub fn is_bad(&self) -> bool {
        self.label != OK
    }

    /// Whether it tells which question it is about.
    pub fn is_found(&self) -> bool {
        let has_text = !self.question.is_empty() && !self.choices.is_empty();
        let has_id = self.question_id.is_some() && !self.set.is_empty();
        self.doc_hash.len() >= 16 || has_id || has_text
    }

    /// Whether a word of a filter or flag means it: `any`, `bad`, or how its label begins.
    pub fn is_meant_by(&self, word: &str) -> bool {
        match word {
            "any" => true,
            "bad" => self.is_bad(),
            word => self.label.starts_with(&word.to_lowercase()),
        }
    }
}

/// A list by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    pub name: String,
    pub labels: Vec<Label>,
}

fn folder() -> Result<PathBuf> {
    Ok(hub::home()?.join("labels"))
}

fn place(name: &str) -> Result<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        bail!("{name:?} is no name of a list: letters, digits, `.`, `_` and `-`");
    }
    Ok(folder()?.join(format!("{name}.jsonl")))
}

impl List {
    /// Keeps the list under its name.
    ///
    /// # Errors
    /// When a list of that name is there and `force` is not given, or it cannot be written.
    pub fn keep(&self, force: bool) -> Result<PathBuf> {
        let path = place(&self.name)?;
        if path.exists() && !force {
            bail!(
                "a list named {} is there already; --force takes its place, --name gives another name",
                self.name
            );
        }
        std::fs::create_dir_all(files::folder_of(&path))
            .with_context(|| format!("cannot make the folder {}", files::folder_of(&path).display()))?;
        self.write(&path)?;
        Ok(path)
    }

    /// Writes the labels as JSON lines, aside and renamed.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text = String::new();
        for label in &self.labels {
            text.push_str(&serde_json::to_string(label).context("a label does not turn into JSON")?);
            text.push('\n');
        }
        files::write_aside(path, text.as_bytes())
    }

    fn read(path: &Path) -> Result<List> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let labels = lines.map(|(at, line)| {
            let label = json::parse(line).and_then(|value| Ok(serde_json::from_value::<Label>(value)?));
            label.with_context(|| format!("{}, line {}: no label", path.display(), at + 1))
        });
        let name = path
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(List {
            name,
            labels: labels.collect::<Result<_>>()?,
        })
    }
}

/// Every list that is kept, by name; none where there is no data directory.
///
/// # Errors
/// When one cannot be read: the file and its line are named.
pub fn all() -> Result<Vec<List>> {
    let Some(entries) = folder().ok().and_then(|folder| std::fs::read_dir(folder).ok()) else {
        return Ok(Vec::new());
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.sort();
    paths.iter().map(|path| List::read(path)).collect()
}

/// The list of a name.
///
/// # Errors
/// When there is none: the known ones are listed.
pub fn find(name: &str) -> Result<List> {
    let lists = all()?;
    let known: Vec<String> = lists.iter().map(|list| list.name.clone()).collect();
    lists
        .into_iter()
        .find(|list| list.name == name)
        .with_context(|| match known.is_empty() {
            true => format!("there is no list of labels named {name}; labels add FILE keeps one"),
            false => format!("there is no list of labels named {name} (known: {})", known.join(", ")),
        })
}
