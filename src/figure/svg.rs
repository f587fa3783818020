//! A figure as SVG text: shapes and hatches beside hues, a title and a description in words, colours of the reader's light
//! or dark scheme.

use std::fmt::Write as _;

use super::{Body, Chart, Figure, Grid, Ink, Item, Row, short};
use crate::text::{markup::html, safe::one_line};

/// Where an SVG stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SvgKind {
    /// A file of its own, with its style.
    File,
    /// Part of a page that has [`STYLE`] and [`Figure::hatches`] in it.
    Inline,
}

/// The style of figures; colours have a contrast of 4.5 and more on their grounds.
pub const STYLE: &str = "\
.fig{--ink:#1b1b1b;--soft:#5a5a5a;--line:#c9c9c9;--main:#0b5394;--other:#7a3b9a;--right:#1d6b3a;--wrong:#a63c06;--invalid:#6b5900;--ground:#fff;\
font:13px system-ui,sans-serif;max-width:100%;height:auto}\
@media (prefers-color-scheme:dark){.fig{--ink:#ececec;--soft:#b0b0b0;--line:#4a4a4a;--main:#7db8f0;--other:#cfa0ea;--right:#7fcf9a;--wrong:#f0a070;--invalid:#d8c25a;--ground:#16181b}}\
@media print{.fig{--ink:#1b1b1b;--soft:#5a5a5a;--line:#c9c9c9;--main:#0b5394;--other:#7a3b9a;--right:#1d6b3a;--wrong:#a63c06;--invalid:#6b5900;--ground:#fff}}\
.fig text{fill:var(--ink)}.fig .soft{fill:var(--soft)}.fig .line{stroke:var(--line);fill:none}\
.fig .main{fill:var(--main);stroke:var(--main)}.fig .other{fill:var(--other);stroke:var(--other)}\
.fig .right{fill:var(--right);stroke:var(--right)}.fig .wrong{fill:var(--wrong);stroke:var(--wrong)}\
.fig .invalid{fill:var(--invalid);stroke:var(--invalid)}.fig .dim{fill:var(--soft);stroke:var(--soft)}\
.fig .hatch{stroke:var(--ground);stroke-width:1.6;fill:none}.fig .guide{stroke:var(--soft);stroke-dasharray:3 3;fill:none}";

const WIDTH: f64 = 760.0;
/// Height of a row, and of what stands above the rows.
const ROW: f64 = 21.0;
const TOP: f64 = 52.0;
/// What a character is reckoned to be wide.
const LETTER: f64 = 6.9;

impl Figure {
    /// The whole picture. Within a page its ids begin with the figure's name, so several stand in one.
    pub fn svg(&self, kind: SvgKind) -> String {
        let (height, drawn) = match &self.body {
            Body::Chart(chart) => chart_svg(chart),
            Body::Grid(grid) => grid_svg(grid),
        };
        let legend = if self.legend.is_empty() { 0.0 } else { ROW };
        let mut svg = String::new();
        let space = if kind == SvgKind::File {
            " xmlns=\"http://www.w3.org/2000/svg\""
        } else {
            ""
        };
        let (name, whole) = (self.name, height + legend + 8.0);
        let _ = write!(
            svg,
            "<svg{space} class=\"fig\" role=\"img\" aria-labelledby=\"{name}-t {name}-d\" width=\"{WIDTH}\" height=\"{whole}\" \
             viewBox=\"0 0 {WIDTH} {whole}\"><title id=\"{name}-t\">{}</title><desc id=\"{name}-d\">{}</desc>",
            html(&self.title),
            html(&self.says)
        );
        if kind == SvgKind::File {
            let _ = write!(
                svg,
                "<style>{STYLE}</style><rect width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>"
            );
        }
        put(
            &mut svg,
            (4.0, 17.0),
            "font-weight=\"600\" font-size=\"14\"",
            &self.title,
        );
        svg.push_str(&drawn);
        self.legend_svg(&mut svg, height + 14.0);
        svg.push_str("</svg>");
        svg
    }

