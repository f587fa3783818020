//! Exams side by side, or above each other where the screen is narrow; in plain lines where it is tiny.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::engine::Pulse;
use crate::text::{duration, safe, thousands};
use crate::tui::passage::Passage;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets;

use super::answers::latest;
use super::exam::ExamState;
use super::figures::{percent, rate};
use super::panes;
use super::strip::Strip;
use super::tempo::Tokens;
use super::{Live, Stage};

/// Narrower or lower than this only lines of text are shown.
pub const SMALLEST: (u16, u16) = (60, 15);

/// Narrowest box that stands beside others.
const BESIDE: u16 = 56;

/// Lowest screen on which boxes stand side by side.
const HIGH: u16 = 24;

/// Draws all exams of the run; a single one as [`super::render_full`] does.
pub fn render_side_by_side(buffer: &mut Buffer, area: Rect, live: &Live, theme: &Theme) {
    if live.exams.len() == 1 {
        return super::render_full(buffer, area, live, 0, theme);
    }
    if !live.has_begun() {
        return waiting(buffer, area, live, theme);
    }
    if is_tiny(area) {
        return in_lines(buffer, area, live, theme);
    }
    let area = header(buffer, area, live, "", theme);
    let across = usize::from(area.width / BESIDE).clamp(1, live.exams.len());
    if across > 1 && area.height >= HIGH {
        let exams = window(live, across);
        let latest_height = shared_latest_height(live, &exams, usize::from(area.height), area.width / across as u16);
        for (column, exam) in exams.iter().enumerate() {
            let left = area.width as usize * column / across;
            let right = area.width as usize * (column + 1) / across;
            let place = Rect {
                x: area.x + left as u16,
                width: (right - left) as u16,
                ..area
            };
            tall_box(buffer, place, live, *exam, latest_height, theme);
        }
    } else {
        let exams = window(live, usize::from(area.height / 7).clamp(1, live.exams.len()));
        for (row, exam) in exams.iter().enumerate() {
            let top = area.height as usize * row / exams.len();
            let bottom = area.height as usize * (row + 1) / exams.len();
            let place = Rect {
                y: area.y + top as u16,
                height: (bottom - top) as u16,
                ..area
            };
            low_box(buffer, place, live, *exam, theme);
        }
    }
}

pub fn is_tiny(area: Rect) -> bool {
    area.width < SMALLEST.0 || area.height < SMALLEST.1
}

/// The exams in sight where not all have room: those around the one in focus.
fn window(live: &Live, room: usize) -> Vec<usize> {
    let from = live
        .focus
        .saturating_sub(room / 2)
        .min(live.exams.len().saturating_sub(room));
    (from..live.exams.len()).take(room).collect()
}

/// The first lines: what runs, how fast; how it ended. Gives back the room below.
pub fn header(buffer: &mut Buffer, area: Rect, live: &Live, exam: &str, theme: &Theme) -> Rect {
    let width = usize::from(area.width);
    let mut strip = Strip::new(theme).put(format!(" {}", word(live)), Role::Title);
    if !exam.is_empty() {
        strip = strip.text(" ").foreign(exam, width / 4, Role::Title);
    }
    // The header of one exam tells what the engine does for it.
    let own = live.exams.iter().find(|state| state.exam.benchmark == exam);
    let own = own
        .map(|state| &state.tokens)
        .filter(|tokens| tokens.last() != Pulse::default());
    let speed = engine_speed(live, own.unwrap_or(&live.tokens), width >= 72);
    let elapsed = duration(live.elapsed());
    let model = format!("{} {}", live.model, live.dtype);
    let room = width.saturating_sub(strip.width() + elapsed.width() + speed.width() + 8);
    strip = strip.text(" · ").foreign(model.trim(), room, Role::Plain);
    let mut more = Vec::new();
    if live.exams.len() > 1 && exam.is_empty() {
        more.push(format!("{} exams", live.exams.len()));
    }
    more.push(elapsed);
    if !live.started.is_empty() {
        more.push(format!("started {}", live.started));
    }
    for text in more {
        if strip.width() + 3 + text.width() + 2 + speed.width() <= width {
            strip = strip.put(format!(" · {text}"), Role::Dim);
        }
    }
    let line = strip.right(width.saturating_sub(1), speed, Role::Plain).line();
    buffer.set_line(area.x, area.y, &line, area.width);
    let below = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    verdict(buffer, below, live, theme)
}

