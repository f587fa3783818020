//! Reads a run folder or trace and prints accuracy per category and the first unreadable answers.
//!
//! `cargo run --release --example read_run -- PATH [FILTER]`; without a path the recorded demo run.

#![allow(clippy::print_stdout)] // what it shows is its point

use anyhow::Result;
use markbook::filter::{Context, Filter, Mode};
use markbook::stats::{self, percent};
use markbook::{import, store};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next();
    let line = arguments.next().unwrap_or_else(|| "invalid".to_owned());

    let traces = match path {
        Some(path) => import::open(&[path.into()], &import::Options::default())?,
        None => store::recorded_demo()?,
    };
    for trace in &traces {
        println!("{} ({})", trace.name, trace.kind);
        for run in stats::report(trace, None) {
            println!(
                "  accuracy {}%, {} of {} rows [invalid]",
                percent(run.accuracy),
                run.invalid,
                run.n
            );
            for (category, group) in &run.categories {
                println!("  {category:20} {:>6}%  n {}", percent(group.accuracy), group.n);
            }
        }
        // The same words as in the filter line of the screen.
        let filter = Filter::parse(&line, Mode::Strict, &trace.rows)?;
        let rows = filter.select_all(&Context::new(&trace.rows), &*trace.texts)?;
        println!("  {} rows pass `{line}`", rows.len());
        for row in rows.iter().take(3) {
            let record = trace.record(*row as usize)?;
            let end: String = record
                .reasoning
                .chars()
                .rev()
                .take(60)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            println!("  question {} attempt {}: …{end:?}", record.question_id, record.attempt);
        }
    }
    Ok(())
}
