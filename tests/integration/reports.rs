//! The shared cases after public reports: files that people have, commands as they type them, and what must come out.
//! One runner drives every case from its own fields, whatever the kind; a field that it does not know fails the test.

mod public;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use markbook::benchmark::{DataSource, find, load};
use markbook::import::{self, Options, parse_map};
use markbook::trace::Trace;
use serde_json::Value;
use tempfile::TempDir;

use crate::cases;

/// Runs every case whose id begins with one of these; all that fail are told at once.
pub(crate) fn hold(prefixes: &[&str]) {
    let wanted = |case: &Value| {
        let id = case["id"].as_str().unwrap();
        prefixes.iter().any(|prefix| id.starts_with(prefix))
    };
    let mut problems = Vec::new();
    for case in cases("reports.jsonl").iter().filter(|case| wanted(case)) {
        problems.extend(problem(case, None));
        let parquet = case["also_as_parquet"].as_str();
        problems.extend(parquet.and_then(|name| problem(case, Some(name))));
    }
    assert!(problems.is_empty(), "{} fail:\n{}", problems.len(), problems.join("\n"));
}

/// What does not hold in a case, its first file under another name as parquet where one is given.
fn problem(case: &Value, parquet: Option<&str>) -> Option<String> {
    let found = Found::of(case, parquet);
    let wrong: Vec<String> = case["expected"]
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(key, value)| Some(format!("  {key}: {value} expected, {}", found.differs(key, value)?)))
        .collect();
    let form = parquet.map_or_else(String::new, |name| format!(" as {name}"));
    (!wrong.is_empty()).then(|| {
        format!(
            "{}{form}\n{}\n{}\n",
            case["id"].as_str().unwrap(),
            wrong.join("\n"),
            found.output
        )
    })
}

/// What came of a case's commands.
struct Found {
    folder: TempDir,
    /// The commands, word by word.
    commands: Vec<Vec<String>>,
    /// Standard output and error of all of them.
    output: String,
    /// What the last command that printed JSON printed.
    json: Value,
}

impl Found {
    fn of(case: &Value, parquet: Option<&str>) -> Found {
        let folder = tempfile::tempdir().unwrap();
        let command = write_files(case, parquet, folder.path());
        let mut found = Found {
            folder,
            commands: command.split(';').map(words).collect(),
            output: String::new(),
            json: Value::Null,
        };
        for words in found.commands.clone() {
            let (text, errors) = run(&found.folder, &words[1..]);
            let mut json = serde_json::from_str(&text).unwrap_or_default();
            found.output.push_str(&text);
            found.output.push_str(&errors);
            if json == Value::Null && matches!(words[1].as_str(), "stats" | "compare") {
                json = json_of(&found.folder, &words[1..]);
            }
            found.json = json;
        }
        found
    }

    /// The figures of the only run that the last command tells of.
    fn figures(&self) -> Value {
        let runs = self.json["runs"].as_array().cloned().unwrap_or_default();
        match runs.as_slice() {
            [only] => only.clone(),
            _ => match self.exported() {
                Some(path) => stats_of(&self.folder, &[path.as_str()]),
                None => Value::Null,
            },
        }
    }

    /// The file that an export of the case has written.
    fn exported(&self) -> Option<String> {
        let written = |words: &Vec<String>| Some(words[words.iter().position(|word| word == "-o")? + 1].clone());
        self.commands.iter().find_map(written)
    }