/// What the run is doing, in a word.
fn word(live: &Live) -> &'static str {
    match live.stage {
        Stage::Ended { is_stopped: false } => "DONE",
        Stage::Ended { is_stopped: true } => "STOPPED",
        Stage::Failed(_) => "FAILED",
        Stage::Waiting | Stage::Working if live.is_stopping => "STOPPING",
        Stage::Waiting | Stage::Working => "LIVE",
    }
}

/// Tokens a second and sequences in flight; averages once the run is over.
fn engine_speed(live: &Live, tokens: &Tokens, has_room: bool) -> String {
    let pulse = tokens.last();
    let seconds = live.elapsed().as_secs_f64();
    let rates = if live.is_over() {
        (seconds > 0.0).then(|| (pulse.tokens_in as f64 / seconds, pulse.tokens_out as f64 / seconds))
    } else {
        tokens.rates(live.now)
    };
    let shown = |value: Option<f64>| value.map_or_else(|| "…".to_owned(), rate);
    let (tokens_in, tokens_out) = (shown(rates.map(|rates| rates.0)), shown(rates.map(|rates| rates.1)));
    if live.is_over() {
        return format!("average in {tokens_in} out {tokens_out} tok/s");
    }
    let in_flight = if has_room {
        format!(" · {:>2} in flight", pulse.in_flight)
    } else {
        String::new()
    };
    format!("in {tokens_in:>5} out {tokens_out:>4} tok/s{in_flight}")
}

/// How the run ended, on as many lines as that takes.
fn verdict(buffer: &mut Buffer, area: Rect, live: &Live, theme: &Theme) -> Rect {
    let Some(verdict) = live.verdict() else { return area };
    let (mark, role) = match live.stage {
        Stage::Failed(_) => ("! ", Role::Warning),
        _ => ("", Role::Strong),
    };
    let mut texts = Vec::new();
    if let Stage::Failed(message) = &live.stage {
        texts.push(format!("{mark}{message}"));
    }
    texts.push(verdict);
    let width = usize::from(area.width.saturating_sub(2));
    let most = usize::from(area.height / 3);
    let lines = texts
        .iter()
        .flat_map(|text| Passage::plain(text).lay(width, theme.ascii));
    let mut used = 0;
    for laid in lines.take(most) {
        let line = Line::from(Span::styled(format!(" {}", laid.text()), theme.style(role)));
        buffer.set_line(area.x, area.y + used, &line, area.width);
        used += 1;
    }
    Rect {
        y: area.y + used,
        height: area.height - used,
        ..area
    }
}

/// Before the first question: what is being done, in the middle.
pub fn waiting(buffer: &mut Buffer, area: Rect, live: &Live, theme: &Theme) {
    let (title, text, role) = match &live.stage {
        Stage::Failed(message) => ("the run could not begin".to_owned(), message.as_str(), Role::Warning),
        Stage::Ended { .. } => ("the run ended before its first question".to_owned(), "", Role::Plain),
        Stage::Waiting | Stage::Working => {
            let status = if live.status.is_empty() {
                "starting"
            } else {
                &live.status
            };
            (format!("getting ready · {}", duration(live.now)), status, Role::Strong)
        }
    };
    let name = Strip::new(theme).put(format!(" {}", word(live)), Role::Title).line();
    buffer.set_line(area.x, area.y, &name, area.width);
    let width = area.width.saturating_sub(4).min(84);
    let mark = if role == Role::Warning { "! " } else { "" };
    let text = Passage::plain(text).lay(usize::from(width), theme.ascii);
    let height = (text.len() as u16 + 2).min(area.height);
    let place = widgets::centered(area, width, height);
    let centered = |text: &str, role: Role| Line::from(Span::styled(text.to_owned(), theme.style(role))).centered();
    let title = centered(
        &format!("{mark}{title}"),
        if mark.is_empty() { Role::Dim } else { role },
    );
    let lines = [title, Line::default()]
        .into_iter()
        .chain(text.iter().map(|line| centered(line.text().trim_end(), role)));
    for (row, line) in (0..place.height).zip(lines) {
        let indent = place.width.saturating_sub(line.width() as u16) / 2;
        buffer.set_line(place.x + indent, place.y + row, &line, place.width - indent);
    }
}

