//! The Question screen: the question with key and picks, and what the model wrote, attempt by attempt.

mod draw;
mod options;
mod screen;
mod scroll;

use ratatui::layout::{Constraint, Layout, Rect};

use crate::record::Record;
use crate::tui::room::{self, Want};
use crate::tui::snapshot::Snapshot;
use crate::tui::workspace::Workspace;

use super::Around;

/// How the outputs of several attempts stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// One across the screen, and a line of each where there is room.
    #[default]
    Lines,
    Side,
    Stacked,
    One,
}

/// Narrowest output column.
const COLUMN: u16 = 23;

/// Lines of the output below which the attempts have no line each.
const LOWEST: usize = 8;

#[derive(Debug, Default)]
pub struct Question {
    /// The row that was opened; its attempts are shown.
    pub row: Option<u32>,
    /// Which attempt is in focus: its place among those of the question.
    pub attempt: usize,
    /// Whether the keys scroll the question instead of the text below it.
    pub reads_question: bool,
    /// The first line of the question in sight.
    top: usize,
    /// Scroll of each attempt; `None`: where the match shows.
    scrolls: Vec<Option<usize>>,
    pub arrangement: Arrangement,
    /// Whether loops and the text after the match are shown in full.
    pub unfolded: bool,
    /// The full prompt instead of the outputs, scrolled to a line; `None` within: its end.
    pub prompt: Option<Option<usize>>,
}

/// Where the parts of the screen stand.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    pub question: Rect,
    pub outputs: Rect,
    /// The note on the row; empty where there is no room.
    pub note: Rect,
    pub remark: Rect,
}

impl Places {
    /// Where a note is typed.
    pub fn note_line(&self) -> Rect {
        if self.note.height > 0 { self.note } else { self.remark }
    }
}

impl Question {
    /// Opens a row at its attempt.
    pub fn open(&mut self, snapshot: &Snapshot, row: u32) {
        let same = self
            .row
            .is_some_and(|open| snapshot.question(open) == snapshot.question(row));
        if !same {
            self.scrolls.clear();
            self.prompt = None;
            self.top = 0;
            self.reads_question = false;
        }
        self.row = Some(row);
        self.attempt = snapshot
            .attempts(row)
            .iter()
            .position(|attempt| *attempt == row)
            .unwrap_or(0);
    }

    /// The row of the attempt in focus.
    pub fn focused(&self, snapshot: &Snapshot) -> Option<u32> {
        let row = self.row?;
        Some(snapshot.attempts(row).get(self.attempt).copied().unwrap_or(row))
    }

    pub fn places(&self, area: Rect, around: &Around) -> Places {
        let [_, body, note, remark, _] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(u16::from(area.height >= 30)),
            Constraint::Length(u16::from(area.height >= 20)),
            Constraint::Length(1),
        ])
        .areas(area);
        let tall = match self.shown_record(around.workspace) {
            Some(record) => self.question_height(record, body, around),
            None => 6,
        };
        let [question, outputs] = Layout::vertical([Constraint::Length(tall), Constraint::Min(3)]).areas(body);
        Places {
            question,
            outputs,
            note,
            remark,
        }
    }

    /// Lines of the question's pane: what it needs, as far as the text below it does not need them more. Up to half is its
    /// own in any case, and so is half for the text.
    fn question_height(&self, record: &Record, body: Rect, around: &Around) -> u16 {
        let width = usize::from(body.width.saturating_sub(2));
        let wanted = self.question_lines(record, width, around).len() + 1;
        let half = usize::from(body.height) / 2;
        if wanted <= half {
            return wanted.max(3) as u16;
        }
        let below = self.lines_below(record, body, around) + 1;
        let wants = [
            Want::new(wanted.min(half).max(3), wanted, 0),
            Want::new(below.min(half), below, 1),
        ];
        room::share(usize::from(body.height), &wants)[0] as u16
    }

    fn shown_record<'w>(&self, workspace: &'w Workspace) -> Option<&'w Record> {
        let row = self.focused(workspace.snapshot.as_deref()?)?;
        workspace.record(row)?.as_deref().ok()
    }

    /// The attempts whose outputs are in sight: places among those of the question.
    fn window(&self, attempts: usize, width: u16, height: u16) -> (Arrangement, std::ops::Range<usize>) {
        let fit = match self.arrangement {
            Arrangement::Side => usize::from(width / COLUMN),
            Arrangement::Stacked => usize::from(height / 6),
            Arrangement::Lines | Arrangement::One => 1,
        };
        let arrangement = match self.arrangement {
            _ if attempts <= 1 => Arrangement::One,
            Arrangement::Side if fit < 2 => Arrangement::One,
            Arrangement::Lines if usize::from(height) < attempts + LOWEST => Arrangement::One,
            chosen => chosen,
        };
        let shown = fit.clamp(1, attempts.max(1));
        let from = self
            .attempt
            .saturating_sub(shown / 2)
            .min(attempts.saturating_sub(shown));
        (arrangement, from..(from + shown).min(attempts))
    }

    /// Where the attempts stand that have a line each; empty where they have none.
    fn strips(&self, area: Rect, attempts: usize) -> Rect {
        let (arrangement, _) = self.window(attempts.max(1), area.width, area.height);
        let height = if arrangement == Arrangement::Lines {
            attempts + 1
        } else {
            0
        };
        Rect {
            height: height as u16,
            ..area
        }
    }

    /// Where the outputs in sight stand: attempt and rectangle.
    pub fn columns(&self, area: Rect, attempts: usize) -> Vec<(usize, Rect)> {
        let (arrangement, range) = self.window(attempts.max(1), area.width, area.height);
        let strips = self.strips(area, attempts).height;
        let area = Rect {
            y: area.y + strips,
            height: area.height - strips,
            ..area
        };
        let shares = vec![Constraint::Ratio(1, range.len().max(1) as u32); range.len().max(1)];
        let areas = match arrangement {
            Arrangement::Stacked => Layout::vertical(shares).split(area),
            _ => Layout::horizontal(shares).split(area),
        };
        range.zip(areas.iter().copied()).collect()
    }

    pub fn next_arrangement(&mut self, area: Rect, attempts: usize) {
        let (shown, _) = self.window(attempts, area.width, area.height);
        self.arrangement = match shown {
            Arrangement::Lines => Arrangement::Side,
            Arrangement::Side => Arrangement::Stacked,
            Arrangement::Stacked => Arrangement::One,
            Arrangement::One if self.arrangement == Arrangement::Lines => Arrangement::Side,
            Arrangement::One => Arrangement::Lines,
        };
        self.scrolls.clear();
    }
}
