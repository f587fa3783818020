//! Figures of accuracies: by category, by seed, over the run, of several runs; and of causes.

use super::{Outcomes, Source};
use crate::figure::{Axis, Body, Chart, Figure, Guide, Ink, Item, Row, Unit};
use crate::filter::quoted;
use crate::stats::{AttemptsBy, Clusters, SeedReport, percent};
use crate::text::{count, thousands};

/// One score of a dot plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Dot {
    pub name: String,
    pub accuracy: f64,
    pub limits: [f64; 2],
    pub ink: Ink,
    /// What stands behind its figure: a place, a mark.
    pub remark: String,
    pub filter: Option<String>,
}

impl Dot {
    fn row(&self) -> Row {
        let [low, high] = self.limits;
        let remark = if self.remark.is_empty() {
            String::new()
        } else {
            format!("  {}", self.remark)
        };
        Row {
            label: self.name.clone(),
            items: vec![Item::Interval {
                low,
                at: self.accuracy,
                high,
                ink: self.ink,
            }],
            value: format!("{}{remark}", percent(Some(self.accuracy))),
            filter: self.filter.clone(),
        }
    }
}

/// Scores with their intervals, one a row: runs, places, cells of a study.
pub fn dots(name: &'static str, title: &str, dots: &[Dot], guides: Vec<Guide>) -> Figure {
    let ends = dots
        .iter()
        .flat_map(|dot| dot.limits)
        .chain(guides.iter().map(|guide| guide.at));
    let said = dots.iter().map(|dot| {
        format!(
            "{} {} ({} to {})",
            dot.name,
            percent(Some(dot.accuracy)),
            percent(Some(dot.limits[0])),
            percent(Some(dot.limits[1]))
        )
    });
    Figure {
        name,
        title: title.to_owned(),
        says: format!(
            "Accuracy in percent with 95 % limits: {}.",
            said.collect::<Vec<_>>().join("; ")
        ),
        body: Body::Chart(Chart {
            axis: Axis::over("accuracy %", Unit::Percent, ends),
            rows: dots.iter().map(Dot::row).collect(),
            guides,
        }),
        legend: Vec::new(),
    }
}

pub(super) fn categories(source: &Source) -> Option<Figure> {
    let groups = source.run.categories.iter().filter_map(|(name, group)| {
        Some(Dot {
            name: name.clone(),
            accuracy: group.accuracy?,
            limits: group.ci95?,
            ink: Ink::Main,
            remark: format!("n {}", thousands(group.n)),
            filter: Some(format!("cat:{}", quoted(name))),
        })
    });
    let all: Vec<Dot> = groups.collect();
    let guides = source.marks.iter().map(|mark| guide(&mark.name, mark.accuracy));
    let own = guide("all categories", source.run.accuracy?);
    let mut figure = dots(
        "categories",
        "Accuracy by category",
        &all,
        std::iter::once(own).chain(guides).collect(),
    );
    let Body::Chart(chart) = &mut figure.body else {
        return None;
    };
    // A baseline stands as a mark of its own in every row that it has.
    for mark in source.marks {
        for (name, at) in &mark.categories {
            let row = chart.rows.iter_mut().find(|row| row.label == *name);
            row.into_iter().for_each(|row| {
                row.items.insert(
                    0,
                    Item::Point {
                        at: *at,
                        ink: Ink::Other,
                    },
                )
            });
        }
    }
    let marked: Vec<&str> = source
        .marks
        .iter()
        .filter(|mark| !mark.categories.is_empty())
        .map(|mark| mark.name.as_str())
        .collect();
    if !marked.is_empty() {
        figure.legend = vec![(Ink::Main, "this run".to_owned()), (Ink::Other, marked.join(", "))];
        chart.axis = Axis::over("accuracy %", Unit::Percent, ends(chart));
    }
    (!all.is_empty()).then_some(figure)
}

/// Every value that is drawn.
fn ends(chart: &Chart) -> Vec<f64> {
    let of = |item: &Item| match *item {
        Item::Point { at, .. } => vec![at],
        Item::Interval { low, high, .. } => vec![low, high],
        Item::Bar { from, to, .. } => vec![from, to],
    };
    let items = chart.rows.iter().flat_map(|row| &row.items).flat_map(of);
    items.chain(chart.guides.iter().map(|guide| guide.at)).collect()
}

