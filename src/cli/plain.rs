//! A run without a screen: one progress line on a terminal, quiet lines in a pipe; all on standard error.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use super::say;
use crate::engine::{LanePulse, Pulse};
use crate::record::Record;
use crate::run::failing::Failing;
use crate::run::pace::{Left, Pace, Step, ToCome, Tokens, beside};
use crate::run::{Exam, Update};
use crate::stats::{Growing, Tally, percent};
use crate::text::figures::{brackets, coarse, range, rate};
use crate::text::{duration, safe_line, thousands};

/// How often a pipe gets a line.
const QUIET: Duration = Duration::from_secs(15);

/// One exam's counts and speed. Times are since the first question was asked.
#[derive(Debug, Default)]
struct Count {
    name: String,
    is_cloze: bool,
    rows: usize,
    resumed: usize,
    landed: Growing,
    failing: Failing,
    to_come: ToCome,
    pace: Pace,
    tokens: Tokens,
    completed: Option<Duration>,
}

/// Tells how a run goes.
#[derive(Debug)]
pub(super) struct Plain {
    is_terminal: bool,
    counts: Vec<Count>,
    shown: Instant,
    status: String,
    width: usize,
    started: Instant,
    pulse: Pulse,
}

impl Plain {
    pub(super) fn new() -> Plain {
        let now = Instant::now();
        Plain {
            is_terminal: std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
            counts: Vec::new(),
            shown: now.checked_sub(QUIET).unwrap_or(now),
            status: String::new(),
            width: 0,
            started: now,
            pulse: Pulse::default(),
        }
    }

    pub(super) fn tell(&mut self, update: &Update) {
        match update {
            Update::Status(status) => self.status(status),
            Update::Started {
                model, dtype, exams, ..
            } => {
                self.line(&format!("{model} {dtype}"));
                for exam in exams {
                    self.begin(exam);
                }
                self.started = Instant::now();
            }
            Update::Landed { exam, record } => {
                let now = self.started.elapsed();
                self.counts[*exam].land(record, now);
                self.progress(false);
            }
            Update::Pulse(pulse) => {
                self.pulse = *pulse;
                let now = self.started.elapsed();
                for (count, lane) in self.counts.iter_mut().zip(pulse.lanes) {
                    count.hear(lane, now);
                }
                self.progress(false);
            }
            Update::Complete { exam } => {
                self.counts[*exam].completed = Some(self.started.elapsed());
                self.progress(true);
            }
            Update::Running { .. } | Update::Ended { .. } | Update::Failed(_) => {}
        }
    }

    fn begin(&mut self, exam: &Exam) {
        self.line(&format!(
            "{}: {} · {} questions, {} rows{} → {}",
            exam.benchmark,
            exam.method,
            thousands(exam.questions),
            thousands(exam.rows),
            if exam.resumed > 0 {
                format!(", {} of them done", thousands(exam.resumed))
            } else {
                String::new()
            },
            exam.path.display()
        ));
        self.counts.push(Count {
            name: exam.benchmark.clone(),
            is_cloze: exam.is_cloze,
            rows: exam.rows,
            resumed: exam.resumed,
            to_come: ToCome::new(&exam.subjects),
            ..Count::default()
        });
    }

    fn status(&mut self, status: &str) {
        if self.is_terminal {
            if self.shown.elapsed() > Duration::from_millis(100) {
                self.overwrite(status);
            }
        } else {
            // A pipe hears of each thing once, not of each byte.
            let subject: String = status.chars().take_while(|c| !c.is_ascii_digit()).collect();
            if subject != self.status {
                self.line(status);
                self.status = subject;
            }
        }
    }

    fn progress(&mut self, at_once: bool) {
        let every = if self.is_terminal {
            Duration::from_millis(200)
        } else {
            QUIET
        };
        if self.counts.is_empty() || !at_once && self.shown.elapsed() < every {
            return;
        }
        let (now, lefts) = (self.started.elapsed(), self.time_left());
        let line = |detail: Detail| {
            let exams = self.counts.iter().zip(&lefts);
            let mut parts: Vec<String> = exams.map(|(count, left)| count.render(*left, now, detail)).collect();
            let servers = self.of_servers(now);
            let most = if detail == Detail::All { servers.len() } else { 2 };
            let servers = servers[..most.min(servers.len())].join(" · ");
            parts.extend(Some(servers).filter(|servers| !servers.is_empty()));
            parts.join("  |  ")
        };
        let details = [Detail::All, Detail::NoInterval, Detail::NoSpeed];
        if self.is_terminal {
            let columns = columns();
            let fits = |text: &String| text.chars().count() < columns;
            let text = details.into_iter().map(&line).find(fits);
            let text = text.unwrap_or_else(|| line(Detail::NoSpeed));
            self.overwrite(&text);
        } else {
            let text = line(Detail::All);
            self.line(&text);
            for line in self.pulse.by_server() {
                self.line(&line);
            }
        }
    }

    /// What the servers do, where they compute.
    fn of_servers(&self, now: Duration) -> Vec<String> {
        let left = self.counts.iter().flat_map(|count| count.to_come.rows()).sum();
        let landed = self
            .counts
            .iter()
            .map(|count| count.landed.sum.rows().saturating_sub(count.resumed));
        let rates = self.counts.iter().filter_map(|count| count.tokens.rates(now));
        let out_per_s: f64 = rates.map(|(_, out)| out).sum();
        self.pulse
            .of_servers((left, landed.sum()), Some(out_per_s).filter(|rate| *rate > 0.0))
    }

