//! Lines of the feed: an answer that landed, a completion that is being written.

use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::record::{INVALID, letter, letter_index};
use crate::text::{duration, safe, thousands};
use crate::trace::Light;
use crate::tui::panes::output::put_pick;
use crate::tui::passage::Lit;
use crate::tui::strip::{Strip, ending};
use crate::tui::theme::{Outcome, Role};

use super::Live;
use super::exam::{ExamState, Landed};
use super::feed::Underway;
use super::panes::Size;
use super::tells::Tells;

/// Lines for the latest answers of an exam, newest first, and below them those being written, on `height` lines in all.
pub fn latest(strip: &Strip, live: &Live, exam: usize, (width, height): Size) -> Vec<Line<'static>> {
    let state = &live.exams[exam];
    // Room for what is being written is kept while the exam runs, so that answers do not move.
    let keeps_room = !state.exam.is_cloze && state.completed.is_none() && !live.is_over();
    let reserved = if keeps_room { running_room(height) } else { 0 };
    let sight = state.feed.sight(height - reserved);
    let mut lines: Vec<Line> = sight
        .rows
        .iter()
        .map(|row| {
            let is_current = sight.cursor == Some(*row) && state.running.chosen().is_none();
            let strip = strip.clone().strong(if is_current { "▶ " } else { "  " });
            answer(strip, live, state, &state.landed[*row], width)
        })
        .collect();
    if lines.is_empty() {
        lines.push(strip.clone().put(nothing_yet(state), Role::Dim).line());
    }
    let list = state.running.slowest_first();
    let chosen = state.running.chosen();
    let at = list.iter().position(|underway| Some(*underway) == chosen);
    let from = at.map_or(0, |at| (at + 1).saturating_sub(reserved));
    for underway in list.into_iter().skip(from).take(reserved) {
        let is_current = Some(underway) == chosen;
        let strip = strip.clone().strong(if is_current { "▶ " } else { "  " });
        lines.push(running(strip, live, state, underway, width));
    }
    lines
}

fn nothing_yet(state: &ExamState) -> &'static str {
    if state.feed.is_filtered() && state.done() > 0 {
        "  no answer passes the filter yet"
    } else {
        "  the first answers will appear here"
    }
}

/// Lines kept for completions that are being written.
fn running_room(height: usize) -> usize {
    match height {
        0 | 1 => 0,
        2..=4 => 1,
        5..=7 => 2,
        _ => 3,
    }
}

/// From this width on a line has room for the time and for words instead of marks.
const WIDE: usize = 104;

/// Digits of the largest question number seen are not known beforehand; five hold both exams.
const ID: usize = 5;

fn answer(strip: Strip<'_>, live: &Live, state: &ExamState, landed: &Landed, width: usize) -> Line<'static> {
    let row = live.landing.rows().light(landed.row as usize);
    let strip = if width >= WIDE {
        let since = landed.at.saturating_sub(live.began);
        strip.put(format!("{:>7}  ", duration(since)), Role::Dim)
    } else {
        strip
    };
    let asked = Asked {
        question_id: row.question_id,
        attempt: i64::from(row.attempt),
        seed: row.seed,
        subject: row.subject,
    };
    let strip = name(strip, state, &asked, width);
    let strip = outcome(strip, &row);
    match &landed.tells {
        Tells::Scores(scores) => log_likelihoods(strip, &row, scores, width).line(),
        tells => telling(strip, tells, (outcome_of(&row), width)).line(),
    }
}

/// Which question, which attempt, of what.
struct Asked<'a> {
    question_id: i64,
    attempt: i64,
    seed: Option<i64>,
    subject: &'a str,
}

fn name<'a>(strip: Strip<'a>, state: &ExamState, asked: &Asked, width: usize) -> Strip<'a> {
    let attempt = asked.attempt;
    let strip = strip.text(format!("Q{:>ID$} ", asked.question_id));
    let strip = match (state.attempts.are_several(), asked.seed, width >= WIDE) {
        (false, ..) => strip,
        (true, Some(seed), true) => strip.dim(format!("at {attempt} seed {seed:<3} ")),
        (true, Some(seed), false) => strip.dim(format!("s{seed:<2} ")),
        (true, None, _) => strip.dim(format!("at {attempt} ")),
    };
    let longest = if state.subjects.is_empty() { 16 } else { 36 };
    let room = if width >= WIDE {
        longest
    } else {
        longest.min(if state.subjects.is_empty() { 11 } else { 17 })
    };
    strip.field(asked.subject, room, Role::Plain).text(" ")
}

fn outcome_of(row: &Light) -> Outcome {
    Outcome::of(row.pick == INVALID, row.correct)
}

fn outcome<'a>(strip: Strip<'a>, row: &Light) -> Strip<'a> {
    let pick = safe::one_line(row.pick, 3, true);
    let key = safe::one_line(row.answer, 3, true);
    put_pick(strip, &pick, outcome_of(row), 4).dim(format!(" key {key:<1}  "))
}

/// Log-likelihoods of all options where they fit, else those of the pick and of the key (or the runner-up).
fn log_likelihoods<'a>(strip: Strip<'a>, row: &Light, logprobs: &[f32], width: usize) -> Strip<'a> {
    let shown = |index: usize| {
        let name = letter(index).unwrap_or('?');
        format!("{name} {:5.2}  ", logprobs[index])
    };
    let all: Vec<usize> = (0..logprobs.len()).collect();
    let room = width.saturating_sub(strip.width());
    let indices = if all.len() * 9 <= room + 2 {
        all
    } else {
        telling_pair(row, logprobs)
    };
    let pick = letter_index(row.pick);
    let mut strip = strip;
    for index in indices {
        let text = shown(index);
        let text = text.trim_end();
        if strip.width() + text.width() > width {
            break;
        }
        let role = if Some(index) == pick { Role::Strong } else { Role::Dim };
        strip = strip.put(text, role).text("  ");
    }
    strip
}

