//! The two texts of a pair: as they are, aligned word by word, or their prompts.

use crate::extract::Rule;
use crate::record::Record;
use crate::text::thousands;
use crate::tui::panes::output::{self, Find};
use crate::tui::passage::{Laid, Passage};
use crate::tui::reading::Reading as Read;
use crate::tui::shelf::Side;
use crate::tui::theme::{Role, Theme};

use super::diff::{Hunk, common_beginning, hunks};

/// Characters that two texts must share at their beginning for that to be folded.
const SHARED: usize = 40;

/// How the texts are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The same words stand on the same line, what differs is lit.
    pub is_aligned: bool,
    /// What is equal is left out of B.
    pub folds: bool,
    /// The prompts instead of the outputs.
    pub prompts: bool,
    /// First line in sight, of A and of B; `None`: where the match shows.
    scrolls: [Option<usize>; 2],
}

impl Default for Reading {
    fn default() -> Reading {
        Reading {
            is_aligned: false,
            folds: true,
            prompts: false,
            scrolls: [None; 2],
        }
    }
}

impl Reading {
    /// Back to where texts begin by themselves.
    pub fn rewind(&mut self) {
        self.scrolls = [None; 2];
    }

    pub fn scroll(&self, side: Side) -> Option<usize> {
        self.scrolls[side as usize]
    }

    /// Scrolls one text, or both where they are aligned.
    pub fn scroll_to(&mut self, side: Side, line: usize) {
        if self.is_together() {
            self.scrolls = [Some(line); 2];
        } else {
            self.scrolls[side as usize] = Some(line);
        }
    }

    /// Whether both texts are scrolled as one.
    pub fn is_together(&self) -> bool {
        self.is_aligned || self.prompts
    }

    /// Both texts as lines, each with the line at which it begins by itself. `sizes` are the columns and lines there are.
    pub fn lay(
        &self,
        records: (&Record, &Record),
        rules: (&Rule, &Rule),
        size: (usize, usize),
        find: Option<&Find>,
        theme: &Theme,
    ) -> [(Vec<Laid>, usize); 2] {
        let (a, b) = records;
        if self.prompts {
            return aligned(&a.prompt, &b.prompt, "prompts", self.folds, size.0, theme).map(|lines| (lines, 0));
        }
        if self.is_aligned {
            return aligned(&a.reasoning, &b.reasoning, "outputs", self.folds, size.0, theme).map(|lines| (lines, 0));
        }
        let lay = |record: &Record, rule: &Rule| {
            let read = Read::of(record, rule);
            output::lay(record, &read, size, self.folds, find, theme)
        };
        let (first, second) = (lay(a, rules.0), lay(b, rules.1));
        let shared = common_beginning(&a.reasoning, &b.reasoning);
        let is_folded = self.folds && a.reasoning[..shared].chars().count() >= SHARED;
        let second = if is_folded {
            folded_beginning(b, shared, rules.1, size, find, theme)
        } else {
            (second.lines, second.from)
        };
        [(first.lines, first.from), second]
    }
}

/// A text whose beginning another text has too.
fn folded_beginning(
    record: &Record,
    shared: usize,
    rule: &Rule,
    size: (usize, usize),
    find: Option<&Find>,
    theme: &Theme,
) -> (Vec<Laid>, usize) {
    let chars = thousands(record.reasoning[..shared].chars().count());
    let dots = if theme.ascii { "..." } else { "…" };
    if shared == record.reasoning.len() {
        let text = format!("{dots} (the same, {chars} chars)");
        return (Passage::remarked(&text, Role::Mark).lay(size.0, theme.ascii), 0);
    }
    let read = Read::of(record, rule);
    let whole = output::lay(record, &read, size, true, find, theme);
    // The first line in which something differs.
    let from = whole.lines.iter().rposition(|line| line.start <= shared).unwrap_or(0);
    let mark = format!("{dots} (same for {chars} chars, then differs)");
    let mut lines = Passage::remarked(&mark, Role::Mark).lay(size.0, theme.ascii);
    lines.extend(whole.lines.into_iter().skip(from));
    let place = whole.place.map_or(0, |place| place.saturating_sub(from) + 1);
    let first = if place + 2 > size.1 {
        place.saturating_sub(size.1 * 2 / 3)
    } else {
        0
    };
    (lines, first)
}

/// Both texts with equal words on equal lines.
fn aligned(a: &str, b: &str, what: &str, folds: bool, width: usize, theme: &Theme) -> [Vec<Laid>; 2] {
    let mut sides: [Vec<Laid>; 2] = [Vec::new(), Vec::new()];
    let hunks = hunks(a, b);
    if hunks.iter().all(|hunk| hunk.is_equal) {
        let text = format!("the {what} are the same, {} chars", thousands(a.chars().count()));
        let mark = Passage::remarked(&text, Role::Strong).lay(width, theme.ascii);
        sides.iter_mut().for_each(|side| side.extend(mark.clone()));
    }
    for hunk in &hunks {
        let laid =
            [(a, &hunk.a), (b, &hunk.b)].map(|(text, range)| lay_hunk(hunk, &text[range.clone()], folds, width, theme));
        let tall = laid.iter().map(Vec::len).max().unwrap_or(0);
        for (side, mut lines) in sides.iter_mut().zip(laid) {
            lines.resize(tall, Laid::default());
            side.extend(lines);
        }
    }
    sides
}

fn lay_hunk(hunk: &Hunk, text: &str, folds: bool, width: usize, theme: &Theme) -> Vec<Laid> {
    if text.is_empty() {
        let mark = if theme.ascii { "-" } else { "∅" };
        return Passage::remarked(mark, Role::Mark).lay(width, theme.ascii);
    }
    let role = if hunk.is_equal { Role::Dim } else { Role::Evidence };
    let mut lines = Passage::remarked(text.trim_end(), role).lay(width, theme.ascii);
    if hunk.is_equal && folds && lines.len() > 3 {
        let left_out = lines.len() - 2;
        let dots = if theme.ascii { "..." } else { "…" };
        let mark = Laid {
            spans: vec![(format!("{dots} {left_out} equal lines (z)"), Role::Mark)],
            start: 0,
        };
        lines.splice(1..lines.len() - 1, [mark]);
    }
    lines
}
