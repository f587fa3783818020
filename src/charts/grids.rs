//! Gold against picks, and how sure scored picks were.

use anyhow::Result;

use super::Source;
use crate::extract::argmax::argmax_first;
use crate::figure::{Axis, Body, Cell, Chart, Figure, Grid, GridRow, Ink, Item, Row, Unit};
use crate::record::{INVALID, letter, letter_index};
use crate::stats::{Clusters, percent};
use crate::text::thousands;

/// Columns beyond the letters: other texts, and answers from which nothing could be read.
const OTHER: [&str; 2] = ["other", "[invalid]"];

pub(super) fn letters(source: &Source) -> Option<Figure> {
    let last = source.run.letters.last()?;
    let rows = source.slice.rows;
    let mut counts = vec![vec![0; last + 3]; last + 1];
    for row in source.slice.iter() {
        let Some(gold) = letter_index(rows.answer.get(row)).filter(|gold| *gold <= last) else {
            continue;
        };
        let pick = rows.pick.get(row);
        let at = letter_index(pick).unwrap_or(last + 1 + usize::from(pick == INVALID));
        counts[gold][at] += 1;
    }
    let has_other = counts.iter().any(|row| row[last + 1] > 0);
    let names: Vec<String> = (0..=last).filter_map(letter).map(String::from).collect();
    let columns: Vec<String> = names.iter().cloned().chain(OTHER.map(str::to_owned)).collect();
    let is_shown = |at: usize| at != last + 1 || has_other;
    let cell = |gold: usize, at: usize| Cell {
        count: counts[gold][at],
        is_right: gold == at,
        filter: Some(match at {
            at if at <= last => format!("key:{} pick:{}", names[gold], names[at]),
            at if at == last + 2 => format!("key:{} invalid", names[gold]),
            _ => format!("key:{}", names[gold]),
        })
        .filter(|_| at != last + 1),
    };
    let shown: Vec<usize> = (0..columns.len()).filter(|at| is_shown(*at)).collect();
    let grid = Grid {
        row_name: "key".to_owned(),
        column_name: "pick".to_owned(),
        columns: shown.iter().map(|at| columns[*at].clone()).collect(),
        rows: (0..=last)
            .map(|gold| GridRow {
                label: names[gold].clone(),
                cells: shown.iter().map(|at| cell(gold, *at)).collect(),
            })
            .collect(),
    };
    Some(Figure {
        name: "letters",
        title: "The gold against what was picked".to_owned(),
        says: letters_said(source, last),
        body: Body::Grid(grid),
        legend: Vec::new(),
    })
}

/// Picks and golds of each letter, and what always picking one letter would score.
fn letters_said(source: &Source, last: usize) -> String {
    let letters = &source.run.letters;
    let of = |at: usize| {
        let name = letter(at).unwrap_or('?');
        format!(
            "{name} picked {}, gold {}",
            thousands(letters.picks[at]),
            thousands(letters.gold[at])
        )
    };
    let list: Vec<String> = (0..=last).map(of).collect();
    let best =
        best_constant(source).map(|(name, share)| format!(" Always {name} would score {}.", percent(Some(share))));
    format!(
        "{}; unreadable {}.{}",
        list.join("; "),
        thousands(letters.invalid),
        best.unwrap_or_default()
    )
}

/// The letter that is the gold most often, and what always picking it would score.
fn best_constant(source: &Source) -> Option<(char, f64)> {
    let gold = &source.run.letters.gold;
    let best = (0..26).rev().max_by_key(|at| gold[*at])?;
    Some((letter(best)?, gold[best] as f64 / source.run.n as f64)).filter(|_| gold[best] > 0)
}

/// Shares of confidence that are taken together.
const BINS: usize = 10;

/// Scored rows by how much of the options' probability the picked one had.
pub(super) fn calibration(source: &Source) -> Result<Option<Figure>> {
    let rows: Vec<usize> = source
        .slice
        .iter()
        .filter(|row| source.slice.rows.scored[*row])
        .collect();
    let mut bins = vec![(Clusters::default(), 0.0, 0_usize); BINS];
    for part in rows.chunks(4096) {
        for (row, record) in part.iter().zip(source.trace.texts.records(part)?) {
            let Some(sure) = record.logprobs.as_deref().and_then(confidence) else {
                continue;
            };
            let bin = &mut bins[((sure * BINS as f64) as usize).min(BINS - 1)];
            bin.0.add(1, i64::from(source.slice.rows.correct[*row]));
            bin.1 += sure;
            bin.2 += 1;
        }
    }
    let all: usize = bins.iter().map(|bin| bin.2).sum();
    if all == 0 {
        return Ok(None);
    }
    // The expected calibration error (M. P. Naeini et al., 2015): distances weighed by the rows of their bins.
    let gap = |(clusters, sure, n): &(Clusters, f64, usize)| {
        Some((clusters.mean()? - sure / *n as f64).abs() * *n as f64 / all as f64)
    };
    let error: f64 = bins.iter().filter_map(gap).sum();
    let filled = bins.iter().enumerate().filter(|(_, bin)| bin.2 > 0);
    let drawn: Vec<Row> = filled.filter_map(|(at, bin)| bin_row(at, bin)).collect();
    let said = drawn.iter().map(|row| format!("{}: {}", row.label, row.value));
    Ok(Some(Figure {
        name: "calibration",
        title: format!(
            "How often a pick is right, by how sure it was · expected calibration error {}",
            percent(Some(error))
        ),
        says: format!(
            "Share right in percent by confidence: {}.",
            said.collect::<Vec<_>>().join("; ")
        ),
        body: Body::Chart(Chart {
            axis: Axis::over("confidence", Unit::Percent, [0.0, 1.0]),
            rows: drawn,
            guides: Vec::new(),
        }),
        legend: vec![
            (Ink::Main, "share right, 95 %".to_owned()),
            (Ink::Other, "mean confidence".to_owned()),
        ],
    }))
}

fn bin_row(at: usize, (clusters, sure, n): &(Clusters, f64, usize)) -> Option<Row> {
    let (accuracy, interval) = (clusters.mean()?, clusters.interval()?);
    let sure = Item::Point {
        at: sure / *n as f64,
        ink: Ink::Other,
    };
    let share = Item::Interval {
        low: interval.low,
        at: accuracy,
        high: interval.high,
        ink: Ink::Main,
    };
    Some(Row {
        label: format!("{}-{} %", 100 * at / BINS, 100 * (at + 1) / BINS),
        items: vec![share, sure],
        value: format!("{}  n {}", percent(Some(accuracy)), thousands(*n)),
        filter: None,
    })
}

/// The picked option's part of the probability that all options have: their log-likelihoods through a softmax.
fn confidence(logprobs: &[f32]) -> Option<f64> {
    let values: Vec<f64> = logprobs.iter().map(|value| f64::from(*value)).collect();
    let best = values[argmax_first(&values)?];
    let sum: f64 = values.iter().map(|value| (value - best).exp()).sum();
    (1.0 / sum).is_finite().then_some(1.0 / sum)
}
