//! The export dialog: what, in which form, where to; count and size stand there before anything is written.

use std::path::{Path, PathBuf};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::export::{ALL, FORMATS, format_of};
use crate::text::safe::one_line;
use crate::text::{size, thousands};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Input, centered, line, window};

/// Which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Of two runs: the pairs that are listed.
    Pairs,
    Slice,
    /// Every attempt at the questions that have a row in the slice.
    WholeQuestions,
    Marked,
}

impl Scope {
    const ALL: [(Scope, &'static str); 4] = [
        (Scope::Pairs, "pairs of this list, both rows of each"),
        (Scope::Slice, "rows of this view"),
        (Scope::WholeQuestions, "whole questions (all attempts)"),
        (Scope::Marked, "marked rows"),
    ];
}

/// A field of the dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Scope,
    Format,
    Extras,
    Path,
}

const FIELDS: [Field; 4] = [Field::Scope, Field::Format, Field::Extras, Field::Path];

/// How many rows each scope has, and about how many bytes a row takes in each format.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sizes {
    /// Pairs listed, where two runs are compared.
    pub pairs: Option<usize>,
    pub slice: usize,
    /// `None` while they are counted.
    pub whole_questions: Option<usize>,
    pub marked: usize,
    pub bytes_a_row: Option<[f64; FORMATS]>,
}

#[derive(Debug)]
pub struct Dialog {
    pub scope: Scope,
    pub format: usize,
    /// Whether cause, match, notes and marks are added as columns.
    pub extras: bool,
    pub path: Input,
    /// An existing file may be replaced: after the dialog has said that there is one.
    pub force: bool,
    pub sizes: Sizes,
    pub error: Option<String>,
    pub is_writing: bool,
    field: Field,
    /// Whether the path was typed, so that it does not follow the format.
    is_typed: bool,
    stem: String,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Pressed {
    Open,
    Closed,
    Write,
}

impl Dialog {
    pub fn new(stem: String, sizes: Sizes) -> Dialog {
        let path = Input::new(text_of(&ALL[0].named(Path::new(&stem))));
        Dialog {
            scope: if sizes.pairs.is_some() {
                Scope::Pairs
            } else {
                Scope::Slice
            },
            format: 0,
            extras: false,
            path,
            force: false,
            sizes,
            error: None,
            is_writing: false,
            field: Field::Path,
            is_typed: false,
            stem,
        }
    }

    /// Where to write; `~/` is the home directory.
    pub fn target(&self) -> PathBuf {
        let path = self.path.text.trim();
        match (path.strip_prefix("~/"), dirs::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }

    pub fn rows(&self) -> usize {
        match self.scope {
            Scope::Pairs => self.sizes.pairs.unwrap_or(0),
            Scope::Slice => self.sizes.slice,
            Scope::WholeQuestions => self.sizes.whole_questions.unwrap_or(self.sizes.slice),
            Scope::Marked => self.sizes.marked,
        }
    }

    pub fn press(&mut self, key: KeyEvent) -> Pressed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Pressed::Closed,
            KeyCode::Char('c') if control => return Pressed::Closed,
            _ if self.is_writing => return Pressed::Open,
            KeyCode::Enter if self.path.text.trim().is_empty() => {
                self.error = Some("a file name is missing".to_owned());
            }
            KeyCode::Enter if self.rows() == 0 => self.error = Some("there are no such rows".to_owned()),
            KeyCode::Enter => match format_of(Some(self.form()), &self.target()) {
                Ok(_) => return Pressed::Write,
                Err(error) => self.error = Some(error.to_string()),
            },
            KeyCode::Char('o') if control && self.error.is_some() => {
                self.force = true;
                return Pressed::Write;
            }
            KeyCode::Tab | KeyCode::Down => self.go(1),
            KeyCode::BackTab | KeyCode::Up => self.go(FIELDS.len() - 1),
            KeyCode::Left | KeyCode::Right | KeyCode::Char(' ') if self.field != Field::Path => {
                self.turn(key.code != KeyCode::Left);
            }
            _ if self.field == Field::Path && self.path.press(key) => self.typed(),
            _ => {}
        }
        Pressed::Open
    }

