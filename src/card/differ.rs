//! What differs between two cards, and whether their numbers may stand side by side. Proofs go before labels: where the rows
//! show that questions or prompts are the same, or are not, no name says otherwise.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::sizes::{knob_of, size_of};
use super::{Card, Field, Kind, NONE, Part, fields};

/// Whether two numbers may stand side by side; the first that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Procedure and slice are equal, and nothing of the procedure is unknown.
    SameProcedure,
    /// The same, but for procedure fields that are unknown on a side.
    SameAsFarAsKnown,
    /// The slice is equal and the procedure is not: a difference measures what moved.
    SameSliceOnly,
    /// Some questions are common.
    Overlap,
    NotComparable,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::SameProcedure => "same procedure",
            Verdict::SameAsFarAsKnown => "same as far as known",
            Verdict::SameSliceOnly => "same slice only",
            Verdict::Overlap => "overlap",
            Verdict::NotComparable => "not comparable",
        }
    }
}

/// A field that is not the same on both sides, or of which that cannot be told.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    pub name: &'static str,
    pub a: Value,
    pub b: Value,
    /// What moving it has been seen to do, and who saw it.
    pub size: Option<&'static str>,
    pub source: Option<&'static str>,
    /// The knob of `study` that measures it.
    pub knob: Option<&'static str>,
}

impl Change {
    fn new(field: &Field, a: &Value, b: &Value) -> Change {
        let size = size_of(field);
        Change {
            name: field.name,
            a: a.clone(),
            b: b.clone(),
            size: size.map(|size| size.size),
            source: size.map(|size| size.source),
            knob: knob_of(field),
        }
    }
}

/// What differs between two cards.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    pub verdict: Verdict,
    /// Procedure fields that differ: they move the number.
    pub moved: Vec<Change>,
    /// Fields of the slice that differ.
    pub slice: Vec<Change>,
    /// Fields of the model that differ.
    pub model: Vec<Change>,
    /// Fields of the environment that differ: the number may jitter.
    pub jitter: Vec<Change>,
    /// Fields of any hash that are unknown on a side, those of the procedure first.
    pub unknown: Vec<Change>,
    /// How many of them are the procedure's.
    pub unknown_procedure: usize,
    pub irrelevant: Vec<Change>,
    /// Fields that differ or are unknown, and of which the rows prove that it does not matter.
    pub settled: Vec<&'static str>,
    pub same: Vec<&'static str>,
    /// Whether the rows prove the prompts to be the same; none where they cannot tell.
    pub same_prompts: Option<bool>,
    /// Questions on both sides, and on each; none where that cannot be told.
    pub common: Option<usize>,
    pub questions: [usize; 2],
}

impl Difference {
    fn new(a: &Card, b: &Card) -> Difference {
        let shared = Shared::of(a, b);
        let count = |card: &Card| card.get("counts.questions").as_u64().unwrap_or(0) as usize;
        Difference {
            verdict: Verdict::NotComparable,
            moved: Vec::new(),
            slice: Vec::new(),
            model: Vec::new(),
            jitter: Vec::new(),
            unknown: Vec::new(),
            unknown_procedure: 0,
            irrelevant: Vec::new(),
            settled: Vec::new(),
            same: Vec::new(),
            same_prompts: shared.same_prompts,
            common: shared.common,
            questions: [count(a), count(b)],
        }
    }

    fn take(&mut self, field: &'static Field, a: &Value, b: &Value, is_settled: bool) {
        let change = Change::new(field, a, b);
        let is_unknown = a.is_null() || b.is_null();
        let is_hashed = matches!(field.kind, Kind::Moves | Kind::Jitters);
        match field.part {
            _ if a == b && !is_unknown => self.same.push(field.name),
            _ if is_settled => self.settled.push(field.name),
            Some(part) if is_unknown && is_hashed => {
                self.unknown_procedure += usize::from(part == Part::Procedure);
                self.unknown.push(change);
            }
            _ if is_unknown => {
                if !(a.is_null() && b.is_null()) && field.part.is_none() {
                    self.irrelevant.push(change);
                }
            }
            Some(Part::Procedure) => self.moved.push(change),
            Some(Part::Slice) => self.slice.push(change),
            Some(Part::Model) => self.model.push(change),
            Some(Part::Environment) => self.jitter.push(change),
            None => self.irrelevant.push(change),
        }
    }

