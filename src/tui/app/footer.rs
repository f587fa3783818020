//! The line of keys at the bottom, made from the screen, its mode, and what is in focus.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::tui::canvas::Canvas;
use crate::tui::keymap::{self, Action, Binding, Screen};
use crate::tui::panes::filter_line;
use crate::tui::theme::{Role, Theme};

use super::App;

/// A key in the footer: where it stands, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footed {
    pub x: u16,
    pub width: u16,
    pub key: &'static str,
    pub label: &'static str,
}

type Hint = (&'static str, &'static str);

/// Keys of the line in which the lab's rule is typed.
const TYPING: [Hint; 5] = [
    ("⏎", "keeps"),
    ("Esc", "restores"),
    ("^u", "empties"),
    ("Tab", "what flips"),
    ("↓", "/↑ row"),
];

/// Keys of blind mode, beside help and quit.
const BLIND: [Hint; 6] = [
    ("A", "/J answers"),
    ("n", "/N next question"),
    ("p", "prompt"),
    ("m", "mark"),
    ("b", "ends blind mode"),
    ("?", "keys"),
];

impl App {
    /// Where the keys of the screen stand.
    pub(super) fn footer_area(&self, area: Rect) -> Rect {
        match self.screen() {
            Screen::Browse => self.places(area).footer,
            _ => Rect {
                y: area.bottom().saturating_sub(1),
                height: area.height.min(1),
                ..area
            },
        }
    }

    /// The keys as far as they fit, and on the live screens the filter, which has no line of its own there.
    pub(super) fn draw_keys(&self, canvas: &mut Canvas) {
        let area = canvas.area();
        let filter = match self.screen() {
            Screen::Live | Screen::Exam if !self.workspace.filter.words().is_empty() => {
                filter_line::chips(canvas.strip().dim(" filter "), &self.workspace.filter)
            }
            _ => canvas.strip(),
        };
        let room = area.width.saturating_sub(filter.width() as u16);
        for footed in self.footer(Rect { width: room, ..area }) {
            let (key, label) = footed.texts(canvas.theme);
            let mut place = canvas.at(Rect {
                x: area.x + footed.x,
                width: footed.width,
                ..area
            });
            let strip = place.strip().put(key, Role::Key).dim(format!(" {label}"));
            place.line(0, strip);
        }
        canvas.right(0, filter);
    }

    /// The keys that fit into the footer; the last two, help and quit, always do.
    pub(super) fn footer(&self, area: Rect) -> Vec<Footed> {
        let gap = if area.width >= 100 { 2 } else { 1 };
        let mut hints = self.hints();
        let width = |(key, label): &Hint| {
            let (key, label) = texts(key, label, &self.theme);
            (key.width() + 1 + label.width()) as u16 + gap
        };
        let mut total: u16 = 1 + hints.iter().map(width).sum::<u16>();
        while total > area.width + gap && hints.len() > 1 {
            let is_kept = |(key, _): &Hint| matches!(*key, "?" | "q");
            let drop = hints.iter().rposition(|hint| !is_kept(hint)).unwrap_or(0);
            total -= width(&hints.remove(drop));
        }
        let mut x = 1;
        let place = |hint: &Hint| {
            let footed = Footed {
                x,
                width: width(hint) - gap,
                key: hint.0,
                label: hint.1,
            };
            x += width(hint);
            footed
        };
        hints.iter().map(place).collect()
    }

    /// The keys worth telling now, help and quit last.
    fn hints(&self) -> Vec<Hint> {
        let screen = self.screen();
        if self
            .lab
            .as_ref()
            .is_some_and(|lab| screen == Screen::Lab && lab.is_typing)
        {
            return TYPING.to_vec();
        }
        let quit = keymap::bindings(screen).find(|binding| binding.keys == ["q"]);
        let quit = quit.and_then(|binding| Some(("q", self.label(screen, binding)?)));
        let is_blind = self.workspace.is_blind && matches!(screen, Screen::Browse | Screen::Question);
        if is_blind {
            return BLIND.into_iter().chain(quit).collect();
        }
        let told = keymap::bindings(screen).filter_map(|binding| {
            let label = self.label(screen, binding)?;
            Some((binding.keys[0], label))
        });
        let mut hints: Vec<Hint> = told.filter(|(key, _)| !matches!(*key, "?" | "q")).collect();
        hints.push(("?", "keys"));
        hints.extend(quit);
        hints
    }

    /// What a key does as things stand, in a word or two; `None` where it does nothing, or is not worth telling.
    fn label(&self, screen: Screen, binding: &Binding) -> Option<&'static str> {
        let attempts = self.attempts();
        let is_cloze = self.is_cloze_open();
        let is_over = self.live.as_ref().is_some_and(|live| live.is_over());
        let label = match (screen, binding.action) {
            (Screen::Browse, Action::Open) => match self.word_in_focus() {
                Some((_, Some(word))) if self.words().contains(&word) => "drop filter",
                Some(_) => "filter",
                None => "open",
            },
            (Screen::Question, Action::Left | Action::Arrange) if is_cloze || attempts < 2 => return None,
            (Screen::Question, Action::Fold) if is_cloze => return None,
            (Screen::Compare, Action::Open) if self.reads_categories() => "filter",
            (Screen::Live | Screen::Exam, Action::Pause | Action::Less | Action::Follow) if is_over => return None,
            (Screen::Exam, Action::Open) if self.is_on_running() => "watch",
            (Screen::Live | Screen::Exam, Action::Quit) if !is_over && self.screens.len() == 1 => "stop and save",
            (_, Action::Quit) if self.screens.len() > 1 => "back",
            _ => binding.label,
        };
        (!label.is_empty()).then_some(label)
    }

    /// Whether the question that is open was scored, not sampled.
    fn is_cloze_open(&self) -> bool {
        let row = self.panes.question.row.zip(self.workspace.rows());
        row.is_some_and(|(row, rows)| rows.scored.get(row as usize).copied().unwrap_or(false))
    }

    fn reads_categories(&self) -> bool {
        self.compare.as_ref().is_some_and(|compare| compare.reads_categories)
    }

    /// Whether the cursor of the feed stands on an answer that is being written.
    fn is_on_running(&self) -> bool {
        self.live
            .as_ref()
            .is_some_and(|live| live.running_under_cursor().is_some())
    }
}

impl Footed {
    fn texts(&self, theme: &Theme) -> (String, &'static str) {
        texts(self.key, self.label, theme)
    }
}

/// The key as shown, and what it does. A label `/l attempt` of the key `h` is shown as `h/l attempt`.
fn texts(key: &'static str, label: &'static str, theme: &Theme) -> (String, &'static str) {
    let key = theme.key_name(key);
    match label.strip_prefix('/').and_then(|rest| rest.split_once(' ')) {
        Some((other, label)) => (format!("{key}/{}", theme.key_name(other)), label),
        None => (key, label),
    }
}
