//! A figure in the cells of a terminal: lines of spans, each with its ink. Without colour the shapes tell the same.

use unicode_width::UnicodeWidthStr;

use super::{Body, Chart, Figure, Grid, Ink, Item, Row, short};
use crate::text::safe::one_line;

/// A piece of a line; `None`: plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub ink: Option<Ink>,
}

pub type Line = Vec<Span>;

/// Shapes of an ink: a point, a bar.
fn shapes(ink: Ink, ascii: bool) -> (char, char) {
    match (ink, ascii) {
        (Ink::Main, false) => ('●', '█'),
        (Ink::Other, false) => ('◆', '▓'),
        (Ink::Right, false) => ('●', '█'),
        (Ink::Wrong, false) => ('▲', '▒'),
        (Ink::Invalid, false) => ('■', '░'),
        (Ink::Dim, false) => ('·', '─'),
        (Ink::Main | Ink::Right, true) => ('o', '#'),
        (Ink::Other, true) => ('*', '%'),
        (Ink::Wrong, true) => ('^', '='),
        (Ink::Invalid, true) => ('x', ':'),
        (Ink::Dim, true) => ('.', '-'),
    }
}

impl Figure {
    /// The figure in at most `width` columns, its title first; never fewer than 30.
    pub fn lines(&self, width: usize, ascii: bool) -> Vec<Line> {
        let width = width.max(30);
        let plain = |text: String| vec![Span { text, ink: None }];
        let mut lines = vec![plain(one_line(&self.title, width, ascii))];
        lines.extend(match &self.body {
            Body::Chart(chart) => Painter { width, ascii }.chart(chart),
            Body::Grid(grid) => Painter { width, ascii }.grid(grid),
        });
        let mut legend: Line = Vec::new();
        for (ink, name) in &self.legend {
            let is_bar = matches!(&self.body, Body::Chart(chart) if chart.has_bars());
            let (point, bar) = shapes(*ink, ascii);
            legend.push(Span {
                text: format!("{} ", if is_bar { bar } else { point }),
                ink: Some(*ink),
            });
            legend.push(Span {
                text: format!("{}   ", one_line(name, 40, ascii)),
                ink: None,
            });
        }
        if !legend.is_empty() {
            lines.push(legend);
        }
        lines
    }

    /// The lines as text, without colour.
    pub fn text(&self, width: usize, ascii: bool) -> String {
        let line = |line: Line| {
            line.into_iter()
                .map(|span| span.text)
                .collect::<String>()
                .trim_end()
                .to_owned()
                + "\n"
        };
        self.lines(width, ascii).into_iter().map(line).collect()
    }
}

impl Chart {
    pub(super) fn has_bars(&self) -> bool {
        self.rows
            .iter()
            .flat_map(|row| &row.items)
            .any(|item| matches!(item, Item::Bar { .. }))
    }
}

struct Painter {
    width: usize,
    ascii: bool,
}

/// One cell: a character and its ink.
type Dot = (char, Option<Ink>);

impl Painter {
    fn chart(&self, chart: &Chart) -> Vec<Line> {
        let longest = |text: fn(&Row) -> &str, most: usize| {
            let widths = chart
                .rows
                .iter()
                .map(|row| one_line(text(row), most, self.ascii).width());
            widths.max().unwrap_or(0)
        };
        let label = longest(|row| &row.label, self.width / 3);
        let value = longest(|row| &row.value, self.width / 3);
        let plot = self.width.saturating_sub(label + value + 4).max(8);
        let ticks = chart.axis.ticks(plot / 7);
        let mut lines = vec![self.axis(chart, &ticks, (label, plot))];
        for row in &chart.rows {
            let mut line = vec![Span {
                text: format!("{}  ", self.field(&row.label, label)),
                ink: None,
            }];
            let columns: Vec<usize> = ticks.iter().map(|tick| column(chart, tick.0, plot)).collect();
            let guides: Vec<usize> = chart.guides.iter().map(|guide| column(chart, guide.at, plot)).collect();
            line.extend(spans(self.row(chart, row, &columns, &guides, plot)));
            line.push(Span {
                text: format!("  {}", one_line(&row.value, value, self.ascii)),
                ink: None,
            });
            lines.push(line);
        }
        let bar = if self.ascii { '|' } else { '┊' };
        for guide in &chart.guides {
            let at = one_line(&guide.name, self.width.saturating_sub(4), self.ascii);
            lines.push(vec![Span {
                text: format!("{bar} {at}"),
                ink: Some(Ink::Dim),
            }]);
        }
        lines
    }

