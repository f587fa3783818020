//! The `:` line: jump, category, sort, export, quit.

use crate::tui::keymap::{Action, Screen};
use crate::tui::live::Live;
use crate::tui::panes::categories;
use crate::tui::panes::picker::Choice;
use crate::tui::worker::Sort;

use super::App;

/// Words that begin a command, with what follows them.
const COMMANDS: [(&str, &str); 14] = [
    ("sort", "COLUMN"),
    ("export", "FILE"),
    ("compare", "FILE"),
    ("filter", "WORDS"),
    ("note", ""),
    ("lab", "RULE"),
    ("adopt", ""),
    ("changed", ""),
    ("weight", ""),
    ("order", ""),
    ("about", ""),
    ("help", ""),
    ("quit", ""),
    ("all", ""),
];

impl App {
    pub(super) fn command(&mut self, text: &str) {
        let text = text.trim();
        let (word, rest) = text
            .split_once(' ')
            .map_or((text, ""), |(word, rest)| (word, rest.trim()));
        match word {
            "" => {}
            "q" | "quit" => self.quit(),
            "help" => self.open_help(),
            "all" => self.show_filter(String::new()),
            "filter" => self.show_filter(rest.to_owned()),
            "sort" => match Sort::ALL.iter().find(|(_, name, _)| *name == rest) {
                Some((sort, ..)) => self.choose(Choice::Sort(*sort)),
                None => {
                    let known: Vec<&str> = Sort::ALL.iter().map(|(_, name, _)| *name).collect();
                    self.warn(format!("no column `{rest}`; known: {}", known.join(" ")));
                }
            },
            "export" => self.export_to(rest),
            "compare" => self.compare_file(rest),
            "note" => self.open_note(),
            "lab" => self.open_lab(Some(rest).filter(|rest| !rest.is_empty())),
            "adopt" => self.adopt(rest),
            "changed" => self.press_for(Screen::Compare, Action::Changed),
            "weight" => self.with_live(Live::toggle_weight),
            "order" => self.with_live(Live::next_order),
            "about" => self.open_about(),
            _ => self.jump(text),
        }
    }

    /// Does what a key does on a screen, where it is that screen.
    fn press_for(&mut self, screen: Screen, action: Action) {
        if self.screen() == screen {
            self.act(action, "");
        } else {
            self.say(format!("that is for {}", screen.name()));
        }
    }

    /// Changes how a run at work is shown.
    fn with_live(&mut self, change: impl FnOnce(&mut Live)) {
        match &mut self.live {
            Some(live) => change(live),
            None => self.say("that is for a run at work"),
        }
    }

    /// `123`: a row; `886.1`: a question's attempt; `law`: a category.
    fn jump(&mut self, text: &str) {
        if let Ok(number) = text.parse::<usize>() {
            let count = self.workspace.selected.rows.len();
            self.go_to_place(number.saturating_sub(1).min(count.saturating_sub(1)));
            return;
        }
        let number = text.trim_start_matches(['Q', 'q']);
        let place = match number.split_once('.') {
            Some((question, attempt)) => question.parse::<i64>().ok().zip(attempt.parse::<u16>().ok().map(Some)),
            None => number.parse::<i64>().ok().map(|question| (question, None)),
        };
        if let Some((question, attempt)) = place {
            self.jump_to_question(question, attempt);
            return;
        }
        let typed = text.to_lowercase();
        let found = self.workspace.rows().and_then(|rows| {
            let names = rows.category.list();
            let whole = names.iter().find(|name| name.to_lowercase() == typed);
            let name = whole.or_else(|| names.iter().find(|name| name.to_lowercase().starts_with(&typed)))?;
            Some(format!("cat:{}", categories::quoted(name)))
        });
        match found {
            Some(word) => self.replace_words(&["cat:", "sub:"], Some(word)),
            None => {
                let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
                let near = nearest(text, &known).map_or(String::new(), |near| format!("; did you mean {near}"));
                self.warn(format!(
                    "no command or category `{text}`{near}; commands: {}, a row number, 886.1",
                    known.join(" ")
                ));
            }
        }
    }

    fn jump_to_question(&mut self, question: i64, attempt: Option<u16>) {
        let Some(rows) = self.workspace.rows() else { return };
        let fits = |row: &u32| {
            let at = *row as usize;
            rows.question_id[at] == question && attempt.is_none_or(|attempt| rows.attempt[at] == attempt)
        };
        let place = self.workspace.selected.rows.iter().position(fits);
        let anywhere = (0..rows.len() as u32).any(|row| fits(&row));
        match (place, anywhere) {
            (Some(at), _) => self.go_to_place(at),
            (None, true) => self.warn(format!(
                "question {question} is not in this slice; :all shows every row"
            )),
            (None, false) => self.warn(format!("there is no such row: {question}")),
        }
    }

    /// What the typed command could become.
    pub(super) fn command_hints(&self, typed: &str) -> Vec<String> {
        if let Some(column) = typed.strip_prefix("sort ") {
            return Sort::ALL
                .iter()
                .map(|(_, name, _)| *name)
                .filter(|name| name.starts_with(column))
                .map(|name| format!("sort {name}"))
                .collect();
        }
        let mut hints: Vec<String> = COMMANDS
            .iter()
            .filter(|(name, _)| name.starts_with(typed))
            .map(|(name, rest)| {
                if rest.is_empty() {
                    (*name).to_owned()
                } else {
                    format!("{name} ")
                }
            })
            .collect();
        if let Some(rows) = self.workspace.rows().filter(|_| !typed.is_empty()) {
            let typed = typed.to_lowercase();
            hints.extend(
                rows.category
                    .list()
                    .iter()
                    .map(ToString::to_string)
                    .filter(|name| name.to_lowercase().starts_with(&typed)),
            );
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
