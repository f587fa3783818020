//! Home: own runs, files that were opened, and what can be tried. What is chosen is opened once the screen is left.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::{Position, Rect};

use crate::text::count;

use super::canvas::Canvas;
use super::event::{Event, How};
use super::keymap::{Action, On, Use};
use super::screen::{Hint, Mouse, Screen};
use super::shared::{Shared, at_home};
use super::strip::Strip;
use super::theme::Role;
use super::widgets::{Cursor, Input};

/// What is chosen on Home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picked {
    /// Traces by their paths; none: the recorded demo.
    Open(Vec<PathBuf>),
    /// Both exams with a small model, live.
    Demo,
    /// A run that is not complete goes on.
    Resume(PathBuf),
}

/// A run or a file that Home lists.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kept {
    pub path: PathBuf,
    pub name: String,
    /// What it is and how far: `both exams`, `stopped`, `60,160 rows`.
    pub what: String,
    /// Accuracy in 0-1 with half the width of its interval, by exam; empty where it is not known.
    pub accuracy: Vec<(String, f64, f64)>,
    /// Share of invalid rows in 0-1, where it is known.
    pub invalid: Option<f64>,
    /// `today 06:06`, `2026-11-28`.
    pub when: String,
    pub is_run: bool,
    pub can_resume: bool,
}

/// What can be tried without anything: the heading that it stands under, name, what it is, what it picks.
const TRY: [(&str, &str); 2] = [
    ("recorded demo", "both exams, no model needed"),
    ("live demo", "both exams live; fetches 93 MB once"),
];

#[derive(Debug, Default)]
pub struct Home {
    /// Runs first, then files; `None` until they are listed.
    list: Option<Vec<Kept>>,
    cursor: Cursor,
    marked: BTreeSet<usize>,
    /// A path that is being typed.
    typed: Option<Input>,
}

/// A line of the list.
enum Line {
    Heading(&'static str),
    /// A place in the list; beyond it, what can be tried.
    Entry(usize),
    Remark(&'static str),
}

impl Home {
    fn kept(&self) -> &[Kept] {
        self.list.as_deref().unwrap_or_default()
    }

    fn len(&self) -> usize {
        self.kept().len() + TRY.len()
    }

    /// The lines of the list, headings between.
    fn lines(&self) -> Vec<Line> {
        let kept = self.kept();
        let runs = kept.iter().filter(|kept| kept.is_run).count();
        let mut lines = vec![Line::Heading("Runs")];
        lines.extend((0..runs).map(Line::Entry));
        match (&self.list, runs) {
            (None, _) => lines.push(Line::Remark("looking…")),
            (Some(_), 0) => lines.push(Line::Remark(
                "none yet: markbook run --model NAME --benchmark mmlu,mmlu_pro",
            )),
            _ => {}
        }
        if runs < kept.len() {
            lines.push(Line::Heading("Files"));
            lines.extend((runs..kept.len()).map(Line::Entry));
        }
        lines.push(Line::Heading("Try"));
        lines.extend((kept.len()..self.len()).map(Line::Entry));
        lines
    }

    /// The line that the cursor is on, with the first line in sight.
    fn window(&self, lines: &[Line], height: usize) -> Cursor {
        let is_it = |line: &Line| matches!(line, Line::Entry(at) if *at == self.cursor.at);
        let at = lines.iter().position(is_it).unwrap_or(0);
        let mut cursor = Cursor {
            at,
            top: at.saturating_sub(height / 2),
        };
        cursor.settle(lines.len(), height);
        cursor
    }

    fn pick(&mut self, picked: Picked, shared: &mut Shared) {
        shared.session.picked = Some(picked);
        shared.exit(How::Done);
    }

    /// Opens what is marked, else what is under the cursor.
    fn open(&mut self, shared: &mut Shared) {
        let kept = self.kept();
        let marked = self.marked.iter().filter_map(|at| kept.get(*at));
        let paths: Vec<PathBuf> = marked.map(|kept| kept.path.clone()).collect();
        let picked = match (paths.is_empty(), self.cursor.at.checked_sub(kept.len())) {
            (false, _) => Picked::Open(paths),
            (true, None) => Picked::Open(vec![kept[self.cursor.at].path.clone()]),
            (true, Some(0)) => Picked::Open(Vec::new()),
            (true, Some(_)) => Picked::Demo,
        };
        self.pick(picked, shared);
    }

    fn resume(&mut self, shared: &mut Shared) {
        match self.kept().get(self.cursor.at) {
            Some(kept) if kept.can_resume => {
                let path = kept.path.clone();
                self.pick(Picked::Resume(path), shared);
            }
            Some(kept) if kept.is_run => {
                let told = "this run cannot be gone on with from here; it goes on with its own command and --resume";
                let told = if kept.what.starts_with("stopped") {
                    told
                } else {
                    "this run is complete"
                };
                shared.say(told);
            }
            _ => shared.say("only a run can be gone on with"),
        }
    }

    fn mark(&mut self) {
        if self.cursor.at < self.kept().len() && !self.marked.remove(&self.cursor.at) {
            self.marked.insert(self.cursor.at);
        }
        self.cursor.step(1, self.len());
    }

    fn entry<'t>(&self, at: usize, columns: Columns, strip: Strip<'t>) -> Strip<'t> {
        let mark = if self.marked.contains(&at) {
            strip.theme.mark()
        } else {
            " "
        };
        let strip = strip
            .put(if at == self.cursor.at { " ▶" } else { "  " }, Role::Focus)
            .strong(mark);
        let Some(kept) = self.kept().get(at) else {
            let (title, what) = TRY[at - self.kept().len()];
            return strip.field(title, columns.name, Role::Strong).text("  ").dim(what);
        };
        let figure = |(exam, accuracy, half): &(String, f64, f64)| {
            let exam = if kept.accuracy.len() > 1 { exam.as_str() } else { "" };
            format!("{exam} {:.1} ±{:.1}", accuracy * 100.0, half * 100.0)
        };
        let figures: Vec<String> = kept.accuracy.iter().map(figure).collect();
        let invalid = kept
            .invalid
            .map_or(String::new(), |share| format!("{:.1}%", share * 100.0));
        strip
            .field(&kept.name, columns.name, Role::Strong)
            .text("  ")
            .field(&kept.what, WHAT, Role::Dim)
            .text(" ")
            .field(figures.join("  ").trim_start(), columns.figures, Role::Correct)
            .put(format!(" {invalid:>7}"), Role::Invalid)
            .right(columns.all, format!("{} ", kept.when), Role::Dim)
    }
}

