//! The values of a foreign row: which options its gold and its pick name, and what is told where they name none.

use serde_json::Value;

use super::json::Raw;
use super::layout::{flag, mark};
use crate::json::python_text;
use crate::record::{INVALID, OR, Record, gold_letters, letter, letter_index};
use crate::rows::naming::{Asked, Base, Naming, Way};
use crate::rows::nothing::is_nothing;
use crate::rows::options::{Choices, read_choices};
use crate::rows::values::{lone_letter, marked_letter, whole_number};
use crate::text::thousands;
use crate::trace::{Notice, Rows};

/// What a row says of its question's options: the values of its columns as they stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub gold: Value,
    pub pick: Value,
    pub choices: Choices,
}

/// How the golds and picks of a file name their options; found over its first rows.
#[derive(Debug, Clone)]
pub(super) struct Values {
    gold: Side,
    pick: Side,
}

#[derive(Debug, Clone)]
struct Side {
    naming: Naming,
    /// The other side says letters where this one says numbers and no options are known: then numbers are letters too.
    are_letters: bool,
    /// No options are known, and every value is an option's mark, most with its text: the mark is the letter.
    are_marked: bool,
    /// Words for nothing that the golds hold too, and which therefore are answers.
    answers: Vec<String>,
    flags: Flags,
}

/// The flags of a row, by how its value was said.
#[derive(Debug, Clone, Copy)]
struct Flags {
    number: &'static str,
    text: &'static str,
    several: &'static str,
    ambiguous: &'static str,
}

const GOLD: Flags = Flags {
    number: "number_gold",
    text: "text_gold",
    several: "several_golds",
    ambiguous: "ambiguous_gold",
};
const PICK: Flags = Flags {
    number: "number_pick",
    text: "text_pick",
    several: "several_picks",
    ambiguous: "ambiguous_pick",
};

impl Values {
    /// `base` is the number of the first option, where the user says it; else 0.
    pub fn find(rows: &[Said], base: Option<i64>) -> Values {
        let of = |value: fn(&Said) -> &Value| -> Vec<Asked> {
            let filled = rows.iter().filter(|row| !is_nothing(&python_text(value(row))));
            filled
                .map(|row| Asked {
                    value: single(value(row)),
                    choices: row.choices.clone(),
                })
                .collect()
        };
        let (golds, picks) = (of(|row| &row.gold), of(|row| &row.pick));
        let first = base.unwrap_or(0);
        // A tool that writes 0 for its first option does not count from 1.
        let has_zero = picks.iter().any(|pick| whole_number(&pick.value) == Some(0));
        let has_letter = |asked: &[Asked]| {
            let mut values = asked.iter().map(|asked| python_text(&asked.value));
            values.any(|value| lone_letter(&value).is_some())
        };
        let are_marked = |asked: &[Asked]| {
            let mark =
                |asked: &Asked| marked_letter(&python_text(&asked.value)).filter(|_| asked.choices.texts.is_empty());
            let marks: Option<Vec<usize>> = asked.iter().map(mark).collect();
            marks.is_some_and(|marks| marks.iter().all(|mark| *mark < 10) && marks.iter().any(|mark| *mark != marks[0]))
        };
        let are_numbers = |asked: &[Asked]| asked.iter().all(|asked| whole_number(&asked.value).is_some());
        // Texts that begin like marks on one side only, beside texts that do not, are texts.
        let both_marked = (are_marked(&golds) || are_numbers(&golds)) && (are_marked(&picks) || are_numbers(&picks));
        let is_text =
            |asked: &&Asked| lone_letter(&python_text(&asked.value)).is_none() && whole_number(&asked.value).is_none();
        let are_letters = |asked: &[Asked]| {
            let is_letter = |asked: &&Asked| lone_letter(&python_text(&asked.value)).is_some();
            both_marked && are_marked(asked) || asked.iter().filter(is_letter).count() * 2 > asked.len()
        };
        let are_texts = golds.iter().filter(is_text).count() * 2 > golds.len();
        let words = rows.iter().map(|row| python_text(&row.gold));
        let answers: Vec<String> = words.filter(|gold| are_texts && is_nothing(gold)).collect();
        let side = |asked: &[Asked], first: i64, are_letters: bool, flags: Flags| {
            let first = Base { first, is_open: false };
            let are_listed = rows.iter().any(|row| !row.choices.texts.is_empty());
            Side {
                naming: Naming::find(asked, are_listed, first, None),
                are_letters,
                are_marked: both_marked && are_marked(asked),
                answers: answers.clone(),
                flags,
            }
        };
        Values {
            gold: side(&golds, first, are_letters(&picks) && !has_letter(&golds), GOLD),
            pick: side(
                &picks,
                if has_zero { 0 } else { first },
                are_letters(&golds) && !has_letter(&picks),
                PICK,
            ),
        }
    }

