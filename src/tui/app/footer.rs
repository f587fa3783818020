//! The lowest line: what was said last, else the keys, made from the screen, its mode, and what is in focus.

use crossterm::event::KeyEvent;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::tui::canvas::Canvas;
use crate::tui::keymap::{self, Action, On};
use crate::tui::panes::filter_line;
use crate::tui::screen::Hint;
use crate::tui::theme::{Role, Theme};

use super::App;

/// A key in the key line: where it stands, and what it is.
struct Footed {
    x: u16,
    width: u16,
    key: &'static str,
    label: &'static str,
}

/// Keys of blind mode, beside quit.
const BLIND: [Hint; 6] = [
    ("A", "/J answers"),
    ("n", "/N next question"),
    ("p", "prompt"),
    ("m", "mark"),
    ("b", "ends blind mode"),
    ("?", "keys"),
];

/// Where the line stands.
pub(super) fn place(area: Rect) -> Rect {
    Rect {
        y: area.bottom().saturating_sub(1),
        height: area.height.min(1),
        ..area
    }
}

impl App {
    pub(super) fn draw_footer(&self, canvas: &mut Canvas) {
        let Some(notice) = &self.shared.notice else {
            return self.draw_keys(canvas);
        };
        let role = if notice.is_warning { Role::Warning } else { Role::Strong };
        let room = canvas.width().saturating_sub(2);
        canvas.line(0, canvas.strip().text(" ").foreign(&notice.text, room, role));
    }

    /// The keys as far as they fit, and on the live screens the filter, which has no line of its own there.
    fn draw_keys(&self, canvas: &mut Canvas) {
        let (area, filter) = (canvas.area(), &self.shared.workspace.filter);
        let filter = match self.screen().on() {
            On::Live | On::Exam if !filter.words().is_empty() => {
                filter_line::chips(canvas.strip().dim(" filter "), filter)
            }
            _ => canvas.strip(),
        };
        for footed in self.footer(area.width.saturating_sub(filter.width() as u16)) {
            let (key, label) = texts(footed.key, footed.label, canvas.theme);
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

    /// The key that stands at a column.
    pub(super) fn key_at(&self, x: u16) -> Option<KeyEvent> {
        let footer = self.footer(self.shared.area.width);
        let at = footer.into_iter().find(|at| (at.x..at.x + at.width).contains(&x));
        keymap::event_of(at?.key)
    }

    /// The keys that fit into so many columns; help and quit, the last two, always do.
    fn footer(&self, columns: u16) -> Vec<Footed> {
        let gap = if columns >= 100 { 2 } else { 1 };
        let mut hints = self.hints();
        let width = |(key, label): &Hint| {
            let (key, label) = texts(key, label, &self.shared.theme);
            (key.width() + 1 + label.width()) as u16 + gap
        };
        let mut total: u16 = 1 + hints.iter().map(width).sum::<u16>();
        while total > columns + gap && hints.len() > 1 {
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
        let (screen, shared) = (self.screen(), &self.shared);
        if let Some(hints) = screen.hints() {
            return hints.to_vec();
        }
        let told = keymap::bindings(screen.on()).filter_map(|(key, does)| {
            let label = match does.action {
                Action::Quit if shared.depth > 1 => Some("back"),
                _ => screen.label(does, shared),
            };
            Some((key.keys[0], label?))
        });
        let (mut last, mut hints): (Vec<Hint>, Vec<Hint>) = told.partition(|(key, _)| matches!(*key, "?" | "q"));
        let is_blind = shared.workspace.is_blind && matches!(screen.on(), On::Browse | On::Question);
        if is_blind {
            last.retain(|(key, _)| *key == "q");
            hints = BLIND.to_vec();
        }
        hints.extend(last);
        hints
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
