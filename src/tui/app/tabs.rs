//! Tabs on the first line: the screens on what is open, the present one lit; a click goes there.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::tui::canvas::Canvas;
use crate::tui::keymap::{On, event_of};
use crate::tui::panes::SMALLEST;
use crate::tui::theme::Role;

use super::App;

/// Screens on rows, with the key that leads to each from Browse.
const TABS: [(On, &str); 5] = [
    (On::Browse, ""),
    (On::Question, "⏎"),
    (On::Charts, "v"),
    (On::Compare, "d"),
    (On::Lab, "r"),
];

/// From this width on all tabs are shown; below, the present one.
const ROOMY: u16 = 104;

impl App {
    /// The tabs in sight, with the column at which each begins, and the column after them.
    fn tabs(&self, area: Rect) -> (Vec<(u16, On)>, u16) {
        let now = self.screen().on();
        let is_tab = TABS.iter().any(|(on, _)| *on == now);
        if !is_tab || area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            return (Vec::new(), 0);
        }
        let below = self.screens[0].on();
        let below = [below]
            .into_iter()
            .filter(|on| matches!(on, On::Live | On::Exam | On::Runs));
        let all = below.chain(TABS.map(|(on, _)| on));
        let mut x = 1;
        let mut place = |on: On| {
            let at = x;
            x += tab(on).width() as u16 + 1;
            (at, on)
        };
        let tabs = all
            .filter(|on| area.width >= ROOMY || *on == now)
            .map(&mut place)
            .collect();
        (tabs, x + 1)
    }

    /// Draws the tabs and gives back the columns that they take of the first line.
    pub(super) fn draw_tabs(&self, canvas: &mut Canvas) -> u16 {
        let (tabs, end) = self.tabs(canvas.area());
        let now = self.screen().on();
        let strip = tabs.iter().fold(canvas.strip(), |strip, (x, on)| {
            let strip = strip.to(usize::from(*x));
            match *on == now {
                true => strip.underlined(tab(*on), Role::Title),
                false => strip.dim(tab(*on)),
            }
        });
        canvas.line(0, strip);
        end
    }

    /// Goes to the tab at a column of the first line.
    pub(super) fn click_tab(&mut self, x: u16) {
        let (tabs, end) = self.tabs(self.shared.area);
        let tab = tabs.into_iter().rev().find(|(at, _)| *at <= x && x + 1 < end);
        let Some((_, on)) = tab.filter(|(_, on)| *on != self.screen().on()) else {
            return;
        };
        while self.screens.len() > 1 && ![on, On::Browse].contains(&self.screen().on()) {
            self.pop();
        }
        if self.screen().on() == On::Browse && on != On::Browse {
            let key = TABS
                .iter()
                .find(|(known, _)| *known == on)
                .and_then(|(_, key)| event_of(key));
            key.map(|key| self.press(key));
        }
    }
}

/// What a tab is called.
fn tab(on: On) -> &'static str {
    match on {
        On::Exam => On::Live.name(),
        On::Lab => "Lab",
        on => on.name(),
    }
}
