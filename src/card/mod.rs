//! Score cards: everything that is known of how a number came about, and what differs between two of them.
//!
//! A card is nested JSON ([`fields::ALL`] lists its fields). `null` is unknown, and unknown is never equal; what cannot apply
//! (the temperature of a cloze run) is `"none"`. Four hashes sum it up: the procedure (how questions are asked and answers
//! read), the slice (what is asked), the model, and the environment. The measurement is procedure with slice; two models
//! can share it.

mod differ;
mod field;
pub mod fields;
mod foreign;
mod proof;
mod sizes;

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::stats::Slice;
use crate::text::hex;
use crate::trace::Trace;

pub use differ::{Change, Difference, Verdict, differ};
pub use field::{Field, Kind, Part};
pub use sizes::{Size, size_of};

use proof::Proof;

/// Of a field that cannot apply.
pub const NONE: &str = "none";

/// What is known of how a number came about.
#[derive(Debug, Clone, Default)]
pub struct Card {
    value: Value,
    /// What the rows prove; nothing where the card was read from a file.
    proof: Proof,
}

/// The card of a trace of one benchmark. Reads every row.
///
/// # Errors
/// When a row cannot be read, or the trace holds several benchmarks ([`each`] gives a card for each).
pub fn of(trace: &Trace) -> Result<Card> {
    let mut cards = each(trace)?;
    match (cards.pop(), cards.len()) {
        (Some((_, card)), 0) => Ok(card),
        (None, _) => bail!("{} has no rows", trace.name),
        (Some(_), more) => bail!("{} holds {} benchmarks; name one of them", trace.name, more + 1),
    }
}

/// The cards of a trace, one for each benchmark, with the rows that each is about. Reads every row.
///
/// # Errors
/// When a row cannot be read.
pub fn each(trace: &Trace) -> Result<Vec<(Vec<u32>, Card)>> {
    let names = &trace.rows.benchmark;
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); names.list().len()];
    (0..trace.rows.len()).for_each(|row| parts[names.code(row) as usize].push(row as u32));
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() && trace.ours().is_some() {
        // A run that has just begun.
        parts.push(Vec::new());
    }
    parts
        .into_iter()
        .map(|part| {
            let proof = Proof::of(trace, Slice::of(&trace.rows, &part))?;
            let card = Card::new(trace, &part, proof);
            Ok((part, card))
        })
        .collect()
}

impl Card {
    fn new(trace: &Trace, part: &[u32], proof: Proof) -> Card {
        let source = field::Source::new(trace, Slice::of(&trace.rows, part), &proof);
        let mut value = Value::Object(Map::new());
        for field in fields::ALL {
            put(&mut value, field.name, field.read(&source));
        }
        let mut card = Card { value, proof };
        let hashes: Map<String, Value> = Part::ALL
            .into_iter()
            .map(|part| (part.name().to_owned(), json!(card.compute(part))))
            .collect();
        put(&mut card.value, "hashes", hashes.into());
        card
    }

    /// A card from its JSON.
    pub fn read(value: Value) -> Card {
        Card {
            value,
            proof: Proof::default(),
        }
    }

    /// The nested JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// A field by its dotted name; null where it is unknown.
    pub fn get(&self, name: &str) -> &Value {
        let mut value = &self.value;
        for part in name.split('.') {
            value = &value[part];
        }
        value
    }

    /// A field as a text; nothing where it is unknown.
    pub fn text(&self, name: &str) -> String {
        shown(self.get(name))
    }

    /// The hash of a part, sha256 in hex; `None` where the slice cannot be told.
    pub fn hash(&self, part: Part) -> Option<&str> {
        self.value["hashes"][part.name()].as_str()
    }

    /// Procedure fields that are unknown.
    pub fn unknown(&self) -> Vec<&'static str> {
        let fields = fields::ALL.iter().filter(|field| field.is_compared(Part::Procedure));
        fields
            .filter(|field| self.get(field.name).is_null())
            .map(|field| field.name)
            .collect()
    }

    /// sha256 over the content of the rows, whatever file they lie in; empty where the card was read from JSON.
    pub fn content(&self) -> &str {
        &self.proof.content
    }

    /// sha256 over canonical JSON of a part's fields: sorted keys, no blanks. Where the rows prove the slice, it is theirs.
    fn compute(&self, part: Part) -> Option<String> {
        if part == Part::Slice {
            return self.get("slice").as_str().map(str::to_owned);
        }
        let compared = fields::ALL.iter().filter(|field| field.is_compared(part));
        let mut known: Vec<(&str, &Value)> = compared.map(|field| (field.name, self.get(field.name))).collect();
        known.sort_by_key(|(name, _)| *name);
        let object: Map<String, Value> = known
            .into_iter()
            .map(|(name, value)| (name.to_owned(), sorted(value)))
            .collect();
        Some(hex(&Sha256::digest(Value::Object(object).to_string().as_bytes())))
    }
}

/// Eight digits of a hash, as they are shown.
pub fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// A field's value as a text; nothing for null.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| format!("{key} {}", shown(value)))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    }
}

/// The same JSON with sorted keys.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            fields
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Puts a value where a dotted name says.
fn put(value: &mut Value, name: &str, new: Value) {
    let place = name.split('.').fold(value, |value, part| &mut value[part]);
    *place = new;
}
