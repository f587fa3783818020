//! What the panes of one exam hold, as lines of a given width.

use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::record::letter;
use crate::stats::{self, Interval, Sum, Votes};
use crate::text::{count, duration, thousands};
use crate::tui::strip::Strip;
use crate::tui::theme::Role;

use super::exam::{ExamState, Group};
use super::{Live, Order};
use crate::text::figures::{brackets, coarse, percent, points, range, rate, span};

/// Name of the interval that accuracies have.
pub fn interval_name(state: &ExamState) -> &'static str {
    if state.attempts.are_several() {
        "clustered by question 95%"
    } else {
        "Wilson 95%"
    }
}

/// How much is done: bar, share, rows.
pub fn progress(strip: Strip<'_>, state: &ExamState, width: usize) -> Line<'static> {
    let (done, planned) = (state.done(), state.planned());
    let planned_text = thousands(planned);
    let share = done as f64 / planned.max(1) as f64;
    let rows = format!(
        "{:>6}  {:>room$} / {planned_text}",
        percent(Some(share)),
        thousands(done),
        room = planned_text.len()
    );
    let bar = width.saturating_sub(strip.width() + rows.width() + 1);
    strip.progress_bar(done, planned, bar).text(" ").strong(rows).line()
}

/// Time left as a guess and its range; what stands in its way otherwise.
pub fn time_left(live: &Live, exam: usize) -> String {
    let state = &live.exams[exam];
    if let Some(completed) = state.completed {
        return format!("complete in {}", duration(completed.saturating_sub(live.began)));
    }
    if live.is_over() {
        return "stopped".to_owned();
    }
    if state.is_paused() {
        return "paused".to_owned();
    }
    match live.left(exam) {
        None => "left …".to_owned(),
        Some(left) => {
            let (low, middle, high) = (coarse(left.low), coarse(left.seconds), coarse(left.high));
            if low == high {
                return format!("left {}", duration(middle));
            }
            format!("left {} ({})", duration(middle), range(low, high))
        }
    }
}

/// Columns of [`time_left`], so that what follows it stays where it is.
pub const TIME_LEFT: usize = 28;

/// Rows a second, padded.
pub fn row_rate(live: &Live, state: &ExamState) -> String {
    let value = if live.is_over() || !state.is_at_work() {
        let seconds = state.working_time(live.now).as_secs_f64();
        let answered = state.done().saturating_sub(state.exam.resumed) as f64;
        (seconds >= 1.0).then(|| answered / seconds)
    } else {
        state.row_rate(live.now)
    };
    format!("{:>5} rows/s", value.map_or_else(|| "…".to_owned(), rate))
}

/// Tokens a second of this exam alone, in or out; empty where the engine does not tell.
pub fn token_rate(live: &Live, state: &ExamState) -> String {
    let which = if state.exam.is_cloze { "in" } else { "out" };
    let value = state.token_rate(live.now, live.is_over());
    value.map_or_else(String::new, |value| format!("{} tok/s {which}", rate(value)))
}

pub fn errors(state: &ExamState) -> (String, Role) {
    match count(state.errors, "error") {
        text if state.errors == 0 => (text, Role::Dim),
        text => (format!("! {text}"), Role::Warning),
    }
}

/// Accuracy with its interval, or the mean of the categories.
pub fn accuracy(live: &Live, state: &ExamState) -> String {
    if let Some(failed) = state.failing.told() {
        return format!("! {failed}");
    }
    if live.is_by_category {
        let ((mean, of), all) = (state.accuracy_by_category(), state.categories.len());
        return format!("accuracy {}, mean of {} categories", percent(mean), some_of(of, all));
    }
    let sum = &state.counts.sum;
    format!("accuracy {} {}", percent(sum.accuracy()), brackets(limits(sum)))
}

/// What an accuracy is not yet, while few of the sampled answers have landed.
pub fn early(state: &ExamState) -> String {
    let is_early = state.done() > 0 && state.done() * 2 < state.planned();
    match is_early && !state.exam.is_cloze && state.completed.is_none() {
        true => "early: short answers land first".to_owned(),
        false => String::new(),
    }
}

/// Share of invalid answers; for cloze, how much of all probability fell on the letters, in few words where it `is_short`.
pub fn readability(state: &ExamState, is_short: bool) -> (String, Role) {
    let tally = state.counts.sum.tally;
    let invalid = format!("[invalid] {}", percent(tally.invalid_rate()));
    match state.mean_letter_mass() {
        Some(mass) if tally.invalid == 0 => {
            let of = if is_short { "" } else { "probability " };
            (format!("{of}on the letters {mass:.2}"), Role::Plain)
        }
        _ if tally.invalid == 0 => (invalid, Role::Plain),
        _ => (invalid, Role::Invalid),
    }
}

/// `14`, or `3 of 14`.
fn some_of(some: usize, all: usize) -> String {
    if some == all {
        all.to_string()
    } else {
        format!("{some} of {all}")
    }
}

fn limits(sum: &Sum) -> Option<(f64, f64)> {
    sum.interval().map(Interval::limits)
}

/// Categories or subjects in the order chosen.
pub fn sorted(groups: &[Group], order: Order) -> Vec<&Group> {
    let mut sorted: Vec<&Group> = groups.iter().collect();
    let accuracy = |group: &Group| group.counts.sum.accuracy();
    match order {
        Order::Exam => {}
        // Those without answers come last either way.
        Order::Best => sorted.sort_by(|a, b| {
            accuracy(b)
                .unwrap_or(-1.0)
                .total_cmp(&accuracy(a).unwrap_or(-1.0))
                .then_with(|| a.name.cmp(&b.name))
        }),
        Order::Worst => sorted.sort_by(|a, b| {
            accuracy(a)
                .unwrap_or(2.0)
                .total_cmp(&accuracy(b).unwrap_or(2.0))
                .then_with(|| a.name.cmp(&b.name))
        }),
    }
    sorted
}

/// The stretch of a long list that is worth showing: around the first one that is not done; else its beginning.
fn stretch(groups: &[&Group], height: usize, order: Order) -> usize {
    let is_done = |group: &&Group| group.planned > 0 && group.counts.sum.rows() >= group.planned;
    let current = groups.iter().position(|group| !is_done(group)).unwrap_or(0);
    if order == Order::Exam {
        (current + 2)
            .saturating_sub(height)
            .min(groups.len().saturating_sub(height))
    } else {
        0
    }
}

/// Columns of a table of groups.
#[derive(Debug, Clone, Copy)]
struct Columns {
    name: usize,
    bar: usize,
    /// Digits of the largest count.
    count: usize,
}

fn columns(groups: &[&Group], width: usize) -> Columns {
    let count = groups
        .iter()
        .map(|group| group.planned.max(group.counts.sum.rows()))
        .max()
        .unwrap_or(0)
        .to_string()
        .len();
    let longest = groups.iter().map(|group| group.name.width()).max().unwrap_or(0);
    // Accuracy and interval take 5 and 9, each with a blank; counts stand thrice, with a blank and two slashes.
    let fixed = 16 + 3 * count + 3;
    let room = width.saturating_sub(fixed + 2);
    let name = longest.clamp(4, (room * 3 / 5).max(4)).min(room);
    Columns {
        name,
        bar: room.saturating_sub(name),
        count,
    }
}

/// The lines and columns that a part of the screen has.
pub type Size = (usize, usize);

/// A line each: name, bar with its interval, accuracy, interval, right/done/planned.
pub fn groups(strip: &Strip, groups: &[Group], order: Order, (width, height): Size) -> Vec<Line<'static>> {
    let sorted = sorted(groups, order);
    let columns = columns(&sorted, width);
    let from = stretch(&sorted, height, order);
    sorted
        .iter()
        .skip(from)
        .take(height)
        .map(|group| group_line(strip.clone(), group, columns).line())
        .collect()
}

