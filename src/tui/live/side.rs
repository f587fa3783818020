//! Exams side by side, or above each other where the screen is narrow; in plain lines where it is tiny.

use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::engine::Pulse;
use crate::text::{duration, safe, thousands};
use crate::tui::canvas::{Canvas, middle, text_room};
use crate::tui::passage::{Laid, Passage};
use crate::tui::room::{self, Want};
use crate::tui::strip::Strip;
use crate::tui::theme::{Outcome, Role, Theme};

use super::answers::latest;
use super::exam::ExamState;
use super::panes::{self, Size};
use super::{Live, Stage};
use crate::run::pace::Tokens;
use crate::text::figures::{coarse, percent, rate};

/// Narrower or lower than this only lines of text are shown.
pub const SMALLEST: (u16, u16) = (60, 15);

/// Narrowest box that stands beside others.
const BESIDE: u16 = 56;

/// Lowest screen on which boxes stand side by side.
const HIGH: u16 = 24;

/// Draws all exams of the run; a single one as [`super::render_full`] does.
pub fn render_side_by_side(canvas: &mut Canvas, live: &Live) {
    if live.exams.len() == 1 {
        return super::render_full(canvas, live, 0);
    }
    if !live.has_begun() {
        return waiting(canvas, live);
    }
    if is_tiny(canvas.area()) {
        return in_lines(canvas, live);
    }
    let mut body = header(canvas, live, "");
    let (folded, open): (Vec<usize>, Vec<usize>) = (0..live.exams.len()).partition(|exam| is_folded(live, *exam));
    for (row, exam) in folded.iter().enumerate() {
        let line = folded_line(body.strip(), live, *exam, body.width());
        body.line(row, line);
    }
    let area = body.area();
    let mut body = body.at(area).below(folded.len());
    match open[..] {
        [exam] => super::full::render_body(&mut body, live, exam),
        _ => boxes(&mut body, live, &open),
    }
}

/// Whether an exam takes one line: it is done while another one is not.
fn is_folded(live: &Live, exam: usize) -> bool {
    let is_complete = |state: &ExamState| state.completed.is_some();
    is_complete(&live.exams[exam]) && !live.is_over() && !live.exams.iter().all(is_complete)
}

/// `▶ 1 mmlu ✓ 245 in 22s   accuracy 24.9% [19.9, 30.7]   always A: …`
fn folded_line<'t>(strip: Strip<'t>, live: &Live, exam: usize, width: usize) -> Strip<'t> {
    let (state, theme) = (&live.exams[exam], strip.theme);
    let cursor = if exam == live.focus { "▶ " } else { "  " };
    let strip = strip.put(cursor, Role::Focus).strong(format!("{} ", exam + 1));
    let strip = strip.foreign(&state.exam.benchmark, 24, Role::Title).text(" ");
    let parts = [
        (
            format!("{} {}", theme.outcome(Outcome::Right), thousands(state.done())),
            Role::Plain,
        ),
        (panes::time_left(live, exam), Role::Plain),
        (panes::accuracy(live, state), Role::Strong),
        panes::readability(state, true),
        (panes::warning(state).unwrap_or_default(), Role::Warning),
        (theme.key_name("⏎ open"), Role::Dim),
    ];
    strip.parts(width, &parts)
}

/// Exams side by side where the screen is wide, else above each other.
fn boxes(body: &mut Canvas, live: &Live, open: &[usize]) {
    let area = body.area();
    let across = usize::from(area.width / BESIDE).clamp(1, open.len());
    let is_beside = across > 1 && area.height >= HIGH;
    let room = if is_beside {
        across
    } else {
        usize::from(area.height / 7).clamp(1, open.len())
    };
    let exams = window(live, open, room);
    let latest = shared_latest_height(live, &exams, (usize::from(area.width) / across, body.height()));
    for (at, exam) in exams.iter().enumerate() {
        let part = |whole: u16, at: usize| (usize::from(whole) * at / exams.len()) as u16;
        let place = if is_beside {
            Rect {
                x: area.x + part(area.width, at),
                width: part(area.width, at + 1) - part(area.width, at),
                ..area
            }
        } else {
            Rect {
                y: area.y + part(area.height, at),
                height: part(area.height, at + 1) - part(area.height, at),
                ..area
            }
        };
        let mut place = body.at(place).focus(*exam == live.focus);
        if is_beside {
            tall_box(&mut place, live, *exam, latest);
        } else {
            low_box(&mut place, live, *exam);
        }
    }
}

