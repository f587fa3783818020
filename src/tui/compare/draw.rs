//! The Compare screen on the terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;

use crate::compare::{Difference, Quadrant};
use crate::extract::Rule;
use crate::record::{INVALID, Record};
use crate::stats::Interval;
use crate::text::safe::one_line;
use crate::text::thousands;
use crate::trace::Rows;
use crate::tui::panes::Room;
use crate::tui::panes::output::{Find, verdict};
use crate::tui::panes::rows::{pad, pick_role};
use crate::tui::shelf::Side;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{frame, laid, line, right};
use crate::tui::workspace::Workspace;

use super::Compare;

/// Where the parts of the screen stand; empty rectangles for those out of sight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    pub title: Rect,
    pub paired: Rect,
    pub categories: Rect,
    pub list: Rect,
    pub a: Rect,
    pub b: Rect,
    pub footer: Rect,
}

impl Places {
    pub fn of(area: Rect, side: Side) -> Places {
        let room = Room::of(area);
        if room == Room::Wide {
            let [title, top, list, texts, footer] = Layout::vertical([
                Constraint::Length(1),
                Constraint::Length(11),
                Constraint::Length((area.height / 5).max(8)),
                Constraint::Min(4),
                Constraint::Length(1),
            ])
            .areas(area);
            let [paired, categories] = Layout::horizontal([Constraint::Length(40), Constraint::Min(30)]).areas(top);
            let [a, b] = Layout::horizontal([Constraint::Ratio(1, 2); 2]).areas(texts);
            return Places {
                title,
                paired,
                categories,
                list,
                a,
                b,
                footer,
            };
        }
        let tall = if room == Room::Tiny { 0 } else { area.height / 2 };
        let [title, paired, list, text, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(tall),
            Constraint::Length(1),
        ])
        .areas(area);
        let (a, b) = match side {
            Side::A => (text, Rect::default()),
            Side::B => (Rect::default(), text),
        };
        Places {
            title,
            paired,
            list,
            a,
            b,
            footer,
            ..Places::default()
        }
    }

    /// Lines of pairs that fit into the list.
    pub fn listed(&self) -> usize {
        usize::from(self.list.height.saturating_sub(3)).max(1)
    }
}

/// What the screen draws with beside its own state.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub workspace: &'a Workspace,
    pub rule_of_b: &'a Rule,
    pub find: Option<&'a Find>,
    pub theme: &'a Theme,
}

