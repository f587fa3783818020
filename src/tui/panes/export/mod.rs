//! The export dialog: what, in which form, where to; count and size stand there before anything is written.

mod overlay;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::export::{ALL, Extra, FORMATS, Options, Target};
use crate::text::{count, size};
use crate::tui::event::{Effect, Order, PairOrder, Refused};
use crate::tui::screen::{Next, Pairs};
use crate::tui::shared::{Shared, at_home};
use crate::tui::widgets::Input;

pub use writing::Writing;

/// Which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
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
struct Sizes {
    /// Pairs listed, where two runs are compared.
    pairs: Option<usize>,
    slice: usize,
    /// `None` while they are counted.
    whole_questions: Option<usize>,
    marked: usize,
    bytes_a_row: Option<[f64; FORMATS]>,
}

#[derive(Debug)]
pub struct Dialog {
    scope: Scope,
    format: usize,
    /// Whether cause, match, notes and marks are added as columns.
    extras: bool,
    path: Input,
    /// An existing file may be replaced: after the dialog has said that there is one.
    force: bool,
    sizes: Sizes,
    /// The pairs that can be written, where two runs are compared.
    pairs: Option<Pairs>,
    error: Option<String>,
    writing: Option<Writing>,
    field: Field,
    /// Whether the path was typed, so that it does not follow the format.
    is_typed: bool,
    stem: String,
}

impl Dialog {
    /// Opens the dialog on the rows of the view.
    pub fn open(shared: &mut Shared, pairs: Option<Pairs>) {
        Dialog::open_to(shared, pairs, "");
    }

    /// The same; writes at once where a path is given: `:export FILE`, in the form that the name says.
    pub fn open_to(shared: &mut Shared, pairs: Option<Pairs>, path: &str) {
        let Some(trace) = shared
            .workspace
            .snapshot
            .as_deref()
            .map(|snapshot| Arc::clone(&snapshot.trace))
        else {
            return;
        };
        let workspace = &shared.workspace;
        let sizes = Sizes {
            pairs: pairs.as_ref().map(|pairs| pairs.list.len()),
            slice: workspace.selected.rows.len(),
            marked: workspace.notes.marked().count(),
            ..Sizes::default()
        };
        let list = pairs.as_ref().map_or("", |pairs| pairs.word);
        let stem = stem(&format!("{list} {}", workspace.view.filter));
        let mut dialog = Dialog::new(stem, sizes);
        dialog.pairs = pairs;
        let rows = Arc::clone(&workspace.selected.rows);
        if !rows.is_empty() {
            shared.effect(Effect::Estimate(trace, rows));
        }
        if !path.is_empty() {
            dialog.name(path);
            dialog.write(shared);
        }
        shared.go(Next::Open(Box::new(dialog)));
    }

    /// Has the rows written.
    fn write(&mut self, shared: &mut Shared) {
        let Some(snapshot) = shared.workspace.snapshot.clone() else {
            return;
        };
        if shared.writing.is_some() {
            self.error = Some("another export is being written".to_owned());
            return;
        }
        let (writing, path) = (Writing::of(self), self.target());
        let notes = &shared.workspace.notes;
        let effect = match (self.scope, &self.pairs) {
            (Scope::Pairs, Some(pairs)) => Effect::ExportPairs(Box::new(PairOrder {
                paired: Arc::clone(&pairs.paired),
                pairs: Arc::clone(&pairs.list),
                path,
                force: self.force,
            })),
            (scope, _) => Effect::Export(Box::new(Order {
                trace: Arc::clone(&snapshot.trace),
                rows: match scope {
                    Scope::Marked => notes.marked().collect(),
                    _ => shared.workspace.selected.rows.to_vec(),
                },
                whole_questions: scope == Scope::WholeQuestions,
                options: Options {
                    format: &ALL[self.format],
                    target: Target::File(path),
                    force: self.force,
                    with: Extra::ALL
                        .iter()
                        .filter(|_| self.extras)
                        .map(|(_, extra)| *extra)
                        .collect(),
                    spreadsheet_safe: false,
                    rule: shared.workspace.rule.clone(),
                    names_runs: false,
                    notes: notes.texts(),
                    marks: notes.marked().collect(),
                    labels: notes.labels(),
                    written: Arc::clone(&writing.written),
                },
            })),
        };
        self.begin(&writing);
        shared.writing = Some(writing);
        shared.effect(effect);
    }