pub fn is_tiny(area: Rect) -> bool {
    area.width < SMALLEST.0 || area.height < SMALLEST.1
}

/// The exams in sight where not all have room: those around the one in focus.
fn window(live: &Live, open: &[usize], room: usize) -> Vec<usize> {
    let focus = open.iter().position(|exam| *exam == live.focus).unwrap_or(0);
    let from = focus.saturating_sub(room / 2).min(open.len().saturating_sub(room));
    open.iter().copied().skip(from).take(room).collect()
}

/// The first lines: what runs, how fast; how it ended. Gives back the room below.
pub fn header<'c, 't>(canvas: &'c mut Canvas<'_, 't>, live: &Live, exam: &str) -> Canvas<'c, 't> {
    let width = canvas.width();
    let mut strip = canvas.strip().put(format!(" {}", word(live)), Role::Title);
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
    more.extend(left_in_all(live).filter(|_| exam.is_empty()));
    if !live.started.is_empty() {
        more.push(format!("started {}", live.started));
    }
    for text in more {
        if strip.width() + 3 + text.width() + 2 + speed.width() <= width {
            strip = strip.dim(format!(" · {text}"));
        }
    }
    canvas.line(0, strip.right(width.saturating_sub(1), speed, Role::Plain));
    let used = verdict(canvas, live);
    let area = canvas.area();
    canvas.at(area).below(1 + used)
}

