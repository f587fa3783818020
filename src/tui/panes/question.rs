//! The Question screen: the question with key and picks, and what the model wrote, attempt by attempt.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::record::{INVALID, Record, letter};
use crate::tui::passage::{Laid, Passage, grouped};
use crate::tui::reading::Reading;
use crate::tui::safe::one_line;
use crate::tui::snapshot::{Snapshot, pick_text};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{frame, laid, line, right};
use crate::tui::workspace::Workspace;

use super::output::{self, Find, Output};
use super::rows::pick_role;

/// How the outputs of several attempts stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// Side by side where there is room, else one.
    #[default]
    Fitting,
    Side,
    Stacked,
    One,
}

/// Narrowest output column.
const COLUMN: u16 = 23;

#[derive(Debug, Default)]
pub struct Question {
    /// The row that was opened; its attempts are shown.
    pub row: Option<u32>,
    /// Which attempt is in focus: its place among those of the question.
    pub attempt: usize,
    /// Scroll of each attempt; `None`: where the match shows.
    scrolls: Vec<Option<usize>>,
    pub arrangement: Arrangement,
    /// Whether loops and the text after the match are shown in full.
    pub unfolded: bool,
    /// The full prompt instead of the outputs, scrolled to a line; `None` within: its end.
    pub prompt: Option<Option<usize>>,
}

/// Where the parts of the screen stand.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    pub title: Rect,
    pub question: Rect,
    pub outputs: Rect,
    pub remark: Rect,
    pub footer: Rect,
}

impl Question {
    /// Opens a row at its attempt.
    pub fn open(&mut self, snapshot: &Snapshot, row: u32) {
        let same = self
            .row
            .is_some_and(|open| snapshot.question(open) == snapshot.question(row));
        if !same {
            self.scrolls.clear();
            self.prompt = None;
        }
        self.row = Some(row);
        self.attempt = snapshot
            .attempts(row)
            .iter()
            .position(|attempt| *attempt == row)
            .unwrap_or(0);
    }

    /// The row of the attempt in focus.
    pub fn focused(&self, snapshot: &Snapshot) -> Option<u32> {
        let row = self.row?;
        Some(snapshot.attempts(row).get(self.attempt).copied().unwrap_or(row))
    }