    fn new(stem: String, sizes: Sizes) -> Dialog {
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
            pairs: None,
            error: None,
            writing: None,
            field: Field::Path,
            is_typed: false,
            stem,
        }
    }

    /// The rows are being written from now on.
    fn begin(&mut self, writing: &Writing) {
        self.writing = Some(writing.clone());
        self.error = None;
    }

    /// Nothing was written, and why.
    fn fail(&mut self, refused: &Refused) {
        self.writing = None;
        self.error = Some(match &refused.there {
            Some(path) => format!("{} exists · ^o replaces it", path.display()),
            None => refused.why.clone(),
        });
    }

    /// Where to write; `~/` is the home directory.
    fn target(&self) -> PathBuf {
        at_home(self.path.text.trim())
    }

    fn rows(&self) -> usize {
        match self.scope {
            Scope::Pairs => self.sizes.pairs.unwrap_or(0),
            Scope::Slice => self.sizes.slice,
            Scope::WholeQuestions => self.sizes.whole_questions.unwrap_or(self.sizes.slice),
            Scope::Marked => self.sizes.marked,
        }
    }

    /// The format's name; pairs have one form.
    fn form(&self) -> &'static str {
        match self.scope {
            Scope::Pairs => ALL[0].name,
            _ => ALL[self.format].name,
        }
    }

    /// Takes a file name from outside.
    fn name(&mut self, path: &str) {
        self.path = Input::new(path);
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
    fn noun(&self) -> &'static str {
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

/// A name for a file of the filtered rows: `invalid-cat-law`.
fn stem(filter: &str) -> String {
    let words = filter
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let stem: String = words.join("-").chars().take(40).collect();
    if stem.is_empty() { "rows".to_owned() } else { stem }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use crossterm::event::KeyCode;

    use super::*;
    use crate::tui::screen::Overlay;
    use crate::tui::theme::Theme;

    fn shared() -> Shared {
        Shared::new(Theme::PLAIN, (100, 20))
    }

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
        let (mut dialog, mut shared) = (dialog(), shared());
        let mut press = |dialog: &mut Dialog, code: KeyCode| dialog.press(code.into(), &mut shared);
        press(&mut dialog, KeyCode::Tab);
        press(&mut dialog, KeyCode::Tab);
        press(&mut dialog, KeyCode::Right);
        assert_eq!((dialog.path.text.as_str(), dialog.form()), ("slice.csv", "csv"));
        dialog.name("mine/part.jsonl.gz");
        assert_eq!(dialog.form(), "jsonl");
        press(&mut dialog, KeyCode::Right);
        assert_eq!((dialog.path.text.as_str(), dialog.form()), ("mine/part.csv", "csv"));
        press(&mut dialog, KeyCode::Right);
        press(&mut dialog, KeyCode::Right);
        assert_eq!((dialog.path.text.as_str(), dialog.form()), ("mine/part", "lm-eval"));
    }

    #[test]
    fn an_ending_that_no_format_has_is_said_instead_of_written() {
        let (mut dialog, mut shared) = (dialog(), shared());
        dialog.name("slice.xlsx");
        dialog.press(KeyCode::Enter.into(), &mut shared);
        let error = dialog.error.unwrap();
        assert!(error.contains("slice.jsonl or slice.csv or slice.parquet"), "{error}");
        assert!(shared.effects.is_empty());
    }

    #[test]
    fn nothing_to_write_is_said_instead_of_written() {
        let (mut dialog, mut shared) = (dialog(), shared());
        dialog.scope = Scope::Marked;
        dialog.press(KeyCode::Enter.into(), &mut shared);
        assert!(dialog.error.is_some() && shared.effects.is_empty());
    }

    #[test]
    fn what_is_being_written_is_counted_and_left_to_go_on() {
        let (mut dialog, mut shared) = (dialog(), shared());
        let writing = Writing::of(&dialog);
        dialog.begin(&writing);
        writing.written.fetch_add(2, Ordering::Relaxed);
        assert_eq!((writing.rows(), writing.share(), writing.noun), (2, 66, "row"));
        assert!(
            dialog.press(KeyCode::Enter.into(), &mut shared) && shared.effects.is_empty(),
            "not written twice"
        );
        dialog.press(KeyCode::Char('Q').into(), &mut shared);
        assert!(matches!(shared.next[..], [Next::Quit]));
        assert!(!dialog.press(KeyCode::Esc.into(), &mut shared));
        dialog.fail(&Refused {
            why: "x.jsonl exists; --force replaces it".to_owned(),
            there: Some("x.jsonl".into()),
        });
        assert_eq!(dialog.error.as_deref(), Some("x.jsonl exists · ^o replaces it"));
    }
}
