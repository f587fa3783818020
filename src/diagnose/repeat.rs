//! Finds an end that repeats: a unit of 20 characters or more, at least three times, 200 characters or more in all.

use memchr::memmem::rfind;

/// Shortest unit and shortest whole run, in characters; fewest repetitions.
const UNIT: usize = 20;
const RUN: usize = 200;
const TIMES: usize = 3;

/// How much of the end is searched for a period, in bytes. A run that is found is followed further back.
const WINDOW: usize = 1 << 16;

/// A repeated end of a text; byte offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// Where the first unit begins: at a line, a sentence or a word, where one begins within the first repetition.
    pub start: usize,
    /// Bytes of one unit.
    pub unit: usize,
    /// How often it stands there, the first included; a part of a unit at the end does not count.
    pub count: usize,
    /// The end of the text without trailing white space.
    pub end: usize,
}

impl Tail {
    /// What a folded view leaves out: everything after the first unit.
    pub fn folded(&self) -> std::ops::Range<usize> {
        self.start + self.unit..self.end
    }
}

/// The repeated end of a text, if it has one. The last repetition may be a part only. Linear in the text.
pub fn repeated_tail(text: &str) -> Option<Tail> {
    let text = text.trim_end();
    let bytes = text.as_bytes();
    let last = bytes.len().checked_sub(UNIT)?;
    // Of any repeated end the last characters occur once more before: most texts are done here.
    if bytes.len() < RUN || rfind(&bytes[..bytes.len() - 1], &bytes[last..]).is_none() {
        return None;
    }
    let period = period_of_longest_run(&bytes[bytes.len().saturating_sub(WINDOW)..])?;
    let mut start = bytes.len() - period;
    while start > 0 && bytes[start - 1] == bytes[start - 1 + period] {
        start -= 1;
    }
    let start = (start..).find(|at| text.is_char_boundary(*at))?;
    let unit = whole_unit(text, start, period)?;
    if (bytes.len() - start) / unit < TIMES || text[start..].chars().count() < RUN {
        return None;
    }
    let start = begin_of_unit(text, start, unit);
    Some(Tail {
        start,
        unit,
        count: count(text, start, unit),
        end: text.len(),
    })
}

/// The smallest period of the longest suffix that repeats often enough, by the prefix function of the reversed bytes:
/// the suffix of length n has period n - border(n).
fn period_of_longest_run(window: &[u8]) -> Option<usize> {
    let at = |index: usize| window[window.len() - 1 - index];
    let mut border = vec![0_u32; window.len()];
    let mut found = None;
    for length in 2..=window.len() {
        let mut known = border[length - 2] as usize;
        while known > 0 && at(known) != at(length - 1) {
            known = border[known - 1] as usize;
        }
        known += usize::from(at(known) == at(length - 1));
        border[length - 1] = known as u32;
        let period = length - known;
        if length >= RUN && length >= TIMES * period {
            found = Some(period);
        }
    }
    found
}

/// A unit of at least 20 characters: the period, or as many periods as that takes.
fn whole_unit(text: &str, start: usize, period: usize) -> Option<usize> {
    let characters = text.get(start..start + period)?.chars().count();
    Some(period * UNIT.div_ceil(characters.max(1)))
}

/// Where within the first unit it reads best from, as long as three units remain.
fn begin_of_unit(text: &str, start: usize, unit: usize) -> usize {
    let fits = |at: &usize| count(text, *at, unit) >= TIMES;
    let before = |at: usize| text[..at].chars().next_back();
    let begins = |mark: fn(char, char) -> bool| {
        let mut places = text[start..start + unit]
            .char_indices()
            .map(|(at, next)| (start + at, next));
        places.find(|(at, next)| !next.is_whitespace() && before(*at).is_none_or(|previous| mark(previous, *next)))
    };
    let line = begins(|previous, _| previous == '\n');
    let sentence = || {
        let mut places = text[start..start + unit].char_indices().map(|(at, _)| start + at);
        places.find(|at| text[..*at].ends_with([' ', '\n']) && text[..*at].trim_end().ends_with(['.', '!', '?']))
    };
    let word = || begins(|previous, _| previous.is_whitespace()).map(|(at, _)| at);
    let place = line.map(|(at, _)| at).filter(fits).or_else(|| sentence().filter(fits));
    place.or_else(|| word().filter(fits)).unwrap_or(start)
}

/// Whole units from `start` to the end; white space that the text's end has lost counts as there.
fn count(text: &str, start: usize, unit: usize) -> usize {
    let length = text.len() - start;
    let rest = length % unit;
    let lacks_only_space = text
        .get(start + rest..start + unit)
        .is_some_and(|lacking| lacking.trim().is_empty());
    length / unit + usize::from(rest > 0 && lacks_only_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_and_count(text: &str) -> Option<(&str, usize)> {
        repeated_tail(text).map(|tail| (&text[tail.start..tail.start + tail.unit], tail.count))
    }

    #[test]
    fn a_sentence_that_repeats_is_found_from_its_beginning() {
        let sentence = "It is the view of the law from the perspective of the law itself. ";
        let text = format!(
            "We ask. The internal point of view is the view of the law from the perspective of the law \
                            itself. {}",
            sentence.repeat(14)
        );
        assert_eq!(unit_and_count(&text), Some((sentence, 14)));
        assert_eq!(
            unit_and_count(text.trim_end()),
            Some((sentence, 14)),
            "without the last blank"
        );
        let tail = repeated_tail(&text).unwrap();
        assert_eq!(&text[tail.folded()], sentence.repeat(13).trim_end());
    }

    #[test]
    fn a_cut_last_repetition_is_part_of_the_loop() {
        let text = format!(
            "So: {}The fan is 55% negl",
            "The fan is 55% negligent and the driver is 45%. ".repeat(5)
        );
        assert_eq!(
            unit_and_count(&text),
            Some(("The fan is 55% negligent and the driver is 45%. ", 5))
        );
    }

    #[test]
    fn short_units_are_taken_together_and_short_runs_left_alone() {
        assert_eq!(unit_and_count(&"loop ".repeat(100)), Some(("loop loop loop loop ", 25)));
        assert_eq!(unit_and_count(&"-".repeat(150)), None);
        assert_eq!(
            unit_and_count(
                &"This is said just twice, and that at some length, so that it has many characters. ".repeat(2)
            ),
            None
        );
        let text = format!(
            "{}But then it ends otherwise, and that is that.",
            "It is the law of the land. ".repeat(20)
        );
        assert_eq!(unit_and_count(&text), None);
    }

    #[test]
    fn characters_count_not_bytes() {
        assert_eq!(unit_and_count(&"答案是第三个选项。".repeat(20)), None, "180 characters");
        let tail = repeated_tail(&"答案是第三个选项。".repeat(30)).unwrap();
        assert_eq!((tail.unit, tail.count), (3 * 27, 10));
    }

    #[test]
    fn the_outer_of_two_nested_repetitions_is_folded() {
        let verse = format!(
            "{}and then the chorus once more. ",
            "la la la la la la la la la la ".repeat(8)
        );
        let text = format!("A song: {}", verse.repeat(4));
        assert_eq!(unit_and_count(&text), Some((verse.as_str(), 4)));
    }

    #[test]
    fn a_long_loop_is_followed_beyond_the_window() {
        let text = format!("Begin. {}", "the reserve requirement times ".repeat(20_000));
        assert_eq!(unit_and_count(&text), Some(("the reserve requirement times ", 20_000)));
    }
}
