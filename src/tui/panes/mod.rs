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

use super::canvas::Canvas;
use super::room::{self, Want};
use super::snapshot::Snapshot;
use super::theme::Theme;
use super::worker::Selected;
use super::workspace::Workspace;
use output::Find;

/// What texts are drawn with beside a pane's own state.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub workspace: &'a Workspace,
    pub find: Option<&'a Find>,
    /// Whether mark-up is shown as what it means.
    pub renders: bool,
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
    pub filter: Rect,
    pub categories: Rect,
    pub why: Rect,
    pub letters: Rect,
    pub rows: Rect,
    pub preview: Rect,
    pub footer: Rect,
}

/// Lines that the panes of Browse would have, were there room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    pub categories: usize,
    pub causes: usize,
    pub letters: usize,
    pub rows: usize,
}

impl Contents {
    pub fn of(snapshot: &Snapshot, selected: &Selected) -> Contents {
        Contents {
            categories: categories::entries(snapshot).len(),
            causes: why::entries(&selected.report).len(),
            letters: letters::entries(&snapshot.all, &snapshot.all).len(),
            rows: selected.rows.len(),
        }
    }
}

impl Default for Contents {
    fn default() -> Contents {
        Contents {
            categories: 4,
            causes: 5,
            letters: 4,
            rows: 4,
        }
    }
}

impl Places {
    /// The layout of Browse.
    pub fn of(area: Rect, contents: Contents) -> Places {
        let room = Room::of(area);
        let [_, filter, body, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(area);
        let places = Places {
            filter,
            footer,
            ..Places::default()
        };
        if room == Room::Tiny {
            return Places { rows: body, ..places };
        }
        let left = match (room, body.width) {
            (Room::Narrow, _) => 0,
            (_, 150..) => 48,
            _ => 40,
        };
        let [left, right] = Layout::horizontal([Constraint::Length(left), Constraint::Min(40)]).areas(body);
        // A head and the names of columns stand above the rows; beyond their share the preview needs the lines more.
        let share = usize::from(right.height) * 45 / 100;
        let rows = (contents.rows + 2).min(share).max(6) as u16;
        let [rows, preview] = Layout::vertical([Constraint::Length(rows), Constraint::Min(5)]).areas(right);
        let places = Places {
            rows,
            preview,
            ..places
        };
        let [categories, why, letters] = if room == Room::Wide {
            contents.stacked(left)
        } else {
            [body; 3]
        };
        Places {
            categories,
            why,
            letters,
            ..places
        }
    }
}

impl Contents {
    /// The panes of the left column.
    fn stacked(&self, area: Rect) -> [Rect; 3] {
        let wants = [
            Want::new(5, self.categories + 1, 0),
            Want::new(4, self.causes + 1, 1),
            Want::new(5, self.letters + 1, 2),
        ];
        let tall = room::share(usize::from(area.height), &wants);
        Layout::vertical(tall.into_iter().map(|lines| Constraint::Length(lines as u16))).areas(area)
    }
}

/// What a list of so many lines in a pane leaves out of sight, else what is said there.
fn left_out(lines: usize, pane: &Canvas, said: &str) -> String {
    let fit = pane.height().saturating_sub(1);
    match lines > fit {
        true => format!("{fit} of {lines}"),
        false => said.to_owned(),
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
                let contents = Contents {
                    categories: 40,
                    ..Contents::default()
                };
                let places = Places::of(area, contents);
                for pane in [
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
