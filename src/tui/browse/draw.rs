//! Browse on the terminal.

use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use crate::stats::{Interval, Sum, percent};
use crate::text::{count, thousands};
use crate::trace::Trace;
use crate::tui::canvas::Canvas;
use crate::tui::panes::{Room, SMALLEST, filter_line};
use crate::tui::shared::Shared;
use crate::tui::snapshot::{Report, Snapshot};
use crate::tui::strip::Strip;
use crate::tui::theme::Role;
use crate::tui::worker::Sort;

use super::Browse;

/// What took longer is told.
const SLOW: Duration = Duration::from_millis(100);

impl Browse {
    pub(super) fn draw_all(&self, canvas: &mut Canvas, shared: &Shared) {
        let area = canvas.area();
        let (places, room) = (super::places(area, shared), Room::of(area));
        draw_title(&mut canvas.head(), room, shared);
        draw_filter(&mut canvas.at(places.filter), room, shared);
        let workspace = &shared.workspace;
        let focus = self.focus;
        self.rows.draw(&mut canvas.at(places.rows).focus(focus == 4), workspace);
        if room != Room::Tiny {
            let mut preview = canvas.at(places.preview).focus(focus == 5);
            self.preview.draw(&mut preview, &shared.around());
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
                1 => self.categories.draw(&mut place, workspace),
                2 => self.why.draw(&mut place, workspace),
                _ => self.letters.draw(&mut place, workspace),
            }
        }
    }
}

fn draw_title(canvas: &mut Canvas, room: Room, shared: &Shared) {
    let Some(snapshot) = shared.workspace.snapshot.as_deref() else {
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
    // Beside the tabs there is no room to say what kind of interval it is; the pane of categories says it.
    let end = score(canvas.strip(), &snapshot.all, (room, canvas.width() >= 100));
    let badge = badge(shared, room);
    let rest = canvas.width().saturating_sub(end.width() + badge.width() + 3);
    let strip = canvas
        .strip()
        .text(" ")
        .foreign(&title(&snapshot.trace), rest.min(40), Role::Title)
        .put(badge, Role::Warning)
        .text(" ");
    let rest = canvas.width().saturating_sub(end.width() + strip.width() + 2);
    let mut facts = facts(snapshot, room);
    let kept = usize::from(snapshot.trace.rule.is_some());
    while facts.len() > kept && facts.iter().map(|fact| fact.width() + 3).sum::<usize>() > rest {
        facts.pop();
    }
    let facts: String = facts.iter().map(|fact| format!(" · {fact}")).collect();
    canvas.line(0, strip.foreign(&facts, rest, Role::Dim));
    canvas.right(0, end);
}

/// What the check found, what is still being read, and whether the file is followed, in a few words.
fn badge(shared: &Shared, room: Room) -> String {
    let mut parts = String::new();
    if shared.workspace.is_partial {
        parts.push_str(" · reading");
    }
    if shared.session.is_following {
        parts.push_str(" · following");
    }
    if let Some(writing) = &shared.writing {
        parts.push_str(&format!(" · writing {}%", writing.share()));
    }
    let warnings = shared.session.problems.as_ref().map_or(0, Vec::len);
    match (warnings, room) {
        (0, _) => {}
        (_, Room::Wide) => parts.push_str(&format!(" · check: {} (I)", count(warnings, "warning"))),
        _ => parts.push_str(&format!(" · {} (I)", count(warnings, "warning"))),
    }
    parts
}

fn draw_filter(canvas: &mut Canvas, room: Room, shared: &Shared) {
    let strip = canvas.strip().dim(" filter ");
    let strip = if shared.workspace.filter.words().is_empty() {
        let hint = match room {
            Room::Tiny => "none",
            _ => "none · / types one · i invalid · w wrong · c category",
        };
        strip.put(hint, Role::Mark)
    } else {
        filter_line::chips(strip, &shared.workspace.filter)
    };
    canvas.line(0, strip);
    let Some(snapshot) = shared.workspace.snapshot.as_deref() else {
        return;
    };
    let view = &shared.workspace.view;
    let mut order = String::new();
    if view.sort != Sort::File || view.is_reversed {
        order = format!("by {}{} · ", view.sort.name(), if view.is_reversed { " ↓" } else { "" });
    }
    let shown = self::shown(shared, snapshot, room);
    let strip = canvas.strip().dim(format!("  {order}")).strong(format!("{shown} "));
    canvas.right(0, strip);
}

/// How much of the trace is in sight, and how long finding it took.
fn shown(shared: &Shared, snapshot: &Snapshot, room: Room) -> String {
    let selected = &shared.workspace.selected;
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
    } else if shared.shows_time() && shared.workspace.is_current() && room != Room::Tiny && selected.took >= SLOW {
        text.push_str(&format!(" · {} ms", selected.took.as_millis()));
    }
    text
}

/// What a trace is called.
fn title(trace: &Trace) -> String {
    match trace.path.as_ref().and_then(|path| path.file_name()) {
        Some(file) if trace.name.is_empty() => file.to_string_lossy().into_owned(),
        _ => trace.name.clone(),
    }
}

/// Accuracy with its interval, and the share of invalid rows; exams have each their own accuracy, and none together.
fn score<'t>(strip: Strip<'t>, all: &Report, room: (Room, bool)) -> Strip<'t> {
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
fn brackets(sum: &Sum, (room, names_kind): (Room, bool)) -> String {
    let limits = sum.interval().filter(|_| room == Room::Wide).map(Interval::limits);
    limits.map_or_else(String::new, |(low, high)| {
        let kind = if sum.has_repeats() && names_kind {
            " by question"
        } else {
            ""
        };
        format!(" [{}, {}]{kind}", percent(Some(low)), percent(Some(high)))
    })
}

/// Rule, rows, questions and exam of a trace, the most telling first.
fn facts(snapshot: &Snapshot, room: Room) -> Vec<String> {
    let (all, total) = (&snapshot.all, &snapshot.all.total);
    let is_wide = room == Room::Wide;
    let rule = snapshot.trace.rule.iter().map(|rule| format!("rule {rule}"));
    let mut parts: Vec<String> = rule.collect();
    parts.push(if is_wide {
        count(total.rows(), "row")
    } else {
        thousands(total.rows())
    });
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
    parts
}
