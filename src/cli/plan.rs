//! `plan`: how many questions and attempts it takes to see a difference.

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde::Serialize;

use super::reports::put_json;
use super::scores::scored;
use super::{End, say, usage};
use crate::compare::{Comparison, Spread, power_exact, power_normal};
use crate::report::Scored;
use crate::table::{Cell, Format, Table, number, text};
use crate::text::{count, duration, thousands};

/// Questions up to which the exact power is summed.
const EXACT: usize = 5_000;

/// Shares of questions on which two runs differ, with what they are typical of.
const TYPICAL: [(f64, &str); 4] = [
    (0.05, "the same weights in another number format (assumed)"),
    (0.10, "a near build (assumed)"),
    (0.16, "the same model, another seed (derived)"),
    (0.30, "two models of like strength on MMLU-Pro (measured)"),
];

#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// Difference to be seen, in points
    #[arg(long, value_name = "POINTS", default_value_t = 2.0)]
    pub see: f64,
    /// Questions of the exam in hand
    #[arg(long, value_name = "N")]
    pub questions: Option<usize>,
    /// Attempts a question
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub attempts: usize,
    /// Own runs to take the figures from: two that are compared, or one of several attempts
    #[arg(long, value_name = "RUN", num_args = 1..=2)]
    pub like: Vec<String>,
    /// Chance to see a true difference of that size
    #[arg(long, value_name = "SHARE", default_value_t = 0.8)]
    pub power: f64,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// One line of a plan. Shares and differences lie in 0-1.
#[derive(Debug, Clone, Serialize)]
struct Line {
    what: String,
    /// Share of questions on which the two differ; null where several attempts tell their spread.
    discordant: Option<f64>,
    attempts: usize,
    /// Questions that show the difference, and those that exclude it where nothing differs.
    needed: usize,
    rules_out: usize,
    /// Of the exam in hand: the least difference seen, and the chance to see the one asked for.
    least_seen: Option<f64>,
    power: Option<f64>,
    /// Seconds for the questions needed, at the pace of the run that is like it.
    seconds: Option<f64>,
}

pub(super) fn plan(args: &PlanArgs) -> Result<End> {
    let difference = args.see / 100.0;
    let is_right = difference > 0.0 && difference < 0.5 && args.power > 0.0 && args.power < 1.0 && args.attempts > 0;
    usage(if is_right {
        Ok(())
    } else {
        Err(anyhow::anyhow!(
            "--see takes points between 0 and 50, --power a share between 0 and 1, --attempts 1 or more"
        ))
    })?;
    let runs = if args.like.is_empty() {
        Vec::new()
    } else {
        scored(&args.like)?
    };
    let questions = args.questions.or(runs.first().map(|run| run.run.questions));
    let lines = match runs.as_slice() {
        [] => typical(args, difference, questions),
        [one] => vec![like_one(one, args, difference, questions)?],
        [a, b] => vec![like_two(a, b, args, difference, questions)?],
        _ => bail!("--like takes one run or two, of one benchmark each; name their folders"),
    };
    if args.json {
        put_json(&serde_json::json!({"see": difference, "power": args.power, "questions": questions, "lines": lines}))?;
        return Ok(End::Done);
    }
    let table = table(&lines, args, questions);
    say::say(table.write(Format::Term)?.trim_end())?;
    Ok(End::Done)
}

fn line(what: String, spread: Spread, args: &PlanArgs, (difference, questions): (f64, Option<usize>)) -> Line {
    let discordant = match spread {
        Spread::Discordant(share) => Some(share),
        Spread::Attempts { .. } => None,
    };
    let seen = |questions: usize| match discordant {
        Some(share) if share <= difference => 1.0,
        Some(share) if questions <= EXACT => power_exact(questions, share, difference),
        Some(share) => power_normal(questions, share, difference),
        None => crate::stats::normal_above(
            crate::stats::Z - difference / spread.least_seen(questions, 0.5) * crate::stats::Z,
        ),
    };
    Line {
        what,
        discordant,
        attempts: args.attempts,
        needed: spread.needed(difference, args.power),
        rules_out: spread.rules_out(difference, args.power),
        least_seen: questions.map(|questions| spread.least_seen(questions, args.power)),
        power: questions.map(seen),
        seconds: None,
    }
}

