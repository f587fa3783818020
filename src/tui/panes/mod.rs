//! The panes: each holds only its cursor and scroll, draws itself, and never calls another.

pub mod about;
pub mod categories;
pub mod export;
pub mod filter_line;
pub mod letters;
pub mod output;
pub mod picker;
pub mod preview;
pub mod question;
pub mod rows;
pub mod why;

use ratatui::layout::{Constraint, Layout, Rect};

use super::theme::Theme;
use super::workspace::Workspace;
use output::Find;

/// What texts are drawn with beside a pane's own state.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub workspace: &'a Workspace,
    pub find: Option<&'a Find>,
    pub theme: &'a Theme,
}

/// Smallest terminal on which the screens are whole.
pub const SMALLEST: (u16, u16) = (60, 16);

/// From this size on the left column stands beside the rows.
const WIDE: (u16, u16) = (104, 28);

/// How much of the screen there is to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// The rows only.
    Tiny,
    /// One column; the left panes open over the rows.
    Narrow,
    Wide,
}

impl Room {
    pub fn of(area: Rect) -> Room {
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            Room::Tiny
        } else if area.width >= WIDE.0 && area.height >= WIDE.1 {
            Room::Wide
        } else {
            Room::Narrow
        }
    }
}

/// Where the panes of Browse stand; empty rectangles for those out of sight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places {
    pub title: Rect,
    pub filter: Rect,
    pub categories: Rect,
    pub why: Rect,
    pub letters: Rect,
    pub rows: Rect,
    pub preview: Rect,
    pub footer: Rect,
}

impl Places {
    /// The layout of Browse. `categories` is the number of lines that the categories would like.
    pub fn of(area: Rect, categories: usize) -> Places {
        let room = Room::of(area);
        let foot = if room == Room::Wide { 2 } else { 1 };
        let [title, filter, body, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(foot),
        ])
        .areas(area);
        let footer = Rect {
            y: footer.bottom().saturating_sub(1),
            height: footer.height.min(1),
            ..footer
        };
        let places = Places {
            title,
            filter,
            footer,
            ..Places::default()
        };
        match room {
            Room::Tiny => Places { rows: body, ..places },
            Room::Narrow => {
                let share = if body.height >= 30 { 50 } else { 48 };
                let [rows, preview] = Layout::vertical([Constraint::Percentage(share), Constraint::Min(5)]).areas(body);
                let over = Rect {
                    width: body.width.min(44),
                    ..body
                };
                Places {
                    rows,
                    preview,
                    categories: over,
                    why: over,
                    letters: over,
                    ..places
                }
            }
            Room::Wide => {
                let left = if body.width >= 150 { 44 } else { 36 };
                let [left, right] = Layout::horizontal([Constraint::Length(left), Constraint::Min(40)]).areas(body);
                let tall = (categories as u16 + 2).min(left.height.saturating_sub(15)).max(5);
                let [categories, why, letters] =
                    Layout::vertical([Constraint::Length(tall), Constraint::Length(7), Constraint::Min(6)]).areas(left);
                let [rows, preview] = Layout::vertical([Constraint::Percentage(45), Constraint::Min(8)]).areas(right);
                Places {
                    categories,
                    why,
                    letters,
                    rows,
                    preview,
                    ..places
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_a_layout_whose_panes_lie_inside() {
        for width in (1..200).step_by(7) {
            for height in 1..60 {
                let area = Rect::new(0, 0, width, height);
                let places = Places::of(area, 40);
                for pane in [
                    places.title,
                    places.rows,
                    places.preview,
                    places.categories,
                    places.letters,
                    places.footer,
                ] {
                    assert_eq!(pane.intersection(area).area(), pane.area(), "{width}x{height} {pane:?}");
                }
            }
        }
    }
}
