//! The Question screen on the terminal.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::record::Record;
use crate::text::safe::one_line;
use crate::text::{count, thousands};
use crate::tui::canvas::{Canvas, text_room};
use crate::tui::live::{self, Tells};
use crate::tui::reading::Reading;
use crate::tui::snapshot::Snapshot;
use crate::tui::strip::Strip;
use crate::tui::theme::Role;
use crate::tui::widgets::{Cursor, Extent};
use crate::tui::workspace::Workspace;

use super::super::Around;
use super::super::output;
use super::super::rows::pick_outcome;
use super::scroll::{prompt_area, prompt_lines};
use super::{Places, Question};

impl Question {
    pub(super) fn draw_all(&self, canvas: &mut Canvas, around: &Around) {
        let workspace = around.workspace;
        let Some(snapshot) = workspace.snapshot.as_deref() else {
            return;
        };
        let Some(row) = self.focused(snapshot) else { return };
        let places = self.places(canvas.area(), around);
        self.draw_title(&mut canvas.head(), snapshot, row, workspace);
        let record = match workspace.record(row) {
            Some(Ok(record)) => record,
            other => {
                let mut place = canvas.at(places.question);
                let mut inner = place.frame("Question", "");
                if let Some(Err(error)) = other {
                    inner.line(0, inner.strip().foreign(error, 500, Role::Warning));
                }
                return;
            }
        };
        self.draw_question(canvas, &places, around);
        if workspace.hides(row) {
            let mut place = canvas.at(places.outputs).focus(true);
            let mut inner = place.frame("blind", "A-J answers · n next · b ends");
            let text = " What the model wrote shows when you have answered.";
            inner.line(0, inner.strip().dim(text));
            return;
        }
        let mut outputs = canvas.at(places.outputs).focus(!self.reads_question);
        if self.prompt.is_some() {
            self.draw_prompt(&mut outputs, around);
        } else if record.logprobs.is_some() {
            self.draw_cloze(&mut outputs, record, around);
        } else {
            self.draw_outputs(&mut outputs, snapshot, around);
        }
        draw_remarks(canvas, &places, (row, record), around.workspace);
    }

    fn draw_question(&self, canvas: &mut Canvas, places: &Places, around: &Around) {
        let Some(record) = self.shown_record(around.workspace) else {
            return;
        };
        let extent = self.question_extent(places, around);
        let is_hidden = self.row.is_some_and(|row| around.workspace.hides(row));
        let top = self.top().min(extent.last());
        let (title, remark) = if extent.last() == 0 {
            ("Question".to_owned(), "p full prompt".to_owned())
        } else {
            let key = one_line(&record.answer, 12, canvas.theme.ascii);
            let key = if is_hidden {
                String::new()
            } else {
                format!(" · key {key}")
            };
            let seen = format!("{}-{} of {} lines", top + 1, top + extent.height, extent.lines);
            let hand = if self.reads_question {
                "Tab back"
            } else {
                "Tab scrolls here"
            };
            (format!("Question{key}"), format!("{seen} · {hand}"))
        };
        let mut place = canvas.at(places.question).focus(self.reads_question);
        let mut inner = place.frame(&title, &remark).padded();
        let lines = self.question_lines(record, inner.width(), around);
        inner.laid(&lines, top);
    }

    fn draw_title(&self, canvas: &mut Canvas, snapshot: &Snapshot, row: u32, workspace: &Workspace) {
        let (rows, at, ascii) = (snapshot.rows(), row as usize, canvas.theme.ascii);
        let category = rows.category.get(at).replace('_', " ");
        let subject = rows.subject.get(at).replace('_', " ");
        let mut text = format!(" Q{} · {}", rows.question_id[at], one_line(&category, 24, ascii));
        if !subject.is_empty() && subject != category {
            text.push_str(&format!(" · {}", one_line(&subject, 34, ascii)));
        }
        let place = workspace.place(row).or(workspace.place(self.row.unwrap_or(row)));
        let place = place.map_or(0, |place| place + 1);
        let all = workspace.selected.rows.len();
        text.push_str(&format!(" · {}/{}", thousands(place), thousands(all)));
        let picks = (!workspace.hides(row)).then(|| self.picks(canvas, snapshot, row));
        let picks = picks.unwrap_or_else(|| canvas.strip());
        let rest = canvas.width().saturating_sub(text.width() + picks.width() + 16);
        if !workspace.view.filter.trim().is_empty() && rest >= 8 {
            text.push_str(&format!(
                " in «{}»",
                one_line(&workspace.view.filter, rest.min(40), ascii)
            ));
        }
        if workspace.notes.is_marked(row) {
            text.push_str(" · marked");
        }
        canvas.line(0, canvas.strip().put(text, Role::Title));
        canvas.right(0, picks);
    }

