//! The threads beside the screen, and the way to them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossterm::{clipboard::CopyToClipboard, execute};

use crate::engine::Control;
use crate::notes::Notes;
use crate::stop::Stop;
use crate::trace::Trace;

use super::Opener;
use super::event::{Event, How, Refused, Tell};
use super::perform::{Perform, Work};
use super::worker::{Request, Sight, Worker, fetch};

/// Time between two looks whether a followed file has grown.
const FOLLOW: Duration = Duration::from_millis(300);

/// Longest time that the program waits for notes to be written when it ends.
const KEEPING: Duration = Duration::from_secs(2);

pub struct Hands {
    pub events: Sender<Event>,
    worker: Sender<Request>,
    /// Requests that the worker has not taken yet.
    waiting: Arc<AtomicUsize>,
    reader: Sender<Sight>,
    /// Writes notes, one after the other.
    keeper: Sender<(Arc<Trace>, Arc<Notes>)>,
    /// Ends with the thread that writes them.
    keeping: Receiver<()>,
    pub run: Option<Run>,
    pub files: Option<Files>,
    /// How the screen is to be left, once it is.
    pub exit: Option<How>,
    /// Whether all is to be drawn anew, and whether the shell gets the terminal before.
    pub redraw: Option<bool>,
}

/// The hold on the files that are browsed.
pub struct Files {
    pub opener: Opener,
    /// The stamp of what was opened last.
    pub stamp: Arc<AtomicU64>,
    pub is_followed: Arc<AtomicBool>,
    pub cache_dir: Option<PathBuf>,
}

/// The hold on a run at work.
pub struct Run {
    pub control: Arc<Control>,
    pub stop: Stop,
    /// Updates that the screen has not taken in.
    pub unheard: Arc<AtomicUsize>,
}

/// Starts a named thread; if it panics, the loop wakes up and ends.
pub fn start(name: &str, events: &Sender<Event>, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let events = events.clone();
    let body = move || {
        let bell = Bell(events);
        work();
        drop(bell);
    };
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .with_context(|| format!("cannot start the {name} thread"))?;
    Ok(())
}

struct Bell(Sender<Event>);

impl Drop for Bell {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.send(Event::Hangup);
        }
    }
}

impl Hands {
    pub fn start(events: &Sender<Event>) -> Result<Hands> {
        let (worker, requests) = channel::<Request>();
        let (reader, sights) = channel::<Sight>();
        let (keeper, kept) = channel::<(Arc<Trace>, Arc<Notes>)>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (tell, counter) = (events.clone(), Arc::clone(&waiting));
        start("worker", events, move || work(&requests, &counter, &tell))?;
        let tell = events.clone();
        start("reader", events, move || {
            for sight in sights {
                fetch(&sight, &mut |fetched| {
                    let _ = tell.send(Event::Fetched(fetched));
                });
            }
        })?;
        let tell = events.clone();
        let (done, keeping) = channel::<()>();
        start("keeper", events, move || {
            for (trace, notes) in kept {
                let kept = notes.save(&trace).map_err(|error| format!("{error:#}"));
                let _ = tell.send(Event::Kept(kept));
            }
            drop(done);
        })?;
        Ok(Hands {
            events: events.clone(),
            worker,
            waiting,
            reader,
            keeper,
            keeping,
            run: None,
            files: None,
            exit: None,
            redraw: None,
        })
    }

    /// Waits for notes that are being written, not for ever; false where they still are.
    pub fn finish(self) -> bool {
        drop(self.keeper);
        self.keeping.recv_timeout(KEEPING) != Err(RecvTimeoutError::Timeout)
    }

    /// Looks whether the files grow, and opens them again when they did, or looks no more.
    fn follow(&self, is_on: bool) {
        let Some(files) = &self.files else { return };
        if files.is_followed.swap(is_on, Ordering::SeqCst) || !is_on {
            return;
        }
        let (opener, stamp) = (files.opener.clone(), Arc::clone(&files.stamp));
        let (is_followed, tell) = (Arc::clone(&files.is_followed), self.events.clone());
        let _ = start("follow", &self.events, move || {
            let mut pause = FOLLOW;
            while is_followed.load(Ordering::SeqCst) {
                thread::sleep(pause);
                let now = opener.stamp().unwrap_or(0);
                if now == stamp.swap(now, Ordering::SeqCst) {
                    continue;
                }
                let begun = Instant::now();
                let again = opener.again().map(Box::new).map_err(|error| format!("{error:#}"));
                if tell.send(Event::Opened(again)).is_err() {
                    return;
                }
                // Reading a large file again and again leaves most of the time to everything else.
                pause = FOLLOW.max(begun.elapsed() * 4);
            }
        });
    }

