//! The whole frame from the state: nothing is read, sorted or counted here.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use crate::stats::{Interval, Sum, percent};
use crate::text::safe::one_line;
use crate::text::thousands;
use crate::tui::compare::Places;
use crate::tui::keymap::{self, Screen};
use crate::tui::live;
use crate::tui::panes::{Room, SMALLEST, filter_line};
use crate::tui::shelf::Side;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{line, right};

use super::{App, Overlay};

/// A key in the footer: where it stands, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footed {
    pub x: u16,
    pub width: u16,
    pub key: &'static str,
    pub label: &'static str,
}

impl Footed {
    /// The key as shown, and what it does. A label `/l attempt` of the key `h` is shown as `h/l attempt`.
    fn texts(&self, theme: &Theme) -> (String, &'static str) {
        let key = theme.key_name(self.key);
        match self.label.strip_prefix('/').and_then(|rest| rest.split_once(' ')) {
            Some((other, label)) => (format!("{key}/{other}"), label),
            None => (key, self.label),
        }
    }
}

/// An accuracy's interval where there is room for it.
fn brackets(sum: &Sum, room: Room) -> String {
    let limits = sum.interval().filter(|_| room == Room::Wide).map(Interval::limits);
    limits.map_or_else(String::new, |(low, high)| {
        let kind = if sum.has_repeats() { " by question" } else { "" };
        format!(" [{}, {}]{kind}", percent(Some(low)), percent(Some(high)))
    })
}