    /// Puts the letters of gold and pick in place, of the sides that are given, and judges the row.
    pub fn settle(&self, record: &mut Record, choices: &Choices, gold: Option<Option<Raw>>, pick: Option<Option<Raw>>) {
        if let Some(gold) = gold {
            record.answer = self.gold.read(gold, choices, record);
        }
        if let Some(pick) = pick {
            let pick = self.pick.read(pick, choices, record);
            record.pick = if pick.is_empty() { INVALID.to_owned() } else { pick };
        }
        mark(record);
    }

    /// Whether a gold column's value is none.
    pub fn is_no_gold(&self, raw: Option<Raw>, choices: impl Fn() -> Choices) -> bool {
        let is_word = |raw: Raw| raw.is_list() || is_nothing(&raw.shown());
        raw.is_none_or(|raw| is_word(raw) && self.gold.is_nothing(&single(&raw.value()), &choices()))
    }
}

impl Side {
    /// The letter of the option that a value names; what names none is given as it stands, nothing as nothing.
    fn read(&self, raw: Option<Raw>, choices: &Choices, record: &mut Record) -> String {
        let Some(raw) = raw else { return String::new() };
        if let Some(letter) = raw.text().filter(|text| letter_index(text).is_some())
            && self.naming.is_letter()
            && choices.labels.is_empty()
        {
            return letter;
        }
        let value = self.one_of(single(&raw.value()), choices, record);
        if self.is_nothing(&value, choices) {
            return String::new();
        }
        let asked = Asked {
            value,
            choices: choices.clone(),
        };
        if choices.texts.is_empty() {
            return self.read_alone(&asked, raw, record);
        }
        let named = self.naming.read(&asked);
        let count = choices.texts.len();
        let (index, way) = match (named.index, named.way) {
            (Some(index), Some(way)) if index < count => (index, way),
            (Some(index), _) if letter(index).is_some() && lone_letter(&python_text(&asked.value)) == Some(index) => {
                return letter(index).map(String::from).unwrap_or_default();
            }
            _ => return self.read_odd(&asked, raw, record),
        };
        match way {
            Way::Number => flag(record, self.flags.number),
            Way::Text => flag(record, self.flags.text),
            Way::Letter | Way::Label => {}
        }
        if named.otherwise.is_some() {
            flag(record, self.flags.ambiguous);
        }
        letter(index).map_or_else(|| shown(&asked.value, raw), String::from)
    }

    fn base(&self) -> i64 {
        self.naming.base().first
    }

    /// Of a list of picks the first, unless the list has a mark for each option.
    fn one_of(&self, value: Value, choices: &Choices, record: &mut Record) -> Value {
        match value {
            Value::Array(items) if self.is_pick() && !items.is_empty() && items.len() != choices.texts.len() => {
                if items.iter().any(|item| *item != items[0]) {
                    flag(record, self.flags.several);
                }
                items[0].clone()
            }
            other => other,
        }
    }

    fn is_pick(&self) -> bool {
        self.flags.number == PICK.number
    }

    /// A value that names no option of its row, or several.
    fn read_odd(&self, asked: &Asked, raw: Raw, record: &mut Record) -> String {
        if let Some(several) = asked.several(&self.naming) {
            return self.joined(&several, record);
        }
        if whole_number(&asked.value)
            == i64::try_from(asked.choices.texts.len())
                .ok()
                .map(|count| count + self.base())
        {
            flag(record, "number_beyond");
        }
        shown(&asked.value, raw)
    }

