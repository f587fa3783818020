//! Tables and row lists of any columns: the user says which is which (`--map`), or they bear our own names. A map also
//! stands over the columns that a known format takes.

use anyhow::{Result, bail};

use super::Options;
use super::harness;
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{
    Answer, Entry, Layout, RowError, Sniffed, Tally, flag, lettered_options, set_completion, stated_score,
};
use super::map::{check_there, parts};
use super::own_row::own_record;
use super::suggest::help;
use super::values::{self, Said, Values};
use crate::benchmark::hash::hash_text;
use crate::extract::argmax::argmax_first;
use crate::record::{Finish, PUBLIC_COLUMNS, Record, letter};
use crate::rows::Cells;
use crate::rows::names::COLUMNS;
use crate::rows::options::{Choices, OwnOptions};
use crate::rows::values::lone_letter;
use crate::trace::{Notice, Rows};

/// Which column of a file is which of ours, and how its values are read.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    /// Our names and the file's.
    map: Vec<(String, String)>,
    source: &'static str,
    options: Option<OwnOptions>,
    values: Values,
    /// Number of the first option.
    base: i64,
    /// Whether some row has a gold: then one without is no row.
    has_golds: bool,
    /// Whether some question's id is no number: then ids are texts.
    has_text_ids: bool,
    /// Whether the attempts are numbered; else they are in the order of the file.
    has_attempts: bool,
}

/// A column of a row: by its name, or by a path into objects and lists (`doc.question`, `choices.0.text`).
pub(super) fn column<'a>(row: &Object<'a>, name: &str) -> Option<Raw<'a>> {
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

pub(super) fn has(row: &Object, name: &str) -> bool {
    column(row, name).is_some()
}

/// Opens by the user's map, or by our own names; without a pick or a text it is an error that helps to write a map.
pub(crate) fn sniff(head: &Head, options: &Options) -> Option<Result<Sniffed>> {
    let first = head.rows.first()?;
    Some(sniff_rows(head, first, options))
}

fn sniff_rows(head: &Head, first: &Object, options: &Options) -> Result<Sniffed> {
    check_there(&head.rows, &options.map)?;
    let known = with_own_names(&head.rows, &options.map);
    let is_known = |name: &str| known.iter().any(|(ours, _)| ours == name);
    let is_usable = ["pick", "reasoning", "logprobs"].iter().any(|name| is_known(name))
        && (is_known("answer") || !options.map.is_empty());
    if !is_usable {
        bail!("{}", help(head, options));
    }
    let split = known.iter().find(|(ours, _)| ours == "category" || ours == "subject");
    Ok(Sniffed {
        split: split.and_then(|(_, theirs)| column(first, theirs)?.text()),
        ..Sniffed::new(
            "columns",
            Columns::new(known, head.source, &head.sample(), options.gold_base),
            head.shape.clone(),
        )
    })
}

