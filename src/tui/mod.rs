//! The terminal: event in, state changed, effect out. Only this file starts threads and touches the terminal.

mod app;
mod canvas;
mod compare;
pub mod keymap;
mod lab;
mod live;
mod opener;
mod panes;
mod passage;
mod reading;
mod runs;
mod script;
mod shelf;
mod snapshot;
mod stats;
mod strip;
mod theme;
mod view;
mod widgets;
mod worker;
mod workspace;

use std::io::{IsTerminal, stdin, stdout};
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, EventStream,
};
use crossterm::{clipboard::CopyToClipboard, cursor, execute, terminal};
use futures_util::StreamExt;
use ratatui::DefaultTerminal;
use ratatui::backend::CrosstermBackend;

use crate::engine::Control;
use crate::extract::Rule;
use crate::files::{self, Kept};
use crate::filter::Derived;
use crate::joined;
use crate::notes::Notes;
use crate::run::Update;
use crate::stop::Stop;
use crate::trace::Trace;

use app::{App, Effect, Event, Exported, Order, PairOrder};
pub use app::{How, Saved};
pub use opener::Opener;
pub use script::Script;
use stats::Stats;
use theme::Theme;
pub use theme::{ColorChoice, Shade};
pub use view::{Place, WORDS as VIEW_WORDS};
use worker::{Request, Sight, Worker, fetch};

/// How the screen is shown.
#[derive(Debug, Clone)]
pub struct Options {
    pub color: ColorChoice,
    /// What the terminal's background is.
    pub shade: Shade,
    /// Drawing characters of ASCII only.
    pub ascii: bool,
    pub mouse: bool,
    /// The filter line to begin with.
    pub filter: Option<String>,
    /// The words after `markbook open` that open the same traces again.
    pub command: Vec<String>,
    /// Whether files that grow are followed from the beginning.
    pub follow: bool,
    /// The view to begin with, beside the filter.
    pub place: Place,
    /// Where causes and marks of large traces are kept from one session to the next; nowhere if `None`.
    pub cache_dir: Option<std::path::PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            color: ColorChoice::Auto,
            shade: Shade::Auto,
            ascii: false,
            mouse: true,
            filter: None,
            command: Vec::new(),
            follow: false,
            place: Place::default(),
            cache_dir: None,
        }
    }
}

/// Time passes for the screen at least this often while there is something to hear.
const TICK: Duration = Duration::from_millis(250);

/// Time between two looks whether a followed file has grown.
const FOLLOW: Duration = Duration::from_millis(300);

/// Longest time that events are taken in before the screen is drawn.
const DRAIN: Duration = Duration::from_millis(8);

/// Set when any thread panics: nothing is drawn from then on, so that the message stays readable.
static CRASHED: AtomicBool = AtomicBool::new(false);

/// How the screen was left, and how fast it was.
#[derive(Debug, Clone)]
pub struct Exit {
    pub how: How,
    stats: Stats,
}

impl Exit {
    /// What was measured, as JSON: milliseconds.
    pub fn stats_json(&self) -> serde_json::Value {
        self.stats.json()
    }
}

/// Opens traces on a thread of their own and browses them; the first rows show at once.
///
/// # Errors
/// When the traces cannot be opened, or the terminal cannot be used.
pub fn browse(opener: Opener, options: Options) -> Result<Exit> {
    let size = terminal::size().context("cannot ask the terminal for its size")?;
    let theme = Theme::new(options.color, options.shade, options.ascii);
    let app = App::browse(theme, size, &options);
    let (sender, receiver) = channel();
    let stamp = Arc::new(AtomicU64::new(0));
    let (tell, first, begun) = (sender.clone(), opener.clone(), Arc::clone(&stamp));
    start("open", &sender, move || {
        begun.store(first.stamp().unwrap_or(0), Ordering::SeqCst);
        if let Some(rows) = first.first_rows() {
            let _ = tell.send(Event::Opened(Ok(Box::new(rows))));
        }
        let whole = first.whole().map(Box::new).map_err(|error| format!("{error:#}"));
        let _ = tell.send(Event::Opened(whole));
    })?;
    let mut hands = Hands::start(&sender)?;
    hands.files = Some(Files {
        opener,
        stamp,
        is_followed: Arc::default(),
        cache_dir: options.cache_dir,
    });
    show(app, hands, &receiver, (options.mouse, &Stop::default()))
}

