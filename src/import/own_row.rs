//! Rows of our own columns in JSON or in a table, as our exports write them.

use super::json::{Object, Raw};
use super::layout::{completion_text, flag};
use super::values::choices_of;
use crate::record::{Finish, INVALID, Record, ServedBy, columns, is_right, split_prompt};
use crate::rows::nothing::is_nothing;

/// A field of a record out of what JSON or a table says; a table has numbers, truth values and lists as texts.
trait Told: Sized {
    fn told(raw: Raw) -> Option<Self>;
}

macro_rules! told {
    ($($kind:ty: $read:expr;)*) => {
        $(impl Told for $kind {
            fn told(raw: Raw) -> Option<$kind> {
                let read: fn(Raw) -> Option<$kind> = $read;
                read(raw)
            }
        })*
    };
}

told! {
    String: |raw| Some(raw.shown());
    i64: |raw| raw.int();
    bool: |raw| raw.truth();
    f32: |raw| raw.float().map(|number| number as f32);
    Finish: |raw| Finish::from_name(&raw.text()?);
    Option<String>: |raw| Some(Some(raw.shown()).filter(|text| !text.is_empty()));
    Option<i64>: |raw| Some(raw.int());
    Option<f32>: |raw| Some(f32::told(raw));
    Option<Finish>: |raw| Some(Finish::told(raw));
    Option<Box<ServedBy>>: |raw| Some(serde_json::from_str(&raw.shown()).ok());
    Vec<String>: |raw| raw.is_list().then(|| raw.list().into_iter().map(Raw::shown).collect());
    Option<Vec<f32>>: |raw| list(raw, f32::NAN);
    Option<Vec<bool>>: |raw| list(raw, false);
    Option<Vec<i64>>: |raw| list(raw, 0);
    Option<Vec<String>>: |raw| list(raw, String::new());
}

fn list<T: Told + Clone>(raw: Raw, absent: T) -> Option<Option<Vec<T>>> {
    let item = |raw| T::told(raw).unwrap_or(absent.clone());
    Some(raw.is_list().then(|| raw.list().into_iter().map(item).collect()))
}

macro_rules! take {
    ($(#[doc = $about:literal] $(#[$serde:meta])? $name:ident: $kind:ty,)*) => {
        fn columns_of(row: &Object) -> Record {
            Record {
                $($name: row.get(stringify!($name)).and_then(<$kind>::told).unwrap_or_default(),)*
            }
        }
    };
}
columns!(take);

/// A record out of its own columns: what it does not say follows from the rest.
pub(super) fn own_record(row: &Object) -> Record {
    let mut record = columns_of(row);
    if is_nothing(&record.pick) {
        INVALID.clone_into(&mut record.pick);
    }
    if record.subject.is_empty() {
        record.subject.clone_from(&record.category);
    }
    record.options = row.get("options").map(|raw| choices_of(raw).texts).unwrap_or_default();
    let (reasoning, is_replaced) = completion_text(row.get("reasoning"));
    if is_replaced {
        flag(&mut record, "replaced_text");
    }
    record.reasoning = reasoning;
    if row.int("reasoning_chars").is_none() {
        record.reasoning_chars = record.reasoning.chars().count() as i64;
    }
    if !row.has("question") {
        let parts = split_prompt(&record.prompt);
        record.question = parts.question;
        if record.options.is_empty() {
            record.options = parts.options;
        }
    }
    if row.truth("correct").is_none() {
        record.correct = is_right(&record.pick, &record.answer);
    }
    record
}