    fn legend_svg(&self, svg: &mut String, y: f64) {
        let has_bars = matches!(&self.body, Body::Chart(chart) if chart.has_bars());
        let mut x = 8.0;
        for (ink, name) in &self.legend {
            if has_bars {
                bar(svg, *ink, (x, y - 10.0), (14.0, 11.0));
            } else {
                point(svg, *ink, (x + 7.0, y - 4.0));
            }
            put(svg, (x + 20.0, y), "", name);
            x += 36.0 + LETTER * name.chars().count() as f64;
        }
    }
}

fn chart_svg(chart: &Chart) -> (f64, String) {
    let longest = |text: fn(&Row) -> &str, most: usize| {
        let lengths = chart
            .rows
            .iter()
            .map(|row| one_line(text(row), most, false).chars().count());
        lengths.max().unwrap_or(0) as f64 * LETTER
    };
    let (left, right) = (
        longest(|row| &row.label, 34) + 16.0,
        longest(|row| &row.value, 34) + 16.0,
    );
    let plot = (WIDTH - left - right).max(160.0);
    let x = |value: f64| left + chart.axis.share(value) * plot;
    let bottom = TOP + ROW * chart.rows.len() as f64;
    let mut svg = String::new();
    for (at, text) in chart.axis.ticks((plot / 55.0) as usize) {
        let x = x(at);
        let _ = write!(
            svg,
            "<line class=\"line\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/>",
            TOP - 4.0
        );
        put(&mut svg, (x, TOP - 8.0), "class=\"soft\" text-anchor=\"middle\"", &text);
    }
    put(
        &mut svg,
        (4.0, TOP - 8.0),
        "class=\"soft\"",
        &one_line(&chart.axis.name, (left / LETTER) as usize - 1, false),
    );
    for (row, y) in chart
        .rows
        .iter()
        .zip(0..)
        .map(|(row, at)| (row, TOP + ROW * (f64::from(at) + 0.5)))
    {
        put(&mut svg, (4.0, y + 4.5), "", &one_line(&row.label, 34, false));
        row.items.iter().for_each(|part| item(&mut svg, part, &x, y));
        put(
            &mut svg,
            (left + plot + 10.0, y + 4.5),
            "class=\"value\"",
            &one_line(&row.value, 34, false),
        );
    }
    let mut y = bottom;
    for guide in &chart.guides {
        let at = x(guide.at);
        let _ = write!(
            svg,
            "<line class=\"guide\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\"/>",
            TOP - 4.0
        );
        y += 17.0;
        let anchor = if at > WIDTH / 2.0 {
            "class=\"soft\" text-anchor=\"end\""
        } else {
            "class=\"soft\""
        };
        put(&mut svg, (at, y), anchor, &guide.name);
    }
    (y + 4.0, svg)
}

fn item(svg: &mut String, item: &Item, x: &impl Fn(f64) -> f64, y: f64) {
    match *item {
        Item::Point { at, ink } => point(svg, ink, (x(at), y)),
        Item::Bar { from, to, ink } => bar(svg, ink, (x(from), y - 7.0), (x(to) - x(from), 14.0)),
        Item::Interval { low, at, high, ink } => {
            let (low, high, name) = (x(low), x(high), ink.name());
            let _ = write!(
                svg,
                "<path class=\"{name}\" stroke-width=\"1.6\" d=\"M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8\"/>",
                y - 4.0,
                y - 4.0
            );
            point(svg, ink, (x(at), y));
        }
    }
}

/// A mark whose shape tells its ink.
fn point(svg: &mut String, ink: Ink, (x, y): (f64, f64)) {
    let name = ink.name();
    let _ = match ink {
        Ink::Main | Ink::Right => write!(svg, "<circle class=\"{name}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>"),
        Ink::Other => write!(
            svg,
            "<path class=\"{name}\" d=\"M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/>",
            y - 5.5
        ),
        Ink::Wrong => write!(svg, "<path class=\"{name}\" d=\"M{x:.1} {:.1}l5 9h-10z\"/>", y - 5.0),
        Ink::Invalid => write!(
            svg,
            "<rect class=\"{name}\" x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"/>",
            x - 4.0,
            y - 4.0
        ),
        Ink::Dim => write!(svg, "<circle class=\"{name}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\"/>"),
    };
}