/// Columns of what an entry is.
const WHAT: usize = 12;

/// Columns of the list's parts.
#[derive(Clone, Copy)]
struct Columns {
    all: usize,
    name: usize,
    figures: usize,
}

impl Columns {
    fn of(all: usize) -> Columns {
        Columns {
            all,
            name: (all * 3 / 10).clamp(10, 40),
            figures: (all * 3 / 10).clamp(10, 44),
        }
    }

    fn heading<'t>(self, title: &str, strip: Strip<'t>) -> Strip<'t> {
        let strip = strip.text(" ").put(title, Role::Title);
        if title != "Runs" {
            return strip;
        }
        let figures = format!("{:<width$} invalid", "accuracy, 95%", width = self.figures);
        strip
            .to(3 + self.name + 2 + WHAT + 1)
            .dim(figures)
            .right(self.all, "when ", Role::Dim)
    }
}

impl Screen for Home {
    fn on(&self) -> On {
        On::Home
    }

    fn act(&mut self, action: Action, _: &str, shared: &mut Shared) {
        match action {
            Action::Open => self.open(shared),
            Action::Mark => self.mark(),
            Action::Resume => self.resume(shared),
            Action::OpenPath => self.typed = Some(Input::default()),
            _ => {
                let by = action.lines(usize::from(shared.area.height / 2)).unwrap_or(0);
                self.cursor.step(by, self.len());
            }
        }
    }

    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let Some(input) = &mut self.typed else { return false };
        match key.code {
            KeyCode::Esc => self.typed = None,
            KeyCode::Enter if input.text.trim().is_empty() => self.typed = None,
            KeyCode::Enter => {
                let path = at_home(input.text.trim());
                self.pick(Picked::Open(vec![path]), shared);
            }
            _ => {
                input.press(key);
            }
        }
        true
    }

    fn paste(&mut self, text: &str, _: &mut Shared) {
        if let Some(input) = &mut self.typed {
            input.insert(text.trim());
        }
    }

    fn mouse(&mut self, at: Position, mouse: Mouse, shared: &mut Shared) {
        match mouse {
            Mouse::Wheel(by) => self.cursor.step(by, self.len()),
            Mouse::Click => {
                let lines = self.lines();
                let window = self.window(&lines, usize::from(shared.area.height.saturating_sub(3)));
                let clicked = at.y.checked_sub(2).map(|line| window.top + usize::from(line));
                match clicked.and_then(|line| lines.get(line)) {
                    Some(Line::Entry(entry)) if *entry == self.cursor.at => self.open(shared),
                    Some(Line::Entry(entry)) => self.cursor.at = *entry,
                    _ => {}
                }
            }
        }
    }

    fn hear(&mut self, event: &Event, _: &mut Shared) {
        if let Event::Shelf(list) = event {
            self.list = Some(list.clone());
        }
    }

    /// Takes the marks away.
    fn back(&mut self, _: &mut Shared) -> bool {
        !std::mem::take(&mut self.marked).is_empty()
    }

    fn row(&self, _: &Shared) -> Option<u32> {
        None
    }

    fn label(&self, does: &Use, _: &Shared) -> Option<&'static str> {
        let can_resume = self.kept().get(self.cursor.at).is_some_and(|kept| kept.can_resume);
        match (does.action, self.marked.len()) {
            (Action::Open, 2) => Some("compare"),
            (Action::Open, 3..) => Some("table"),
            (Action::Resume, _) if !can_resume => None,
            _ => Some(does.label).filter(|label| !label.is_empty()),
        }
    }

    fn hints(&self) -> Option<&'static [Hint]> {
        const TYPING: [Hint; 2] = [("⏎", "opens"), ("Esc", "back")];
        self.typed.is_some().then_some(&TYPING)
    }

    fn draw(&self, canvas: &mut Canvas, _: &Shared) {
        let area = canvas.area();
        canvas.line(0, canvas.strip().put(" markbook", Role::Title));
        match &self.typed {
            Some(input) => {
                let room = canvas.width().saturating_sub(8);
                canvas.line(1, input.onto(canvas.strip().put(" open ", Role::Key), room));
            }
            None if !self.marked.is_empty() => {
                let marked = format!("{} marked ", count(self.marked.len(), "trace"));
                canvas.right(0, canvas.strip().strong(marked));
            }
            None => {}
        }
        let mut body = canvas.at(Rect {
            y: area.y + 2.min(area.height),
            height: area.height.saturating_sub(3),
            ..area
        });
        let lines = self.lines();
        let (window, columns) = (self.window(&lines, body.height()), Columns::of(body.width()));
        body = body.focus(true);
        body.list(lines.len(), window, |at, strip| match lines[at] {
            Line::Heading(title) => columns.heading(title, strip),
            Line::Remark(text) => strip.text("   ").dim(text),
            Line::Entry(entry) => self.entry(entry, columns, strip),
        });
    }
}
