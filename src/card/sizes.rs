//! What moving a setting has been seen to do, with who saw it.

use super::Field;

/// A known effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Fields that it is about.
    fields: &'static [&'static str],
    pub size: &'static str,
    pub source: &'static str,
    /// The knob of `study` that would measure it for the model at hand.
    pub knob: Option<&'static str>,
}

const fn size(fields: &'static [&'static str], knob: &'static str, size: &'static str, source: &'static str) -> Size {
    Size {
        fields,
        size,
        source,
        knob: if knob.is_empty() { None } else { Some(knob) },
    }
}

/// Effects of other models and sets: an order of magnitude, not a correction.
const ALL: &[Size] = &[
    size(
        &["prompt.style", "prompt.template"],
        "style",
        "MMLU 4-5 points over 24 styles, MMLU-Pro about 2; paraphrases of MMLU-Pro up to 10",
        "arXiv 2406.01574 (abstract); 2503.00137",
    ),
    size(
        &["harness.parity", "task_version"],
        "",
        "one 65B model by three implementations: 0.637 / 0.488 / 0.636",
        "huggingface/blog #1258",
    ),
    size(
        &["rule", "rule_sha256", "unreadable"],
        "rule",
        "public MMLU-Pro traces: harness rule to the authors' chain +0.1 to +3.9 points; 694 of 12,032 rows filled with one letter: +0.8",
        "measured",
    ),
    size(
        &["sampling.max_tokens"],
        "max_tokens",
        "one maths task 0.59 at a default of 256 tokens, far higher above",
        "lm-evaluation-harness #2798",
    ),
    size(&["prompt.bos"], "", "doubled: almost 6 points", "retaining-by-doing #5"),
    size(
        &["prompt.chat_shots"],
        "chat_shots",
        "turns mostly lower than one turn",
        "lm-evaluation-harness #1873",
    ),
    size(
        &["seeds", "sampling.stream"],
        "seeds",
        "12,032 questions: ±0.26 points (one attempt); 100 questions: ±2.8",
        "derived from two independent draws",
    ),
    size(
        &["engine.dtype", "engine.batch", "machine.gpu", "machine.device"],
        "dtype",
        "bf16 greedy reasoning models: up to 9 % accuracy between machines",
        "arXiv 2506.09501",
    ),
    size(
        &["slice"],
        "",
        "6.49 % of MMLU questions are faulty, 57 % of those looked at in virology",
        "arXiv 2406.04127",
    ),
];

/// Knobs of fields whose effect nobody has published.
const KNOBS: &[(&str, &str)] = &[
    ("prompt.shots", "shots"),
    ("prompt.chat", "chat"),
    ("sampling.temperature", "temperature"),
    ("method", "scored"),
    ("data.split", "split"),
    ("model.id", "model"),
];

/// What is known of moving a field.
pub fn size_of(field: &Field) -> Option<&'static Size> {
    ALL.iter().find(|size| size.fields.contains(&field.name))
}

/// The knob of `study` that moves a field.
pub fn knob_of(field: &Field) -> Option<&'static str> {
    let unpublished = KNOBS.iter().find(|(name, _)| *name == field.name);
    size_of(field)
        .and_then(|size| size.knob)
        .or(unpublished.map(|(_, knob)| *knob))
}