    /// What each attempt picked, the one in focus underlined.
    fn picks<'t>(&self, canvas: &Canvas<'_, 't>, snapshot: &Snapshot, row: u32) -> Strip<'t> {
        let rows = snapshot.rows();
        let attempts = snapshot.attempts(row);
        let mut strip = canvas.strip();
        if attempts.len() < 2 {
            let at = row as usize;
            let pick = one_line(rows.pick.get(at), 9, canvas.theme.ascii);
            return output::put_pick(strip, &pick, pick_outcome(rows, at), pick.width() + 4);
        }
        if canvas.width() >= 100 {
            strip = strip.dim("attempts  ");
        }
        let is_long = canvas.width() >= 70 && attempts.len() <= 6;
        for (place, attempt) in attempts.iter().enumerate().take(12) {
            let at = *attempt as usize;
            let pick = if rows.is_invalid(at) && !is_long {
                "!".to_owned()
            } else {
                one_line(rows.pick.get(at), 9, canvas.theme.ascii)
            };
            let role = pick_outcome(rows, at).role();
            strip = if place == self.attempt {
                strip.underlined(pick, role)
            } else {
                strip.put(pick, role)
            };
            strip = strip.text(" ");
        }
        let correct = attempts.iter().filter(|row| rows.correct[**row as usize]).count();
        strip.strong(format!("  {correct}/{} ", attempts.len()))
    }

    fn draw_outputs(&self, canvas: &mut Canvas, snapshot: &Snapshot, around: &Around) {
        let Some(row) = self.row else { return };
        let attempts = snapshot.attempts(row);
        let (area, has_keys) = (canvas.area(), canvas.focused);
        let strips = self.strips(area, attempts.len());
        if strips.height > 0 {
            self.draw_strips(&mut canvas.at(strips), &attempts, snapshot, around);
        }
        for (attempt, place) in self.columns(area, attempts.len()) {
            let Some(row) = attempts.get(attempt) else { continue };
            let focused = attempt == self.attempt && has_keys;
            let is_only = place.width == area.width;
            let Some(Ok(record)) = around.workspace.record(*row) else {
                canvas.at(place).focus(focused).frame(&attempt.to_string(), "");
                continue;
            };
            let output = self.lay(record, place, around);
            let extent = Extent {
                lines: output.lines.len(),
                height: text_room(place).1,
            };
            let own = self.scrolls.get(attempt).copied().flatten();
            let from = own.unwrap_or(output.from).min(extent.last());
            let chars = thousands(record.reasoning_chars.max(0) as usize);
            let below = match (is_only, extent.share(from)) {
                (true, share) => share,
                (false, share) if share.is_empty() => chars,
                (false, share) => format!("{chars} · {share}"),
            };
            let title = output_title(snapshot, *row, record, (is_only, around));
            let mut place = canvas.at(place).focus(focused && attempts.len() > 1);
            let mut inner = place.frame(&title, &below);
            if from > 0 {
                inner.line(0, inner.strip().put("…", Role::Key));
            }
            inner.padded().laid(&output.lines, from);
        }
    }

    /// A line for each attempt: its pick, its length, and the part of its output that tells most.
    fn draw_strips(&self, canvas: &mut Canvas, attempts: &[u32], snapshot: &Snapshot, around: &Around) {
        let mut inner = canvas.frame("Attempts", &canvas.theme.key_name("h/l"));
        let (rows, width) = (snapshot.rows(), inner.width());
        let cursor = Cursor {
            at: self.attempt,
            top: 0,
        };
        inner.focused = true;
        inner.list(attempts.len(), cursor, |place, strip| {
            let row = attempts[place] as usize;
            let strip = strip
                .put(if place == self.attempt { "▶ " } else { "  " }, Role::Focus)
                .text(format!("{:>2} ", rows.attempt[row]));
            let strip = output::put_pick(strip, rows.pick.get(row), pick_outcome(rows, row), 5);
            let Some(Ok(record)) = around.workspace.record(attempts[place]) else {
                return strip.dim("…");
            };
            let strip = strip.dim(format!("{:>7}  ", thousands(record.reasoning_chars.max(0) as usize)));
            let tells = Tells::of(record, &around.workspace.rule, false);
            live::telling(strip, &tells, (pick_outcome(rows, row), width))
        });
    }

    fn draw_prompt(&self, canvas: &mut Canvas, around: &Around) {
        let Some((output, height)) = self.in_focus(canvas.area(), around) else {
            return;
        };
        let extent = Extent {
            lines: output.lines.len(),
            height,
        };
        let from = self.scroll().unwrap_or(output.from).min(extent.last());
        let remark = match extent.share(from) {
            share if share.is_empty() => "p back".to_owned(),
            share => format!("{share} · p back"),
        };
        let mut inner = canvas.frame("Full prompt, as sent", &remark).padded();
        inner.laid(&output.lines, from);
    }

