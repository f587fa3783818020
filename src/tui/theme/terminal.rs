//! What the terminal can show: colours, and how many; a light background or a dark one; which characters.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use terminal_colorsaurus::{QueryOptions, ThemeMode, theme_mode};

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
    /// As `COLORFGBG` or the terminal itself tells; dark where neither does.
    #[default]
    Auto,
    Dark,
    Light,
}

/// How long a terminal may take to tell its background: one that never answers costs this once.
const ASKING: Duration = Duration::from_millis(150);

impl Shade {
    /// Whether the background is light, as the environment stands.
    pub(super) fn is_light(self) -> bool {
        match self {
            Shade::Auto => std::env::var("COLORFGBG").is_ok_and(|colors| names_light_back(&colors)),
            Shade::Dark => false,
            Shade::Light => true,
        }
    }

    /// What the terminal says that its background is (OSC 11), where nothing else tells and it may be asked. It is asked
    /// once, before anything else listens to it.
    pub(super) fn asked(self) -> Shade {
        static TOLD: OnceLock<Shade> = OnceLock::new();
        let is_told = self != Shade::Auto || std::env::var_os("COLORFGBG").is_some();
        if is_told || Kind::of_environment() != Kind::Able {
            return self;
        }
        *TOLD.get_or_init(|| {
            let mut asking = QueryOptions::default();
            asking.timeout = ASKING;
            let told = theme_mode(asking);
            IS_LATE.store(told.is_err(), Ordering::SeqCst);
            match told {
                Ok(ThemeMode::Light) => Shade::Light,
                _ => Shade::Dark,
            }
        })
    }
}

/// Whether the terminal has not answered in time: what it says then comes among the keys.
static IS_LATE: AtomicBool = AtomicBool::new(false);

/// Takes the keys that are a terminal's late answer, `Alt-]11;rgb:0000/0000/0000` up to `Alt-\`, `^g` or anything else.
#[derive(Debug, Default)]
pub struct LateAnswer {
    is_open: bool,
}

impl LateAnswer {
    pub fn takes(&mut self, key: &KeyEvent) -> bool {
        IS_LATE.load(Ordering::SeqCst) && self.is_part(key)
    }

    fn is_part(&mut self, key: &KeyEvent) -> bool {
        let (was_open, is_alt) = (self.is_open, key.modifiers.contains(KeyModifiers::ALT));
        self.is_open = match key.code {
            KeyCode::Char(']') if is_alt => true,
            KeyCode::Char(c) => was_open && key.modifiers.is_empty() && (c.is_ascii_hexdigit() || ";:/rgb".contains(c)),
            _ => false,
        };
        let ends = matches!(key.code, KeyCode::Char('\\' | 'g')) && !key.modifiers.is_empty();
        self.is_open || was_open && ends
    }
}

/// What a terminal can show, by its name in `TERM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 256 colours and whatever character there is a font for.
    Able,
    /// Sixteen colours.
    Sixteen,
    /// Sixteen colours at most, and a font of a few hundred characters.
    Console,
}

impl Kind {
    fn of(term: &str) -> Kind {
        let is_console = ["linux", "vt", "ansi", "cons25", "sun", "wsvt"];
        match term {
            name if is_console.iter().any(|console| name.starts_with(console)) => Kind::Console,
            name if name.ends_with("-16color") => Kind::Sixteen,
            _ => Kind::Able,
        }
    }

    pub fn of_environment() -> Kind {
        std::env::var("TERM").map_or(Kind::Able, |term| Kind::of(&term))
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_console_has_few_colours_and_few_characters() {
        for (term, kind) in [
            ("linux", Kind::Console),
            ("vt100", Kind::Console),
            ("vt220", Kind::Console),
            ("xterm-16color", Kind::Sixteen),
            ("xterm-256color", Kind::Able),
            ("screen", Kind::Able),
            ("", Kind::Able),
        ] {
            assert_eq!(Kind::of(term), kind, "{term}");
        }
    }

    #[test]
    fn a_late_answer_presses_no_key_and_what_is_typed_does() {
        let (alt, none) = (KeyModifiers::ALT, KeyModifiers::NONE);
        let mut answer = LateAnswer::default();
        let mut taken = |c: char, modifiers| answer.is_part(&KeyEvent::new(KeyCode::Char(c), modifiers));
        assert!(!taken('r', none) && taken(']', alt));
        assert!("11;rgb:1c1c/ffff/0000".chars().all(|c| taken(c, none)));
        assert!(taken('\\', alt) && !taken('r', none));
        assert!(taken(']', alt) && !taken('j', none) && !taken('a', none));
    }
}
