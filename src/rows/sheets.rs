//! Character-separated tables as spreadsheets save them: UTF-16, a line that names the separator, blank lines.

use std::borrow::Cow;

/// A text's bytes in UTF-8, without its byte order mark; UTF-16 is known by its mark.
pub(crate) fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let decoded = |of: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let units = bytes.chunks_exact(2).map(|pair| of([pair[0], pair[1]]));
        let text: String = char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        Cow::Owned(text.into_bytes())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => decoded(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => decoded(u16::from_be_bytes, rest),
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(rest),
        _ => Cow::Borrowed(bytes),
    }
}

/// Whether bytes are those of a text in UTF-16.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// The separator that a table's first line names (`sep=;`), and where the next line begins.
pub(crate) fn named_separator(text: &[u8]) -> Option<(u8, usize)> {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let line = text[..end].trim_ascii_end();
    let line = line
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""))
        .unwrap_or(line);
    let (name, separator) = line.split_at_checked(4)?;
    match separator {
        _ if !name.eq_ignore_ascii_case(b"sep=") => None,
        // The tab was trimmed with the line's end.
        [] if text[..end].contains(&b'\t') => Some((b'\t', end + 1)),
        [only] => Some((*only, end + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_spreadsheets_put_before_a_table_is_told_from_it() {
        let utf16: Vec<u8> = "\u{feff}ä;b".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(&*utf8(&utf16), "ä;b".as_bytes());
        let utf16: Vec<u8> = "\u{feff}ä;b".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(&*utf8(&utf16), "ä;b".as_bytes());
        assert_eq!(&*utf8(b"\xef\xbb\xbfa"), b"a");
        for (text, expected) in [
            ("sep=;\r\na;b", Some((b';', 7))),
            ("SEP=,\na,b", Some((b',', 6))),
            ("\"sep=;\"\na;b", Some((b';', 8))),
            ("sep=\t\na\tb", Some((b'\t', 6))),
            ("sep=;;\n", None),
            ("separate\n", None),
            ("a;b\n", None),
        ] {
            assert_eq!(named_separator(text.as_bytes()), expected, "{text:?}");
        }
    }
}