    /// The format's name; pairs have one form.
    fn form(&self) -> &'static str {
        match self.scope {
            Scope::Pairs => ALL[0].name,
            _ => ALL[self.format].name,
        }
    }

    /// Takes a file name from outside.
    pub fn name(&mut self, path: &str) {
        self.path = Input::new(path);
        self.typed();
    }

    pub fn paste(&mut self, text: &str) {
        self.path.insert(text);
        self.typed();
    }

    /// The format follows a name that says one.
    fn typed(&mut self) {
        self.is_typed = true;
        let target = self.target();
        if let Some(format) = ALL.iter().position(|format| format.is_named_by(&target)) {
            self.format = format;
        }
        self.changed();
    }

    fn go(&mut self, by: usize) {
        let at = FIELDS.iter().position(|field| *field == self.field).unwrap_or(0);
        self.field = FIELDS[(at + by) % FIELDS.len()];
    }

    fn turn(&mut self, forward: bool) {
        let step = |at: usize, len: usize| if forward { (at + 1) % len } else { (at + len - 1) % len };
        match self.field {
            Field::Scope => {
                let has_pairs = self.sizes.pairs.is_some();
                let scopes: Vec<Scope> = Scope::ALL
                    .iter()
                    .map(|(scope, _)| *scope)
                    .filter(|scope| has_pairs || *scope != Scope::Pairs)
                    .collect();
                let at = scopes.iter().position(|scope| *scope == self.scope).unwrap_or(0);
                self.scope = scopes[step(at, scopes.len())];
            }
            // Pairs have one form.
            Field::Format | Field::Extras if self.scope == Scope::Pairs => {}
            Field::Format => {
                self.format = step(self.format, ALL.len());
                let format = &ALL[self.format];
                let path = if self.is_typed {
                    format.renamed(Path::new(self.path.text.trim()))
                } else {
                    format.named(Path::new(&self.stem))
                };
                self.path = Input::new(text_of(&path));
            }
            Field::Extras => self.extras = !self.extras,
            Field::Path => {}
        }
        self.changed();
    }

    fn changed(&mut self) {
        self.error = None;
        self.force = false;
    }

    pub fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let place = centered(area, 76, 12);
        let inner = window(
            buffer,
            place,
            "Export",
            "Tab field · arrows change · Enter writes · Esc",
            theme,
        );
        let size = match self.sizes.bytes_a_row {
            Some(bytes) => {
                let each = match self.scope {
                    Scope::Pairs => 2.0 * bytes[0],
                    _ => bytes[self.format],
                };
                format!(
                    ", about {} as {}",
                    size((each * self.rows() as f64) as u64),
                    self.form()
                )
            }
            None => String::new(),
        };
        let noun = if self.scope == Scope::Pairs { "pairs" } else { "rows" };
        let is_counting = self.scope == Scope::WholeQuestions && self.sizes.whole_questions.is_none();
        let count = if is_counting {
            "counting the rows…".to_owned()
        } else {
            format!("{} {noun}{size}", thousands(self.rows()))
        };
        line(buffer, inner, 0, vec![Span::styled(count, theme.style(Role::Strong))]);
        let scope = Scope::ALL
            .iter()
            .find(|(scope, _)| *scope == self.scope)
            .map_or("", |(_, text)| text);
        let (format, extras) = match (self.scope, self.extras) {
            (Scope::Pairs, _) => (
                "jsonl: one object a pair, with the rows of A and of B".to_owned(),
                "none",
            ),
            (_, extras) => (
                format!("{}: {}", ALL[self.format].name, ALL[self.format].about),
                if extras { "why, match, note, marks" } else { "none" },
            ),
        };
        let fields = [
            (Field::Scope, "rows", scope.to_owned()),
            (Field::Format, "format", format),
            (Field::Extras, "added", extras.to_owned()),
        ];
        for (at, (field, name, value)) in fields.into_iter().enumerate() {
            let focused = field == self.field;
            let value = if focused {
                format!("< {value} >")
            } else {
                format!("  {value}")
            };
            let spans = vec![
                Span::styled(format!("{name:<8}"), theme.style(Role::Dim)),
                Span::styled(value, theme.style(if focused { Role::Focus } else { Role::Plain })),
            ];
            line(buffer, inner, at as u16 + 2, spans);
        }
        let mut spans = vec![Span::styled(format!("{:<10}", "file"), theme.style(Role::Dim))];
        if self.field == Field::Path {
            spans.extend(self.path.spans(usize::from(inner.width).saturating_sub(12), theme));
        } else {
            spans.push(Span::raw(one_line(&self.path.text, 60, theme.ascii)));
        }
        line(buffer, inner, 5, spans);
        let (text, role) = match (&self.error, self.is_writing) {
            (_, true) => ("writing…".to_owned(), Role::Dim),
            (Some(error), false) => (error.clone(), Role::Warning),
            (None, false) => (
                "written aside, then renamed; an existing file is not replaced".to_owned(),
                Role::Dim,
            ),
        };
        let text = crate::tui::passage::Passage::plain(&text).lay(usize::from(inner.width), theme.ascii);
        for (at, laid) in text.iter().take(3).enumerate() {
            line(
                buffer,
                inner,
                7 + at as u16,
                vec![Span::styled(laid.text(), theme.style(role))],
            );
        }
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog() -> Dialog {
        Dialog::new(
            "slice".into(),
            Sizes {
                pairs: None,
                slice: 3,
                whole_questions: Some(15),
                marked: 0,
                bytes_a_row: Some([2e3; 4]),
            },
        )
    }

    #[test]
    fn name_and_format_follow_each_other() {
        let mut dialog = dialog();
        dialog.press(KeyCode::Tab.into());
        dialog.press(KeyCode::Tab.into());
        dialog.press(KeyCode::Right.into());
        assert_eq!((dialog.path.text.as_str(), dialog.form()), ("slice.csv", "csv"));
        dialog.name("mine/part.jsonl.gz");
        assert_eq!(dialog.form(), "jsonl");
        dialog.press(KeyCode::Right.into());
        assert_eq!((dialog.path.text.as_str(), dialog.form()), ("mine/part.csv", "csv"));
        dialog.press(KeyCode::Right.into());
        dialog.press(KeyCode::Right.into());
        assert_eq!((dialog.path.text.as_str(), dialog.form()), ("mine/part", "lm-eval"));
    }

    #[test]
    fn an_ending_that_no_format_has_is_said_instead_of_written() {
        let mut dialog = dialog();
        dialog.name("slice.xlsx");
        assert_eq!(dialog.press(KeyCode::Enter.into()), Pressed::Open);
        let error = dialog.error.unwrap();
        assert!(error.contains("slice.jsonl or slice.csv or slice.parquet"), "{error}");
    }

    #[test]
    fn nothing_to_write_is_said_instead_of_written() {
        let mut dialog = dialog();
        dialog.scope = Scope::Marked;
        assert_eq!(dialog.press(KeyCode::Enter.into()), Pressed::Open);
        assert!(dialog.error.is_some());
    }
}
