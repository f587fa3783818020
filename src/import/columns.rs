//! Tables and row lists of any columns: the user says which is which (`--map`), or they bear our own names. A map also
//! stands over the columns that a known format takes.

use anyhow::{Result, bail};

use super::closed::list_of;
use super::harness;
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{
    Answer, Entry, Layout, RowError, Sniffed, Tally, flag, is_nothing, mark, set_completion, stated_score,
};
use super::own_row::own_record;
use super::suggest::{COLUMNS, help, listed};
use crate::benchmark::hash::hash_text;
use crate::record::{Finish, INVALID, Record, letter};
use crate::trace::{Notice, Rows};

#[derive(Debug, Clone)]
pub(crate) struct Columns {
    /// Our names and the file's.
    map: Vec<(String, String)>,
    source: &'static str,
}

/// Checks a `--map`: known names on the left, each once.
pub(crate) fn check_map(map: &[(String, String)]) -> Result<()> {
    for (i, (ours, theirs)) in map.iter().enumerate() {
        if !COLUMNS.iter().any(|(name, _)| name == ours) {
            let known: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
            bail!("--map: no column {ours} of ours; known: {}", known.join(", "));
        }
        if theirs.is_empty() {
            bail!("--map {ours}=: no column of the file is named");
        }
        if map[..i].iter().any(|(earlier, _)| earlier == ours) {
            bail!("--map names {ours} twice");
        }
    }
    Ok(())
}

/// Refuses a map that names a column which no row has.
pub(crate) fn check_there(rows: &[Object], map: &[(String, String)]) -> Result<()> {
    for (ours, theirs) in map {
        let missing = parts(ours, theirs).find(|part| !rows.iter().any(|row| has(row, part)));
        if let (Some(missing), Some(first)) = (missing, rows.first()) {
            bail!(
                "--map {ours}={theirs}: no column {missing}; the columns are: {}",
                listed(first)
            );
        }
    }
    Ok(())
}

/// The columns that a mapping names: options may be several, `options=A+B+C+D`.
fn parts<'a>(ours: &str, theirs: &'a str) -> impl Iterator<Item = &'a str> {
    let several = ours == "options" && theirs.contains('+');
    theirs.split(move |c| several && c == '+')
}

/// A column of a row: by its name, or by a path into objects and lists (`doc.question`, `choices.0.text`).
fn column<'a>(row: &Object<'a>, name: &str) -> Option<Raw<'a>> {
    row.field(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        inside(row.field(first)?, rest)
    })
}

fn inside<'a>(raw: Raw<'a>, path: &str) -> Option<Raw<'a>> {
    if !raw.is_list() {
        return column(&raw.object(), path);
    }
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    let item = raw.list().get(first.parse::<usize>().ok()?).copied()?;
    match rest {
        Some(rest) => inside(item, rest),
        None => Some(item),
    }
}

fn has(row: &Object, name: &str) -> bool {
    column(row, name).is_some()
}

/// Opens by the user's map, or by our own names; without a pick or a text it is an error that helps to write a map.
pub(crate) fn sniff(head: &Head, map: &[(String, String)]) -> Option<Result<Sniffed>> {
    let first = head.rows.first()?;
    Some(sniff_rows(head, first, map))
}

fn sniff_rows(head: &Head, first: &Object, map: &[(String, String)]) -> Result<Sniffed> {
    check_there(&head.rows, map)?;
    let has = |name: &str| head.rows.iter().any(|row| row.has(name));
    let mut known: Vec<(String, String)> = map.to_vec();
    for (name, _) in &COLUMNS {
        if !known.iter().any(|(ours, _)| ours == name) && has(name) && !known.iter().any(|(_, theirs)| theirs == name) {
            known.push(((*name).to_owned(), (*name).to_owned()));
        }
    }
    let lettered: Vec<String> = (0..26)
        .map_while(|index| letter(index).map(String::from).filter(|name| has(name)))
        .collect();
    if lettered.len() > 1 && !known.iter().any(|(ours, _)| ours == "options") {
        known.push(("options".to_owned(), lettered.join("+")));
    }
    let is_known = |name: &str| known.iter().any(|(ours, _)| ours == name);
    let is_usable = (is_known("pick") || is_known("reasoning")) && (is_known("answer") || !map.is_empty());
    if !is_usable {
        bail!("{}", help(first));
    }
    let split = known.iter().find(|(ours, _)| ours == "category" || ours == "subject");
    Ok(Sniffed {
        format: "columns",
        split: split.and_then(|(_, theirs)| column(first, theirs)?.text()),
        layout: Box::new(Columns::new(known, head.source)),
        shape: head.shape.clone(),
        name: None,
        run: None,
        manifest: None,
    })
}

impl Layout for Columns {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let order = entry.number as i64;
        if let Some(record) = self.own_row(&row) {
            return Ok(vec![Answer {
                record,
                order,
                ..Answer::default()
            }]);
        }
        let mut record = Record {
            question_id: entry.number as i64,
            ..Record::default()
        };
        self.fill(&row, &mut record);
        if self.name_of("pick").is_none() {
            flag(&mut record, "pick_read");
            record.pick = harness::read(&record.reasoning);
        }
        self.judge(&row, &mut record);
        if record.prompt_hash.is_empty() && !record.prompt.is_empty() {
            record.prompt_hash = hash_text(&record.prompt);
        }
        record.finish = row
            .text("finish")
            .or_else(|| row.text("finish_reason"))
            .and_then(|name| Finish::from_name(&name));
        let is_local_id = self.name_of("question_id").is_none();
        Ok(vec![Answer {
            record,
            order,
            is_local_id,
            ..Answer::default()
        }])
    }

    fn kind(&self, _tally: &Tally) -> String {
        format!("{}{}", self.source, self.shown())
    }

    fn notices(&self, rows: &Rows) -> Vec<Notice> {
        let mut notices = Vec::new();
        if self.name_of("answer").is_none() && self.name_of("correct").is_none() {
            notices.push(Notice {
                kind: "no_gold".to_owned(),
                text: "no column is the answer: no row can be right".to_owned(),
            });
        }
        notices.extend(number_notice(rows));
        notices
    }

    fn is_numbered(&self) -> bool {
        self.name_of("attempt").is_some() && self.name_of("question_id").is_some()
    }

    fn numbers_attempts(&self) -> bool {
        self.name_of("attempt").is_none() && self.name_of("question_id").is_some()
    }
}

