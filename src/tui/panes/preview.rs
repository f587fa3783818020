//! Pane 5: the row under the cursor, read without opening it.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::record::{Record, letter};
use crate::text::count;
use crate::text::safe::one_line;
use crate::tui::canvas::{Canvas, text_room};
use crate::tui::passage::{Laid, Passage};
use crate::tui::reading::Reading;
use crate::tui::snapshot::Snapshot;
use crate::tui::strip::Strip;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::Extent;

use super::Around;
use super::output::{self, option_mark};

#[derive(Debug, Default)]
pub struct Preview {
    pub scroll: usize,
    /// The row that the scroll belongs to.
    pub row: Option<u32>,
    pub folds: bool,
}

/// From this height on options are shown, one a line.
const TALL: usize = 14;

impl Preview {
    pub fn draw(&self, canvas: &mut Canvas, around: &Around) {
        let workspace = around.workspace;
        let shown = workspace.row().and_then(|row| Some((row, workspace.record(row)?)));
        let (Some((row, Ok(record))), Some(snapshot)) = (shown, workspace.snapshot.as_deref()) else {
            let mut inner = canvas.frame("5 Preview", "");
            if let Some((_, Err(error))) = shown {
                inner.line(0, inner.strip().foreign(error, 400, Role::Warning));
            }
            return;
        };
        if workspace.hides(row) {
            self.draw_blind(canvas, record);
            return;
        }
        let shown = Shown::new(snapshot, row, record, around);
        let title = if canvas.height() < TALL {
            format!("5 Preview · {}", shown.short())
        } else {
            "5 Preview".to_owned()
        };
        let theme = canvas.theme;
        let remark = theme.key_name("J/K scroll · Space page · ⏎ open");
        let mut inner = canvas.frame(&title, &remark).padded();
        let lines = shown.lines((inner.width(), inner.height()), !self.folds);
        inner.laid(&lines, self.scroll);
    }

    /// The question and its options, and nothing that tells the key or a pick.
    fn draw_blind(&self, canvas: &mut Canvas, record: &Record) {
        let title = format!("5 Preview · Q{} · blind", record.question_id);
        let mut inner = canvas.frame(&title, "A-J answers · n next · b ends").padded();
        let (width, ascii) = (inner.width(), inner.theme.ascii);
        let mut lines = Passage::plain(record.question.trim()).lay(width, ascii);
        lines.push(Laid::default());
        for (at, option) in record.options.iter().enumerate() {
            let name = letter(at).map(String::from).unwrap_or_default();
            let text = format!("  {name} {option}");
            lines.extend(Passage::plain(&text).lay(width, ascii));
        }
        inner.laid(&lines, self.scroll);
    }

    pub fn extent(&self, area: Rect, around: &Around) -> Extent {
        let (width, height) = text_room(area);
        let workspace = around.workspace;
        let shown = workspace.row().and_then(|row| Some((row, workspace.record(row)?)));
        let (Some((row, Ok(record))), Some(snapshot)) = (shown, workspace.snapshot.as_deref()) else {
            return Extent { lines: 0, height };
        };
        let size = (width, height);
        let lines = Shown::new(snapshot, row, record, around).lines(size, !self.folds).len();
        Extent { lines, height }
    }
}

/// The row that is previewed.
struct Shown<'a> {
    snapshot: &'a Snapshot,
    row: u32,
    record: &'a Record,
    reading: Reading,
    around: &'a Around<'a>,
    theme: &'a Theme,
}

/// Lines of the output that are in sight at least, whatever the question takes.
const OUTPUT: usize = 5;

