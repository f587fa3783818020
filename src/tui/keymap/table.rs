//! The keys: each said once, with what it does on which screens. In the order of the key line; the help groups them.

use super::On::{self, Browse, Charts, Compare, Exam, Home, Lab, Live, Question, Runs};
use super::{Action, Group, Key, Use};

pub const ALL: [On; 9] = [Home, Runs, Browse, Question, Charts, Live, Exam, Compare, Lab];
const SLICED: [On; 7] = [Browse, Question, Charts, Live, Exam, Compare, Lab];
const FILTERED: [On; 5] = [Browse, Charts, Live, Exam, Lab];
const ONE_RUN: [On; 6] = [Browse, Question, Charts, Live, Exam, Lab];
const LISTS: [On; 8] = [Home, Runs, Browse, Charts, Live, Exam, Compare, Lab];
const READING: [On; 4] = [Browse, Question, Compare, Lab];
const SEARCHED: [On; 3] = [Browse, Question, Compare];
const ROWS: [On; 2] = [Browse, Question];
const WORKING: [On; 2] = [Live, Exam];

/// `[keys] Group, "words that find it":`, then a line for each use: `SCREENS Action "label of the key line", "help"`.
macro_rules! keys {
    ($([$($key:literal),+] $group:ident, $words:literal: $($on:tt $action:ident $label:literal, $help:literal);+),+ $(,)?) => {
        /// Every key.
        pub const TABLE: &[Key] = &[$(Key {
            keys: &[$($key),+],
            group: Group::$group,
            words: $words,
            uses: &[$(Use { on: &$on, action: Action::$action, label: $label, help: $help }),+],
        }),+];
    };
}