    /// Time left of each exam, with what the others leave it once they are done.
    fn time_left(&self) -> Vec<Option<Left>> {
        let now = self.started.elapsed();
        let alone: Vec<Option<Left>> = self
            .counts
            .iter()
            .map(|count| {
                let at_work = count.completed.is_none();
                at_work.then(|| count.pace.left(count.to_come.rows(), now)).flatten()
            })
            .collect();
        let beside_others = |exam: usize| {
            let others = alone.iter().enumerate().filter(|(other, _)| *other != exam);
            let others = others.filter_map(|(_, left)| left.map(|left| (left.seconds, 1.0)));
            alone[exam].map(|mine| beside(mine, 1.0, others.collect()))
        };
        (0..alone.len()).map(beside_others).collect()
    }

    fn overwrite(&mut self, text: &str) {
        let text: String = safe_line(text).chars().take(columns().saturating_sub(1)).collect();
        let width = text.chars().count();
        let blank = " ".repeat(self.width.saturating_sub(width));
        say::tell_part(format!("\r{text}{blank}\r"));
        self.width = width;
        self.shown = Instant::now();
    }

    fn line(&mut self, text: &str) {
        self.clear();
        say::tell(safe_line(text));
        self.shown = Instant::now();
    }

    fn clear(&mut self) {
        if self.width > 0 {
            say::tell_part(format!("\r{}\r", " ".repeat(self.width)));
            self.width = 0;
        }
    }

    /// Takes the progress line away.
    pub(super) fn end(&mut self) {
        self.clear();
    }
}

/// How much a progress line tells of an exam.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    NoInterval,
    NoSpeed,
}

/// Columns of the terminal.
fn columns() -> usize {
    crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns))
}

impl Count {
    fn land(&mut self, record: &Record, now: Duration) {
        let row = Tally::one(record.correct, record.is_invalid());
        self.landed.add(record.question_id, row);
        self.failing.hear(record);
        let group = self.to_come.land(&record.category, &record.subject);
        // What a resumed run brought along tells nothing about the speed.
        if self.landed.sum.rows() > self.resumed {
            let cost = f64::from(record.seconds);
            self.pace.add(
                group,
                Step {
                    at: now,
                    cost: if cost.is_finite() { cost.max(0.0) } else { 0.0 },
                    is_correct: record.correct,
                    chars: 0,
                },
            );
        }
    }

    fn hear(&mut self, lane: LanePulse, now: Duration) {
        let pulse = Pulse {
            tokens_in: lane.tokens_in,
            tokens_out: lane.tokens_out,
            ..Pulse::default()
        };
        self.tokens.add(pulse, now);
    }

    fn render(&self, left: Option<Left>, now: Duration, detail: Detail) -> String {
        let (done, planned) = (thousands(self.landed.sum.rows()), thousands(self.rows));
        if let Some(failed) = self.failing.told() {
            return format!("{} {done}/{planned} {failed}", self.name);
        }
        let mut text = format!(
            "{} {done}/{planned} {}%",
            self.name,
            percent(self.landed.sum.accuracy())
        );
        if let Some(interval) = self.landed.sum.interval().filter(|_| detail == Detail::All) {
            text.push_str(&format!(" {}", brackets(Some(interval.limits()))));
        }
        let invalid = percent(self.landed.sum.tally.invalid_rate());
        text.push_str(&format!(" invalid {invalid}%, {}", self.time_left(left)));
        if detail != Detail::NoSpeed {
            text.push_str(&self.speed(now));
        }
        text
    }

    fn time_left(&self, left: Option<Left>) -> String {
        if let Some(completed) = self.completed {
            return format!("none left, took {}", duration(completed));
        }
        left.map_or_else(
            || "time left …".to_owned(),
            |left| {
                let (low, middle, high) = (coarse(left.low), coarse(left.seconds), coarse(left.high));
                format!("left {} ({})", duration(middle), range(low, high))
            },
        )
    }

    /// Questions a second, and tokens a second in and out; averages once the exam is complete.
    fn speed(&self, now: Duration) -> String {
        let last = self.tokens.last();
        let (rows, tokens) = match self.completed {
            Some(completed) => {
                let seconds = completed.as_secs_f64().max(1e-3);
                let rows = (self.landed.sum.rows() - self.resumed) as f64;
                let each = |tokens: u64| tokens as f64 / seconds;
                (
                    Some(rows / seconds),
                    Some((each(last.tokens_in), each(last.tokens_out))),
                )
            }
            None => (self.pace.rate(now), self.tokens.rates(now)),
        };
        let mut text = String::new();
        if let Some(rows) = rows {
            text.push_str(&format!(", {} rows/s", rate(rows)));
        }
        if let Some((tokens_in, tokens_out)) = tokens {
            text.push_str(&format!(", {} tok/s in", rate(tokens_in)));
            if !self.is_cloze {
                text.push_str(&format!(", {} out", rate(tokens_out)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_counts_attempts_by_question_as_every_table_does() {
        let mut count = Count {
            name: "mmlu_pro".to_owned(),
            rows: 100,
            ..Count::default()
        };
        // 20 questions, all attempts right or none: no surer than 20 rows.
        for row in 0..100 {
            let record = Record {
                question_id: row % 20,
                attempt: row / 20,
                pick: if row % 20 < 10 {
                    "A".to_owned()
                } else {
                    "[invalid]".to_owned()
                },
                correct: row % 20 < 10,
                ..Record::default()
            };
            count.land(&record, Duration::from_secs(1));
        }
        let line = count.render(None, Duration::from_secs(2), Detail::All);
        assert!(
            line.starts_with("mmlu_pro 100/100 50.0% [29.9, 70.1] invalid 50.0%"),
            "{line}"
        );
        let short = count.render(None, Duration::from_secs(2), Detail::NoInterval);
        assert!(!short.contains('['), "{short}");
    }
}