    /// What the case's command opens, or what its export wrote.
    fn traces(&self) -> Vec<Trace> {
        let words = &self.commands[0];
        let (paths, map) = match self.exported() {
            Some(path) => (vec![path], Vec::new()),
            None => (paths_of(words), map_of(words)),
        };
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.folder.path().join(path)).collect();
        let options = Options {
            map,
            ..Options::default()
        };
        import::open(&paths, &options).unwrap_or_default()
    }

    /// What holds in place of what is expected; `None` where that holds.
    fn differs(&self, key: &str, wanted: &Value) -> Option<String> {
        let run = || self.figures();
        let equal = |found: Value| (found != *wanted).then(|| found.to_string());
        let number = |name: &str| equal(run()[name].clone());
        match key {
            "rows" => number("n"),
            "correct" | "invalid" | "questions" | "ci_kind" | "benchmark" if !self.is_prompts() => number(key),
            "paired" | "a_only" | "b_only" => equal(self.json[key].clone()),
            "both_right" => equal(self.json["both"].clone()),
            "attempts" => {
                let attempts = self.traces()[0].rows.attempt.iter().copied().max();
                equal(attempts.map_or(Value::Null, |last| (u64::from(last) + 1).into()))
            }
            "letters" => self.letters(wanted),
            "options" => self.options(wanted),
            "subject" => {
                let run = run();
                let subjects = run["subjects"]
                    .as_object()
                    .map(|all| all.keys().cloned().collect::<Vec<_>>());
                (subjects.as_deref() != Some(&[wanted.as_str().unwrap().to_owned()])).then(|| format!("{subjects:?}"))
            }
            "benchmark_is_not" => (run()["benchmark"] == *wanted).then(|| wanted.to_string()),
            "logprobs_shown" => {
                equal(self.first_record(|record| record.logprobs.as_ref().is_some_and(|list| !list.is_empty())))
            }
            "prompt_shown" => equal(self.first_record(|record| !record.prompt.is_empty())),
            "runs" => self.runs(wanted),
            "both_open_as" => self.reopened(wanted),
            "suggested_map_must_give" => self.suggested(wanted),
            "questions" => equal(self.asked().len().into()),
            "flagged" => self.flagged(wanted),
            "mean_of_acc" => None, // the other of two ways, beside `or_refused_as`
            "must_not_show" | "must_not_say" | "must_not_find" => self.says(wanted).then(|| "said".to_owned()),
            "told" if wanted.as_bool() == Some(true) => None, // by the other field
            "told" | "finding" | "shows" | "refused" | "refused_as" | "or_refused_as" | "refused_or_told"
            | "opens_or_says" | "message_names" | "read_or_told" => {
                let is_read = key == "read_or_told" && !self.asked().is_empty();
                (!is_read && !self.says(wanted)).then(|| "not said".to_owned())
            }
            other => panic!("no check for what the case expects of {other}"),
        }
    }

    fn is_prompts(&self) -> bool {
        self.commands[0][1] == "prompts"
    }

    /// Whether a line of the output has these words in this order.
    fn says(&self, wanted: &Value) -> bool {
        let plain = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
            words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
        };
        let wanted = plain(wanted.as_str().unwrap());
        self.output.lines().any(|line| {
            let mut words = plain(line).into_iter();
            wanted.iter().all(|wanted| words.any(|word| word == *wanted))
        })
    }

    fn letters(&self, wanted: &Value) -> Option<String> {
        let found = self.figures()["letters"]["picks"].clone();
        let mut picked = found.as_object().cloned().unwrap_or_default();
        picked.retain(|_, count| *count != 0);
        (Value::Object(picked) != *wanted).then(|| found.to_string())
    }

    /// The options of each row, or how many each has.
    fn options(&self, wanted: &Value) -> Option<String> {
        let traces = self.traces();
        let Some(trace) = traces.first() else {
            return Some("nothing opened".to_owned());
        };
        let found: Vec<Vec<String>> = (0..trace.rows.len())
            .map(|row| trace.record(row).unwrap().options.clone())
            .collect();
        let counts: Vec<usize> = found.iter().map(Vec::len).collect();
        (serde_json::json!(found) != *wanted && serde_json::json!(counts) != *wanted).then(|| format!("{found:?}"))
    }

    fn first_record(&self, holds: impl Fn(&markbook::record::Record) -> bool) -> Value {
        let traces = self.traces();
        let first = traces.first().map(|trace| trace.record(0).unwrap());
        first.map_or(Value::Null, |record| holds(&record).into())
    }

    /// The figures of several runs by their names.
    fn runs(&self, wanted: &Value) -> Option<String> {
        let runs = self.json["runs"].as_array().cloned().unwrap_or_default();
        let is_there = |name: &String, figures: &Value| {
            runs.iter()
                .any(|run| run["model"] == name.as_str() && are_figures(run, figures))
        };
        let wanted = wanted.as_object().unwrap();
        let holds = wanted.len() == runs.len() && wanted.iter().all(|(name, figures)| is_there(name, figures));
        (!holds).then(|| {
            let runs = runs
                .iter()
                .map(|run| format!("{} {} {}", run["model"], run["n"], run["correct"]));
            runs.collect::<Vec<_>>().join(", ")
        })
    }

    /// The figures of every file that the case's exports wrote.
    fn reopened(&self, wanted: &Value) -> Option<String> {
        let paths = self
            .commands
            .iter()
            .filter(|words| words[1] == "stats")
            .flat_map(|words| paths_of(words));
        let wrong = paths.filter_map(|path| {
            let run = stats_of(&self.folder, &[path.as_str()]);
            (!are_figures(&run, wanted)).then(|| format!("{path}: {run}"))
        });
        let wrong: Vec<String> = wrong.collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }

    /// The figures by the map that the message offers; where the file opens as it is, its own.
    fn suggested(&self, wanted: &Value) -> Option<String> {
        let path = paths_of(&self.commands[0]).remove(0);
        let map = self.output.split("--map ").nth(1);
        let map = map.map(|rest| rest.split_whitespace().next().unwrap_or_default().to_owned());
        let mut words = vec![path];
        words.extend(map.into_iter().flat_map(|map| ["--map".to_owned(), map]));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = stats_of(&self.folder, &words);
        (!are_figures(&run, wanted)).then(|| format!("{words:?}: {run}"))
    }

    /// The questions of the own set that a `prompts` command names, with their flags.
    fn asked(&self) -> Vec<(String, Vec<String>)> {
        let words = &self.commands[0];
        let Some(at) = words.iter().position(|word| word == "--data") else {
            return Vec::new();
        };
        let path = self.folder.path().join(&words[at + 1]);
        let source = DataSource::parse(&path.display().to_string()).unwrap();
        let Ok(dataset) = load(find("custom").unwrap(), &source, "test") else {
            return Vec::new();
        };
        let flags = |flags: &[&str]| flags.iter().map(|flag| (*flag).to_owned()).collect();
        let questions = dataset.questions.iter();
        questions
            .map(|question| (question.question.clone(), flags(&question.flags)))
            .collect()
    }

    fn flagged(&self, wanted: &Value) -> Option<String> {
        let asked = self.asked();
        let of_flag = |flag: &String| -> Vec<&str> {
            let flagged = asked.iter().filter(|(_, flags)| flags.contains(flag));
            flagged.map(|(question, _)| question.as_str()).collect()
        };
        let wrong: Vec<String> = wanted
            .as_object()
            .unwrap()
            .iter()
            .filter(|(flag, questions)| serde_json::json!(of_flag(flag)) != **questions)
            .map(|(flag, _)| format!("{flag} {:?}", of_flag(flag)))
            .collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }
}

