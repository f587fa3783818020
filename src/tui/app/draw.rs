//! The whole frame from the state: nothing is read, sorted or counted here.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::stats::{Interval, Sum, percent};
use crate::text::safe::one_line;
use crate::text::{count, thousands};
use crate::trace::Trace;
use crate::tui::canvas::Canvas;
use crate::tui::keymap::Screen;
use crate::tui::live;
use crate::tui::panes::{Around, Room, SMALLEST, filter_line};
use crate::tui::snapshot::{Report, Snapshot};
use crate::tui::strip::Strip;
use crate::tui::theme::Role;
use crate::tui::worker::Sort;

use super::{App, Overlay};

impl App {
    pub fn render(&self, frame: &mut Frame) {
        self.draw(frame.buffer_mut());
    }

    /// Draws the frame into a buffer, in the size that the buffer has.
    pub fn draw(&self, buffer: &mut Buffer) {
        let area = buffer.area;
        let mut canvas = Canvas::new(buffer, area, &self.theme);
        if area.width < 4 || area.height < 2 {
            return;
        }
        match self.screen() {
            Screen::Question => {
                let note = self.note_line(area);
                self.panes.question.draw(&mut canvas, &self.around(), note);
            }
            Screen::Compare => self.draw_compare(&mut canvas),
            Screen::Lab => {
                if let Some(lab) = &self.lab {
                    lab.draw(&mut canvas, &self.workspace);
                }
            }
            Screen::Live | Screen::Exam => self.draw_live(&mut canvas),
            Screen::Browse => self.draw_browse(&mut canvas),
            Screen::Runs => {
                if let Some(runs) = &self.runs {
                    runs.draw(&mut canvas);
                }
            }
        }
        self.draw_footer(&mut canvas);
        self.draw_overlay(&mut canvas);
        canvas.finish();
    }