/// A part of a tall box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Run,
    Categories,
    Subjects,
    Attempts,
    Picks,
    Why,
    Latest,
}

/// The parts that an exam has, from top to bottom, with the lines each would like.
fn parts(state: &ExamState, width: usize, theme: &Theme) -> Vec<(Part, usize)> {
    let mut parts = vec![(Part::Run, 3), (Part::Categories, state.categories.len().max(1))];
    if !state.subjects.is_empty() {
        parts.push((Part::Subjects, state.subjects.len()));
    }
    let strip = Strip::new(theme);
    if state.attempts.are_several() {
        parts.push((Part::Attempts, panes::attempts(&strip, state, width).len()));
    }
    parts.push((Part::Picks, 2));
    if !state.exam.is_cloze || state.counts.sum.tally.invalid > 0 {
        parts.push((Part::Why, 2));
    }
    parts.push((Part::Latest, usize::MAX));
    parts
}

/// Lines for the latest answers, so that all boxes in sight have them at the same height.
fn shared_latest_height(live: &Live, exams: &[usize], height: usize, width: u16) -> usize {
    let theme = Theme {
        color: false,
        ascii: false,
    };
    let width = usize::from(width.saturating_sub(4));
    let room = |exam: &usize| {
        let parts = parts(&live.exams[*exam], width, &theme);
        let fixed = |(part, lines): &(Part, usize)| match part {
            Part::Latest => 0,
            Part::Subjects => 5,
            _ => lines + 1,
        };
        height.saturating_sub(2 + parts.iter().map(fixed).sum::<usize>())
    };
    exams.iter().map(room).min().unwrap_or(0).max(height / 7)
}

/// Lines that each part gets: what it would like as long as there is room, the more important ones first.
fn allot(parts: &[(Part, usize)], height: usize, latest: usize) -> Vec<usize> {
    let importance = |part: Part| match part {
        Part::Run => 0,
        Part::Latest => 1,
        Part::Categories => 2,
        Part::Attempts => 3,
        Part::Picks => 4,
        Part::Why => 5,
        Part::Subjects => 6,
    };
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| importance(parts[*at].0));
    let mut given = vec![0; parts.len()];
    // The first part has the frame above it, each other one a rule.
    let mut room = height + 1;
    for at in order {
        let wanted = if parts[at].0 == Part::Latest {
            latest
        } else {
            parts[at].1
        };
        if room >= 2 {
            given[at] = wanted.min(room - 1);
            room -= given[at] + 1;
        }
    }
    // What nobody wanted goes to the feed.
    if let Some(last) = given.last_mut() {
        *last += room;
    }
    given
}

fn tall_box(buffer: &mut Buffer, area: Rect, live: &Live, exam: usize, latest_height: usize, theme: &Theme) {
    let state = &live.exams[exam];
    let is_focused = exam == live.focus;
    let inner = widgets::frame(
        buffer,
        area,
        &box_title(live, exam, usize::from(area.width)),
        "",
        is_focused,
        theme,
    );
    let width = usize::from(inner.width.saturating_sub(2));
    let parts = parts(state, width, theme);
    let heights = allot(&parts, usize::from(inner.height), latest_height);
    let mut row = 0;
    for ((part, _), height) in parts.iter().zip(heights).filter(|(_, height)| *height > 0) {
        if *part != Part::Run {
            let (title, remark) = part_title(live, exam, *part, height);
            rule(buffer, area, inner.y + row, &title, &remark, is_focused, theme);
            row += 1;
        }
        let lines = part_lines(live, exam, *part, width, height, theme);
        for (at, line) in lines.iter().take(height).enumerate() {
            buffer.set_line(inner.x + 1, inner.y + row + at as u16, line, width as u16);
        }
        row += height as u16;
    }
}

/// What an exam's box is called: number, name, method, and what is unusual about it.
pub fn box_title(live: &Live, exam: usize, width: usize) -> String {
    let state = &live.exams[exam];
    let focus = if exam == live.focus && live.exams.len() > 1 {
        "▶ "
    } else {
        ""
    };
    let notes = notes(live, exam);
    let name = format!("{} · {}", state.exam.benchmark, state.exam.method);
    let room = width.saturating_sub(8 + focus.width() + 2 + notes.width());
    format!("{focus}{} {}{notes}", exam + 1, safe::one_line(&name, room, false))
}

