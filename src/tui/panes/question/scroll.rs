//! What of the texts is in sight: laying out, scrolling, going to the match or a found place.

use ratatui::layout::Rect;

use crate::record::Record;
use crate::tui::canvas::text_room;
use crate::tui::passage::{Laid, Lights, Passage};
use crate::tui::reading::Reading;
use crate::tui::theme::Role;
use crate::tui::widgets::Extent;
use crate::tui::workspace::Workspace;

use super::super::Around;
use super::super::output::{self, Output};
use super::{Places, Question};

impl Question {
    /// Lays out an attempt's text, or the prompt in its place.
    fn text_of(&self, attempt: usize, area: Rect, around: &Around) -> Option<(Output, usize)> {
        let snapshot = around.workspace.snapshot.as_deref()?;
        let attempts = snapshot.attempts(self.row?);
        let row = attempts.get(attempt).copied().or(self.row)?;
        let record = around.workspace.record(row)?.as_deref().ok()?;
        if self.prompt.is_some() || record.logprobs.is_some() {
            let place = prompt_area(area, record, self.prompt.is_some());
            let (width, height) = text_room(place);
            let lines = prompt_lines(record, width, around);
            let from = lines.len().saturating_sub(height);
            let output = Output {
                lines,
                from,
                place: None,
            };
            return Some((output, height));
        }
        let columns = self.columns(area, attempts.len());
        let own = columns
            .iter()
            .find(|(shown, _)| *shown == attempt)
            .or(columns.first())?
            .1;
        Some((self.lay(record, own, around), text_room(own).1))
    }

    /// The text in focus: its lines, and how many are in sight.
    pub(super) fn in_focus(&self, area: Rect, around: &Around) -> Option<(Output, usize)> {
        self.text_of(self.attempt, area, around)
    }

    pub(super) fn lay(&self, record: &Record, place: Rect, around: &Around) -> Output {
        let size = text_room(place);
        let (workspace, theme) = (around.workspace, around.theme);
        let reading = Reading::of(record, &workspace.rule);
        let view = output::View {
            size,
            folds: !self.unfolded,
            find: around.find,
            renders: around.renders,
        };
        let mut output = output::lay(record, &reading, view, theme);
        if reading.matched.is_none() && !record.reasoning.trim().is_empty() {
            output.lines.push(Laid::default());
            let text = format!("no match of {}", rule_text(workspace));
            output
                .lines
                .extend(Passage::remarked(&text, Role::Dim).lay(size.0, theme.ascii));
        }
        output
    }

    /// Lines that the longest text in sight below the question has.
    pub(super) fn lines_below(&self, record: &Record, body: Rect, around: &Around) -> usize {
        let attempts = around.workspace.snapshot.as_deref().zip(self.row);
        let attempts = attempts.map_or(1, |(snapshot, row)| snapshot.attempts(row).len());
        if self.row.is_some_and(|row| around.workspace.hides(row)) {
            return 1;
        }
        if self.prompt.is_some() || record.logprobs.is_some() {
            return usize::from(body.height);
        }
        let strips = self.strips(body, attempts).height;
        let columns = self.columns(body, attempts);
        let lines = columns
            .iter()
            .filter_map(|(attempt, _)| self.text_of(*attempt, body, around))
            .map(|(output, _)| output.lines.len());
        lines.max().unwrap_or(1) + usize::from(strips)
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
        if let Some(scroll) = &mut self.prompt {
            *scroll = Some(line);
            return;
        }
        if self.scrolls.len() <= self.attempt {
            self.scrolls.resize(self.attempt + 1, None);
        }
        self.scrolls[self.attempt] = Some(line);
    }

    /// The first line of the question in sight.
    pub(super) fn top(&self) -> usize {
        self.top
    }

    /// Lines of the question, and those in sight.
    pub(super) fn question_extent(&self, places: &Places, around: &Around) -> Extent {
        let (width, height) = text_room(places.question);
        let record = self.shown_record(around.workspace);
        let lines = record.map_or(0, |record| self.question_lines(record, width, around).len());
        Extent { lines, height }
    }

    /// Whether a part of the question or of an option is out of sight.
    pub fn is_cut(&self, places: &Places, around: &Around) -> bool {
        self.question_extent(places, around).last() > 0
    }