    /// What texts are drawn with.
    pub(super) fn around(&self) -> Around<'_> {
        Around {
            workspace: &self.workspace,
            find: self.find.as_ref(),
            theme: &self.theme,
        }
    }

    fn draw_compare(&self, canvas: &mut Canvas) {
        match &self.compare {
            Some(compare) => compare.draw(canvas, &self.around()),
            None => canvas.line(0, canvas.strip().put(" pairing the two runs…", Role::Title)),
        }
    }

    fn draw_live(&self, canvas: &mut Canvas) {
        let Some(live) = &self.live else { return };
        let area = canvas.area();
        let mut body = canvas.at(Rect {
            height: area.height - 1,
            ..area
        });
        if self.screen() == Screen::Exam {
            live::render_full(&mut body, live, live.focus());
        } else {
            live::render_side_by_side(&mut body, live);
        }
    }

    fn draw_browse(&self, canvas: &mut Canvas) {
        let area = canvas.area();
        let (places, room) = (self.places(area), Room::of(area));
        self.draw_title(&mut canvas.at(places.title), room);
        self.draw_filter(&mut canvas.at(places.filter), room);
        let (panes, workspace) = (&self.panes, &self.workspace);
        let focus = panes.focus;
        panes
            .rows
            .draw(&mut canvas.at(places.rows).focus(focus == 4), workspace);
        if room != Room::Tiny {
            let mut preview = canvas.at(places.preview).focus(focus == 5);
            panes.preview.draw(&mut preview, &self.around());
        }
        let is_wide = room == Room::Wide;
        let left = [(1, places.categories), (2, places.why), (3, places.letters)];
        for (digit, place) in left {
            let is_over = room == Room::Narrow && digit == focus;
            if !is_wide && !is_over {
                continue;
            }
            let mut place = canvas.at(place).focus(digit == focus);
            if is_over {
                place.clear();
            }
            match digit {
                1 => panes.categories.draw(&mut place, workspace),
                2 => panes.why.draw(&mut place, workspace),
                _ => panes.letters.draw(&mut place, workspace),
            }
        }
    }

    fn draw_title(&self, canvas: &mut Canvas, room: Room) {
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            canvas.line(0, canvas.strip().put(" markbook · opening…", Role::Title));
            return;
        };
        let total = &snapshot.all.total;
        if room == Room::Tiny {
            let (width, height) = SMALLEST;
            let rows = count(total.rows(), "row");
            let text = format!(" {rows} · too small for all panes ({width}x{height}): rows only");
            canvas.line(0, canvas.strip().put(text, Role::Warning));
            return;
        }
        let end = score(canvas.strip(), &snapshot.all, room);
        let badge = self.badge(room);
        let rest = canvas.width().saturating_sub(end.width() + badge.width() + 3);
        let strip = canvas
            .strip()
            .text(" ")
            .foreign(&title(&snapshot.trace), rest.min(40), Role::Title)
            .put(badge, Role::Warning)
            .text(" ");
        let rest = canvas.width().saturating_sub(end.width() + strip.width() + 2);
        let facts = format!(" · {}", facts(snapshot, room));
        canvas.line(0, strip.foreign(&facts, rest, Role::Dim));
        canvas.right(0, end);
    }

    /// What the check found, what is still being read, and whether the file is followed, in a few words.
    fn badge(&self, room: Room) -> String {
        let mut parts = String::new();
        if self.workspace.is_partial {
            parts.push_str(" · reading");
        }
        if self.is_following {
            parts.push_str(" · following");
        }
        if let Some(writing) = &self.writing {
            parts.push_str(&format!(" · writing {}%", writing.share()));
        }
        let warnings = self.problems.as_ref().map_or(0, Vec::len);
        match (warnings, room) {
            (0, _) => {}
            (_, Room::Wide) => parts.push_str(&format!(" · check: {} (I)", count(warnings, "warning"))),
            _ => parts.push_str(&format!(" · {} (I)", count(warnings, "warning"))),
        }
        parts
    }

    fn draw_filter(&self, canvas: &mut Canvas, room: Room) {
        let strip = canvas.strip().dim(" filter ");
        let strip = if self.workspace.filter.words().is_empty() {
            let hint = match room {
                Room::Tiny => "none",
                _ => "none · / types one · i invalid · w wrong · c category",
            };
            strip.put(hint, Role::Mark)
        } else {
            filter_line::chips(strip, &self.workspace.filter)
        };
        canvas.line(0, strip);
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return;
        };
        let view = &self.workspace.view;
        let mut order = String::new();
        if view.sort != Sort::File || view.is_reversed {
            order = format!("by {}{} · ", view.sort.name(), if view.is_reversed { " ↓" } else { "" });
        }
        let shown = self.shown(snapshot, room);
        let strip = canvas.strip().dim(format!("  {order}")).strong(format!("{shown} "));
        canvas.right(0, strip);
    }

    /// How much of the trace is in sight, and how long finding it took.
    fn shown(&self, snapshot: &Snapshot, room: Room) -> String {
        let selected = &self.workspace.selected;
        let total = &selected.report.total;
        let mut text = match room {
            Room::Wide => format!("{} of {}", thousands(total.rows()), thousands(snapshot.rows().len())),
            _ => thousands(total.rows()),
        };
        if room == Room::Wide && total.has_repeats() {
            text.push_str(&format!(" · {}", count(total.questions(), "question")));
        }
        if !selected.is_complete && selected.searched > 0 {
            let share = selected.searched * 100 / snapshot.rows().len().max(1);
            text.push_str(&format!(" · searching {share}%"));
        } else if self.shows_time && self.workspace.is_current() && room != Room::Tiny {
            text.push_str(&format!(" · {} ms", selected.took.as_millis()));
        }
        text
    }

    fn draw_overlay(&self, canvas: &mut Canvas) {
        match &self.overlay {
            Some(Overlay::Filter(typed)) => {
                let area = canvas.area();
                let place = match self.screen() {
                    Screen::Browse => self.places(area).filter,
                    _ => Rect { height: 1, ..area },
                };
                typed.draw(canvas, place);
            }
            Some(Overlay::Picker(picker)) => picker.draw(canvas),
            Some(Overlay::Export(dialog)) => dialog.draw(canvas),
            Some(Overlay::About(about)) => about.draw(canvas),
            Some(Overlay::Watch(watch)) => {
                if let Some(live) = &self.live {
                    watch.draw(canvas, live);
                }
            }
            Some(Overlay::Quit) => self.draw_quit(canvas),
            _ => {}
        }
    }

    fn draw_quit(&self, canvas: &mut Canvas) {
        let (title, text, key, way) = if self.is_working() {
            let text = "Everything finished so far is saved; --resume goes on.";
            ("A run is at work", text, "s", " stop and save and quit     ")
        } else if self.writing.is_some() {
            let text = "What is written so far would be lost.";
            ("An export is being written", text, "y", " quit all the same     ")
        } else {
            let text = "Marks and notes of this session would be lost.";
            ("Notes could not be kept", text, "y", " quit all the same     ")
        };
        let mut inner = canvas.window((62, 5), title, "");
        inner.line(0, inner.strip().text(text));
        let strip = inner.strip().put(key, Role::Key).text(way);
        inner.line(2, strip.put("Esc", Role::Key).text(" stay"));
    }

    /// The lowest line: what is typed there, what was said last, or the keys.
    fn draw_footer(&self, canvas: &mut Canvas) {
        let area = canvas.area();
        let has_note_line = self.note_line(area).is_some();
        let mut canvas = canvas.at(self.footer_area(area));
        let strip = canvas.strip();
        let width = canvas.width();
        match (&self.overlay, &self.message) {
            (Some(Overlay::Command(input)), _) => {
                let ascii = canvas.theme.ascii;
                let hints = self.command_hints(&input.text);
                let hints: Vec<String> = hints.iter().take(8).map(|hint| one_line(hint, 30, ascii)).collect();
                let strip = input.onto(strip.put(" :", Role::Key), width / 2);
                canvas.line(0, strip.dim(format!("   {}", hints.join("  "))));
            }
            (Some(Overlay::Note(_, input)), _) if !has_note_line => {
                let strip = input.onto(strip.put(" note ", Role::Key), width.saturating_sub(40));
                canvas.line(0, strip.dim("   ⏎ keeps · Esc"));
            }
            (Some(Overlay::Find(input)), _) => {
                let strip = input.onto(strip.put(" find ", Role::Key), width / 2);
                canvas.line(0, strip.dim("   on this screen · n next · Esc"));
            }
            (_, Some(message)) => {
                let role = if message.is_warning {
                    Role::Warning
                } else {
                    Role::Strong
                };
                let strip = strip.text(" ").foreign(&message.text, width.saturating_sub(2), role);
                canvas.line(0, strip);
            }
            _ => self.draw_keys(&mut canvas),
        }
    }
}

