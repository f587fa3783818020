//! Long foreign text as lines of a given width: loops folded, the match lit, every cluster safe.

mod layout;

use std::ops::Range;

use crate::diagnose::Tail;
use crate::text::safe::{Kind, clusters, tab_width};
use crate::text::thousands;

use layout::Layout;

use super::rendered::Token;
use super::theme::{Outcome, Role, Theme};

/// A stretch of a passage: foreign text, or a remark of ours.
#[derive(Debug, Clone)]
struct Piece<'a> {
    text: std::borrow::Cow<'a, str>,
    /// Bytes before it in the source.
    offset: usize,
    role: Role,
}

/// Text to be laid out, with what each stretch of it means.
#[derive(Debug, Clone, Default)]
pub struct Passage<'a> {
    pieces: Vec<Piece<'a>>,
}

/// One line on the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Laid {
    pub spans: Vec<(String, Role)>,
    /// Where the line begins in the source, in bytes.
    pub start: usize,
}

impl Laid {
    pub fn text(&self) -> String {
        self.spans.iter().map(|(text, _)| text.as_str()).collect()
    }
}

/// The place where the rule matched, the pick within it, and what came of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lit {
    pub whole: Range<usize>,
    pub letter: Range<usize>,
    pub outcome: Outcome,
}

/// What is lit and what is folded in an output.
#[derive(Debug, Clone, Default)]
pub struct Lights<'a> {
    pub matched: Option<Lit>,
    pub evidence: Option<Range<usize>>,
    pub tail: Option<&'a Tail>,
    pub found: &'a [Range<usize>],
    /// Whether the thinking, loops and the text after the match are folded.
    pub folds: bool,
    /// What is shown as something else; nothing where the text is shown as it is.
    pub rendered: &'a [Token],
}

impl Lights<'_> {
    /// Where the stretches begin that look otherwise than what stands before them, within a part of the text.
    fn edges(&self, range: &Range<usize>) -> Vec<usize> {
        let matched = self.matched.iter().flat_map(|lit| [&lit.whole, &lit.letter]);
        let lit = matched.chain(&self.evidence).chain(self.found);
        let mut edges: Vec<usize> = lit.flat_map(|part| [part.start, part.end]).collect();
        edges.retain(|edge| range.contains(edge));
        edges.extend([range.start, range.end]);
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    fn role(&self, at: usize, plain: Role) -> Role {
        let lit = |choose: fn(&Lit) -> &Range<usize>| self.matched.as_ref().filter(|lit| choose(lit).contains(&at));
        if self.found.iter().any(|part| part.contains(&at)) {
            Role::Found
        } else if let Some(lit) = lit(|lit| &lit.letter) {
            Role::Letter(lit.outcome)
        } else if let Some(lit) = lit(|lit| &lit.whole) {
            Role::Match(lit.outcome)
        } else if self.evidence.as_ref().is_some_and(|part| part.contains(&at)) {
            Role::Evidence
        } else {
            plain
        }
    }
}

/// Code points of the text after the match that stay in sight when it is folded.
const AFTER_MATCH: usize = 160;

/// Characters of thinking that are not worth a fold.
const THOUGHT: usize = 200;