/// `left 1m 45s in all`, where several exams are at work.
fn left_in_all(live: &Live) -> Option<String> {
    let open = (0..live.exams.len()).filter(|exam| live.exams[*exam].completed.is_none());
    let left: Option<Vec<f64>> = open.map(|exam| Some(live.left(exam)?.seconds)).collect();
    let last = left.filter(|left| left.len() > 1 && !live.is_over())?;
    let longest = last.into_iter().fold(0.0, f64::max);
    Some(format!("left {} in all", duration(coarse(longest))))
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

/// Tells below the first line how the run ended; gives back the lines that that takes.
fn verdict(canvas: &mut Canvas, live: &Live) -> usize {
    let Some(verdict) = live.verdict() else { return 0 };
    let mut texts = Vec::new();
    let mut role = Role::Strong;
    if let Stage::Failed(message) = &live.stage {
        role = Role::Warning;
        texts.push(format!("! {message}"));
    }
    texts.push(verdict);
    let (width, ascii) = (canvas.width().saturating_sub(2), canvas.theme.ascii);
    let lines = texts
        .iter()
        .flat_map(|text| Passage::remarked(text, role).lay(width, ascii));
    let most = canvas.height().saturating_sub(1) / 3;
    let lines: Vec<Laid> = lines.take(most).collect();
    for (at, laid) in lines.iter().enumerate() {
        canvas.line(1 + at, canvas.strip().text(" ").join_laid(laid.clone()));
    }
    lines.len()
}

/// Before the first question: what is being done, in the middle.
pub fn waiting(canvas: &mut Canvas, live: &Live) {
    let (title, text, role) = match &live.stage {
        Stage::Failed(message) => ("! the run could not begin".to_owned(), message.as_str(), Role::Warning),
        Stage::Ended { .. } => ("the run ended before its first question".to_owned(), "", Role::Plain),
        Stage::Waiting | Stage::Working => {
            let status = match live.status.as_str() {
                "" => "starting",
                status => status,
            };
            (format!("getting ready · {}", duration(live.now)), status, Role::Strong)
        }
    };
    canvas.line(0, canvas.strip().put(format!(" {}", word(live)), Role::Title));
    let width = canvas.width().saturating_sub(4).min(84);
    let text = Passage::remarked(text, role).lay(width, canvas.theme.ascii);
    let place = middle(canvas.area(), (width, text.len() + 2));
    let mut place = canvas.at(place);
    let title_role = if role == Role::Warning { role } else { Role::Dim };
    place.centered(0, place.strip().put(title, title_role));
    for (at, line) in text.iter().enumerate() {
        place.centered(at + 2, place.strip().put(line.text().trim_end(), role));
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
fn parts(state: &ExamState, width: usize) -> Vec<(Part, usize)> {
    let mut parts = vec![(Part::Run, 3), (Part::Categories, state.categories.len().max(1))];
    if !state.subjects.is_empty() {
        parts.push((Part::Subjects, state.subjects.len()));
    }
    let strip = Strip::new(&Theme::PLAIN);
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

/// Lines for the latest answers, so that all boxes in sight have them at the same height; of boxes of so many columns and
/// lines.
fn shared_latest_height(live: &Live, exams: &[usize], (width, height): Size) -> usize {
    let room = |exam: &usize| {
        let parts = parts(&live.exams[*exam], width.saturating_sub(3));
        let fixed = |(part, lines): &(Part, usize)| match part {
            Part::Latest => 1,
            Part::Subjects => 5,
            _ => lines + 1,
        };
        height.saturating_sub(parts.iter().map(fixed).sum::<usize>())
    };
    exams.iter().map(room).min().unwrap_or(0).max(height / 7)
}

/// What each part can do with lines, its head among them.
fn wants(parts: &[(Part, usize)], latest: usize) -> Vec<Want> {
    let want = |(part, lines): &(Part, usize)| match part {
        Part::Run => Want::new(2, lines + 1, 0),
        Part::Latest => Want::new(2, latest + 1, 1),
        Part::Categories => Want::new(2, lines + 1, 2),
        Part::Attempts => Want::new(2, lines + 1, 3),
        Part::Picks => Want::new(2, lines + 1, 4),
        Part::Why => Want::new(2, lines + 1, 5),
        Part::Subjects => Want::new(2, lines + 1, 6),
    };
    parts.iter().map(want).collect()
}

fn tall_box(canvas: &mut Canvas, live: &Live, exam: usize, latest: usize) {
    let (area, focused) = (canvas.area(), canvas.focused);
    let width = text_room(area).0;
    let parts = parts(&live.exams[exam], width);
    let heights = room::share(usize::from(area.height), &wants(&parts, latest));
    let mut y = area.y;
    for ((part, _), height) in parts.iter().zip(heights).filter(|(_, height)| *height > 0) {
        let place = Rect {
            y,
            height: height as u16,
            ..area
        };
        let (title, remark) = match part {
            Part::Run => (box_title(live, exam, canvas.width()), String::new()),
            part => part_title(live, exam, *part, height - 1),
        };
        let mut place = canvas.at(place).focus(focused && *part == Part::Run);
        let mut inner = place.frame(&title, &remark).padded();
        let strip = inner.strip();
        inner.lines(part_lines(&strip, live, exam, (*part, (width, height - 1))));
        y += height as u16;
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

fn part_lines(strip: &Strip, live: &Live, exam: usize, (part, size): (Part, Size)) -> Vec<Line<'static>> {
    let state = &live.exams[exam];
    let width = size.0;
    match part {
        Part::Run => vec![
            panes::progress(strip.clone(), state, width),
            pace(strip.clone(), live, exam, width),
            score(strip.clone(), live, state, width),
        ],
        Part::Categories => panes::groups(strip, &state.categories, live.order, size),
        Part::Subjects => panes::groups(strip, &state.subjects, live.order, size),
        Part::Attempts => panes::attempts(strip, state, width),
        Part::Picks => panes::picks(strip, state, width),
        Part::Why => panes::causes(strip, state, size),
        Part::Latest => latest(strip, live, exam, size),
    }
}

fn pace(strip: Strip<'_>, live: &Live, exam: usize, width: usize) -> Line<'static> {
    let state = &live.exams[exam];
    let left = format!("{:<room$}", panes::time_left(live, exam), room = panes::TIME_LEFT);
    let mut parts = [
        (left, Role::Plain),
        (panes::row_rate(live, state), Role::Plain),
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
                (panes::early(state), Role::Dim),
            ],
        )
        .line()
}

/// An exam on few lines: the bar with the time, the score, categories in columns, one line of attempts or picks, answers.
fn low_box(canvas: &mut Canvas, live: &Live, exam: usize) {
    let state = &live.exams[exam];
    let title = box_title(live, exam, canvas.width());
    let mut inner = canvas.frame(&title, &feed_remark(state)).padded();
    let (width, height) = (inner.width(), inner.height());
    let strip = inner.strip();
    let left = format!("{:<room$} ", panes::time_left(live, exam), room = panes::TIME_LEFT);
    let score = [
        (panes::accuracy(live, state), Role::Strong),
        panes::readability(state, true),
        (panes::row_rate(live, state), Role::Plain),
        panes::errors(state),
        (panes::token_rate(live, state), Role::Plain),
    ];
    let mut lines = vec![
        panes::progress(strip.clone().text(left), state, width),
        strip.clone().parts(width, &score).line(),
    ];
    let summary = usize::from(height >= 5);
    let room = height.saturating_sub(lines.len() + summary + (height / 6).max(1));
    lines.extend(panes::groups_in_columns(
        &strip,
        &state.categories,
        live.order,
        (width, room),
    ));
    if summary > 0 && state.attempts.are_several() {
        lines.push(panes::attempts_in_short(strip.clone(), state, width));
    } else if summary > 0 {
        lines.push(panes::picks_in_short(strip.clone(), state, width));
    }
    let rest = height.saturating_sub(lines.len());
    if rest > 0 {
        lines.extend(latest(&strip, live, exam, (width, rest)));
    }
    inner.lines(lines);
}

/// A screen too small for boxes: a few lines an exam.
pub fn in_lines(canvas: &mut Canvas, live: &Live) {
    let width = canvas.width();
    let name = canvas.strip().put(format!("{} ", word(live)), Role::Title);
    canvas.line(0, name.foreign(&live.model, width.saturating_sub(5), Role::Plain));
    let used = verdict(canvas, live);
    let area = canvas.area();
    let mut body = canvas.at(area).below(1 + used);
    let strip = body.strip();
    let mut lines = Vec::new();
    for (exam, state) in live.exams.iter().enumerate() {
        let mark = if exam == live.focus { "▶ " } else { "  " };
        let name = strip.clone().text(mark);
        lines.push(
            name.foreign(&state.exam.benchmark, width.saturating_sub(2), Role::Title)
                .line(),
        );
        lines.push(panes::progress(strip.clone().text("  "), state, width));
        let left = [(panes::time_left(live, exam), Role::Plain)];
        lines.push(strip.clone().text("  ").parts(width, &left).line());
        let invalid = format!("[invalid] {}", percent(state.counts.sum.tally.invalid_rate()));
        let score = [(panes::accuracy(live, state), Role::Strong), (invalid, Role::Plain)];
        lines.push(strip.clone().text("  ").parts(width, &score).line());
    }
    // The exam in focus shows its answers in what is left; it is put last so that they follow it.
    let rest = body.height().saturating_sub(lines.len());
    if !live.exams.is_empty() && rest > 0 {
        lines.extend(latest(&strip, live, live.focus, (width, rest)));
    }
    body.lines(lines);
}