/// A bar, hatched by its ink: plain, one way, the other way, crossed.
fn bar(svg: &mut String, ink: Ink, (x, y): (f64, f64), (width, height): (f64, f64)) {
    if width <= 0.0 {
        return;
    }
    let _ = write!(
        svg,
        "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
        ink.name()
    );
    let (rising, falling) = match ink {
        Ink::Main | Ink::Right | Ink::Dim => (false, false),
        Ink::Wrong => (true, false),
        Ink::Other => (false, true),
        Ink::Invalid => (true, true),
    };
    let mut lines = String::new();
    let mut at = x + 1.0;
    while at + height <= x + width && (rising || falling) {
        if rising {
            let _ = write!(lines, "M{at:.1} {:.1}l{height:.1} -{height:.1}", y + height);
        }
        if falling {
            let _ = write!(lines, "M{at:.1} {y:.1}l{height:.1} {height:.1}");
        }
        at += 7.0;
    }
    if !lines.is_empty() {
        let _ = write!(svg, "<path class=\"hatch\" d=\"{lines}\"/>");
    }
}

fn grid_svg(grid: &Grid) -> (f64, String) {
    let labels = grid
        .rows
        .iter()
        .map(|row| one_line(&row.label, 14, false).chars().count())
        .max()
        .unwrap_or(0);
    let left = LETTER * labels.max(grid.row_name.chars().count()) as f64 + 20.0;
    let cell = ((WIDTH - left - 8.0) / grid.columns.len().max(1) as f64).min(64.0);
    let mut svg = String::new();
    put(&mut svg, (left, 34.0), "class=\"soft\"", &grid.column_name);
    put(&mut svg, (4.0, TOP - 2.0), "class=\"soft\"", &grid.row_name);
    for (name, at) in grid.columns.iter().zip(0..) {
        let x = left + cell * (f64::from(at) + 0.5);
        put(
            &mut svg,
            (x, TOP - 2.0),
            "class=\"soft\" text-anchor=\"middle\"",
            &one_line(name, 9, false),
        );
    }
    for (row, at) in grid.rows.iter().zip(0..) {
        let y = TOP + 4.0 + (ROW + 2.0) * f64::from(at);
        put(&mut svg, (4.0, y + 15.0), "", &one_line(&row.label, 14, false));
        for (own, at) in row.cells.iter().zip(0..) {
            let x = left + cell * f64::from(at);
            // Shades stay light, so that the number on them reads.
            let (ink, shade) = (if own.is_right { "right" } else { "wrong" }, 0.3 * row.share(own));
            let (width, edge) = (cell - 2.0, if own.is_right { 1.0 } else { 0.0 });
            let _ = write!(
                svg,
                "<rect class=\"{ink}\" fill-opacity=\"{shade:.2}\" stroke-width=\"{edge}\" x=\"{x:.1}\" y=\"{y:.1}\" \
                 width=\"{width:.1}\" height=\"{ROW}\"/>"
            );
            put(
                &mut svg,
                (x + width / 2.0, y + 15.0),
                "text-anchor=\"middle\"",
                &short(own.count),
            );
        }
    }
    (TOP + 8.0 + (ROW + 2.0) * grid.rows.len() as f64, svg)
}