/// What is unusual about an exam, to follow its name.
pub fn notes(live: &Live, exam: usize) -> String {
    let state = &live.exams[exam];
    let mut notes = String::new();
    if live.exams.iter().any(|other| other.share != state.share) && state.completed.is_none() {
        notes.push_str(&format!(" · share {}", state.share));
    }
    if state.is_paused() {
        notes.push_str(" · paused");
    }
    notes
}

/// A rule across a box, with a title, and a remark at its right end.
fn rule(buffer: &mut Buffer, area: Rect, y: u16, title: &str, remark: &str, is_focused: bool, theme: &Theme) {
    let width = usize::from(area.width);
    let border = if is_focused { Role::Focus } else { Role::Border };
    let line_style = theme.style(border).remove_modifier(ratatui::style::Modifier::REVERSED);
    let bare = width.saturating_sub(title.width() + 6);
    let remark = if remark.width() + 4 > bare { "" } else { remark };
    let dashes = bare - if remark.is_empty() { 0 } else { remark.width() + 2 };
    let mut spans = vec![
        Span::styled("├─ ", line_style),
        Span::styled(title.to_owned(), theme.style(Role::Title)),
        Span::styled(format!(" {}", "─".repeat(dashes)), line_style),
    ];
    if !remark.is_empty() {
        spans.push(Span::styled(format!(" {remark} "), theme.style(Role::Dim)));
    }
    spans.push(Span::styled("─┤", line_style));
    buffer.set_line(area.x, y, &Line::from(spans), area.width);
}

fn part_title(live: &Live, exam: usize, part: Part, height: usize) -> (String, String) {
    let state = &live.exams[exam];
    let out = |groups: usize| panes::left_out(groups, height);
    match part {
        Part::Run => (String::new(), String::new()),
        Part::Categories => {
            let remark = Some(out(state.categories.len())).filter(|text| !text.is_empty());
            let title = format!("by category · {}", panes::interval_name(state));
            (title, remark.unwrap_or_else(|| "right/done/all".to_owned()))
        }
        Part::Subjects => {
            let remark = format!("{} · {}", out(state.subjects.len()), live.order.label());
            ("subjects".to_owned(), remark.trim_start_matches(" · ").to_owned())
        }
        Part::Attempts => ("attempts".to_owned(), String::new()),
        Part::Picks => ("picks and key, %".to_owned(), String::new()),
        Part::Why => ("why invalid".to_owned(), String::new()),
        Part::Latest => ("latest".to_owned(), feed_remark(state)),
    }
}

/// What the feed leaves out or waits for.
pub fn feed_remark(state: &ExamState) -> String {
    let mut notes = Vec::new();
    if state.feed.is_filtered() {
        notes.push("filtered".to_owned());
    }
    if state.feed.is_held() {
        let newer = state.feed.sight(state.feed.last_height()).newer;
        notes.push(if newer > 0 {
            format!("held, {} newer", thousands(newer))
        } else {
            "held".to_owned()
        });
    }
    notes.join(" · ")
}

fn part_lines(live: &Live, exam: usize, part: Part, width: usize, height: usize, theme: &Theme) -> Vec<Line<'static>> {
    let state = &live.exams[exam];
    let strip = Strip::new(theme);
    match part {
        Part::Run => vec![
            panes::progress(strip.clone(), state, width),
            pace(strip.clone(), live, exam, width),
            score(strip, live, state, width),
        ],
        Part::Categories => panes::groups(&strip, &state.categories, live.order, width, height),
        Part::Subjects => panes::groups(&strip, &state.subjects, live.order, width, height),
        Part::Attempts => panes::attempts(&strip, state, width),
        Part::Picks => panes::picks(&strip, state, width),
        Part::Why => panes::causes(&strip, state, width, height),
        Part::Latest => latest(&strip, live, exam, width, height),
    }
}

