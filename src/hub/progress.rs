//! What is told while something is fetched, and how it reads on one line.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::text::{duration, unit};

/// What is told while something is fetched, some ten times a second.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// A server or program was asked and has not answered for so many seconds.
    Connecting { what: String, seconds: f64 },
    /// A file is coming.
    File {
        /// The model or data set it belongs to.
        what: String,
        name: String,
        /// The file's place among those to be fetched, from 1.
        index: usize,
        of: usize,
        /// Bytes here so far, those of an earlier start included.
        bytes: u64,
        total: Option<u64>,
        bytes_per_s: f64,
        left_s: Option<f64>,
    },
    /// A file's checksum is being computed.
    Verifying { name: String, bytes: u64, total: u64 },
    /// Something worth a line of its own.
    Note(String),
}

/// Where the watcher broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped before everything was here")
    }
}

impl std::error::Error for Stopped {}

impl fmt::Display for Progress {
    /// One status line, such as `SmolLM2…  model.safetensors 1/3  45.2 / 93.1 MB  12.3 MB/s  left 4s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Connecting { what, seconds } if *seconds < 1.0 => write!(f, "{what}…"),
            Progress::Connecting { what, seconds } => write!(f, "{what}…  {seconds:.0} s"),
            Progress::File {
                what,
                name,
                index,
                of,
                bytes,
                total,
                bytes_per_s,
                left_s,
            } => {
                write!(f, "{what}…  {name} {index}/{of}  {}", render_share(*bytes, *total))?;
                if *bytes_per_s > 0.0 {
                    let (unit, size) = unit(*bytes_per_s as u64);
                    write!(f, "  {:.1} {unit}/s", bytes_per_s / size)?;
                }
                match left_s {
                    Some(left) => write!(
                        f,
                        "  left {}",
                        duration(Duration::from_secs_f64(left.ceil().clamp(0.0, 1e9)))
                    ),
                    None => Ok(()),
                }
            }
            Progress::Verifying { name, bytes, total } => {
                write!(f, "checking {name}…  {}", render_share(*bytes, Some(*total)))
            }
            Progress::Note(text) => f.write_str(text),
        }
    }
}

/// `45.2 / 93.1 MB`, in the unit of the larger one; units are decimal.
pub(super) fn render_share(bytes: u64, total: Option<u64>) -> String {
    let (unit, size) = unit(total.unwrap_or(bytes));
    let digits = usize::from(size > 1.0);
    let bytes = bytes as f64 / size;
    match total {
        Some(total) => format!("{bytes:.digits$} / {:.digits$} {unit}", total as f64 / size),
        None => format!("{bytes:.digits$} {unit}"),
    }
}

/// How often a watcher hears of the same thing.
const BEAT: Duration = Duration::from_millis(100);

/// A watcher that is not told the same thing more often than it can be read.
pub(super) struct Watch<'a> {
    watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    last: Option<Instant>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>) -> Watch<'a> {
        Watch { watch, last: None }
    }

    /// Tells at once.
    pub(super) fn tell(&mut self, progress: Progress) -> Result<(), Stopped> {
        self.last = Some(Instant::now());
        match (self.watch)(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped),
        }
    }

    /// Tells when a beat has passed since the last word.
    pub(super) fn beat(&mut self, progress: impl FnOnce() -> Progress) -> Result<(), Stopped> {
        match self.last {
            Some(last) if last.elapsed() < BEAT => Ok(()),
            _ => self.tell(progress()),
        }
    }

    /// Waits, telling on every beat.
    pub(super) fn sleep(&mut self, time: Duration, progress: impl Fn() -> Progress) -> Result<(), Stopped> {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            std::thread::sleep(left.min(BEAT));
            self.beat(&progress)?;
        }
        Ok(())
    }

    /// Does blocking work on a thread of its own, so that a break is heard while it hangs in a name look-up or a dead
    /// connection; the thread then ends by its own time-outs, unheard.
    pub(super) fn wait_for<T: Send + 'static>(
        &mut self,
        what: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let start = Instant::now();
        let (sender, receiver) = channel();
        std::thread::spawn(move || sender.send(work()));
        loop {
            match receiver.recv_timeout(BEAT) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = start.elapsed().as_secs_f64();
                    self.beat(|| Progress::Connecting {
                        what: what.to_owned(),
                        seconds,
                    })?;
                }
                // The work panicked, and its message stands on the terminal.
                Err(RecvTimeoutError::Disconnected) => return Err(Stopped),
            }
        }
    }
}