    /// A value where the row's options are not known.
    fn read_alone(&self, asked: &Asked, raw: Raw, record: &mut Record) -> String {
        let text = python_text(&asked.value);
        let index = if self.are_marked {
            marked_letter(&text)
        } else {
            lone_letter(&text)
        };
        if let Some(letter) = index.and_then(letter) {
            return letter.to_string();
        }
        if let Some(number) = whole_number(&asked.value) {
            let index = number
                .checked_sub(self.base())
                .and_then(|index| usize::try_from(index).ok());
            return match index.filter(|_| self.are_letters).and_then(letter) {
                Some(letter) => {
                    flag(record, self.flags.number);
                    letter.to_string()
                }
                None => number.to_string(),
            };
        }
        match asked.several(&self.naming) {
            Some(several) => self.joined(&several, record),
            None => shown(&asked.value, raw),
        }
    }

    /// Several golds, of which any is right, or several picks, which are right together.
    fn joined(&self, several: &[usize], record: &mut Record) -> String {
        flag(record, self.flags.several);
        let letters: Vec<String> = several
            .iter()
            .filter_map(|index| letter(*index))
            .map(String::from)
            .collect();
        letters.join(if self.is_pick() { ", " } else { OR })
    }

    /// Whether a value says nothing: a word for it that is no option of its row and no gold of the file.
    fn is_nothing(&self, value: &Value, choices: &Choices) -> bool {
        let text = match value {
            Value::Array(items) => return items.is_empty(),
            other => python_text(other),
        };
        let is_it = |option: &String| option.trim().eq_ignore_ascii_case(text.trim());
        value.is_null()
            || is_nothing(&text)
                && (text.trim().is_empty()
                    || !choices
                        .texts
                        .iter()
                        .chain(&choices.labels)
                        .chain(&self.answers)
                        .any(is_it))
    }
}

/// The options of a cell.
pub(super) fn choices_of(raw: Raw) -> Choices {
    let items = raw.list();
    if !items.is_empty() && items.iter().all(|item| item.is_string()) {
        return Choices::unlabelled(items.into_iter().map(Raw::shown));
    }
    read_choices(&raw.value())
}

/// A list of one as its item; blanks and nulls of a list are none of it.
fn single(value: &Value) -> Value {
    let Value::Array(items) = value else {
        return value.clone();
    };
    let filled: Vec<&Value> = items.iter().filter(|item| !item.is_null()).collect();
    match filled.as_slice() {
        [only] => single(only),
        several => Value::Array(several.iter().map(|item| (*item).clone()).collect()),
    }
}

/// A value as it stands in the file; of a list the first item.
fn shown(value: &Value, raw: Raw) -> String {
    match value {
        Value::Array(items) => items.first().map(python_text).unwrap_or_default(),
        Value::String(text) => text.clone(),
        _ if raw.is_list() => python_text(value),
        _ => raw.shown(),
    }
}

/// What a reader should know of how the golds and picks were read. `base` is the number of the first option.
pub(super) fn notices(rows: &Rows, base: i64) -> Vec<Notice> {
    let notice = |kind: &str, text: String| Notice {
        kind: kind.to_owned(),
        text,
    };
    let numbers = number_text(rows, base).map(|text| notice("number_pick", text));
    let fit = better_base(rows, base).map(|text| notice("gold_base", text));
    let unread = unread(rows).into_iter().map(|(kind, text)| notice(kind, text));
    numbers.into_iter().chain(fit).chain(unread).collect()
}

fn has_flag(rows: &Rows, row: usize, name: &str) -> bool {
    let flags = rows.flags.get(row);
    !flags.is_empty() && flags.split(',').any(|flag| flag == name)
}

