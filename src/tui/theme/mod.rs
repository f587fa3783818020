//! Colours and glyphs under the name of their meaning. Right, wrong and invalid have each a hue and a mark of their own;
//! focus, keys and counts are neutral. Every meaning also has a mark, so nothing is lost without colour.

mod palette;
mod terminal;

use ratatui::buffer::Buffer;
use ratatui::style::Style;

pub use palette::rgb;
use palette::{DARK, FEW, LIGHT, Palette, colored, plain};
use terminal::Kind;
pub use terminal::{ColorChoice, LateAnswer, Shade};

/// How an answer came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Right,
    Wrong,
    /// No letter could be read.
    Invalid,
}

impl Outcome {
    #[cfg(test)]
    pub const ALL: [Outcome; 3] = [Outcome::Right, Outcome::Wrong, Outcome::Invalid];

    pub fn of(is_invalid: bool, is_correct: bool) -> Outcome {
        match (is_invalid, is_correct) {
            (true, _) => Outcome::Invalid,
            (false, true) => Outcome::Right,
            (false, false) => Outcome::Wrong,
        }
    }

    pub fn role(self) -> Role {
        match self {
            Outcome::Right => Role::Correct,
            Outcome::Wrong => Role::Wrong,
            Outcome::Invalid => Role::Invalid,
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
    /// The regex match, in the hue of what came of it, and the letter within it.
    Match(Outcome),
    Letter(Outcome),
    /// What makes a row invalid.
    Evidence,
    /// Found by `f`.
    Found,
    /// Program text.
    Code,
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
    /// A count or a share that is no accuracy.
    Bar,
    /// An accuracy, the lower and the upper part of its interval.
    BarFull,
    BarLow,
    BarHigh,
    BarEmpty,
}

#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// `None`: no colours.
    palette: Option<&'static Palette>,
    pub ascii: bool,
}

impl Theme {
    /// Without colours, with every drawing character.
    pub const PLAIN: Theme = Theme {
        palette: None,
        ascii: false,
    };

    pub fn new(color: ColorChoice, shade: Shade, ascii: bool) -> Theme {
        Theme::of(Kind::Able, color, (shade, ascii))
    }

    /// For the terminal that the program runs in: it is asked for its background, and named in `TERM`.
    pub fn of_terminal(color: ColorChoice, shade: Shade, ascii: bool) -> Theme {
        Theme::of(Kind::of_environment(), color, (shade.asked(), ascii))
    }

    fn of(kind: Kind, color: ColorChoice, (shade, ascii): (Shade, bool)) -> Theme {
        let palette = match (kind, shade.is_light()) {
            (Kind::Able, false) => &DARK,
            (Kind::Able, true) => &LIGHT,
            (_, is_light) => &FEW[usize::from(is_light)],
        };
        Theme {
            palette: Some(palette).filter(|_| color.is_on()),
            ascii: ascii || kind == Kind::Console,
        }
    }

    /// Whether it is for a light background.
    pub fn is_light(&self) -> bool {
        self.palette.is_some_and(|palette| palette.is_light)
    }

    pub fn style(&self, role: Role) -> Style {
        match self.palette {
            None => plain(role),
            Some(palette) => colored(role, palette),
        }
    }

    /// The mark of an outcome.
    pub fn outcome(&self, outcome: Outcome) -> &'static str {
        match outcome {
            Outcome::Right if self.ascii => "ok",
            Outcome::Wrong if self.ascii => "x",
            Outcome::Right => "✓",
            Outcome::Wrong => "✗",
            Outcome::Invalid => "!",
        }
    }

    /// What stands before and after the regex match.
    pub fn match_marks(&self) -> (&'static str, &'static str) {
        if self.ascii { ("[[", "]]") } else { ("⟦", "⟧") }
    }

    /// Stands before a marked row.
    pub fn mark(&self) -> &'static str {
        if self.ascii { "#" } else { "◆" }
    }

    /// Stands before a row with a note.
    pub fn note(&self) -> &'static str {
        if self.ascii { "\"" } else { "✎" }
    }

    /// Stands where text was cut.
    pub fn dots(&self) -> &'static str {
        if self.ascii { "..." } else { "…" }
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
        "┍" | "┑" | "┕" | "┙" | "┝" | "┥" | "┯" | "┷" | "┿" | "┽" | "┾" | "┮" | "┭" | "┶" | "┵" => {
            "+"
        }
        "─" | "┄" | "–" | "—" => "-",
        "━" | "╸" | "╺" => "=",
        "●" => "o",
        "│" | "┊" => "|",
        "█" | "▉" | "▊" | "▋" | "┃" => "#",
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
