//! The two texts of a pair: as they are, aligned word by word, or their prompts.

use crate::extract::Rule;
use crate::record::Record;
use crate::text::count;
use crate::tui::panes::Around;
use crate::tui::panes::output;
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

    /// Reads in another way, from the beginning.
    pub fn turn(&mut self, change: impl FnOnce(&mut Reading)) {
        change(self);
        self.rewind();
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

    /// Both texts as lines, each with the line at which it begins by itself, for a pane of so many columns and lines.
    pub fn lay(
        &self,
        (a, b): (&Record, &Record),
        rules: (&Rule, &Rule),
        size: (usize, usize),
        around: &Around,
    ) -> [(Vec<Laid>, usize); 2] {
        let theme = around.theme;
        let page = Page {
            folds: self.folds,
            width: size.0,
            theme,
        };
        if self.prompts {
            return page.prompts(&a.prompt, &b.prompt).map(|lines| (lines, 0));
        }
        if self.is_aligned {
            return page
                .aligned(&a.reasoning, &b.reasoning, "outputs")
                .map(|lines| (lines, 0));
        }
        let view = output::View {
            size,
            folds: self.folds,
            find: around.find,
            renders: around.renders,
        };
        let first = output::lay(a, &Read::of(a, rules.0), view, theme);
        let shared = common_beginning(&a.reasoning, &b.reasoning);
        let is_folded = self.folds && a.reasoning[..shared].chars().count() >= SHARED;
        let second = output::lay(b, &Read::of(b, rules.1), view, theme);
        let second = if is_folded {
            folded_beginning(b, shared, second, (size, theme))
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
    whole: output::Output,
    (size, theme): ((usize, usize), &Theme),
) -> (Vec<Laid>, usize) {
    let chars = count(record.reasoning[..shared].chars().count(), "char");
    let dots = theme.dots();
    if shared == record.reasoning.len() {
        let text = format!("{dots} (the same, {chars})");
        return (Passage::remarked(&text, Role::Mark).lay(size.0, theme.ascii), 0);
    }
    // The first line in which something differs.
    let from = whole.lines.iter().rposition(|line| line.start <= shared).unwrap_or(0);
    let mark = format!("{dots} (same for {chars}, then differs)");
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

/// How two texts are held against each other.
#[derive(Clone, Copy)]
struct Page<'a> {
    folds: bool,
    width: usize,
    theme: &'a Theme,
}

impl Page<'_> {
    /// How the prompts differ, as far as they are known.
    fn prompts(&self, a: &str, b: &str) -> [Vec<Laid>; 2] {
        let text = match (a.is_empty(), b.is_empty()) {
            (false, false) => return self.aligned(a, b, "prompts"),
            (true, true) => "neither file stores the prompt",
            (true, false) => "the file of A stores no prompt",
            (false, true) => "the file of B stores no prompt",
        };
        [self.mark(text, Role::Strong), self.mark(text, Role::Strong)]
    }

    fn mark(&self, text: &str, role: Role) -> Vec<Laid> {
        Passage::remarked(text, role).lay(self.width, self.theme.ascii)
    }

    /// Both texts with equal words on equal lines.
    fn aligned(&self, a: &str, b: &str, what: &str) -> [Vec<Laid>; 2] {
        let mut sides: [Vec<Laid>; 2] = [Vec::new(), Vec::new()];
        let hunks = hunks(a, b);
        if hunks.iter().all(|hunk| hunk.is_equal) {
            let text = format!("the {what} are the same, {}", count(a.chars().count(), "char"));
            let mark = self.mark(&text, Role::Strong);
            sides.iter_mut().for_each(|side| side.extend(mark.clone()));
        }
        for hunk in &hunks {
            let laid = [(a, &hunk.a), (b, &hunk.b)].map(|(text, range)| self.hunk(hunk, &text[range.clone()]));
            let tall = laid.iter().map(Vec::len).max().unwrap_or(0);
            for (side, mut lines) in sides.iter_mut().zip(laid) {
                lines.resize(tall, Laid::default());
                side.extend(lines);
            }
        }
        sides
    }

    fn hunk(&self, hunk: &Hunk, text: &str) -> Vec<Laid> {
        if text.is_empty() {
            return self.mark(if self.theme.ascii { "-" } else { "∅" }, Role::Mark);
        }
        let role = if hunk.is_equal { Role::Dim } else { Role::Strong };
        let mut lines = self.mark(text.trim_end(), role);
        if hunk.is_equal && self.folds && lines.len() > 3 {
            let left_out = count(lines.len() - 2, "equal line");
            let text = format!("{} {left_out} (z)", self.theme.dots());
            lines.splice(1..lines.len() - 1, self.mark(&text, Role::Mark));
        }
        lines
    }
}