impl<'a> Shown<'a> {
    fn new(snapshot: &'a Snapshot, row: u32, record: &'a Record, around: &'a Around<'a>) -> Shown<'a> {
        Shown {
            snapshot,
            row,
            record,
            reading: Reading::of(record, &around.workspace.rule),
            around,
            theme: around.theme,
        }
    }

    /// What the pane is called where there is no room for a heading of its own.
    fn short(&self) -> String {
        let (verdict, _) = output::verdict(self.record, self.theme);
        let (question, attempt) = (self.record.question_id, self.record.attempt);
        format!("Q{question} at {attempt} · {verdict}{}", self.reading.remarked())
    }

    fn lines(&self, (width, height): (usize, usize), folds: bool) -> Vec<Laid> {
        let is_tall = height + 1 >= TALL;
        let mut lines = if is_tall {
            self.tall_head(width, height)
        } else {
            self.low_head(width)
        };
        if self.record.logprobs.is_some() {
            lines.extend(output::scores(self.record, 24, self.theme).into_iter().map(Strip::laid));
            return lines;
        }
        let rest = height.saturating_sub(lines.len()).max(1);
        let view = output::View {
            size: (width, rest),
            folds,
            find: self.around.find,
            renders: self.around.renders,
        };
        let output = output::lay(self.record, &self.reading, view, self.theme);
        let from = if is_tall { 0 } else { output.from };
        lines.extend(output.lines.into_iter().skip(from));
        lines
    }

    /// Heading, question and options in so many lines that some of the output is in sight below them.
    fn tall_head(&self, width: usize, height: usize) -> Vec<Laid> {
        let (record, theme) = (self.record, self.theme);
        let mut lines = vec![self.heading(), Laid::default()];
        let most = (height / 3).max(3);
        let question = cut(output::prose(record.question.trim(), width, self.around), most, theme);
        // Two blank lines and the output's own heading stand between.
        let room = height.saturating_sub(lines.len() + question.len() + 3 + OUTPUT);
        let whole = options(record, width, self.around);
        let options = match whole.len() <= room {
            true => whole,
            false => shortened(one_line_options(record, width, theme), room.max(1), theme),
        };
        lines.extend(question);
        lines.push(Laid::default());
        lines.extend(options);
        lines.push(Laid::default());
        if record.logprobs.is_none() {
            let chars = count(record.reasoning_chars.max(0) as usize, "char");
            lines.push(one(
                format!("── output · {chars}{} ", self.reading.remarked()),
                Role::Dim,
            ));
        }
        lines
    }

    fn low_head(&self, width: usize) -> Vec<Laid> {
        let theme = self.theme;
        let question = output::prose(self.record.question.trim(), width, self.around);
        let mut lines = cut(question, 2, theme);
        if let Some(last) = lines.last_mut() {
            let key = one_line(&self.record.answer, 12, theme.ascii);
            last.spans.push((format!("   key {key}"), Role::Strong));
        }
        lines.push(Laid::default());
        lines
    }

    fn heading(&self) -> Laid {
        let (record, theme) = (self.record, self.theme);
        let (verdict, role) = output::verdict(record, theme);
        let group = match record.subject.as_str() {
            "" => &record.category,
            _ => &record.subject,
        };
        let mut strip = Strip::new(theme).strong(format!("Q{} ", record.question_id)).foreign(
            &group.replace('_', " "),
            30,
            Role::Plain,
        );
        if let Some(attempt) = self.snapshot.attempt_label(self.row) {
            strip = strip.text(format!(" · {attempt}"));
        }
        strip
            .text(" · pick ")
            .put(verdict, role)
            .text(" · key ")
            .foreign(&record.answer, 20, Role::Plain)
            .laid()
    }
}

/// At most so many lines, the last with a mark where something was cut.
fn cut(mut lines: Vec<Laid>, most: usize, theme: &Theme) -> Vec<Laid> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.spans.push((theme.dots().to_owned(), Role::Dim));
        }
    }
    lines
}

/// Option lines that fit: the key and the pick stay, others give way and are counted.
fn shortened(options: Vec<Laid>, room: usize, theme: &Theme) -> Vec<Laid> {
    if options.len() <= room {
        return options;
    }
    let is_marked = |line: &Laid| line.spans.first().is_some_and(|(_, role)| *role != Role::Plain);
    let marked = options.iter().filter(|line| is_marked(line)).count();
    let (all, mut plain) = (options.len(), room.saturating_sub(marked + 1));
    let stays = |line: &Laid| {
        let fits = plain > 0;
        if !is_marked(line) {
            plain = plain.saturating_sub(1);
        }
        is_marked(line) || fits
    };
    let mut kept: Vec<Laid> = options.into_iter().filter(stays).collect();
    let more = count(all - kept.len(), "more option");
    kept.push(one(format!("    {} {more}", theme.dots()), Role::Dim));
    kept
}

fn one(text: String, role: Role) -> Laid {
    Laid {
        spans: vec![(text, role)],
        start: 0,
    }
}

/// The mark and the name of an option, what they mean, and what follows the option.
fn lead(record: &Record, at: usize, theme: &Theme) -> (String, Role, &'static str) {
    let name = letter(at).map(|letter| letter.to_string()).unwrap_or_default();
    let (mark, role) = option_mark(record, &name, theme);
    let remark = match (record.answer == name, record.pick == name) {
        (true, true) => "  key, picked",
        (true, false) => "  key",
        (false, true) => "  picked",
        (false, false) => "",
    };
    (format!("{mark} {name} "), role, remark)
}

/// The options whole, as many lines as they take.
fn options(record: &Record, width: usize, around: &Around) -> Vec<Laid> {
    let mut lines = Vec::new();
    for (at, option) in record.options.iter().enumerate() {
        let (lead, role, remark) = lead(record, at, around.theme);
        let room = width.saturating_sub(lead.width() + remark.width()).max(10);
        for (row, text) in output::prose(option.trim(), room, around).into_iter().enumerate() {
            let strip = Strip::new(around.theme);
            lines.push(match row {
                0 => strip.put(&lead, role).join_laid(text).put(remark, role).laid(),
                _ => strip.to(lead.width()).join_laid(text).laid(),
            });
        }
    }
    lines
}

/// The options on a line each.
fn one_line_options(record: &Record, width: usize, theme: &Theme) -> Vec<Laid> {
    let line = |(at, option): (usize, &String)| {
        let (lead, role, remark) = lead(record, at, theme);
        let room = width.saturating_sub(lead.width() + remark.width());
        let strip = Strip::new(theme).put(lead, role).foreign(option, room, Role::Plain);
        strip
            .put(remark, if remark.is_empty() { Role::Plain } else { role })
            .laid()
    };
    record.options.iter().enumerate().map(line).collect()
}
