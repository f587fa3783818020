//! The one table of keys: what each does where. Dispatch, key line, help and README come from it.

mod names;
mod table;

pub use names::{event_of, name, parse};
use table::{ALL, TABLE};

/// A kind of screen that keys can belong to: a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Browse,
    Question,
    /// Exams at work side by side.
    Live,
    /// One exam at work, full screen.
    Exam,
    /// Two runs on the same questions.
    Compare,
    /// Outputs read by another rule.
    Lab,
    /// The runs that were opened, where they are more than two.
    Runs,
    /// What can be opened: own runs, files, the demo.
    Home,
    /// Charts of the rows of the view.
    Charts,
}

impl On {
    pub fn name(self) -> &'static str {
        match self {
            On::Browse => "Browse",
            On::Question => "Question",
            On::Live => "Live",
            On::Exam => "Live, one exam",
            On::Compare => "Compare",
            On::Lab => "Regex lab",
            On::Runs => "Runs",
            On::Home => "Home",
            On::Charts => "Charts",
        }
    }
}

/// What a key makes the program do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Down,
    Up,
    Left,
    Right,
    First,
    Last,
    HalfDown,
    HalfUp,
    PageDown,
    PageUp,
    Open,
    Back,
    Quit,
    QuitNow,
    /// A digit: a pane, or an attempt.
    Digit,
    NextPane,
    Filter,
    Find,
    FindNext,
    FindPrevious,
    Help,
    Command,
    /// To where the last jump began.
    JumpBack,
    Undo,
    Redo,
    CopyOutput,
    CopyCommand,
    Export,
    Invalid,
    Wrong,
    Ok,
    Category,
    Attempts,
    Keep,
    Drop,
    Sort,
    NextRow,
    PreviousRow,
    PageText,
    Fold,
    /// How texts stand: side by side, stacked, one; of two runs the same words on the same lines.
    Arrange,
    Prompt,
    Mark,
    NextMark,
    Note,
    About,
    /// Hides key and picks until the person has answered.
    Blind,
    Why,
    /// Shows mark-up as what it means, or texts as they are.
    Render,
    Charts,
    /// Of several exams in one view, the next one.
    NextExam,
    /// Opens the regex lab, or its line.
    OpenLab,
    /// Offers the runs to compare with.
    CompareWith,
    Swap,
    /// The questions that are not the same in both runs.
    Changed,
    Follow,
    Pause,
    /// Ends one answer that is being written.
    StopAnswer,
    Less,
    More,
    /// From a run at work to its landed rows.
    ToBrowse,
    /// Lets a run go on that is not complete.
    Resume,
    /// Opens a path that is typed.
    OpenPath,
    Redraw,
    Suspend,
}

impl Action {
    /// How many lines a move goes, where a page has so many; `None`: it is no move.
    pub fn lines(self, page: usize) -> Option<isize> {
        let page = page as isize;
        Some(match self {
            Action::Down => 1,
            Action::Up => -1,
            Action::HalfDown => page / 2,
            Action::HalfUp => -page / 2,
            Action::PageDown => page,
            Action::PageUp => -page,
            Action::First => isize::MIN / 2,
            Action::Last => isize::MAX / 2,
            _ => return None,
        })
    }
}

/// What a key is for, as the help groups it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Move,
    Rows,
    Read,
    Mark,
    Compare,
    File,
}

impl Group {
    pub fn name(self) -> &'static str {
        match self {
            Group::Move => "Move",
            Group::Rows => "Choose rows",
            Group::Read => "Read",
            Group::Mark => "Mark",
            Group::Compare => "Compare",
            Group::File => "File",
        }
    }
}

/// A key with all that it does.
#[derive(Debug)]
pub struct Key {
    /// Names as [`name`] gives them; the first is the one shown.
    pub keys: &'static [&'static str],
    pub group: Group,
    /// Other words that people type to find it.
    pub words: &'static str,
    uses: &'static [Use],
}

/// What a key does on some screens.
#[derive(Debug)]
pub struct Use {
    on: &'static [On],
    pub action: Action,
    /// For the key line; empty: not there.
    pub label: &'static str,
    pub help: &'static str,
}

impl Key {
    fn on(&self, screen: On) -> Option<&Use> {
        self.uses.iter().find(|does| does.on.contains(&screen))
    }
}

/// The keys of one screen.
pub fn bindings(screen: On) -> impl Iterator<Item = (&'static Key, &'static Use)> {
    TABLE.iter().filter_map(move |key| Some((key, key.on(screen)?)))
}

/// What a key does on a screen.
pub fn lookup(screen: On, key: &str) -> Option<Action> {
    bindings(screen)
        .find(|(known, _)| known.keys.contains(&key))
        .map(|(_, does)| does.action)
}

/// The key table as a Markdown table: one row a key, the screens as columns, `″` where a key does what it does before.
pub fn markdown() -> String {
    let mut rows: Vec<(Group, Vec<&Key>)> = Vec::new();
    for key in TABLE {
        match rows.iter_mut().find(|(_, known)| known[0].keys[0] == key.keys[0]) {
            Some((group, known)) => {
                *group = key.group.min(*group);
                known.push(key);
            }
            None => rows.push((key.group, vec![key])),
        }
    }
    rows.sort_by_key(|(group, _)| *group);
    let cells = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let screens = ALL.iter().map(|screen| screen.name().to_owned());
    let mut table = cells(std::iter::once("key".to_owned()).chain(screens).collect());
    table.push_str(&format!("|{}\n", "---|".repeat(ALL.len() + 1)));
    for (_, keys) in rows {
        let names = keys[0].keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>();
        let mut row = vec![names.join(" ")];
        let mut before = "";
        for screen in ALL {
            let help = keys.iter().find_map(|key| key.on(screen)).map_or("", |does| does.help);
            row.push(
                if !help.is_empty() && help == before {
                    "″"
                } else {
                    help
                }
                .to_owned(),
            );
            before = help;
        }
        table.push_str(&cells(row));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_on_one_screen() {
        for screen in ALL.iter().copied() {
            let mut seen = std::collections::HashMap::new();
            for (key, does) in bindings(screen) {
                for name in key.keys {
                    let before = seen.insert(name, does.action);
                    assert!(
                        before.is_none(),
                        "{name} on {screen:?}: {before:?} and {:?}",
                        does.action
                    );
                }
            }
        }
    }

    #[test]
    fn keys_as_text_and_as_events_name_the_same_key() {
        let names: Vec<String> = parse("iC<enter><lt><^d><esc>⏎ <x>").into_iter().map(name).collect();
        assert_eq!(names, ["i", "C", "⏎", "<", "^d", "Esc", "⏎", "Space", "<", "x", ">"]);
        for name_of in TABLE.iter().flat_map(|key| key.keys) {
            assert_eq!(event_of(name_of).map(name).as_deref(), Some(*name_of));
        }
    }
}