fn pace(strip: Strip<'_>, live: &Live, exam: usize, width: usize) -> Line<'static> {
    let state = &live.exams[exam];
    let left = format!("{:<room$}", panes::time_left(live, exam), room = panes::TIME_LEFT);
    let mut parts = [
        (left, Role::Plain),
        (panes::question_rate(live, state), Role::Plain),
        panes::errors(state),
        (panes::token_rate(live, state), Role::Plain),
    ];
    if state.errors == 0 {
        parts.swap(2, 3);
    }
    strip.parts(width, &parts).line()
}

fn score(strip: Strip<'_>, live: &Live, state: &ExamState, width: usize) -> Line<'static> {
    strip
        .parts(
            width,
            &[
                (panes::accuracy(live, state), Role::Strong),
                panes::readability(state, true),
            ],
        )
        .line()
}

/// An exam on few lines: the bar with the time, the score, categories in columns, one line of attempts or picks, answers.
fn low_box(buffer: &mut Buffer, area: Rect, live: &Live, exam: usize, theme: &Theme) {
    let state = &live.exams[exam];
    let title = box_title(live, exam, usize::from(area.width));
    let inner = widgets::frame(buffer, area, &title, &feed_remark(state), exam == live.focus, theme);
    let width = usize::from(inner.width.saturating_sub(2));
    let height = usize::from(inner.height);
    let strip = Strip::new(theme);
    let left = format!("{:<room$}", panes::time_left(live, exam), room = panes::TIME_LEFT);
    let score = [
        (panes::accuracy(live, state), Role::Strong),
        panes::readability(state, true),
        (panes::question_rate(live, state), Role::Plain),
        panes::errors(state),
        (panes::token_rate(live, state), Role::Plain),
    ];
    let mut lines = vec![
        panes::progress(strip.clone().text(left).text(" "), state, width),
        strip.clone().parts(width, &score).line(),
    ];
    let summary = usize::from(height >= 5);
    let room = height.saturating_sub(lines.len() + summary + (height / 6).max(1));
    lines.extend(panes::groups_in_columns(
        &strip,
        &state.categories,
        live.order,
        width,
        room,
    ));
    if summary > 0 && state.attempts.are_several() {
        lines.push(panes::attempts_in_short(strip.clone(), state, width));
    } else if summary > 0 {
        lines.push(panes::picks_in_short(strip.clone(), state, width));
    }
    let rest = height.saturating_sub(lines.len());
    if rest > 0 {
        lines.extend(latest(&strip, live, exam, width, rest));
    }
    for (row, line) in lines.iter().take(height).enumerate() {
        buffer.set_line(inner.x + 1, inner.y + row as u16, line, width as u16);
    }
}

/// A screen too small for boxes: a few lines an exam.
pub fn in_lines(buffer: &mut Buffer, area: Rect, live: &Live, theme: &Theme) {
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    for (exam, state) in live.exams.iter().enumerate() {
        let strip = || Strip::new(theme);
        let mark = if exam == live.focus { "▶ " } else { "  " };
        lines.push(
            strip()
                .text(mark)
                .foreign(&state.exam.benchmark, width.saturating_sub(2), Role::Title)
                .line(),
        );
        lines.push(panes::progress(strip().text("  "), state, width));
        lines.push(
            strip()
                .text("  ")
                .parts(width, &[(panes::time_left(live, exam), Role::Plain)])
                .line(),
        );
        let invalid = format!("[invalid] {}", percent(state.counts.sum.tally.invalid_rate()));
        let score = [(panes::accuracy(live, state), Role::Strong), (invalid, Role::Plain)];
        lines.push(strip().text("  ").parts(width, &score).line());
    }
    let area = header_in_short(buffer, area, live, theme);
    let room = usize::from(area.height);
    let used = lines.len();
    // The exam in focus shows its answers in what is left; it is put last so that they follow it.
    if !live.exams.is_empty() && room > used {
        lines.extend(latest(&Strip::new(theme), live, live.focus, width, room - used));
    }
    for (row, line) in lines.iter().take(room).enumerate() {
        buffer.set_line(area.x, area.y + row as u16, line, area.width);
    }
}

fn header_in_short(buffer: &mut Buffer, area: Rect, live: &Live, theme: &Theme) -> Rect {
    let width = usize::from(area.width);
    let line = Strip::new(theme)
        .put(format!("{} ", word(live)), Role::Title)
        .foreign(&live.model, width.saturating_sub(5), Role::Plain)
        .line();
    if area.height > 0 {
        buffer.set_line(area.x, area.y, &line, area.width);
    }
    let below = Rect {
        y: area.y + area.height.min(1),
        height: area.height.saturating_sub(1),
        ..area
    };
    verdict(buffer, below, live, theme)
}