fn guide(name: &str, at: f64) -> Guide {
    Guide {
        at,
        name: format!("{name} {}", percent(Some(at))),
    }
}

pub(super) fn seeds(source: &Source) -> Option<Figure> {
    let run = source.run;
    let (mean, std) = (run.seed_mean?, run.seed_std?);
    let word = match run.attempts_by {
        AttemptsBy::Seed => "seed",
        AttemptsBy::Attempt | AttemptsBy::Epoch => "at",
    };
    let of_seed = |(label, seed): &(String, SeedReport)| {
        let mut rows = Clusters::default();
        (0..seed.n).for_each(|row| rows.add(1, i64::from(row < seed.correct)));
        let interval = rows.interval()?;
        let number = label.rsplit(' ').next().unwrap_or(label);
        Some(Dot {
            name: if word == "seed" {
                format!("seed {label}")
            } else {
                label.clone()
            },
            accuracy: seed.accuracy?,
            limits: [interval.low, interval.high],
            ink: Ink::Main,
            remark: String::new(),
            filter: (run.attempts_by != AttemptsBy::Epoch).then(|| format!("{word}:{number}")),
        })
    };
    let mut all: Vec<Dot> = run.seeds.iter().filter_map(of_seed).collect();
    let spread = |name: String, std: f64| Dot {
        name,
        accuracy: mean,
        limits: [(mean - std).max(0.0), (mean + std).min(1.0)],
        ink: Ink::Other,
        remark: format!("± {}", percent(Some(std))),
        filter: None,
    };
    all.push(spread("mean ± std".to_owned(), std));
    all.extend(run.seed_std_expected.map(|std| spread("± by chance".to_owned(), std)));
    let figure = dots("seeds", "Accuracy by seed", &all, vec![guide("mean", mean)]);
    let legend = vec![
        (Ink::Main, "a seed, 95 % over questions".to_owned()),
        (Ink::Other, "one standard deviation of seeds".to_owned()),
    ];
    Some(Figure { legend, ..figure })
}

pub(super) fn causes(source: &Source) -> Option<Figure> {
    let most = source.causes.iter().map(|cause| cause.1).max()?;
    let row = |(cause, rows): &(crate::diagnose::Cause, usize)| Row {
        label: cause.label().to_owned(),
        items: vec![Item::Bar {
            from: 0.0,
            to: *rows as f64,
            ink: Ink::Invalid,
        }],
        value: thousands(*rows),
        filter: Some(format!("why:{}", cause.name())),
    };
    let said = source
        .causes
        .iter()
        .map(|(cause, rows)| format!("{} {}", cause.label(), thousands(*rows)));
    Some(Figure {
        name: "causes",
        title: "Why answers could not be read".to_owned(),
        says: format!(
            "Rows without a readable letter, by cause: {}.",
            said.collect::<Vec<_>>().join("; ")
        ),
        body: Body::Chart(Chart {
            axis: Axis::over("rows", Unit::Number, [0.0, most as f64]),
            rows: source.causes.iter().map(row).collect(),
            guides: Vec::new(),
        }),
        legend: Vec::new(),
    })
}

/// Stretches that a run is cut into.
const STRETCHES: usize = 20;

pub(super) fn course(source: &Source) -> Option<Figure> {
    let rows: Vec<usize> = source.slice.iter().collect();
    if rows.len() < 2 * STRETCHES {
        return None;
    }
    let mut all = Vec::new();
    let mut first = 1;
    for stretch in rows.chunks(rows.len().div_ceil(STRETCHES)) {
        let (mut clusters, mut outcomes) = (Clusters::default(), Outcomes::default());
        stretch.iter().for_each(|row| {
            clusters.add(1, i64::from(source.slice.rows.correct[*row]));
            outcomes.add(source, *row);
        });
        let (accuracy, interval) = (clusters.mean()?, clusters.interval()?);
        all.push(Dot {
            name: format!("{}-{}", thousands(first), thousands(first + stretch.len() - 1)),
            accuracy,
            limits: [interval.low, interval.high],
            ink: Ink::Main,
            remark: if outcomes.0[2] > 0 {
                format!("[invalid] {}", outcomes.0[2])
            } else {
                String::new()
            },
            filter: None,
        });
        first += stretch.len();
    }
    let title = format!("Accuracy over the run, {} in their order", count(rows.len(), "row"));
    Some(dots(
        "course",
        &title,
        &all,
        vec![guide("all rows", source.run.accuracy?)],
    ))
}