    pub fn places(&self, area: Rect, workspace: &Workspace, theme: &Theme) -> Places {
        let [title, body, remark, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(u16::from(area.height >= 20)),
            Constraint::Length(1),
        ])
        .areas(area);
        let lines = match self.shown_record(workspace) {
            Some(record) => {
                let most = usize::from(body.height) / 2;
                self.question_lines(
                    record,
                    workspace,
                    usize::from(body.width.saturating_sub(4)),
                    most,
                    theme,
                )
                .len()
            }
            None => 4,
        };
        let tall = (lines as u16 + 2).min(body.height / 2 + 2).max(4);
        let [question, outputs] = Layout::vertical([Constraint::Length(tall), Constraint::Min(3)]).areas(body);
        Places {
            title,
            question,
            outputs,
            remark,
            footer,
        }
    }

    fn shown_record<'w>(&self, workspace: &'w Workspace) -> Option<&'w Record> {
        let row = self.focused(workspace.snapshot.as_deref()?)?;
        workspace.record(row)?.as_deref().ok()
    }

    /// The attempts whose outputs are in sight: places among those of the question.
    fn window(&self, attempts: usize, width: u16, height: u16) -> (Arrangement, std::ops::Range<usize>) {
        let fit = match self.arrangement {
            Arrangement::Fitting | Arrangement::Side => usize::from(width / COLUMN),
            Arrangement::Stacked => usize::from(height / 6),
            Arrangement::One => 1,
        };
        let fits_most = attempts <= fit || fit >= 4;
        let arrangement = match self.arrangement {
            _ if attempts <= 1 => Arrangement::One,
            Arrangement::Fitting if fits_most => Arrangement::Side,
            Arrangement::Fitting => Arrangement::One,
            Arrangement::Side if fit < 2 => Arrangement::One,
            chosen => chosen,
        };
        let shown = if arrangement == Arrangement::One {
            1
        } else {
            fit.clamp(1, attempts)
        };
        let from = self
            .attempt
            .saturating_sub(shown / 2)
            .min(attempts.saturating_sub(shown));
        (arrangement, from..(from + shown).min(attempts))
    }

    /// Where the outputs in sight stand: attempt and rectangle.
    pub fn columns(&self, area: Rect, attempts: usize) -> Vec<(usize, Rect)> {
        let (arrangement, range) = self.window(attempts.max(1), area.width, area.height);
        let shares = vec![Constraint::Ratio(1, range.len().max(1) as u32); range.len().max(1)];
        let areas = match arrangement {
            Arrangement::Stacked => Layout::vertical(shares).split(area),
            _ => Layout::horizontal(shares).split(area),
        };
        range.zip(areas.iter().copied()).collect()
    }

    pub fn next_arrangement(&mut self, area: Rect, attempts: usize) {
        let (shown, _) = self.window(attempts, area.width, area.height);
        self.arrangement = match shown {
            Arrangement::Fitting | Arrangement::Side => Arrangement::Stacked,
            Arrangement::Stacked => Arrangement::One,
            Arrangement::One => Arrangement::Side,
        };
        self.scrolls.clear();
    }

    /// All attempts, or one.
    pub fn toggle_one(&mut self, area: Rect, attempts: usize) {
        let (shown, _) = self.window(attempts, area.width, area.height);
        self.arrangement = if shown == Arrangement::One {
            Arrangement::Side
        } else {
            Arrangement::One
        };
        self.scrolls.clear();
    }

    /// Lays out the text in focus: lines, height in sight, and the line it begins at by itself.
    fn in_focus(
        &self,
        area: Rect,
        workspace: &Workspace,
        find: Option<&Find>,
        theme: &Theme,
    ) -> Option<(Output, usize)> {
        let snapshot = workspace.snapshot.as_deref()?;
        let row = self.focused(snapshot)?;
        let record = workspace.record(row)?.as_deref().ok()?;
        if self.prompt.is_some() || record.logprobs.is_some() {
            let height = usize::from(area.height.saturating_sub(2));
            let width = usize::from(prompt_area(area, record, self.prompt.is_some()).width.saturating_sub(4));
            let lines = prompt_lines(record, width, find, theme);
            let from = lines.len().saturating_sub(height);
            return Some((
                Output {
                    lines,
                    from,
                    place: None,
                },
                height,
            ));
        }
        let attempts = snapshot.attempts(row).len();
        let (_, place) = self
            .columns(area, attempts)
            .into_iter()
            .find(|(attempt, _)| *attempt == self.attempt)?;
        let height = usize::from(place.height.saturating_sub(2));
        Some((self.lay(record, workspace, place, find, theme), height))
    }

    fn lay(&self, record: &Record, workspace: &Workspace, place: Rect, find: Option<&Find>, theme: &Theme) -> Output {
        let size = (
            usize::from(place.width.saturating_sub(4)),
            usize::from(place.height.saturating_sub(2)),
        );
        let reading = Reading::of(record, &workspace.rule);
        let mut output = output::lay(record, &reading, size, !self.unfolded, find, theme);
        if reading.matched.is_none() && !record.reasoning.trim().is_empty() {
            output.lines.push(Laid::default());
            let text = format!("no match of {}", rule_text(workspace));
            output
                .lines
                .extend(Passage::plain(&text).lay(size.0, theme.ascii).into_iter().map(dimmed));
        }
        output
    }

    fn scroll(&self) -> Option<usize> {
        match self.prompt {
            Some(scroll) => scroll,
            None => self.scrolls.get(self.attempt).copied().flatten(),
        }
    }

    fn set_scroll(&mut self, to: usize) {
        if let Some(scroll) = &mut self.prompt {
            *scroll = Some(to);
            return;
        }
        if self.scrolls.len() <= self.attempt {
            self.scrolls.resize(self.attempt + 1, None);
        }
        self.scrolls[self.attempt] = Some(to);
    }

    /// Scrolls the text in focus by lines, no further than its end.
    pub fn scroll_by(&mut self, by: isize, area: Rect, workspace: &Workspace, theme: &Theme) {
        let Some((output, height)) = self.in_focus(area, workspace, None, theme) else {
            return;
        };
        let last = output.lines.len().saturating_sub(height);
        let now = self.scroll().unwrap_or(output.from).min(last);
        self.set_scroll(now.saturating_add_signed(by).min(last));
    }

    /// A page on; at the end back to the beginning.
    pub fn page(&mut self, area: Rect, workspace: &Workspace, theme: &Theme) {
        let Some((output, height)) = self.in_focus(area, workspace, None, theme) else {
            return;
        };
        let last = output.lines.len().saturating_sub(height);
        let now = self.scroll().unwrap_or(output.from).min(last);
        self.set_scroll(if now >= last {
            0
        } else {
            (now + height.saturating_sub(1).max(1)).min(last)
        });
    }

    pub fn half_page(&self, area: Rect) -> isize {
        (area.height.saturating_sub(2) / 2).max(1) as isize
    }

    /// Goes to the next found place, or to the match or evidence where nothing is searched for.
    pub fn next_place(
        &mut self,
        forward: bool,
        area: Rect,
        workspace: &Workspace,
        find: Option<&Find>,
        theme: &Theme,
    ) -> bool {
        let Some((output, height)) = self.in_focus(area, workspace, find, theme) else {
            return false;
        };
        let last = output.lines.len().saturating_sub(height);
        let now = self.scroll().unwrap_or(output.from).min(last);
        let lines: Vec<usize> = match find {
            Some(_) => {
                let is_found = |line: &Laid| line.spans.iter().any(|(_, role)| *role == Role::Found);
                (0..output.lines.len())
                    .filter(|at| is_found(&output.lines[*at]))
                    .collect()
            }
            None => output.place.into_iter().collect(),
        };
        // A found line is shown a third from the top.
        let top = |line: usize| line.saturating_sub(height / 3).min(last);
        let target = if forward {
            lines
                .iter()
                .map(|line| top(*line))
                .find(|top| *top > now)
                .or(lines.first().map(|line| top(*line)))
        } else {
            lines
                .iter()
                .rev()
                .map(|line| top(*line))
                .find(|top| *top < now)
                .or(lines.last().map(|line| top(*line)))
        };
        if let Some(target) = target {
            self.set_scroll(target);
        }
        target.is_some()
    }

    pub fn draw(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, find: Option<&Find>, theme: &Theme) {
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
        let inner = frame(buffer, places.question, "Question", "p full prompt", false, theme);
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
        if self.prompt.is_some() {
            self.draw_prompt(buffer, places.outputs, workspace, find, theme);
        } else if record.logprobs.is_some() {
            self.draw_cloze(buffer, places.outputs, workspace, record, find, theme);
        } else {
            self.draw_outputs(buffer, places.outputs, workspace, snapshot, row, find, theme);
        }
        if places.remark.height > 0 {
            let text = one_line(&remark(record, workspace), usize::from(area.width), theme.ascii);
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
            grouped(place),
            grouped(workspace.selected.rows.len())
        ));
        if !workspace.view.filter.trim().is_empty() && area.width >= 100 {
            text.push_str(&format!(" in «{}»", one_line(&workspace.view.filter, 40, theme.ascii)));
        }
        if workspace.marked.contains(&row) {
            text.push_str(" · marked");
        }
        line(buffer, area, 0, vec![Span::styled(text, theme.style(Role::Title))]);
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
            let chars = grouped(record.reasoning_chars.max(0) as usize);
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
            "Letters",
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
            let text = format!(" share of all probability on the letters  {:.1}%", mass * 100.0);
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

    /// The question and its options; where they are too many lines, options take one line each, then the question is cut.
    fn question_lines(
        &self,
        record: &Record,
        workspace: &Workspace,
        width: usize,
        most: usize,
        theme: &Theme,
    ) -> Vec<Laid> {
        let question = record.question.trim();
        let text = if question.is_empty() {
            record.prompt.trim()
        } else {
            question
        };
        let mut lines = Passage::plain(text).lay(width, theme.ascii);
        let options = self.option_lines(record, workspace, width, true, theme);
        let options = if lines.len() + 1 + options.len() <= most {
            lines.push(Laid::default());
            options
        } else {
            self.option_lines(record, workspace, width, false, theme)
        };
        let options = shortened(options, most.saturating_sub(1), theme);
        let room = most.saturating_sub(options.len()).max(1);
        if lines.len() > room {
            lines.truncate(room);
            if let Some(last) = lines.last_mut() {
                last.spans
                    .push((if theme.ascii { "..." } else { "…" }.to_owned(), Role::Key));
            }
        }
        lines.extend(options);
        lines
    }

    fn option_lines(
        &self,
        record: &Record,
        workspace: &Workspace,
        width: usize,
        wraps: bool,
        theme: &Theme,
    ) -> Vec<Laid> {
        let picks = picks(self.row, workspace);
        let has_tally = picks.len() > 1;
        let side = match (has_tally, width >= 90) {
            (true, true) => 29,
            (true, false) => 18,
            (false, _) => 12,
        };
        let room = width.saturating_sub(side + 5).max(10);
        let mut lines = Vec::new();
        for (at, option) in record.options.iter().enumerate() {
            let name = letter(at).map_or_else(|| (at + 1).to_string(), |letter| letter.to_string());
            let is_key = record.answer == name;
            let by: Vec<i64> = picks
                .iter()
                .filter(|(_, pick)| *pick == name)
                .map(|(attempt, _)| *attempt)
                .collect();
            let (mark, role) = match (is_key, by.is_empty()) {
                (true, _) => ("*", Role::Correct),
                (false, false) => ("x", Role::Wrong),
                (false, true) => (" ", Role::Plain),
            };
            let texts = if wraps {
                Passage::plain(option.trim()).lay(room, theme.ascii)
            } else {
                vec![Laid {
                    spans: vec![(one_line(option, room, theme.ascii), Role::Plain)],
                    start: 0,
                }]
            };
            let tally = tally(&by, picks.len(), is_key, side);
            for (row, text) in texts.into_iter().enumerate() {
                let lead = if row == 0 {
                    format!("{mark} {name} ")
                } else {
                    "    ".to_owned()
                };
                let used = text.text().width();
                let mut spans = vec![(lead, role)];
                spans.extend(text.spans);
                if row == 0 && !tally.is_empty() {
                    spans.push((" ".repeat(room.saturating_sub(used) + 1), Role::Plain));
                    spans.push((tally.clone(), role));
                }
                lines.push(Laid { spans, start: 0 });
            }
        }
        let unread: Vec<i64> = picks
            .iter()
            .filter(|(_, pick)| pick == INVALID)
            .map(|(attempt, _)| *attempt)
            .collect();
        if has_tally && !unread.is_empty() {
            let spans = vec![
                (format!("! {INVALID}"), Role::Invalid),
                (" ".repeat(room.saturating_sub(6)), Role::Plain),
                (tally(&unread, picks.len(), false, side), Role::Invalid),
            ];
            lines.push(Laid { spans, start: 0 });
        }
        lines
    }
}

