//! The `:` line: jump, category, sort, export, quit.

use crate::tui::panes::categories;
use crate::tui::panes::picker::Choice;
use crate::tui::worker::Sort;

use super::App;

/// Words that begin a command, with what follows them.
const COMMANDS: [(&str, &str); 10] = [
    ("sort", "COLUMN"),
    ("export", "FILE"),
    ("compare", "FILE"),
    ("filter", "WORDS"),
    ("note", ""),
    ("lab", "RULE"),
    ("adopt", ""),
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
            _ => self.jump(text),
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
            Some(word) => self.choose(Choice::Replace(&["cat:", "sub:"], Some(word))),
            None => {
                let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
                self.warn(format!(
                    "no command or category `{text}`; commands: {}, a row number, 886.1",
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