/// The live screen over a run at work on another thread; browsing goes on after it has ended. When the user stops the
/// run, `stop` is asked and the screen stays until the run says that everything is saved; a signal leaves it at once.
///
/// # Errors
/// When the terminal cannot be used.
pub fn live(updates: Receiver<Update>, control: Arc<Control>, stop: Stop, options: Options) -> Result<Exit> {
    let size = terminal::size().context("cannot ask the terminal for its size")?;
    let app = App::live(Theme::new(options.color, options.shade, options.ascii), size, &options);
    let (sender, receiver) = channel();
    let (tell, unheard) = (sender.clone(), Arc::new(AtomicUsize::new(0)));
    let waiting = Arc::clone(&unheard);
    start("run", &sender, move || pass_on(updates, &waiting, &tell))?;
    let mut hands = Hands::start(&sender)?;
    hands.run = Some(Run {
        control,
        stop: stop.clone(),
        unheard,
    });
    let exit = show(app, hands, &receiver, (options.mouse, &stop));
    // However the screen was left, the run is not to go on unseen.
    stop.ask();
    exit
}

/// Updates of a run that may wait for the screen. Beyond, what only moves is left out, and answers come more slowly; a
/// screen that stands still (its terminal was stopped) does not stop the run.
const WAITING: usize = 1_000;
const SLOWLY: Duration = Duration::from_millis(20);

fn pass_on(updates: Receiver<Update>, waiting: &AtomicUsize, tell: &Sender<Event>) {
    for update in updates {
        if waiting.load(Ordering::SeqCst) > WAITING {
            if matches!(update, Update::Running { .. } | Update::Pulse(_)) {
                continue;
            }
            thread::sleep(SLOWLY);
        }
        waiting.fetch_add(1, Ordering::SeqCst);
        if tell.send(Event::Run(Box::new(update))).is_err() {
            return;
        }
    }
    let _ = tell.send(Event::RunGone);
}

/// Renders one screen as text, as it is when everything is read.
///
/// # Errors
/// When there is no trace or it cannot be read.
pub fn print_screen(opener: &Opener, size: (u16, u16), options: &Options) -> Result<String> {
    Ok(Script::begin(opener.whole()?, size, options)?.screen())
}

/// Whether there is a screen to draw on: a terminal that can do more than print lines.
pub fn can_draw() -> bool {
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    !is_dumb && stdout().is_terminal() && stdin().is_terminal()
}

/// The threads beside the screen, and the way to them.
struct Hands {
    events: Sender<Event>,
    worker: Sender<Request>,
    /// Requests that the worker has not taken yet.
    waiting: Arc<AtomicUsize>,
    reader: Sender<Sight>,
    /// Writes notes, one after the other.
    keeper: Sender<(Arc<Trace>, Arc<Notes>)>,
    run: Option<Run>,
    files: Option<Files>,
}

/// The hold on the files that are browsed.
struct Files {
    opener: Opener,
    /// The stamp of what was opened last.
    stamp: Arc<AtomicU64>,
    is_followed: Arc<AtomicBool>,
    cache_dir: Option<std::path::PathBuf>,
}

/// The hold on a run at work.
struct Run {
    control: Arc<Control>,
    stop: Stop,
    /// Updates that the screen has not taken in.
    unheard: Arc<AtomicUsize>,
}

