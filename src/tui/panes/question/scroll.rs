//! What of the texts is in sight: laying out, scrolling, going to the match or a found place.

use ratatui::layout::Rect;

use crate::record::Record;
use crate::tui::passage::{Laid, Passage};
use crate::tui::reading::Reading;
use crate::tui::theme::{Role, Theme};
use crate::tui::workspace::Workspace;

use super::super::output::{self, Find, Output};
use super::Question;

impl Question {
    /// Lays out the text in focus: lines, height in sight, and the line it begins at by itself.
    pub(super) fn in_focus(
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

    pub(super) fn lay(
        &self,
        record: &Record,
        workspace: &Workspace,
        place: Rect,
        find: Option<&Find>,
        theme: &Theme,
    ) -> Output {
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

    /// The first line in sight of the text in focus; `None`: where it begins by itself.
    pub fn scroll(&self) -> Option<usize> {
        match self.prompt {
            Some(scroll) => scroll,
            None => self.scrolls.get(self.attempt).copied().flatten(),
        }
    }

    /// Shows the text in focus from a line on.
    pub fn scroll_to(&mut self, line: usize) {
        self.set_scroll(line);
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
}

pub(super) fn dimmed(mut line: Laid) -> Laid {
    for (_, role) in &mut line.spans {
        *role = Role::Dim;
    }
    line
}

/// The room of the prompt's end beside or below the letters of a cloze answer.
pub(super) fn prompt_area(area: Rect, record: &Record, whole: bool) -> Rect {
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

pub(super) fn prompt_lines(record: &Record, width: usize, find: Option<&Find>, theme: &Theme) -> Vec<Laid> {
    let found = find.map(|find| find.places(&record.prompt)).unwrap_or_default();
    Passage::with_found(&record.prompt, &found).lay(width, theme.ascii)
}

pub(super) fn rule_text(workspace: &Workspace) -> String {
    match workspace.rule.name() {
        "lm_eval_mmlu_pro" => r"answer is \(?([A-J])\)?".to_owned(),
        name => name.to_owned(),
    }
}
