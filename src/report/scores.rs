//! The tables: published figures beside ours, and several runs by category.

use super::Scored;
use crate::card::{self, Difference, Verdict};
use crate::compare::Comparison;
use crate::published::Published;
use crate::stats::IntervalKind;
use crate::table::{Cell, Table, number, text};
use crate::text::{count, thousands};

/// Those of the figures that are about a run.
pub fn matching<'a>(published: &'a [Published], run: &Scored) -> Vec<&'a Published> {
    published.iter().filter(|value| value.is_of(&run.card)).collect()
}

/// Each run with the figures published of it: delta with its interval, what differs, and whether the slices are proved equal.
pub fn scores(runs: &[Scored], published: &[Published]) -> Table {
    let columns = vec![
        text("model"),
        text("benchmark"),
        number("published"),
        number("ours"),
        number("95 % of ours").key("ci95_ours"),
        number("delta"),
        number("95 % of delta").key("ci95_delta"),
        number("n"),
        text("what differs").key("differs"),
        text("slice"),
    ];
    let mut table = Table::new("", columns);
    let mut slices: Vec<String> = Vec::new();
    let mut shown: Vec<&Published> = Vec::new();
    for run in runs {
        let slice = run.card.hash(card::Part::Slice).map_or("-", card::short).to_owned();
        let values = matching(published, run);
        let values: Vec<Option<&Published>> = if values.is_empty() {
            vec![None]
        } else {
            values.into_iter().map(Some).collect()
        };
        for value in values {
            let is_again = slices.contains(&slice) && slice != "-";
            table.rows.push(score(run, value, if is_again { "=" } else { &slice }));
            slices.push(slice.clone());
            shown.extend(value);
        }
    }
    table.notes.extend(told(&shown, &table));
    table.notes.extend(grounds(runs));
    table
}

fn score(run: &Scored, value: Option<&Published>, slice: &str) -> Vec<Cell> {
    let (ours, interval) = (run.run.accuracy, run.sum().interval());
    let delta = value.zip(ours).map(|(value, ours)| ours - value.value);
    let limits = value.zip(interval).map(|(value, interval)| interval.less(value.value));
    let is_outside = limits.is_some_and(|limits| limits.low > 0.0 || limits.high < 0.0);
    let mark = if is_outside { "◇ outside" } else { "◇" };
    vec![
        Cell::text(run.model()),
        Cell::text(run.card.text("benchmark")),
        value.map_or(Cell::Nothing, |value| Cell::Points(value.value, mark)),
        Cell::points(ours),
        interval.map_or(Cell::Nothing, |interval| Cell::Limits([interval.low, interval.high])),
        delta.map_or(Cell::Nothing, Cell::Signed),
        limits.map_or(Cell::Nothing, |limits| Cell::SignedLimits([limits.low, limits.high])),
        Cell::Count(run.run.n),
        value.map_or(Cell::Nothing, |value| Cell::text(value.differs(&run.card).join("; "))),
        Cell::text(slice),
    ]
}

/// What marks and sources mean.
fn told(shown: &[&Published], table: &Table) -> Vec<String> {
    let mut notes = Vec::new();
    if shown.is_empty() {
        return notes;
    }
    notes.push(
        "◇ told without rows: taken as exact, its slice cannot be shown; agreement proves little where settings differ"
            .to_owned(),
    );
    let is_outside = |cell: &Cell| matches!(cell, Cell::Points(_, mark) if mark.contains("outside"));
    if table.rows.iter().flatten().any(is_outside) {
        notes.push("outside: beyond the 95 % interval of ours".to_owned());
    }
    let mut sources: Vec<String> = Vec::new();
    for value in shown {
        let how = value.how.as_ref().map(|how| format!(" ({how})")).unwrap_or_default();
        let seen = value
            .seen
            .as_ref()
            .map(|seen| format!(", read {seen}"))
            .unwrap_or_default();
        let line = format!("published: {}{how}{seen}", value.source);
        if !sources.contains(&line) {
            sources.push(line);
        }
    }
    notes.extend(sources);
    notes
}