impl<'a> Passage<'a> {
    pub fn plain(text: &'a str) -> Passage<'a> {
        let mut passage = Passage::default();
        passage.push(text, 0, Role::Plain);
        passage
    }

    /// A text that is all of one kind.
    pub fn remarked(text: &'a str, role: Role) -> Passage<'a> {
        let mut passage = Passage::default();
        passage.push(text, 0, role);
        passage
    }

    /// Adds a stretch that has no place in a source.
    pub fn say(&mut self, text: String, role: Role) {
        self.push(text, 0, role);
    }

    /// A text with what is lit in it, none of it folded.
    pub fn with_lights(text: &'a str, lights: &Lights) -> Passage<'a> {
        let mut passage = Passage::default();
        passage.lit(text, 0..text.len(), Role::Plain, lights);
        passage
    }

    fn push(&mut self, text: impl Into<std::borrow::Cow<'a, str>>, offset: usize, role: Role) {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push(Piece { text, offset, role });
        }
    }

    /// A model's output.
    pub fn output(text: &'a str, lights: &Lights, theme: &Theme) -> Passage<'a> {
        let mut passage = Passage::default();
        // White space before the first word only shifts the first line.
        let begin = text.len() - text.trim_start_matches([' ', '\n']).len();
        let matched = lights.matched.as_ref().map(|lit| lit.whole.clone());
        let matched = matched.filter(|range| text.get(range.clone()).is_some() && range.start >= begin);
        let tail = lights
            .tail
            .filter(|tail| lights.folds && text.is_char_boundary(tail.start + tail.unit));
        let end = tail.map_or(text.len(), |tail| tail.start + tail.unit);
        let begin = passage.thought(text, begin..end, lights);
        match matched {
            Some(range) if range.start >= begin && range.end <= end => {
                let (open, close) = theme.match_marks();
                let role = lights
                    .matched
                    .as_ref()
                    .map_or(Role::Plain, |lit| Role::Match(lit.outcome));
                passage.lit(text, begin..range.start, Role::Plain, lights);
                passage.push(open, range.start, role);
                passage.lit(text, range.clone(), role, lights);
                passage.push(close, range.end, role);
                passage.after_match(text, range.end..end, lights, theme);
            }
            _ => passage.lit(text, begin.min(end)..end, Role::Plain, lights),
        }
        if let Some(tail) = tail {
            let chars = text[end..].chars().count();
            let mark = format!(" {}", theme.folded(tail.count.saturating_sub(1)));
            passage.push(mark, end, Role::Evidence);
            passage.push(format!(" · {} characters (z)", thousands(chars)), end, Role::Mark);
        }
        passage
    }

    /// Folds what stands before the last `</think>` of a part, unless something is lit in it; gives back where the rest
    /// begins.
    fn thought(&mut self, text: &str, part: Range<usize>, lights: &Lights) -> usize {
        const CLOSE: &str = "</think>";
        let inside = text.get(part.clone()).unwrap_or_default();
        let Some(close) = inside.rfind(CLOSE).filter(|_| lights.folds) else {
            return part.start;
        };
        let end = part.start + close + CLOSE.len();
        let chars = text[part.start..end].chars().count();
        let is_lit = |at: usize| lights.role(at, Role::Plain) != Role::Plain;
        if chars < THOUGHT
            || lights
                .edges(&(part.start..end))
                .into_iter()
                .any(|at| at < end && is_lit(at))
        {
            return part.start;
        }
        let mark = format!("<think> {} characters (z)\n", thousands(chars));
        self.push(mark, part.start, Role::Mark);
        end + text[end..].len() - text[end..].trim_start().len()
    }

    /// What follows the match: the rest of its line as it is, what comes then set apart and folded.
    fn after_match(&mut self, text: &'a str, mut rest: Range<usize>, lights: &Lights, theme: &Theme) {
        let rule = theme.rule();
        // The rest of the sentence's line still belongs to it.
        let line_end = text[rest.clone()].find('\n').map_or(rest.end, |at| rest.start + at);
        if text[rest.start..line_end].chars().count() < 40 {
            self.lit(text, rest.start..line_end, Role::Plain, lights);
            rest.start = line_end;
        }
        if text[rest.clone()].trim().is_empty() {
            return;
        }
        rest.start += text[rest.clone()].len() - text[rest.clone()].trim_start().len();
        let mark = format!("\n{rule} text after the match {rule}\n");
        self.push(mark, rest.start, Role::Mark);
        let shown = rest.start + fold_at(&text[rest.clone()], lights.folds);
        self.lit(text, rest.start..shown, Role::Dim, lights);
        if shown < rest.end {
            let hidden = text[shown..rest.end].chars().count();
            let mark = format!("\n{rule} {} more characters (z) {rule}", thousands(hidden));
            self.push(mark, shown, Role::Mark);
        }
    }

    /// A stretch with what is lit in it.
    fn lit(&mut self, text: &'a str, range: Range<usize>, role: Role, lights: &Lights) {
        for pair in lights.edges(&range).windows(2) {
            let role = lights.role(pair[0], role);
            self.stretch(text, pair[0]..pair[1], role, lights.rendered);
        }
    }

    /// A stretch that is all of one kind, with what lies whole within it shown as it is rendered.
    fn stretch(&mut self, text: &'a str, range: Range<usize>, role: Role, rendered: &[Token]) {
        let first = rendered.partition_point(|token| token.range.start < range.start);
        let mut at = range.start;
        for token in rendered[first..]
            .iter()
            .take_while(|token| token.range.end <= range.end)
        {
            self.push(text.get(at..token.range.start).unwrap_or_default(), at, role);
            let own = if role == Role::Plain { token.role } else { role };
            self.push(token.shown.clone(), token.range.start, own);
            at = token.range.end;
        }
        self.push(text.get(at..range.end).unwrap_or_default(), at, role);
    }

    /// Adds a remark of ours on its own line.
    pub fn remark(&mut self, text: String, role: Role) {
        self.push(format!("\n{text}"), usize::MAX, role);
    }

    /// Breaks the passage into lines of at most `width` columns, at white space where there is some.
    pub fn lay(&self, width: usize, ascii: bool) -> Vec<Laid> {
        let width = width.max(1);
        let mut layout = Layout::new(width);
        for piece in &self.pieces {
            for cluster in clusters(&piece.text, ascii) {
                let start = piece.offset.saturating_add(cluster.start);
                match cluster.kind {
                    Kind::Newline => layout.end_line(start),
                    Kind::Tab => {
                        let cells = tab_width(layout.column).min(width);
                        let shown = format!("{}{}", cluster.shown, " ".repeat(cells - 1));
                        layout.put(&shown, cells, Role::Mark, start, true);
                    }
                    Kind::Space => layout.put(&cluster.shown, cluster.width, piece.role, start, true),
                    Kind::Mark => {
                        let role = if piece.role == Role::Plain {
                            Role::Mark
                        } else {
                            piece.role
                        };
                        layout.put(&cluster.shown, cluster.width, role, start, false);
                    }
                    Kind::Plain => layout.put(&cluster.shown, cluster.width, piece.role, start, false),
                }
            }
        }
        layout.finish()
    }
}

/// Bytes of the text after the match that stay in sight.
fn fold_at(text: &str, folds: bool) -> usize {
    match text.char_indices().nth(AFTER_MATCH) {
        Some((at, _)) if folds && text[at..].chars().nth(AFTER_MATCH).is_some() => at,
        _ => text.len(),
    }
}

/// The line on which a place of the source is shown.
pub fn line_of(lines: &[Laid], byte: usize) -> usize {
    lines.iter().rposition(|line| line.start <= byte).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEME: Theme = Theme::PLAIN;

    fn lines(passage: &Passage, width: usize) -> Vec<String> {
        passage
            .lay(width, false)
            .iter()
            .map(|line| line.text().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn lines_break_at_white_space_and_long_words_at_the_edge() {
        let text = "one two three\n\n  indented abcdefghijkl";
        assert_eq!(
            lines(&Passage::plain(text), 8),
            ["one two", "three", "", "", "indented", "abcdefgh", "ijkl"]
        );
        assert_eq!(lines(&Passage::plain("答案是答案"), 5), ["答案", "是答", "案"]);
        assert_eq!(lines(&Passage::plain(""), 5), [""]);
    }

    #[test]
    fn tabs_advance_to_stops_of_eight() {
        let laid = Passage::plain("a\tb").lay(20, false);
        assert_eq!(laid[0].text(), "a→      b");
    }

    #[test]
    fn a_lone_carriage_return_stays_on_its_line() {
        assert_eq!(
            lines(&Passage::plain("wrong\rright\r\nnext"), 20),
            ["wrong␍right", "next"]
        );
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        use unicode_width::UnicodeWidthStr;
        let text = "👩\u{200d}💻 ok 答案是C\tx\u{1b}[31m a\u{301}\u{301} ".repeat(9);
        for width in 1..30 {
            for line in Passage::plain(&text).lay(width, false) {
                let columns = line.text().width();
                assert!(
                    columns <= width.max(6),
                    "{columns} columns of {width}: {:?}",
                    line.text()
                );
            }
        }
    }

    #[test]
    fn the_match_is_marked_and_what_follows_it_is_set_apart() {
        let text = "So the answer is (C).\nQuestion: another one";
        let lights = Lights {
            matched: Some(Lit {
                whole: 7..20,
                letter: 18..19,
                outcome: Outcome::Right,
            }),
            folds: true,
            ..Lights::default()
        };
        let passage = Passage::output(text, &lights, &THEME);
        assert_eq!(
            lines(&passage, 60),
            [
                "So the ⟦answer is (C)⟧.",
                "┄ text after the match ┄",
                "Question: another one"
            ]
        );
    }

    #[test]
    fn what_is_lit_stands_at_the_same_words_raw_and_rendered() {
        let text = "By $\\frac{\\pi}{2}$ the **answer is (C)** here";
        let tokens = crate::tui::rendered::tokens(text, 80, false);
        let start = text.find("answer").unwrap();
        let lit = Lit {
            whole: start..start + 13,
            letter: start + 11..start + 12,
            outcome: Outcome::Wrong,
        };
        let of = |rendered: &[Token]| {
            let lights = Lights {
                matched: Some(lit.clone()),
                rendered,
                ..Lights::default()
            };
            let laid = Passage::output(text, &lights, &THEME).lay(80, false).remove(0);
            let letter = laid
                .spans
                .iter()
                .find(|(_, role)| *role == Role::Letter(Outcome::Wrong));
            (laid.text(), letter.unwrap().0.clone())
        };
        assert_eq!(of(&[]).1, "C");
        assert_eq!(of(&tokens), ("By π/2 the **⟦answer is (C)⟧** here".into(), "C".into()));
    }

    #[test]
    fn thinking_folds_unless_something_in_it_is_lit() {
        let text = format!("<think>{}</think>\n\nThe answer is (C).", "Let me see. ".repeat(30));
        let folds = Lights {
            folds: true,
            ..Lights::default()
        };
        let shown = |lights: &Lights| lines(&Passage::output(&text, lights, &THEME), 60);
        assert_eq!(shown(&folds), ["<think> 375 characters (z)", "The answer is (C)."]);
        let lit = Lights {
            evidence: Some(20..30),
            ..folds
        };
        assert!(shown(&lit).len() > 5 && shown(&Lights::default()).len() > 5);
    }

    #[test]
    fn a_loop_folds_to_one_copy_and_its_count() {
        let text = "Start. It is the view. It is the view. It is the view. It is";
        let tail = Tail {
            start: 7,
            unit: 16,
            count: 3,
            end: text.len(),
        };
        let folded = Lights {
            tail: Some(&tail),
            folds: true,
            ..Lights::default()
        };
        assert_eq!(
            lines(&Passage::output(text, &folded, &THEME), 80),
            ["Start. It is the view.  ↻ ×2 · 37 characters (z)"]
        );
        let open = Lights { folds: false, ..folded };
        assert_eq!(lines(&Passage::output(text, &open, &THEME), 80), [text]);
    }

    #[test]
    fn found_and_evidence_stretches_get_their_roles() {
        let lights = Lights {
            evidence: Some(0..5),
            found: std::slice::from_ref(&(3..8)),
            ..Lights::default()
        };
        let laid = Passage::output("abcdefghij", &lights, &THEME).lay(20, false);
        let roles: Vec<(&str, Role)> = laid[0]
            .spans
            .iter()
            .map(|(text, role)| (text.as_str(), *role))
            .collect();
        assert_eq!(
            roles,
            [("abc", Role::Evidence), ("defgh", Role::Found), ("ij", Role::Plain)]
        );
    }
}