fn put(svg: &mut String, (x, y): (f64, f64), how: &str, text: &str) {
    let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {how}>{}</text>", html(text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Cell, GridRow, Guide, Unit};

    fn categories() -> Figure {
        let row = |name: &str, low: f64, at: f64, high: f64| Row {
            label: name.to_owned(),
            items: vec![Item::Interval {
                low,
                at,
                high,
                ink: Ink::Main,
            }],
            value: format!("{:.1}", 100.0 * at),
            filter: None,
        };
        let rows = vec![row("law <b>", 0.1, 0.2, 0.35), row("math & more", 0.4, 0.55, 0.7)];
        Figure {
            name: "categories",
            title: "Accuracy by category".to_owned(),
            says: "law 20.0, math 55.0".to_owned(),
            body: Body::Chart(Chart {
                axis: Axis::over("category", Unit::Percent, [0.1, 0.7]),
                rows,
                guides: vec![Guide {
                    at: 0.25,
                    name: "chance 25.0".to_owned(),
                }],
            }),
            legend: vec![(Ink::Main, "this run".to_owned())],
        }
    }

    /// Every number after `name="` among the elements that hold `class`.
    fn numbers(svg: &str, class: &str, name: &str) -> Vec<f64> {
        let elements = svg.split('<').filter(|element| element.contains(class));
        let number = |element: &str| {
            element
                .split(&format!(" {name}=\""))
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        };
        elements.filter_map(number).collect()
    }

    #[test]
    fn both_painters_put_every_mark_at_the_same_place_and_write_the_same_words() {
        let figure = categories();
        let (svg, text) = (figure.svg(SvgKind::File), figure.text(80, false));
        let ticks = numbers(&svg, "\"line\"", "x1");
        let marks = numbers(&svg, "circle class=\"main\"", "cx");
        let lines: Vec<&str> = text.lines().collect();
        let column = |line: &str, of: char| line.chars().position(|c| c == of).unwrap() as f64;
        // Labels are 11 wide and figures 4, with two blanks to the plot.
        let (first, last) = (13.0, lines[2].chars().count() as f64 - 7.0);
        for (line, mark) in lines[2..4].iter().zip(&marks) {
            let share = (column(line, '●') - first) / (last - first);
            let drawn = (mark - ticks[0]) / (ticks[ticks.len() - 1] - ticks[0]);
            assert!((share - drawn).abs() < 0.02, "{share} {drawn}\n{text}");
        }
        for word in ["Accuracy by category", "chance 25.0", "20.0", "55.0", "this run"] {
            assert!(svg.contains(word) && text.contains(word), "{word}\n{text}");
        }
        assert!(svg.contains("law &lt;b&gt;") && !svg.contains("<b>") && svg.contains("math &amp; more"));
        assert!(text.is_ascii() || !figure.text(80, true).contains('●'));
        assert!(
            figure.text(80, true).is_ascii() && text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn stacked_bars_and_grids_are_drawn_by_both() {
        let bars = vec![
            Item::Bar {
                from: 0.0,
                to: 3.0,
                ink: Ink::Right,
            },
            Item::Bar {
                from: 3.0,
                to: 5.0,
                ink: Ink::Wrong,
            },
            Item::Bar {
                from: 5.0,
                to: 6.0,
                ink: Ink::Invalid,
            },
        ];
        let row = Row {
            label: "0-99".to_owned(),
            items: bars,
            value: "6".to_owned(),
            filter: None,
        };
        let axis = Axis::over("characters", Unit::Number, [0.0, 6.0]);
        let body = Body::Chart(Chart {
            axis,
            rows: vec![row],
            guides: Vec::new(),
        });
        let figure = Figure {
            name: "lengths",
            body,
            legend: vec![(Ink::Wrong, "wrong".to_owned())],
            ..categories()
        };
        let text = figure.text(60, true);
        assert!(text.contains("#=") && text.contains("=:"), "{text}");
        assert_eq!(
            figure.svg(SvgKind::Inline).matches("class=\"hatch\"").count(),
            3,
            "two bars and the legend"
        );
        let cells = |counts: [usize; 2]| {
            counts
                .into_iter()
                .zip(0..)
                .map(|(count, at)| Cell {
                    count,
                    is_right: at == 0,
                    filter: None,
                })
                .collect()
        };
        let grid = Grid {
            row_name: "key".to_owned(),
            column_name: "pick".to_owned(),
            columns: vec!["A".to_owned(), "B".to_owned()],
            rows: vec![GridRow {
                label: "A".to_owned(),
                cells: cells([90, 10]),
            }],
        };
        let figure = Figure {
            name: "letters",
            body: Body::Grid(grid),
            legend: Vec::new(),
            ..categories()
        };
        assert!(figure.text(60, true).contains("[90]  10!"), "{}", figure.text(60, true));
        assert!(
            figure.svg(SvgKind::Inline).contains("fill-opacity=\"0.27\"")
                && !figure.svg(SvgKind::Inline).contains("http")
        );
    }
}