/// Runs the screen until it is left.
fn show(mut app: App, hands: Hands, receiver: &Receiver<Event>, (mouse, stop): (bool, &Stop)) -> Result<Exit> {
    // Signals are heard before the screen is taken: one that comes now would leave it as it is.
    let events = hands.events.clone();
    let heard = move |number| {
        let _ = events.send(Event::Signal(number));
    };
    stop.listen(heard, give_back)?;
    let events = hands.events.clone();
    let mut taken = Taken::take(mouse)?;
    start("terminal", &hands.events, move || listen(&events))?;
    let mut stats = Stats::default();
    let how = turn(&mut app, &mut taken.0, receiver, &hands, &mut stats);
    drop(taken);
    if CRASHED.load(Ordering::SeqCst) {
        bail!("a part of the program failed (the message stands above)");
    }
    match app.failure() {
        Some(failure) => Err(anyhow!("{failure}")),
        None => Ok(Exit { how, stats }),
    }
}

/// The loop: takes in all that has happened, then draws once.
fn turn(
    app: &mut App,
    screen: &mut DefaultTerminal,
    receiver: &Receiver<Event>,
    hands: &Hands,
    stats: &mut Stats,
) -> How {
    let mut exit = None;
    let mut pressed = None;
    let mut ticked = Instant::now();
    loop {
        if CRASHED.load(Ordering::SeqCst) || draw(app, screen).is_err() {
            return How::Hangup;
        }
        stats.drawn(app, pressed.take());
        let first = match receiver.recv_timeout(app.patience()) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => Event::Tick,
            Err(RecvTimeoutError::Disconnected) => Event::Hangup,
        };
        let since = Instant::now();
        let mut next = Some(first);
        if ticked.elapsed() > TICK {
            ticked = since;
            app.update(Event::Tick)
                .into_iter()
                .for_each(|effect| hands.perform(effect, &mut exit));
        }
        while let Some(event) = next {
            if matches!(event, Event::Key(_)) && pressed.is_none() {
                pressed = Some(Instant::now());
            }
            stats.heard(&event);
            if let (Event::Run(_), Some(run)) = (&event, &hands.run) {
                run.unheard.fetch_sub(1, Ordering::SeqCst);
            }
            if let Some(effect) = app.update(event) {
                hands.perform(effect, &mut exit);
            }
            stats.updated(app, pressed);
            if let Some(how) = exit {
                return how;
            }
            next = if since.elapsed() < DRAIN {
                receiver.try_recv().ok()
            } else {
                None
            };
        }
    }
}

fn draw(app: &App, screen: &mut DefaultTerminal) -> std::io::Result<()> {
    execute!(stdout(), terminal::BeginSynchronizedUpdate)?;
    screen.draw(|frame| app.render(frame))?;
    execute!(stdout(), terminal::EndSynchronizedUpdate)
}

/// Whether the terminal is in the screen's hands.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Longest time that giving a terminal back may take: one that was stopped or is gone takes in nothing.
const GIVING_BACK: Duration = Duration::from_millis(500);

/// The terminal, taken for the screen and given back however the screen is left, also by a panic. It is never dropped:
/// ratatui prints where it cannot show the cursor, and a print to a terminal that is gone panics.
struct Taken(ManuallyDrop<DefaultTerminal>);

