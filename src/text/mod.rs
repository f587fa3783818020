//! How numbers, sizes, times and foreign texts are written; every module may use it.

pub mod figures;
pub mod markup;
pub mod safe;
pub mod spreadsheet;
pub mod terminal;

use std::fmt::Write as _;
use std::time::Duration;

/// A count with a comma every three digits.
pub fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something that has a regular plural: `1 row`, `1,879 rows`, `2 categories`.
pub fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{} {stem}ies", thousands(number)),
        (_, None) => format!("{} {noun}s", thousands(number)),
    }
}

/// The decimal unit in which so many bytes read best, and the bytes it holds.
pub fn unit(bytes: u64) -> (&'static str, f64) {
    match bytes {
        0..1_000 => ("B", 1.0),
        1_000..1_000_000 => ("kB", 1e3),
        1_000_000..1_000_000_000 => ("MB", 1e6),
        _ => ("GB", 1e9),
    }
}

/// Bytes in the unit that fits: `12 B`, `3.4 kB`, `45.2 MB`.
pub fn size(bytes: u64) -> String {
    let (unit, of) = unit(bytes);
    let digits = usize::from(of > 1.0);
    format!("{:.digits$} {unit}", bytes as f64 / of)
}

/// A duration by its two largest units: `42s`, `3m 10s`, `1h 02m`, `2d 03h`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Foreign text as one line that a terminal can be given: white space collapsed, everything else it would act on shown.
pub fn safe_line(text: &str) -> String {
    safe::inline(text, false)
}

/// Bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let digits = String::with_capacity(bytes.len() * 2);
    bytes.iter().fold(digits, |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Python's `str.isspace()` of one character, its regular expressions' `\s`: Unicode's white space and U+001C to U+001F.
pub fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Python's `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_python_space)
}

/// Python's `str.lstrip()`.
pub fn strip_start(text: &str) -> &str {
    text.trim_start_matches(is_python_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_sizes_and_times_read_at_a_glance() {
        assert_eq!(
            [0, 999, 1_000, 60_160, 1_203_200].map(thousands),
            ["0", "999", "1,000", "60,160", "1,203,200"]
        );
        assert_eq!(
            [0, 999, 3_400, 45_200_000, 2_500_000_000].map(size),
            ["0 B", "999 B", "3.4 kB", "45.2 MB", "2.5 GB"]
        );
        let shown = [0, 42, 60, 190, 3_599, 3_720, 97_200].map(|s| duration(Duration::from_secs(s)));
        assert_eq!(shown, ["0s", "42s", "1m 00s", "3m 10s", "59m 59s", "1h 02m", "1d 03h"]);
        assert_eq!(hex(&[0, 10, 255]), "000aff");
        let counted = [(1, "row"), (0, "char"), (60_160, "row"), (14, "category")].map(|(n, noun)| count(n, noun));
        assert_eq!(counted, ["1 row", "0 chars", "60,160 rows", "14 categories"]);
    }
}
