//! The Question screen on the terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::record::Record;
use crate::text::safe::one_line;
use crate::text::thousands;
use crate::tui::reading::Reading;
use crate::tui::snapshot::{Snapshot, pick_text};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Input, frame, laid, line, right};
use crate::tui::workspace::Workspace;

use super::super::output::{self, Find};
use super::super::rows::pick_role;
use super::Question;
use super::scroll::{prompt_area, prompt_lines};

impl Question {
    /// `note` is the note on the row while it is typed.
    pub fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        workspace: &Workspace,
        find: Option<&Find>,
        note: Option<&Input>,
        theme: &Theme,
    ) {
        let Some(snapshot) = workspace.snapshot.as_deref() else {
            return;
        };
        let Some(row) = self.focused(snapshot) else { return };
        let places = self.places(area, workspace, theme);
        self.draw_title(buffer, places.title, workspace, snapshot, row, theme);
        let record = match workspace.record(row) {
            Some(Ok(record)) => record,
            other => {
                let inner = frame(buffer, places.question, "Question", "", false, theme);
                if let Some(Err(error)) = other {
                    let error = one_line(error, 500, theme.ascii);
                    line(buffer, inner, 0, vec![Span::styled(error, theme.style(Role::Warning))]);
                }
                return;
            }
        };
        let remark = if self.is_cut(record, workspace, places.question, theme) {
            "cut to fit · p full prompt"
        } else {
            "p full prompt"
        };
        let inner = frame(buffer, places.question, "Question", remark, false, theme);
        let inner = Rect {
            x: inner.x + 1,
            width: inner.width.saturating_sub(2),
            ..inner
        };
        let lines = self.question_lines(
            record,
            workspace,
            usize::from(inner.width),
            usize::from(inner.height),
            theme,
        );
        laid(buffer, inner, &lines, 0, theme);
        if workspace.hides(row) {
            let inner = frame(
                buffer,
                places.outputs,
                "blind",
                "A-J answers · n next · b ends",
                true,
                theme,
            );
            let text = " What the model wrote shows when you have answered.";
            line(buffer, inner, 0, vec![Span::styled(text, theme.style(Role::Dim))]);
            return;
        }
        if self.prompt.is_some() {
            self.draw_prompt(buffer, places.outputs, workspace, find, theme);
        } else if record.logprobs.is_some() {
            self.draw_cloze(buffer, places.outputs, workspace, record, find, theme);
        } else {
            self.draw_outputs(buffer, places.outputs, workspace, snapshot, row, find, theme);
        }
        let text = workspace.notes.text(row);
        // Where the note has no line of its own, it stands before the remark, or in its place while it is typed.
        let line_of_note = if places.note.height > 0 {
            places.note
        } else {
            places.remark
        };
        if line_of_note.height > 0 && (places.note.height > 0 || note.is_some()) {
            let mut spans = vec![Span::styled(" note: ", theme.style(Role::Dim))];
            match note {
                Some(input) => spans.extend(input.spans(usize::from(area.width).saturating_sub(10), theme)),
                None if text.is_empty() => spans.push(Span::styled("# writes one", theme.style(Role::Mark))),
                None => spans.push(Span::raw(one_line(
                    text,
                    usize::from(area.width).saturating_sub(8),
                    theme.ascii,
                ))),
            }
            line(buffer, line_of_note, 0, spans);
        }
        if places.remark.height > 0 && (places.note.height > 0 || note.is_none()) {
            let mut remark = self::remark(record, workspace);
            if places.note.height == 0 && !text.is_empty() {
                remark = format!("note: {text} · {remark}");
            }
            let text = one_line(&remark, usize::from(area.width), theme.ascii);
            line(
                buffer,
                places.remark,
                0,
                vec![Span::styled(format!(" {text}"), theme.style(Role::Dim))],
            );
        }
    }

    fn draw_title(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        workspace: &Workspace,
        snapshot: &Snapshot,
        row: u32,
        theme: &Theme,
    ) {
        let rows = snapshot.rows();
        let at = row as usize;
        let category = rows.category.get(at).replace('_', " ");
        let subject = rows.subject.get(at).replace('_', " ");
        let mut text = format!(" Q{} · {}", rows.question_id[at], one_line(&category, 24, theme.ascii));
        if !subject.is_empty() && subject != category {
            text.push_str(&format!(" · {}", one_line(&subject, 34, theme.ascii)));
        }
        let place = workspace.place(self.row.unwrap_or(row)).map_or(0, |place| place + 1);
        text.push_str(&format!(
            " · {}/{}",
            thousands(place),
            thousands(workspace.selected.rows.len())
        ));
        if !workspace.view.filter.trim().is_empty() && area.width >= 100 {
            text.push_str(&format!(" in «{}»", one_line(&workspace.view.filter, 40, theme.ascii)));
        }
        if workspace.notes.is_marked(row) {
            text.push_str(" · marked");
        }
        line(buffer, area, 0, vec![Span::styled(text, theme.style(Role::Title))]);
        if workspace.hides(row) {
            return;
        }
        let attempts = snapshot.attempts(row);
        if attempts.len() < 2 {
            let spans = vec![Span::styled(
                format!("{} ", pick_text(rows, row)),
                theme.style(pick_role(rows, at)),
            )];
            right(buffer, area, 0, spans);
            return;
        }
        let mut spans = Vec::new();
        if area.width >= 100 {
            spans.push(Span::styled("attempts  ", theme.style(Role::Dim)));
        }
        for (place, attempt) in attempts.iter().enumerate().take(12) {
            let at = *attempt as usize;
            let is_long = area.width >= 70 && attempts.len() <= 6;
            let pick = if rows.is_invalid(at) && !is_long {
                "!".to_owned()
            } else {
                one_line(rows.pick.get(at), 9, theme.ascii)
            };
            let mut style = theme.style(pick_role(rows, at));
            if place == self.attempt {
                style = style.add_modifier(ratatui::style::Modifier::UNDERLINED);
            }
            spans.push(Span::styled(pick, style));
            spans.push(Span::raw(" "));
        }
        let correct = attempts.iter().filter(|row| rows.correct[**row as usize]).count();
        spans.push(Span::styled(
            format!("  {correct}/{} ", attempts.len()),
            theme.style(Role::Strong),
        ));
        right(buffer, area, 0, spans);
    }

    fn draw_outputs(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        workspace: &Workspace,
        snapshot: &Snapshot,
        row: u32,
        find: Option<&Find>,
        theme: &Theme,
    ) {
        let attempts = snapshot.attempts(row);
        for (attempt, place) in self.columns(area, attempts.len()) {
            let Some(row) = attempts.get(attempt) else { continue };
            let focused = attempt == self.attempt;
            let is_only = place.width == area.width;
            let Some(Ok(record)) = workspace.record(*row) else {
                frame(buffer, place, &attempt.to_string(), "", focused, theme);
                continue;
            };
            let (verdict, _) = output::verdict(record, theme.ascii);
            let chars = thousands(record.reasoning_chars.max(0) as usize);
            let reading = Reading::of(record, &workspace.rule);
            let remark = reading.remark();
            let title = match (is_only, attempts.len()) {
                (true, 1) => format!("output · {verdict} · {chars} chars{}", dotted(&remark)),
                (true, many) => {
                    format!(
                        "attempt {} of 0-{} · {verdict} · {chars} chars{}",
                        record.attempt,
                        many - 1,
                        dotted(&remark)
                    )
                }
                (false, _) => format!("{} {verdict}", record.attempt),
            };
            let title = one_line(&title, usize::from(place.width).saturating_sub(6), theme.ascii);
            let output = self.lay(record, workspace, place, find, theme);
            let height = usize::from(place.height.saturating_sub(2));
            let last = output.lines.len().saturating_sub(height);
            let from = self
                .scrolls
                .get(attempt)
                .copied()
                .flatten()
                .unwrap_or(output.from)
                .min(last);
            let share = position(from, height, output.lines.len());
            let below = if is_only {
                share
            } else if share.is_empty() {
                chars
            } else {
                format!("{chars} · {share}")
            };
            let inner = frame(buffer, place, &title, &below, focused && attempts.len() > 1, theme);
            let inner = Rect {
                x: inner.x + 1,
                width: inner.width.saturating_sub(2),
                ..inner
            };
            laid(buffer, inner, &output.lines, from, theme);
            if from > 0 {
                above(buffer, inner, theme);
            }
        }
    }

    fn draw_prompt(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, find: Option<&Find>, theme: &Theme) {
        let Some((output, height)) = self.in_focus(area, workspace, find, theme) else {
            return;
        };
        let last = output.lines.len().saturating_sub(height);
        let from = self.scroll().unwrap_or(output.from).min(last);
        let remark = format!("{} · p back", position(from, height, output.lines.len()));
        let inner = frame(
            buffer,
            area,
            "Full prompt, as sent",
            remark.trim_start_matches(" · "),
            true,
            theme,
        );
        let inner = Rect {
            x: inner.x + 1,
            width: inner.width.saturating_sub(2),
            ..inner
        };
        laid(buffer, inner, &output.lines, from, theme);
    }

    fn draw_cloze(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        workspace: &Workspace,
        record: &Record,
        find: Option<&Find>,
        theme: &Theme,
    ) {
        let left = prompt_area(area, record, false);
        let beside = left.height == area.height;
        let other = if beside {
            Rect {
                x: left.right(),
                width: area.width - left.width,
                ..area
            }
        } else {
            Rect {
                y: left.bottom(),
                height: area.height - left.height,
                ..area
            }
        };
        let (scores, prompt) = if beside { (other, left) } else { (left, other) };
        let inner = frame(
            buffer,
            scores,
            if output::scores_texts(record) {
                "Scored texts"
            } else {
                "Letters"
            },
            "log-probability · share among them",
            false,
            theme,
        );
        let bar = usize::from(inner.width).saturating_sub(24).min(40);
        let mut row = 0;
        for spans in output::scores(record, bar, theme) {
            line(buffer, inner, row, spans);
            row += 1;
        }
        row += 1;
        if let Some(mass) = record.letter_mass {
            let on = if output::scores_texts(record) {
                "their first tokens"
            } else {
                "the letters"
            };
            let text = format!(" share of all probability on {on}  {:.1}%", mass * 100.0);
            line(buffer, inner, row, vec![Span::raw(text)]);
            row += 1;
        }
        if let Some(token) = &record.top_token {
            let token = one_line(&format!("{token:?}"), 24, theme.ascii);
            line(
                buffer,
                inner,
                row,
                vec![Span::raw(format!(" the token liked best  {token}"))],
            );
            row += 1;
        }
        row += 1;
        for text in output::lengths(record, usize::from(inner.width), theme.ascii) {
            line(buffer, inner, row, vec![Span::raw(text)]);
            row += 1;
        }
        if let Some((output, _)) = self.in_focus(area, workspace, find, theme) {
            let height = usize::from(prompt.height.saturating_sub(2));
            let lines = prompt_lines(record, usize::from(prompt.width.saturating_sub(4)), find, theme);
            let last = lines.len().saturating_sub(height);
            let from = self
                .scrolls
                .get(self.attempt)
                .copied()
                .flatten()
                .unwrap_or(output.from)
                .min(last);
            let inner = frame(
                buffer,
                prompt,
                "The prompt's end",
                &position(from, height, lines.len()),
                false,
                theme,
            );
            let inner = Rect {
                x: inner.x + 1,
                width: inner.width.saturating_sub(2),
                ..inner
            };
            laid(buffer, inner, &lines, from, theme);
        }
    }
}

