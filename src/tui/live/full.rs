//! One exam at work, full screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::text::{duration, safe, thousands};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets;

use super::answers::latest;
use super::exam::ExamState;
use super::figures::{percent, sparkline};
use super::panes;
use super::side::{feed_remark, header, in_lines, is_tiny, notes, waiting};
use super::strip::Strip;
use super::{Live, tempo::RECENT};

/// From this size on there are boxes beside each other.
const ROOMY: (u16, u16) = (100, 29);

/// Draws one exam.
pub fn render_full(buffer: &mut Buffer, area: Rect, live: &Live, exam: usize, theme: &Theme) {
    let Some(state) = live.exams.get(exam) else {
        return waiting(buffer, area, live, theme);
    };
    if is_tiny(area) {
        return in_lines(buffer, area, live, theme);
    }
    let area = header(buffer, area, live, &state.exam.benchmark, theme);
    if area.width >= ROOMY.0 && area.height >= ROOMY.1 {
        roomy(buffer, area, live, exam, theme);
    } else {
        narrow(buffer, area, live, exam, theme);
    }
}

fn roomy(buffer: &mut Buffer, area: Rect, live: &Live, exam: usize, theme: &Theme) {
    let state = &live.exams[exam];
    let run = Rect { height: 5, ..area };
    let rest = usize::from(area.height) - 5;
    let side_lines = side_lines(live, exam, SIDE - 4, theme);
    let groups = state.categories.len()
        + if state.subjects.is_empty() {
            0
        } else {
            state.subjects.len() + 1
        };
    // The feed keeps a third; what the panes above do not need comes to it.
    let middle = (groups.max(side_lines.len()) + 2).min(rest - rest / 3);
    let middle_area = Rect {
        y: area.y + 5,
        height: middle as u16,
        ..area
    };
    let feed_area = Rect {
        y: area.y + 5 + middle as u16,
        height: (rest - middle) as u16,
        ..area
    };
    boxed(
        buffer,
        run,
        &run_title(live, exam, usize::from(area.width)),
        "",
        theme,
        |width, _| {
            vec![
                panes::progress(Strip::new(theme), state, width),
                pace(Strip::new(theme), live, exam, width),
                score(Strip::new(theme), live, state, width),
            ]
        },
    );
    let left = Rect {
        width: area.width - SIDE as u16,
        ..middle_area
    };
    let right = Rect {
        x: area.x + left.width,
        width: SIDE as u16,
        ..middle_area
    };
    let title = format!("Accuracy by category · {}", panes::interval_name(state));
    let remark = format!("right/done/all · {}", live.order.label());
    boxed(buffer, left, &title, &remark, theme, |width, height| {
        groups_and_subjects(live, state, width, height, theme)
    });
    boxed(buffer, right, side_title(state), "", theme, |_, _| side_lines);
    boxed(
        buffer,
        feed_area,
        "Latest",
        &feed_remark(state),
        theme,
        |width, height| latest(&Strip::new(theme), live, exam, width, height),
    );
}

/// Columns of the box on the right.
const SIDE: usize = 40;

fn boxed(
    buffer: &mut Buffer,
    area: Rect,
    title: &str,
    remark: &str,
    theme: &Theme,
    lines: impl FnOnce(usize, usize) -> Vec<Line<'static>>,
) {
    let inner = widgets::frame(buffer, area, title, remark, false, theme);
    let (width, height) = (usize::from(inner.width.saturating_sub(2)), usize::from(inner.height));
    for (row, line) in lines(width, height).iter().take(height).enumerate() {
        buffer.set_line(inner.x + 1, inner.y + row as u16, line, width as u16);
    }
}

