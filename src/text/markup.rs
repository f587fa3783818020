//! Foreign text put into other people's languages, so that nothing of it is taken for mark-up: HTML and SVG, Markdown, LaTeX.
//! Controls, and marks that reorder or hide text, become visible first.

use super::safe;

/// Foreign text, line ends kept, as the text or a quoted attribute of HTML or XML.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in safe::lines(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// Foreign text as one line of Markdown: a cell of a table or part of a paragraph.
pub fn markdown(text: &str) -> String {
    escaped(text, |c| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '|' => Some("\\|"),
        '_' => Some("\\_"),
        '*' => Some("\\*"),
        '`' => Some("\\`"),
        '[' => Some("\\["),
        ']' => Some("\\]"),
        '\\' => Some("\\\\"),
        '#' => Some("\\#"),
        '~' => Some("\\~"),
        '$' => Some("\\$"),
        _ => None,
    })
}

/// Foreign text as one line of LaTeX.
pub fn latex(text: &str) -> String {
    escaped(text, |c| match c {
        '&' => Some("\\&"),
        '%' => Some("\\%"),
        '$' => Some("\\$"),
        '#' => Some("\\#"),
        '_' => Some("\\_"),
        '{' => Some("\\{"),
        '}' => Some("\\}"),
        '~' => Some("\\textasciitilde{}"),
        '^' => Some("\\textasciicircum{}"),
        '\\' => Some("\\textbackslash{}"),
        '<' => Some("\\textless{}"),
        '>' => Some("\\textgreater{}"),
        _ => None,
    })
}

fn escaped(text: &str, spell: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in super::safe_line(text).chars() {
        match spell(c) {
            Some(spelled) => out.push_str(spelled),
            None => out.push(c),
        }
    }
    out
}

/// Foreign text of several lines as a code block of Markdown, with a fence that it does not hold itself.
pub fn code_block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", safe::lines(text).trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_text_in_every_language() {
        let name = "<script>alert(1)</script>|a_b & 50%\u{1b}[2J\u{202e}";
        let shown = html(name);
        assert!(
            !shown.contains("<script") && shown.contains("&lt;script&gt;") && shown.contains("␛[2J"),
            "{shown}"
        );
        assert!(
            markdown(name).contains("\\|a\\_b &amp; 50%␛\\[2J"),
            "{}",
            markdown(name)
        );
        assert!(latex(name).contains("a\\_b \\& 50\\%"), "{}", latex(name));
        assert_eq!(markdown("a\n| b"), "a \\| b");
    }

    #[test]
    fn a_code_block_cannot_be_left_from_within() {
        assert!(code_block("a\n````\nb").starts_with("`````text\na\n````\nb\n`````"));
    }
}
