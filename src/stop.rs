//! Being asked to end, by a signal or by a key: the first time politely, the second time at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long work may go on whose terminal was closed: nobody is left who could end it a second time.
const PATIENCE: Duration = Duration::from_secs(20);

/// Set when the program is asked to end.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    is_asked: AtomicBool,
    /// The number of the first signal; 0 for none.
    signal: AtomicU8,
}

impl Stop {
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    /// Asks for an end; tells whether it had been asked for before.
    pub fn ask(&self) -> bool {
        self.0.is_asked.swap(true, Ordering::SeqCst)
    }

    /// The number of the signal that asked first, where it was one.
    pub fn signal(&self) -> Option<u8> {
        Some(self.0.signal.load(Ordering::SeqCst)).filter(|number| *number > 0)
    }

    pub fn flow(&self) -> ControlFlow<()> {
        if self.is_asked() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Listens from this moment on for Ctrl-C, a polite kill and a closed terminal. The first is told to `heard`; one more,
    /// or one after [`Stop::ask`], ends the process at once with 128 + its number, after `leave`.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn listen(&self, heard: impl Fn(u8) + Send + 'static, leave: fn()) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no signal handler")?;
        let signals = {
            let _inside = runtime.enter();
            Signals::new().context("no signal handler")?
        };
        let stop = self.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || runtime.block_on(stop.obey(signals, heard, leave)))
            .context("no thread for signals")?;
        Ok(())
    }

    async fn obey(self, mut signals: Signals, heard: impl Fn(u8), leave: fn()) {
        let mut number = signals.next().await;
        if !self.ask() {
            self.0.signal.store(number, Ordering::SeqCst);
            heard(number);
            number = match number {
                1 => tokio::time::timeout(PATIENCE, signals.next()).await.unwrap_or(1),
                _ => signals.next().await,
            };
        }
        leave();
        std::process::exit(128 + i32::from(number));
    }
}

/// The signals that ask for an end, but for those that whoever started the program (`nohup`) has it ignore.
struct Signals {
    hang_up: Option<Signal>,
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        let ignored = ignored();
        let unless_ignored = |kind: SignalKind| {
            let is_ignored = ignored >> (kind.as_raw_value() - 1) & 1 == 1;
            (!is_ignored).then(|| signal(kind)).transpose()
        };
        Ok(Signals {
            hang_up: unless_ignored(SignalKind::hangup())?,
            interrupt: unless_ignored(SignalKind::interrupt())?,
            terminate: unless_ignored(SignalKind::terminate())?,
        })
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        async fn heard(signal: &mut Option<Signal>) {
            let came = match signal {
                Some(signal) => signal.recv().await,
                None => None,
            };
            if came.is_none() {
                std::future::pending().await
            }
        }
        tokio::select! {
            () = heard(&mut self.hang_up) => 1,
            () = heard(&mut self.interrupt) => 2,
            () = heard(&mut self.terminate) => 15,
        }
    }
}

/// The signals that this process ignores, one bit each, where the platform tells.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_to_end_is_told_from_the_second() {
        let stop = Stop::default();
        let seen = stop.clone();
        assert!(!seen.is_asked() && seen.flow().is_continue());
        assert!(!stop.ask());
        assert!(seen.is_asked() && seen.flow().is_break() && seen.ask());
        assert_eq!(seen.signal(), None, "a key is no signal");
    }
}