/// What a trace is called.
fn title(trace: &Trace) -> String {
    match trace.path.as_ref().and_then(|path| path.file_name()) {
        Some(file) if trace.name.is_empty() => file.to_string_lossy().into_owned(),
        _ => trace.name.clone(),
    }
}

/// Accuracy with its interval, and the share of invalid rows; exams have each their own accuracy, and none together.
fn score<'t>(strip: Strip<'t>, all: &Report, room: Room) -> Strip<'t> {
    let strip = match all.one_exam() {
        Some(one) => strip
            .put(format!("correct {}%", percent(one.accuracy())), Role::Correct)
            .dim(brackets(one, room)),
        None => all.exams_here().enumerate().fold(strip, |strip, (at, (exam, sum))| {
            let gap = if at > 0 { " · " } else { "" };
            let strip = strip.put(gap, Role::Correct).foreign(exam, 16, Role::Correct);
            strip.put(format!(" {}%", percent(sum.accuracy())), Role::Correct)
        }),
    };
    let invalid = percent(all.total.tally.invalid_rate());
    strip.put(format!(" · [invalid] {invalid}% "), Role::Invalid)
}

/// An accuracy's interval where there is room for it.
fn brackets(sum: &Sum, room: Room) -> String {
    let limits = sum.interval().filter(|_| room == Room::Wide).map(Interval::limits);
    limits.map_or_else(String::new, |(low, high)| {
        let kind = if sum.has_repeats() { " by question" } else { "" };
        format!(" [{}, {}]{kind}", percent(Some(low)), percent(Some(high)))
    })
}

/// Rows, questions, exam and rule of a trace.
fn facts(snapshot: &Snapshot, room: Room) -> String {
    let (all, total) = (&snapshot.all, &snapshot.all.total);
    let is_wide = room == Room::Wide;
    let mut parts = vec![if is_wide {
        count(total.rows(), "row")
    } else {
        thousands(total.rows())
    }];
    if total.has_repeats() && is_wide {
        let per = total.rows() as f64 / total.questions().max(1) as f64;
        let digits = usize::from((per - per.round()).abs() >= 0.01);
        let per = all.one_exam().map_or(String::new(), |_| format!(" × {per:.digits$}"));
        parts.push(format!("{}{per}", count(total.questions(), "question")));
    }
    if let ([(exam, _)], true) = (&all.exams[..], is_wide)
        && !exam.is_empty()
    {
        parts.push(exam.to_string());
    }
    if let Some(rule) = &snapshot.trace.rule {
        parts.push(format!("rule {rule}"));
    }
    parts.join(" · ")
}
