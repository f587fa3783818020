//! An answer that is being written, as it grows.

use crossterm::event::{KeyCode, KeyEvent};

use crate::text::count;
use crate::tui::canvas::Canvas;
use crate::tui::passage::Passage;
use crate::tui::theme::Role;

use super::Live;

/// The window in which an answer is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    pub exam: usize,
    pub question_id: i64,
    pub attempt: usize,
    /// Lines between the last one in sight and the end; 0: the end stays in sight.
    pub above: usize,
}

/// What a key did to the window.
#[derive(Debug, PartialEq, Eq)]
pub enum Pressed {
    Open,
    Closed,
    /// The answer is to be read, once it has landed.
    Read,
    /// The answer is to end where it is.
    Stop,
}

impl Watch {
    pub fn press(&mut self, key: KeyEvent) -> Pressed {
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return Pressed::Closed,
            KeyCode::Enter => return Pressed::Read,
            KeyCode::Char('x') => return Pressed::Stop,
            KeyCode::Char('k') | KeyCode::Up => self.above += 1,
            KeyCode::Char('j') | KeyCode::Down => self.above = self.above.saturating_sub(1),
            KeyCode::PageUp => self.above += 10,
            KeyCode::PageDown | KeyCode::Char(' ') => self.above = self.above.saturating_sub(10),
            KeyCode::Char('G') | KeyCode::End => self.above = 0,
            _ => {}
        }
        Pressed::Open
    }

    /// The answer once it has landed: the exam, and which of its answers in the order of landing.
    pub fn landed(&self, live: &Live) -> Option<(usize, usize)> {
        let landed = &live.exams.get(self.exam)?.landed;
        let rows = live.landing.rows();
        let is_it = |answer: &super::exam::Landed| {
            let at = answer.row as usize;
            rows.question_id[at] == self.question_id && usize::from(rows.attempt[at]) == self.attempt
        };
        Some((self.exam, landed.iter().rposition(is_it)?))
    }

    pub fn draw(&self, canvas: &mut Canvas, live: &Live) {
        let Some(state) = live.exams.get(self.exam) else { return };
        let (size, theme) = ((canvas.width(), canvas.height()), canvas.theme);
        let name = format!("Q{} attempt {}", self.question_id, self.attempt);
        let (title, text, remark) = match (state.running.get(self.question_id, self.attempt), self.landed(live)) {
            (Some(underway), _) => {
                let looping = match (underway.is_stopping, underway.is_looping) {
                    (true, _) => " · stopping",
                    (_, true) => " · looks like a loop",
                    _ => "",
                };
                let tokens = count(underway.tokens, "token");
                let title = format!("{name} · being written · {tokens}{looping}");
                (title, underway.text.as_str(), "j/k scroll · x stops it · Esc back")
            }
            (None, Some(_)) => (
                format!("{name} · landed"),
                "it is written to its end",
                "⏎ opens it · Esc back",
            ),
            (None, None) => (format!("{name} · no longer written"), "", "Esc back"),
        };
        let window = (size.0.saturating_sub(8), size.1.saturating_sub(4));
        let mut inner = canvas.window(window, &title, &theme.key_name(remark)).padded();
        let role = if text.is_empty() { Role::Dim } else { Role::Plain };
        let text = if text.is_empty() { "nothing written yet" } else { text };
        let lines = Passage::remarked(text, role).lay(inner.width(), theme.ascii);
        let last = lines.len().saturating_sub(inner.height());
        inner.laid(&lines, last.saturating_sub(self.above));
    }
}
