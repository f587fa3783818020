//! `leaderboard`: runs of one measurement, placed by intervals.

use std::io::Write;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::args::LeaderboardArgs;
use super::reports::put_json;
use super::runs::list;
use super::{End, entering, named, say, traces, usage};
use crate::catalogue::{Listed, Words};
use crate::leaderboard::{self, Group, Place};
use crate::stats::Tally;
use crate::table::{Cell, Format, Table, number, text};
use crate::text::safe_line;
use crate::trace::Rows;
use crate::{card, compare};

pub(super) fn leaderboard(args: &LeaderboardArgs) -> Result<End> {
    let words = usage(Words::parse(args.filter.as_deref().unwrap_or_default()))?;
    let format = usage(args.format.as_deref().map_or(Ok(Format::Term), Format::parse))?;
    let mut entries = list()?;
    let like = match &args.like {
        Some(name) => {
            let Some(catalogue) = entering::readable()? else {
                bail!("no run is in the catalogue yet")
            };
            Some(named::entry(&catalogue, name)?)
        }
        None => None,
    };
    entries.retain(|entry| words.hold(entry));
    let measurement = |group: &Group| {
        like.as_ref()
            .is_none_or(|like| group.entries[0].measurement() == like.measurement())
    };
    let mut groups = leaderboard::groups(entries, args.all);
    let others = if args.common { groups.clone() } else { Vec::new() };
    groups.retain(measurement);
    if groups.is_empty() {
        bail!("no finished run of such a measurement is in the catalogue (markbook runs --print lists what is)");
    }
    let placed: Vec<Placed> = groups
        .into_iter()
        .map(|group| place(group, &others))
        .collect::<Result<_>>()?;
    if args.json {
        put_json(&json!({ "measurements": placed.iter().map(as_json).collect::<Vec<_>>() }))?;
        return Ok(End::Done);
    }
    let tables = placed.iter().map(|placed| board(placed).write(format));
    let written = tables.collect::<Result<Vec<_>>>()?.join("\n");
    match &args.output {
        Some(path) if path.exists() && !args.force => bail!("{} exists; --force replaces it", path.display()),
        Some(path) => crate::files::write_aside(path, written.as_bytes())?,
        None => {
            let mut out = say::out();
            out.write_all(written.as_bytes())?;
            out.flush()?;
        }
    }
    Ok(End::Done)
}

/// A measurement's runs with their places.
struct Placed {
    group: Group,
    places: Vec<Place>,
    /// Runs of the same procedure over other questions: their right rows, and all, of those that the first one has too.
    others: Vec<(Listed, Tally)>,
}

fn place(group: Group, others: &[Group]) -> Result<Placed> {
    let rows: Vec<Rows> = group.entries.iter().map(rows_of).collect::<Result<_>>()?;
    let places = leaderboard::places(&rows.iter().collect::<Vec<_>>());
    let (benchmark, procedure, slice) = group.entries[0].measurement();
    let is_other = |entry: &&Listed| {
        let (own_benchmark, own_procedure, own_slice) = entry.measurement();
        (own_benchmark, own_procedure) == (benchmark, procedure) && own_slice != slice
    };
    let mut common = Vec::new();
    for entry in others.iter().flat_map(|other| &other.entries).filter(is_other) {
        let theirs = rows_of(entry)?;
        let mut tally = Tally::default();
        for (_, row) in compare::pair(&rows[0], &theirs).pairs {
            tally += Tally::one(theirs.correct[row as usize], theirs.is_invalid(row as usize));
        }
        common.push((entry.clone(), tally));
    }
    common.retain(|(_, tally)| tally.n > 0);
    Ok(Placed {
        places,
        others: common,
        group,
    })
}

