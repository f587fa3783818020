//! A figure as a value: rows of points, intervals and bars along one axis, or a grid of counts. Two painters draw it, as SVG
//! and in the cells of a terminal, from the same positions and words, so that both always agree.

mod cells;
mod svg;

pub use cells::{Line, Span};
pub use svg::{STYLE, SvgKind};

/// What a thing drawn stands for: told by its shape or pattern as well as by its hue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ink {
    /// The figure's own subject.
    Main,
    /// What it is held against: a baseline, another run, the gold.
    Other,
    Right,
    Wrong,
    Invalid,
    /// Ticks, guides and whatever may be overlooked.
    Dim,
}

impl Ink {
    /// Name in style sheets.
    pub fn name(self) -> &'static str {
        match self {
            Ink::Main => "main",
            Ink::Other => "other",
            Ink::Right => "right",
            Ink::Wrong => "wrong",
            Ink::Invalid => "invalid",
            Ink::Dim => "dim",
        }
    }
}

/// A figure with all the words that it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// For files and the command line: `categories`.
    pub name: &'static str,
    pub title: String,
    /// What it shows, in words, for whoever cannot see it.
    pub says: String,
    pub body: Body,
    /// What inks mean, where there are several.
    pub legend: Vec<(Ink, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Chart(Chart),
    Grid(Grid),
}

/// Rows along one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub axis: Axis,
    pub rows: Vec<Row>,
    /// Values that go through all rows: chance, a mean, a published figure.
    pub guides: Vec<Guide>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Guide {
    pub at: f64,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    pub label: String,
    pub items: Vec<Item>,
    /// The row's figure in digits, at its end.
    pub value: String,
    /// The filter line that chooses the rows behind it.
    pub filter: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Item {
    Point {
        at: f64,
        ink: Ink,
    },
    /// A point with the limits that it lies between.
    Interval {
        low: f64,
        at: f64,
        high: f64,
        ink: Ink,
    },
    /// From one value to another; several in a row are stacked by who made them.
    Bar {
        from: f64,
        to: f64,
        ink: Ink,
    },
}

/// The values that a chart spans, and how its ticks are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub name: String,
    pub low: f64,
    pub high: f64,
    pub unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Fractions, written as percent.
    Percent,
    /// Counts and other plain numbers.
    Number,
}

impl Axis {
    /// An axis that holds all of `values`, widened to round ticks; within 0-1 for fractions.
    pub fn over(name: &str, unit: Unit, values: impl IntoIterator<Item = f64>) -> Axis {
        let (low, high) = values
            .into_iter()
            .filter(|value| value.is_finite())
            .fold((f64::MAX, f64::MIN), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let wide = if high - low < 1e-9 {
            0.05_f64.max(high.abs() * 0.05)
        } else {
            0.0
        };
        let step = step(high - low + 2.0 * wide);
        let (low, high) = (
            ((low - wide) / step).floor() * step,
            ((high + wide) / step).ceil() * step,
        );
        let (low, high) = match unit {
            Unit::Percent => (low.max(0.0), high.min(1.0)),
            Unit::Number => (low, high),
        };
        Axis {
            name: name.to_owned(),
            low,
            high,
            unit,
        }
    }

    /// Where a value lies between both ends, in 0-1.
    pub fn share(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round values along the axis with their texts, at most `most` of them.
    pub fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let mut step = step(self.high - self.low);
        let count = |step: f64| ((self.high - self.low) / step + 1e-9) as usize + 1;
        for factor in [2.0, 2.5, 2.0].into_iter().cycle().take(12) {
            if count(step) <= most.max(2) {
                break;
            }
            step *= factor;
        }
        let first = (self.low / step - 1e-9).ceil();
        let places = (0..count(step)).map(|at| (first + at as f64) * step);
        let inside = places.filter(|at| *at <= self.high + step * 1e-6);
        inside.map(|at| (at, self.text(at, step))).collect()
    }

    /// A value as it is written where ticks are `step` apart.
    fn text(&self, value: f64, step: f64) -> String {
        let (value, step) = match self.unit {
            Unit::Percent => (100.0 * value, 100.0 * step),
            Unit::Number => (value, step),
        };
        let digits = if step > 0.999_999 {
            0
        } else {
            (-step.log10() - 1e-9).ceil().max(1.0) as usize
        };
        let text = format!("{value:.digits$}");
        text.strip_prefix('-')
            .filter(|rest| rest.bytes().all(|c| c == b'0' || c == b'.'))
            .map_or(text.clone(), str::to_owned)
    }
}

/// The round step, 1, 2 or 5 times a power of ten, that cuts a span into about six.
fn step(span: f64) -> f64 {
    let rough = (span / 6.0).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(rough)
}

/// Counts by two things, a share of each row shown by its shade.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// What rows and columns are: `key`, `pick`.
    pub row_name: String,
    pub column_name: String,
    pub columns: Vec<String>,
    pub rows: Vec<GridRow>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct GridRow {
    pub label: String,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    pub count: usize,
    /// Whether the cell is where everything should be: key and pick are the same.
    pub is_right: bool,
    /// The filter line that chooses the rows behind it.
    pub filter: Option<String>,
}

impl GridRow {
    /// A cell's part of its row, in 0-1.
    pub fn share(&self, cell: &Cell) -> f64 {
        let all: usize = self.cells.iter().map(|cell| cell.count).sum();
        if all == 0 { 0.0 } else { cell.count as f64 / all as f64 }
    }
}

/// A count, short enough for a cell.
fn short(count: usize) -> String {
    match count {
        0 => "·".to_owned(),
        1..10_000 => count.to_string(),
        _ => format!("{:.0}k", count as f64 / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        Axis::over("accuracy", Unit::Percent, values.iter().copied())
    }

    fn texts(axis: &Axis, most: usize) -> Vec<String> {
        axis.ticks(most).into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn ticks_are_round_and_few_enough() {
        assert_eq!(texts(&axis(&[0.262, 0.309]), 9), ["26", "27", "28", "29", "30", "31"]);
        assert_eq!(texts(&axis(&[0.0, 1.0]), 9), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(texts(&axis(&[0.0, 1.0]), 3), ["0", "40", "80"]);
        assert_eq!(texts(&axis(&[0.431, 0.434]), 9)[0], "43.10");
        let numbers = Axis::over("characters", Unit::Number, [0.0, 12_345.0]);
        assert_eq!(
            numbers.ticks(9).first().map(|tick| tick.1.clone()),
            Some("0".to_owned())
        );
    }

    #[test]
    fn an_axis_of_one_value_or_none_still_has_a_width() {
        for values in [&[0.5][..], &[], &[f64::NAN], &[0.0], &[1.0]] {
            let axis = axis(values);
            assert!(axis.low < axis.high && axis.low >= 0.0 && axis.high <= 1.0, "{axis:?}");
            assert!((0.0..=1.0).contains(&axis.share(0.5)) && !axis.ticks(5).is_empty());
        }
    }
}
