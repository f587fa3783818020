//! What keys do on the things above the screen: filter line, pickers, dialogs.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::export::{ALL, Extra, Options, Target};
use crate::text::count;
use crate::tui::keymap::{self, Binding, Screen};
use crate::tui::live::watch;
use crate::tui::panes::export::{self, Dialog, Scope, Writing};
use crate::tui::panes::filter_line::{self, FilterLine};
use crate::tui::panes::output::Find;
use crate::tui::panes::picker::{self, Choice, Entry, Kind, Picker};
use crate::tui::widgets::Input;
use crate::tui::worker::{Request, View};

use super::{App, Effect, Exported, How, Order, Overlay, PairOrder};

impl App {
    pub(super) fn press_overlay(&mut self, key: KeyEvent) {
        match &mut self.overlay {
            Some(Overlay::Filter(line)) => {
                let pressed = line.press(key);
                self.filter_pressed(&pressed);
            }
            Some(Overlay::Picker(picker)) => {
                let pressed = picker.press(key);
                self.picked(pressed);
            }
            Some(Overlay::Command(input)) => {
                let input = std::mem::take(input);
                self.press_command(input, key);
            }
            Some(Overlay::Find(input)) => {
                let input = std::mem::take(input);
                self.press_find(input, key);
            }
            Some(Overlay::Export(dialog)) => match dialog.press(key) {
                export::Pressed::Open => {}
                export::Pressed::Closed => self.close_export(),
                export::Pressed::Quit => self.quit(),
                export::Pressed::Write => self.write(),
            },
            Some(Overlay::Note(row, input)) => {
                let (row, input) = (*row, std::mem::take(input));
                self.overlay = None;
                self.press_note(row, input, key);
            }
            Some(Overlay::About(about)) => {
                if !about.press(key, self.area, &self.theme) {
                    self.overlay = None;
                }
            }
            Some(Overlay::Watch(watch)) => match watch.press(key) {
                watch::Pressed::Open => {}
                watch::Pressed::Closed => self.overlay = None,
                watch::Pressed::Read => self.open_watched(),
            },
            Some(Overlay::Quit) => match keymap::name(key).as_str() {
                "s" | "y" | "q" if self.is_working() => {
                    self.overlay = None;
                    self.stop_run();
                }
                "y" | "q" | "Q" => self.effect(Effect::Exit(How::Done)),
                "Esc" | "n" | "b" => self.overlay = None,
                _ => {}
            },
            None => {}
        }
    }

    pub(super) fn picked(&mut self, pressed: picker::Pressed) {
        match pressed {
            picker::Pressed::Open => {}
            picker::Pressed::Closed => self.overlay = None,
            picker::Pressed::Chosen(choice) => {
                self.overlay = None;
                self.choose(choice);
            }
        }
    }

    pub(super) fn open_filter(&mut self) {
        self.overlay = Some(Overlay::Filter(FilterLine::new(
            self.workspace.view.clone(),
            self.workspace.place_now(),
        )));
        self.ask_completions();
    }

    fn filter_pressed(&mut self, pressed: &filter_line::Pressed) {
        match pressed {
            filter_line::Pressed::Moved => self.ask_completions(),
            filter_line::Pressed::Changed => self.filter_typed(),
            filter_line::Pressed::Kept => {
                self.filter_typed();
                if let Some(Overlay::Filter(line)) = self.overlay.take() {
                    self.workspace.keep(line.before);
                }
            }
            filter_line::Pressed::Restored => {
                if let Some(Overlay::Filter(line)) = self.overlay.take() {
                    let request = self.workspace.come_back(line.before, line.place);
                    self.ask(request);
                }
            }
        }
    }

    fn filter_typed(&mut self) {
        let Some(Overlay::Filter(line)) = &self.overlay else {
            return;
        };
        let filter = line.input.text.trim().to_owned();
        self.ask_completions();
        let view = View {
            filter,
            ..self.workspace.view.clone()
        };
        let request = self.workspace.show_for_now(view);
        self.ask(request);
    }

