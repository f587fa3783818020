//! The command line: flags in, commands carried out, exit codes.
//!
//! 0 done, 1 failed, 2 wrong usage, 3 a promise of `check --expect` is broken or `gate` found points lost, 4 and 5 its alarm
//! and what it cannot compare, 130 stopped by the user with everything finished so far saved, 143 and 129 the same by SIGTERM
//! and by a closed terminal.

pub mod again;
mod args;
mod baseline;
mod bench;
mod card;
mod check;
mod descent;
mod entering;
mod home;
mod inputs;
mod labels;
mod leaderboard;
mod manifest;
mod named;
mod numbers;
mod plain;
mod plan;
mod prepare;
mod questions;
mod release;
mod report;
mod reports;
mod rules;
mod runs;
mod say;
mod scores;
mod server;
mod server_args;
mod sit;
mod study;
mod suspects;
mod traces;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::files;
use crate::hub::without_passwords;
use crate::stop::Stop;
use crate::text::safe::lines;
use crate::text::safe_line;
use args::{Cli, Command};

/// How a command ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    /// By the user; what was finished is saved.
    Stopped,
    /// By a signal of this number.
    Signal(u8),
    /// With a finding that a script acts on: the exit code says which.
    Found(u8),
}

/// Marks an error as wrong usage: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage;

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrong usage")
    }
}

impl std::error::Error for Usage {}

/// Marks whatever error comes as wrong usage, keeping its words.
pub(crate) fn usage<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| anyhow::Error::new(Usage).context(format!("{error:#}")))
}

/// Reads the command line and carries it out.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            if !error.use_stderr() {
                let _ = error.print();
                return ExitCode::SUCCESS;
            }
            // What a shell made of `*` may hold anything.
            say::tell_part(lines(&error.render().to_string()));
            return ExitCode::from(2);
        }
    };
    let end = carry_out(cli);
    entering::tell_lines();
    match end {
        Ok(End::Done) => ExitCode::SUCCESS,
        Ok(End::Stopped) => ExitCode::from(130),
        Ok(End::Found(code)) => ExitCode::from(code),
        Ok(End::Signal(number)) => ExitCode::from(128_u8.saturating_add(number)),
        Err(error) if say::is_unheard(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let is_usage = error.downcast_ref::<Usage>().is_some();
            let parts: Vec<String> = error
                .chain()
                .filter(|cause| !cause.is::<Usage>())
                .map(|cause| without_frames(&cause.to_string()))
                .collect();
            // An address may have come from a flag or the environment, with a password in it.
            let told = without_passwords(&without_repeats(&parts).join(": "));
            say::tell(format!("markbook: {}", safe_line(&told)));
            ExitCode::from(if is_usage { 2 } else { 1 })
        }
    }
}

/// Some libraries print their stack with the message where RUST_BACKTRACE is set: only the message is for the user, with
/// pipes under the names that they were given.
fn without_frames(text: &str) -> String {
    files::named(text.split("\n   0: ").next().unwrap_or(text).trim_end())
}

/// A cause that its own context already tells is told once.
fn without_repeats(parts: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for part in parts {
        if !kept.iter().any(|before| before.contains(part.as_str())) {
            kept.push(part.clone());
        }
    }
    kept
}

/// Listens for signals; without a screen the first is told here.
fn listen() -> Result<Stop> {
    let stop = Stop::default();
    stop.listen(|_| say::tell(STOPPING), || {})?;
    Ok(stop)
}

/// Told after the first signal.
const STOPPING: &str = "\nstopping at the next token; once more ends at once";

impl End {
    /// How a command ends that was asked to: by a signal, or by the user's key.
    fn asked(stop: &Stop) -> End {
        stop.signal().map_or(End::Stopped, End::Signal)
    }
}

fn carry_out(cli: Cli) -> Result<End> {
    let look = cli.look;
    if look.no_catalogue {
        entering::switch_off();
    }
    match cli.command {
        None if cli.open.is_bare() && crate::tui::can_draw() => home::home(&look),
        None if cli.open.trace.paths == [std::path::Path::new("-")] => home::last(&look),
        None => traces::open(&cli.open, &look),
        Some(Command::Open(args)) => traces::open(&args, &look),
        Some(Command::Demo(args)) => sit::demo(&args, &look),
        Some(Command::Run(args)) => sit::run(&args, &look),
        Some(Command::Export(args)) => traces::export(&args),
        Some(Command::Stats(args)) => reports::stats(&args),
        Some(Command::Rescore(args)) => reports::rescore(&args),
        Some(Command::Compare(args)) => reports::compare(&args),
        Some(Command::Runs(args)) => runs::runs(&args),
        Some(Command::Leaderboard(args)) => leaderboard::leaderboard(&args),
        Some(Command::Add(args)) => runs::add(&args),
        Some(Command::Forget(args)) => runs::forget(&args),
        Some(Command::Catalogue(args)) => runs::catalogue(&args),
        Some(Command::Card(args)) => card::card(&args),
        Some(Command::Check(args)) => check::check(&args),
        Some(Command::Table(args)) => scores::table(&args),
        Some(Command::Baseline(args)) => baseline::baseline(&args),
        Some(Command::Gate(args)) => baseline::gate(&args),
        Some(Command::Plan(args)) => plan::plan(&args),
        Some(Command::Report(args)) => report::report(&args, look.ascii),
        Some(Command::Prompts(args)) => questions::prompts(&args),
        Some(Command::Fetch(args)) => questions::fetch(&args),
        Some(Command::Bench(args)) => bench::bench(&args),
        Some(Command::Probe(args)) => server::probe(&args),
        Some(Command::Labels(args)) => labels::labels(&args),
        Some(Command::Suspects(args)) => suspects::suspects(&args),
        Some(Command::Drop(args)) => descent::drop(&args),
        Some(Command::Spread(args)) => study::spread(&args),
        Some(Command::Study(args)) => study::study(&args),
        Some(Command::Release(args)) => release::release(&args),
    }
}