pub(super) fn number_notice(rows: &Rows) -> Option<Notice> {
    let has = |flag: &str| {
        rows.flags
            .list()
            .iter()
            .any(|flags| flags.split(',').any(|name| name == flag))
    };
    let text = match (has("number_pick"), has("number_beyond")) {
        (false, _) => return None,
        (true, false) => "pick or answer are numbers from 0: shown as the letters of the options",
        (true, true) => {
            "pick or answer are numbers, read as counted from 0; some are as large as the number of options: if they are \
             counted from 1, the letters are one too far"
        }
    };
    Some(Notice {
        kind: "number_pick".to_owned(),
        text: text.to_owned(),
    })
}

impl Columns {
    pub(super) fn new(map: Vec<(String, String)>, source: &'static str) -> Columns {
        Columns { map, source }
    }

    pub(super) fn name_of(&self, ours: &str) -> Option<&str> {
        self.map
            .iter()
            .find(|(name, _)| name == ours)
            .map(|(_, theirs)| theirs.as_str())
    }

    fn column<'a>(&self, row: &Object<'a>, ours: &str) -> Option<Raw<'a>> {
        column(row, self.name_of(ours)?).filter(|raw| !raw.is_null())
    }

    /// The map where it renames, for the line that says what the trace is.
    pub(super) fn shown(&self) -> String {
        let renamed = self.map.iter().filter(|(ours, theirs)| ours != theirs);
        renamed.map(|(ours, theirs)| format!(", {ours}={theirs}")).collect()
    }

    /// A row with the columns of the public five-attempt sets, or with all of ours.
    fn own_row(&self, row: &Object) -> Option<Record> {
        let is_ours = crate::parquet::PUBLIC_COLUMNS.iter().all(|column| row.has(column));
        (is_ours
            && self
                .map
                .iter()
                .all(|(ours, theirs)| ours == theirs || ours == "options"))
        .then(|| own_record(row))
    }

    /// Puts every mapped column in its place.
    pub(super) fn fill(&self, row: &Object, record: &mut Record) {
        let text = |name: &str| self.column(row, name).map(Raw::shown);
        let int = |name: &str| self.column(row, name).and_then(Raw::int);
        record.question_id = int("question_id").unwrap_or(record.question_id);
        record.attempt = int("attempt").unwrap_or(record.attempt);
        record.seed = int("seed").or(record.seed);
        let category = text("category").or_else(|| text("subject"));
        let subject = text("subject").or_else(|| text("category"));
        for (place, found) in [
            (&mut record.benchmark, text("benchmark")),
            (&mut record.category, category),
            (&mut record.subject, subject),
            (&mut record.prompt, text("prompt")),
            (&mut record.question, text("question")),
            (&mut record.doc_hash, text("doc_hash")),
            (&mut record.prompt_hash, text("prompt_hash")),
        ] {
            if let Some(found) = found {
                *place = found;
            }
        }
        if let Some(name) = self.name_of("options") {
            record.options = if name.contains('+') && !row.has(name) {
                parts("options", name)
                    .filter_map(|part| column(row, part))
                    .map(Raw::shown)
                    .collect()
            } else {
                column(row, name).map(options).unwrap_or_default()
            };
        }
        if self.name_of("reasoning").is_some() {
            record
                .flags
                .retain(|flag| flag != "no_output" && flag != "replaced_text");
            set_completion(record, self.column(row, "reasoning"));
        }
        if self.name_of("answer").is_some() {
            record.answer = self.letter_or_text(row, "answer", record);
        }
        if self.name_of("pick").is_some() {
            let pick = self.letter_or_text(row, "pick", record);
            record.pick = if is_nothing(&pick) { INVALID.to_owned() } else { pick };
        }
    }

    pub(super) fn judge(&self, row: &Object, record: &mut Record) {
        mark(record);
        stated_score(record, self.column(row, "correct").and_then(Raw::truth));
    }

    /// A stored text; a number that names one of the row's options becomes its letter.
    fn letter_or_text(&self, row: &Object, ours: &str, record: &mut Record) -> String {
        let Some(raw) = self.column(row, ours) else {
            return String::new();
        };
        let raw = raw.list().first().copied().unwrap_or(raw);
        let index = raw.int().and_then(|index| usize::try_from(index).ok());
        let options = record.options.len();
        match index {
            Some(index) if index < options => {
                flag(record, "number_pick");
                letter(index).map_or_else(|| raw.shown(), String::from)
            }
            Some(index) if index == options && options > 0 => {
                flag(record, "number_beyond");
                raw.shown()
            }
            _ if raw.is_null() => String::new(),
            _ => raw.shown(),
        }
    }
}

pub(super) fn options(raw: Raw) -> Vec<String> {
    if raw.is_object() {
        let fields = raw.object();
        return match fields.get("text") {
            Some(list) => list_of(list),
            None => fields.fields().map(|(_, text)| text.shown()).collect(),
        };
    }
    let text = raw.shown();
    if raw.is_list() || text.trim_start().starts_with('[') {
        return list_of(raw);
    }
    super::layout::lettered_options(&text)
}
