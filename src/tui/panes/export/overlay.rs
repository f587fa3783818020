//! What keys do on the dialog, and how it looks.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::export::format_of;
use crate::text::{count, thousands};
use crate::tui::canvas::Canvas;
use crate::tui::event::Event;
use crate::tui::passage::Passage;
use crate::tui::screen::{Next, Overlay, Screen};
use crate::tui::shared::Shared;
use crate::tui::theme::Role;

use super::{Dialog, FIELDS, Field};

impl Overlay for Dialog {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => {
                if let Some(writing) = &shared.writing {
                    let path = writing.path.display();
                    shared.say(format!("writing {path} goes on in the background"));
                }
                return false;
            }
            KeyCode::Char('Q') if self.writing.is_some() => shared.go(Next::Quit),
            _ if self.writing.is_some() => {}
            KeyCode::Enter if self.path.text.trim().is_empty() => {
                self.error = Some("a file name is missing".to_owned());
            }
            KeyCode::Enter if self.rows() == 0 => self.error = Some("there are no such rows".to_owned()),
            KeyCode::Enter => match format_of(Some(self.form()), &self.target()) {
                Ok(_) => self.write(shared),
                Err(error) => self.error = Some(error.to_string()),
            },
            KeyCode::Char('o') if control && self.error.is_some() => {
                self.force = true;
                self.write(shared);
            }
            KeyCode::Tab | KeyCode::Down => self.go(1),
            KeyCode::BackTab | KeyCode::Up => self.go(FIELDS.len() - 1),
            KeyCode::Left | KeyCode::Right | KeyCode::Char(' ') if self.field != Field::Path => {
                self.turn(key.code != KeyCode::Left);
            }
            _ if self.field == Field::Path && self.path.press(key) => self.typed(),
            _ => {}
        }
        true
    }

    fn paste(&mut self, text: &str, _: &mut Shared) {
        self.path.insert(text);
        self.typed();
    }

    fn hear(&mut self, event: &Event, shared: &mut Shared) -> bool {
        match event {
            Event::Estimated(bytes, whole_questions) => {
                self.sizes.bytes_a_row = Some(*bytes);
                self.sizes.whole_questions = Some(*whole_questions);
            }
            Event::Exported(Ok(_)) => return false,
            Event::Exported(Err(refused)) => {
                shared.notice = None;
                self.fail(refused);
            }
            _ => {}
        }
        true
    }

    fn draw(&self, canvas: &mut Canvas, _: &Shared, _: &dyn Screen) {
        let remark = "Tab field · arrows change · Enter writes · Esc";
        let mut inner = canvas.window((76, 12), "Export", remark);
        let width = inner.width();
        inner.line(0, inner.strip().strong(self.size()));
        for (at, (field, name, value)) in self.fields().into_iter().enumerate() {
            let (value, role) = if field == self.field {
                (format!("< {value} >"), Role::Focus)
            } else {
                (format!("  {value}"), Role::Plain)
            };
            let strip = inner.strip().dim(format!("{name:<8}")).put(value, role);
            inner.line(at + 2, strip);
        }
        let strip = inner.strip().dim(format!("{:<10}", "file"));
        let strip = if self.field == Field::Path {
            self.path.onto(strip, width.saturating_sub(12))
        } else {
            strip.foreign(&self.path.text, 60, Role::Plain)
        };
        inner.line(5, strip);
        let (text, role) = match (&self.error, &self.writing) {
            (_, Some(writing)) => {
                let (rows, all) = (thousands(writing.rows()), count(writing.all, writing.noun));
                (
                    format!("{rows} of {all} written · Esc goes on in the background"),
                    Role::Strong,
                )
            }
            (Some(error), None) => (error.clone(), Role::Warning),
            (None, None) => ("an existing file is kept".to_owned(), Role::Dim),
        };
        let text = Passage::remarked(&text, role).lay(width, inner.theme.ascii);
        inner.below(7).laid(&text, 0);
    }
}