fn dotted(remark: &str) -> String {
    if remark.is_empty() {
        String::new()
    } else {
        format!(" · {remark}")
    }
}

/// How far a text is read: `all`, or the share above the lower edge.
fn position(from: usize, height: usize, lines: usize) -> String {
    if lines <= height {
        String::new()
    } else {
        format!("{}%", ((from + height).min(lines)) * 100 / lines)
    }
}

/// Says that there is text above the first line.
fn above(buffer: &mut Buffer, inner: Rect, theme: &Theme) {
    let spans = vec![Span::styled("…", theme.style(Role::Key))];
    line(
        buffer,
        Rect {
            x: inner.x.saturating_sub(1),
            width: 1,
            ..inner
        },
        0,
        spans,
    );
}

/// `match: first of 1 · offset 531 · doc 600c35c6 · prompt 28bab9b5`
fn remark(record: &Record, workspace: &Workspace) -> String {
    let mut parts = Vec::new();
    if record.logprobs.is_none() {
        let reading = Reading::of(record, &workspace.rule);
        parts.push(match &reading.matched {
            Some(range) => {
                let offset = record.reasoning[..range.start].chars().count();
                format!("match: first of {} · offset {offset}", reading.matches.max(1))
            }
            None => "no match".to_owned(),
        });
        if let Some(cause) = reading.diagnosis.cause {
            parts.push(format!("why: {} ({})", cause.name(), cause.label()));
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