/// An entry's rows of its benchmark.
fn rows_of(entry: &Listed) -> Result<Rows> {
    let opened = match &entry.path {
        Some(path) => traces::open_stored(&super::args::TraceArgs::at(vec![path.clone()]))?,
        None => crate::store::recorded_demo()?,
    };
    for trace in &opened {
        let names = &trace.rows.benchmark;
        let is_own = |row: &usize| {
            let name = names.get(*row);
            let name = name.strip_prefix("leaderboard_").unwrap_or(name);
            name == entry.benchmark || name.is_empty() && entry.benchmark == "trace"
        };
        let own: Vec<usize> = (0..trace.rows.len()).filter(is_own).collect();
        if own.len() == entry.rows {
            let mut rows = Rows::default();
            own.into_iter().for_each(|row| rows.push_row(&trace.rows, row));
            return Ok(rows);
        }
    }
    bail!(
        "{}: its {} rows are not where they were entered; markbook add enters them anew",
        entry.run_id,
        entry.rows
    )
}

fn title(entry: &Listed) -> String {
    let (benchmark, procedure, slice) = entry.measurement();
    let temperature = entry
        .temperature
        .as_deref()
        .filter(|temperature| *temperature != card::NONE);
    let drawn = temperature.map_or_else(String::new, |temperature| format!(" T {temperature}"));
    let told = [&entry.style, &entry.shots].map(|field| field.as_deref().unwrap_or("?"));
    let unknown = if entry.unknown > 0 {
        format!(", {} fields unknown", entry.unknown)
    } else {
        String::new()
    };
    format!(
        "{benchmark} · {} {}-shot{drawn} · P {} S {}{unknown} · {} questions x {}",
        told[0],
        told[1],
        card::short(procedure),
        card::short(slice),
        entry.questions,
        entry.attempts
    )
}

fn board(Placed { group, places, others }: &Placed) -> Table {
    let columns = vec![
        text("place"),
        text("model"),
        number("accuracy"),
        number("95 %").key("ci95"),
        number("[invalid]").key("invalid"),
        number("rows"),
        text("date"),
        text("E").key("environment"),
        text("run"),
    ];
    let mut table = Table::new(safe_line(&title(&group.entries[0])), columns);
    for (entry, place) in group.entries.iter().zip(places) {
        let invalid = (entry.rows > 0).then(|| entry.invalid as f64 / entry.rows as f64);
        table.rows.push(vec![
            Cell::text(place.to_string()),
            Cell::text(&entry.model),
            Cell::points(entry.accuracy),
            entry
                .low
                .zip(entry.high)
                .map_or(Cell::Nothing, |(low, high)| Cell::Limits([low, high])),
            Cell::points(invalid),
            Cell::Count(entry.rows),
            Cell::text(entry.created_at.get(..10).unwrap_or_default()),
            Cell::text(card::short(&entry.environment)),
            Cell::text(&entry.run_id),
        ]);
    }
    for (entry, tally) in others {
        table.rows.push(vec![
            Cell::text("-"),
            Cell::text(&entry.model),
            Cell::points(tally.accuracy()),
            Cell::Nothing,
            Cell::points(tally.invalid_rate()),
            Cell::Count(tally.n),
            Cell::text(entry.created_at.get(..10).unwrap_or_default()),
            Cell::text(card::short(&entry.environment)),
            Cell::text(&entry.run_id),
        ]);
    }
    if !others.is_empty() {
        let note = "place -: over other questions; counted over those that it has in common with the first";
        table.notes.push(note.to_owned());
    }
    if group.entries.len() > 1 {
        let how = "places by all pairs (exact McNemar, or over questions with attempts), Holm at 0.05; order within a tie says nothing";
        table.notes.push(how.to_owned());
    }
    table
}

fn as_json(Placed { group, places, others }: &Placed) -> Value {
    let (benchmark, procedure, slice) = group.entries[0].measurement();
    let entries = group.entries.iter().zip(places);
    let entries = entries.map(|(entry, place)| json!({ "place": [place.first, place.last], "run": entry }));
    json!({
        "benchmark": benchmark, "procedure": procedure, "slice": slice,
        "unknown": group.entries[0].unknown, "entries": entries.collect::<Vec<_>>(),
        "common": others.iter().map(|(entry, tally)| json!({"n": tally.n, "correct": tally.correct, "run": entry})).collect::<Vec<_>>(),
    })
}
