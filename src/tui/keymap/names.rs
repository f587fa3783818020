//! What keys are called: as the table and the screen name them, as scripts type them, and as the terminal sends them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Keys that are no plain character: the name shown, the name in angle brackets, the code.
const NAMES: [(&str, &str, KeyCode); 18] = [
    ("Space", "space", KeyCode::Char(' ')),
    ("<", "lt", KeyCode::Char('<')),
    ("⏎", "enter", KeyCode::Enter),
    ("Esc", "esc", KeyCode::Esc),
    ("Tab", "tab", KeyCode::Tab),
    ("BackTab", "backtab", KeyCode::BackTab),
    ("Backspace", "backspace", KeyCode::Backspace),
    ("Delete", "delete", KeyCode::Delete),
    ("↑", "up", KeyCode::Up),
    ("↓", "down", KeyCode::Down),
    ("←", "left", KeyCode::Left),
    ("→", "right", KeyCode::Right),
    ("Home", "home", KeyCode::Home),
    ("End", "end", KeyCode::End),
    ("PgUp", "pgup", KeyCode::PageUp),
    ("PgDn", "pgdn", KeyCode::PageDown),
    ("F1", "f1", KeyCode::F(1)),
    ("F5", "f5", KeyCode::F(5)),
];

/// The name of a key as the table spells it; empty where it has none.
pub fn name(event: KeyEvent) -> String {
    if let (KeyCode::Char(c), true) = (event.code, event.modifiers.contains(KeyModifiers::CONTROL)) {
        return format!("^{}", c.to_ascii_lowercase());
    }
    match (NAMES.iter().find(|(.., code)| *code == event.code), event.code) {
        (Some((shown, ..)), _) => (*shown).to_owned(),
        (None, KeyCode::Char(c)) => c.to_string(),
        (None, KeyCode::F(number)) => format!("F{number}"),
        (None, _) => String::new(),
    }
}

/// The event of a key that is named as the table spells it, so that help and mouse can press it.
pub fn event_of(key: &str) -> Option<KeyEvent> {
    let known = NAMES.iter().find(|(shown, ..)| *shown == key);
    known
        .map(|(.., code)| KeyEvent::from(*code))
        .or_else(|| control(key))
        .or_else(|| Some(KeyCode::Char(key.chars().next()?).into()))
}

/// `^d`: a letter with Control.
fn control(name: &str) -> Option<KeyEvent> {
    let letter = name.strip_prefix('^')?.chars().next()?;
    Some(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
}

/// Keys written as text: `iclaw<enter>jj<enter>`; names in angle brackets, `<lt>` for `<`, `<^d>` for control.
pub fn parse(text: &str) -> Vec<KeyEvent> {
    let named = |name: &str| {
        let known = NAMES.iter().find(|(_, typed, _)| *typed == name.to_lowercase());
        control(name).or(known.map(|(.., code)| (*code).into()))
    };
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let bracketed = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let event = bracketed.and_then(|(inside, after)| Some((named(inside)?, after)));
        let (event, after) = event.unwrap_or_else(|| {
            let code = if c == '⏎' { KeyCode::Enter } else { KeyCode::Char(c) };
            (code.into(), &rest[c.len_utf8()..])
        });
        keys.push(event);
        rest = after;
    }
    keys
}