    /// The numbers above the rows, each centred over its column.
    fn axis(&self, chart: &Chart, ticks: &[(f64, String)], (label, plot): (usize, usize)) -> Line {
        let mut numbers = vec![' '; plot + 6];
        let mut free = 0;
        for (at, text) in ticks {
            let start = (column(chart, *at, plot) + 1).saturating_sub(text.len() / 2).max(free);
            if start + text.len() <= numbers.len() {
                numbers[start..start + text.len()]
                    .iter_mut()
                    .zip(text.chars())
                    .for_each(|(cell, c)| *cell = c);
                free = start + text.len() + 1;
            }
        }
        let name = one_line(&chart.axis.name, label, self.ascii);
        let text = format!(
            "{} {}",
            self.field(&name, label),
            numbers.into_iter().collect::<String>().trim_end()
        );
        vec![Span {
            text,
            ink: Some(Ink::Dim),
        }]
    }

    fn row(&self, chart: &Chart, row: &Row, ticks: &[usize], guides: &[usize], plot: usize) -> Vec<Dot> {
        let tick = if self.ascii { '.' } else { '·' };
        let mut dots: Vec<Dot> = vec![(' ', None); plot];
        ticks.iter().for_each(|at| dots[*at] = (tick, Some(Ink::Dim)));
        guides
            .iter()
            .for_each(|at| dots[*at] = (if self.ascii { '|' } else { '┊' }, Some(Ink::Dim)));
        for item in &row.items {
            match *item {
                Item::Bar { from, to, ink } => {
                    let ends = [from, to].map(|value| (chart.axis.share(value) * plot as f64).round() as usize);
                    let bar = shapes(ink, self.ascii).1;
                    dots[ends[0]..ends[1].max(ends[0])].fill((bar, Some(ink)));
                }
                Item::Interval { low, at, high, ink } => {
                    let [low, at, high] = [low, at, high].map(|value| column(chart, value, plot));
                    let [left, line, right] = if self.ascii {
                        ['|', '-', '|']
                    } else {
                        ['├', '─', '┤']
                    };
                    dots[low..=high].fill((line, Some(ink)));
                    (dots[low], dots[high]) = ((left, Some(ink)), (right, Some(ink)));
                    dots[at] = (shapes(ink, self.ascii).0, Some(ink));
                }
                Item::Point { at, ink } => dots[column(chart, at, plot)] = (shapes(ink, self.ascii).0, Some(ink)),
            }
        }
        dots
    }

    fn grid(&self, grid: &Grid) -> Vec<Line> {
        let label = grid
            .rows
            .iter()
            .map(|row| one_line(&row.label, 12, self.ascii).width())
            .max()
            .unwrap_or(0);
        let label = label.max(grid.row_name.width());
        let names = grid.columns.iter().map(|name| one_line(name, 9, self.ascii).width());
        let counts = grid
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .map(|cell| short(cell.count).width() + 2);
        let cell = names.chain(counts).max().unwrap_or(0).max(4) + 1;
        let right = |text: &str| format!("{}{text}", " ".repeat(cell.saturating_sub(text.width())));
        let head = grid
            .columns
            .iter()
            .map(|name| right(&one_line(name, cell - 1, self.ascii)));
        let of = format!("{} {}", self.field(&grid.row_name, label), head.collect::<String>());
        let lead = " ".repeat(label + 1);
        let mut lines = vec![
            vec![Span {
                text: format!("{lead} {}", one_line(&grid.column_name, self.width / 2, self.ascii)),
                ink: Some(Ink::Dim),
            }],
            vec![Span {
                text: of,
                ink: Some(Ink::Dim),
            }],
        ];
        for row in &grid.rows {
            let mut line = vec![Span {
                text: format!("{} ", self.field(&row.label, label)),
                ink: None,
            }];
            for cell in &row.cells {
                let count = if self.ascii {
                    short(cell.count).replace('·', ".")
                } else {
                    short(cell.count)
                };
                // What should hold everything stands in brackets; a tenth of the row or more elsewhere is marked.
                let (text, ink) = match (cell.is_right, row.share(cell)) {
                    (true, _) => (format!("[{count}]"), Some(Ink::Right)),
                    (false, share) if share >= 0.1 => (
                        format!("{count}{}", if self.ascii { '!' } else { '▲' }),
                        Some(Ink::Wrong),
                    ),
                    (false, _) => (format!("{count} "), (cell.count == 0).then_some(Ink::Dim)),
                };
                line.push(Span {
                    text: right(&text),
                    ink,
                });
            }
            lines.push(line);
        }
        lines
    }

    fn field(&self, text: &str, width: usize) -> String {
        let text = one_line(text, width, self.ascii);
        let room = " ".repeat(width.saturating_sub(text.width()));
        text + &room
    }
}

/// The column of a value among `plot`.
fn column(chart: &Chart, value: f64, plot: usize) -> usize {
    (chart.axis.share(value) * (plot - 1) as f64).round() as usize
}

/// Neighbours of one ink together.
fn spans(dots: Vec<Dot>) -> Vec<Span> {
    let same = dots.chunk_by(|a, b| a.1 == b.1);
    same.map(|dots| Span {
        text: dots.iter().map(|dot| dot.0).collect(),
        ink: dots[0].1,
    })
    .collect()
}