    fn ask_completions(&mut self) {
        if let Some(Overlay::Filter(line)) = &self.overlay {
            let request = Request::Complete {
                text: line.input.text.clone(),
                cursor: line.input.cursor,
            };
            self.effect(Effect::Ask(request));
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.overlay {
            Some(Overlay::Filter(line)) => {
                line.paste(text);
                self.filter_typed();
            }
            Some(Overlay::Command(input) | Overlay::Find(input) | Overlay::Note(_, input)) => {
                input.insert(&one_paste(text))
            }
            Some(Overlay::Export(dialog)) => dialog.paste(&one_paste(text)),
            _ => {
                self.paste_into_lab(&one_paste(text));
            }
        }
    }

    fn press_command(&mut self, mut input: Input, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.overlay = None;
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Char('c') if control => return,
            KeyCode::Backspace if input.text.is_empty() => return,
            KeyCode::Enter => {
                self.command(&input.text);
                return;
            }
            KeyCode::Tab => {
                if let Some(hint) = self.command_hints(&input.text).into_iter().next() {
                    input = Input::new(hint);
                }
            }
            _ => {
                input.press(key);
            }
        }
        self.overlay = Some(Overlay::Command(input));
    }

    fn press_find(&mut self, mut input: Input, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.overlay = None;
        match key.code {
            KeyCode::Esc => self.find = None,
            KeyCode::Char('c') if control => self.find = None,
            KeyCode::Enter => self.find = Find::new(&input.text),
            _ => {
                input.press(key);
                self.find = Find::new(&input.text);
                self.overlay = Some(Overlay::Find(input));
            }
        }
        if self.find.is_none() || self.overlay.is_some() {
            return;
        }
        match (self.screen(), &self.compare) {
            (Screen::Question, _) => self.next_place(true),
            (Screen::Compare, Some(compare)) => {
                let places = compare.places(self.area);
                self.find_in_pair(&places, true);
            }
            _ => {}
        }
    }

    /// The keys of the screen as a list, searchable; Enter presses.
    pub(super) fn open_help(&mut self) {
        let screen = self.screen();
        let mut bindings: Vec<&Binding> = keymap::bindings(screen).collect();
        bindings.sort_by_key(|binding| binding.group);
        let key = |binding: &&Binding| {
            let keys: Vec<String> = binding.keys.iter().map(|key| self.theme.key_name(key)).collect();
            Entry {
                label: match keys.as_slice() {
                    [first, .., last] if keys.len() > 3 => format!("{first}-{last}"),
                    _ => keys.join(" "),
                },
                detail: self.theme.key_name(binding.help),
                choice: Choice::Press(binding.keys[0]),
                group: binding.group.name(),
                words: format!("{} {}", binding.label, binding.words),
                ..Entry::default()
            }
        };
        let mut entries: Vec<Entry> = bindings.iter().map(key).collect();
        entries.extend(crate::filter::WORDS.iter().map(|(word, help)| Entry {
            label: format!("/ {word}"),
            detail: (*help).to_owned(),
            choice: Choice::Press("/"),
            group: "Filter words",
            ..Entry::default()
        }));
        entries.extend(crate::stats::WORDS.iter().map(|(word, meaning)| Entry {
            label: (*word).to_owned(),
            detail: (*meaning).to_owned(),
            choice: Choice::Press("?"),
            group: "Figures",
            ..Entry::default()
        }));
        self.overlay = Some(Overlay::Picker(Picker::new(
            Kind::Keys,
            &format!("Keys · {}", screen.name()),
            entries,
        )));
    }

