//! The one table of keys: what each does where. Dispatch, footer, help and README come from it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A screen that keys can belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    Browse,
    Question,
    /// Two exams side by side.
    Live,
    /// One exam at work, full screen.
    Exam,
    /// Two runs on the same questions.
    Compare,
    /// Outputs read by another rule.
    Lab,
}

impl Screen {
    pub fn name(self) -> &'static str {
        match self {
            Screen::Browse => "Browse",
            Screen::Question => "Question",
            Screen::Live => "Live",
            Screen::Exam => "Live, one exam",
            Screen::Compare => "Compare",
            Screen::Lab => "Regex lab",
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
    Reverse,
    NextRow,
    PreviousRow,
    PageText,
    Fold,
    Arrange,
    Prompt,
    Mark,
    NextMark,
    Note,
    About,
    /// Hides key and picks until the person has answered.
    Blind,
    Why,
    /// Opens the regex lab, or its line.
    Lab,
    /// Opens Compare.
    Compare,
    Swap,
    /// The questions that are not the same in both runs.
    Changed,
    /// The same words on the same lines.
    Align,
    Follow,
    Pause,
    Less,
    More,
    Weigh,
    /// From a run at work to its landed rows.
    Browse,
}

/// A line of the key table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// Names as [`name`] gives them; the first is the one shown.
    pub keys: &'static [&'static str],
    pub action: Action,
    pub on: &'static [Screen],
    /// For the footer; empty: not there.
    pub label: &'static str,
    pub help: &'static str,
}

use Screen::{Browse, Compare, Exam, Lab, Live, Question};

const ALL: &[Screen] = &[Browse, Question, Live, Exam, Compare, Lab];
const ONE_RUN: &[Screen] = &[Browse, Question, Live, Exam, Lab];
const LISTS: &[Screen] = &[Browse, Live, Exam, Compare, Lab];
const READING: &[Screen] = &[Browse, Question, Compare, Lab];
const SEARCHED: &[Screen] = &[Browse, Question, Compare];
const ROWS: &[Screen] = &[Browse, Question];
const WORKING: &[Screen] = &[Live, Exam];

const fn key(
    keys: &'static [&'static str],
    action: Action,
    on: &'static [Screen],
    label: &'static str,
    help: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        on,
        label,
        help,
    }
}

