//! The Compare screen on the terminal.

use std::sync::Arc;

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::compare::{Difference, Quadrant};
use crate::record::Record;
use crate::stats::Interval;
use crate::text::safe::one_line;
use crate::text::{count, thousands};
use crate::trace::Rows;
use crate::tui::canvas::{Canvas, text_room};
use crate::tui::panes::output::{self, verdict};
use crate::tui::panes::rows::pick_outcome;
use crate::tui::panes::{Around, Room};
use crate::tui::passage::Laid;
use crate::tui::shelf::Side;
use crate::tui::strip::Strip;
use crate::tui::theme::{Outcome, Role, Theme};
use crate::tui::widgets::Extent;
use crate::tui::workspace::Workspace;

use super::Compare;
use super::places::Places;

impl Compare {
    pub(super) fn places(&self, area: Rect) -> Places {
        let places = Places::of(area, self.side, self.tallied.comparison.categories.len());
        if self.reading.is_together() {
            places.joined()
        } else {
            places
        }
    }

    pub(super) fn draw_all(&self, canvas: &mut Canvas, around: &Around) {
        let area = canvas.area();
        let (places, workspace) = (self.places(area), around.workspace);
        self.draw_title(&mut canvas.head(), workspace);
        if Room::of(area) == Room::Wide {
            self.draw_paired(&mut canvas.at(places.paired));
            let mut categories = canvas.at(places.categories).focus(self.reads_categories);
            self.draw_categories(&mut categories);
        } else {
            self.draw_summary(&mut canvas.at(places.paired));
        }
        let mut list = canvas.at(places.list).focus(!self.reads_categories);
        self.draw_list(&mut list, workspace);
        self.draw_texts(canvas, &places, around);
        if let Some(changed) = self.changed {
            let pair = self.tallied.changed.get(changed.cursor.at);
            let a = pair.and_then(|(x, _)| workspace.record(*x)?.as_deref().ok());
            let b = pair.and_then(|(_, y)| self.record_of_b(*y)?.as_deref().ok());
            self.draw_changed(changed, canvas, a.zip(b));
        }
    }

    fn draw_title(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let width = canvas.width();
        let (is_wide, room) = (width >= 80, if width >= 100 { 26 } else { 16 });
        let (a, b) = self.names();
        let [share_a, share_b] = [0, 1].map(|side| self.tallied.accuracy(side));
        let pairs = thousands(self.tallied.comparison.overall.counts.pairs());
        let changed = self.tallied.changed.len();
        let strip = canvas
            .strip()
            .put(" A ", Role::Key)
            .foreign(a, room, Role::Title)
            .strong(format!(" {share_a}"))
            .put(if is_wide { "   B " } else { "  B " }, Role::Key)
            .foreign(b, room, Role::Title)
            .strong(format!(" {share_b}"));
        let mut strip = strip.dim(match (is_wide, width) {
            (_, 100..) => format!("   paired {pairs} of {}", thousands(self.paired.a.rows.len())),
            (true, _) => format!("   paired {pairs}"),
            (false, _) => format!("  paired {pairs}"),
        });
        let told = format!("  changed {}", thousands(changed));
        if !is_wide && strip.width() + told.width() <= width {
            strip = strip.dim(told);
        }
        let text = match (changed, self.paired.pairing.is_suspicious()) {
            _ if !is_wide => String::new(),
            (_, true) => "the ids agree, no question does ".to_owned(),
            (0, _) => String::new(),
            (many, _) => {
                let whole = format!("{} changed: x ", count(many, "question"));
                let fits = strip.width() + whole.width() <= width;
                if fits {
                    whole
                } else {
                    format!("{} changed: x ", thousands(many))
                }
            }
        };
        let rest = width.saturating_sub(strip.width() + text.width() + 8);
        if is_wide && rest >= 8 && !workspace.filter.is_empty() {
            let filter = one_line(&workspace.view.filter, rest.min(30), canvas.theme.ascii);
            strip = strip.strong(format!(" in «{filter}»"));
        }
        canvas.line(0, strip);
        canvas.right(0, canvas.strip().put(text, Role::Warning));
    }

