//! How long outputs are, by outcome.

use super::{Outcomes, Source};
use crate::figure::{Axis, Body, Chart, Figure, Ink, Item, Row, Unit};
use crate::text::thousands;

/// Lengths are taken together up to these; the last is without an end.
const ENDS: [u32; 12] = [
    50, 100, 200, 500, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 20_000,
];

pub(super) fn lengths(source: &Source) -> Option<Figure> {
    let rows = source.slice.rows;
    let mut bins = [Outcomes::default(); ENDS.len() + 1];
    for row in source.slice.iter().filter(|row| !rows.scored[*row]) {
        let at = ENDS.partition_point(|end| *end <= rows.chars[row]);
        bins[at].add(source, row);
    }
    let most = bins.iter().map(|bin| bin.all()).max().filter(|most| *most > 0)?;
    let (first, last) = (
        bins.iter().position(|bin| bin.all() > 0)?,
        bins.iter().rposition(|bin| bin.all() > 0)?,
    );
    let drawn: Vec<Row> = (first..=last).map(|at| bin_row(at, bins[at])).collect();
    let said = drawn.iter().map(|row| format!("{}: {}", row.label, row.value));
    Some(Figure {
        name: "lengths",
        title: "Characters of the outputs, by outcome".to_owned(),
        says: format!("Rows by length and outcome: {}.", said.collect::<Vec<_>>().join("; ")),
        body: Body::Chart(Chart {
            axis: Axis::over("rows", Unit::Number, [0.0, most as f64]),
            rows: drawn,
            guides: Vec::new(),
        }),
        legend: vec![
            (Ink::Right, "right".to_owned()),
            (Ink::Wrong, "wrong letter".to_owned()),
            (Ink::Invalid, "[invalid]".to_owned()),
        ],
    })
}

fn bin_row(at: usize, outcomes: Outcomes) -> Row {
    let from = if at == 0 { 0 } else { ENDS[at - 1] };
    let (label, filter) = match ENDS.get(at) {
        Some(end) => (
            format!("{}-{}", thousands(from as usize), thousands(*end as usize - 1)),
            format!("chars:{from}-{}", end - 1),
        ),
        None => (
            format!("{} and more", thousands(from as usize)),
            format!("chars>={from}"),
        ),
    };
    let mut start = 0.0;
    let inks = [Ink::Right, Ink::Wrong, Ink::Invalid];
    let items = outcomes.0.into_iter().zip(inks).map(|(count, ink)| {
        let from = start;
        start += count as f64;
        Item::Bar { from, to: start, ink }
    });
    let [right, wrong, invalid] = outcomes.0.map(thousands);
    let items = items.collect();
    Row {
        label,
        items,
        value: format!("{right} right, {wrong} wrong, {invalid} [invalid]"),
        filter: Some(filter),
    }
}
