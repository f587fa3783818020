//! What the trace is and where it comes from, and what was found to be wrong with it.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use serde_json::Value;

use crate::check::Problem;
use crate::trace::Trace;
use crate::tui::canvas::{Canvas, middle};
use crate::tui::passage::{Laid, Passage};
use crate::tui::screen::{Overlay, Screen};
use crate::tui::shared::Shared;
use crate::tui::theme::{Role, Theme};

/// Lines of a document that are shown of each file under `provenance/`.
const LINES: usize = 60;

#[derive(Debug)]
pub struct About {
    /// Paragraphs with what they are; each is broken into lines when drawn.
    paragraphs: Vec<(String, Role)>,
    scroll: usize,
}

impl About {
    /// `problems` is `None` while the trace is still looked through.
    pub fn new(trace: &Trace, problems: Option<&[Problem]>) -> About {
        let mut about = About {
            paragraphs: Vec::new(),
            scroll: 0,
        };
        about.say(trace.kind.clone(), Role::Strong);
        if let Some(path) = &trace.path {
            about.say(path.display().to_string(), Role::Dim);
        }
        let picks = match &trace.rule {
            Some(rule) => format!("picks as the rule {rule} reads the outputs"),
            None => "picks as the file stores them".to_owned(),
        };
        about.say(picks, Role::Dim);
        about.findings(problems);
        about.say(String::new(), Role::Plain);
        about.say("Told while opening".to_owned(), Role::Title);
        if trace.notices.is_empty() {
            about.say("nothing odd".to_owned(), Role::Dim);
        }
        for notice in &trace.notices {
            about.say(format!("{}: {}", notice.kind, notice.text), Role::Plain);
        }
        if let Some(manifest) = &trace.manifest {
            about.manifest(&manifest.value());
        }
        about
    }

    fn say(&mut self, text: String, role: Role) {
        self.paragraphs.push((text, role));
    }

    fn findings(&mut self, problems: Option<&[Problem]>) {
        self.say(String::new(), Role::Plain);
        self.say("Check".to_owned(), Role::Title);
        match problems {
            None => self.say("looking through the rows…".to_owned(), Role::Dim),
            Some([]) => self.say("nothing is wrong with the rows".to_owned(), Role::Dim),
            Some(problems) => {
                for problem in problems {
                    self.say(format!("{}: {}", problem.kind, problem.detail), Role::Warning);
                }
            }
        }
        let more = "without reading texts; `markbook check` reads them too: seeds, underivable picks, hashes";
        self.say(more.to_owned(), Role::Dim);
    }

    fn manifest(&mut self, manifest: &Value) {
        let Some(fields) = manifest.as_object() else { return };
        let (provenance, own): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| *name == "provenance");
        for (_, files) in provenance {
            for (name, value) in files.as_object().into_iter().flatten() {
                self.document(&format!("provenance/{name}.json"), value);
            }
        }
        if !own.is_empty() {
            let own: serde_json::Map<String, Value> = own
                .into_iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            self.document("Manifest", &Value::Object(own));
        }
    }

    fn document(&mut self, title: &str, value: &Value) {
        self.say(String::new(), Role::Plain);
        self.say(title.to_owned(), Role::Title);
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !matches!(line.trim(), "{" | "}")).collect();
        for line in lines.iter().take(LINES) {
            let line = line.strip_prefix("  ").unwrap_or(line);
            self.say(line.trim_end_matches(',').to_owned(), Role::Plain);
        }
        if lines.len() > LINES {
            self.say(format!("… {} more lines", lines.len() - LINES), Role::Dim);
        }
    }

    fn lay(&self, area: Rect, theme: &Theme) -> Vec<Laid> {
        let width = usize::from(place(area).width.saturating_sub(4));
        let mut lines = Vec::new();
        for (text, role) in &self.paragraphs {
            let laid = Passage::plain(text).lay(width, theme.ascii);
            lines.extend(laid.into_iter().map(|mut line| {
                line.spans.iter_mut().for_each(|(_, own)| *own = *role);
                line
            }));
        }
        lines
    }
}

impl Overlay for About {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let height = usize::from(place(shared.area).height.saturating_sub(2)).max(1);
        let last = self.lay(shared.area, &shared.theme).len().saturating_sub(height);
        let step: isize = match key.code {
            KeyCode::Esc | KeyCode::Char('q' | 'I') | KeyCode::Enter => return false,
            KeyCode::Char('j') | KeyCode::Down => 1,
            KeyCode::Char('k') | KeyCode::Up => -1,
            KeyCode::Char(' ') | KeyCode::PageDown => height as isize - 1,
            KeyCode::PageUp => 1 - height as isize,
            KeyCode::Char('g') | KeyCode::Home => isize::MIN / 2,
            KeyCode::Char('G') | KeyCode::End => isize::MAX / 2,
            _ => 0,
        };
        self.scroll = self.scroll.min(last).saturating_add_signed(step).min(last);
        true
    }

    fn draw(&self, canvas: &mut Canvas, _: &Shared, _: &dyn Screen) {
        let (area, theme) = (canvas.area(), canvas.theme);
        let mut inner = canvas.window_at(place(area), "About this trace", "j/k scroll · Esc");
        inner.laid(&self.lay(area, theme), self.scroll);
    }
}

fn place(area: Rect) -> Rect {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    middle(area, (width.saturating_sub(8).min(110), height.saturating_sub(4)))
}
