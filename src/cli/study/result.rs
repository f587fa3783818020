//! What the cells of a study say together.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use super::super::reports::put_json;
use super::super::say;
use super::Sat;
use crate::benchmark::tested24;
use crate::charts::{self, Dot};
use crate::extract::Rule;
use crate::figure::{Figure, Guide, Ink, SvgKind};
use crate::files;
use crate::rescore::rescore;
use crate::stats::{Tally, percent};
use crate::store;
use crate::study::{Outcomes, Part, Spread};
use crate::text::{count, safe_line, thousands};
use crate::trace::Trace;

#[derive(Debug, Serialize)]
struct Told {
    folder: String,
    model: String,
    benchmark: String,
    /// Cells with answers, of all.
    done: usize,
    of: usize,
    cells: Vec<CellResult>,
    /// Null for fewer than two cells.
    spread: Option<Spread>,
    /// The names of the two ways of `spread.two_way`.
    ways: [String; 2],
    /// Each knob's values against the base, largest first; of one-at-a-time designs.
    moves: Vec<Move>,
    split_file: Option<String>,
}

#[derive(Debug, Serialize)]
struct CellResult {
    name: String,
    values: Vec<(String, String)>,
    run: String,
    rows: usize,
    correct: usize,
    invalid: usize,
    accuracy: Option<f64>,
}

/// A cell against the base, paired by question.
#[derive(Debug, Serialize)]
struct Move {
    cell: String,
    difference: Option<f64>,
    ci95: Option<[f64; 2]>,
    p: f64,
}

/// The traces of the cells that have answers, read by their rules, with the cells' places.
fn opened(sat: &Sat) -> Result<Vec<(usize, Trace)>> {
    let mut traces = Vec::new();
    for (at, cell) in sat.cells.iter().enumerate() {
        let folder = &sat.runs[sat.run_of[at]].folder;
        if !store::is_run(folder) {
            continue;
        }
        let mut trace = store::open(folder)?;
        if trace.rows.is_empty() {
            continue;
        }
        if let Some(rule) = cell.get("rule") {
            rescore(&mut trace, &Rule::parse(rule)?)?;
        }
        traces.push((at, trace));
    }
    Ok(traces)
}

/// Whether the cells are the 24 styles, which have no base.
fn is_spread(sat: &Sat) -> bool {
    matches!(&sat.study.knobs[..], [only] if only.values.len() == tested24::COUNT && only.values[0].starts_with(tested24::PREFIX))
}

/// What the two ways of that shape are called.
fn ways(sat: &Sat) -> [String; 2] {
    match &sat.study.knobs[..] {
        [first, second, ..] => [first.name.clone(), second.name.clone()],
        _ => ["opening".to_owned(), "format".to_owned()],
    }
}

/// The two-way shape of all cells: openings by formats, or two knobs in full.
fn shape(sat: &Sat, done: usize) -> Option<(usize, usize)> {
    if done < sat.cells.len() {
        return None;
    }
    match &sat.study.knobs[..] {
        _ if is_spread(sat) => Some((4, 6)),
        [first, second] if sat.study.full => Some((first.values.len(), second.values.len())),
        _ => None,
    }
}

/// What the cells that are complete say already.
pub(super) fn spread_so_far(sat: &Sat) -> Option<Spread> {
    let traces = opened(sat).ok()?;
    let complete = traces
        .iter()
        .filter(|(at, _)| super::is_complete(&sat.runs[sat.run_of[*at]].folder));
    let rows: Vec<_> = complete.map(|(_, trace)| &trace.rows).collect();
    Spread::of(&Outcomes::of(&rows), None)
}

pub(super) fn tell(sat: &Sat, svg: Option<&Path>, json: bool) -> Result<()> {
    let traces = opened(sat)?;
    let outcomes = Outcomes::of(&traces.iter().map(|(_, trace)| &trace.rows).collect::<Vec<_>>());
    let result = result(sat, &traces, &outcomes)?;
    if let Some((path, figure)) = svg.zip(result.figure()) {
        files::write_aside(path, figure.svg(SvgKind::File).as_bytes())?;
    }
    if json {
        return put_json(&result);
    }
    let mut out = say::out();
    result.write(&mut out)?;
    out.flush()?;
    Ok(())
}