/// Every key, in the order of the footer and the help.
pub const TABLE: &[Binding] = &[
    key(
        &["Tab"],
        Action::NextPane,
        &[Live],
        "other exam",
        "go to the other exam",
    ),
    key(
        &["⏎"],
        Action::Open,
        &[Live],
        "full screen",
        "open this exam full screen",
    ),
    key(
        &["F"],
        Action::Follow,
        WORKING,
        "follow",
        "the newest answer stays on top",
    ),
    key(&["⏎"], Action::Open, &[Browse], "open", "open the question"),
    key(
        &["⏎"],
        Action::Open,
        &[Exam],
        "open while it runs",
        "open this answer while the run goes on",
    ),
    key(&["b"], Action::Browse, WORKING, "browse", "browse what has landed"),
    key(
        &["P"],
        Action::Pause,
        WORKING,
        "pause",
        "pause this exam, or let it go on",
    ),
    key(
        &["<", ","],
        Action::Less,
        &[Live],
        "/> compute",
        "give this exam a smaller share of compute",
    ),
    key(
        &[">", "."],
        Action::More,
        &[Live],
        "",
        "give this exam a larger share of compute",
    ),
    key(&["h", "←"], Action::Left, &[Question], "/l attempt", "previous attempt"),
    key(&["l", "→"], Action::Right, &[Question], "", "next attempt"),
    key(&["j", "↓"], Action::Down, &[Question], "/k scroll", "scroll down"),
    key(&["k", "↑"], Action::Up, &[Question], "", "scroll up"),
    key(
        &["r"],
        Action::Lab,
        &[Lab],
        "edit the rule",
        "edit the rule; every output is read again as you type",
    ),
    key(&["Tab"], Action::NextPane, &[Lab], "what flips", "next way of flipping"),
    key(&["⏎"], Action::Open, &[Lab], "open", "open the question"),
    key(&["J"], Action::NextRow, &[Question], "/K row", "next row of the slice"),
    key(
        &["K"],
        Action::PreviousRow,
        &[Question],
        "",
        "previous row of the slice",
    ),
    key(
        &["z"],
        Action::Fold,
        &[Question],
        "fold",
        "fold or unfold loops and the text after the match",
    ),
    key(
        &["="],
        Action::Arrange,
        &[Question],
        "side/one",
        "outputs side by side, stacked, or one",
    ),
    key(&["p"], Action::Prompt, &[Question], "prompt", "full prompt, as sent"),
    key(&["p"], Action::Prompt, &[Compare], "", "how the prompts differ"),
    key(&["z"], Action::Fold, &[Compare], "", "fold or unfold what is equal"),
    key(
        &["⏎"],
        Action::Open,
        &[Compare],
        "",
        "open the question, with all attempts of A",
    ),
    key(
        &["J"],
        Action::NextRow,
        &[Compare],
        "/K next discordant",
        "next pair that only one run has right",
    ),
    key(
        &["K"],
        Action::PreviousRow,
        &[Compare],
        "",
        "previous pair that only one run has right",
    ),
    key(
        &["h", "←"],
        Action::Left,
        &[Compare],
        "/l A/B",
        "the text of A: in focus, or on small screens in sight",
    ),
    key(&["l", "→"], Action::Right, &[Compare], "", "the text of B"),
    key(
        &["Tab"],
        Action::NextPane,
        &[Compare],
        "quadrant",
        "next list: A only, B only, changed pick",
    ),
    key(
        &["="],
        Action::Align,
        &[Compare],
        "align",
        "the same words on the same lines, what differs lit",
    ),
    key(&["X"], Action::Swap, &[Compare], "swap A/B", "A and B change places"),
    key(
        &["x"],
        Action::Changed,
        &[Compare],
        "",
        "the questions that are not the same in both runs",
    ),
    key(
        &["/"],
        Action::Filter,
        ALL,
        "filter",
        "filter line: words choose rows as you type",
    ),
    key(
        &["i"],
        Action::Invalid,
        ONE_RUN,
        "invalid",
        "only rows without a readable letter, or all again",
    ),
    key(
        &["w"],
        Action::Wrong,
        ONE_RUN,
        "wrong",
        "only wrong rows ([invalid] included), or all again",
    ),
    key(&["o"], Action::Ok, ONE_RUN, "", "only correct rows, or all again"),
    key(
        &["c"],
        Action::Category,
        ALL,
        "category",
        "choose a category or subject: type to narrow",
    ),
    key(
        &["a"],
        Action::Attempts,
        &[Browse],
        "attempts",
        "one row an attempt, or one row a question",
    ),
    key(&["a"], Action::Attempts, &[Question], "", "all attempts, or one"),
    key(
        &["d"],
        Action::Compare,
        &[Browse, Compare],
        "compare",
        "compare with another run: choose which",
    ),
    key(&["m"], Action::Mark, &[Question], "mark", "mark or unmark this row"),
    key(
        &["r"],
        Action::Lab,
        ROWS,
        "",
        "regex lab: what another rule would read, on these rows or this output",
    ),
    key(&["e"], Action::Export, ALL, "export", "write these rows to a file"),
    key(
        &["?"],
        Action::Help,
        ALL,
        "keys",
        "the keys of this screen; type to search, ⏎ presses",
    ),
    key(
        &[":"],
        Action::Command,
        ALL,
        "command",
        "a command: :law  :886.1  :123  :sort chars  :export x.jsonl",
    ),
    key(&["j", "↓"], Action::Down, LISTS, "", "down"),
    key(&["k", "↑"], Action::Up, LISTS, "", "up"),
    key(
        &["h", "←"],
        Action::Left,
        &[Browse],
        "",
        "scroll the questions to the left",
    ),
    key(
        &["l", "→"],
        Action::Right,
        &[Browse],
        "",
        "scroll the questions to the right",
    ),
    key(&["g", "Home"], Action::First, ALL, "", "to the first"),
    key(&["G", "End"], Action::Last, ALL, "", "to the last"),
    key(&["^d"], Action::HalfDown, ALL, "", "half a page down"),
    key(&["^u"], Action::HalfUp, ALL, "", "half a page up"),
    key(&["^f", "PgDn"], Action::PageDown, ALL, "", "a page down"),
    key(&["^b", "PgUp"], Action::PageUp, ALL, "", "a page up"),
    key(
        &["Space"],
        Action::PageText,
        READING,
        "",
        "page the text; at its end back to its beginning",
    ),
    key(
        &["Space"],
        Action::PageText,
        WORKING,
        "hold",
        "hold the feed, or let it move on",
    ),
    key(&["1", "2", "3", "4", "5"], Action::Digit, &[Browse], "", "go to a pane"),
    key(&["1", "2"], Action::Digit, &[Live], "", "go to an exam"),
    key(
        &["1", "2", "3", "4", "5", "6", "7", "8"],
        Action::Digit,
        &[Lab],
        "",
        "go to a way of flipping",
    ),
    key(
        &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        Action::Digit,
        &[Question],
        "",
        "go to an attempt",
    ),
    key(
        &["Tab"],
        Action::NextPane,
        ROWS,
        "",
        "next pane; on a question the next attempt",
    ),
    key(
        &["z"],
        Action::Fold,
        &[Browse],
        "",
        "fold or unfold loops in the preview",
    ),
    key(
        &["m"],
        Action::Mark,
        &[Browse, Compare, Lab],
        "",
        "mark or unmark this row",
    ),
    key(&["f"], Action::Find, SEARCHED, "", "find in the text on screen"),
    key(
        &["n"],
        Action::FindNext,
        SEARCHED,
        "",
        "next found place; nothing searched: match or evidence",
    ),
    key(&["N"], Action::FindPrevious, SEARCHED, "", "previous found place"),
    key(
        &["+"],
        Action::Keep,
        READING,
        "",
        "keep only rows like this one: choose in what",
    ),
    key(
        &["-"],
        Action::Drop,
        READING,
        "",
        "drop rows like this one: choose in what",
    ),
    key(&["s"], Action::Sort, &[Browse], "", "sort by a column"),
    key(
        &["s"],
        Action::Sort,
        WORKING,
        "sort",
        "sort categories and subjects: as they are, best first, worst first",
    ),
    key(
        &["s"],
        Action::Sort,
        &[Compare],
        "",
        "categories by name, or by how far the runs are apart",
    ),
    key(&["S"], Action::Reverse, &[Browse], "", "reverse the order"),
    key(
        &["M"],
        Action::Weigh,
        &[Exam],
        "weight",
        "weigh accuracy by question or by category",
    ),
    key(
        &["W"],
        Action::Why,
        ROWS,
        "",
        "why invalid: the causes, or the cause of this one",
    ),
    key(&["'"], Action::NextMark, READING, "", "next marked row"),
    key(
        &["#"],
        Action::Note,
        READING,
        "",
        "write a note on this row; note:WORD filters",
    ),
    key(
        &["b"],
        Action::Blind,
        ROWS,
        "",
        "blind mode: key and picks hidden, A-J answers, n and N go on",
    ),
    key(
        &["I"],
        Action::About,
        READING,
        "",
        "about this trace: what it is, what the check found, where it comes from",
    ),
    key(
        &["F"],
        Action::Follow,
        &[Browse],
        "",
        "follow a file that grows: its new rows show, nothing else moves",
    ),
    key(&["u"], Action::Undo, ALL, "", "undo: filter, sort, marks, notes"),
    key(&["^r"], Action::Redo, ALL, "", "redo"),
    key(&["y"], Action::CopyOutput, READING, "", "copy the output"),
    key(
        &["Y"],
        Action::CopyCommand,
        READING,
        "",
        "copy the command that reopens this view",
    ),
    key(&["Esc"], Action::Back, ALL, "", "back one level; never quits"),
    key(&["q"], Action::Quit, READING, "", "back; at the top quit"),
    key(
        &["q"],
        Action::Quit,
        WORKING,
        "quit",
        "quit; asks while a run is at work",
    ),
    key(
        &["Q", "^c"],
        Action::QuitNow,
        ALL,
        "",
        "quit; asks while a run is at work",
    ),
];