fn number_text(rows: &Rows, base: i64) -> Option<String> {
    let has = |flag: &str| {
        let mut lists = rows.flags.list().iter();
        lists.any(|flags| flags.split(',').any(|name| name == flag))
    };
    if !has(PICK.number) && !has(GOLD.number) {
        return None;
    }
    let read = format!("pick or answer are numbers from {base}: shown as the letters of the options");
    let beyond = "pick or answer are numbers, read as counted from 0; some are as large as the number of options: if they \
                  are counted from 1, the letters are one too far (--gold-base 1)";
    Some(if has("number_beyond") && base == 0 {
        beyond.to_owned()
    } else {
        read
    })
}

/// Numbers beside letters that would agree more often if they counted from the other base.
fn better_base(rows: &Rows, base: i64) -> Option<String> {
    let other = 1 - base;
    // Read from the other base, a number's option is one earlier, or one later.
    let shift = base - other;
    let (mut asked, mut as_read, mut shifted, mut numbers_lie_from) = (0, 0, 0, i64::MAX);
    let mut side = "golds";
    for row in 0..rows.len() {
        let is_number = |flag: &str| has_flag(rows, row, flag) || has_flag(rows, row, "number_beyond");
        let (pick, gold) = (rows.pick.get(row), rows.answer.get(row));
        let (number, said) = match (letter_index(pick), letter_index(gold)) {
            (Some(said), _) if is_number(GOLD.number) && !has_flag(rows, row, PICK.number) => (gold, said),
            (_, Some(said)) if is_number(PICK.number) && !has_flag(rows, row, GOLD.number) => {
                side = "picks";
                (pick, said)
            }
            _ => continue,
        };
        let Some(index) = letter_index(number)
            .map(|index| index as i64)
            .or_else(|| Some(number.parse::<i64>().ok()? - base))
        else {
            continue;
        };
        asked += 1;
        as_read += usize::from(index == said as i64);
        shifted += usize::from(index + shift == said as i64);
        numbers_lie_from = numbers_lie_from.min(index + base);
    }
    let none_is = if numbers_lie_from > base && base == 0 {
        format!("; no {} is 0", side.trim_end_matches('s'))
    } else {
        String::new()
    };
    (shifted > as_read).then(|| {
        format!(
            "the {side} fit from {other} better: {} of {} picks agree then, {} as read{none_is} (--gold-base {other})",
            thousands(shifted),
            thousands(asked),
            thousands(as_read)
        )
    })
}

/// Golds and picks of different kinds: what no comparison can find right.
fn unread(rows: &Rows) -> Vec<(&'static str, String)> {
    let are_letters = |names: &crate::trace::Names| -> Vec<bool> {
        names.list().iter().map(|name| gold_letters(name).is_some()).collect()
    };
    let (picks, golds) = (are_letters(&rows.pick), are_letters(&rows.answer));
    let (mut odd_picks, mut odd_golds, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows.len() {
        let pick_is_letter = picks[rows.pick.code(row) as usize];
        let gold_is_letter = golds[rows.answer.code(row) as usize];
        if gold_is_letter && !pick_is_letter && !rows.is_invalid(row) {
            odd_picks.push(row);
        } else if pick_is_letter && !gold_is_letter && !rows.answer.get(row).is_empty() {
            odd_golds.push(row);
        } else if !pick_is_letter && !rows.is_invalid(row) {
            texts.push(row);
        }
    }
    if texts.iter().any(|row| rows.correct[*row]) {
        texts.clear();
    }
    let told = |kind: &'static str, found: &[usize], names: &crate::trace::Names, what: &str| {
        let first = names.get(*found.first()?);
        let first: String = first.chars().take(40).collect();
        Some((
            kind,
            format!(
                "{} of {} {what} (the first: {first:?})",
                thousands(found.len()),
                thousands(rows.len())
            ),
        ))
    };
    let picks = told(
        "unread_picks",
        &odd_picks,
        &rows.pick,
        "picks are no letter and name no option, while the golds are letters: they are compared as texts",
    );
    let golds = told(
        "unread_golds",
        &odd_golds,
        &rows.answer,
        "golds are no letter and name no option, while the picks are letters: no pick can be right",
    );
    let texts = told(
        "unread_texts",
        &texts,
        &rows.pick,
        "picks and their golds are no letters and never equal: are they said in the same way?",
    );
    picks.into_iter().chain(golds).chain(texts).collect()
}
