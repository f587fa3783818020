//! The `:` line: jump, category, sort, export, quit; and the list of keys.

use crate::tui::keymap::{self, Action, On};
use crate::tui::panes::categories::quoted;
use crate::tui::panes::export::Dialog;
use crate::tui::panes::picker::{Entry, Kind, Picker};
use crate::tui::shared::{Choice, Shared};
use crate::tui::worker::Sort;

use super::App;

/// Words that begin a command, with what follows them.
const COMMANDS: [(&str, &str); 16] = [
    ("sort", "COLUMN"),
    ("export", "FILE"),
    ("compare", "FILE"),
    ("filter", "WORDS"),
    ("save", "NAME"),
    ("note", ""),
    ("lab", "RULE"),
    ("adopt", ""),
    ("changed", ""),
    ("weight", ""),
    ("order", ""),
    ("about", ""),
    ("help", ""),
    ("stop", ""),
    ("quit", ""),
    ("all", ""),
];

/// What the commands that only some screens take are for.
const OWN: [(&str, &str); 4] = [
    ("changed", "Compare"),
    ("weight", "a run at work"),
    ("order", "a run at work"),
    ("stop", "a run at work"),
];

impl App {
    pub(super) fn command(&mut self, text: &str) {
        let text = text.trim();
        let (word, rest) = text
            .split_once(' ')
            .map_or((text, ""), |(word, rest)| (word, rest.trim()));
        if let Some((_, whose)) = OWN.iter().find(|(own, _)| *own == word) {
            let shared = &mut self.shared;
            if !self.screens.iter_mut().rev().any(|screen| screen.command(word, shared)) {
                shared.say(format!("that is for {whose}"));
            }
            return;
        }
        let (screen, shared) = self.top();
        match word {
            "" => {}
            "q" | "quit" => self.quit(),
            "help" => self.open_help(),
            "all" => shared.show_filter(String::new()),
            "filter" => shared.show_filter(shared.saved.by_name.get(rest).map_or(rest, String::as_str).to_owned()),
            "save" => shared.save_filter(rest),
            "sort" => match Sort::ALL.iter().find(|(_, name, _)| *name == rest) {
                Some((sort, ..)) => shared.choose(Choice::Sort(*sort)),
                None => {
                    let known = Sort::ALL.map(|(_, name, _)| name).join(" ");
                    shared.warn(format!("no column `{rest}`; known: {known}"));
                }
            },
            "export" => Dialog::open_to(shared, screen.pairs(), rest),
            "compare" => shared.compare_file(rest),
            "note" => self.act(Action::Note, ""),
            "lab" if rest.is_empty() => self.act(Action::OpenLab, ""),
            "lab" => shared.open_lab(Some(rest), None),
            "adopt" => shared.adopt(rest),
            "about" => shared.open_about(),
            _ => self.jump(text),
        }
    }

    /// `123`: a row; `886.1`: a question's attempt; `law`: a category.
    fn jump(&mut self, text: &str) {
        let (screen, shared) = self.top();
        shared.workspace.note_jump(screen.on() == On::Question);
        if let Ok(number) = text.parse::<usize>() {
            let count = shared.workspace.selected.rows.len();
            screen.go_to(number.saturating_sub(1).min(count.saturating_sub(1)), shared);
            return;
        }
        let number = text.trim_start_matches(['Q', 'q']);
        let place = match number.split_once('.') {
            Some((question, attempt)) => question.parse::<i64>().ok().zip(attempt.parse::<u16>().ok().map(Some)),
            None => number.parse::<i64>().ok().map(|question| (question, None)),
        };
        match place {
            Some((question, attempt)) => self.jump_to_question(question, attempt),
            None => shared.jump_to_category(text),
        }
    }

    fn jump_to_question(&mut self, question: i64, attempt: Option<u16>) {
        let (screen, shared) = self.top();
        let Some(rows) = shared.workspace.rows() else { return };
        let fits = |row: &u32| {
            let at = *row as usize;
            rows.question_id[at] == question && attempt.is_none_or(|attempt| rows.attempt[at] == attempt)
        };
        let place = shared.workspace.selected.rows.iter().position(fits);
        let anywhere = (0..rows.len() as u32).any(|row| fits(&row));
        match (place, anywhere) {
            (Some(at), _) => screen.go_to(at, shared),
            (None, true) => shared.warn(format!(
                "question {question} is not in this slice; :all shows every row"
            )),
            (None, false) => shared.warn(format!("there is no such row: {question}")),
        }
    }