/// The keys of one screen.
pub fn bindings(screen: Screen) -> impl Iterator<Item = &'static Binding> {
    TABLE.iter().filter(move |binding| binding.on.contains(&screen))
}

/// What a key does on a screen.
pub fn lookup(screen: Screen, key: &str) -> Option<Action> {
    bindings(screen)
        .find(|binding| binding.keys.contains(&key))
        .map(|binding| binding.action)
}

/// The name of a key as the table spells it.
pub fn name(event: KeyEvent) -> String {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) if control => format!("^{}", c.to_ascii_lowercase()),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "⏎".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        KeyCode::Tab => "Tab".to_owned(),
        KeyCode::BackTab => "BackTab".to_owned(),
        KeyCode::Backspace => "Backspace".to_owned(),
        KeyCode::Delete => "Delete".to_owned(),
        KeyCode::Up => "↑".to_owned(),
        KeyCode::Down => "↓".to_owned(),
        KeyCode::Left => "←".to_owned(),
        KeyCode::Right => "→".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        _ => String::new(),
    }
}

/// Keys written as text: `iclaw<enter>jj<enter>`; names in angle brackets, `<lt>` for `<`, `<^d>` for control.
pub fn parse(text: &str) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '<'
            && let Some((inside, after)) = rest[1..].split_once('>')
            && let Some(event) = named(inside)
        {
            keys.push(event);
            rest = after;
            continue;
        }
        keys.push(if c == '⏎' {
            KeyCode::Enter.into()
        } else {
            KeyCode::Char(c).into()
        });
        rest = &rest[c.len_utf8()..];
    }
    keys
}