keys! {
    ["r"] Read, "regex rule extraction pattern change":
        [Lab] OpenLab "edit the rule", "edit the rule; every output is read again as you type";
        [Home] Resume "resume", "let this run go on where it was stopped";
        ROWS OpenLab "", "regex lab: what another rule would read, on these rows or this output",
    ["h", "←"] Move, "left output scroll":
        [Question] Left "/l attempt", "previous attempt";
        [Compare] Left "/l A/B", "the text of A: in focus, or on small screens in sight";
        [Browse] Left "", "show the question from further left";
        [Runs] Left "", "in the table: the run before";
        [Charts] Left "", "the column to the left",
    ["l", "→"] Move, "right output scroll":
        [Question] Right "", "next attempt";
        [Compare] Right "", "the text of B";
        [Browse] Right "", "show the question from further right";
        [Runs] Right "", "in the table: the next run";
        [Charts] Right "", "the column to the right",
    ["j", "↓"] Move, "":
        [Question] Down "/k scroll", "scroll down";
        LISTS Down "", "down",
    ["k", "↑"] Move, "":
        [Question] Up "", "scroll up";
        LISTS Up "", "up",
    ["J"] Move, "question output read":
        [Question] NextRow "/K row", "next row of the slice";
        [Browse] NextRow "", "scroll the preview down";
        [Compare] NextRow "/K next discordant", "next pair that only one run has right",
    ["K"] Move, "question output read":
        [Question] PreviousRow "", "previous row of the slice";
        [Browse] PreviousRow "", "scroll the preview up";
        [Compare] PreviousRow "", "previous pair that only one run has right",
    ["Tab"] Move, "focus window list options":
        [Live] NextPane "other exam", "go to the other exam";
        [Charts] NextPane "next chart", "next chart";
        [Lab] NextPane "what flips", "next way of flipping";
        [Compare] NextPane "quadrant", "next list: A only, B only, changed pick";
        [Runs] NextPane "table", "the runs as a list, or side by side as a table by category";
        [Browse] NextPane "", "next pane";
        [Question] NextPane "", "the keys scroll the question, or the text below it",
    ["⏎"] Move, "open read enter zoom watch":
        [Live] Open "full screen", "open this exam full screen";
        [Runs] Open "browse", "browse this run, in the table this cell; with two marked: compare them";
        [Home] Open "open", "open this; with several marked: compare two, or more as a table";
        [Browse] Open "open", "open the question; on panes 1 to 3 filter by the line";
        [Exam] Open "open", "open this answer; one that is being written is watched";
        [Lab] Open "open", "open the question";
        [Charts] Open "filter", "filter by the row or the cell under the cursor";
        [Compare] Open "", "open the question, with all attempts of A; on the categories filter",
    ["F"] Read, "pause hold newest tail watch":
        WORKING Follow "follow", "hold the feed, or let the newest answer stay on top";
        [Browse] Follow "", "follow a file that grows: its new rows show, nothing else moves",
    ["Space"] Mark, "select":
        [Runs] Mark "mark", "mark or unmark this run";
        [Home] Mark "mark", "mark or unmark this, to open several together",
    ["b"] Move, "rows list":
        WORKING ToBrowse "browse", "browse what has landed",
    ["P"] Read, "stop resume continue":
        WORKING Pause "pause", "pause this exam, or let it go on",
    ["<", ","] Read, "share speed":
        [Live] Less "/> compute", "give this exam a smaller share of compute",
    [">", "."] Read, "share speed":
        [Live] More "", "give this exam a larger share of compute",
    ["z"] Read, "loop expand collapse":
        [Question] Fold "fold", "fold or unfold thinking, loops and the text after the match";
        [Compare] Fold "", "fold or unfold what is equal";
        [Browse] Fold "", "fold or unfold loops in the preview",
    ["t"] Read, "render latex markdown math raw plain table":
        [Question] Render "render", "mark-up as what it means (formulas, bold, tables, code), or the text as it is";
        [Browse, Compare] Render "", "mark-up as what it means (formulas, bold, tables, code), or the text as it is",
    ["="] Read, "layout columns split diff difference":
        [Question] Arrange "side/one", "outputs side by side, stacked, or one";
        [Compare] Arrange "diff", "one text of both outputs: what only one has in brackets, or side by side again",
    ["p"] Read, "input shots diff":
        [Question] Prompt "prompt", "full prompt, as sent";
        [Compare] Prompt "", "how the prompts differ",
    ["X"] Compare, "exchange":
        [Compare] Swap "swap A/B", "A and B change places",
    ["x"] Compare, "differ wording end loop":
        [Compare] Changed "", "the questions that are not the same in both runs";
        [Charts] NextExam "", "of several exams the next one";
        [Exam] StopAnswer "stop answer", "end the answer under the cursor that is being written; it is kept as far as it came",
    ["/"] Rows, "search find query where look grep":
        FILTERED Filter "filter", "filter line: words choose rows as you type";
        [Question, Compare] Find "find", "find on this screen",
    ["f"] Read, "search look grep":
        [Question, Compare] Find "", "find on this screen";
        [Browse] Find "", "find in the preview",
    ["i"] Rows, "unreadable unparsed":
        ONE_RUN Invalid "invalid", "only rows without a readable letter, or all again",
    ["w"] Rows, "incorrect errors mistakes":
        ONE_RUN Wrong "wrong", "only wrong rows ([invalid] included), or all again",
    ["o"] Rows, "ok right correct":
        ONE_RUN Ok "", "only correct rows, or all again";
        [Home] OpenPath "path…", "open a file or a folder: type its path",
    ["c"] Rows, "subject topic":
        SLICED Category "category", "choose a category or subject: type to narrow",
    ["a"] Rows, "group questions seeds":
        [Browse] Attempts "attempts", "one row an attempt, or one row a question",
    ["d"] Compare, "diff versus runs":
        [Browse, Compare] CompareWith "compare", "compare with another run: choose which",
    ["v"] Read, "plot figure confusion letters calibration lengths seeds course":
        [Browse] Charts "charts", "charts of these rows: letters, calibration, lengths, seeds, the course of the run";
        [Question] Charts "", "charts of these rows: letters, calibration, lengths, seeds, the course of the run";
        [Charts] NextPane "", "next chart",
    ["m"] Mark, "bookmark star flag tag":
        [Question] Mark "mark", "mark or unmark this row";
        [Browse, Compare, Lab] Mark "", "mark or unmark this row",
    ["e"] File, "save write csv json download":
        SLICED Export "export", "write these rows to a file",
    [":"] Move, "go jump":
        ALL Command "command", "a command: :law  :886.1  :123  :sort chars  :export x.jsonl",
    ["g", "Home"] Move, "top begin start":
        ALL First "", "to the first",
    ["G", "End"] Move, "bottom end":
        ALL Last "", "to the last",
    ["^d"] Move, "":
        ALL HalfDown "", "half a page down",
    ["^u"] Move, "":
        ALL HalfUp "", "half a page up",
    ["^f", "PgDn"] Move, "":
        ALL PageDown "", "a page down",
    ["^b", "PgUp"] Move, "":
        ALL PageUp "", "a page up",
    ["Space"] Read, "scroll":
        READING PageText "", "page the text; at its end back to its beginning",
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"] Move, "focus window seed":
        [Question] Digit "", "go to an attempt";
        [Browse] Digit "", "go to a pane";
        [Live] Digit "", "go to an exam";
        [Charts] Digit "", "go to a chart";
        [Compare] Digit "", "go to the categories, or to the pairs",
    ["n"] Read, "search again":
        SEARCHED FindNext "", "next found place; nothing searched: match or evidence",
    ["N"] Read, "search":
        SEARCHED FindPrevious "", "previous found place",
    ["+"] Rows, "similar alike":
        READING Keep "", "keep only rows like this one: choose in what",
    ["-"] Rows, "similar alike hide without":
        READING Drop "", "drop rows like this one: choose in what",
    ["s"] Rows, "order longest reverse":
        [Browse] Sort "", "sort by a column; the same column again reverses";
        [Compare] Sort "", "categories by name, or by how far the runs are apart",
    ["W"] Read, "cause reason explain":
        ROWS Why "", "why this row is invalid",
    ["'"] Mark, "bookmark":
        READING NextMark "", "next marked row",
    ["#"] Mark, "comment annotate":
        READING Note "", "write a note on this row; note:WORD filters",
    ["b"] Mark, "quiz review":
        ROWS Blind "", "blind mode: key and picks hidden, A-J answers, n and N go on",
    ["I"] File, "info warnings manifest problems":
        READING About "", "about this trace: what it is, what the check found, where it comes from",
    ["u"] Rows, "back revert":
        ALL Undo "", "undo: filter, sort, marks, notes, adopted rules",
    ["^r"] Rows, "again":
        ALL Redo "", "redo",
    ["^o"] Move, "jump list back earlier previous":
        ALL JumpBack "", "back to where the last jump began",
    ["y"] File, "clipboard yank":
        READING CopyOutput "", "copy the output",
    ["Y"] File, "clipboard link share":
        READING CopyCommand "", "copy the command that reopens this view",
    ["Esc"] Move, "close leave cancel reset":
        ALL Back "", "back one level; in Browse clears the filter; never quits",
    ["?", "F1"] Move, "help":
        ALL Help "keys", "the keys of this screen; type to search, ⏎ presses",
    ["^l"] File, "refresh repaint":
        ALL Redraw "", "draw the screen anew",
    ["^z"] File, "background shell":
        ALL Suspend "", "to the shell; fg comes back",
    ["q"] File, "exit close leave stop":
        READING Quit "quit", "back; at the top quit";
        [Home, Runs] Quit "quit", "quit";
        [Charts] Quit "quit", "back; at the top quit";
        WORKING Quit "quit", "quit; asks while a run is at work",
    ["Q", "^c"] File, "exit close leave":
        ALL QuitNow "", "quit; asks while a run is at work",
}
