//! Where a completion stops thinking and answers: after `</think>`, or in the final channel of the harmony form
//! (`<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`), also as servers write it that
//! drop special tokens (`analysis…assistantfinal…`).

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::postprocess;

pub(super) const THINK_END: &str = "</think>";

const THINK_START: &str = "<think>";

const CHANNEL: &str = "<|channel|>";

/// The head of a final channel; what may stand between its name and its text are constraints (`<|constrain|>json`).
static FINAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"<\|channel\|>final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>").expect("a constant pattern")
});

static END: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"<\|(?:return|end|start|call|channel)\|>").expect("a constant pattern"));

const BARE_FINAL: &str = "assistantfinal";

const BARE_CHANNELS: [&str; 2] = ["analysis", "commentary"];

fn has_bare_channels(text: &str) -> bool {
    BARE_CHANNELS.iter().any(|name| text.trim_start().starts_with(name)) && text.contains(BARE_FINAL)
}

/// The text of the last final channel: nothing where there are channels and none is final, all of the text where there
/// are no channels.
pub(super) fn final_channel(text: &str) -> Range<usize> {
    if let Some(head) = FINAL.find_iter(text).last() {
        let end = END
            .find(&text[head.end()..])
            .map_or(text.len(), |end| head.end() + end.start());
        return head.end()..end;
    }
    if text.contains(CHANNEL) {
        return text.len()..text.len();
    }
    let bare = has_bare_channels(text).then(|| text.rfind(BARE_FINAL)).flatten();
    bare.map_or(0, |at| at + BARE_FINAL.len())..text.len()
}

/// The text after the last `</think>`; all of it where there is none.
pub(super) fn after_thinking(text: &str) -> Range<usize> {
    let rest = postprocess(text, Some(THINK_END), &[]);
    text.len() - rest.len()..text.len()
}

/// Where the answer begins: what stands before was thought, not said. 0 in a text without marks of thinking, its length
/// where the thinking never ends.
pub fn answer_start(text: &str) -> usize {
    let thought = match unclosed_thinking(text) {
        Some(_) => text.len(),
        None => last(text, THINK_END).map_or(0, |end| end + THINK_END.len()),
    };
    thought.max(final_channel(text).start)
}

/// The last `<think>`, where no `</think>` follows.
pub fn unclosed_thinking(text: &str) -> Option<Range<usize>> {
    let start = last(text, THINK_START)?;
    (!text[start..].contains(THINK_END)).then(|| start..start + THINK_START.len())
}

/// Where a mark stands last. Forwards is looked many times faster than backwards, and most texts have none.
fn last(text: &str, mark: &str) -> Option<usize> {
    text.contains(mark).then(|| text.rfind(mark)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_final_channel_is_found_in_every_form() {
        for (text, expected) in [
            ("no channels at all", "no channels at all"),
            (
                "<|channel|>analysis<|message|>(B)?<|end|><|start|>assistant<|channel|>final<|message|>It is D.<|return|>",
                "It is D.",
            ),
            ("<|channel|>analysis<|message|>never done", ""),
            ("<|channel|>final <|constrain|>json<|message|>{\"a\": 1}", "{\"a\": 1}"),
            (
                "<|channel|>final<|message|>one<|end|><|start|>assistant<|channel|>final<|message|>two<|end|>",
                "two",
            ),
            (
                "analysisPerhaps (B).assistantfinalThe answer is (D).",
                "The answer is (D).",
            ),
            (
                "The analysis says assistantfinal nothing",
                "The analysis says assistantfinal nothing",
            ),
        ] {
            assert_eq!(&text[final_channel(text)], expected, "{text:?}");
        }
    }

    #[test]
    fn what_was_thought_ends_where_the_answer_begins() {
        for (text, answer) in [
            ("plain", "plain"),
            ("<think>x</think> y", " y"),
            ("x</think>y", "y"),
            ("<think>x", ""),
            ("<|channel|>analysis<|message|>x", ""),
            ("analysisx.assistantfinaly", "y"),
        ] {
            assert_eq!(&text[answer_start(text)..], answer, "{text:?}");
        }
    }
}