fn pace(strip: Strip<'_>, live: &Live, exam: usize, width: usize) -> Line<'static> {
    let state = &live.exams[exam];
    let elapsed = format!("{:<17}", format!("elapsed {}", duration(live.elapsed())));
    let left = format!("{:<room$}", panes::time_left(live, exam), room = panes::TIME_LEFT + 2);
    let parts = [
        (elapsed, Role::Plain),
        (left, Role::Plain),
        (panes::question_rate(live, state), Role::Plain),
        panes::errors(state),
        (slowest(live, state), Role::Plain),
    ];
    strip.parts(width, &parts).line()
}

/// What the run is: exam, method, and what is unusual about it.
fn run_title(live: &Live, exam: usize, width: usize) -> String {
    let state = &live.exams[exam];
    let notes = notes(live, exam);
    let name = format!("{} · {}", state.exam.benchmark, state.exam.method);
    format!(
        "{}{notes}",
        safe::one_line(&name, width.saturating_sub(8 + notes.width()), false)
    )
}

/// The completion that has been at work longest.
fn slowest(live: &Live, state: &ExamState) -> String {
    let running = state.running.slowest_first();
    running.first().map_or(String::new(), |underway| {
        let at_work = live.now.saturating_sub(underway.since);
        let (question, attempt) = (underway.question_id, underway.attempt);
        format!(
            "slowest Q{question} at {attempt}, {}, {} tok",
            duration(at_work),
            thousands(underway.tokens)
        )
    })
}

fn score(strip: Strip<'_>, live: &Live, state: &ExamState, width: usize) -> Line<'static> {
    let recent = state.pace.recent();
    let n = recent.len();
    let right = recent.filter(|step| step.is_correct).count();
    let last = format!("last {n}: {}", percent(Some(right as f64 / n.max(1) as f64)));
    let parts = [
        (panes::accuracy(live, state), Role::Strong),
        panes::readability(state, false),
        (if n == RECENT { last } else { String::new() }, Role::Plain),
    ];
    strip.parts(width, &parts).line()
}

/// Categories, and below them subjects as far as there is room.
fn groups_and_subjects(
    live: &Live,
    state: &ExamState,
    width: usize,
    height: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let strip = Strip::new(theme);
    let mut lines = panes::groups(&strip, &state.categories, live.order, width, height);
    let room = height.saturating_sub(lines.len() + 1);
    if !state.subjects.is_empty() && room > 0 {
        let out = panes::left_out(state.subjects.len(), room);
        lines.push(
            strip
                .clone()
                .put("subjects", Role::Title)
                .right(width, out, Role::Dim)
                .line(),
        );
        lines.extend(panes::groups(&strip, &state.subjects, live.order, width, room));
    }
    lines
}

fn side_title(state: &ExamState) -> &'static str {
    if state.exam.is_cloze {
        "Rate, picks"
    } else {
        "Rate, attempts, picks"
    }
}

/// Rates, how completions ended, attempts, picks, causes.
fn side_lines(live: &Live, exam: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let state = &live.exams[exam];
    let strip = Strip::new(theme);
    let spark = |name: &str, values: &[f64]| {
        let strip = strip.clone().put(format!("{name:<7}"), Role::Dim);
        strip.put(sparkline(values, width - 7), Role::BarFull).line()
    };
    let own = state.tokens.history();
    let (tokens_in, tokens_out) = if own.0.is_empty() { live.tokens.history() } else { own };
    let tokens = if state.exam.is_cloze { tokens_in } else { tokens_out };
    let mut lines = vec![spark("tok/s", tokens), spark("rows/s", state.pace.history())];
    if !state.exam.is_cloze {
        lines.push(endings(strip.clone(), state, width));
        lines.push(lengths(strip.clone(), state, width));
    }
    if state.attempts.are_several() {
        lines.push(Line::default());
        lines.extend(panes::attempts(&strip, state, width));
    }
    lines.push(Line::default());
    if state.letter_columns() <= 5 {
        lines.push(strip.clone().put("picks and key", Role::Title).line());
        lines.extend(panes::picks_by_line(&strip, state, width));
    } else {
        lines.extend(panes::picks(&strip, state, width));
    }
    if !state.exam.is_cloze || state.counts.sum.tally.invalid > 0 {
        lines.push(Line::default());
        lines.push(strip.clone().put("why invalid", Role::Title).line());
        lines.extend(panes::causes(&strip, state, width, 4));
    }
    lines
}

/// How completions ended.
fn endings(strip: Strip<'_>, state: &ExamState, width: usize) -> Line<'static> {
    let mut strip = strip.put("ended ", Role::Dim);
    for (finish, count) in state.finishes.iter().filter(|(_, count)| *count > 0) {
        let text = format!("{} {}  ", finish.name(), thousands(*count));
        if strip.width() + text.width() <= width + 2 {
            strip = strip.text(text);
        }
    }
    strip.line()
}

/// Middle and 95th percentile of the latest completions' lengths.
fn lengths(strip: Strip<'_>, state: &ExamState, width: usize) -> Line<'static> {
    let mut chars: Vec<usize> = state.pace.recent().map(|step| step.chars).collect();
    chars.sort_unstable();
    let strip = strip.put("chars ", Role::Dim);
    if chars.is_empty() {
        return strip.line();
    }
    let at = |share: f64| thousands(chars[((chars.len() - 1) as f64 * share).round() as usize]);
    strip
        .foreign(&format!("p50 {}   p95 {}", at(0.5), at(0.95)), width, Role::Plain)
        .line()
}

/// 80 columns or few lines: bar, a line of figures, categories, one line of attempts or picks, answers.
fn narrow(buffer: &mut Buffer, area: Rect, live: &Live, exam: usize, theme: &Theme) {
    let state = &live.exams[exam];
    let width = usize::from(area.width.saturating_sub(2));
    let left = format!(" {:<room$}", panes::time_left(live, exam), room = panes::TIME_LEFT);
    let strip = Strip::new(theme);
    let bar = panes::progress(strip.clone().text(left).text(" "), state, width + 1);
    buffer.set_line(area.x, area.y, &bar, area.width);
    let figures = if state.attempts.are_several() {
        panes::attempts_in_short(strip.clone().text(" "), state, width)
    } else {
        panes::picks_in_short(strip.text(" "), state, width)
    };
    buffer.set_line(area.x, area.y + 1, &figures, area.width);
    let rest = usize::from(area.height) - 2;
    let groups = state.categories.len()
        + if state.subjects.is_empty() {
            0
        } else {
            state.subjects.len() + 1
        };
    let feed = (rest / 5).max(4);
    let upper = (groups + 2).min(rest - feed);
    let upper_area = Rect {
        y: area.y + 2,
        height: upper as u16,
        ..area
    };
    let feed_area = Rect {
        y: area.y + 2 + upper as u16,
        height: (rest - upper) as u16,
        ..area
    };
    let (readability, _) = panes::readability(state, true);
    let title = format!("{} · {readability}", panes::accuracy(live, state));
    boxed(
        buffer,
        upper_area,
        &title,
        panes::interval_name(state),
        theme,
        |width, height| groups_and_subjects(live, state, width, height, theme),
    );
    let remark = [
        panes::question_rate(live, state).trim_start().to_owned(),
        panes::errors(state).0,
        feed_remark(state),
    ];
    let remark: Vec<String> = remark.into_iter().filter(|text| !text.is_empty()).collect();
    boxed(
        buffer,
        feed_area,
        "Latest",
        &remark.join(" · "),
        theme,
        |width, height| latest(&Strip::new(theme), live, exam, width, height),
    );
}