impl Taken {
    fn take(mouse: bool) -> Result<Taken> {
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
        TAKEN.store(true, Ordering::SeqCst);
        let take = || {
            terminal::enable_raw_mode()?;
            execute!(stdout(), terminal::EnterAlternateScreen, EnableBracketedPaste)?;
            if mouse {
                execute!(stdout(), EnableMouseCapture)?;
            }
            DefaultTerminal::new(CrosstermBackend::new(stdout()))
        };
        match take() {
            Ok(terminal) => Ok(Taken(ManuallyDrop::new(terminal))),
            Err(error) => {
                give_back();
                Err(error).context("cannot use the terminal")
            }
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back as it was, once. From any thread, and also while another one is stuck in writing to it.
fn give_back() {
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

/// Starts a named thread; if it panics, the loop wakes up and ends.
fn start(name: &str, events: &Sender<Event>, work: impl FnOnce() + Send + 'static) -> Result<()> {
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
    fn start(events: &Sender<Event>) -> Result<Hands> {
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
        start("keeper", events, move || {
            for (trace, notes) in kept {
                let _ = tell.send(Event::Kept(keep(&trace, &notes)));
            }
        })?;
        Ok(Hands {
            events: events.clone(),
            worker,
            waiting,
            reader,
            keeper,
            run: None,
            files: None,
        })
    }

    fn perform(&self, effect: Effect, exit: &mut Option<How>) {
        match effect {
            Effect::Ask(request) => {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                let _ = self.worker.send(request);
            }
            Effect::Fetch(sight) => {
                let _ = self.reader.send(sight);
            }
            Effect::Copy(text) => {
                let _ = execute!(stdout(), CopyToClipboard::to_clipboard_from(text));
            }
            Effect::Export(order) => self.aside(move || Event::Exported(export(&order))),
            Effect::ExportPairs(order) => self.aside(move || Event::Exported(export_pairs(&order))),
            Effect::CountRuns(runs) => self.aside(move || count_runs(&runs)),
            Effect::Diagnose { trace, known, epoch } => {
                let cache = self.files.as_ref().and_then(|files| files.cache_dir.clone());
                self.aside(move || derive(&trace, &known, epoch, cache.as_deref()).unwrap_or(Event::Tick));
            }
            Effect::Check(trace) => self.aside(move || Event::Checked(crate::check::check_light(&trace))),
            Effect::Keep(trace, notes) => {
                let _ = self.keeper.send((trace, notes));
            }
            Effect::Follow(is_on) => self.follow(is_on),
            Effect::Pair(a, b) => self.aside(move || {
                let paired = Arc::new(compare::Paired::new(a, b));
                let tallied = Arc::new(paired.tally(None));
                Event::Paired(paired, tallied)
            }),
            Effect::OpenOther(path) => {
                if let Some(opener) = self.files.as_ref().map(|files| files.opener.clone()) {
                    self.aside(move || {
                        let run = opener.other(&path).map(Box::new);
                        Event::OpenedOther(run.map_err(|error| format!("{error:#}")))
                    });
                }
            }
            Effect::Adopt(trace, rule) => self.aside(move || Event::Adopted(adopt(&trace, &rule))),
            Effect::ListRuns => {
                if let Some(opener) = self.files.as_ref().map(|files| files.opener.clone()) {
                    self.aside(move || Event::SavedRuns(opener.saved()));
                }
            }
            Effect::Estimate(trace, rows) => self.aside(move || estimate(&trace, &rows)),
            Effect::StopRun => {
                if let Some(run) = &self.run {
                    run.stop.ask();
                }
            }
            Effect::Pause { lane, paused } => {
                if let Some(lane) = self.run.as_ref().and_then(|run| run.control.lanes.get(lane)) {
                    lane.paused.store(paused, Ordering::SeqCst);
                }
            }
            Effect::Share { lane, share } => {
                if let Some(lane) = self.run.as_ref().and_then(|run| run.control.lanes.get(lane)) {
                    lane.share.store(share, Ordering::SeqCst);
                }
            }
            Effect::Exit(how) => *exit = Some(how),
            Effect::Many(effects) => {
                for effect in effects {
                    self.perform(effect, exit);
                }
            }
        }
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

    /// Does something on a thread of its own and tells how it went.
    fn aside(&self, work: impl FnOnce() -> Event + Send + 'static) {
        let tell = self.events.clone();
        let started = start("aside", &self.events, move || {
            let _ = tell.send(work());
        });
        if let Err(error) = started {
            let _ = self.events.send(Event::Exported(Err(format!("{error:#}"))));
        }
    }
}

fn export(order: &Order) -> Result<Exported, String> {
    let path = match &order.options.target {
        crate::export::Target::File(path) => path.clone(),
        crate::export::Target::Stdout => std::path::PathBuf::from("-"),
    };
    let whole = order
        .whole_questions
        .then(|| crate::export::whole_questions(&order.trace.rows, &order.rows));
    crate::export::write(&order.trace, whole.as_deref().unwrap_or(&order.rows), &order.options)
        .map(|written| Exported { written, path })
        .map_err(|error| format!("{error:#}"))
}

fn export_pairs(order: &PairOrder) -> Result<Exported, String> {
    let (a, b) = (&order.paired.a, &order.paired.b);
    let path = order.path.clone();
    let target = crate::export::Target::File(path.clone());
    crate::export::write_pairs(a, b, &order.pairs, &target, order.force)
        .map(|written| Exported { written, path })
        .map_err(|error| format!("{error:#}"))
}

fn count_runs(list: &[Arc<Trace>]) -> Event {
    Event::RunsCounted(list.iter().map(runs::Runs::count).collect())
}

/// Rows below which causes and marks are not worth keeping.
const WORTHWHILE: usize = 20_000;

/// Reads every output that is not known once; nothing where they cannot be read (the reader says why when one is shown).
fn derive(trace: &Trace, known: &Derived, epoch: u64, cache: Option<&std::path::Path>) -> Option<Event> {
    let rule = Rule::of_texts(trace.rule.as_deref());
    let is_whole = known.marks.is_empty() && trace.rows.len() >= WORTHWHILE && trace.texts.parts().len() == 1;
    let place = cache
        .filter(|_| is_whole)
        .and_then(|folder| derived_place(trace, folder));
    if let Some(kept) = place.as_ref().and_then(|place| Derived::load(place, trace.rows.len())) {
        return Some(Event::Diagnosed(epoch, Arc::new(kept)));
    }
    let go_on = &mut |_| ControlFlow::Continue(());
    let derived = known.and_of(&trace.rows, &*trace.texts, &rule, go_on).ok()??;
    // What cannot be kept only costs time; that it cannot is told where the index of a file is.
    let _ = place.map(|place| derived.save(&place));
    Some(Event::Diagnosed(epoch, Arc::new(derived)))
}

/// Where causes and marks of a trace are kept, of its files as they are and of its rows as they were read from them.
fn derived_place(trace: &Trace, folder: &std::path::Path) -> Option<Kept> {
    let mut paths = trace.texts.files();
    if paths.is_empty() {
        let path = trace.path.clone()?;
        paths = if path.is_dir() {
            vec![path.join(crate::store::RECORDS)]
        } else {
            vec![path]
        };
    }
    paths.dedup();
    let identities: Option<Vec<String>> = paths.iter().map(|path| files::identity(path)).collect();
    let rule = trace.rule.as_deref().unwrap_or_default();
    Some(Kept {
        file: folder
            .join("derived")
            .join(format!("{:016x}", trace.rows.fingerprint(0..trace.rows.len()))),
        key: format!(
            "{} {:08x} {} {rule}",
            files::program(),
            trace.rows.sum(),
            identities?.join(" ")
        ),
    })
}

/// The same trace with the picks that another rule reads.
fn adopt(trace: &Trace, rule: &Rule) -> Result<Box<joined::Run>, String> {
    let mut trace = trace.clone();
    match crate::rescore::rescore(&mut trace, rule) {
        Ok(_) => Ok(Box::new(joined::Run::new(trace))),
        Err(error) => Err(format!("{error:#}")),
    }
}

fn keep(trace: &Trace, notes: &Notes) -> Result<(), String> {
    notes.save(trace).map_err(|error| format!("{error:#}"))
}

fn estimate(trace: &Trace, rows: &[u32]) -> Event {
    let bytes = crate::export::ALL
        .each_ref()
        .map(|format| crate::export::bytes_a_row(trace, rows, format).unwrap_or(0.0));
    let whole_questions = crate::export::whole_questions(&trace.rows, rows).len();
    Event::Estimated(bytes, whole_questions)
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

/// Terminal events, for as long as there is a terminal.
fn listen(tell: &Sender<Event>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(_) => return,
    };
    runtime.block_on(async {
        let mut events = EventStream::new();
        loop {
            let event = match events.next().await {
                Some(Ok(event)) => event_of(event),
                Some(Err(_)) | None => Some(Event::Hangup),
            };
            let Some(event) = event else { continue };
            let is_over = matches!(event, Event::Hangup);
            if tell.send(event).is_err() || is_over {
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