/// Writes a case's files, and gives the command that reads them.
fn write_files(case: &Value, parquet: Option<&str>, folder: &Path) -> String {
    let command = case["command"].as_str().unwrap().to_owned();
    let no_files = Vec::new();
    let files = case["files"].as_array().unwrap_or(&no_files);
    if let Some(name) = parquet {
        let content = files[0]["content"].as_str().unwrap();
        table::write_rows(content, &folder.join(name));
        // Names of tasks hold bars, which only a shell minds.
        return command.replace(files[0]["name"].as_str().unwrap(), &name.replace(' ', "\\ "));
    }
    for file in files {
        let path = folder.join(file["name"].as_str().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file["content"].as_str().unwrap()).unwrap();
    }
    if let Some(name) = case["parquet"]["name"].as_str() {
        table::write_columns(case["parquet"]["columns"].as_object().unwrap(), &folder.join(name));
    }
    if let Some(text) = case["bytes"]["text"].as_str() {
        let encoding = case["bytes"]["encoding"].as_str().unwrap();
        let units = std::iter::once('\u{feff}'.to_string()).chain([text.to_owned()]);
        let units = units.collect::<String>().encode_utf16().collect::<Vec<u16>>();
        let bytes: Vec<u8> = match encoding {
            name if name.contains("utf-16") && name.contains("big") => {
                units.iter().flat_map(|unit| unit.to_be_bytes()).collect()
            }
            name if name.contains("utf-16") => units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            other => panic!("no writer for {other}"),
        };
        fs::write(folder.join(case["bytes"]["name"].as_str().unwrap()), bytes).unwrap();
    }
    command
}

