//! Pane 5: the row under the cursor, read without opening it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::record::{Record, letter};
use crate::text::safe::one_line;
use crate::text::thousands;
use crate::tui::passage::{Laid, Passage};
use crate::tui::reading::Reading;
use crate::tui::snapshot::Snapshot;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{frame, laid, line};
use crate::tui::workspace::Workspace;

use super::output::{self, Find, option_mark};

#[derive(Debug, Default)]
pub struct Preview {
    pub scroll: usize,
    /// The row that the scroll belongs to.
    pub row: Option<u32>,
    pub folds: bool,
}

/// From this height on options are shown, one a line.
const TALL: u16 = 14;

impl Preview {
    pub fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        workspace: &Workspace,
        focused: bool,
        find: Option<&Find>,
        theme: &Theme,
    ) {
        let shown = workspace.row().and_then(|row| Some((row, workspace.record(row)?)));
        let (Some((row, Ok(record))), Some(snapshot)) = (shown, workspace.snapshot.as_deref()) else {
            let inner = frame(buffer, area, "5 Preview", "", focused, theme);
            if let Some((_, Err(error))) = shown {
                line(
                    buffer,
                    inner,
                    0,
                    vec![Span::styled(
                        one_line(error, 400, theme.ascii),
                        theme.style(Role::Warning),
                    )],
                );
            }
            return;
        };
        let reading = Reading::of(record, &workspace.rule);
        if workspace.hides(row) {
            self.draw_blind(buffer, area, record, focused, theme);
            return;
        }
        let title = if area.height < TALL {
            let remark = reading.remark();
            let remark = if remark.is_empty() {
                String::new()
            } else {
                format!(" · {remark}")
            };
            format!(
                "5 Preview · Q{} at {} · {}{remark}",
                record.question_id,
                record.attempt,
                verdict(record, theme)
            )
        } else {
            "5 Preview".to_owned()
        };
        let title = one_line(&title, usize::from(area.width).saturating_sub(6), theme.ascii);
        let inner = frame(
            buffer,
            area,
            &title,
            &theme.key_name("Space page · ⏎ open"),
            focused,
            theme,
        );
        let inner = Rect {
            x: inner.x + 1,
            width: inner.width.saturating_sub(2),
            ..inner
        };
        let lines = self.lines(snapshot, row, record, &reading, inner, find, theme);
        let last = lines.len().saturating_sub(usize::from(inner.height));
        laid(buffer, inner, &lines, self.scroll.min(last), theme);
    }

    /// The question and its options, and nothing that tells the key or a pick.
    fn draw_blind(&self, buffer: &mut Buffer, area: Rect, record: &Record, focused: bool, theme: &Theme) {
        let title = format!("5 Preview · Q{} · blind", record.question_id);
        let inner = frame(buffer, area, &title, "A-J answers · n next · b ends", focused, theme);
        let width = usize::from(inner.width.saturating_sub(2));
        let mut lines = Passage::plain(record.question.trim()).lay(width, theme.ascii);
        lines.push(Laid::default());
        for (at, option) in record.options.iter().enumerate() {
            let name = letter(at).map(|letter| letter.to_string()).unwrap_or_default();
            let text = format!("  {name} {option}");
            lines.extend(Passage::plain(&text).lay(width, theme.ascii));
        }
        let inner = Rect {
            x: inner.x + 1,
            width: inner.width.saturating_sub(2),
            ..inner
        };
        let last = lines.len().saturating_sub(usize::from(inner.height));
        laid(buffer, inner, &lines, self.scroll.min(last), theme);
    }

    /// Lines there are, and lines in sight.
    pub fn extent(&self, area: Rect, workspace: &Workspace, theme: &Theme) -> (usize, usize) {
        let height = usize::from(area.height.saturating_sub(2));
        let Some(row) = workspace.row() else { return (0, height) };
        let (Some(Ok(record)), Some(snapshot)) = (workspace.record(row), workspace.snapshot.as_deref()) else {
            return (0, height);
        };
        let reading = Reading::of(record, &workspace.rule);
        let inner = Rect {
            width: area.width.saturating_sub(4),
            height: height as u16,
            ..area
        };
        (
            self.lines(snapshot, row, record, &reading, inner, None, theme).len(),
            height,
        )
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one private function that only joins what the pane shows"
    )]
    fn lines(
        &self,
        snapshot: &Snapshot,
        row: u32,
        record: &Record,
        reading: &Reading,
        inner: Rect,
        find: Option<&Find>,
        theme: &Theme,
    ) -> Vec<Laid> {
        let width = usize::from(inner.width);
        let is_tall = inner.height + 2 >= TALL;
        let mut lines = Vec::new();
        if is_tall {
            lines.push(heading(snapshot, row, record, theme));
            lines.push(Laid::default());
        }
        let question = Passage::plain(record.question.trim()).lay(width, theme.ascii);
        let most = if is_tall {
            (usize::from(inner.height) / 3).max(3)
        } else {
            2
        };
        let is_cut = question.len() > most;
        lines.extend(question.into_iter().take(most));
        if is_cut && let Some(last) = lines.last_mut() {
            last.spans
                .push((if theme.ascii { "..." } else { "…" }.to_owned(), Role::Dim));
        }
        if is_tall {
            lines.push(Laid::default());
            lines.extend(options(record, width, theme));
        } else if let Some(last) = lines.last_mut() {
            last.spans.push((
                format!("   key {}", one_line(&record.answer, 12, theme.ascii)),
                Role::Strong,
            ));
        }
        lines.push(Laid::default());
        if record.logprobs.is_some() {
            lines.extend(
                output::scores(record, 24, theme)
                    .into_iter()
                    .map(|spans| plain_line(&spans)),
            );
            return lines;
        }
        if is_tall {
            let remark = reading.remark();
            let remark = if remark.is_empty() {
                String::new()
            } else {
                format!(" · {remark}")
            };
            lines.push(one(
                format!(
                    "── output · {} chars{remark} ",
                    thousands(record.reasoning_chars.max(0) as usize)
                ),
                Role::Dim,
            ));
        }
        let rest = usize::from(inner.height).saturating_sub(lines.len()).max(1);
        let output = output::lay(record, reading, (width, rest), !self.folds, find, theme);
        let from = if is_tall || output.from == 0 { 0 } else { output.from };
        lines.extend(output.lines.into_iter().skip(from));
        lines
    }
}

