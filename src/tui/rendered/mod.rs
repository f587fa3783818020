//! A text as a reader would rather have it: its mark-up as what it means, where that fits on the line it stands on.
//!
//! Nothing is rewritten: a [`Token`] says which bytes of the source are shown as what, so that a match or a found place is
//! lit where it is, and whatever is not understood stays as it was written.

mod math;
mod table;

use std::ops::Range;

use super::theme::Role;

/// Bytes of a text that are shown as something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub range: Range<usize>,
    pub shown: String,
    pub role: Role,
}

/// What of a text is shown as something else, from its beginning to its end, on lines of at most `width` columns. In
/// `ascii`, formulas stay as they are.
pub fn tokens(text: &str, width: usize, ascii: bool) -> Vec<Token> {
    let mut scan = Scan {
        tokens: Vec::new(),
        ascii,
    };
    let (mut at, mut is_code) = (0, false);
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
        let line = &text[at..end];
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            scan.push(at..end, "", Role::Dim);
        } else if is_code {
            scan.push(at..end, line, Role::Code);
        } else if let Some((lines, end)) = table::read(text, at).filter(|(lines, _)| table::width(lines) <= width) {
            lines
                .into_iter()
                .for_each(|(range, shown)| scan.push(range, shown, Role::Plain));
            at = end;
            continue;
        } else {
            scan.line(text, at..end);
        }
        at = end + 1;
    }
    scan.tokens
}

struct Scan {
    tokens: Vec<Token>,
    ascii: bool,
}

/// Openings and closings of formulas.
const FORMULAS: [(&str, &str); 4] = [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];

/// Openings of what has braces behind it and is read outside formulas too.
const BARE: [&str; 4] = ["\\boxed{", "\\frac{", "\\sqrt{", "\\text{"];

impl Scan {
    fn push(&mut self, range: Range<usize>, shown: impl Into<String>, role: Role) {
        let shown = shown.into();
        self.tokens.push(Token { range, shown, role });
    }

    /// A line that is neither code nor of a table.
    fn line(&mut self, text: &str, range: Range<usize>) {
        let line = &text[range.clone()];
        let indent = line.len() - line.trim_start().len();
        let (mut at, body) = (range.start + indent, &line[indent..]);
        let hashes = body.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&hashes) && body[hashes..].starts_with(' ') {
            let title = body[hashes..].trim().trim_matches('*');
            self.push(at..range.end, title, Role::Strong);
            return;
        }
        if !self.ascii && (body.starts_with("* ") || body.starts_with("- ")) {
            self.push(at..at + 1, "•", Role::Plain);
            at += 2;
        }
        while at < range.end {
            let rest = &text[at..range.end];
            let taken = self.inline(rest, at, &text[at..]);
            at += taken.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        }
    }

    /// What begins here, and the bytes that it takes; `rest` is the line's, `beyond` that of the text.
    fn inline(&mut self, rest: &str, at: usize, beyond: &str) -> Option<usize> {
        match rest.as_bytes()[0] {
            b'*' => self.between(rest, at, "**", Role::Strong),
            b'`' => self.between(rest, at, "`", Role::Code),
            b'$' | b'\\' if !self.ascii || rest.starts_with("\\boxed{") => self.formula(rest, at, beyond),
            _ => None,
        }
    }

    fn between(&mut self, rest: &str, at: usize, mark: &str, role: Role) -> Option<usize> {
        let inner = rest.strip_prefix(mark)?;
        let end = inner.find(mark).filter(|end| *end > 0)?;
        let inner = &inner[..end];
        if inner.trim() != inner {
            return None;
        }
        let taken = end + 2 * mark.len();
        let shown = match math::shown(inner) {
            Some(shown) if role == Role::Strong && inner.contains('\\') => shown,
            _ => inner.to_owned(),
        };
        self.push(at..at + taken, shown, role);
        Some(taken)
    }

    fn formula(&mut self, rest: &str, at: usize, beyond: &str) -> Option<usize> {
        let bare = BARE.iter().find(|open| rest.starts_with(**open));
        if let Some(open) = bare {
            let taken = math::braced(&rest[open.len() - 1..])? + open.len() - 1;
            // The second pair of braces belongs to it too.
            let taken = match rest[taken..].starts_with('{') && *open == "\\frac{" {
                true => taken + math::braced(&rest[taken..])?,
                false => taken,
            };
            let role = if *open == "\\boxed{" { Role::Strong } else { Role::Plain };
            self.push(at..at + taken, math::shown(&rest[..taken])?, role);
            return Some(taken);
        }
        for (open, close) in FORMULAS {
            let Some(inner) = beyond.strip_prefix(open) else {
                continue;
            };
            let end = inner.find(close)?;
            let formula = &inner[..end];
            let is_money = open == "$" && {
                let follows = inner[end + 1..].starts_with(|c: char| c.is_ascii_digit());
                formula.is_empty() || formula.trim() != formula || follows
            };
            // What is set on lines of its own is read as one where it is one.
            if is_money || formula.trim().contains('\n') {
                return None;
            }
            let taken = end + open.len() + close.len();
            let role = if formula.contains("\\boxed") {
                Role::Strong
            } else {
                Role::Plain
            };
            self.push(at..at + taken, math::shown(formula.trim())?, role);
            return Some(taken);
        }
        let (name, shown) = math::symbol_at(rest)?;
        self.push(at..at + name, shown, Role::Plain);
        Some(name)
    }
}

/// A text as it is shown.
#[cfg(test)]
fn shown(text: &str) -> String {
    let (mut shown, mut at) = (String::new(), 0);
    for token in tokens(text, 80, false) {
        shown.push_str(&text[at..token.range.start]);
        shown.push_str(&token.shown);
        at = token.range.end;
    }
    shown + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mark_up_is_shown_as_what_it_means() {
        for (text, wanted) in [
            ("so $\\frac{\\pi}{2}$ it is", "so π/2 it is"),
            ("The answer is \\boxed{A}.", "The answer is [A]."),
            ("**Answer: (B)** then `x = 1`", "Answer: (B) then x = 1"),
            ("### Step 1\n* one\n- two", "Step 1\n• one\n• two"),
            ("\\(x^2 \\leq 3\\) and \\[ a_1 = 4 \\]", "x² ≤ 3 and a₁ = 4"),
            ("```python\nprint(1)\n```\nend", "\nprint(1)\n\nend"),
            ("3 \\times 4 = 12", "3 × 4 = 12"),
            ("答案是 $\\alpha$。", "答案是 α。"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }

    #[test]
    fn what_is_not_understood_stays_as_it_was_written() {
        for text in [
            "it costs $5 and $10",
            "2 * 3 * 4 ** 5",
            "$\\begin{pmatrix} 1 \\end{pmatrix}$",
            "C:\\users\\new",
            "\\boxed{unclosed",
            "$$\na\nb\n$$",
            "a ` b",
            "\\",
            "$",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn tokens_come_in_order_and_lie_inside_the_text() {
        let text = "| a | b |\n|---|---|\n| 1 | $x$ |\n**é** `ü` $\\sqrt{2}$ \\frac{1}{2} # no\n## yes\n```\ncode";
        let mut at = 0;
        for token in tokens(text, 80, false) {
            assert!(
                token.range.start >= at && text.get(token.range.clone()).is_some(),
                "{token:?}"
            );
            at = token.range.end;
        }
        assert!(at <= text.len());
    }
}