/// Option lines that fit: the key, the picked ones and the unreadable stay, others give way and are counted.
fn shortened(options: Vec<Laid>, room: usize, theme: &Theme) -> Vec<Laid> {
    if options.len() <= room {
        return options;
    }
    let is_marked = |line: &Laid| line.spans.first().is_some_and(|(_, role)| *role != Role::Plain);
    let marked = options.iter().filter(|line| is_marked(line)).count();
    let mut plain = room.saturating_sub(marked + 1);
    let all = options.len();
    let mut kept: Vec<Laid> = options
        .into_iter()
        .filter(|line| {
            is_marked(line) || {
                let fits = plain > 0;
                plain = plain.saturating_sub(1);
                fits
            }
        })
        .collect();
    let more = format!(
        "    {} {} more options (p)",
        if theme.ascii { "..." } else { "…" },
        all - kept.len()
    );
    kept.push(Laid {
        spans: vec![(more, Role::Dim)],
        start: 0,
    });
    kept
}

/// Attempt and pick of each attempt at the question.
fn picks(row: Option<u32>, workspace: &Workspace) -> Vec<(i64, String)> {
    let (Some(row), Some(snapshot)) = (row, workspace.snapshot.as_deref()) else {
        return Vec::new();
    };
    let rows = snapshot.rows();
    let attempts = snapshot.attempts(row);
    attempts
        .iter()
        .map(|row| {
            (
                i64::from(rows.attempt[*row as usize]),
                rows.pick.get(*row as usize).to_owned(),
            )
        })
        .collect()
}

