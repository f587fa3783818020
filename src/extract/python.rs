//! Python's meaning of `\w`, which the reference rules are written in.

use std::sync::LazyLock;

use regex::Regex;

/// `str.isalnum()` is true exactly of the general categories L and N; Rust's `is_alphanumeric` also takes marks and
/// circled letters.
static LETTER_OR_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[\p{L}\p{N}]\z").expect("a constant pattern of two known categories"));

/// Whether `\w` matches this character.
pub fn is_word(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    LETTER_OR_NUMBER.is_match(character.encode_utf8(&mut [0; 4]))
}

/// Whether the character range stands alone: no word character right before or after it.
pub fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    !text[..start].chars().next_back().is_some_and(is_word) && !text[end..].chars().next().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::process::Command;

    use super::*;
    use crate::text::is_python_space;

    #[test]
    fn words_and_spaces_are_pythons_at_the_edges() {
        for word in ['a', '_', '7', '₂', '½', '①', '答', 'Ⅷ', 'é'] {
            assert!(is_word(word), "{word:?}");
        }
        for other in ['\u{301}', '\u{200d}', '\u{200b}', 'Ⓐ', '（', '-', '\u{903}'] {
            assert!(!is_word(other), "{other:?}");
        }
        assert!(
            is_python_space('\u{1c}')
                && is_python_space('\u{1f}')
                && is_python_space('\u{a0}')
                && !is_python_space('\u{200b}')
        );
    }

    /// Code points that Python does not know yet (newer Unicode here) are left out.
    #[test]
    fn every_code_point_is_classed_as_python_does() {
        let script = "import unicodedata as u\nfor i in range(0x110000):\n c=chr(i)\n if not 0xd800<=i<0xe000 and \
                      u.category(c)!='Cn': print(i,int(c.isalnum() or c=='_'),int(c.isspace()))";
        let Some(output) = Command::new("python3")
            .args(["-c", script])
            .output()
            .ok()
            .filter(|o| o.status.success())
        else {
            println!("skipped: no python3");
            return;
        };
        let mut differing = String::new();
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let mut numbers = line.split(' ').map(|number| number.parse::<u32>().unwrap());
            let character = char::from_u32(numbers.next().unwrap()).unwrap();
            let (word, space) = (numbers.next().unwrap() == 1, numbers.next().unwrap() == 1);
            if is_word(character) != word || is_python_space(character) != space {
                write!(differing, "{character:?} ").unwrap();
            }
        }
        assert_eq!(differing, "");
    }
}
