//! The screen without a terminal: keys typed as text, every effect done at once. For `--print` and for tests.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::joined::{self, Run};
use crate::notes::Notes;
use crate::run::Update;
use crate::trace::Trace;

use super::app::App;
use super::event::{Event, How, Opened, Tell};
use super::home::{Kept, Picked};
use super::perform::{Perform, Work, perform};
use super::theme::Theme;
use super::worker::{Request, Sight, Stage, Worker, fetch};
use super::{Options, keymap};

/// A screen driven by hand.
#[derive(Debug)]
pub struct Script {
    app: App,
    worker: Worker,
    /// What has happened and was not heard yet.
    events: VecDeque<Event>,
    size: (u16, u16),
    /// Texts that were put on the clipboard.
    pub copied: Vec<String>,
    /// Files that were written.
    pub written: Vec<PathBuf>,
    pub exit: Option<How>,
    /// What the run at work, or who looks at growing files, was told.
    pub told: Vec<String>,
    /// The notes that were kept last.
    pub kept: Option<Arc<Notes>>,
    /// Files that can be opened to compare with, by their path.
    pub files: Vec<Trace>,
    /// How keeping notes goes.
    pub keeping: Result<(), String>,
}

impl Script {
    /// Browses traces on a screen of a fixed size. Notes of earlier sessions are not looked for.
    pub fn open(traces: Vec<Trace>, size: (u16, u16), options: &Options) -> Result<Script> {
        let opened = Opened {
            runs: joined::part_runs(traces)?.into_iter().map(Run::new).collect(),
            stage: Stage::Whole,
        };
        Script::begin(opened, size, options)
    }

    /// The same with what an opener gave.
    pub(super) fn begin(opened: Opened, size: (u16, u16), options: &Options) -> Result<Script> {
        let theme = Theme::new(options.color, options.shade, options.ascii);
        let app = App::browse(theme, size, options).without_time();
        let mut script = Script::new(app, size);
        script.send(Event::Opened(Ok(Box::new(opened))));
        match script.app.failure() {
            Some(failure) => Err(anyhow!("{failure}")),
            None => Ok(script),
        }
    }

    /// The files have grown: these are their traces now.
    pub fn grow(&mut self, traces: Vec<Trace>) -> Result<&mut Script> {
        let opened = Opened {
            runs: joined::part_runs(traces)?.into_iter().map(Run::new).collect(),
            stage: Stage::Grown,
        };
        self.send(Event::Opened(Ok(Box::new(opened))));
        Ok(self)
    }

    /// Watches a run at work; time stands still but for [`Script::advance`].
    pub fn live(size: (u16, u16), options: &Options) -> Script {
        let theme = Theme::new(options.color, options.shade, options.ascii);
        Script::new(App::live(theme, size, options).without_time(), size)
    }

    /// Takes in what a run tells.
    pub fn hear(&mut self, update: Update) -> &mut Script {
        self.send(Event::Run(Box::new(update)));
        self
    }

    /// Lets time pass.
    pub fn advance(&mut self, time: Duration) -> &mut Script {
        self.app.advance(time);
        self.send(Event::Tick);
        self
    }

    /// Home over what it lists.
    pub fn home(list: Vec<Kept>, size: (u16, u16), options: &Options) -> Script {
        let theme = Theme::new(options.color, options.shade, options.ascii);
        let mut script = Script::new(App::home(theme, size, options, None).without_time(), size);
        script.send(Event::Shelf(list));
        script
    }

    /// What was chosen on Home.
    pub fn picked(&self) -> Option<&Picked> {
        self.app.shared.session.picked.as_ref()
    }

    fn new(app: App, size: (u16, u16)) -> Script {
        Script {
            app,
            worker: Worker::default(),
            events: VecDeque::new(),
            size,
            copied: Vec::new(),
            written: Vec::new(),
            exit: None,
            told: Vec::new(),
            kept: None,
            files: Vec::new(),
            keeping: Ok(()),
        }
    }

    /// The screen as an SVG picture.
    pub fn picture(&self) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, self.size.0, self.size.1));
        self.app.draw(&mut buffer);
        super::picture::svg(&buffer, self.app.theme())
    }

    /// Types keys: `iclaw<enter>jj<enter>`.
    pub fn keys(&mut self, keys: &str) -> &mut Script {
        for key in keymap::parse(keys) {
            self.send(Event::Key(key));
        }
        self
    }

    /// Clicks a cell, counted from 0.
    pub fn click(&mut self, column: u16, row: u16) -> &mut Script {
        let kind = MouseEventKind::Down(MouseButton::Left);
        let modifiers = crossterm::event::KeyModifiers::NONE;
        self.send(Event::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers,
        }));
        self
    }

    pub fn resize(&mut self, size: (u16, u16)) -> &mut Script {
        self.size = size;
        self.send(Event::Resize(size.0, size.1));
        self
    }

    fn send(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            if let Event::Exported(Ok(exported)) = &event {
                self.written.push(exported.path.clone());
            }
            for effect in self.app.update(event) {
                perform(effect, self);
            }
            events.append(&mut self.events);
        }
    }

    /// The screen as text, one line a row, without blanks at the ends.
    pub fn screen(&self) -> String {
        self.screen_of(self.size)
    }

    /// The same on a terminal whose size has changed without a word.
    pub fn screen_of(&self, (width, height): (u16, u16)) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.app.draw(&mut buffer);
        let mut text = String::new();
        for y in 0..height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..width {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The screen with its colours.
    pub fn buffer(&self) -> Buffer {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        let mut buffer = Buffer::empty(area);
        self.app.draw(&mut buffer);
        buffer
    }
}

impl Perform for Script {
    fn aside(&mut self, work: Work) {
        self.events.push_back(work());
    }

    fn ask(&mut self, request: Request) {
        let tell = &mut |reply| self.events.push_back(Event::Worker(reply));
        self.worker.ask(request, tell);
        while self.worker.step(&|| false, tell) {}
    }

    fn fetch(&mut self, sight: Sight) {
        fetch(&sight, &mut |fetched| self.events.push_back(Event::Fetched(fetched)));
    }

    fn copy(&mut self, text: String) {
        self.copied.push(text);
    }

    fn keep(&mut self, _: Arc<Trace>, notes: Arc<Notes>) {
        self.kept = Some(notes);
        self.events.push_back(Event::Kept(self.keeping.clone()));
    }

    fn open_other(&mut self, path: PathBuf) {
        let run = self.files.iter().find(|trace| trace.path.as_ref() == Some(&path));
        let run = run.map(|trace| Box::new(Run::new(trace.clone())));
        let run = run.ok_or_else(|| format!("no run {}", path.display()));
        self.events.push_back(Event::OpenedOther(run));
    }

    fn list_runs(&mut self) {}

    fn tell(&mut self, tell: Tell) {
        self.told.push(format!("{tell:?}"));
    }

    fn redraw(&mut self, _: bool) {}

    fn exit(&mut self, how: How) {
        self.exit = Some(how);
    }

    fn cache_dir(&self) -> Option<PathBuf> {
        None
    }
}
