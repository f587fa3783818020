//! What lm-evaluation-harness does before and after a filter: cutting the generation, comparing with the gold.

use crate::text::strip_start;

/// A raw generation as the harness hands it to its filters: the text after the last `think_end`, left-stripped (the
/// whole text where it does not occur), then cut at the first occurrence of each stop text.
pub fn postprocess<'t>(text: &'t str, think_end: Option<&str>, stops: &[&str]) -> &'t str {
    let mut text = match think_end {
        Some(marker) if !marker.is_empty() => {
            let start = text.rfind(marker).map_or(0, |at| at + marker.len());
            strip_start(&text[start..])
        }
        _ => text,
    };
    for stop in stops.iter().filter(|stop| !stop.is_empty()) {
        text = text.find(stop).map_or(text, |at| &text[..at]);
    }
    text
}

/// The harness's `exact_match` with `ignore_case` and `ignore_punctuation`: both lower-cased, ASCII punctuation
/// dropped, compared. White space counts; numpy's string arrays lose NUL characters at the end.
pub fn exact_match(prediction: &str, reference: &str) -> bool {
    prediction == reference || bare(prediction) == bare(reference)
}

fn bare(text: &str) -> String {
    let mut bare = text.to_lowercase();
    bare.retain(|character| !character.is_ascii_punctuation());
    bare.truncate(bare.trim_end_matches('\0').len());
    bare
}