/// `###  attempts 0 2 3   key`
fn tally(by: &[i64], all: usize, is_key: bool, side: usize) -> String {
    let key = if is_key { "key" } else { "" };
    if all < 2 {
        return match (is_key, by.is_empty()) {
            (true, true) => "<- key".to_owned(),
            (true, false) => "<- key, pick".to_owned(),
            (false, false) => "<- pick".to_owned(),
            (false, true) => String::new(),
        };
    }
    let bar = "#".repeat(by.len().min(6));
    let numbers = by.iter().take(6).map(ToString::to_string).collect::<Vec<_>>().join(" ");
    if side < 30 {
        return format!("{key:<3} {bar:<6}{numbers}").trim_end().to_owned();
    }
    let word = match by.len() {
        0 => "",
        1 => "attempt ",
        _ => "attempts ",
    };
    format!(
        "{bar:<6} {word}{numbers:<width$} {key}",
        width = 17usize.saturating_sub(word.len())
    )
    .trim_end()
    .to_owned()
}

fn dotted(remark: &str) -> String {
    if remark.is_empty() {
        String::new()
    } else {
        format!(" · {remark}")
    }
}

fn dimmed(mut line: Laid) -> Laid {
    for (_, role) in &mut line.spans {
        *role = Role::Dim;
    }
    line
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

/// The room of the prompt's end beside or below the letters of a cloze answer.
fn prompt_area(area: Rect, record: &Record, whole: bool) -> Rect {
    if whole {
        return area;
    }
    if area.width >= 100 {
        return Rect {
            width: area.width * 55 / 100,
            ..area
        };
    }
    let letters = record.logprobs.as_ref().map_or(4, Vec::len) as u16 + 5;
    Rect {
        height: letters.min(area.height),
        ..area
    }
}

fn prompt_lines(record: &Record, width: usize, find: Option<&Find>, theme: &Theme) -> Vec<Laid> {
    let found = find.map(|find| find.places(&record.prompt)).unwrap_or_default();
    Passage::with_found(&record.prompt, &found).lay(width, theme.ascii)
}

fn rule_text(workspace: &Workspace) -> String {
    match workspace.rule.name() {
        "lm_eval_mmlu_pro" => r"answer is \(?([A-J])\)?".to_owned(),
        name => name.to_owned(),
    }
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