    /// Moves the first line in sight of the text that the keys go to.
    fn move_by(&mut self, places: &Places, around: &Around, to: impl FnOnce(Extent, usize) -> usize) {
        if self.reads_question {
            let extent = self.question_extent(places, around);
            self.top = to(extent, self.top.min(extent.last()));
        } else if let Some((output, height)) = self.in_focus(places.outputs, around) {
            let lines = output.lines.len();
            let extent = Extent { lines, height };
            let now = self.scroll().unwrap_or(output.from).min(extent.last());
            self.scroll_to(to(extent, now));
        }
    }

    /// Scrolls by lines, no further than to the end.
    pub fn scroll_by(&mut self, by: isize, places: &Places, around: &Around) {
        self.move_by(places, around, |extent, now| extent.scrolled(now, by));
    }

    /// A page on; at the end back to the beginning.
    pub fn page(&mut self, places: &Places, around: &Around) {
        self.move_by(places, around, Extent::paged);
    }

    pub fn half_page(&self, places: &Places) -> isize {
        let area = if self.reads_question {
            places.question
        } else {
            places.outputs
        };
        (area.height.saturating_sub(1) / 2).max(1) as isize
    }

    /// Goes to the next found place of anything on the screen; to the match or evidence where nothing is searched for.
    pub fn next_place(&mut self, forward: bool, places: &Places, around: &Around) -> bool {
        let stops = match around.find {
            Some(_) => self.found(places, around),
            None => self.match_line(places, around),
        };
        let now = if self.reads_question {
            (0, self.top)
        } else {
            let from = self
                .in_focus(places.outputs, around)
                .map_or(0, |(output, _)| output.from);
            (self.attempt + 1, self.scroll().unwrap_or(from))
        };
        let next = if forward {
            stops.iter().find(|stop| **stop > now).or(stops.first())
        } else {
            stops.iter().rev().find(|stop| **stop < now).or(stops.last())
        };
        let Some((text, line)) = next.copied() else {
            return false;
        };
        self.reads_question = text == 0;
        if text == 0 {
            self.top = line;
        } else {
            self.attempt = text - 1;
            self.scroll_to(line);
        }
        true
    }

    /// Where the match or the evidence of the text in focus stands: the text and its first line in sight then.
    fn match_line(&self, places: &Places, around: &Around) -> Vec<(usize, usize)> {
        let focus = self.in_focus(places.outputs, around);
        let line = focus.and_then(|(output, height)| Some(top_of(output.place?, output.lines.len(), height)));
        line.map(|line| (self.attempt + 1, line)).into_iter().collect()
    }

    /// Where found places stand: the question is text 0, an attempt the one after its number.
    fn found(&self, places: &Places, around: &Around) -> Vec<(usize, usize)> {
        let mut stops = Vec::new();
        let mut add = |text: usize, lines: &[Laid], height: usize| {
            let is_found = |line: &Laid| line.spans.iter().any(|(_, role)| *role == Role::Found);
            let found = (0..lines.len()).filter(|at| is_found(&lines[*at]));
            stops.extend(found.map(|at| (text, top_of(at, lines.len(), height))));
        };
        let workspace = around.workspace;
        if let Some(record) = self.shown_record(workspace) {
            let (width, height) = text_room(places.question);
            add(0, &self.question_lines(record, width, around), height);
        }
        let attempts = workspace.snapshot.as_deref().zip(self.row);
        let attempts = attempts.map_or(0, |(snapshot, row)| snapshot.attempts(row).len());
        let is_one = self.prompt.is_some();
        for attempt in (0..attempts).filter(|attempt| !is_one || *attempt == self.attempt) {
            if let Some((output, height)) = self.text_of(attempt, places.outputs, around) {
                add(attempt + 1, &output.lines, height);
            }
        }
        stops.dedup();
        stops
    }
}

/// The first line in sight when a line is shown a third from the top.
fn top_of(line: usize, lines: usize, height: usize) -> usize {
    line.saturating_sub(height / 3).min(lines.saturating_sub(height))
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
    let letters = record.logprobs.as_ref().map_or(4, Vec::len) as u16 + 4;
    Rect {
        height: letters.min(area.height),
        ..area
    }
}

pub(super) fn prompt_lines(record: &Record, width: usize, around: &Around) -> Vec<Laid> {
    let found = around.find.map(|find| find.places(&record.prompt)).unwrap_or_default();
    let lights = Lights {
        found: &found,
        ..Lights::default()
    };
    Passage::with_lights(&record.prompt, &lights).lay(width, around.theme.ascii)
}

pub(super) fn rule_text(workspace: &Workspace) -> String {
    match workspace.rule.name() {
        "lm_eval_mmlu_pro" => r"answer is \(?([A-J])\)?".to_owned(),
        name => name.to_owned(),
    }
}