/// A command as a shell would part it: blanks, quotes, escaped blanks.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = command.trim().chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('\\', None) => word.extend(chars.next()),
            (' ', None) => words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty())),
            _ => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The paths among a command's words: what no flag takes.
fn paths_of(words: &[String]) -> Vec<String> {
    let mut paths = Vec::new();
    let mut rest = words[2..].iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--json" => {}
            flag if flag.starts_with('-') => drop(rest.next()),
            _ => paths.push(word.clone()),
        }
    }
    paths
}

fn map_of(words: &[String]) -> Vec<(String, String)> {
    let at = words.iter().position(|word| word == "--map");
    at.map(|at| parse_map(&words[at + 1]).unwrap()).unwrap_or_default()
}

/// Runs the program in a folder; gives standard output and error.
fn run(folder: &TempDir, arguments: &[String]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_markbook"))
        .args(arguments)
        .env("MARKBOOK_HOME", folder.path().join(".home"))
        .env("NO_COLOR", "1")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

fn json_of(folder: &TempDir, arguments: &[String]) -> Value {
    let arguments: Vec<String> = arguments.iter().cloned().chain(["--json".to_owned()]).collect();
    serde_json::from_str(&run(folder, &arguments).0).unwrap_or_default()
}

/// The figures that `stats --json` prints of a file.
fn stats_of(folder: &TempDir, words: &[&str]) -> Value {
    let words: Vec<String> = ["stats"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    json_of(folder, &words)["runs"][0].clone()
}

/// Whether a run has these figures, by the names that the cases give them.
fn are_figures(run: &Value, wanted: &Value) -> bool {
    wanted.as_object().unwrap().iter().all(|(name, value)| {
        let name = if name == "rows" { "n" } else { name };
        run[name] == *value
    })
}

#[test]
fn numbers_letters_and_texts_name_the_same_options() {
    hold(&["t2-num-", "t2-let-"]);
}

#[test]
fn options_are_read_however_a_table_prints_them() {
    hold(&["t2-opt-"]);
}

#[test]
fn several_golds_and_words_for_nothing_are_told_and_never_scored_in_silence() {
    hold(&["t2-gold-", "t2-inv-"]);
}

#[test]
fn questions_with_text_ids_keep_their_attempts_together() {
    hold(&["t2-id-"]);
}

#[test]
fn lines_that_are_no_answers_are_told_with_their_count() {
    hold(&["t2-row-"]);
}

#[test]
fn frames_by_column_by_row_key_and_with_a_column_a_model_open() {
    hold(&["t2-json-", "t2-fmt-006"]);
}

#[test]
fn formats_of_other_tools_give_their_own_counts_under_their_own_names() {
    hold(&["t2-fmt-", "t2-lab-", "t2-lm-"]);
}

#[test]
fn what_is_exported_opens_again() {
    hold(&["t2-exp-001"]);
}

#[test]
fn a_map_is_tried_before_it_is_offered_and_compare_takes_one() {
    hold(&["t2-sug-", "t2-cmp-"]);
}

#[test]
fn own_sets_tell_conflicting_golds_and_name_a_broken_cell() {
    hold(&["t2-own-"]);
}
