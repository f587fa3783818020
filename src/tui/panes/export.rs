//! The export dialog: what, in which form, where to; count and size stand there before anything is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::export::{ALL, FORMATS, format_of};
use crate::text::{count, size, thousands};
use crate::tui::canvas::Canvas;
use crate::tui::passage::Passage;
use crate::tui::theme::Role;
use crate::tui::widgets::Input;

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
    writing: Option<Writing>,
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
    Quit,
}

/// An export that is being written.
#[derive(Debug, Clone)]
pub struct Writing {
    /// Rows written so far; the writer counts.
    pub written: Arc<AtomicUsize>,
    pub all: usize,
    pub path: PathBuf,
    /// What is written: `row` or `pair`.
    pub noun: &'static str,
}

impl Writing {
    pub fn of(dialog: &Dialog) -> Writing {
        Writing {
            written: Arc::default(),
            all: dialog.rows(),
            path: dialog.target(),
            noun: dialog.noun(),
        }
    }

    fn rows(&self) -> usize {
        self.written.load(Ordering::Relaxed).min(self.all)
    }

    /// How much is written, of a hundred.
    pub fn share(&self) -> usize {
        self.rows() * 100 / self.all.max(1)
    }
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
            writing: None,
            field: Field::Path,
            is_typed: false,
            stem,
        }
    }

    /// The rows are being written from now on.
    pub fn begin(&mut self, writing: &Writing) {
        self.writing = Some(writing.clone());
        self.error = None;
    }

    /// Nothing was written, and why.
    pub fn fail(&mut self, error: &str) {
        self.writing = None;
        self.error = Some(match error.split_once(" exists") {
            Some((path, _)) => format!("{path} exists · ^o replaces it"),
            None => error.to_owned(),
        });
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
            KeyCode::Char('Q') if self.writing.is_some() => return Pressed::Quit,
            _ if self.writing.is_some() => return Pressed::Open,
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

    pub fn draw(&self, canvas: &mut Canvas) {
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

    /// How much is to be written.
    fn size(&self) -> String {
        if self.scope == Scope::WholeQuestions && self.sizes.whole_questions.is_none() {
            return "counting the rows…".to_owned();
        }
        let about = match self.sizes.bytes_a_row {
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
        format!("{}{about}", count(self.rows(), self.noun()))
    }

    /// What one of the things written is called.
    pub fn noun(&self) -> &'static str {
        if self.scope == Scope::Pairs { "pair" } else { "row" }
    }

    /// The fields that are turned, with their values.
    fn fields(&self) -> [(Field, &'static str, String); 3] {
        let is_scope = |(scope, _): &&(Scope, &str)| *scope == self.scope;
        let scope = Scope::ALL.iter().find(is_scope).map_or("", |(_, text)| text);
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
        [
            (Field::Scope, "rows", scope.to_owned()),
            (Field::Format, "format", format),
            (Field::Extras, "added", extras.to_owned()),
        ]
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;
    use crate::tui::theme::Theme;

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

    #[test]
    fn what_is_being_written_is_counted_and_left_to_go_on() {
        let mut dialog = dialog();
        let writing = Writing::of(&dialog);
        dialog.begin(&writing);
        writing.written.fetch_add(2, Ordering::Relaxed);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 100, 20));
        let area = buffer.area;
        dialog.draw(&mut Canvas::new(&mut buffer, area, &Theme::PLAIN));
        let screen: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
        let told = "2 of 3 rows written · Esc goes on in the background";
        assert!(screen.contains(told), "{screen}");
        assert_eq!((writing.share(), writing.noun), (66, "row"));
        assert_eq!(dialog.press(KeyCode::Enter.into()), Pressed::Open, "not written twice");
        assert_eq!(dialog.press(KeyCode::Char('Q').into()), Pressed::Quit);
        assert_eq!(dialog.press(KeyCode::Esc.into()), Pressed::Closed);
        dialog.fail("cannot write: x.jsonl exists; --force replaces it");
        assert_eq!(
            dialog.error.as_deref(),
            Some("cannot write: x.jsonl exists · ^o replaces it")
        );
    }
}