impl Compare {
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, around: &Around) {
        let places = Places::of(area, self.side);
        let theme = around.theme;
        self.draw_title(buffer, places.title, around.workspace, theme);
        if Room::of(area) == Room::Wide {
            self.draw_paired(buffer, places.paired, theme);
            self.draw_categories(buffer, places.categories, theme);
        } else {
            self.draw_summary(buffer, places.paired, theme);
        }
        self.draw_list(buffer, places.list, around.workspace, theme);
        self.draw_texts(buffer, &places, around);
        if let Some(changed) = self.changed {
            let pair = self.tallied.changed.get(changed.cursor.at);
            let a = pair.and_then(|(x, _)| around.workspace.record(*x)?.as_deref().ok());
            let b = pair.and_then(|(_, y)| self.record_of_b(*y)?.as_deref().ok());
            let place = Rect {
                x: area.x + area.width / 20,
                y: area.y + 2,
                width: area.width - area.width / 10,
                height: area.height.saturating_sub(4),
            };
            self.draw_changed(changed, buffer, place, a, b, theme);
        }
    }

    fn draw_title(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, theme: &Theme) {
        let is_wide = area.width >= 100;
        let (a, b) = self.names();
        let room = if is_wide { 26 } else { 16 };
        let [share_a, share_b] = [0, 1].map(|side| self.tallied.accuracy(side));
        let pairs = self.tallied.comparison.overall.counts.pairs();
        let changed = self.tallied.changed.len();
        let mut spans = vec![
            Span::styled(" A ", theme.style(Role::Key)),
            Span::styled(one_line(a, room, theme.ascii), theme.style(Role::Title)),
            Span::styled(format!(" {share_a}"), theme.style(Role::Strong)),
            Span::styled(if is_wide { "   B " } else { "  B " }, theme.style(Role::Key)),
            Span::styled(one_line(b, room, theme.ascii), theme.style(Role::Title)),
            Span::styled(format!(" {share_b}"), theme.style(Role::Strong)),
        ];
        let of = if is_wide {
            format!(
                "   paired {} of {}",
                thousands(pairs),
                thousands(self.paired.a.rows.len())
            )
        } else {
            format!("  paired {}  changed {}", thousands(pairs), thousands(changed))
        };
        spans.push(Span::styled(of, theme.style(Role::Dim)));
        if is_wide && !workspace.filter.is_empty() {
            let filter = one_line(&workspace.view.filter, 30, theme.ascii);
            spans.push(Span::styled(format!(" in «{filter}»"), theme.style(Role::Strong)));
        }
        line(buffer, area, 0, spans);
        if is_wide {
            let (text, role) = match (changed, self.paired.pairing.is_suspicious()) {
                (_, true) => ("the ids agree, no question does ".to_owned(), Role::Warning),
                (0, _) => (String::new(), Role::Dim),
                (1, _) => ("1 question changed: x ".to_owned(), Role::Warning),
                (many, _) => (format!("{} questions changed: x ", thousands(many)), Role::Warning),
            };
            right(buffer, area, 0, vec![Span::styled(text, theme.style(role))]);
        }
    }

    fn draw_paired(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let kind = if self.tallied.comparison.overall.is_clustered {
            "95% by question"
        } else {
            "95%"
        };
        let inner = frame(buffer, area, "Paired", kind, false, theme);
        let count = |quadrant| thousands(self.tallied.comparison.overall.counts.get(quadrant));
        let mut lines = vec![
            format!("             {:>8} {:>9}", "B ok", "B wrong"),
            format!(
                "  A ok       {:>8} {:>9}",
                count(Quadrant::Both),
                count(Quadrant::AOnly)
            ),
            format!(
                "  A wrong    {:>8} {:>9}",
                count(Quadrant::BOnly),
                count(Quadrant::Neither)
            ),
            String::new(),
        ];
        lines.extend(self.verdict().into_iter().map(|line| format!("  {line}")));
        for (row, text) in lines.into_iter().enumerate() {
            line(buffer, inner, row as u16, vec![Span::raw(text)]);
        }
    }

    /// Difference, interval, test, and whether it is decided.
    fn verdict(&self) -> Vec<String> {
        let comparison = &self.tallied.comparison;
        let overall = &comparison.overall;
        let Some(difference) = overall.difference else {
            return vec!["no rows are paired".to_owned()];
        };
        let points = |limits: (f64, f64)| format!("{:+.1} to {:+.1}", limits.0 * 100.0, limits.1 * 100.0);
        let mut lines = Vec::new();
        if comparison.exams.len() > 1 {
            // Exams have each their own accuracy, and none together.
            for exam in &comparison.exams {
                let limits = exam
                    .interval
                    .map_or_else(String::new, |interval| points(interval.limits()));
                let gap = exam.difference.unwrap_or(0.0) * 100.0;
                lines.push(format!("{} {gap:+.1}  {limits}", one_line(&exam.name, 12, false)));
            }
        } else {
            lines.push(format!("A - B   {:+.1} points", difference * 100.0));
            let interval = overall.interval.map(Interval::limits);
            lines.extend(interval.map(|limits| format!("CI95    {}", points(limits))));
        }
        let z = overall.counts.z().map_or("-".to_owned(), |z| format!("{:.1}", z.abs()));
        lines.push(format!("McNemar z {z}  {}", chance(comparison.p, comparison.log10_p)));
        let pairs = overall.counts.pairs().max(1);
        lines.push(match (comparison.decision.at, comparison.decision.needed) {
            (Some(at), _) => format!(
                "decided: yes, since {:.0}% of the pairs",
                at as f64 * 100.0 / pairs as f64
            ),
            (None, Some(needed)) => format!("decided: no; would take {} pairs", thousands(needed)),
            (None, None) => "decided: no".to_owned(),
        });
        lines
    }

    /// The same in one line, where there is no room.
    fn draw_summary(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let overall = &self.tallied.comparison.overall;
        let count = |quadrant| thousands(self.tallied.comparison.overall.counts.get(quadrant));
        let mut text = format!(
            " A only {}  B only {}  both {}  none {}",
            count(Quadrant::AOnly),
            count(Quadrant::BOnly),
            count(Quadrant::Both),
            count(Quadrant::Neither)
        );
        let limits = overall.interval.map(Interval::limits);
        let limits = limits.filter(|_| self.tallied.comparison.exams.len() < 2);
        if let (Some(difference), Some((low, high))) = (overall.difference, limits) {
            text.push_str(&format!(
                "  {:+.1} [{:.1},{:.1}]",
                difference * 100.0,
                low * 100.0,
                high * 100.0
            ));
        }
        if let Some(z) = overall.counts.z() {
            text.push_str(&format!(" z {:.1}", z.abs()));
        }
        line(buffer, area, 0, vec![Span::styled(text, theme.style(Role::Strong))]);
    }

    fn draw_categories(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let remark = if self.by_gap { "s sort by name" } else { "s sort by gap" };
        let inner = frame(buffer, area, "A - B by category", remark, false, theme);
        let categories = self.categories();
        let ends = categories.iter().flat_map(|part| {
            part.interval
                .map_or([0.0, 0.0], |interval| [interval.low, interval.high])
        });
        let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
        let height = usize::from(inner.height);
        // Where they do not all fit, the last line says how many are out of sight.
        let fit = if categories.len() > height {
            height.saturating_sub(1)
        } else {
            height
        };
        let bar = usize::from(inner.width).saturating_sub(32).max(8);
        for (row, part) in categories.iter().take(fit).enumerate() {
            let gap = part.difference.unwrap_or(0.0) * 100.0;
            let mut spans = vec![Span::raw(format!(
                "  {} {gap:>+6.1}  ",
                pad(&part.name.replace('_', " "), 13, theme)
            ))];
            spans.push(Span::styled(plot(part, (low, high), bar), theme.style(role_of(part))));
            spans.push(Span::styled(
                format!("  n {}", part.counts.pairs()),
                theme.style(Role::Dim),
            ));
            line(buffer, inner, row as u16, spans);
        }
        if categories.len() > fit {
            let text = format!("  {} more (c chooses one)", categories.len() - fit);
            line(
                buffer,
                inner,
                fit as u16,
                vec![Span::styled(text, theme.style(Role::Dim))],
            );
        }
    }

    fn draw_list(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, theme: &Theme) {
        let list = self.list();
        let title = format!("{}  {}", self.listed.title(), thousands(list.len()));
        let place = if list.is_empty() {
            String::new()
        } else {
            format!("{}/{} · ", thousands(self.cursor().at + 1), thousands(list.len()))
        };
        let remark = format!("{place}Tab: A only / B only / changed pick");
        let inner = frame(buffer, area, &title, &remark, true, theme);
        let is_wide = inner.width >= 90;
        let (pick, group) = if is_wide { (12, 14) } else { (9, 11) };
        let header = format!(
            "    {:>6} {:<group$} {:<4} {:<pick$} {:<pick$} question",
            "qid", "cat", "key", "A", "B"
        );
        line(buffer, inner, 0, vec![Span::styled(header, theme.style(Role::Dim))]);
        if list.is_empty() {
            let text = if workspace.is_current() {
                "    no such pair here"
            } else {
                "    counting…"
            };
            line(buffer, inner, 1, vec![Span::styled(text, theme.style(Role::Dim))]);
            return;
        }
        let (rows_a, rows_b) = (&self.paired.a.rows, &self.paired.b.rows);
        let height = usize::from(inner.height.saturating_sub(1)).max(1);
        let mut cursor = self.cursor();
        cursor.settle(list.len(), height);
        for (at, (x, y)) in list.iter().enumerate().skip(cursor.top).take(height) {
            let (row, other) = (*x as usize, *y as usize);
            let is_current = at == cursor.at;
            let mark = if workspace.notes.is_marked(*x) { "#" } else { " " };
            let attempt = match rows_a.attempt[row] {
                0 => String::new(),
                attempt => format!(".{attempt}"),
            };
            let id = format!("{}{attempt}", rows_a.question_id[row]);
            let used = 4 + 7 + group + 1 + 5 + 2 * (pick + 1);
            let spans = vec![
                Span::styled(if is_current { " > " } else { "   " }, theme.style(Role::Focus)),
                Span::styled(mark, theme.style(Role::Strong)),
                Span::raw(format!("{id:>6} ")),
                Span::styled(
                    format!("{} ", pad(&rows_a.category.get(row).replace('_', " "), group, theme)),
                    theme.style(Role::Dim),
                ),
                Span::styled(
                    format!("{} ", pad(rows_a.answer.get(row), 4, theme)),
                    theme.style(Role::Strong),
                ),
                pick_span(rows_a, row, pick, theme),
                pick_span(rows_b, other, pick, theme),
                Span::raw(pad(
                    workspace.question(*x).unwrap_or(""),
                    usize::from(inner.width).saturating_sub(used),
                    theme,
                )),
            ];
            let y = (at - cursor.top) as u16 + 1;
            line(buffer, inner, y, spans);
            if is_current {
                let place = Rect {
                    y: inner.y + y,
                    height: 1,
                    ..inner
                };
                buffer.set_style(place, theme.style(Role::Selected));
            }
        }
    }

    fn draw_texts(&self, buffer: &mut Buffer, places: &Places, around: &Around) {
        let theme = around.theme;
        let sides = [(Side::A, places.a), (Side::B, places.b)];
        let Some((x, y)) = self.pair() else {
            for (side, place) in sides.into_iter().filter(|(_, place)| place.height > 0) {
                frame(buffer, place, &format!("{side:?}"), "", false, theme);
            }
            return;
        };
        let records = [around.workspace.record(x), self.record_of_b(y)];
        let laid_out = self.lay_pair(places, around);
        for (side, place) in sides.into_iter().filter(|(_, place)| place.height > 0) {
            let at = side as usize;
            let focused = side == self.side;
            let record = match records[at] {
                Some(Ok(record)) => record,
                other => {
                    let inner = frame(buffer, place, &format!("{side:?}"), "", focused, theme);
                    if let Some(Err(error)) = other {
                        let error = one_line(error, 400, theme.ascii);
                        line(buffer, inner, 0, vec![Span::styled(error, theme.style(Role::Warning))]);
                    }
                    continue;
                }
            };
            let title = self.text_title(side, record, place.width, records, theme);
            let height = usize::from(place.height.saturating_sub(2));
            let (lines, from) = match &laid_out {
                Some(both) => (both[at].0.as_slice(), both[at].1),
                None => (&[][..], 0),
            };
            let last = lines.len().saturating_sub(height);
            let from = self.reading.scroll(side).unwrap_or(from).min(last);
            let share = if lines.len() <= height {
                String::new()
            } else {
                format!("{}%", ((from + height).min(lines.len())) * 100 / lines.len())
            };
            let inner = frame(buffer, place, &title, &share, focused, theme);
            let inner = Rect {
                x: inner.x + 1,
                width: inner.width.saturating_sub(2),
                ..inner
            };
            laid(buffer, inner, lines, from, theme);
        }
    }

    /// `A · F ok · 276 chars`; on small screens with the other's pick.
    fn text_title(
        &self,
        side: Side,
        record: &Record,
        width: u16,
        records: [Option<&Result<std::sync::Arc<Record>, String>>; 2],
        theme: &Theme,
    ) -> String {
        let (said, _) = verdict(record, theme.ascii);
        let what = if self.reading.prompts {
            format!("prompt, {} chars", thousands(record.prompt.chars().count()))
        } else {
            format!("{} chars", thousands(record.reasoning_chars.max(0) as usize))
        };
        let how = match (self.reading.prompts, self.reading.is_aligned) {
            (true, _) => " · difference",
            (false, true) => " · aligned",
            (false, false) => "",
        };
        let other = &records[1 - side as usize];
        let hint = match other {
            Some(Ok(other)) if width < 100 => {
                let pick = one_line(&other.pick, 9, theme.ascii);
                match side {
                    Side::A => format!(" (l: {pick})"),
                    Side::B => format!(" (h: {pick})"),
                }
            }
            _ => String::new(),
        };
        let hint = if width >= 56 && self.is_side_by_side(width) {
            String::new()
        } else {
            hint
        };
        one_line(
            &format!("{side:?} · {said} · {what}{how}{hint}"),
            usize::from(width).saturating_sub(6),
            theme.ascii,
        )
    }

    fn is_side_by_side(&self, width: u16) -> bool {
        width < 76
    }

    /// Both texts of the pair under the cursor as lines, with where each begins by itself.
    pub fn lay_pair(&self, places: &Places, around: &Around) -> Option<[(Vec<crate::tui::passage::Laid>, usize); 2]> {
        let (x, y) = self.pair()?;
        let a = around.workspace.record(x)?.as_deref().ok()?;
        let b = self.record_of_b(y)?.as_deref().ok()?;
        let place = if places.a.height > 0 { places.a } else { places.b };
        let size = (
            usize::from(place.width.saturating_sub(4)),
            usize::from(place.height.saturating_sub(2)),
        );
        let rules = (&around.workspace.rule, around.rule_of_b);
        Some(self.reading.lay((a, b), rules, size, around.find, around.theme))
    }
}