    fn draw_cloze(&self, canvas: &mut Canvas, record: &Record, around: &Around) {
        let area = canvas.area();
        let left = prompt_area(area, record, false);
        let (scores, prompt) = if left.height == area.height {
            let right = Rect {
                x: left.right(),
                width: area.width - left.width,
                ..area
            };
            (right, left)
        } else {
            let below = Rect {
                y: left.bottom(),
                height: area.height - left.height,
                ..area
            };
            (left, below)
        };
        draw_scores(&mut canvas.at(scores), record);
        let mut place = canvas.at(prompt);
        let (width, height) = text_room(place.area());
        let lines = prompt_lines(record, width, around);
        let extent = Extent {
            lines: lines.len(),
            height,
        };
        let own = self.scrolls.get(self.attempt).copied().flatten();
        let from = own.unwrap_or(extent.last()).min(extent.last());
        let mut inner = place.frame("The prompt's end", &extent.share(from)).padded();
        inner.laid(&lines, from);
    }
}

/// `attempt 2 (0-4) · B ✗ · 276 chars · cut off`; beside others `2 B ✗`.
fn output_title(snapshot: &Snapshot, row: u32, record: &Record, (is_only, around): (bool, &Around)) -> String {
    let (verdict, _) = output::verdict(record, around.theme);
    if !is_only {
        return format!("{} {verdict}", record.attempt);
    }
    let name = snapshot.attempt_label(row).unwrap_or_else(|| "output".to_owned());
    let chars = count(record.reasoning_chars.max(0) as usize, "char");
    let remark = Reading::of(record, &around.workspace.rule).remarked();
    format!("{name} · {verdict} · {chars}{remark}")
}

/// The scores of the options, and what is known beside them.
fn draw_scores(canvas: &mut Canvas, record: &Record) {
    let has_texts = output::scores_texts(record);
    let title = if has_texts { "Scored texts" } else { "Letters" };
    let mut inner = canvas.frame(title, "log-probability · share among them");
    let (width, theme) = (inner.width(), inner.theme);
    let mut lines = output::scores(record, width.saturating_sub(24).min(40), theme);
    lines.push(inner.strip());
    if let Some(mass) = record.letter_mass {
        let on = if has_texts { "their first tokens" } else { "the letters" };
        let text = format!(" share of all probability on {on}  {:.1}%", mass * 100.0);
        lines.push(inner.strip().text(text));
    }
    if let Some(token) = &record.top_token {
        let token = one_line(&format!("{token:?}"), 24, theme.ascii);
        lines.push(inner.strip().text(format!(" the token liked best  {token}")));
    }
    lines.push(inner.strip());
    lines.extend(
        output::lengths(record, width, theme.ascii)
            .into_iter()
            .map(|text| inner.strip().text(text)),
    );
    inner.lines(lines.into_iter().map(Strip::line));
}

/// The note on the row and what is known of it, each on a line of its own where there is room.
fn draw_remarks(canvas: &mut Canvas, places: &Places, (row, record): (u32, &Record), workspace: &Workspace) {
    let text = workspace.notes.text(row);
    let mut note = canvas.at(places.note);
    let strip = note.strip().dim(" note: ");
    let room = note.width().saturating_sub(8);
    let strip = if text.is_empty() {
        strip.put("# writes one", Role::Mark)
    } else {
        strip.foreign(text, room, Role::Plain)
    };
    note.line(0, strip);
    let mut remark = self::remark(record, workspace);
    if places.note.height == 0 && !text.is_empty() {
        remark = format!("note: {text} · {remark}");
    }
    let mut place = canvas.at(places.remark);
    let width = place.width();
    place.line(0, place.strip().text(" ").foreign(&remark, width, Role::Dim));
}

/// `match: first of 1 · offset 531 · doc 600c35c6 · prompt 28bab9b5`
fn remark(record: &Record, workspace: &Workspace) -> String {
    let mut parts = Vec::new();
    if record.logprobs.is_none() {
        let reading = Reading::of(record, &workspace.rule);
        parts.push(match &reading.matched {
            Some(lit) => {
                let offset = record.reasoning[..lit.whole.start].chars().count();
                format!("match: first of {} · offset {offset}", reading.matches.max(1))
            }
            None => "no match".to_owned(),
        });
        if let Some(cause) = reading.diagnosis.cause {
            let label = Some(cause.label()).filter(|label| *label != cause.name());
            let label = label.map_or_else(String::new, |label| format!(" ({label})"));
            parts.push(format!("why: {}{label}", cause.name()));
        }
    }
    if let Some(finish) = record.finish {
        parts.push(format!("ended by {}", finish.name()));
    }
    if let Some(seed) = record.seed {
        parts.push(format!("seed {seed}"));
    }
    if let Some(tokens) = record.output_tokens.filter(|_| record.logprobs.is_none()) {
        parts.push(format!("{tokens} tokens"));
    }
    if !record.flags.is_empty() {
        parts.push(record.flags.join(" "));
    }
    for (name, hash) in [("doc", &record.doc_hash), ("prompt", &record.prompt_hash)] {
        if let Some(head) = hash.get(..8) {
            parts.push(format!("{name} {head}"));
        }
    }
    parts.join(" · ")
}