impl App {
    pub fn render(&self, frame: &mut Frame) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        self.draw(buffer, area);
    }

    /// Draws the frame into a buffer.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect) {
        if area.width < 4 || area.height < 2 {
            return;
        }
        let note = self.note_line();
        match self.screen() {
            Screen::Question if Room::of(area) != Room::Tiny => {
                let places = self.panes.question.places(area, &self.workspace, &self.theme);
                self.panes
                    .question
                    .draw(buffer, area, &self.workspace, self.find.as_ref(), note, &self.theme);
                self.draw_footer(buffer, places.footer);
            }
            Screen::Question => {
                self.panes
                    .question
                    .draw(buffer, area, &self.workspace, self.find.as_ref(), note, &self.theme);
            }
            Screen::Compare => self.draw_compare(buffer, area),
            Screen::Lab => {
                if let Some(lab) = &self.lab {
                    lab.draw(buffer, area, &self.workspace, &self.theme);
                }
                self.draw_footer(buffer, crate::tui::lab::Places::of(area).footer);
            }
            Screen::Live | Screen::Exam => self.draw_live(buffer, area),
            Screen::Browse => self.draw_browse(buffer, area),
        }
        self.draw_overlay(buffer, area);
        self.theme.finish(buffer);
    }

    fn draw_compare(&self, buffer: &mut Buffer, area: Rect) {
        let rule = self.rule_of_b();
        let side = self.compare.as_ref().map_or(Side::A, |compare| compare.side);
        match &self.compare {
            Some(compare) => compare.draw(buffer, area, &self.around(&rule)),
            None => {
                let text = " pairing the two runs…";
                line(buffer, area, 0, vec![Span::styled(text, self.theme.style(Role::Title))]);
            }
        }
        self.draw_footer(buffer, Places::of(area, side).footer);
    }

    fn draw_live(&self, buffer: &mut Buffer, area: Rect) {
        let Some(live) = &self.live else { return };
        let body = Rect {
            height: area.height - 1,
            ..area
        };
        if self.screen() == Screen::Exam {
            live::render_full(buffer, body, live, live.focus(), &self.theme);
        } else {
            live::render_side_by_side(buffer, body, live, &self.theme);
        }
        let footer = Rect {
            y: area.bottom() - 1,
            height: 1,
            ..area
        };
        self.draw_footer(buffer, footer);
        let words = self.workspace.filter.words();
        if !words.is_empty() && self.overlay.is_none() && self.message.is_none() {
            let mut spans = vec![Span::styled(" filter ", self.theme.style(Role::Dim))];
            spans.extend(filter_line::chips(&self.workspace.filter, &self.theme));
            right(buffer, footer, 0, spans);
        }
    }

    fn draw_browse(&self, buffer: &mut Buffer, area: Rect) {
        let places = self.places();
        let room = Room::of(area);
        let theme = &self.theme;
        self.draw_title(buffer, places.title, room);
        self.draw_filter(buffer, places.filter, room);
        let panes = &self.panes;
        let focus = panes.focus;
        panes.rows.draw(buffer, places.rows, &self.workspace, focus == 4, theme);
        if room != Room::Tiny {
            panes.preview.draw(
                buffer,
                places.preview,
                &self.workspace,
                focus == 5,
                self.find.as_ref(),
                theme,
            );
        }
        let is_wide = room == Room::Wide;
        let left = [(1, places.categories), (2, places.why), (3, places.letters)];
        for (digit, place) in left
            .into_iter()
            .filter(|(digit, _)| is_wide || room == Room::Narrow && *digit == focus)
        {
            if !is_wide {
                Clear.render(place, buffer);
            }
            let focused = focus == digit;
            match digit {
                1 => panes.categories.draw(buffer, place, &self.workspace, focused, theme),
                2 => panes.why.draw(buffer, place, &self.workspace, focused, theme),
                _ => panes.letters.draw(buffer, place, &self.workspace, focused, theme),
            }
        }
        self.draw_footer(buffer, places.footer);
    }

    fn draw_title(&self, buffer: &mut Buffer, area: Rect, room: Room) {
        let theme = &self.theme;
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            line(
                buffer,
                area,
                0,
                vec![Span::styled(" markbook · opening…", theme.style(Role::Title))],
            );
            return;
        };
        let trace = &snapshot.trace;
        let all = &snapshot.all;
        let total = &all.total;
        let name = match trace.path.as_ref().and_then(|path| path.file_name()) {
            Some(file) if trace.name.is_empty() => file.to_string_lossy().into_owned(),
            _ => trace.name.clone(),
        };
        if room == Room::Tiny {
            let text = format!(
                " {} rows · too small for all panes ({}x{}): rows only",
                thousands(total.rows()),
                SMALLEST.0,
                SMALLEST.1
            );
            line(buffer, area, 0, vec![Span::styled(text, theme.style(Role::Warning))]);
            return;
        }
        let (accuracy, interval) = match all.one_exam() {
            Some(one) => (format!("correct {}%", percent(one.accuracy())), brackets(one, room)),
            // Exams have each their own accuracy, and none together.
            None => {
                let exams = all.exams_here();
                let figures = exams
                    .map(|(exam, sum)| format!("{} {}%", one_line(exam, 16, theme.ascii), percent(sum.accuracy())));
                (figures.collect::<Vec<_>>().join(" · "), String::new())
            }
        };
        let invalid = format!(" · [invalid] {}% ", percent(total.tally.invalid_rate()));
        let end = vec![
            Span::styled(accuracy, theme.style(Role::Correct)),
            Span::styled(interval, theme.style(Role::Dim)),
            Span::styled(invalid, theme.style(Role::Invalid)),
        ];
        let end_width: usize = end.iter().map(Span::width).sum();
        let mut parts = vec![thousands(total.rows()) + if room == Room::Wide { " rows" } else { "" }];
        if total.has_repeats() && room == Room::Wide {
            let (rows, questions) = (total.rows() as f64, total.questions());
            let per = rows / questions.max(1) as f64;
            let per = match all.one_exam() {
                None => String::new(),
                Some(_) if (per - per.round()).abs() < 0.01 => format!(" × {per:.0}"),
                Some(_) => format!(" × {per:.1}"),
            };
            parts.push(format!("{} questions{per}", thousands(questions)));
        }
        let exams = &snapshot.all.exams;
        if let ([(exam, _)], Room::Wide) = (&exams[..], room)
            && !exam.is_empty()
        {
            parts.push(exam.to_string());
        }
        if let Some(rule) = &trace.rule {
            parts.push(format!("rule {rule}"));
        }
        let facts = format!(" · {}", parts.join(" · "));
        let width = usize::from(area.width);
        let badge = self.badge(room);
        let name = one_line(
            &name,
            width.saturating_sub(end_width + badge.width() + 3).min(40),
            theme.ascii,
        );
        let taken = end_width + name.width() + badge.width() + 4;
        let facts = one_line(&facts, width.saturating_sub(taken), theme.ascii);
        let spans = vec![
            Span::raw(" "),
            Span::styled(name, theme.style(Role::Title)),
            Span::styled(badge, theme.style(Role::Warning)),
            Span::styled(format!(" {facts}"), theme.style(Role::Dim)),
        ];
        line(buffer, area, 0, spans);
        right(buffer, area, 0, end);
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
        let count = self.problems.as_ref().map_or(0, Vec::len);
        match (count, room) {
            (0, _) => {}
            (1, Room::Wide) => parts.push_str(" · check: 1 warning (I)"),
            (_, Room::Wide) => parts.push_str(&format!(" · check: {count} warnings (I)")),
            _ => parts.push_str(&format!(" · check: {count}")),
        }
        parts
    }

    fn draw_filter(&self, buffer: &mut Buffer, area: Rect, room: Room) {
        let theme = &self.theme;
        let is_typing = matches!(self.overlay, Some(Overlay::Filter(_)));
        if !is_typing {
            let mut spans = vec![Span::styled(" filter ", theme.style(Role::Dim))];
            if self.workspace.filter.words().is_empty() {
                let hint = if room == Room::Tiny {
                    "none"
                } else {
                    "none · / types one · i invalid · w wrong · c category"
                };
                spans.push(Span::styled(hint, theme.style(Role::Mark)));
            } else {
                spans.extend(filter_line::chips(&self.workspace.filter, theme));
            }
            line(buffer, area, 0, spans);
        }
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return;
        };
        let selected = &self.workspace.selected;
        let total = &selected.report.total;
        let mut text = match room {
            Room::Wide => {
                let questions = if total.has_repeats() {
                    format!(" · {} questions", thousands(total.questions()))
                } else {
                    String::new()
                };
                format!(
                    "{} of {}{questions}",
                    thousands(total.rows()),
                    thousands(snapshot.rows().len())
                )
            }
            _ => thousands(total.rows()),
        };
        if !selected.is_complete && selected.searched > 0 {
            let share = selected.searched * 100 / snapshot.rows().len().max(1);
            text.push_str(&format!(" · searching {share}%"));
        } else if self.shows_time && self.workspace.is_current() && room != Room::Tiny {
            text.push_str(&format!(" · {} ms", selected.took.as_millis()));
        }
        let view = &self.workspace.view;
        let mut order = String::new();
        if view.sort != crate::tui::worker::Sort::File || view.is_reversed {
            order = format!("by {}{} · ", view.sort.name(), if view.is_reversed { " ↓" } else { "" });
        }
        let spans = vec![
            Span::styled(format!("  {order}"), theme.style(Role::Dim)),
            Span::styled(format!("{text} "), theme.style(Role::Strong)),
        ];
        right(buffer, area, 0, spans);
    }

    fn draw_overlay(&self, buffer: &mut Buffer, area: Rect) {
        let theme = &self.theme;
        match &self.overlay {
            Some(Overlay::Filter(typed)) => {
                let places = self.places();
                let place = match self.screen() {
                    Screen::Browse => places.filter,
                    _ => {
                        let place = Rect {
                            y: area.y,
                            height: 1,
                            ..area
                        };
                        Clear.render(place, buffer);
                        place
                    }
                };
                typed.draw(buffer, place, area, theme);
            }
            Some(Overlay::Picker(picker)) => picker.draw(buffer, area, theme),
            Some(Overlay::Export(dialog)) => dialog.draw(buffer, area, theme),
            Some(Overlay::About(about)) => about.draw(buffer, area, theme),
            Some(Overlay::Quit) => self.draw_quit(buffer, area),
            _ => {}
        }
    }

    fn draw_quit(&self, buffer: &mut Buffer, area: Rect) {
        let theme = &self.theme;
        let place = crate::tui::widgets::centered(area, 62, 5);
        if !self.is_working() {
            let inner = crate::tui::widgets::window(buffer, place, "Notes could not be kept", "", theme);
            let text = "Marks and notes of this session would be lost.";
            line(buffer, inner, 0, vec![Span::raw(text)]);
            let spans = vec![
                Span::styled("y", theme.style(Role::Key)),
                Span::raw(" quit all the same     "),
                Span::styled("Esc", theme.style(Role::Key)),
                Span::raw(" stay"),
            ];
            line(buffer, inner, 2, spans);
            return;
        }
        let inner = crate::tui::widgets::window(buffer, place, "A run is at work", "", theme);
        line(
            buffer,
            inner,
            0,
            vec![Span::raw("Everything finished so far is saved; --resume goes on.")],
        );
        let spans = vec![
            Span::styled("s", theme.style(Role::Key)),
            Span::raw(" stop and save and quit     "),
            Span::styled("Esc", theme.style(Role::Key)),
            Span::raw(" stay"),
        ];
        line(buffer, inner, 2, spans);
    }

    pub(super) fn draw_footer(&self, buffer: &mut Buffer, area: Rect) {
        let theme = &self.theme;
        match &self.overlay {
            Some(Overlay::Command(input)) => {
                let mut spans = vec![Span::styled(" :", theme.style(Role::Key))];
                spans.extend(input.spans(usize::from(area.width) / 2, theme));
                let hints = self.command_hints(&input.text);
                let hints: Vec<String> = hints
                    .iter()
                    .take(8)
                    .map(|hint| one_line(hint, 30, theme.ascii))
                    .collect();
                spans.push(Span::styled(format!("   {}", hints.join("  ")), theme.style(Role::Dim)));
                line(buffer, area, 0, spans);
                return;
            }
            Some(Overlay::Note(_, input)) if self.note_line().is_none() => {
                let mut spans = vec![Span::styled(" note ", theme.style(Role::Key))];
                spans.extend(input.spans(usize::from(area.width).saturating_sub(40), theme));
                spans.push(Span::styled("   ⏎ keeps · Esc", theme.style(Role::Dim)));
                line(buffer, area, 0, spans);
                return;
            }
            Some(Overlay::Find(input)) => {
                let mut spans = vec![Span::styled(" find ", theme.style(Role::Key))];
                spans.extend(input.spans(usize::from(area.width) / 2, theme));
                spans.push(Span::styled(
                    "   in the text on screen · n next · Esc",
                    theme.style(Role::Dim),
                ));
                line(buffer, area, 0, spans);
                return;
            }
            _ => {}
        }
        if let Some(message) = &self.message {
            let role = if message.is_warning {
                Role::Warning
            } else {
                Role::Strong
            };
            let text = one_line(&message.text, usize::from(area.width).saturating_sub(2), theme.ascii);
            line(
                buffer,
                area,
                0,
                vec![Span::styled(format!(" {text}"), theme.style(role))],
            );
            return;
        }
        for footed in self.footer(area) {
            let (key, label) = footed.texts(theme);
            let place = Rect {
                x: area.x + footed.x,
                width: footed.width,
                ..area
            };
            let spans = vec![
                Span::styled(key, theme.style(Role::Key)),
                Span::styled(format!(" {label}"), theme.style(Role::Dim)),
            ];
            line(buffer, place, 0, spans);
        }
    }

    /// The keys that fit into the footer; `?` is always among them.
    pub(super) fn footer(&self, area: Rect) -> Vec<Footed> {
        let gap = if area.width >= 100 { 2 } else { 1 };
        let mut labelled: Vec<(&'static str, &'static str)> = keymap::bindings(self.screen())
            .filter(|binding| !binding.label.is_empty())
            .map(|binding| (binding.keys[0], binding.label))
            .collect();
        let width = |(key, label): &(&'static str, &'static str)| {
            let (key, label) = Footed {
                x: 0,
                width: 0,
                key,
                label,
            }
            .texts(&self.theme);
            (key.width() + 1 + label.width()) as u16 + gap
        };
        let mut total: u16 = 1 + labelled.iter().map(width).sum::<u16>();
        while total > area.width && labelled.len() > 1 {
            let drop = labelled.iter().rposition(|(key, _)| *key != "?").unwrap_or(0);
            total -= width(&labelled.remove(drop));
        }
        let mut x = 1;
        labelled
            .iter()
            .map(|entry| {
                let footed = Footed {
                    x,
                    width: width(entry) - gap,
                    key: entry.0,
                    label: entry.1,
                };
                x += width(entry);
                footed
            })
            .collect()
    }
}
