//! One exam at work, full screen.

use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::text::{duration, safe, thousands};
use crate::tui::canvas::Canvas;
use crate::tui::strip::Strip;
use crate::tui::theme::{Role, Theme};

use super::answers::latest;
use super::exam::ExamState;
use super::panes::{self, Size};
use super::side::{feed_remark, header, in_lines, is_tiny, notes, waiting};
use crate::run::pace::RECENT;
use crate::text::figures::{percent, sparkline};

use super::Live;

/// From this size on there are boxes beside each other.
const ROOMY: (u16, u16) = (100, 29);

/// Draws one exam.
pub fn render_full(canvas: &mut Canvas, live: &Live, exam: usize) {
    let Some(state) = live.exams.get(exam) else {
        return waiting(canvas, live);
    };
    if is_tiny(canvas.area()) {
        return in_lines(canvas, live);
    }
    let mut body = header(canvas, live, &state.exam.benchmark);
    render_body(&mut body, live, exam);
}

/// Draws one exam below the first lines.
pub fn render_body(canvas: &mut Canvas, live: &Live, exam: usize) {
    if canvas.area().width >= ROOMY.0 && canvas.area().height >= ROOMY.1 {
        roomy(canvas, live, exam);
    } else {
        narrow(canvas, live, exam);
    }
}

fn roomy(canvas: &mut Canvas, live: &Live, exam: usize) {
    let state = &live.exams[exam];
    let side_lines = side_lines(live, exam, SIDE - 3, canvas.theme);
    let rest = canvas.height().saturating_sub(RUN);
    // The feed keeps a third; what the panes above do not need comes to it.
    let middle = (group_lines(state).max(side_lines.len()) + 1).min(rest - rest / 3);
    let [run, middle, feed] = Layout::vertical([
        Constraint::Length(RUN as u16),
        Constraint::Length(middle as u16),
        Constraint::Min(0),
    ])
    .areas(canvas.area());
    let [left, right] = Layout::horizontal([Constraint::Min(0), Constraint::Length(SIDE as u16)]).areas(middle);
    let title = run_title(live, exam, canvas.width());
    boxed(&mut canvas.at(run), (&title, ""), |strip, (width, _)| {
        vec![
            panes::progress(strip.clone(), state, width),
            pace(strip.clone(), live, exam, width),
            score(strip.clone(), live, state, width),
        ]
    });
    let title = format!("Accuracy by category · {}", panes::interval_name(state));
    let remark = format!("right/done/all · {}", live.order.label());
    boxed(&mut canvas.at(left), (&title, &remark), |strip, size| {
        groups_and_subjects(strip, live, state, size)
    });
    boxed(&mut canvas.at(right), (side_title(state), ""), |_, _| side_lines);
    let remark = feed_remark(state);
    boxed(&mut canvas.at(feed), ("Latest", &remark), |strip, size| {
        latest(strip, live, exam, size)
    });
}

/// Lines of the box that tells how the run goes.
const RUN: usize = 4;

/// Columns of the box on the right.
const SIDE: usize = 40;

/// Lines that categories and subjects would like.
fn group_lines(state: &ExamState) -> usize {
    match state.subjects.len() {
        0 => state.categories.len(),
        subjects => state.categories.len() + subjects + 1,
    }
}

/// A frame with a title and a remark, filled with as many lines as there is room for.
fn boxed(
    canvas: &mut Canvas,
    (title, remark): (&str, &str),
    lines: impl FnOnce(&Strip<'_>, Size) -> Vec<Line<'static>>,
) {
    let mut inner = canvas.frame(title, remark).padded();
    let lines = lines(&inner.strip(), (inner.width(), inner.height()));
    inner.lines(lines);
}

fn pace(strip: Strip<'_>, live: &Live, exam: usize, width: usize) -> Line<'static> {
    let state = &live.exams[exam];
    let elapsed = format!("{:<17}", format!("elapsed {}", duration(live.elapsed())));
    let left = format!("{:<room$}", panes::time_left(live, exam), room = panes::TIME_LEFT + 2);
    let parts = [
        (elapsed, Role::Plain),
        (left, Role::Plain),
        (panes::row_rate(live, state), Role::Plain),
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
        (panes::early(state), Role::Dim),
    ];
    strip.parts(width, &parts).line()
}

/// Categories, and below them subjects as far as there is room.
fn groups_and_subjects(strip: &Strip, live: &Live, state: &ExamState, (width, height): Size) -> Vec<Line<'static>> {
    let mut lines = panes::groups(strip, &state.categories, live.order, (width, height));
    let room = height.saturating_sub(lines.len() + 1);
    if !state.subjects.is_empty() && room > 0 {
        let (count, title) = (state.subjects.len(), strip.clone().put("subjects", Role::Title));
        let in_sight = count.min(room * panes::across(count, (width, room)));
        let out = panes::left_out(count, in_sight);
        lines.push(title.right(width, out, Role::Dim).line());
        if in_sight > room {
            lines.extend(panes::groups_in_columns(
                strip,
                &state.subjects,
                live.order,
                (width, room),
            ));
        } else {
            lines.extend(panes::groups(strip, &state.subjects, live.order, (width, room)));
        }
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
        strip.put(sparkline(values, width - 7), Role::Bar).line()
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
        lines.extend(panes::causes(&strip, state, (width, 4)));
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
fn narrow(canvas: &mut Canvas, live: &Live, exam: usize) {
    let state = &live.exams[exam];
    let width = canvas.width().saturating_sub(2);
    let left = format!(" {:<room$} ", panes::time_left(live, exam), room = panes::TIME_LEFT);
    let figures = if state.attempts.are_several() {
        panes::attempts_in_short(canvas.strip().text(" "), state, width)
    } else {
        panes::picks_in_short(canvas.strip().text(" "), state, width)
    };
    canvas.lines([panes::progress(canvas.strip().text(left), state, width + 1), figures]);
    let rest = canvas.height().saturating_sub(2);
    let feed = (rest / 5).max(4);
    let upper = (group_lines(state) + 1).min(rest.saturating_sub(feed));
    let [_, upper, feed] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(upper as u16),
        Constraint::Min(0),
    ])
    .areas(canvas.area());
    let (readability, _) = panes::readability(state, true);
    let title = format!("{} · {readability}", panes::accuracy(live, state));
    let kind = panes::interval_name(state);
    boxed(&mut canvas.at(upper), (&title, kind), |strip, size| {
        groups_and_subjects(strip, live, state, size)
    });
    let remark = [
        panes::row_rate(live, state).trim_start().to_owned(),
        panes::errors(state).0,
        feed_remark(state),
    ];
    let remark: Vec<String> = remark.into_iter().filter(|text| !text.is_empty()).collect();
    boxed(&mut canvas.at(feed), ("Latest", &remark.join(" · ")), |strip, size| {
        latest(strip, live, exam, size)
    });
}
