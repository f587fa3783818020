//! Long foreign text as lines of a given width: loops folded, the match lit, every cluster safe.

use std::ops::Range;

use crate::diagnose::Tail;
use crate::text::safe::{Kind, clusters, tab_width};
use crate::text::thousands;

use super::theme::{Role, Theme};

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

/// What is lit and what is folded in an output.
#[derive(Debug, Clone, Default)]
pub struct Lights<'a> {
    pub matched: Option<Range<usize>>,
    pub evidence: Option<Range<usize>>,
    pub tail: Option<&'a Tail>,
    pub found: &'a [Range<usize>],
    /// Whether loops and the text after the match are folded.
    pub folds: bool,
}

/// Code points of the text after the match that stay in sight when it is folded.
const AFTER_MATCH: usize = 160;

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

    /// A text with found stretches lit.
    pub fn with_found(text: &'a str, found: &[Range<usize>]) -> Passage<'a> {
        let mut passage = Passage::default();
        passage.lit(
            text,
            0..text.len(),
            Role::Plain,
            &Lights {
                found,
                ..Lights::default()
            },
        );
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
        let matched = lights
            .matched
            .clone()
            .filter(|range| text.get(range.clone()).is_some() && range.start >= begin);
        let tail = lights
            .tail
            .filter(|tail| lights.folds && text.is_char_boundary(tail.start + tail.unit));
        let end = tail.map_or(text.len(), |tail| tail.start + tail.unit);
        let rule = theme.rule();
        match matched {
            Some(range) if range.end <= end => {
                let (open, close) = theme.match_marks();
                passage.lit(text, begin..range.start, Role::Plain, lights);
                passage.push(open, range.start, Role::Match);
                passage.push(&text[range.clone()], range.start, Role::Match);
                passage.push(close, range.end, Role::Match);
                let mut rest = range.end..end;
                // The rest of the sentence's line still belongs to it.
                let line_end = text[rest.clone()].find('\n').map_or(rest.end, |at| rest.start + at);
                if text[rest.start..line_end].chars().count() < 40 {
                    passage.lit(text, rest.start..line_end, Role::Plain, lights);
                    rest.start = line_end;
                }
                if !text[rest.clone()].trim().is_empty() {
                    rest.start += text[rest.clone()].len() - text[rest.clone()].trim_start().len();
                    passage.push(
                        format!("\n{rule} text after the match {rule}\n"),
                        rest.start,
                        Role::Mark,
                    );
                    let shown = rest.start + fold_at(&text[rest.clone()], lights.folds);
                    passage.lit(text, rest.start..shown, Role::Dim, lights);
                    if shown < rest.end {
                        let hidden = text[shown..rest.end].chars().count();
                        passage.push(
                            format!("\n{rule} {} more characters (z) {rule}", thousands(hidden)),
                            shown,
                            Role::Mark,
                        );
                    }
                }
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

    /// A stretch with its evidence and found parts lit.
    fn lit(&mut self, text: &'a str, range: Range<usize>, role: Role, lights: &Lights) {
        let mut edges = vec![range.start, range.end];
        for part in lights.evidence.iter().chain(lights.found) {
            edges.extend([part.start, part.end].into_iter().filter(|edge| range.contains(edge)));
        }
        edges.sort_unstable();
        edges.dedup();
        let within = |part: &Range<usize>, start: usize| part.contains(&start);
        for pair in edges.windows(2) {
            let Some(stretch) = text.get(pair[0]..pair[1]) else {
                continue;
            };
            let role = if lights.found.iter().any(|part| within(part, pair[0])) {
                Role::Found
            } else if lights.evidence.as_ref().is_some_and(|part| within(part, pair[0])) {
                Role::Evidence
            } else {
                role
            };
            self.push(stretch, pair[0], role);
        }
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

/// A line being filled.
struct Layout {
    width: usize,
    lines: Vec<Laid>,
    line: Laid,
    column: usize,
    /// After the last white space of the line: span, byte in it, column.
    break_at: Option<(usize, usize, usize)>,
    fresh: bool,
}

impl Layout {
    fn new(width: usize) -> Layout {
        Layout {
            width,
            lines: Vec::new(),
            line: Laid::default(),
            column: 0,
            break_at: None,
            fresh: true,
        }
    }

    fn put(&mut self, shown: &str, cells: usize, role: Role, start: usize, is_space: bool) {
        if self.column + cells > self.width && self.column > 0 {
            if is_space && !self.line.spans.is_empty() {
                // White space hangs over the edge unseen.
                self.break_at = None;
                self.wrap(start + 1);
                return;
            }
            self.wrap(start);
        }
        if self.fresh {
            self.line.start = start;
            self.fresh = false;
        }
        match self.line.spans.last_mut() {
            Some((text, last)) if *last == role => text.push_str(shown),
            _ => self.line.spans.push((shown.to_owned(), role)),
        }
        self.column += cells;
        if is_space || cells == 2 {
            let (text, _) = &self.line.spans[self.line.spans.len() - 1];
            self.break_at = Some((self.line.spans.len() - 1, text.len(), self.column));
        }
    }

    /// Ends the full line, at its last white space where there is one.
    fn wrap(&mut self, start: usize) {
        let Some((span, byte, column)) = self.break_at.take() else {
            self.end_line(start);
            self.line.start = start;
            return;
        };
        let mut rest = self.line.spans.split_off(span + 1);
        let (text, role) = &mut self.line.spans[span];
        let carried = text.split_off(byte);
        let role = *role;
        if !carried.is_empty() {
            rest.insert(0, (carried, role));
        }
        let carried_columns = self.column - column;
        self.end_line(start);
        self.line.spans = rest;
        self.column = carried_columns;
        // Good enough for finding the line of a place: the carried word began a little before.
        self.line.start = start.saturating_sub(self.line.text().len());
        self.fresh = self.line.spans.is_empty();
    }

    fn end_line(&mut self, start: usize) {
        if self.fresh {
            self.line.start = start;
        }
        self.lines.push(std::mem::take(&mut self.line));
        self.column = 0;
        self.break_at = None;
        self.fresh = true;
    }

    fn finish(mut self) -> Vec<Laid> {
        if !self.line.spans.is_empty() || self.lines.is_empty() {
            self.end_line(0);
        }
        self.lines
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
            matched: Some(7..20),
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
