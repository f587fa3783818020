//! Charts of the rows under the filter, one at a time; a row or a cell of one is a filter away.

use std::sync::Arc;

use crate::charts::{self, Source};
use crate::diagnose::Cause;
use crate::figure::{Body, Figure, Ink, Line};
use crate::record::INVALID;
use crate::stats::{self, Slice};
use crate::trace::Trace;

use super::canvas::Canvas;
use super::event::{Effect, Event};
use super::keymap::{Action, On};
use super::panes::{filter_line, why};
use super::passage::{Laid, Passage};
use super::screen::{Next, Screen};
use super::shared::Shared;
use super::strip::Strip;
use super::theme::Role;

/// A chart that is to be drawn, of the rows of one exam.
#[derive(Debug, Clone)]
pub struct ChartOrder {
    pub trace: Arc<Trace>,
    pub rows: Arc<Vec<u32>>,
    pub exam: String,
    /// Its place among [`charts::ALL`].
    pub chart: usize,
    pub causes: Vec<(Cause, usize)>,
}

impl ChartOrder {
    fn is_same(&self, other: &ChartOrder) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows)
            && Arc::ptr_eq(&self.trace, &other.trace)
            && (&self.exam, self.chart, &self.causes) == (&other.exam, other.chart, &other.causes)
    }

    /// The figure, or why there is none.
    pub fn draw(&self) -> Result<Figure, String> {
        let rows = &self.trace.rows;
        let is_of_exam = |row: &u32| rows.benchmark.get(*row as usize) == self.exam;
        let picked: Vec<u32> = self.rows.iter().copied().filter(is_of_exam).collect();
        let chart = charts::ALL[self.chart];
        let nothing = || format!("these rows tell nothing of it: {}", chart.help);
        let reports = stats::report(&self.trace, Some(&picked));
        let run = reports.first().filter(|_| !picked.is_empty()).ok_or_else(nothing)?;
        let source = Source {
            trace: &self.trace,
            slice: Slice::of(rows, &picked),
            run,
            causes: &self.causes,
            marks: &[],
        };
        let figure = chart.draw(&source).map_err(|error| format!("{error:#}"))?;
        figure.ok_or_else(nothing)
    }
}

/// The screen of charts.
#[derive(Debug, Default)]
pub struct Charts {
    chart: usize,
    /// The exam, by its place among those of the view.
    exam: usize,
    asked: Option<ChartOrder>,
    drawn: Option<Result<Figure, String>>,
    /// Row and, in a grid, column.
    at: (usize, usize),
}

impl Charts {
    fn order(&self, shared: &Shared) -> Option<ChartOrder> {
        let (workspace, selected) = (&shared.workspace, &shared.workspace.selected);
        let exams: Vec<&str> = selected.report.exams_here().map(|(name, _)| name).collect();
        Some(ChartOrder {
            trace: Arc::clone(&workspace.snapshot.as_ref()?.trace),
            rows: Arc::clone(&selected.rows),
            exam: (*exams.get(self.exam).or(exams.first()).unwrap_or(&"")).to_owned(),
            chart: self.chart,
            causes: why::entries(&selected.report),
        })
    }

    /// Rows of the figure and columns of its grid.
    fn size(&self) -> (usize, usize) {
        match self
            .drawn
            .as_ref()
            .and_then(|drawn| drawn.as_ref().ok())
            .map(|figure| &figure.body)
        {
            Some(Body::Chart(chart)) => (chart.rows.len(), 1),
            Some(Body::Grid(grid)) => (grid.rows.len(), grid.columns.len()),
            None => (0, 1),
        }
    }

    fn move_by(&mut self, down: isize, right: isize) {
        let (rows, columns) = self.size();
        let step = |at: usize, by: isize, all: usize| at.saturating_add_signed(by).min(all.saturating_sub(1));
        self.at = (step(self.at.0, down, rows), step(self.at.1, right, columns));
    }

    fn turn_to(&mut self, chart: usize) {
        self.chart = chart % charts::ALL.len();
        self.at = (0, 0);
    }

    /// The filter of what is under the cursor, with what it is.
    fn target(&self) -> Option<(String, Option<&str>)> {
        let figure = self.drawn.as_ref()?.as_ref().ok()?;
        let (row, column) = self.at;
        match &figure.body {
            Body::Chart(chart) => {
                let row = chart.rows.get(row)?;
                Some((format!("{}  {}", row.label, row.value), row.filter.as_deref()))
            }
            Body::Grid(grid) => {
                let (name, line) = (grid.columns.get(column)?, grid.rows.get(row)?);
                let cell = line.cells.get(column)?;
                let (of, share) = (&line.label, line.share(cell) * 100.0);
                let text = format!(
                    "{} {of}, {} {name}: {}, {share:.0}% of {of}",
                    grid.row_name, grid.column_name, cell.count
                );
                Some((text, cell.filter.as_deref()))
            }
        }
    }

    fn open(&self, shared: &mut Shared) {
        let Some(word) = self.target().and_then(|(_, filter)| filter) else {
            return shared.say("no filter chooses these rows");
        };
        let mut words = shared.workspace.words();
        words.extend(
            word.split(' ')
                .map(str::to_owned)
                .filter(|word| !shared.workspace.words().contains(word)),
        );
        shared.show_filter(words.join(" "));
        shared.go(Next::Pop(On::Charts));
    }