    /// Another number of shots brings another template text, and examples where there were none: one knob, not three.
    fn set_consequences_apart(&mut self) {
        let is_moved = |name: &str| self.moved.iter().any(|change| change.name == name);
        if !is_moved("prompt.shots") || is_moved("prompt.style") {
            return;
        }
        let is_consequence = |change: &Change| match change.name {
            "prompt.template" => true,
            "prompt.examples" | "prompt.chat_shots" => change.a == NONE || change.b == NONE,
            _ => false,
        };
        let (consequences, moved) = std::mem::take(&mut self.moved).into_iter().partition(is_consequence);
        self.moved = moved;
        self.irrelevant.extend::<Vec<Change>>(consequences);
    }

    /// The names of what moved, for a line.
    pub fn knobs(&self) -> Vec<&'static str> {
        self.moved.iter().map(|change| change.name).collect()
    }
}

/// What differs between two cards.
pub fn differ(a: &Card, b: &Card) -> Difference {
    let mut difference = Difference::new(a, b);
    let same_slice = a.hash(Part::Slice).is_some() && a.hash(Part::Slice) == b.hash(Part::Slice);
    let same_prompts = difference.same_prompts;
    for field in fields::ALL {
        let (of_a, of_b) = (a.get(field.name), b.get(field.name));
        let is_settled = match field.part {
            Some(Part::Slice) => same_slice,
            Some(Part::Procedure) if field.name.starts_with("prompt.") => same_prompts == Some(true),
            _ => false,
        };
        difference.take(field, of_a, of_b, is_settled);
    }
    difference.set_consequences_apart();
    if same_prompts == Some(false) && !difference.moved.iter().any(|change| change.name.starts_with("prompt.")) {
        moved_prompts(&mut difference, a, b);
    }
    let is_other = |name: &str| difference.moved.iter().any(|change| change.name == name);
    difference.verdict = match (same_slice, difference.common) {
        _ if is_other("benchmark") => Verdict::NotComparable,
        (true, _) if !difference.moved.is_empty() => Verdict::SameSliceOnly,
        (true, _) if difference.unknown_procedure > 0 => Verdict::SameAsFarAsKnown,
        (true, _) => Verdict::SameProcedure,
        (false, Some(1..)) => Verdict::Overlap,
        (false, _) => Verdict::NotComparable,
    };
    difference
}

/// Prompts differ though no label does: the proof is what moved.
fn moved_prompts(difference: &mut Difference, a: &Card, b: &Card) {
    let Some(field) = fields::ALL.iter().find(|field| field.name == "proof.prompts") else {
        return;
    };
    difference.irrelevant.retain(|change| change.name != field.name);
    let change = Change::new(field, a.get(field.name), b.get(field.name));
    difference.moved.push(change);
}

/// What the rows of two cards have in common.
struct Shared {
    common: Option<usize>,
    same_prompts: Option<bool>,
}

impl Shared {
    fn of(a: &Card, b: &Card) -> Shared {
        let same_slice = a.hash(Part::Slice) == b.hash(Part::Slice);
        if a.proof.asked.is_empty() || b.proof.asked.is_empty() || a.proof.is_by_hash != b.proof.is_by_hash {
            let (of_a, of_b) = (a.get("proof.prompts"), b.get("proof.prompts"));
            let is_told = same_slice && !of_a.is_null() && !of_b.is_null();
            let count = a.get("counts.questions").as_u64().map(|count| count as usize);
            return Shared {
                common: count.filter(|_| same_slice),
                same_prompts: is_told.then(|| of_a == of_b),
            };
        }
        let prompts = |card: &Card| {
            let mut prompts = BTreeMap::<u64, Vec<u64>>::new();
            for (question, prompt) in &card.proof.asked {
                prompts.entry(*question).or_default().push(*prompt);
            }
            prompts
        };
        let (of_a, of_b) = (prompts(a), prompts(b));
        let common: Vec<_> = of_a
            .iter()
            .filter_map(|(question, prompts)| Some((prompts, of_b.get(question)?)))
            .collect();
        let is_known = |prompts: &[u64]| !prompts.contains(&0);
        let are_known = !common.is_empty() && common.iter().all(|(a, b)| is_known(a) && is_known(b));
        Shared {
            common: Some(if same_slice {
                a.get("counts.questions").as_u64().unwrap_or(0) as usize
            } else {
                common.len()
            }),
            same_prompts: are_known.then(|| common.iter().all(|(a, b)| a == b)),
        }
    }
}