    /// The keys of the screen as a list, searchable; Enter presses.
    pub(super) fn open_help(&mut self) {
        let (on, shared) = (self.screen().on(), &mut self.shared);
        let mut bindings: Vec<_> = keymap::bindings(on).collect();
        bindings.sort_by_key(|(key, _)| key.group);
        let theme = &shared.theme;
        let keys = bindings.into_iter().map(|(key, does)| {
            let keys: Vec<String> = key.keys.iter().map(|key| theme.key_name(key)).collect();
            Entry {
                label: match keys.as_slice() {
                    [first, .., last] if keys.len() > 3 => format!("{first}-{last}"),
                    _ => keys.join(" "),
                },
                detail: theme.key_name(does.help),
                choice: Choice::Press(key.keys[0]),
                group: key.group.name(),
                words: format!("{} {}", does.label, key.words),
                ..Entry::default()
            }
        });
        let said = |label: String, detail: &str, key, group| Entry {
            label,
            detail: detail.to_owned(),
            choice: Choice::Press(key),
            group,
            ..Entry::default()
        };
        let words = crate::filter::WORDS.iter();
        let words = words.map(|(word, help)| said(format!("/ {word}"), help, "/", "Filter words"));
        let figures = crate::stats::WORDS.iter();
        let figures = figures.map(|(word, meaning)| said((*word).to_owned(), meaning, "?", "Figures"));
        let entries = keys.chain(words).chain(figures).collect();
        shared.open_picker(Picker::new(Kind::Keys, &format!("Keys · {}", on.name()), entries));
    }
}

impl Shared {
    fn jump_to_category(&mut self, text: &str) {
        let typed = text.to_lowercase();
        let found = self.workspace.rows().and_then(|rows| {
            let names = rows.category.list();
            let whole = names.iter().find(|name| name.to_lowercase() == typed);
            let name = whole.or_else(|| names.iter().find(|name| name.to_lowercase().starts_with(&typed)))?;
            Some(format!("cat:{}", quoted(name)))
        });
        if found.is_some() {
            self.replace_words(&["cat:", "sub:"], found);
            return;
        }
        let known = COMMANDS.map(|(name, _)| name);
        let near = nearest(text, &known).map_or(String::new(), |near| format!("; did you mean {near}"));
        let known = known.join(" ");
        self.warn(format!(
            "no command or category `{text}`{near}; commands: {known}, a row number, 886.1"
        ));
    }

    /// What a typed command could become.
    pub fn command_hints(&self, typed: &str) -> Vec<String> {
        if let Some(column) = typed.strip_prefix("sort ") {
            let names = Sort::ALL.iter().map(|(_, name, _)| *name);
            let fitting = names.filter(|name| name.starts_with(column));
            return fitting.map(|name| format!("sort {name}")).collect();
        }
        if let Some(name) = typed.strip_prefix("filter ") {
            let names = self.saved.by_name.keys().filter(|known| known.starts_with(name));
            return names.map(|name| format!("filter {name}")).collect();
        }
        let fitting = COMMANDS.iter().filter(|(name, _)| name.starts_with(typed));
        let blank = |rest: &str| if rest.is_empty() { "" } else { " " };
        let mut hints: Vec<String> = fitting.map(|(name, rest)| format!("{name}{}", blank(rest))).collect();
        if let Some(rows) = self.workspace.rows().filter(|_| !typed.is_empty()) {
            let typed = typed.to_lowercase();
            let names = rows.category.list().iter().map(ToString::to_string);
            hints.extend(names.filter(|name| name.to_lowercase().starts_with(&typed)));
        }
        hints
    }
}

/// The command that is typed but for one letter too many, too few or another, or two that changed places.
fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let without = |text: &str, at: usize| -> String {
        let kept = text.chars().enumerate().filter(|(place, _)| *place != at);
        kept.map(|(_, c)| c).collect()
    };
    let sorted = |text: &str| -> Vec<char> {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_near = |name: &str| {
        let (typed_len, len) = (typed.chars().count(), name.chars().count());
        sorted(typed) == sorted(name)
            || (0..len.max(typed_len)).any(|at| match typed_len.cmp(&len) {
                std::cmp::Ordering::Less => without(name, at) == typed,
                std::cmp::Ordering::Greater => without(typed, at) == name,
                std::cmp::Ordering::Equal => without(name, at) == without(typed, at),
            })
    };
    known.iter().copied().find(|name| typed.len() > 2 && is_near(name))
}