    /// Does something with the opener of the files on a thread of its own.
    fn with_opener(&mut self, work: impl FnOnce(&Opener) -> Event + Send + 'static) {
        if let Some(opener) = self.files.as_ref().map(|files| files.opener.clone()) {
            self.aside(Box::new(move || work(&opener)));
        }
    }
}

impl Perform for Hands {
    fn aside(&mut self, work: Work) {
        let tell = self.events.clone();
        let started = start("aside", &self.events, move || {
            let _ = tell.send(work());
        });
        if let Err(error) = started {
            let why = format!("{error:#}");
            let _ = self.events.send(Event::Exported(Err(Refused { why, there: None })));
        }
    }

    fn ask(&mut self, request: Request) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _ = self.worker.send(request);
    }

    fn fetch(&mut self, sight: Sight) {
        let _ = self.reader.send(sight);
    }

    fn copy(&mut self, text: String) {
        let _ = execute!(std::io::stdout(), CopyToClipboard::to_clipboard_from(text));
    }

    fn keep(&mut self, trace: Arc<Trace>, notes: Arc<Notes>) {
        let _ = self.keeper.send((trace, notes));
    }

    fn open_other(&mut self, path: PathBuf) {
        self.with_opener(move |opener| {
            let run = opener.other(&path).map(Box::new);
            Event::OpenedOther(run.map_err(|error| format!("{error:#}")))
        });
    }

    fn list_runs(&mut self) {
        self.with_opener(|opener| Event::SavedRuns(opener.saved()));
    }

    fn tell(&mut self, tell: Tell) {
        let lane = |lane: usize| self.run.as_ref().and_then(|run| run.control.lanes.get(lane));
        match tell {
            Tell::Follow(is_on) => self.follow(is_on),
            Tell::StopRun => {
                if let Some(run) = &self.run {
                    run.stop.ask();
                }
            }
            Tell::StopAnswer(request, attempt) => {
                if let Some(run) = &self.run {
                    run.control.stops.ask((request, attempt));
                }
            }
            Tell::Pause { lane: at, paused } => {
                if let Some(lane) = lane(at) {
                    lane.paused.store(paused, Ordering::SeqCst);
                }
            }
            Tell::Share { lane: at, share } => {
                if let Some(lane) = lane(at) {
                    lane.share.store(share, Ordering::SeqCst);
                }
            }
        }
    }

    fn redraw(&mut self, suspends: bool) {
        self.redraw = Some(suspends || self.redraw.unwrap_or(false));
    }

    fn exit(&mut self, how: How) {
        self.exit = Some(how);
    }

    fn cache_dir(&self) -> Option<PathBuf> {
        self.files.as_ref()?.cache_dir.clone()
    }
}

/// The worker's thread: takes in all requests, then does one step; a new request interrupts a long one.
fn work(requests: &Receiver<Request>, waiting: &AtomicUsize, tell: &Sender<Event>) {
    let mut worker = Worker::default();
    let mut tell = |reply| {
        let _ = tell.send(Event::Worker(reply));
    };
    let mut has_more = false;
    loop {
        let next = if has_more {
            requests.try_recv().ok()
        } else {
            requests.recv().ok()
        };
        match next {
            Some(request) => {
                waiting.fetch_sub(1, Ordering::SeqCst);
                worker.ask(request, &mut tell);
                has_more = true;
                // All that was asked is taken in before the first of it is worked on.
                if waiting.load(Ordering::SeqCst) > 0 {
                    continue;
                }
            }
            None if !has_more => return,
            None => {}
        }
        has_more = worker.step(&|| waiting.load(Ordering::SeqCst) > 0, &mut tell);
    }
}
