//! Colours and glyphs under the name of their meaning. Two hues, blue right and orange wrong, safe for colour-blind
//! readers; every meaning also has a mark, so nothing is lost without colour.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// Unless `NO_COLOR` is set.
    #[default]
    Auto,
    Never,
    Always,
}

impl ColorChoice {
    /// Whether colours are to be sent, as the environment stands.
    pub fn is_on(self) -> bool {
        match self {
            ColorChoice::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            ColorChoice::Never => false,
            ColorChoice::Always => true,
        }
    }
}

/// What a stretch of text is; the theme says how that looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Plain,
    /// Read later: text after the match, help, units.
    Dim,
    Strong,
    Correct,
    Wrong,
    Invalid,
    /// The regex match.
    Match,
    /// What makes a row invalid.
    Evidence,
    /// Found by `f`.
    Found,
    /// Stands for a character that is not shown.
    Mark,
    Border,
    Focus,
    Title,
    /// A word of the filter that filters.
    Chip,
    /// A word of the filter that does not filter yet.
    Pending,
    Selected,
    /// A key that can be pressed, in the footer.
    Key,
    Cursor,
    Warning,
    BarFull,
    BarLow,
    BarHigh,
    BarEmpty,
}

#[derive(Debug, Clone, Copy)]
pub struct Theme {
    pub color: bool,
    pub ascii: bool,
}

const BLUE: Color = Color::Indexed(39);
const DEEP_BLUE: Color = Color::Indexed(32);
const ORANGE: Color = Color::Indexed(208);
const GREY: Color = Color::Indexed(244);
const FAINT: Color = Color::Indexed(240);
const SELECTED_BACK: Color = Color::Indexed(238);
const SELECTED_FRONT: Color = Color::Indexed(255);
const CHIP_BACK: Color = Color::Indexed(24);

impl Theme {
    pub fn new(color: ColorChoice, ascii: bool) -> Theme {
        Theme {
            color: color.is_on(),
            ascii,
        }
    }

    pub fn style(&self, role: Role) -> Style {
        if self.color { colored(role) } else { plain(role) }
    }

    /// What stands before and after the regex match.
    pub fn match_marks(&self) -> (&'static str, &'static str) {
        if self.ascii { ("[[", "]]") } else { ("⟦", "⟧") }
    }

    /// A folded loop.
    pub fn folded(&self, times: usize) -> String {
        if self.ascii {
            format!("(x{times})")
        } else {
            format!("↻ ×{times}")
        }
    }

    /// Leads in and out of a remark inside a text.
    pub fn rule(&self) -> &'static str {
        if self.ascii { "---" } else { "┄" }
    }

    /// Replaces the drawing characters of a finished frame where the terminal may have none.
    pub fn finish(&self, buffer: &mut Buffer) {
        if !self.ascii {
            return;
        }
        for cell in &mut buffer.content {
            if let Some(plain) = ascii_glyph(cell.symbol()) {
                cell.set_symbol(plain);
            }
        }
    }

    /// A key's name as the terminal can show it.
    pub fn key_name(&self, name: &str) -> String {
        if !self.ascii {
            return name.to_owned();
        }
        name.replace('⏎', "Enter")
            .replace('↓', "Down")
            .replace('↑', "Up")
            .replace('←', "Left")
            .replace('→', "Right")
    }
}

fn ascii_glyph(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "┌" | "┐" | "└" | "┘" | "├" | "┤" | "┬" | "┴" | "┼" => "+",
        "─" | "┄" | "–" | "—" => "-",
        "│" => "|",
        "█" | "▉" | "▊" | "▋" => "#",
        "▓" => "%",
        "▒" | "▌" | "▍" | "▎" | "▏" => "=",
        "░" | "·" => ".",
        "…" => "~",
        "▶" | "›" | "▸" => ">",
        "×" => "x",
        "±" => "~",
        "↑" => "^",
        "↓" => "v",
        "▁" | "▂" => "_",
        "▃" | "▄" => "o",
        "▅" | "▆" | "▇" => "O",
        "«" | "»" => "\"",
        _ => return None,
    })
}

fn colored(role: Role) -> Style {
    let style = Style::new();
    match role {
        Role::Plain => style,
        Role::Dim => style.fg(GREY),
        Role::Strong => style.add_modifier(Modifier::BOLD),
        Role::Title => style.fg(Color::Reset).add_modifier(Modifier::BOLD),
        Role::Correct => style.fg(BLUE),
        Role::Wrong => style.fg(ORANGE),
        Role::Invalid => style.fg(ORANGE).add_modifier(Modifier::BOLD),
        Role::Match => style.fg(SELECTED_FRONT).bg(DEEP_BLUE).add_modifier(Modifier::BOLD),
        Role::Evidence => style.fg(ORANGE).add_modifier(Modifier::UNDERLINED),
        Role::Found => style.add_modifier(Modifier::REVERSED),
        Role::Mark | Role::Border | Role::BarEmpty => style.fg(FAINT),
        Role::Focus => style.fg(BLUE).add_modifier(Modifier::BOLD),
        Role::Chip => style.fg(SELECTED_FRONT).bg(CHIP_BACK),
        Role::Pending => style.fg(GREY).add_modifier(Modifier::ITALIC),
        Role::Selected => style.fg(SELECTED_FRONT).bg(SELECTED_BACK),
        Role::Key => style.fg(BLUE),
        Role::Cursor => style.add_modifier(Modifier::REVERSED),
        Role::Warning => style.fg(ORANGE),
        Role::BarFull => style.fg(DEEP_BLUE),
        Role::BarLow => style.fg(Color::Indexed(67)),
        Role::BarHigh => style.fg(Color::Indexed(24)),
    }
}

fn plain(role: Role) -> Style {
    let style = Style::new();
    match role {
        Role::Dim | Role::Mark | Role::Pending => style.add_modifier(Modifier::DIM),
        Role::Strong | Role::Title | Role::Invalid | Role::Key | Role::Warning => style.add_modifier(Modifier::BOLD),
        Role::Match | Role::Chip | Role::Selected | Role::Cursor => style.add_modifier(Modifier::REVERSED),
        Role::Focus => style.add_modifier(Modifier::BOLD | Modifier::REVERSED),
        Role::Evidence | Role::Found => style.add_modifier(Modifier::UNDERLINED),
        Role::Plain
        | Role::Correct
        | Role::Wrong
        | Role::Border
        | Role::BarFull
        | Role::BarLow
        | Role::BarHigh
        | Role::BarEmpty => style,
    }
}