fn group_line<'a>(strip: Strip<'a>, group: &Group, columns: Columns) -> Strip<'a> {
    let (sum, count) = (&group.counts.sum, columns.count);
    accuracy_bar(
        strip.field(&group.name, columns.name, started(group)),
        group,
        columns.bar,
    )
    .put(format!(" {}", span(limits(sum))), Role::Dim)
    .put(
        format!(" {:>count$}/{:>count$}", sum.tally.correct, sum.rows()),
        started(group),
    )
    .put(format!("/{:>count$}", group.planned), Role::Dim)
}

/// How many groups a list leaves out of sight, as a remark.
pub fn left_out(all: usize, shown: usize) -> String {
    if all > shown {
        format!("{shown} of {all}")
    } else {
        String::new()
    }
}

/// Columns in which so many groups stand.
pub fn across(groups: usize, (width, height): Size) -> usize {
    let at_least = if groups > 2 { 2 } else { 1 };
    groups
        .div_ceil(height.max(1))
        .clamp(at_least, (width / 22).max(at_least))
}

/// The same in several columns where lines are few: name, bar, accuracy, and the interval where there is room.
pub fn groups_in_columns(strip: &Strip, groups: &[Group], order: Order, (width, height): Size) -> Vec<Line<'static>> {
    let sorted = sorted(groups, order);
    if height == 0 || sorted.is_empty() {
        return Vec::new();
    }
    let across = across(sorted.len(), (width, height));
    let cell = (width + 2) / across - 2;
    let interval = if cell >= 34 { 10 } else { 0 };
    let longest = sorted.iter().map(|group| group.name.width()).max().unwrap_or(0);
    let room = cell.saturating_sub(7 + interval);
    let name = longest.min(room * 2 / 3).max(4);
    let bar = room.saturating_sub(name);
    let rows = sorted.len().div_ceil(across).min(height);
    let from = stretch(&sorted, rows * across, order);
    let line = |row: usize| {
        let mut strip = strip.clone();
        for (column, group) in sorted.iter().skip(from + row).step_by(rows).take(across).enumerate() {
            strip = strip.to(column * (cell + 2)).field(&group.name, name, started(group));
            strip = accuracy_bar(strip, group, bar);
            if interval > 0 {
                strip = strip.put(format!(" {}", span(limits(&group.counts.sum))), Role::Dim);
            }
        }
        strip.line()
    };
    (0..rows).map(line).collect()
}