fn named(name: &str) -> Option<KeyEvent> {
    if let Some(letter) = name.strip_prefix('^').and_then(|rest| rest.chars().next()) {
        return Some(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
    }
    let code = match name.to_lowercase().as_str() {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "backspace" => KeyCode::Backspace,
        "space" => KeyCode::Char(' '),
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        "lt" => KeyCode::Char('<'),
        _ => return None,
    };
    Some(code.into())
}

/// The key event that the first key of a binding stands for, so that help and mouse can press it.
pub fn event_of(key: &str) -> Option<KeyEvent> {
    let code = match key {
        "⏎" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "Space" => KeyCode::Char(' '),
        "↑" => KeyCode::Up,
        "↓" => KeyCode::Down,
        "←" => KeyCode::Left,
        "→" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        _ if key.starts_with('^') && key.len() == 2 => {
            return Some(KeyEvent::new(
                KeyCode::Char(char::from(key.as_bytes()[1])),
                KeyModifiers::CONTROL,
            ));
        }
        _ => KeyCode::Char(key.chars().next()?),
    };
    Some(code.into())
}

/// The key table as a Markdown table.
pub fn markdown() -> String {
    let mut table = String::from("| key | where | does |\n|---|---|---|\n");
    for binding in TABLE {
        let keys = binding
            .keys
            .iter()
            .map(|key| format!("`{key}`"))
            .collect::<Vec<_>>()
            .join(" ");
        let on = if binding.on.len() == ALL.len() {
            "everywhere".to_owned()
        } else {
            binding
                .on
                .iter()
                .map(|screen| screen.name())
                .collect::<Vec<_>>()
                .join(", ")
        };
        table.push_str(&format!("| {keys} | {on} | {} |\n", binding.help));
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
            for binding in bindings(screen) {
                for key in binding.keys {
                    let before = seen.insert(key, binding.action);
                    assert!(
                        before.is_none(),
                        "{key} on {screen:?}: {before:?} and {:?}",
                        binding.action
                    );
                }
            }
        }
    }

    #[test]
    fn keys_as_text_and_as_events_name_the_same_key() {
        let names: Vec<String> = parse("iC<enter><lt><^d><esc>⏎ <x>").into_iter().map(name).collect();
        assert_eq!(names, ["i", "C", "⏎", "<", "^d", "Esc", "⏎", "Space", "<", "x", ">"]);
        for binding in TABLE {
            for key in binding.keys {
                assert_eq!(event_of(key).map(name).as_deref(), Some(*key));
            }
        }
    }
}