/// One line on the slice and one on the procedure: what all rows share, or which of them break it.
fn grounds(runs: &[Scored]) -> Vec<String> {
    let Some((first, others)) = runs.split_first() else {
        return Vec::new();
    };
    let hash = |run: &Scored| run.card.hash(card::Part::Slice).map(str::to_owned);
    let broken: Vec<&Scored> = others
        .iter()
        .filter(|run| hash(run).is_none() || hash(run) != hash(first))
        .collect();
    let proof = if first.card.text("data.slice_by") == "doc_hash" {
        "proved by their hashes"
    } else {
        "by their numbers alone"
    };
    let slice = match (hash(first), broken.as_slice()) {
        (None, _) => "no row tells its slice".to_owned(),
        (Some(slice), []) => {
            let questions = count(first.run.questions, "question");
            format!("all rows: slice {}, {questions}, {proof}", card::short(&slice))
        }
        (Some(slice), broken) => {
            let names = broken
                .iter()
                .map(|run| format!("{} ({})", run.title(), thousands(run.run.questions)));
            format!(
                "another slice than {}: {}",
                card::short(&slice),
                names.collect::<Vec<_>>().join(", ")
            )
        }
    };
    let differs = others
        .iter()
        .filter_map(|run| procedure(&card::differ(&first.card, &run.card), run));
    let differs: Vec<String> = differs.collect();
    let unknown = first.card.unknown();
    let mut notes = vec![slice];
    if !others.is_empty() {
        let same = "all rows: the same procedure".to_owned();
        notes.push(if differs.is_empty() {
            same
        } else {
            format!("another procedure than the first row's: {}", differs.join("; "))
        });
    }
    if !unknown.is_empty() {
        notes.push(format!("not known of the procedure: {}", unknown.join(", ")));
    }
    notes
}

fn procedure(difference: &Difference, run: &Scored) -> Option<String> {
    let knobs: Vec<&str> = difference.knobs();
    (!knobs.is_empty()).then(|| format!("{} ({})", run.title(), knobs.join(", ")))
}

/// Runs by category; of two on common questions also their paired difference, second less first.
pub fn by_category(runs: &[Scored]) -> Table {
    let mut columns = vec![text("category"), number("n")];
    for (at, name) in Scored::names(runs, Scored::model).iter().enumerate() {
        let key = format!("run{}", at + 1);
        columns.push(number(name).key(&key));
        columns.push(number("95 %").key(&format!("{key}_ci95")));
    }
    let mut table = Table::new("", columns);
    let pair = paired(runs);
    if pair.is_some() {
        table.columns.extend([
            number("delta"),
            number("95 % of delta").key("ci95_delta"),
            number("p, Holm").key("p_holm"),
        ]);
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.iter().flat_map(|run| &run.run.categories) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let groups = runs.iter().map(|run| {
            run.run
                .categories
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, group)| group)
        });
        let groups: Vec<_> = groups.collect();
        let most = groups.iter().flatten().map(|group| group.n).max().unwrap_or(0);
        let mut row = vec![Cell::text(name), Cell::Count(most)];
        for group in groups {
            row.push(Cell::points(group.and_then(|group| group.accuracy)));
            row.push(group.and_then(|group| group.ci95).map_or(Cell::Nothing, Cell::Limits));
        }
        let part = pair
            .as_ref()
            .map(|pair| pair.categories.iter().find(|part| part.name == *name));
        row.extend(part.into_iter().flat_map(|part| delta(part, |part| part.holm)));
        table.rows.push(row);
    }
    let mut all = vec![
        Cell::text("all"),
        Cell::Count(runs.iter().map(|run| run.run.n).max().unwrap_or(0)),
    ];
    for run in runs {
        all.extend([
            Cell::points(run.run.accuracy),
            run.run.ci95.map_or(Cell::Nothing, Cell::Limits),
        ]);
    }
    all.extend(
        pair.iter()
            .flat_map(|pair| delta(Some(&pair.overall), |all| all.paired.p().0)),
    );
    table.rows.push(all);
    let kind = pair
        .as_ref()
        .and_then(|pair| pair.overall.interval())
        .map(|interval| match interval.kind {
            IntervalKind::Clustered => {
                "delta: second less first over common questions, clustered over their attempts; p of categories by Holm"
            }
            _ => {
                "delta: second less first over common questions (Bonett-Price); p exact McNemar, of categories by Holm"
            }
        });
    table.notes.extend(kind.map(str::to_owned));
    table.notes.extend(grounds(runs));
    table
}

/// Two runs whose questions are common are compared; second less first.
fn paired(runs: &[Scored]) -> Option<Comparison> {
    let [first, second] = runs else { return None };
    let difference = card::differ(&first.card, &second.card);
    let may = difference.verdict != Verdict::NotComparable;
    may.then(|| Comparison::of(&second.rows(), &first.rows()))
        .filter(|pair| pair.overall.counts.pairs() > 0)
}

fn delta(part: Option<&crate::compare::Difference>, p: impl Fn(&crate::compare::Difference) -> f64) -> Vec<Cell> {
    let Some((part, change, interval)) = part.and_then(|part| Some((part, part.difference()?, part.interval()?)))
    else {
        return vec![Cell::Nothing; 3];
    };
    vec![
        Cell::Signed(change),
        Cell::SignedLimits([interval.low, interval.high]),
        Cell::Chance(p(part)),
    ]
}
