//! The screens: event in, state changed, effect out. Only `hands` starts threads and only `terminal` touches the terminal.

mod app;
mod browse;
mod canvas;
mod charts;
mod compare;
mod event;
mod hands;
mod home;
pub mod keymap;
mod lab;
mod live;
mod opener;
mod overlays;
mod panes;
mod passage;
mod perform;
mod picture;
mod reading;
mod rendered;
mod room;
mod runs;
mod screen;
mod script;
mod shared;
mod shelf;
mod snapshot;
mod stats;
mod strip;
mod terminal;
mod theme;
mod view;
mod widgets;
mod worker;
mod workspace;

use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use crossterm::execute;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::DefaultTerminal;
use serde::{Deserialize, Serialize};

use crate::engine::Control;
use crate::filter::NamedFilters;
use crate::run::Update;
use crate::stats::{Interval, Sum};
use crate::stop::Stop;

use app::App;
use event::Event;
pub use event::{How, Saved};
use hands::{Files, Hands, start};
pub use home::{Kept, Picked};
pub use opener::Opener;
use perform::perform;
pub use script::Script;
use stats::Stats;
use terminal::Taken;
use theme::Theme;
pub use theme::{ColorChoice, Shade};
pub use view::{Place, WORDS as VIEW_WORDS};

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
    /// Whether `q` leads back to Home.
    pub has_home: bool,
    /// Where causes and marks of large traces are kept from one session to the next; nowhere if `None`.
    pub cache_dir: Option<PathBuf>,
    /// Filters with names.
    pub saved: NamedFilters,
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
            has_home: false,
            cache_dir: None,
            saved: NamedFilters::default(),
        }
    }
}

/// Time passes for the screen at least this often while there is something to hear.
const TICK: Duration = Duration::from_millis(250);

/// Longest time that events are taken in before the screen is drawn.
const DRAIN: Duration = Duration::from_millis(8);

/// How the screen was left, and how fast it was.
#[derive(Debug, Clone)]
pub struct Exit {
    pub how: How,
    /// What was chosen on Home.
    pub picked: Option<Picked>,
    /// What was seen last, where rows were.
    pub seen: Option<Seen>,
    /// The words after `markbook` that open the last view again; nothing where no command does.
    pub view: Vec<String>,
    stats: Stats,
}

/// The figures of a trace, to be told later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub rows: usize,
    /// Accuracy in 0-1 with half the width of its interval, by exam.
    pub accuracy: Vec<(String, f64, f64)>,
    /// Share of invalid rows in 0-1.
    pub invalid: Option<f64>,
}

impl Seen {
    fn of(report: &snapshot::Report) -> Seen {
        let figure = |(exam, sum): (&str, &Sum)| {
            let (low, high) = sum.interval().map(Interval::limits)?;
            Some((exam.to_owned(), sum.accuracy()?, (high - low) / 2.0))
        };
        Seen {
            rows: report.total.rows(),
            accuracy: report.exams_here().filter_map(figure).collect(),
            invalid: report.total.tally.invalid_rate(),
        }
    }
}

impl Exit {
    /// What was measured, as JSON: milliseconds.
    pub fn stats_json(&self) -> serde_json::Value {
        self.stats.json()
    }
}

/// Shows what can be opened, listed on a thread of its own; what is chosen stands in [`Exit::picked`].
///
/// # Errors
/// When the terminal cannot be used.
pub fn home(list: fn() -> Vec<Kept>, told: Option<String>, options: Options) -> Result<Exit> {
    let (sender, receiver) = hearing(&Stop::default())?;
    let size = crossterm::terminal::size().context("cannot ask the terminal for its size")?;
    let theme = Theme::of_terminal(options.color, options.shade, options.ascii);
    let app = App::home(theme, size, &options, told);
    let tell = sender.clone();
    start("shelf", &sender, move || {
        let _ = tell.send(Event::Shelf(list()));
    })?;
    show(app, Hands::start(&sender)?, &receiver, options.mouse)
}

/// Opens traces on a thread of their own and browses them; the first rows show at once.
///
/// # Errors
/// When the traces cannot be opened, or the terminal cannot be used.
pub fn browse(opener: Opener, options: Options) -> Result<Exit> {
    let (sender, receiver) = hearing(&Stop::default())?;
    let size = crossterm::terminal::size().context("cannot ask the terminal for its size")?;
    let theme = Theme::of_terminal(options.color, options.shade, options.ascii);
    let app = App::browse(theme, size, &options);
    let stamp = Arc::new(AtomicU64::new(0));
    let (tell, first, begun) = (sender.clone(), opener.clone(), Arc::clone(&stamp));
    start("open", &sender, move || {
        begun.store(first.stamp().unwrap_or(0), Ordering::SeqCst);
        if let Some(rows) = first.first_rows() {
            let _ = tell.send(Event::Opened(Ok(Box::new(rows))));
        }
        let whole = first.whole().map(Box::new).map_err(|error| format!("{error:#}"));
        let opened: Vec<_> = whole
            .iter()
            .flat_map(|whole| whole.runs.iter().map(|run| Arc::clone(&run.trace)))
            .collect();
        let _ = tell.send(Event::Opened(whole));
        first.enter(&opened);
    })?;
    let mut hands = Hands::start(&sender)?;
    hands.files = Some(Files {
        opener,
        stamp,
        is_followed: Arc::default(),
        cache_dir: options.cache_dir,
    });
    show(app, hands, &receiver, options.mouse)
}