/// One file on its way, as its progress is told.
pub(super) struct Coming<'a> {
    pub(super) what: &'a str,
    pub(super) name: &'a str,
    pub(super) index: usize,
    pub(super) of: usize,
    pub(super) total: Option<u64>,
    /// When how many bytes were here: what the rate of the last seconds is taken from.
    seen: VecDeque<(Instant, u64)>,
}

impl<'a> Coming<'a> {
    pub(super) fn new(what: &'a str, name: &'a str, index: usize, of: usize, total: Option<u64>) -> Coming<'a> {
        Coming {
            what,
            name,
            index,
            of,
            total,
            seen: VecDeque::new(),
        }
    }

    /// The progress with so many bytes here; the rate is that of the last five seconds.
    pub(super) fn at(&mut self, bytes: u64) -> Progress {
        let moment = Instant::now();
        if self.seen.back().is_some_and(|(_, before)| *before > bytes) {
            self.seen.clear();
        }
        self.seen.push_back((moment, bytes));
        while self
            .seen
            .front()
            .is_some_and(|(then, _)| moment - *then > Duration::from_secs(5))
            && self.seen.len() > 2
        {
            self.seen.pop_front();
        }
        let (then, before) = self.seen[0];
        let seconds = (moment - then).as_secs_f64();
        let bytes_per_s = if seconds > 0.0 {
            (bytes - before) as f64 / seconds
        } else {
            0.0
        };
        let left = self.total.map(|total| total.saturating_sub(bytes) as f64);
        Progress::File {
            what: self.what.to_owned(),
            name: self.name.to_owned(),
            index: self.index,
            of: self.of,
            bytes,
            total: self.total,
            bytes_per_s,
            left_s: left
                .filter(|left| *left > 0.0 && bytes_per_s > 0.0)
                .map(|left| left / bytes_per_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coming(bytes: u64, total: Option<u64>, bytes_per_s: f64, left_s: Option<f64>) -> String {
        let (what, name) = ("SmolLM2".to_owned(), "model.safetensors".to_owned());
        Progress::File {
            what,
            name,
            index: 1,
            of: 3,
            bytes,
            total,
            bytes_per_s,
            left_s,
        }
        .to_string()
    }

    #[test]
    fn a_file_on_its_way_reads_as_one_line() {
        assert_eq!(
            coming(45_200_000, Some(93_100_000), 12.3e6, Some(3.9)),
            "SmolLM2…  model.safetensors 1/3  45.2 / 93.1 MB  12.3 MB/s  left 4s"
        );
        assert_eq!(coming(0, None, 0.0, None), "SmolLM2…  model.safetensors 1/3  0 B");
        assert!(coming(1, Some(5_000_000_000), 1e6, Some(5000.0)).ends_with("0.0 / 5.0 GB  1.0 MB/s  left 1h 23m"));
        assert!(coming(1, Some(2), 1e3, Some(80.0)).ends_with("1.0 kB/s  left 1m 20s"));
    }

    #[test]
    fn a_break_is_heard_while_work_hangs() {
        let start = Instant::now();
        let mut watch = |_| ControlFlow::Break(());
        let result = Watch::new(&mut watch).wait_for("asking", || std::thread::sleep(Duration::from_secs(20)));
        assert_eq!(result, Err(Stopped));
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