fn started(group: &Group) -> Role {
    if group.counts.sum.rows() == 0 {
        Role::Dim
    } else {
        Role::Plain
    }
}

/// Bar and accuracy, each after a blank.
fn accuracy_bar<'a>(strip: Strip<'a>, group: &Group, width: usize) -> Strip<'a> {
    let (accuracy, interval) = (group.counts.sum.accuracy(), limits(&group.counts.sum));
    let role = if accuracy.is_some() { Role::Strong } else { Role::Dim };
    strip
        .text(" ")
        .interval_bar(accuracy.unwrap_or(0.0), interval, width)
        .text(" ")
        .put(points(accuracy), role)
}

/// Which letters were picked, and which are right, in points of a hundred.
#[derive(Debug)]
struct Letters {
    /// Name, picks and their share, share of the keys.
    rows: Vec<(char, usize, usize, usize)>,
    most: usize,
}

impl Letters {
    fn of(state: &ExamState) -> Letters {
        let stats::Letters { picks, gold, .. } = &state.letters;
        let (picked, keys): (usize, usize) = (picks.iter().sum(), gold.iter().sum());
        let share = |count: usize, all: usize| (count * 100 + all / 2).checked_div(all).unwrap_or(0);
        let row = |at: usize| {
            let name = letter(at).unwrap_or('?');
            (name, picks[at], share(picks[at], picked), share(gold[at], keys))
        };
        Letters {
            rows: (0..state.letter_columns()).map(row).collect(),
            most: picks.iter().copied().max().unwrap_or(0).max(1),
        }
    }
}

/// That a run picks one letter throughout, and what that letter scores here.
pub fn warning(state: &ExamState) -> Option<String> {
    let (index, score) = state.constant_pick()?;
    let name = letter(index).unwrap_or('?');
    let score = percent(Some(score));
    Some(format!("! always {name}: {score} is what always-{name} scores here"))
}

fn constant_pick(strip: &Strip, state: &ExamState, width: usize) -> Option<Line<'static>> {
    let text = warning(state)?;
    Some(strip.clone().foreign(&text, width, Role::Warning).line())
}