/// The live screen over a run at work on another thread; browsing goes on after it has ended. When the user stops the
/// run, `stop` is asked and the screen stays until the run says that everything is saved; a signal leaves it at once.
///
/// # Errors
/// When the terminal cannot be used.
pub fn live(updates: Receiver<Update>, control: Arc<Control>, stop: Stop, options: Options) -> Result<Exit> {
    let (sender, receiver) = hearing(&stop)?;
    let size = crossterm::terminal::size().context("cannot ask the terminal for its size")?;
    let app = App::live(
        Theme::of_terminal(options.color, options.shade, options.ascii),
        size,
        &options,
    );
    let (tell, unheard) = (sender.clone(), Arc::new(AtomicUsize::new(0)));
    let waiting = Arc::clone(&unheard);
    start("run", &sender, move || pass_on(updates, &waiting, &tell))?;
    let mut hands = Hands::start(&sender)?;
    hands.run = Some(hands::Run {
        control,
        stop: stop.clone(),
        unheard,
    });
    let exit = show(app, hands, &receiver, options.mouse);
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

/// What a screen is told by, signals among it from this moment on: one that came while the terminal is asked for its
/// background, or while the screen is taken, would leave it as it is.
fn hearing(stop: &Stop) -> Result<(Sender<Event>, Receiver<Event>)> {
    let (sender, receiver) = channel();
    let events = sender.clone();
    let heard = move |number| {
        let _ = events.send(Event::Signal(number));
    };
    stop.listen(heard, terminal::give_back)?;
    Ok((sender, receiver))
}

/// Whether there is a screen to draw on: a terminal that can do more than print lines.
pub fn can_draw() -> bool {
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    !is_dumb && stdout().is_terminal() && stdin().is_terminal()
}

/// Runs the screen until it is left.
fn show(mut app: App, mut hands: Hands, receiver: &Receiver<Event>, mouse: bool) -> Result<Exit> {
    let mut taken = Taken::take(mouse)?;
    if terminal::hear(hands.events.clone()) {
        start("terminal", &hands.events, terminal::listen)?;
    }
    let mut stats = Stats::default();
    let how = loop {
        let how = turn(&mut app, &mut taken.0, (receiver, &mut hands), &mut stats);
        match (how, hands.redraw.take()) {
            (Some(how), _) => break how,
            (None, Some(suspends)) if taken.renew(suspends, mouse).is_ok() => {}
            (None, _) => break How::Hangup,
        }
    };
    drop(taken);
    if !hands.finish() {
        bail!("the last marks and notes were not written in time");
    }
    // What became of notes that were still being written when the screen was left.
    let kept = receiver.try_iter().filter_map(|event| match event {
        Event::Kept(kept) => Some(kept),
        _ => None,
    });
    if let Some(Err(error)) = kept.last() {
        bail!("{error}");
    }
    if terminal::has_crashed() {
        bail!("a part of the program failed (the message stands above)");
    }
    match app.failure() {
        Some(failure) => Err(anyhow!("{failure}")),
        None => Ok(Exit {
            how,
            picked: app.shared.session.picked.take(),
            seen: app
                .shared
                .workspace
                .snapshot
                .as_ref()
                .map(|snapshot| Seen::of(&snapshot.all)),
            view: app.view_words(),
            stats,
        }),
    }
}

/// The loop: takes in all that has happened, then draws once. Ends with how the screen is left, or where it is to be
/// drawn anew.
fn turn(
    app: &mut App,
    screen: &mut DefaultTerminal,
    (receiver, hands): (&Receiver<Event>, &mut Hands),
    stats: &mut Stats,
) -> Option<How> {
    let mut pressed = None;
    let mut ticked = Instant::now();
    while hands.redraw.is_none() {
        if terminal::has_crashed() || draw(app, screen).is_err() {
            return Some(How::Hangup);
        }
        stats.drawn(&app.shared, pressed.take());
        let first = match receiver.recv_timeout(app.shared.patience()) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => Event::Tick,
            Err(RecvTimeoutError::Disconnected) => Event::Hangup,
        };
        let since = Instant::now();
        let mut next = Some(first);
        if ticked.elapsed() > TICK {
            ticked = since;
            take_in(app, Event::Tick, hands);
        }
        while let Some(event) = next {
            if matches!(event, Event::Key(_)) && pressed.is_none() {
                pressed = Some(Instant::now());
            }
            stats.heard(&event);
            if let (Event::Run(_), Some(run)) = (&event, &hands.run) {
                run.unheard.fetch_sub(1, Ordering::SeqCst);
            }
            take_in(app, event, hands);
            stats.updated(&app.shared, pressed);
            if hands.exit.is_some() {
                return hands.exit;
            }
            next = (since.elapsed() < DRAIN).then(|| receiver.try_recv().ok()).flatten();
        }
    }
    None
}

fn take_in(app: &mut App, event: Event, hands: &mut Hands) {
    for effect in app.update(event) {
        perform(effect, hands);
    }
}

fn draw(app: &App, screen: &mut DefaultTerminal) -> std::io::Result<()> {
    execute!(stdout(), BeginSynchronizedUpdate)?;
    screen.draw(|frame| app.draw(frame.buffer_mut()))?;
    execute!(stdout(), EndSynchronizedUpdate)
}