    fn draw_title(&self, canvas: &mut Canvas, shared: &Shared) {
        let mut strip = canvas.strip();
        for (at, chart) in charts::ALL.iter().enumerate() {
            let name = format!("{} {}", at + 1, chart.name);
            strip = strip.dim(if at == 0 { " " } else { "  " });
            strip = match at == self.chart {
                true => strip.underlined(name, Role::Strong),
                false => strip.dim(name),
            };
        }
        canvas.head().line(0, strip);
        let order = self.asked.as_ref();
        let exam = order.map(|order| order.exam.clone()).unwrap_or_default();
        let strip = canvas
            .strip()
            .dim(" ")
            .foreign(&exam, 20, Role::Strong)
            .dim("   filter ");
        let strip = match shared.workspace.filter.words().is_empty() {
            true => strip.dim("none"),
            false => filter_line::chips(strip, &shared.workspace.filter),
        };
        canvas.line(1, strip);
    }

    fn draw_figure(&self, canvas: &mut Canvas, figure: &Figure) {
        let theme = canvas.theme;
        let remark = theme.key_name("⏎ filters · Tab next chart");
        let mut inner = canvas.frame(&figure.title, &remark).padded();
        let lines = figure.lines(inner.width(), theme.ascii);
        // The title is the pane's; an axis stands above rows, two lines of names above a grid.
        let (lead, is_grid) = match figure.body {
            Body::Chart(_) => (1, false),
            Body::Grid(_) => (2, true),
        };
        for (row, line) in lines.iter().skip(1).enumerate() {
            let is_current = row == lead + self.at.0;
            let cell = Some(self.at.1 + 1).filter(|_| is_grid && is_current);
            inner.line(row, put_line(inner.strip(), line, (figure, cell)));
            if is_current {
                inner.select(row);
            }
        }
        let mut below = lines.len();
        if let Some((text, filter)) = self.target() {
            let strip = inner.strip().put("▶ ", Role::Focus).foreign(&text, 200, Role::Strong);
            let filter = filter.map_or(String::new(), |filter| format!("   ⏎ {filter}"));
            inner.line(below, strip.dim(theme.key_name(&filter)));
            below += 2;
        }
        let says: Vec<Laid> = Passage::remarked(&figure.says, Role::Dim).lay(inner.width().min(100), theme.ascii);
        for (at, line) in says.into_iter().enumerate() {
            inner.line(below + at, inner.strip().join_laid(line));
        }
    }
}

fn put_line<'t>(strip: Strip<'t>, line: &Line, (figure, cell): (&Figure, Option<usize>)) -> Strip<'t> {
    let column = |at: usize| match &figure.body {
        Body::Grid(grid) => grid.columns.get(at.checked_sub(1)?).map(String::as_str),
        Body::Chart(_) => None,
    };
    line.iter().enumerate().fold(strip, |strip, (at, span)| {
        let role = match role_of(span.ink) {
            _ if cell == Some(at) => Role::Cursor,
            Role::Wrong if column(at) == Some(INVALID) => Role::Invalid,
            role => role,
        };
        strip.put(span.text.as_str(), role)
    })
}

fn role_of(ink: Option<Ink>) -> Role {
    match ink {
        None => Role::Plain,
        Some(Ink::Main) => Role::Strong,
        Some(Ink::Other) => Role::Bar,
        Some(Ink::Right) => Role::Correct,
        Some(Ink::Wrong) => Role::Wrong,
        Some(Ink::Invalid) => Role::Invalid,
        Some(Ink::Dim) => Role::Dim,
    }
}

impl Screen for Charts {
    fn on(&self) -> On {
        On::Charts
    }

    fn act(&mut self, action: Action, key: &str, shared: &mut Shared) {
        match action {
            Action::Down => self.move_by(1, 0),
            Action::Up => self.move_by(-1, 0),
            Action::Left => self.move_by(0, -1),
            Action::Right => self.move_by(0, 1),
            Action::First => self.move_by(isize::MIN / 2, 0),
            Action::Last => self.move_by(isize::MAX / 2, 0),
            Action::NextPane => self.turn_to(self.chart + 1),
            Action::Digit => {
                let wanted = key.parse::<usize>().unwrap_or(0);
                if (1..=charts::ALL.len()).contains(&wanted) {
                    self.turn_to(wanted - 1);
                }
            }
            Action::NextExam => {
                self.exam = (self.exam + 1) % shared.workspace.selected.report.exams_here().count().max(1);
                self.at = (0, 0);
            }
            Action::Open => self.open(shared),
            _ => {}
        }
    }

    fn needs(&mut self, shared: &mut Shared) -> super::screen::Needs {
        let order = self
            .order(shared)
            .filter(|order| !self.asked.as_ref().is_some_and(|asked| asked.is_same(order)));
        if let Some(order) = order {
            self.drawn = None;
            self.asked = Some(order.clone());
            shared.effect(Effect::Chart(Box::new(order)));
        }
        super::screen::Needs::default()
    }

    fn hear(&mut self, event: &Event, _: &mut Shared) {
        if let Event::Charted(order, drawn) = event
            && self.asked.as_ref().is_some_and(|asked| asked.is_same(order))
        {
            self.drawn = Some(drawn.clone());
            self.move_by(0, 0);
        }
    }

    fn draw(&self, canvas: &mut Canvas, shared: &Shared) {
        let area = canvas.area();
        self.draw_title(canvas, shared);
        let place = ratatui::layout::Rect {
            y: area.y + 2,
            height: area.height.saturating_sub(3),
            ..area
        };
        let mut body = canvas.at(place).focus(true);
        match &self.drawn {
            Some(Ok(figure)) => self.draw_figure(&mut body, figure),
            Some(Err(why)) => {
                let mut inner = body.frame(charts::ALL[self.chart].name, "Tab next chart").padded();
                inner.line(0, inner.strip().foreign(why, 300, Role::Dim));
            }
            None => {
                let mut inner = body.frame(charts::ALL[self.chart].name, "").padded();
                inner.line(0, inner.strip().dim("counting…"));
            }
        }
    }
}