/// The pick, and the key or, where the pick is the key, the next best.
fn telling_pair(row: &Light, logprobs: &[f32]) -> Vec<usize> {
    let Some(pick) = letter_index(row.pick).filter(|pick| *pick < logprobs.len()) else {
        return Vec::new();
    };
    let key = letter_index(row.answer).filter(|key| *key < logprobs.len() && *key != pick);
    let others = (0..logprobs.len()).filter(|index| *index != pick);
    let next = others.max_by(|a, b| logprobs[*a].total_cmp(&logprobs[*b]));
    [Some(pick), key.or(next)].into_iter().flatten().collect()
}

/// The part of an output that tells most: its match, its folded loop, or its end.
pub fn telling<'a>(strip: Strip<'a>, tells: &Tells, (came, width): (Outcome, usize)) -> Strip<'a> {
    let theme = strip.theme;
    let room = width.saturating_sub(strip.width());
    match tells {
        Tells::Scores(_) | Tells::Nothing => strip.put(if room >= 7 { "(empty)" } else { "" }, Role::Dim),
        Tells::Match { text, at, letter } => {
            let lit = Lit {
                whole: at.clone(),
                letter: letter.clone(),
                outcome: came,
            };
            matched(strip, text, &lit, room)
        }
        Tells::Loop { text, count } => {
            let mark = theme.folded(count.saturating_sub(1));
            let shown = ending(text, room.saturating_sub(mark.width() + 1), theme.ascii);
            strip.text(shown).text(" ").put(mark, Role::Evidence)
        }
        Tells::End(text) => strip.text(ending(text, room, theme.ascii)),
    }
}

/// The match between its marks, with what stands before it as far as there is room, and a little of what follows.
fn matched<'a>(strip: Strip<'a>, text: &str, lit: &Lit, room: usize) -> Strip<'a> {
    let (range, role) = (lit.whole.clone(), Role::Match(lit.outcome));
    let theme = strip.theme;
    let (open, close) = theme.match_marks();
    let marks = open.width() + close.width();
    let matched = safe::one_line(&text[range.clone()], room.saturating_sub(marks), theme.ascii);
    let rest = room.saturating_sub(matched.width() + marks);
    let line_end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    let after = beginning(
        &text[range.end..line_end],
        if rest < 12 { rest.min(1) } else { rest / 4 },
        theme.ascii,
    );
    let before = &text[..range.start];
    let gap = usize::from(before.ends_with(char::is_whitespace)).min(rest);
    let before = ending(before, rest.saturating_sub(after.width() + gap), theme.ascii);
    let gap = if before.is_empty() { 0 } else { gap };
    let strip = strip.dim(before).text(" ".repeat(gap)).put(open, role);
    let strip = match text.get(lit.letter.clone()) {
        // A match that had to be cut is lit as one.
        Some(letter) if matched == text[range.clone()] && !letter.is_empty() => strip
            .put(&text[range.start..lit.letter.start], role)
            .put(letter, Role::Letter(lit.outcome))
            .put(&text[lit.letter.end..range.end], role),
        _ => strip.put(matched, role),
    };
    strip.put(close, role).dim(after)
}

/// As much of a text's beginning as fits, without a mark where it is cut.
fn beginning(text: &str, width: usize, ascii: bool) -> String {
    let mut room = width;
    let fits = |cluster: &safe::Cluster| match room.checked_sub(cluster.width) {
        Some(rest) if cluster.width > 0 => {
            room = rest;
            true
        }
        _ => false,
    };
    let shown: String = safe::clusters(text, ascii)
        .take_while(fits)
        .map(|cluster| cluster.shown)
        .collect();
    // A word that begins and does not end says nothing.
    let is_cut = text.len() > shown.len();
    match shown.rfind(' ').filter(|_| is_cut) {
        Some(at) => shown[..at].to_owned(),
        None => shown,
    }
}

fn running(strip: Strip<'_>, live: &Live, state: &ExamState, underway: &Underway, width: usize) -> Line<'static> {
    let attempt = i64::try_from(underway.attempt).unwrap_or(0);
    let seed = state.exam.seeds.get(underway.attempt).copied();
    let strip = if width >= WIDE {
        let at_work = live.now.saturating_sub(underway.since);
        strip.put(format!("{:>7}  ", duration(at_work)), Role::Dim)
    } else {
        strip
    };
    let asked = Asked {
        question_id: underway.question_id,
        attempt,
        seed,
        subject: &underway.subject,
    };
    let strip = name(strip, state, &asked, width);
    let tokens = if width >= WIDE {
        format!("… running {:>5} tok  ", thousands(underway.tokens))
    } else {
        format!("… {:>4} tok  ", underway.tokens)
    };
    let strip = strip.put(tokens, Role::Dim);
    let room = width.saturating_sub(strip.width());
    if !underway.is_looping {
        let ascii = strip.theme.ascii;
        return strip.put(ending(&underway.text, room, ascii), Role::Dim).line();
    }
    let warning = "looks like a loop";
    let text_room = room.saturating_sub(warning.width() + 2);
    let ascii = strip.theme.ascii;
    let strip = strip.foreign(warning, room, Role::Warning);
    if text_room > 8 {
        return strip
            .text("  ")
            .put(ending(&underway.text, text_room, ascii), Role::Dim)
            .line();
    }
    strip.line()
}
