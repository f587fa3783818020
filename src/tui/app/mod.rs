//! The program as a value: an event in, the state changed, effects out. No I/O here.

mod command;
mod footer;
mod tabs;
mod view;

use std::time::Duration;

use crossterm::event::{KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::Options;
use super::browse::{self, Browse};
use super::canvas::Canvas;
use super::charts::Charts;
use super::compare::Compare;
use super::event::{Effect, Event, How};
use super::home::Home;
use super::keymap::{self, Action, On};
use super::live::AtWork;
use super::overlays::{CommandLine, FindLine, NoteLine, Quitting};
use super::panes::export::Dialog;
use super::panes::filter_line::FilterLine;
use super::panes::rows::Rows;
use super::screen::{Mouse, Needs, Next, Overlay, Screen};
use super::shared::{Clock, Shared, Working};
use super::shelf::Side;
use super::theme::Theme;

/// Lines that one turn of the wheel moves.
const WHEEL: isize = 3;

/// Most rows that are read in full at once.
const READ: usize = 40;

#[derive(Debug)]
pub struct App {
    pub shared: Shared,
    /// The bottom one first; never empty.
    screens: Vec<Box<dyn Screen>>,
    overlay: Option<Box<dyn Overlay>>,
}

impl App {
    /// Browses a trace that is being opened.
    pub fn browse(theme: Theme, size: (u16, u16), options: &Options) -> App {
        App::new(theme, size, options, Box::new(Browse::default()))
    }

    /// Shows what can be opened, with something to tell.
    pub fn home(theme: Theme, size: (u16, u16), options: &Options, told: Option<String>) -> App {
        let mut app = App::new(theme, size, options, Box::<Home>::default());
        told.map(|told| app.shared.warn(told));
        app
    }

    /// Watches a run at work.
    pub fn live(theme: Theme, size: (u16, u16), options: &Options) -> App {
        let mut app = App::new(theme, size, options, Box::new(AtWork::default()));
        app.shared.run = Some(Working::default());
        app
    }

    fn new(theme: Theme, size: (u16, u16), options: &Options, first: Box<dyn Screen>) -> App {
        let mut shared = Shared::new(theme, size);
        shared.saved.clone_from(&options.saved);
        shared.session.reopen.clone_from(&options.command);
        shared.session.has_home = options.has_home;
        shared.session.is_following = options.follow;
        let place = options.place.clone();
        let view = &mut shared.workspace.view;
        view.filter = options.filter.clone().unwrap_or_default();
        (view.sort, view.is_reversed, view.by_question) = (place.sort, place.is_reversed, place.by_question);
        shared.session.arrival = Some(place);
        shared.depth = 1;
        App {
            shared,
            screens: vec![first],
            overlay: None,
        }
    }

    /// Hides times and rates, so that a screen is the same every time.
    pub fn without_time(mut self) -> App {
        self.shared.clock = Clock::Fixed(Duration::ZERO);
        self
    }

    /// Moves a clock that stands still.
    pub fn advance(&mut self, time: Duration) {
        if let Clock::Fixed(now) = &mut self.shared.clock {
            *now += time;
        }
    }

    /// Why the trace could not be opened, where it could not.
    pub fn failure(&self) -> Option<&str> {
        self.shared.session.failure.as_deref()
    }

    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Mouse(event) => self.mouse(event),
            Event::Paste(text) => self.paste(&text),
            Event::Resize(width, height) => self.shared.area = Rect::new(0, 0, width, height),
            Event::Opened(Ok(opened)) => self.shared.opened(*opened),
            Event::Opened(Err(error)) => self.shared.not_opened(error),
            Event::OpenedOther(run) => self.shared.opened_other(run),
            Event::Adopted(run) => self.shared.adopted(run),
            Event::Fetched(fetched) if fetched.side == Side::A => self.shared.workspace.take_fetched(fetched),
            event => self.hear(&event),
        }
        self.go_on();
        self.arrive();
        self.settle();
        std::mem::take(&mut self.shared.effects)
    }

    fn hear(&mut self, event: &Event) {
        if !self.shared.hear(event) {
            return;
        }
        let shared = &mut self.shared;
        if self
            .overlay
            .as_mut()
            .is_some_and(|overlay| !overlay.hear(event, shared))
        {
            self.overlay = None;
        }
        for screen in &mut self.screens {
            screen.hear(event, shared);
        }
        shared.workspace.moves = None;
        if let (Event::Paired(paired, tallied), false) = (event, self.has(On::Compare)) {
            let compare = Compare::opened(paired, tallied, &mut self.shared);
            self.shared.go(Next::Push(compare));
        }
    }

    fn has(&self, on: On) -> bool {
        self.screens.iter().any(|screen| screen.on() == on)
    }

    fn top(&mut self) -> (&mut dyn Screen, &mut Shared) {
        let top = self.screens.last_mut().expect("the bottom screen is never popped");
        (&mut **top, &mut self.shared)
    }

    fn screen(&self) -> &dyn Screen {
        &**self.screens.last().expect("the bottom screen is never popped")
    }

    /// Does what was asked for while a screen or an overlay was at it.
    fn go_on(&mut self) {
        while !self.shared.next.is_empty() {
            for next in std::mem::take(&mut self.shared.next) {
                self.go(next);
                self.shared.depth = self.screens.len();
            }
        }
    }

    fn go(&mut self, next: Next) {
        match next {
            Next::Push(screen) => {
                // A screen stands there once: what stood on it goes.
                if let Some(at) = self.screens.iter().position(|known| known.on() == screen.on()) {
                    self.screens.truncate(at);
                }
                self.screens.push(screen);
            }
            Next::Replace(screen) => self.screens = vec![screen],
            Next::Pop(on) => {
                if self.screen().on() == on {
                    self.pop();
                }
            }
            Next::Open(overlay) => self.overlay = Some(overlay),
            Next::Press(key) => self.press(key),
            Next::Act(action) => self.act(action, ""),
            Next::Command(line) => self.command(&line),
            Next::Quit => self.quit(),
        }
    }

    /// Takes the top screen away, where there is one below.
    fn pop(&mut self) {
        if self.screens.len() > 1
            && let Some(screen) = self.screens.pop()
        {
            self.shared.depth = self.screens.len();
            screen.leave(&mut self.shared);
        }
    }

    fn press(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.shared.notice = None;
        let name = keymap::name(key);
        if name == "^c" {
            self.interrupt();
            return;
        }
        if let Some(overlay) = &mut self.overlay {
            if !overlay.press(key, &mut self.shared) {
                self.overlay = None;
            }
            return;
        }
        let (screen, shared) = self.top();
        if screen.press(key, shared) {
            return;
        }
        let can_hide = matches!(screen.on(), On::Browse | On::Question);
        if can_hide && shared.workspace.is_blind && shared.press_blind(&name, screen) {
            return;
        }
        match keymap::lookup(screen.on(), &name) {
            Some(action) => self.act(action, &name),
            None if name.is_empty() => {}
            None => {
                let name = shared.theme.key_name(&name);
                shared.say(format!("{name} does nothing here; ? shows the keys"));
            }
        }
    }

    pub fn theme(&self) -> &Theme {
        &self.shared.theme
    }

    /// Does what a key means on every screen, or on this one.
    fn act(&mut self, action: Action, key: &str) {
        let (screen, shared) = self.top();
        let row = screen.row(shared);
        if screen.on() == On::Browse && matches!(action, Action::First | Action::Last | Action::NextMark | Action::Open)
            || screen.on() == On::Question && matches!(action, Action::NextMark)
        {
            shared.workspace.note_jump(screen.on() == On::Question);
        }
        match action {
            Action::Filter => FilterLine::open(shared),
            Action::Invalid => shared.toggle_outcome("invalid"),
            Action::Wrong => shared.toggle_outcome("wrong"),
            Action::Ok => shared.toggle_outcome("ok"),
            Action::Category => shared.open_categories(),
            Action::Sort if screen.on() == On::Browse => shared.open_sort(),
            Action::Help => self.open_help(),
            Action::Command => shared.go(Next::Open(Box::<CommandLine>::default())),
            Action::Undo => shared.step_history(true),
            Action::Redo => shared.step_history(false),
            Action::JumpBack => self.jump_back(),
            Action::Export => Dialog::open(shared, screen.pairs()),
            Action::Quit if shared.depth > 1 => self.back(),
            Action::Quit if screen.on() == On::Exam && screen.back(shared) => {}
            Action::Quit if shared.session.has_home && !Quitting::is_needed(shared) => shared.exit(How::Back),
            Action::Quit | Action::QuitNow => self.quit(),
            Action::Back => self.back(),
            Action::Render => shared.renders = !shared.renders,
            Action::Charts => shared.push(Charts::default()),
            Action::Redraw => shared.effect(Effect::Redraw),
            Action::Suspend => shared.effect(Effect::Suspend),
            Action::Mark if !matches!(screen.on(), On::Runs | On::Home) => {
                if let Some(row) = row {
                    shared.mark(row);
                }
            }
            Action::NextMark => shared.next_mark(screen),
            Action::Note => NoteLine::open(shared, row),
            Action::About => shared.open_about(),
            Action::Blind => shared.toggle_blind(),
            Action::CompareWith => shared.open_runs(),
            Action::OpenLab if screen.on() != On::Lab => {
                shared.open_lab(None, row.filter(|_| screen.on() == On::Question));
            }
            Action::CopyOutput => shared.copy_output(screen),
            Action::CopyCommand => self.copy_command(),
            Action::Keep => shared.open_alike(false, screen),
            Action::Drop => shared.open_alike(true, screen),
            Action::Find => shared.go(Next::Open(Box::new(FindLine::on(screen.on())))),
            _ => screen.act(action, key, shared),
        }
    }

    /// One level back.
    fn back(&mut self) {
        let (screen, shared) = self.top();
        if !screen.back(shared) && shared.find.take().is_none() {
            self.pop();
        }
    }

    /// `^o`: to where the last jump began, in the view that was shown then.
    fn jump_back(&mut self) {
        let is_open = self.screen().on() == On::Question;
        let workspace = &mut self.shared.workspace;
        let Some(jump) = workspace.jump_back(is_open) else {
            return self.shared.say("no jump to go back from");
        };
        let is_same = workspace.view == jump.view;
        if !is_same {
            let before = workspace.view.clone();
            let request = workspace.come_back(jump.view, Some((jump.row, jump.cursor)));
            workspace.keep(before);
            self.shared.ask(request);
        }
        let keeps = |on: On| on == On::Browse || on == On::Question && jump.is_open && is_same;
        while self.screens.len() > 1 && !keeps(self.screen().on()) {
            self.pop();
        }
        if let Some(at) = self.shared.workspace.place(jump.row).filter(|_| is_same) {
            let (screen, shared) = self.top();
            screen.go_to(at, shared);
            shared.workspace.cursor.top = (at + jump.cursor.top).saturating_sub(jump.cursor.at);
            if jump.is_open && screen.on() == On::Browse {
                shared.open_question();
            }
        }
    }

    /// Ctrl-C, wherever it is pressed: it asks, once more leaves, and where a run does not come to its end, ends at once.
    fn interrupt(&mut self) {
        let shared = &mut self.shared;
        if shared.run.is_some_and(|run| !run.is_over && run.is_stopping) {
            shared.exit(How::AtOnce);
        } else if !self.overlay.take().is_some_and(|mut overlay| overlay.interrupt(shared)) {
            self.quit();
        }
    }

    fn quit(&mut self) {
        if Quitting::is_needed(&self.shared) {
            self.overlay = Some(Box::new(Quitting));
        } else {
            self.shared.exit(How::Done);
        }
    }

    fn paste(&mut self, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match &mut self.overlay {
            Some(overlay) => overlay.paste(&text, &mut self.shared),
            None => {
                let (screen, shared) = self.top();
                screen.paste(&text, shared);
            }
        }
    }

    fn mouse(&mut self, event: MouseEvent) {
        let at = Position::new(event.column, event.row);
        let mouse = match event.kind {
            MouseEventKind::ScrollDown => Mouse::Wheel(WHEEL),
            MouseEventKind::ScrollUp => Mouse::Wheel(-WHEEL),
            MouseEventKind::Down(MouseButton::Left) => Mouse::Click,
            _ => return,
        };
        if let Some(overlay) = &mut self.overlay {
            if !overlay.mouse(at, mouse, &mut self.shared) {
                self.overlay = None;
            }
        } else if mouse == Mouse::Click && footer::place(self.shared.area).contains(at) {
            let key = self.key_at(at.x).filter(|_| self.shared.notice.is_none());
            key.map(|key| self.press(key));
        } else if mouse == Mouse::Click && at.y == 0 {
            self.click_tab(at.x);
        } else {
            let (screen, shared) = self.top();
            screen.mouse(at, mouse, shared);
        }
    }

    /// Brings cursors into sight and asks for texts that are missing.
    fn settle(&mut self) {
        let height = Rows::height(browse::places(self.shared.area, &self.shared).rows);
        let workspace = &mut self.shared.workspace;
        let shown = workspace.selected.rows.len();
        workspace.cursor.settle(shown, height);
        let (screen, shared) = self.top();
        let Needs { listed, mut read } = screen.needs(shared);
        let workspace = &mut shared.workspace;
        let (rows, cursor) = (&workspace.selected.rows, workspace.cursor);
        let listed = listed.unwrap_or_else(|| rows.iter().skip(cursor.top).take(height).copied().collect());
        let near = [0, 1, -1]
            .into_iter()
            .filter_map(|step| cursor.at.checked_add_signed(step));
        read.extend(near.filter_map(|at| rows.get(at)));
        let mut seen = std::collections::HashSet::new();
        read.retain(|row| seen.insert(*row));
        read.truncate(READ);
        if let Some(sight) = workspace.missing(&listed, &read) {
            shared.effect(Effect::Fetch(sight));
        }
    }

    /// Draws the frame into a buffer, in the size that the buffer has: nothing is read, sorted or counted here.
    pub fn draw(&self, buffer: &mut Buffer) {
        let area = buffer.area;
        let mut canvas = Canvas::new(buffer, area, &self.shared.theme);
        if area.width < 4 || area.height < 2 {
            return;
        }
        let screen = self.screen();
        let tabs = self.draw_tabs(&mut canvas);
        canvas = canvas.with_tabs(tabs);
        screen.draw(&mut canvas, &self.shared);
        self.draw_footer(&mut canvas.at(footer::place(area)));
        if let Some(overlay) = &self.overlay {
            overlay.draw(&mut canvas, &self.shared, screen);
        }
        canvas.finish();
    }
}
