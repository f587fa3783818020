//! The terminal: taken for the screen, listened to, and given back however the screen is left.

use std::io::stdout;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, EventStream,
};
use crossterm::{cursor, execute, terminal};
use futures_util::StreamExt;
use ratatui::DefaultTerminal;
use ratatui::backend::CrosstermBackend;

use super::event::Event;
use super::theme::LateAnswer;

/// Set when any thread panics: nothing is drawn from then on, so that the message stays readable.
static CRASHED: AtomicBool = AtomicBool::new(false);

pub fn has_crashed() -> bool {
    CRASHED.load(Ordering::SeqCst)
}

/// Whether the terminal is in the screen's hands.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Longest time that giving a terminal back may take: one that was stopped or is gone takes in nothing.
const GIVING_BACK: Duration = Duration::from_millis(500);

/// The terminal, taken for the screen and given back however the screen is left, also by a panic. It is never dropped:
/// ratatui prints where it cannot show the cursor, and a print to a terminal that is gone panics.
pub struct Taken(pub ManuallyDrop<DefaultTerminal>);

impl Taken {
    pub fn take(mouse: bool) -> Result<Taken> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // A damaged file, caught and told as an error.
            if crate::guard::is_guarded() {
                return;
            }
            CRASHED.store(true, Ordering::SeqCst);
            give_back();
            before(info);
        }));
        let taken = enter(mouse).and_then(|()| DefaultTerminal::new(CrosstermBackend::new(stdout())));
        match taken {
            Ok(terminal) => Ok(Taken(ManuallyDrop::new(terminal))),
            Err(error) => {
                give_back();
                Err(error).context("cannot use the terminal")
            }
        }
    }

    /// Draws everything anew; where it `suspends`, after the shell has had the terminal and called the program back.
    pub fn renew(&mut self, suspends: bool, mouse: bool) -> std::io::Result<()> {
        if suspends {
            give_back();
            stop_until_called_back();
            enter(mouse)?;
        }
        self.0.clear()
    }
}

fn enter(mouse: bool) -> std::io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    terminal::enable_raw_mode()?;
    execute!(stdout(), terminal::EnterAlternateScreen, EnableBracketedPaste)?;
    if mouse {
        execute!(stdout(), EnableMouseCapture)?;
    }
    Ok(())
}

/// Stops the process as ^z does where the terminal makes a signal of it; where there are no such signals, does nothing.
fn stop_until_called_back() {
    #[cfg(unix)]
    {
        let number = std::process::id().to_string();
        let _ = std::process::Command::new("kill").args(["-TSTP", &number]).status();
        // The signal may come a moment later than the word that it was sent.
        thread::sleep(Duration::from_millis(50));
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back as it was, once. From any thread, and also while another one is stuck in writing to it.
pub fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let (done, given) = channel();
    let _ = thread::Builder::new().name("give back".into()).spawn(move || {
        let _ = execute!(
            stdout(),
            DisableMouseCapture,
            DisableBracketedPaste,
            terminal::EndSynchronizedUpdate,
            terminal::LeaveAlternateScreen,
            cursor::Show
        );
        let _ = done.send(());
    });
    let _ = given.recv_timeout(GIVING_BACK);
    let _ = terminal::disable_raw_mode();
}

/// The screen that terminal events are for: one thread listens for as long as the program runs, so that no key is lost to a
/// listener of a screen that was left.
static HEARING: Mutex<Option<Sender<Event>>> = Mutex::new(None);

/// Terminal events go to a screen from now on; true where nobody listens yet.
pub fn hear(tell: Sender<Event>) -> bool {
    let mut hearing = HEARING.lock().unwrap_or_else(PoisonError::into_inner);
    hearing.replace(tell).is_none()
}

/// Listens for as long as there is a terminal.
pub fn listen() {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(_) => return,
    };
    runtime.block_on(async {
        let mut events = EventStream::new();
        let mut late = LateAnswer::default();
        loop {
            let event = match events.next().await {
                Some(Ok(crossterm::event::Event::Key(key))) if late.takes(&key) => None,
                Some(Ok(event)) => event_of(event),
                Some(Err(_)) | None => Some(Event::Hangup),
            };
            let Some(event) = event else { continue };
            let is_over = matches!(event, Event::Hangup);
            let hearing = HEARING.lock().unwrap_or_else(PoisonError::into_inner);
            // Between two screens nobody hears.
            let _ = hearing.as_ref().map(|tell| tell.send(event));
            if is_over {
                return;
            }
        }
    });
}

fn event_of(event: crossterm::event::Event) -> Option<Event> {
    match event {
        crossterm::event::Event::Key(key) => Some(Event::Key(key)),
        crossterm::event::Event::Mouse(mouse) => Some(Event::Mouse(mouse)),
        crossterm::event::Event::Paste(text) => Some(Event::Paste(text)),
        crossterm::event::Event::Resize(width, height) => Some(Event::Resize(width, height)),
        _ => None,
    }
}
