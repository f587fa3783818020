//! A run without a screen: one progress line on a terminal, quiet lines in a pipe; all on standard error.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::sit::thousands;
use crate::run::{Exam, Update};
use crate::stats::wilson;

/// How often a pipe gets a line.
const QUIET: Duration = Duration::from_secs(15);

/// Completions that the rate is taken over.
const RECENT: usize = 200;

/// Counts of one exam.
#[derive(Debug, Default)]
struct Count {
    name: String,
    rows: usize,
    done: usize,
    resumed: usize,
    correct: usize,
    invalid: usize,
}

/// Tells how a run goes.
#[derive(Debug)]
pub(super) struct Plain {
    is_terminal: bool,
    counts: Vec<Count>,
    landed: VecDeque<Instant>,
    shown: Instant,
    status: String,
    width: usize,
    tokens: (u64, u64),
    started: Instant,
}

impl Plain {
    pub(super) fn new() -> Plain {
        let now = Instant::now();
        Plain {
            is_terminal: std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
            counts: Vec::new(),
            landed: VecDeque::new(),
            shown: now.checked_sub(QUIET).unwrap_or(now),
            status: String::new(),
            width: 0,
            tokens: (0, 0),
            started: now,
        }
    }

    pub(super) fn tell(&mut self, update: &Update) {
        match update {
            Update::Status(status) => self.status(status),
            Update::Started { model, dtype, exams } => {
                self.line(&format!("{model} {dtype}"));
                for exam in exams {
                    self.begin(exam);
                }
                self.started = Instant::now();
            }
            Update::Landed { exam, record } => {
                let count = &mut self.counts[*exam];
                count.done += 1;
                count.correct += usize::from(record.correct);
                count.invalid += usize::from(record.is_invalid());
                if count.done > count.resumed {
                    self.landed.push_back(Instant::now());
                    if self.landed.len() > RECENT {
                        self.landed.pop_front();
                    }
                }
                self.progress(false);
            }
            Update::Pulse(pulse) => {
                self.tokens = (pulse.tokens_in, pulse.tokens_out);
                self.progress(false);
            }
            Update::Complete { .. } => self.progress(true),
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
            rows: exam.rows,
            resumed: exam.resumed,
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

    fn progress(&mut self, now: bool) {
        let every = if self.is_terminal {
            Duration::from_millis(200)
        } else {
            QUIET
        };
        if self.counts.is_empty() || !now && self.shown.elapsed() < every {
            return;
        }
        let mut parts: Vec<String> = self.counts.iter().map(Count::render).collect();
        parts.push(self.rate());
        let text = parts.join("  |  ");
        if self.is_terminal {
            self.overwrite(&text);
        } else {
            self.line(&text);
        }
    }

    fn rate(&self) -> String {
        let left: usize = self.counts.iter().map(|count| count.rows - count.done).sum();
        let (Some(first), Some(last)) = (self.landed.front(), self.landed.back()) else {
            return "time left …".to_owned();
        };
        let seconds = last.duration_since(*first).as_secs_f64();
        if self.landed.len() < 8 || seconds < 0.5 {
            return "time left …".to_owned();
        }
        let recent = (self.landed.len() - 1) as f64 / seconds;
        let done: usize = self.counts.iter().map(|count| count.done - count.resumed).sum();
        let overall = done as f64 / self.started.elapsed().as_secs_f64().max(0.001);
        let (slow, fast) = if recent < overall {
            (recent, overall)
        } else {
            (overall, recent)
        };
        format!(
            "{recent:.1} rows/s, left {} ({}-{}), {} tokens in, {} out",
            duration(left as f64 / recent),
            duration(left as f64 / fast),
            duration(left as f64 / slow),
            thousands(self.tokens.0 as usize),
            thousands(self.tokens.1 as usize)
        )
    }

    fn overwrite(&mut self, text: &str) {
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
        let text: String = crate::tui::safe_line(text)
            .chars()
            .take(columns.saturating_sub(1))
            .collect();
        let width = text.chars().count();
        let blank = " ".repeat(self.width.saturating_sub(width));
        let mut out = std::io::stderr().lock();
        let _ = write!(out, "\r{text}{blank}\r");
        let _ = out.flush();
        self.width = width;
        self.shown = Instant::now();
    }

    fn line(&mut self, text: &str) {
        self.clear();
        eprintln!("{}", crate::tui::safe_line(text));
        self.shown = Instant::now();
    }

    fn clear(&mut self) {
        if self.width > 0 {
            eprint!("\r{}\r", " ".repeat(self.width));
            self.width = 0;
        }
    }

    /// Takes the progress line away.
    pub(super) fn end(&mut self) {
        self.clear();
    }
}

impl Count {
    fn render(&self) -> String {
        let share = |part: usize| 100.0 * part as f64 / self.done.max(1) as f64;
        let (low, high) = wilson(self.correct as f64, self.done as f64).unwrap_or((0.0, 1.0));
        format!(
            "{} {}/{} {:.1}% [{:.1}, {:.1}] invalid {:.1}%",
            self.name,
            thousands(self.done),
            thousands(self.rows),
            share(self.correct),
            100.0 * low,
            100.0 * high,
            share(self.invalid)
        )
    }
}

/// Seconds as a person reads them: `42s`, `3m 10s`, `2h 05m`.
fn duration(seconds: f64) -> String {
    let seconds = seconds.clamp(0.0, 1e9) as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}
