//! Where the parts of the Compare screen stand.

use ratatui::layout::{Constraint, Layout, Rect};

use crate::tui::panes::Room;
use crate::tui::shelf::Side;

/// Where the parts of the screen stand; empty rectangles for those out of sight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    pub paired: Rect,
    pub categories: Rect,
    pub list: Rect,
    pub a: Rect,
    pub b: Rect,
}

impl Places {
    /// The layout for so many categories.
    pub fn of(area: Rect, side: Side, categories: usize) -> Places {
        let room = Room::of(area);
        if room == Room::Wide {
            // A head and a scale stand above the categories.
            let top = (categories as u16 + 2).min(area.height * 9 / 20).max(11);
            let [_, top, list, texts, _] = Layout::vertical([
                Constraint::Length(1),
                Constraint::Length(top),
                Constraint::Length((area.height / 5).max(8)),
                Constraint::Min(4),
                Constraint::Length(1),
            ])
            .areas(area);
            let [paired, categories] = Layout::horizontal([Constraint::Length(40), Constraint::Min(30)]).areas(top);
            let [a, b] = Layout::horizontal([Constraint::Ratio(1, 2); 2]).areas(texts);
            return Places {
                paired,
                categories,
                list,
                a,
                b,
            };
        }
        let tall = if room == Room::Tiny { 0 } else { area.height / 2 };
        let [_, paired, list, text, _] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(tall),
            Constraint::Length(1),
        ])
        .areas(area);
        let (a, b) = match side {
            Side::A => (text, Rect::default()),
            Side::B => (Rect::default(), text),
        };
        Places {
            paired,
            list,
            a,
            b,
            ..Places::default()
        }
    }

    /// Lines of pairs that fit into the list.
    pub fn listed(&self) -> usize {
        usize::from(self.list.height.saturating_sub(2)).max(1)
    }

    pub fn text(&self, side: Side) -> Rect {
        if side == Side::A { self.a } else { self.b }
    }

    /// The same with one pane for both texts.
    pub fn joined(self) -> Places {
        let both = match (self.a.is_empty(), self.b.is_empty()) {
            (false, false) => self.a.union(self.b),
            (true, _) => self.b,
            _ => self.a,
        };
        Places {
            a: both,
            b: Rect::default(),
            ..self
        }
    }
}