    pub(super) fn open_export(&mut self) {
        let Some(snapshot) = self.workspace.snapshot.clone() else {
            return;
        };
        let list = self
            .compare
            .as_ref()
            .filter(|_| self.screen() == Screen::Compare)
            .map(|compare| compare.listed.word());
        let stem = export_stem(&format!("{} {}", list.unwrap_or_default(), self.workspace.view.filter));
        let rows = Arc::clone(&self.workspace.selected.rows);
        self.overlay = Some(Overlay::Export(Dialog::new(stem, self.sizes())));
        if !rows.is_empty() {
            self.effect(Effect::Estimate(Arc::clone(&snapshot.trace), rows));
        }
    }

    /// Closes the dialog; what is being written goes on.
    fn close_export(&mut self) {
        self.overlay = None;
        if let Some(writing) = &self.writing {
            let path = writing.path.display();
            self.say(format!("writing {path} goes on in the background"));
        }
    }

    /// `:export FILE`: the slice, in the form that the name says.
    pub(super) fn export_to(&mut self, path: &str) {
        self.open_export();
        let Some(Overlay::Export(dialog)) = &mut self.overlay else {
            return;
        };
        if path.is_empty() {
            return;
        }
        dialog.name(path);
        self.write();
    }

    fn write(&mut self) {
        let Some(snapshot) = self.workspace.snapshot.clone() else {
            return;
        };
        let Some(Overlay::Export(dialog)) = &mut self.overlay else {
            return;
        };
        if self.writing.is_some() {
            dialog.error = Some("another export is being written".to_owned());
            return;
        }
        let slice = &self.workspace.selected.rows;
        let writing = Writing::of(dialog);
        let rows: Vec<u32> = match dialog.scope {
            Scope::Pairs => {
                let Some(compare) = &self.compare else { return };
                let order = PairOrder {
                    paired: Arc::clone(&compare.paired),
                    pairs: Arc::clone(compare.list()),
                    path: dialog.target(),
                    force: dialog.force,
                };
                dialog.begin(&writing);
                self.writing = Some(writing);
                self.effect(Effect::ExportPairs(Box::new(order)));
                return;
            }
            Scope::Slice | Scope::WholeQuestions => slice.to_vec(),
            Scope::Marked => self.workspace.notes.marked().collect(),
        };
        let options = Options {
            format: &ALL[dialog.format],
            target: Target::File(dialog.target()),
            force: dialog.force,
            with: if dialog.extras {
                Extra::ALL.iter().map(|(_, extra)| *extra).collect()
            } else {
                Vec::new()
            },
            spreadsheet_safe: false,
            rule: self.workspace.rule.clone(),
            names_runs: false,
            notes: self.workspace.notes.texts(),
            marks: self.workspace.notes.marked().collect(),
            labels: self.workspace.notes.labels(),
            written: Arc::clone(&writing.written),
        };
        dialog.begin(&writing);
        let order = Order {
            trace: Arc::clone(&snapshot.trace),
            rows,
            whole_questions: dialog.scope == Scope::WholeQuestions,
            options,
        };
        self.writing = Some(writing);
        self.effect(Effect::Export(Box::new(order)));
    }

    pub(super) fn exported(&mut self, outcome: Result<Exported, String>) {
        let noun = self.writing.take().map_or("row", |writing| writing.noun);
        match (outcome, &mut self.overlay) {
            (Ok(Exported { written, path }), _) => {
                if matches!(self.overlay, Some(Overlay::Export(_))) {
                    self.overlay = None;
                }
                let rows = count(written.rows, noun);
                let bytes = count(usize::try_from(written.bytes).unwrap_or(usize::MAX), "byte");
                let path = std::path::absolute(&path).unwrap_or(path);
                self.say(format!("{rows} written to {} ({bytes})", path.display()));
            }
            (Err(error), Some(Overlay::Export(dialog))) => dialog.fail(&error),
            (Err(error), _) => self.warn(error),
        }
    }
}

/// A name for a file of the filtered rows: `invalid-cat-law`.
fn export_stem(filter: &str) -> String {
    let words: Vec<String> = filter
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let stem: String = words.join("-").chars().take(40).collect();
    if stem.is_empty() { "rows".to_owned() } else { stem }
}

fn one_paste(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