/// Letters from left to right: bars where there are few, else figures; two lines, or four where they must be broken.
pub fn picks(strip: &Strip, state: &ExamState, width: usize) -> Vec<Line<'static>> {
    let letters = Letters::of(state);
    let cell = width / letters.rows.len().max(1);
    let mut lines = if cell >= 12 {
        letter_bars(strip, &letters, cell)
    } else {
        letter_figures(strip, &letters, width)
    };
    if let Some(warning) = constant_pick(strip, state, width) {
        lines[0] = warning;
    }
    lines
}

fn letter_bars(strip: &Strip, letters: &Letters, cell: usize) -> Vec<Line<'static>> {
    let (mut bars, mut keys) = (strip.clone(), strip.clone());
    for (at, (name, count, picked, key)) in letters.rows.iter().enumerate() {
        bars = bars
            .to(at * cell)
            .strong(format!("{name} "))
            .solid_bar(*count, letters.most, cell - 9, Role::Bar);
        bars = bars.to(at * cell + cell - 6).text(format!("{picked:>3}%"));
        keys = keys
            .to(at * cell)
            .put(format!("key {name}"), Role::Dim)
            .to(at * cell + cell - 6);
        keys = keys.put(format!("{key:>3}%"), Role::Dim);
    }
    vec![bars.line(), keys.line()]
}

fn letter_figures(strip: &Strip, letters: &Letters, width: usize) -> Vec<Line<'static>> {
    const CELL: usize = 5;
    const TITLE: usize = 5;
    let fit = (width.saturating_sub(TITLE - 1) / CELL).max(1);
    // Broken into even parts: ten letters become five and five.
    let fit = letters.rows.len().div_ceil(letters.rows.len().div_ceil(fit).max(1));
    let mut lines = Vec::new();
    for part in letters.rows.chunks(fit.max(1)) {
        let mut picked = strip.clone().put(format!("{:<TITLE$}", "pick"), Role::Dim);
        let mut keys = strip.clone().put(format!("{:<TITLE$}", "key"), Role::Dim);
        for (at, (name, _, pick, key)) in part.iter().enumerate() {
            let column = TITLE + at * CELL;
            picked = picked
                .to(column)
                .put(name.to_string(), Role::Dim)
                .put(format!("{pick:>3}"), Role::Strong);
            keys = keys
                .to(column)
                .put(name.to_string(), Role::Dim)
                .text(format!("{key:>3}"));
        }
        lines.extend([picked.line(), keys.line()]);
    }
    lines
}

/// Letters from top to bottom: a bar and a share of the keys each.
pub fn picks_by_line(strip: &Strip, state: &ExamState, width: usize) -> Vec<Line<'static>> {
    let letters = Letters::of(state);
    let bar_width = width.saturating_sub(19);
    let line = |(name, count, picked, key): &(char, usize, usize, usize)| {
        let strip = strip
            .clone()
            .strong(format!("{name} "))
            .solid_bar(*count, letters.most, bar_width, Role::Bar)
            .to(2 + bar_width);
        strip
            .text(format!(" {picked:>3}%"))
            .put(format!("   key {key:>3}%"), Role::Dim)
            .line()
    };
    constant_pick(strip, state, width)
        .into_iter()
        .chain(letters.rows.iter().map(line))
        .collect()
}

