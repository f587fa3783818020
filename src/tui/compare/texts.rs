//! The two texts of a pair: as they are, as one with its differences, or their prompts.

use crate::extract::Rule;
use crate::record::Record;
use crate::text::count;
use crate::tui::panes::Around;
use crate::tui::panes::output;
use crate::tui::passage::{Laid, Passage};
use crate::tui::reading::Reading as Read;
use crate::tui::shelf::Side;
use crate::tui::strip::Strip;
use crate::tui::theme::{Role, Theme};

use super::changed::say_change;
use super::diff::{common_beginning, hunks};

/// Characters that two texts must share at their beginning for that to be folded.
const SHARED: usize = 40;

/// How the texts are read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// One text of both, with what only one of them has in brackets.
    pub is_aligned: bool,
    /// What is equal is left out of B, or its middle folded.
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

    /// Scrolls one text, or both where they are one.
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
        if a.logprobs.is_some() && !self.prompts {
            let scores = |record| output::scores(record, size.0.saturating_sub(22).min(40), theme);
            let [a, b] = [a, b].map(|record| scores(record).into_iter().map(Strip::laid).collect::<Vec<_>>());
            let both = || [a.clone(), vec![Laid::default()], b.clone()].concat();
            return if self.is_aligned { [both(), both()] } else { [a, b] }.map(|lines| (lines, 0));
        }
        if self.is_together() {
            let lines = match self.prompts {
                true => page.prompts(&a.prompt, &b.prompt),
                false => page.difference(&a.reasoning, &b.reasoning, "outputs"),
            };
            return [(lines.clone(), 0), (lines, 0)];
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
    fn prompts(&self, a: &str, b: &str) -> Vec<Laid> {
        self.mark(match (a.is_empty(), b.is_empty()) {
            (false, false) => return self.difference(a, b, "prompts"),
            (true, true) => "neither file stores the prompt",
            (true, false) => "the file of A stores no prompt",
            (false, true) => "the file of B stores no prompt",
        })
    }

    fn mark(&self, text: &str) -> Vec<Laid> {
        Passage::remarked(text, Role::Strong).lay(self.width, self.theme.ascii)
    }

    /// One text: what both have, with what only A or only B has in brackets in its place.
    fn difference(&self, a: &str, b: &str, what: &str) -> Vec<Laid> {
        if a == b {
            return self.mark(&format!(
                "the {what} are the same, {}",
                count(a.chars().count(), "char")
            ));
        }
        let mut passage = Passage::default();
        for hunk in hunks(a, b) {
            match hunk.is_equal {
                true => self.say_equal(&mut passage, &a[hunk.a]),
                false => say_change(&mut passage, &a[hunk.a], &b[hunk.b]),
            }
        }
        passage.lay(self.width, self.theme.ascii)
    }

    /// What both texts have; the middle of a long stretch is folded.
    fn say_equal(&self, passage: &mut Passage, text: &str) {
        let chars = text.chars().count();
        if !self.folds || chars < 6 * SHARED {
            return passage.say(text.to_owned(), Role::Plain);
        }
        let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
        let (head, tail) = (byte(2 * SHARED), byte(chars - 2 * SHARED));
        let dots = self.theme.dots();
        let mark = format!(" {dots} {} the same (z) {dots} ", count(chars - 4 * SHARED, "char"));
        passage.say(text[..head].to_owned(), Role::Plain);
        passage.say(mark, Role::Mark);
        passage.say(text[tail..].to_owned(), Role::Plain);
    }
}