fn result(sat: &Sat, traces: &[(usize, Trace)], outcomes: &Outcomes) -> Result<Told> {
    let cell = |(at, trace): &(usize, Trace)| {
        let mut tally = Tally::default();
        (0..trace.rows.len()).for_each(|row| tally += Tally::one(trace.rows.correct[row], trace.rows.is_invalid(row)));
        CellResult {
            name: sat.cells[*at].name.clone(),
            values: sat.cells[*at].values.clone(),
            run: sat.runs[sat.run_of[*at]].folder.display().to_string(),
            rows: tally.n,
            correct: tally.correct,
            invalid: tally.invalid,
            accuracy: tally.accuracy(),
        }
    };
    let split = outcomes.split();
    let split_file = (!split.is_empty()).then(|| sat.folder.join(store::SPLIT));
    if let Some(path) = &split_file {
        let ids: String = split.iter().map(|id| format!("{id}\n")).collect();
        files::write_aside(path, ids.as_bytes()).context("the list of questions that depend on the cell")?;
    }
    let settings = traces.first().and_then(|(_, trace)| Some(&trace.ours()?.settings));
    Ok(Told {
        folder: sat.folder.display().to_string(),
        model: settings.map(|settings| settings.model.name.clone()).unwrap_or_default(),
        benchmark: settings.map(|settings| settings.benchmark.clone()).unwrap_or_default(),
        done: traces.len(),
        of: sat.cells.len(),
        cells: traces.iter().map(cell).collect(),
        spread: Spread::of(outcomes, shape(sat, traces.len())),
        ways: ways(sat),
        moves: moves(sat, traces, outcomes),
        split_file: split_file.map(|path| path.display().to_string()),
    })
}

/// The cells of a one-at-a-time design against its base, the largest difference first.
fn moves(sat: &Sat, traces: &[(usize, Trace)], outcomes: &Outcomes) -> Vec<Move> {
    if sat.study.full || is_spread(sat) || traces.first().is_none_or(|(at, _)| *at != 0) {
        return Vec::new();
    }
    let mut moves: Vec<Move> = (1..traces.len())
        .map(|place| {
            let paired = outcomes.pair(place, 0);
            Move {
                cell: sat.cells[traces[place].0].name.clone(),
                difference: paired.difference(),
                ci95: paired.interval().map(|interval| [interval.low, interval.high]),
                p: paired.p().0,
            }
        })
        .collect();
    let size = |one: &Move| one.difference.unwrap_or_default().abs();
    moves.sort_by(|a, b| size(b).total_cmp(&size(a)));
    moves
}

fn signed(points: f64) -> String {
    format!("{:+.1}", 100.0 * points)
}

fn brackets(ci95: Option<[f64; 2]>) -> String {
    ci95.map_or_else(String::new, |[low, high]| {
        format!("[{}, {}]", signed(low), signed(high))
    })
}

impl Told {
    /// The cells with the intervals of their differences from the mean of all, around that mean.
    fn figure(&self) -> Option<Figure> {
        let spread = self.spread.as_ref()?;
        let dot = |(at, cell): (usize, &CellResult)| {
            let mean = &spread.cells[at];
            let [low, high] = mean.ci95.unwrap_or([mean.difference; 2]);
            let end = match at {
                at if at == spread.best => "most",
                at if at == spread.worst => "least",
                _ => "",
            };
            let unread = if cell.invalid > 0 {
                format!("{} [invalid]", thousands(cell.invalid))
            } else {
                String::new()
            };
            Dot {
                name: cell.name.replace("style=tested24_", ""),
                accuracy: mean.accuracy,
                limits: [(spread.mean + low).max(0.0), (spread.mean + high).min(1.0)],
                ink: if end.is_empty() { Ink::Main } else { Ink::Other },
                remark: [end, &unread]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join("  "),
                filter: None,
            }
        };
        let dots: Vec<Dot> = self.cells.iter().enumerate().map(dot).collect();
        let title = format!(
            "Accuracy of {} on {}, paired with the mean of the cells",
            self.model, self.benchmark
        );
        let mean = Guide {
            at: spread.mean,
            name: format!("mean {}", percent(Some(spread.mean))),
        };
        Some(charts::dots("spread", &title, &dots, vec![mean]))
    }