    fn draw_paired(&self, canvas: &mut Canvas) {
        let kind = if self.tallied.comparison.overall.paired.is_clustered() {
            "95% by question"
        } else {
            "95%"
        };
        let mut inner = canvas.frame("Paired", kind);
        let number = |quadrant| thousands(self.tallied.comparison.overall.counts.get(quadrant));
        let row = |name: &str, right: String, wrong: String| format!("  {name:<11}{right:>8} {wrong:>9}");
        let [right, wrong] = [Outcome::Right, Outcome::Wrong].map(|outcome| inner.theme.outcome(outcome));
        let mut lines = vec![
            row("", format!("B {right}"), format!("B {wrong}")),
            row(&format!("A {right}"), number(Quadrant::Both), number(Quadrant::AOnly)),
            row(
                &format!("A {wrong}"),
                number(Quadrant::BOnly),
                number(Quadrant::Neither),
            ),
            String::new(),
        ];
        lines.extend(self.verdict().into_iter().map(|line| format!("  {line}")));
        for (row, text) in lines.into_iter().enumerate() {
            inner.line(row, inner.strip().text(text));
        }
    }

    /// Difference, interval, test, and whether it is settled.
    fn verdict(&self) -> Vec<String> {
        let comparison = &self.tallied.comparison;
        let overall = &comparison.overall;
        let Some(difference) = overall.difference() else {
            return vec!["no rows are paired".to_owned()];
        };
        let points = |limits: (f64, f64)| format!("{:+.1} to {:+.1}", limits.0 * 100.0, limits.1 * 100.0);
        let mut lines = Vec::new();
        if comparison.exams.len() > 1 {
            // Exams have each their own accuracy, and none together.
            for exam in &comparison.exams {
                let limits = exam
                    .interval()
                    .map_or_else(String::new, |interval| points(interval.limits()));
                let gap = exam.difference().unwrap_or(0.0) * 100.0;
                lines.push(format!("{} {gap:+.1}  {limits}", one_line(&exam.name, 12, false)));
            }
        } else {
            lines.push(format!("A - B   {:+.1} points", difference * 100.0));
            let interval = overall.interval().map(Interval::limits);
            lines.extend(interval.map(|limits| format!("CI95    {}", points(limits))));
        }
        let z = overall.paired.z().map_or("-".to_owned(), |z| format!("{:.1}", z.abs()));
        let (test, (p, log10_p)) = (
            if overall.paired.is_clustered() {
                "z"
            } else {
                "McNemar z"
            },
            overall.paired.p(),
        );
        lines.push(format!("{test} {z}  {}", chance(p, log10_p)));
        let pairs = overall.counts.pairs().max(1);
        lines.push(match (comparison.decision.at, comparison.decision.needed) {
            (Some(at), _) if at * 100 < pairs => format!("settled after {}", count(at, "pair")),
            (Some(at), _) => format!("settled since {:.0}% of the pairs", at as f64 * 100.0 / pairs as f64),
            (None, Some(needed)) => format!("not settled: needs about {}", count(needed, "pair")),
            (None, None) => "not settled".to_owned(),
        });
        lines
    }

    /// The same in one line, where there is no room.
    fn draw_summary(&self, canvas: &mut Canvas) {
        let overall = &self.tallied.comparison.overall;
        let number = |quadrant| thousands(self.tallied.comparison.overall.counts.get(quadrant));
        let mut text = format!(
            " A only {}  B only {}  both {}  none {}",
            number(Quadrant::AOnly),
            number(Quadrant::BOnly),
            number(Quadrant::Both),
            number(Quadrant::Neither)
        );
        let limits = overall.interval().map(Interval::limits);
        let limits = limits.filter(|_| self.tallied.comparison.exams.len() < 2);
        if let (Some(difference), Some((low, high))) = (overall.difference(), limits) {
            let [difference, low, high] = [difference, low, high].map(|share| share * 100.0);
            text.push_str(&format!("  {difference:+.1} [{low:.1},{high:.1}]"));
        }
        if let Some(z) = overall.paired.z() {
            text.push_str(&format!(" z {:.1}", z.abs()));
        }
        canvas.line(0, canvas.strip().strong(text));
    }