fn plain_line(spans: &[Span]) -> Laid {
    Laid {
        spans: spans
            .iter()
            .map(|span| (span.content.to_string(), Role::Plain))
            .collect(),
        start: 0,
    }
}

fn one(text: String, role: Role) -> Laid {
    Laid {
        spans: vec![(text, role)],
        start: 0,
    }
}

fn verdict(record: &Record, theme: &Theme) -> String {
    output::verdict(record, theme.ascii).0
}

fn heading(snapshot: &Snapshot, row: u32, record: &Record, theme: &Theme) -> Laid {
    let attempts = snapshot.attempts(row).len();
    let (verdict, role) = output::verdict(record, theme.ascii);
    let group = if record.subject.is_empty() {
        &record.category
    } else {
        &record.subject
    };
    let mut spans = vec![
        (format!("Q{}", record.question_id), Role::Strong),
        (
            format!(" {}", one_line(&group.replace('_', " "), 30, theme.ascii)),
            Role::Plain,
        ),
    ];
    if attempts > 1 {
        spans.push((
            format!(" · attempt {} of 0-{}", record.attempt, attempts - 1),
            Role::Plain,
        ));
    }
    spans.push((" · pick ".to_owned(), Role::Plain));
    spans.push((verdict, role));
    spans.push((
        format!(" · key {}", one_line(&record.answer, 20, theme.ascii)),
        Role::Plain,
    ));
    Laid { spans, start: 0 }
}

fn options(record: &Record, width: usize, theme: &Theme) -> Vec<Laid> {
    record
        .options
        .iter()
        .enumerate()
        .map(|(at, option)| {
            let name = letter(at).map(|letter| letter.to_string()).unwrap_or_default();
            let (mark, role) = option_mark(record, &name);
            let remark = match (record.answer == name, record.pick == name) {
                (true, true) => "  <- key, picked",
                (true, false) => "  <- key",
                (false, true) => "  <- picked",
                (false, false) => "",
            };
            let room = width.saturating_sub(4 + remark.len());
            Laid {
                spans: vec![
                    (format!("{mark} {name} "), role),
                    (one_line(option, room, theme.ascii), Role::Plain),
                    (remark.to_owned(), if remark.is_empty() { Role::Plain } else { role }),
                ],
                start: 0,
            }
        })
        .collect()
}