    fn write(&self, out: &mut impl Write) -> Result<()> {
        let questions = self.spread.as_ref().map_or(0, |spread| spread.questions);
        writeln!(
            out,
            "{} · {} · {} common · {} of {} done",
            safe_line(&self.model),
            safe_line(&self.benchmark),
            count(questions, "question"),
            self.done,
            count(self.of, "cell")
        )?;
        self.table(out)?;
        if let Some(figure) = self.figure() {
            let width = crossterm::terminal::size()
                .map_or(80, |(width, _)| usize::from(width))
                .min(120);
            write!(out, "{}", figure.text(width, false))?;
        }
        for one in &self.moves {
            let difference = one.difference.map_or_else(|| "-".to_owned(), signed);
            writeln!(
                out,
                "  {:32}  {difference:>6} {:16}  p {:.2e}",
                safe_line(&one.cell),
                brackets(one.ci95),
                one.p
            )?;
        }
        if let Some(spread) = &self.spread {
            summary(spread, &self.ways, out)?;
        }
        if let Some(file) = &self.split_file {
            writeln!(out, "questions that depend on the cell: -f q:@{}", safe_line(file))?;
        }
        Ok(())
    }

    fn table(&self, out: &mut impl Write) -> Result<()> {
        let width = self
            .cells
            .iter()
            .map(|cell| cell.name.chars().count())
            .max()
            .unwrap_or(0)
            .clamp(4, 60);
        writeln!(
            out,
            "  {:width$}  {:>6}  {:>6}  {:16}  {:>9}",
            "cell", "%", "mean", "95 %", "[invalid]"
        )?;
        for (at, cell) in self.cells.iter().enumerate() {
            let mean = self.spread.as_ref().map(|spread| &spread.cells[at]);
            let end = match &self.spread {
                Some(spread) if spread.best == at => "  most",
                Some(spread) if spread.worst == at => "  least",
                _ => "",
            };
            writeln!(
                out,
                "  {:width$}  {:>6}  {:>6}  {:16}  {:>9}{end}",
                safe_line(&cell.name),
                percent(cell.accuracy),
                mean.map_or_else(String::new, |mean| signed(mean.difference)),
                brackets(mean.and_then(|mean| mean.ci95)),
                thousands(cell.invalid)
            )?;
        }
        Ok(())
    }
}

fn summary(spread: &Spread, ways: &[String; 2], out: &mut impl Write) -> Result<()> {
    let q = match (spread.cochran_q, spread.cochran_p) {
        (Some(q), Some(p)) => format!(" · Cochran Q {q:.1}, {} df, p {p:.2e}", spread.cochran_df),
        _ => String::new(),
    };
    writeln!(
        out,
        "range {:.1} points, of which {:.1} would show by chance · spread beyond chance ±{:.1} points{q}",
        100.0 * spread.range,
        100.0 * spread.range_by_chance,
        100.0 * spread.std_beyond_chance
    )?;
    if let Some(two) = &spread.two_way {
        let share = |part: &Part| format!("{:.0} %", 100.0 * part.share_beyond_chance);
        writeln!(
            out,
            "share of what is beyond chance: {} {}, {} {}, together {} (F p {:.1e}, {:.1e}, {:.1e})",
            safe_line(&ways[0]),
            share(&two.first),
            safe_line(&ways[1]),
            share(&two.second),
            share(&two.both),
            two.first.p,
            two.second.p,
            two.both.p
        )?;
    }
    let against = &spread.best_against_worst;
    writeln!(
        out,
        "{} % of questions depend on the cell · two cells agree on {} % · best against worst {} {}, p {:.1e}, chosen after looking",
        percent(Some(spread.depends_on_style)),
        percent(Some(spread.consistency)),
        signed(against.difference),
        brackets(against.ci95),
        against.p
    )?;
    Ok(())
}