/// Picks and keys on one line.
pub fn picks_in_short(strip: Strip<'_>, state: &ExamState, width: usize) -> Line<'static> {
    if let Some(warning) = constant_pick(&strip, state, width) {
        return warning;
    }
    let letters = Letters::of(state);
    let list = |of: fn(&(char, usize, usize, usize)) -> usize| {
        letters
            .rows
            .iter()
            .map(|row| format!("{}{:>3}", row.0, of(row)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let parts = [
        (format!("picks %  {}", list(|row| row.2)), Role::Plain),
        (format!("key %  {}", list(|row| row.3)), Role::Dim),
    ];
    strip.parts(width, &parts).line()
}

/// Accuracy of each seed, what they say together, whether they differ.
pub fn attempts(strip: &Strip, state: &ExamState, width: usize) -> Vec<Line<'static>> {
    let attempts = &state.attempts;
    let mut lines = Vec::new();
    let mut line = strip.clone().put(if width >= 50 { "seed" } else { "" }, Role::Dim);
    for seed in &attempts.seeds {
        let accuracy = attempts.by_seed.get(seed).accuracy();
        let seed = format!("{seed:>3} ");
        let accuracy = format!("{:<6}", points(accuracy).trim_start());
        if line.width() + seed.len() + 6 > width {
            lines.push(line.line());
            line = strip.clone();
        }
        line = line.put(seed, Role::Dim).put(accuracy, Role::Plain);
    }
    lines.push(line.line());
    let mean = match attempts.mean_of_seeds() {
        None => "mean –".to_owned(),
        Some((mean, None)) => format!("mean {:.1}", mean * 100.0),
        Some((mean, Some(deviation))) => format!("mean {:.1} ± {:.1}", mean * 100.0, deviation * 100.0),
    };
    let votes = &attempts.votes;
    let parts = [
        (format!("{mean:<16}"), Role::Plain),
        (format!("vote{}", points(votes.share(votes.vote))), Role::Plain),
        (format!("any{}", points(votes.share(votes.any))), Role::Plain),
        (ties(votes), Role::Dim),
    ];
    if width >= 50 {
        lines.push(strip.clone().parts(width, &parts).line());
    } else {
        lines.push(strip.clone().parts(width, &parts[..1]).line());
        lines.push(strip.clone().parts(width, &parts[1..]).line());
    }
    lines.push(identical(strip.clone(), state, width));
    lines
}

/// Questions without a vote because several picks were given equally often.
fn ties(votes: &Votes) -> String {
    match votes.ties {
        0 => String::new(),
        1 => "1 tie".to_owned(),
        ties => format!("{} ties", thousands(ties)),
    }
}

fn identical(strip: Strip<'_>, state: &ExamState, width: usize) -> Line<'static> {
    let attempts = &state.attempts;
    if attempts.are_suspiciously_equal() {
        let text = format!(
            "! sampling is off: same text in {} of {} pairs",
            thousands(attempts.identical),
            thousands(attempts.pairs)
        );
        return strip.foreign(&text, width, Role::Warning).line();
    }
    let whole = format!(
        "questions with all {}: {}",
        attempts.planned(),
        thousands(attempts.votes.questions)
    );
    let identical = format!("same text twice: {}", thousands(attempts.identical));
    strip
        .parts(width, &[(identical, Role::Plain), (whole, Role::Dim)])
        .line()
}

/// Attempts on one line.
pub fn attempts_in_short(strip: Strip<'_>, state: &ExamState, width: usize) -> Line<'static> {
    let attempts = &state.attempts;
    if attempts.are_suspiciously_equal() {
        return identical(strip, state, width);
    }
    let accuracy = |seed: &i64| points(attempts.by_seed.get(seed).accuracy());
    let seeds: Vec<String> = attempts.seeds.iter().map(accuracy).collect();
    let votes = &attempts.votes;
    let parts = [
        (format!("seeds{}", seeds.join(" ")), Role::Plain),
        (format!("vote{}", points(votes.share(votes.vote))), Role::Plain),
        (format!("any{}", points(votes.share(votes.any))), Role::Plain),
        (format!("same text {}", thousands(attempts.identical)), Role::Dim),
    ];
    strip.parts(width, &parts).line()
}

/// Why answers are invalid: counts, as many as fit on the lines.
pub fn causes(strip: &Strip, state: &ExamState, (width, height): Size) -> Vec<Line<'static>> {
    if state.causes.is_empty() {
        return vec![strip.clone().put("no [invalid] answer so far", Role::Dim).line()];
    }
    let mut lines = Vec::new();
    let mut line = strip.clone();
    for (cause, count) in &state.causes {
        let count = thousands(*count);
        let needed = cause.width() + 1 + count.len();
        if line.width() > 0 && line.width() + 3 + needed > width {
            lines.push(line.line());
            line = strip.clone();
        }
        let gap = if line.width() > 0 { "   " } else { "" };
        line = line.text(gap).text(format!("{cause} ")).put(count, Role::Strong);
    }
    lines.push(line.line());
    lines.truncate(height);
    lines
}