/// `p < 1e-80`, `p 0.031`.
fn chance(p: f64, log10_p: f64) -> String {
    if log10_p < -15.0 {
        format!("p < 1e{:.0}", log10_p.ceil())
    } else if p < 0.001 {
        format!("p {p:.0e}")
    } else {
        format!("p {p:.3}")
    }
}

fn role_of(part: &Difference) -> Role {
    match part.interval.map(Interval::limits) {
        Some((low, _)) if low > 0.0 => Role::Correct,
        Some((_, high)) if high < 0.0 => Role::Wrong,
        _ => Role::Plain,
    }
}

/// `--|-==o==---`: zero, interval and difference on a scale.
fn plot(part: &Difference, (low, high): (f64, f64), width: usize) -> String {
    let span = (high - low).max(1e-9);
    let place = |value: f64| (((value - low) / span * (width - 1) as f64).round() as usize).min(width - 1);
    let mut cells = vec!['-'; width];
    if let Some((from, to)) = part.interval.map(Interval::limits) {
        cells[place(from)..=place(to)].fill('=');
    }
    cells[place(0.0)] = '|';
    if let Some(difference) = part.difference {
        cells[place(difference)] = 'o';
    }
    cells.into_iter().collect()
}

fn pick_span(rows: &Rows, row: usize, width: usize, theme: &Theme) -> Span<'static> {
    let pick = rows.pick.get(row);
    let text = match (pick == INVALID, rows.correct[row]) {
        (true, _) => INVALID.to_owned(),
        (false, true) => format!("{pick} ok"),
        (false, false) if width > 9 => format!("{pick} wrong"),
        (false, false) => format!("{pick} x"),
    };
    Span::styled(
        format!("{} ", pad(&text, width, theme)),
        theme.style(pick_role(rows, row)),
    )
}