    fn draw_categories(&self, canvas: &mut Canvas) {
        let categories = self.categories();
        let sort = if self.by_gap { "s sort by name" } else { "s sort by gap" };
        let fit = canvas.height().saturating_sub(2);
        let remark = if categories.len() > fit {
            format!("{fit} of {} · 1 scrolls · {sort}", categories.len())
        } else {
            sort.to_owned()
        };
        let mut inner = canvas.frame("A - B by category, points", &remark);
        let scale = scale_of(&categories);
        let bar = inner.width().saturating_sub(33).max(9);
        let ends = format!("{:+}", scale);
        let strip = inner.strip().to(LEAD).dim(format!("-{scale}"));
        let strip = strip.to(LEAD + bar / 2).dim("0").to(LEAD + bar - ends.len()).dim(ends);
        inner.line(0, strip);
        inner.below(1).list(categories.len(), self.category, |at, strip| {
            let part = categories[at];
            let gap = part.difference().unwrap_or(0.0) * 100.0;
            strip
                .text("  ")
                .field(&part.name.replace('_', " "), 13, Role::Plain)
                .text(format!(" {gap:>+6.1}  "))
                .put(plot(part, scale, bar), role_of(part))
                .dim(format!("  n {}", thousands(part.counts.pairs())))
        });
    }

    fn draw_list(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let list = self.list();
        let title = format!("{}  {}", self.listed.title(), thousands(list.len()));
        let place = match list.len() {
            0 => String::new(),
            all => format!("{}/{} · ", thousands(self.cursor().at + 1), thousands(all)),
        };
        let remark = format!("{place}Tab: A only / B only / changed pick");
        let mut inner = canvas.frame(&title, &remark);
        let (pick, group) = if inner.width() >= 90 { (6, 16) } else { (5, 11) };
        let header = format!(
            "    {:>6} {:<group$} {:<4} {:<pick$} {:<pick$} question",
            "qid", "cat", "key", "A", "B"
        );
        inner.line(0, inner.strip().dim(header));
        if list.is_empty() {
            let text = if workspace.is_current() {
                "    no such pair here"
            } else {
                "    counting…"
            };
            inner.line(1, inner.strip().dim(text));
            return;
        }
        let (rows_a, rows_b) = (&self.paired.a.rows, &self.paired.b.rows);
        let (width, at_cursor) = (inner.width(), self.cursor().at);
        let used = 4 + 7 + group + 1 + 5 + 2 * (pick + 1);
        inner.below(1).focus(true).list(list.len(), self.cursor(), |at, strip| {
            let (x, y) = list[at];
            let (row, other) = (x as usize, y as usize);
            let mark = if workspace.notes.is_marked(x) {
                strip.theme.mark()
            } else {
                " "
            };
            let attempt = match rows_a.attempt[row] {
                0 => String::new(),
                attempt => format!(".{attempt}"),
            };
            let id = format!("{}{attempt}", rows_a.question_id[row]);
            let strip = strip
                .put(if at == at_cursor { " ▶ " } else { "   " }, Role::Focus)
                .strong(mark)
                .text(format!("{id:>6} "))
                .field(&rows_a.category.get(row).replace('_', " "), group, Role::Dim)
                .text(" ")
                .field(rows_a.answer.get(row), 4, Role::Strong)
                .text(" ");
            let strip = put_pick(put_pick(strip, rows_a, row, pick), rows_b, other, pick);
            let question = workspace.question(x).unwrap_or("");
            strip.field(question, width.saturating_sub(used), Role::Plain)
        });
    }

    fn draw_texts(&self, canvas: &mut Canvas, places: &Places, around: &Around) {
        let pair = self.pair_in_sight();
        let records = pair.map(|(x, y)| [around.workspace.record(x), self.record_of_b(y)]);
        let laid_out = self.lay_pair(places, around);
        for side in [Side::A, Side::B] {
            let mut place = canvas
                .at(places.text(side))
                .focus(pair.is_some() && (side == self.side || self.reading.is_together()));
            if place.is_empty() {
                continue;
            }
            let records = records.unwrap_or_default();
            let record = match records[side as usize] {
                Some(Ok(record)) => record,
                other => {
                    let mut inner = place.frame(&format!("{side:?}"), "");
                    if let Some(Err(error)) = other {
                        inner.line(0, inner.strip().foreign(error, 400, Role::Warning));
                    }
                    continue;
                }
            };
            let (lines, from) = match &laid_out {
                Some(both) => (both[side as usize].0.as_slice(), both[side as usize].1),
                None => (&[][..], 0),
            };
            let extent = Extent {
                lines: lines.len(),
                height: place.height().saturating_sub(1),
            };
            let from = self.reading.scroll(side).unwrap_or(from).min(extent.last());
            let title = self.text_title(side, record, (records[1 - side as usize], place.theme));
            let hint = if place.width() >= 76 { title.1 } else { String::new() };
            let title = format!("{}{hint}", title.0);
            place.frame(&title, &extent.share(from)).padded().laid(lines, from);
        }
    }