/// The four shares of the handbook; with several attempts only the one whose differences are all draws has a known spread.
fn typical(args: &PlanArgs, difference: f64, questions: Option<usize>) -> Vec<Line> {
    let of = |(share, what): (f64, &str)| match args.attempts {
        1 => line(
            what.to_owned(),
            Spread::Discordant(share),
            args,
            (difference, questions),
        ),
        attempts => line(
            what.to_owned(),
            Spread::Attempts {
                between: 0.0,
                within: share / attempts as f64,
            },
            args,
            (difference, questions),
        ),
    };
    let all = TYPICAL
        .into_iter()
        .filter(|(_, what)| args.attempts == 1 || what.contains("another seed"));
    all.map(of).collect()
}

/// Another draw of the seeds of one run: 2 within of the questions differ.
fn like_one(run: &Scored, args: &PlanArgs, difference: f64, questions: Option<usize>) -> Result<Line> {
    let Some(within) = run.run.within else {
        bail!(
            "{} has one attempt a question: name two runs, or one of several attempts",
            run.title()
        );
    };
    let spread = match args.attempts {
        1 => Spread::Discordant(2.0 * within),
        attempts => Spread::Attempts {
            between: 0.0,
            within: 2.0 * within / attempts as f64,
        },
    };
    let mut line = line(
        format!("{}, another draw of its seeds", run.title()),
        spread,
        args,
        (difference, questions),
    );
    line.seconds = pace(run).map(|pace| pace * (line.needed * args.attempts) as f64);
    Ok(line)
}

fn like_two(a: &Scored, b: &Scored, args: &PlanArgs, difference: f64, questions: Option<usize>) -> Result<Line> {
    let overall = Comparison::of(&a.rows(), &b.rows()).overall;
    ensure!(
        overall.paired.questions() > 1,
        "{} and {} have no questions in common",
        a.title(),
        b.title()
    );
    ensure!(
        overall.paired.discordant() != Some((0, 0)),
        "{} and {} answer all {} common questions alike, which tells nothing of how far they differ on more; without --like the typical shares are shown",
        a.title(),
        b.title(),
        overall.paired.questions()
    );
    let spread = match overall.paired.discordant() {
        Some((more, less)) if args.attempts == 1 => {
            Spread::Discordant((more + less) as f64 / overall.paired.questions() as f64)
        }
        _ => {
            let within = [a, b].map(|run| (run.run.within.unwrap_or(0.0), run.run.seeds.len().max(1) as f64));
            let own: f64 = within.iter().map(|(within, attempts)| within / attempts).sum();
            let all = overall.paired.variance().unwrap_or(0.0);
            let added: f64 = within.iter().map(|(within, _)| within / args.attempts as f64).sum();
            Spread::Attempts {
                between: (all - own).max(0.0),
                within: added,
            }
        }
    };
    let mut line = line(
        format!("{} and {}", a.title(), b.title()),
        spread,
        args,
        (difference, questions),
    );
    line.seconds = pace(b).map(|pace| pace * (line.needed * args.attempts) as f64);
    Ok(line)
}

/// Seconds a row.
fn pace(run: &Scored) -> Option<f64> {
    let wall = run.trace.ours()?.timing.wall_s;
    (wall > 0.0 && run.run.n > 0).then(|| wall / run.run.n as f64)
}

fn table(lines: &[Line], args: &PlanArgs, questions: Option<usize>) -> Table {
    let mut columns = vec![
        text("as between"),
        number("differ on"),
        number("questions needed"),
        number("to rule out"),
        number("prompts"),
    ];
    if let Some(questions) = questions {
        columns.push(number(&format!("least seen on {}", thousands(questions))));
        columns.push(number("power there"));
    }
    let title = format!(
        "to see {} points with {:.0} % power at 5 %, {} a question",
        args.see,
        100.0 * args.power,
        count(args.attempts, "attempt")
    );
    let mut table = Table::new(title, columns);
    for line in lines {
        let share =
            |share: Option<f64>| share.map_or(Cell::Nothing, |share| Cell::text(format!("{:.1} %", 100.0 * share)));
        let mut row = vec![
            Cell::text(&line.what),
            share(line.discordant),
            Cell::Count(line.needed),
            Cell::Count(line.rules_out),
            Cell::Count(line.needed * line.attempts),
        ];
        if questions.is_some() {
            row.push(line.least_seen.map_or(Cell::Nothing, |least| Cell::Points(least, "")));
            row.push(share(line.power));
        }
        table.rows.push(row);
        let time = line
            .seconds
            .map(|seconds| duration(std::time::Duration::from_secs_f64(seconds)));
        table
            .notes
            .extend(time.map(|time| format!("at that run's pace: {time} for the questions needed")));
    }
    table.notes.push(
        "questions needed: n = (z.975 + z.power)^2 V / d^2 (Miller 2024); to rule out: where nothing differs"
            .to_owned(),
    );
    table
}
