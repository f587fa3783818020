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

/// `--theme`: what the terminal's background is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Shade {
    /// As `COLORFGBG` tells; dark where it does not.
    #[default]
    Auto,
    Dark,
    Light,
}

impl Shade {
    /// Whether the background is light, as the environment stands.
    pub fn is_light(self) -> bool {
        match self {
            Shade::Auto => std::env::var("COLORFGBG").is_ok_and(|colors| names_light_back(&colors)),
            Shade::Dark => false,
            Shade::Light => true,
        }
    }
}

/// Whether `COLORFGBG` (`0;15`, `15;default;0`) ends in a light background: white, or bright but not black.
fn names_light_back(colors: &str) -> bool {
    let back = colors
        .rsplit(';')
        .next()
        .and_then(|back| back.trim().parse::<u8>().ok());
    matches!(back, Some(7 | 9..=15))
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

#[cfg(test)]
impl Role {
    pub const ALL: [Role; 23] = [
        Role::Plain,
        Role::Dim,
        Role::Strong,
        Role::Correct,
        Role::Wrong,
        Role::Invalid,
        Role::Match,
        Role::Evidence,
        Role::Found,
        Role::Mark,
        Role::Border,
        Role::Focus,
        Role::Title,
        Role::Chip,
        Role::Pending,
        Role::Selected,
        Role::Key,
        Role::Cursor,
        Role::Warning,
        Role::BarFull,
        Role::BarLow,
        Role::BarHigh,
        Role::BarEmpty,
    ];
}

#[derive(Debug, Clone, Copy)]
pub struct Theme {
    pub color: bool,
    pub ascii: bool,
    /// Whether the terminal's background is light.
    pub is_light: bool,
}

/// The colours of one background, as the 256-colour palette numbers them.
struct Palette {
    right: u8,
    wrong: u8,
    /// Keys, and the pane that they go to.
    focus: u8,
    dim: u8,
    faint: u8,
    /// Front and back of the line under the cursor, and of a word that filters.
    selected: (u8, u8),
    chip: (u8, u8),
    bars: [u8; 3],
}

const DARK: Palette = Palette {
    right: 39,
    wrong: 208,
    focus: 80,
    dim: 248,
    faint: 246,
    selected: (255, 236),
    chip: (255, 24),
    bars: [75, 74, 110],
};

const LIGHT: Palette = Palette {
    right: 25,
    wrong: 94,
    focus: 23,
    dim: 240,
    faint: 242,
    selected: (232, 255),
    chip: (255, 24),
    bars: [25, 24, 61],
};

impl Theme {
    /// Without colours, with every drawing character.
    pub const PLAIN: Theme = Theme {
        color: false,
        ascii: false,
        is_light: false,
    };

    pub fn new(color: ColorChoice, shade: Shade, ascii: bool) -> Theme {
        Theme {
            color: color.is_on(),
            ascii,
            is_light: shade.is_light(),
        }
    }

    pub fn style(&self, role: Role) -> Style {
        match (self.color, self.is_light) {
            (false, _) => plain(role),
            (true, false) => colored(role, &DARK),
            (true, true) => colored(role, &LIGHT),
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
        "─" | "┄" | "–" | "—" => "-",
        "━" => "=",
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

fn colored(role: Role, palette: &Palette) -> Style {
    let (style, front) = (Style::new(), |color: u8| Style::new().fg(Color::Indexed(color)));
    let block = |(front, back): (u8, u8)| Style::new().fg(Color::Indexed(front)).bg(Color::Indexed(back));
    match role {
        Role::Plain => style,
        Role::Dim => front(palette.dim),
        Role::Strong => style.add_modifier(Modifier::BOLD),
        Role::Title => style.fg(Color::Reset).add_modifier(Modifier::BOLD),
        Role::Correct => front(palette.right),
        Role::Wrong | Role::Warning => front(palette.wrong),
        Role::Invalid => front(palette.wrong).add_modifier(Modifier::BOLD),
        Role::Match => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Role::Evidence => front(palette.wrong).add_modifier(Modifier::UNDERLINED),
        Role::Found | Role::Cursor => style.add_modifier(Modifier::REVERSED),
        Role::Mark | Role::Border | Role::BarEmpty => front(palette.faint),
        Role::Focus => front(palette.focus).add_modifier(Modifier::BOLD),
        Role::Key => front(palette.focus),
        Role::Chip => block(palette.chip),
        Role::Pending => front(palette.dim).add_modifier(Modifier::ITALIC),
        Role::Selected => block(palette.selected),
        Role::BarFull => front(palette.bars[0]),
        Role::BarLow => front(palette.bars[1]),
        Role::BarHigh => front(palette.bars[2]),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue of a colour of the 256-colour palette from its cube on.
    fn channels(color: u8) -> [f64; 3] {
        let level = |step: u8| {
            if step == 0 {
                0.0
            } else {
                f64::from(55 + 40 * u16::from(step))
            }
        };
        match color {
            232.. => [f64::from(8 + 10 * u16::from(color - 232)); 3],
            16.. => {
                let at = color - 16;
                [level(at / 36), level(at / 6 % 6), level(at % 6)]
            }
            _ => panic!("the terminal says what colour {color} is"),
        }
    }

    /// Relative luminance, as WCAG 2 defines it.
    fn luminance(rgb: [f64; 3]) -> f64 {
        let linear = |channel: f64| match channel / 255.0 {
            low if low <= 0.040_45 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2])
    }

    fn contrast(front: [f64; 3], back: [f64; 3]) -> f64 {
        let (front, back) = (luminance(front), luminance(back));
        (front.max(back) + 0.05) / (front.min(back) + 0.05)
    }

    fn indexed(color: Option<Color>) -> Option<[f64; 3]> {
        match color {
            Some(Color::Indexed(color)) => Some(channels(color)),
            _ => None,
        }
    }

    #[test]
    fn every_role_can_be_read_on_its_background_dark_and_light() {
        let themes = [(false, [[0.0; 3], [28.0; 3]]), (true, [[255.0; 3], [250.0; 3]])];
        for (is_light, grounds) in themes {
            let theme = Theme {
                color: true,
                is_light,
                ..Theme::PLAIN
            };
            let selected = indexed(theme.style(Role::Selected).bg);
            for role in Role::ALL {
                let style = theme.style(role);
                // On the line under the cursor what is faint takes its front.
                let is_faint = [Role::Dim, Role::Mark]
                    .iter()
                    .any(|faint| theme.style(*faint).fg == style.fg);
                let mut backs: Vec<[f64; 3]> = match indexed(style.bg) {
                    Some(own) => vec![own],
                    None => grounds.to_vec(),
                };
                backs.extend(selected.filter(|_| style.bg.is_none() && !is_faint));
                for back in backs {
                    let Some(front) = indexed(style.fg) else { continue };
                    let contrast = contrast(front, back);
                    assert!(contrast >= 4.5, "{role:?} on {back:?}, light {is_light}: {contrast:.2}");
                }
            }
        }
    }

    #[test]
    fn the_background_is_what_the_environment_says_it_is() {
        for (colors, is_light) in [
            ("0;15", true),
            ("0;default;15", true),
            ("0;7", true),
            ("15;0", false),
            ("7;8", false),
            ("12;4", false),
            ("default;default", false),
            ("", false),
        ] {
            assert_eq!(names_light_back(colors), is_light, "{colors}");
        }
        assert!(Shade::Light.is_light() && !Shade::Dark.is_light());
    }
}