/// The map, and the columns that bear our own names.
pub(super) fn with_own_names(rows: &[Object], map: &[(String, String)]) -> Vec<(String, String)> {
    let has = |name: &str| rows.iter().any(|row| row.has(name));
    let mut known: Vec<(String, String)> = map.to_vec();
    for (name, _) in &COLUMNS {
        let is_free = !known.iter().any(|(ours, theirs)| ours == name || theirs == name);
        if is_free && has(name) {
            known.push(((*name).to_owned(), (*name).to_owned()));
        }
    }
    known
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
        let record = self.record(&row, entry.number)?;
        let is_local_id = self.name_of("question_id").is_none();
        Ok(vec![Answer {
            record,
            order,
            is_local_id,
            text_id: self.text_id(&row, entry.number),
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
        notices.extend(self.value_notices(rows));
        notices
    }

    fn is_numbered(&self) -> bool {
        self.name_of("attempt").is_some() && self.name_of("question_id").is_some()
    }

    fn numbers_attempts(&self) -> bool {
        !self.has_attempts && self.name_of("question_id").is_some()
    }
}

impl Columns {
    /// `rows` are some of the file's, by which it is found how its golds, picks and options are written.
    pub(super) fn new(
        map: Vec<(String, String)>,
        source: &'static str,
        rows: &[Object],
        gold_base: Option<i64>,
    ) -> Columns {
        let mut columns = Columns {
            map,
            source,
            options: None,
            values: Values::find(&[], gold_base),
            base: gold_base.unwrap_or(0),
            has_golds: false,
            has_text_ids: false,
            has_attempts: false,
        };
        columns.options = columns.find_options(rows);
        let said: Vec<Said> = rows.iter().map(|row| columns.said(row)).collect();
        columns.values = Values::find(&said, gold_base);
        columns.has_golds = rows.iter().any(|row| !columns.lacks_gold(row));
        let are_numbers = |ours: &str| {
            let mut cells = rows.iter().filter_map(|row| columns.column(row, ours));
            cells.all(|raw| raw.int().is_some())
        };
        let (has_numbers, are_numbered) = (are_numbers("question_id"), are_numbers("attempt"));
        columns.has_text_ids = !has_numbers;
        columns.has_attempts = columns.name_of("attempt").is_some() && are_numbered;
        columns
    }

    /// The record of a row.
    pub(super) fn record(&self, row: &Object, number: usize) -> Result<Record, RowError> {
        let mut record = Record {
            question_id: number as i64,
            ..Record::default()
        };
        self.check_is_row(row)?;
        self.fill(row, &mut record);
        if self.name_of("pick").is_none() && record.logprobs.is_none() {
            flag(&mut record, "pick_read");
            record.pick = harness::read(&record.reasoning);
        }
        self.judge(row, &mut record);
        if record.prompt_hash.is_empty() && !record.prompt.is_empty() {
            record.prompt_hash = hash_text(&record.prompt);
        }
        record.finish = row
            .text("finish")
            .or_else(|| row.text("finish_reason"))
            .and_then(|name| Finish::from_name(&name));
        Ok(record)
    }

    /// The columns that hold the options.
    pub(super) fn option_columns(&self) -> Vec<String> {
        self.options
            .iter()
            .flat_map(|options| options.place.columns().to_vec())
            .collect()
    }

    /// Where the options are: in the columns that the map names, else in those that bear a known name.
    fn find_options(&self, rows: &[Object]) -> Option<OwnOptions> {
        let mapped: Vec<String> = self
            .name_of("options")
            .into_iter()
            .flat_map(|name| {
                if rows.iter().any(|row| row.has(name)) {
                    vec![name.to_owned()]
                } else {
                    parts("options", name).map(str::to_owned).collect()
                }
            })
            .collect();
        let taken: Vec<&str> = self.map.iter().map(|(_, theirs)| theirs.as_str()).collect();
        let names = match rows.first() {
            _ if !mapped.is_empty() => mapped.clone(),
            Some(first) => first
                .keys()
                .filter(|name| !taken.contains(name))
                .map(str::to_owned)
                .collect(),
            None => return None,
        };
        let cells: Vec<Cells> = rows.iter().map(|row| cells_of(row, &names)).collect();
        let cells: Vec<&Cells> = cells.iter().collect();
        if !mapped.is_empty() {
            return Some(OwnOptions::named(&cells, &mapped));
        }
        // A list of letters is what several models or attempts said.
        let are_letters = |row: &&Cells, options: &OwnOptions| {
            let texts = options.of(row).texts;
            texts.len() > 1 && texts.iter().all(|text| lone_letter(text).is_some())
        };
        OwnOptions::find(&cells, &names)
            .filter(|options| options.place.columns().len() > 1 || !cells.iter().any(|row| are_letters(row, options)))
    }

    /// The options of a row.
    fn choices(&self, row: &Object) -> Choices {
        let Some(options) = &self.options else {
            return Choices::default();
        };
        let columns = options.place.columns();
        let choices = options.of(&cells_of(row, columns));
        match columns {
            [only] if choices.texts.len() < 2 => match column(row, only).and_then(Raw::text) {
                Some(text) => Choices::unlabelled(lettered_options(&text).into_iter()),
                None => choices,
            },
            _ => choices,
        }
    }

    fn said(&self, row: &Object) -> Said {
        let value = |ours: &str| self.column(row, ours).map(Raw::value).unwrap_or_default();
        Said {
            gold: value("answer"),
            pick: value("pick"),
            choices: self.choices(row),
        }
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

    /// What a reader should know of how golds and picks were read.
    pub(super) fn value_notices(&self, rows: &Rows) -> Vec<Notice> {
        values::notices(rows, self.base)
    }

    /// A row with the columns of the public five-attempt sets, or with all of ours.
    fn own_row(&self, row: &Object) -> Option<Record> {
        let is_ours = Record::COLUMNS[..PUBLIC_COLUMNS].iter().all(|(name, ..)| row.has(name));
        (is_ours
            && self
                .map
                .iter()
                .all(|(ours, theirs)| ours == theirs || ours == "options"))
        .then(|| own_record(row))
    }

    /// Lines of other events, and totals at the end, are no rows.
    fn check_is_row(&self, row: &Object) -> Result<(), RowError> {
        const ANSWERED: [&str; 4] = ["pick", "reasoning", "logprobs", "answer"];
        let is_blank = |raw: Raw| raw.text().is_some_and(|text| text.trim().is_empty());
        let is_there = |ours: &&str| {
            self.name_of(ours)
                .is_some_and(|name| parts(ours, name).any(|part| has(row, part)))
        };
        let is_said = |ours: &&str| {
            let mut raws = self
                .name_of(ours)
                .into_iter()
                .flat_map(|name| parts(ours, name))
                .filter_map(|part| column(row, part));
            raws.any(|raw| !raw.is_null() && !is_blank(raw))
        };
        let is_empty = self.has_golds && !ANSWERED.iter().any(|ours| is_said(ours));
        if is_empty || !ANSWERED.iter().any(|ours| is_there(ours)) {
            return Err(RowError::NoRow("neither a pick nor a gold"));
        }
        if self.has_golds && self.lacks_gold(row) && !is_said(&"correct") {
            return Err(RowError::NoRow("no gold"));
        }
        Ok(())
    }

    fn lacks_gold(&self, row: &Object) -> bool {
        self.values.is_no_gold(self.column(row, "answer"), || self.choices(row))
    }

    /// The question's id, where ids are texts.
    pub(super) fn text_id(&self, row: &Object, number: usize) -> Option<String> {
        self.name_of("question_id")?;
        let raw = self.column(row, "question_id");
        let is_number = !self.has_text_ids && raw.is_none_or(|raw| raw.int().is_some());
        (!is_number).then(|| raw.map_or_else(|| format!("row {number}"), |raw| raw.shown().trim().to_owned()))
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
        if self.name_of("reasoning").is_some() {
            record
                .flags
                .retain(|flag| flag != "no_output" && flag != "replaced_text");
            set_completion(record, self.column(row, "reasoning"));
        }
        let mut choices = self.choices(row);
        if choices.texts.is_empty() {
            choices.texts.clone_from(&record.options);
        } else {
            record.options.clone_from(&choices.texts);
        }
        self.fill_logprobs(row, record);
        let side = |ours: &str| self.name_of(ours).map(|_| self.column(row, ours));
        self.values.settle(record, &choices, side("answer"), side("pick"));
    }

    /// Log-likelihoods, of a list or of a column an option; without a pick the highest is it.
    fn fill_logprobs(&self, row: &Object, record: &mut Record) {
        let Some(name) = self.name_of("logprobs") else { return };
        let numbers = |list: &[Raw]| list.iter().map(|raw| raw.float()).collect::<Option<Vec<f64>>>();
        let found = match column(row, name) {
            Some(raw) => numbers(&raw.list()),
            None => {
                let cells: Option<Vec<Raw>> = parts("logprobs", name).map(|part| column(row, part)).collect();
                cells.and_then(|cells| numbers(&cells))
            }
        };
        let Some(found) = found.filter(|found| found.len() > 1) else {
            return;
        };
        if self.name_of("pick").is_none() {
            record.pick = argmax_first(&found)
                .and_then(letter)
                .map(String::from)
                .unwrap_or_default();
        }
        record.logprobs = Some(found.into_iter().map(|number| number as f32).collect());
    }

    pub(super) fn judge(&self, row: &Object, record: &mut Record) {
        super::layout::mark(record);
        stated_score(record, self.column(row, "correct").and_then(Raw::truth));
    }
}

/// These columns of a row, as values.
fn cells_of(row: &Object, columns: &[String]) -> Cells {
    let cell = |name: &String| Some((name.clone(), column(row, name)?.value()));
    columns.iter().filter_map(cell).collect()
}