    /// `A · F ✓ · 276 chars`, and the other's pick for screens that show one text; of both as one what is whose.
    fn text_title(&self, side: Side, record: &Record, (other, theme): (Other, &Theme)) -> (String, String) {
        let (said, _) = verdict(record, theme);
        if self.reading.is_together() {
            let other = match other {
                Some(Ok(other)) => verdict(other, theme).0,
                _ => String::new(),
            };
            let what = if self.reading.prompts { "prompts" } else { "outputs" };
            return (
                format!("A {said}, B {other} · {what}: [-only A-] [+only B+]"),
                String::new(),
            );
        }
        let what = count(record.reasoning_chars.max(0) as usize, "char");
        let key = if side == Side::A { "l" } else { "h" };
        let hint = match other {
            Some(Ok(other)) => format!(" ({key}: {})", one_line(&other.pick, 9, false)),
            _ => String::new(),
        };
        (format!("{side:?} · {said} · {what}"), hint)
    }

    /// Both texts of the pair under the cursor as lines, with where each begins by itself.
    pub(super) fn lay_pair(&self, places: &Places, around: &Around) -> Option<[(Vec<Laid>, usize); 2]> {
        let (x, y) = self.pair_in_sight()?;
        let a = around.workspace.record(x)?.as_deref().ok()?;
        let b = self.record_of_b(y)?.as_deref().ok()?;
        let rooms = [places.a, places.b].into_iter().filter(|place| !place.is_empty());
        let size = rooms.map(text_room).min()?;
        let rules = (&around.workspace.rule, &self.rule_of_b);
        Some(self.reading.lay((a, b), rules, size, around))
    }
}

/// The record of the other run, as far as it is read.
type Other<'a> = Option<&'a Result<Arc<Record>, String>>;

/// Columns before the bars.
const LEAD: usize = 24;

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

/// A difference whose interval leaves out zero is seen first.
fn role_of(part: &Difference) -> Role {
    match part.interval().map(Interval::limits) {
        Some((low, high)) if low > 0.0 || high < 0.0 => Role::Strong,
        _ => Role::Dim,
    }
}

/// The points at both ends of the scale: round, and far enough for every interval; zero is in the middle.
fn scale_of(categories: &[&Difference]) -> usize {
    let ends = categories
        .iter()
        .filter_map(|part| part.interval().map(Interval::limits));
    let widest = ends.fold(0.0_f64, |widest, (low, high)| widest.max(low.abs()).max(high.abs()));
    let steps = [5, 10, 20, 30, 50];
    steps
        .into_iter()
        .find(|step| widest * 100.0 <= *step as f64)
        .unwrap_or(100)
}

/// `  ┊  ━━●━━`: zero, interval and difference on a scale from minus to plus so many points.
fn plot(part: &Difference, scale: usize, width: usize) -> String {
    let middle = width / 2;
    let place = |value: f64| {
        let cell = middle as f64 + value * 100.0 / scale as f64 * middle as f64;
        (cell.round().max(0.0) as usize).min(width - 1)
    };
    let mut cells = vec![' '; width];
    if let Some((from, to)) = part.interval().map(Interval::limits) {
        cells[place(from)..=place(to)].fill('━');
    }
    cells[middle] = '┊';
    if let Some(difference) = part.difference() {
        cells[place(difference)] = '●';
    }
    cells.into_iter().collect()
}

fn put_pick<'t>(strip: Strip<'t>, rows: &Rows, row: usize, width: usize) -> Strip<'t> {
    output::put_pick(strip, rows.pick.get(row), pick_outcome(rows, row), width).text(" ")
}
