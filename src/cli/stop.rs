//! Ctrl-C and its like: the first asks for a stop, the second ends at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// Set when the user asked to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(pub Arc<AtomicBool>);

impl Stop {
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.asked() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Listens for Ctrl-C, a closed terminal and a polite kill, on a thread of its own.
    pub(crate) fn listen() -> Result<Stop> {
        let stop = Stop::default();
        let asked = stop.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("no signal handler")?;
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                runtime.block_on(async {
                    loop {
                        signal().await;
                        if asked.0.swap(true, Ordering::Relaxed) {
                            std::process::exit(130);
                        }
                        eprintln!("\nstopping at the next token; once more ends at once");
                    }
                });
            })
            .context("no thread for signals")?;
        Ok(stop)
    }
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hang_up)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
