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
    /// The runs that were opened, where they are more than two.
    Runs,
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
            Screen::Runs => "Runs",
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
    /// From a run at work to its landed rows.
    Browse,
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
    pub group: Group,
    /// Other words that people type to find it.
    pub words: &'static str,
}

use Screen::{Browse, Compare, Exam, Lab, Live, Question, Runs};

const ALL: &[Screen] = &[Browse, Question, Live, Exam, Compare, Lab, Runs];
const SLICED: &[Screen] = &[Browse, Question, Live, Exam, Compare, Lab];
const FILTERED: &[Screen] = &[Browse, Live, Exam, Lab];
const ONE_RUN: &[Screen] = &[Browse, Question, Live, Exam, Lab];
const LISTS: &[Screen] = &[Browse, Live, Exam, Compare, Lab, Runs];
const READING: &[Screen] = &[Browse, Question, Compare, Lab];
const SEARCHED: &[Screen] = &[Browse, Question, Compare];
const ROWS: &[Screen] = &[Browse, Question];
const WORKING: &[Screen] = &[Live, Exam];

/// Every key, in the order of the footer; the help groups it.
pub const TABLE: &[Binding] = &[
    Binding {
        keys: &["Tab"],
        action: Action::NextPane,
        on: &[Live],
        label: "other exam",
        help: "go to the other exam",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["⏎"],
        action: Action::Open,
        on: &[Live],
        label: "full screen",
        help: "open this exam full screen",
        group: Group::Move,
        words: "zoom",
    },
    Binding {
        keys: &["F"],
        action: Action::Follow,
        on: WORKING,
        label: "follow",
        help: "hold the feed, or let the newest answer stay on top",
        group: Group::Read,
        words: "pause hold newest",
    },
    Binding {
        keys: &["⏎"],
        action: Action::Open,
        on: &[Runs],
        label: "browse",
        help: "browse this run; with two marked: compare them",
        group: Group::Move,
        words: "open",
    },
    Binding {
        keys: &["Space"],
        action: Action::Mark,
        on: &[Runs],
        label: "mark",
        help: "mark or unmark this run",
        group: Group::Mark,
        words: "select",
    },
    Binding {
        keys: &["⏎"],
        action: Action::Open,
        on: &[Browse],
        label: "open",
        help: "open the question; on panes 1 to 3 filter by the line",
        group: Group::Move,
        words: "read enter",
    },
    Binding {
        keys: &["⏎"],
        action: Action::Open,
        on: &[Exam],
        label: "open",
        help: "open this answer; one that is being written is watched",
        group: Group::Move,
        words: "watch",
    },
    Binding {
        keys: &["b"],
        action: Action::Browse,
        on: WORKING,
        label: "browse",
        help: "browse what has landed",
        group: Group::Move,
        words: "rows list",
    },
    Binding {
        keys: &["P"],
        action: Action::Pause,
        on: WORKING,
        label: "pause",
        help: "pause this exam, or let it go on",
        group: Group::Read,
        words: "stop resume continue",
    },
    Binding {
        keys: &["<", ","],
        action: Action::Less,
        on: &[Live],
        label: "/> compute",
        help: "give this exam a smaller share of compute",
        group: Group::Read,
        words: "share speed",
    },
    Binding {
        keys: &[">", "."],
        action: Action::More,
        on: &[Live],
        label: "",
        help: "give this exam a larger share of compute",
        group: Group::Read,
        words: "share speed",
    },
    Binding {
        keys: &["h", "←"],
        action: Action::Left,
        on: &[Question],
        label: "/l attempt",
        help: "previous attempt",
        group: Group::Move,
        words: "output",
    },
    Binding {
        keys: &["l", "→"],
        action: Action::Right,
        on: &[Question],
        label: "",
        help: "next attempt",
        group: Group::Move,
        words: "output",
    },
    Binding {
        keys: &["j", "↓"],
        action: Action::Down,
        on: &[Question],
        label: "/k scroll",
        help: "scroll down",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["k", "↑"],
        action: Action::Up,
        on: &[Question],
        label: "",
        help: "scroll up",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["r"],
        action: Action::Lab,
        on: &[Lab],
        label: "edit the rule",
        help: "edit the rule; every output is read again as you type",
        group: Group::Read,
        words: "regex pattern change",
    },
    Binding {
        keys: &["Tab"],
        action: Action::NextPane,
        on: &[Lab],
        label: "what flips",
        help: "next way of flipping",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["⏎"],
        action: Action::Open,
        on: &[Lab],
        label: "open",
        help: "open the question",
        group: Group::Move,
        words: "read enter",
    },
    Binding {
        keys: &["J"],
        action: Action::NextRow,
        on: &[Question],
        label: "/K row",
        help: "next row of the slice",
        group: Group::Move,
        words: "question",
    },
    Binding {
        keys: &["K"],
        action: Action::PreviousRow,
        on: &[Question],
        label: "",
        help: "previous row of the slice",
        group: Group::Move,
        words: "question",
    },
    Binding {
        keys: &["J"],
        action: Action::NextRow,
        on: &[Browse],
        label: "",
        help: "scroll the preview down",
        group: Group::Read,
        words: "output read",
    },
    Binding {
        keys: &["K"],
        action: Action::PreviousRow,
        on: &[Browse],
        label: "",
        help: "scroll the preview up",
        group: Group::Read,
        words: "output read",
    },
    Binding {
        keys: &["z"],
        action: Action::Fold,
        on: &[Question],
        label: "fold",
        help: "fold or unfold loops and the text after the match",
        group: Group::Read,
        words: "loop expand collapse",
    },
    Binding {
        keys: &["="],
        action: Action::Arrange,
        on: &[Question],
        label: "side/one",
        help: "outputs side by side, stacked, or one",
        group: Group::Read,
        words: "layout columns split",
    },
    Binding {
        keys: &["p"],
        action: Action::Prompt,
        on: &[Question],
        label: "prompt",
        help: "full prompt, as sent",
        group: Group::Read,
        words: "input shots",
    },
    Binding {
        keys: &["p"],
        action: Action::Prompt,
        on: &[Compare],
        label: "",
        help: "how the prompts differ",
        group: Group::Read,
        words: "input diff",
    },
    Binding {
        keys: &["z"],
        action: Action::Fold,
        on: &[Compare],
        label: "",
        help: "fold or unfold what is equal",
        group: Group::Read,
        words: "expand collapse",
    },
    Binding {
        keys: &["⏎"],
        action: Action::Open,
        on: &[Compare],
        label: "",
        help: "open the question, with all attempts of A; on the categories filter",
        group: Group::Move,
        words: "read enter",
    },
    Binding {
        keys: &["J"],
        action: Action::NextRow,
        on: &[Compare],
        label: "/K next discordant",
        help: "next pair that only one run has right",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["K"],
        action: Action::PreviousRow,
        on: &[Compare],
        label: "",
        help: "previous pair that only one run has right",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["h", "←"],
        action: Action::Left,
        on: &[Compare],
        label: "/l A/B",
        help: "the text of A: in focus, or on small screens in sight",
        group: Group::Move,
        words: "left",
    },
    Binding {
        keys: &["l", "→"],
        action: Action::Right,
        on: &[Compare],
        label: "",
        help: "the text of B",
        group: Group::Move,
        words: "right",
    },
    Binding {
        keys: &["Tab"],
        action: Action::NextPane,
        on: &[Compare],
        label: "quadrant",
        help: "next list: A only, B only, changed pick",
        group: Group::Compare,
        words: "list",
    },
    Binding {
        keys: &["="],
        action: Action::Align,
        on: &[Compare],
        label: "align",
        help: "the same words on the same lines, what differs lit",
        group: Group::Compare,
        words: "diff difference",
    },
    Binding {
        keys: &["X"],
        action: Action::Swap,
        on: &[Compare],
        label: "swap A/B",
        help: "A and B change places",
        group: Group::Compare,
        words: "exchange",
    },
    Binding {
        keys: &["x"],
        action: Action::Changed,
        on: &[Compare],
        label: "",
        help: "the questions that are not the same in both runs",
        group: Group::Compare,
        words: "differ wording",
    },
    Binding {
        keys: &["/"],
        action: Action::Filter,
        on: FILTERED,
        label: "filter",
        help: "filter line: words choose rows as you type",
        group: Group::Rows,
        words: "search find query where",
    },
    Binding {
        keys: &["/", "f"],
        action: Action::Find,
        on: &[Question, Compare],
        label: "find",
        help: "find on this screen",
        group: Group::Read,
        words: "search look grep",
    },
    Binding {
        keys: &["i"],
        action: Action::Invalid,
        on: ONE_RUN,
        label: "invalid",
        help: "only rows without a readable letter, or all again",
        group: Group::Rows,
        words: "unreadable unparsed",
    },
    Binding {
        keys: &["w"],
        action: Action::Wrong,
        on: ONE_RUN,
        label: "wrong",
        help: "only wrong rows ([invalid] included), or all again",
        group: Group::Rows,
        words: "incorrect errors mistakes",
    },
    Binding {
        keys: &["o"],
        action: Action::Ok,
        on: ONE_RUN,
        label: "",
        help: "only correct rows, or all again",
        group: Group::Rows,
        words: "ok right correct",
    },
    Binding {
        keys: &["c"],
        action: Action::Category,
        on: SLICED,
        label: "category",
        help: "choose a category or subject: type to narrow",
        group: Group::Rows,
        words: "subject topic",
    },
    Binding {
        keys: &["a"],
        action: Action::Attempts,
        on: &[Browse],
        label: "attempts",
        help: "one row an attempt, or one row a question",
        group: Group::Rows,
        words: "group questions seeds",
    },
    Binding {
        keys: &["d"],
        action: Action::Compare,
        on: &[Browse, Compare],
        label: "compare",
        help: "compare with another run: choose which",
        group: Group::Compare,
        words: "diff versus runs",
    },
    Binding {
        keys: &["m"],
        action: Action::Mark,
        on: &[Question],
        label: "mark",
        help: "mark or unmark this row",
        group: Group::Mark,
        words: "bookmark star flag tag",
    },
    Binding {
        keys: &["r"],
        action: Action::Lab,
        on: ROWS,
        label: "",
        help: "regex lab: what another rule would read, on these rows or this output",
        group: Group::Read,
        words: "rule extraction pattern",
    },
    Binding {
        keys: &["e"],
        action: Action::Export,
        on: SLICED,
        label: "export",
        help: "write these rows to a file",
        group: Group::File,
        words: "save write csv json download",
    },
    Binding {
        keys: &[":"],
        action: Action::Command,
        on: ALL,
        label: "command",
        help: "a command: :law  :886.1  :123  :sort chars  :export x.jsonl",
        group: Group::Move,
        words: "go jump",
    },
    Binding {
        keys: &["j", "↓"],
        action: Action::Down,
        on: LISTS,
        label: "",
        help: "down",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["k", "↑"],
        action: Action::Up,
        on: LISTS,
        label: "",
        help: "up",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["h", "←"],
        action: Action::Left,
        on: &[Browse],
        label: "",
        help: "show the question from further left",
        group: Group::Move,
        words: "scroll",
    },
    Binding {
        keys: &["l", "→"],
        action: Action::Right,
        on: &[Browse],
        label: "",
        help: "show the question from further right",
        group: Group::Move,
        words: "scroll",
    },
    Binding {
        keys: &["g", "Home"],
        action: Action::First,
        on: ALL,
        label: "",
        help: "to the first",
        group: Group::Move,
        words: "top begin start",
    },
    Binding {
        keys: &["G", "End"],
        action: Action::Last,
        on: ALL,
        label: "",
        help: "to the last",
        group: Group::Move,
        words: "bottom end",
    },
    Binding {
        keys: &["^d"],
        action: Action::HalfDown,
        on: ALL,
        label: "",
        help: "half a page down",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["^u"],
        action: Action::HalfUp,
        on: ALL,
        label: "",
        help: "half a page up",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["^f", "PgDn"],
        action: Action::PageDown,
        on: ALL,
        label: "",
        help: "a page down",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["^b", "PgUp"],
        action: Action::PageUp,
        on: ALL,
        label: "",
        help: "a page up",
        group: Group::Move,
        words: "",
    },
    Binding {
        keys: &["Space"],
        action: Action::PageText,
        on: READING,
        label: "",
        help: "page the text; at its end back to its beginning",
        group: Group::Read,
        words: "scroll",
    },
    Binding {
        keys: &["1", "2", "3", "4", "5"],
        action: Action::Digit,
        on: &[Browse],
        label: "",
        help: "go to a pane",
        group: Group::Move,
        words: "focus window",
    },
    Binding {
        keys: &["1", "2"],
        action: Action::Digit,
        on: &[Live],
        label: "",
        help: "go to an exam",
        group: Group::Move,
        words: "focus",
    },
    Binding {
        keys: &["1", "2"],
        action: Action::Digit,
        on: &[Compare],
        label: "",
        help: "go to the categories, or to the pairs",
        group: Group::Move,
        words: "focus scroll",
    },
    Binding {
        keys: &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        action: Action::Digit,
        on: &[Question],
        label: "",
        help: "go to an attempt",
        group: Group::Move,
        words: "seed",
    },
    Binding {
        keys: &["Tab"],
        action: Action::NextPane,
        on: &[Browse],
        label: "",
        help: "next pane",
        group: Group::Move,
        words: "focus window",
    },
    Binding {
        keys: &["Tab"],
        action: Action::NextPane,
        on: &[Question],
        label: "",
        help: "the keys scroll the question, or the text below it",
        group: Group::Read,
        words: "focus options",
    },
    Binding {
        keys: &["z"],
        action: Action::Fold,
        on: &[Browse],
        label: "",
        help: "fold or unfold loops in the preview",
        group: Group::Read,
        words: "loop expand collapse",
    },
    Binding {
        keys: &["m"],
        action: Action::Mark,
        on: &[Browse, Compare, Lab],
        label: "",
        help: "mark or unmark this row",
        group: Group::Mark,
        words: "bookmark star flag tag",
    },
    Binding {
        keys: &["f"],
        action: Action::Find,
        on: &[Browse],
        label: "",
        help: "find in the preview",
        group: Group::Read,
        words: "search look grep",
    },
    Binding {
        keys: &["n"],
        action: Action::FindNext,
        on: SEARCHED,
        label: "",
        help: "next found place; nothing searched: match or evidence",
        group: Group::Read,
        words: "search again",
    },
    Binding {
        keys: &["N"],
        action: Action::FindPrevious,
        on: SEARCHED,
        label: "",
        help: "previous found place",
        group: Group::Read,
        words: "search",
    },
    Binding {
        keys: &["+"],
        action: Action::Keep,
        on: READING,
        label: "",
        help: "keep only rows like this one: choose in what",
        group: Group::Rows,
        words: "similar alike",
    },
    Binding {
        keys: &["-"],
        action: Action::Drop,
        on: READING,
        label: "",
        help: "drop rows like this one: choose in what",
        group: Group::Rows,
        words: "similar alike hide without",
    },
    Binding {
        keys: &["s"],
        action: Action::Sort,
        on: &[Browse],
        label: "",
        help: "sort by a column; the same column again reverses",
        group: Group::Rows,
        words: "order longest reverse",
    },
    Binding {
        keys: &["s"],
        action: Action::Sort,
        on: &[Compare],
        label: "",
        help: "categories by name, or by how far the runs are apart",
        group: Group::Rows,
        words: "order",
    },
    Binding {
        keys: &["W"],
        action: Action::Why,
        on: ROWS,
        label: "",
        help: "why this row is invalid",
        group: Group::Read,
        words: "cause reason explain",
    },
    Binding {
        keys: &["'"],
        action: Action::NextMark,
        on: READING,
        label: "",
        help: "next marked row",
        group: Group::Mark,
        words: "bookmark",
    },
    Binding {
        keys: &["#"],
        action: Action::Note,
        on: READING,
        label: "",
        help: "write a note on this row; note:WORD filters",
        group: Group::Mark,
        words: "comment annotate",
    },
    Binding {
        keys: &["b"],
        action: Action::Blind,
        on: ROWS,
        label: "",
        help: "blind mode: key and picks hidden, A-J answers, n and N go on",
        group: Group::Mark,
        words: "quiz review",
    },
    Binding {
        keys: &["I"],
        action: Action::About,
        on: READING,
        label: "",
        help: "about this trace: what it is, what the check found, where it comes from",
        group: Group::File,
        words: "info warnings manifest problems",
    },
    Binding {
        keys: &["F"],
        action: Action::Follow,
        on: &[Browse],
        label: "",
        help: "follow a file that grows: its new rows show, nothing else moves",
        group: Group::File,
        words: "tail watch",
    },
    Binding {
        keys: &["u"],
        action: Action::Undo,
        on: ALL,
        label: "",
        help: "undo: filter, sort, marks, notes, adopted rules",
        group: Group::Rows,
        words: "back revert",
    },
    Binding {
        keys: &["^r"],
        action: Action::Redo,
        on: ALL,
        label: "",
        help: "redo",
        group: Group::Rows,
        words: "again",
    },
    Binding {
        keys: &["y"],
        action: Action::CopyOutput,
        on: READING,
        label: "",
        help: "copy the output",
        group: Group::File,
        words: "clipboard yank",
    },
    Binding {
        keys: &["Y"],
        action: Action::CopyCommand,
        on: READING,
        label: "",
        help: "copy the command that reopens this view",
        group: Group::File,
        words: "clipboard link share",
    },
    Binding {
        keys: &["Esc"],
        action: Action::Back,
        on: ALL,
        label: "",
        help: "back one level; in Browse clears the filter; never quits",
        group: Group::Move,
        words: "close leave cancel reset",
    },
    Binding {
        keys: &["?", "F1"],
        action: Action::Help,
        on: ALL,
        label: "keys",
        help: "the keys of this screen; type to search, ⏎ presses",
        group: Group::Move,
        words: "help",
    },
    Binding {
        keys: &["q"],
        action: Action::Quit,
        on: READING,
        label: "quit",
        help: "back; at the top quit",
        group: Group::File,
        words: "exit close leave",
    },
    Binding {
        keys: &["q"],
        action: Action::Quit,
        on: &[Runs],
        label: "quit",
        help: "quit",
        group: Group::File,
        words: "exit close leave",
    },
    Binding {
        keys: &["q"],
        action: Action::Quit,
        on: WORKING,
        label: "quit",
        help: "quit; asks while a run is at work",
        group: Group::File,
        words: "exit close leave stop",
    },
    Binding {
        keys: &["Q", "^c"],
        action: Action::QuitNow,
        on: ALL,
        label: "",
        help: "quit; asks while a run is at work",
        group: Group::File,
        words: "exit close leave",
    },
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
        KeyCode::F(number) => format!("F{number}"),
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
        "f1" => KeyCode::F(1),
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
        "F1" => KeyCode::F(1),
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

/// The key table as a Markdown table: one row a key, the screens as columns, `″` where a key does what it does before.
pub fn markdown() -> String {
    let mut rows: Vec<(&str, Vec<&Binding>)> = Vec::new();
    for binding in TABLE {
        for key in &binding.keys[..1] {
            match rows.iter_mut().find(|(known, _)| known == key) {
                Some((_, bindings)) => bindings.push(binding),
                None => rows.push((key, vec![binding])),
            }
        }
    }
    rows.sort_by_key(|(_, bindings)| bindings.iter().map(|binding| binding.group).min());
    let cells = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let screens = ALL.iter().map(|screen| screen.name().to_owned());
    let mut table = cells(std::iter::once("key".to_owned()).chain(screens).collect());
    table.push_str(&format!("|{}\n", "---|".repeat(ALL.len() + 1)));
    for (_, bindings) in rows {
        let mut keys: Vec<&str> = Vec::new();
        for key in bindings.iter().flat_map(|binding| binding.keys) {
            if !keys.contains(key) {
                keys.push(key);
            }
        }
        let name = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" ");
        let mut does: Vec<String> = Vec::new();
        let mut before = None;
        for screen in ALL {
            let own = bindings.iter().find(|binding| binding.on.contains(screen));
            let help = own.map(|binding| binding.help);
            does.push(match help {
                Some(_) if help == before => "″".to_owned(),
                help => help.unwrap_or_default().to_owned(),
            });
            before = help;
        }
        table.push_str(&cells(std::iter::once(name).chain(does).collect()));
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
