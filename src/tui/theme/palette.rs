//! The colours of each role, for each kind of terminal.

use ratatui::style::{Color, Modifier, Style};

use super::{Outcome, Role};

/// The colours of one kind of terminal and background.
#[derive(Debug)]
pub(super) struct Palette {
    pub is_light: bool,
    /// Of right, wrong and invalid answers.
    outcomes: [Color; 3],
    warning: Color,
    dim: Color,
    faint: Color,
    /// Front and back of the line under the cursor, and of a word that filters; reversed where there is none.
    selected: Option<(Color, Color)>,
    chip: Option<(Color, Color)>,
    bars: [Color; 3],
}

const fn indexed(color: u8) -> Color {
    Color::Indexed(color)
}

pub(super) const DARK: Palette = Palette {
    is_light: false,
    outcomes: [indexed(39), indexed(208), indexed(221)],
    warning: indexed(210),
    dim: indexed(248),
    faint: indexed(246),
    selected: Some((indexed(255), indexed(236))),
    chip: Some((indexed(255), indexed(240))),
    bars: [indexed(39), indexed(74), indexed(110)],
};

pub(super) const LIGHT: Palette = Palette {
    is_light: true,
    outcomes: [indexed(20), indexed(94), indexed(126)],
    warning: indexed(124),
    dim: indexed(240),
    faint: indexed(242),
    selected: Some((indexed(232), indexed(254))),
    chip: Some((indexed(232), indexed(251))),
    bars: [indexed(20), indexed(25), indexed(60)],
};

/// Sixteen colours, dark and light.
pub(super) const FEW: [Palette; 2] = [
    Palette {
        is_light: false,
        outcomes: [Color::LightCyan, Color::LightYellow, Color::LightMagenta],
        warning: Color::LightRed,
        dim: Color::Gray,
        faint: Color::Gray,
        selected: None,
        chip: None,
        bars: [Color::LightCyan; 3],
    },
    Palette {
        is_light: true,
        outcomes: [Color::LightBlue, Color::Red, Color::Magenta],
        warning: Color::Red,
        dim: Color::DarkGray,
        faint: Color::DarkGray,
        selected: None,
        chip: None,
        bars: [Color::LightBlue; 3],
    },
];

/// The colours of a text mode console, by their numbers.
const CONSOLE: [[u8; 3]; 16] = [
    [0, 0, 0],
    [170, 0, 0],
    [0, 170, 0],
    [170, 85, 0],
    [0, 0, 170],
    [170, 0, 170],
    [0, 170, 170],
    [170, 170, 170],
    [85, 85, 85],
    [255, 85, 85],
    [85, 255, 85],
    [255, 255, 85],
    [85, 85, 255],
    [255, 85, 255],
    [85, 255, 255],
    [255, 255, 255],
];

/// Red, green and blue of a colour of a palette.
pub fn rgb(color: Color) -> [u8; 3] {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    let number = match color {
        Color::Indexed(number) => number,
        Color::Red => 1,
        Color::Magenta => 5,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        _ => 15,
    };
    match number {
        232.. => [8 + 10 * (number - 232); 3],
        16.. => [(number - 16) / 36, (number - 16) / 6 % 6, (number - 16) % 6].map(level),
        _ => CONSOLE[usize::from(number)],
    }
}

pub(super) fn colored(role: Role, palette: &Palette) -> Style {
    let (style, front) = (Style::new(), |color: Color| Style::new().fg(color));
    let block = |colors: Option<(Color, Color)>| match colors {
        Some((front, back)) => style.fg(front).bg(back),
        None => style.add_modifier(Modifier::REVERSED),
    };
    let outcome = |outcome: Outcome| front(palette.outcomes[outcome as usize]);
    match role {
        Role::Plain => style,
        Role::Dim | Role::Bar | Role::Code => front(palette.dim),
        Role::Strong | Role::Key => style.add_modifier(Modifier::BOLD),
        Role::Focus | Role::Title => style.fg(Color::Reset).add_modifier(Modifier::BOLD),
        Role::Correct => outcome(Outcome::Right),
        Role::Wrong => outcome(Outcome::Wrong),
        Role::Invalid => outcome(Outcome::Invalid),
        Role::Match(came) => outcome(came),
        Role::Letter(came) => outcome(came).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Role::Evidence => outcome(Outcome::Invalid).add_modifier(Modifier::UNDERLINED),
        Role::Warning => front(palette.warning).add_modifier(Modifier::BOLD),
        Role::Found | Role::Cursor => style.add_modifier(Modifier::REVERSED),
        Role::Mark | Role::Border | Role::BarEmpty => front(palette.faint),
        Role::Chip => block(palette.chip),
        Role::Pending => front(palette.dim).add_modifier(Modifier::ITALIC),
        Role::Selected => block(palette.selected),
        Role::BarFull => front(palette.bars[0]),
        Role::BarLow => front(palette.bars[1]),
        Role::BarHigh => front(palette.bars[2]),
    }
}

/// The same without colours.
pub(super) fn plain(role: Role) -> Style {
    let style = Style::new();
    match role {
        Role::Dim | Role::Mark | Role::Pending => style.add_modifier(Modifier::DIM),
        Role::Strong | Role::Title | Role::Focus | Role::Invalid | Role::Key | Role::Warning => {
            style.add_modifier(Modifier::BOLD)
        }
        Role::Letter(_) => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Role::Chip | Role::Selected | Role::Cursor => style.add_modifier(Modifier::REVERSED),
        Role::Evidence | Role::Found => style.add_modifier(Modifier::UNDERLINED),
        Role::Plain
        | Role::Correct
        | Role::Wrong
        | Role::Match(_)
        | Role::Border
        | Role::Bar
        | Role::Code
        | Role::BarFull
        | Role::BarLow
        | Role::BarHigh
        | Role::BarEmpty => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rgb = [f64; 3];

    /// Red, green and blue of a colour, in 0-1 as sRGB writes them.
    fn channels(color: Color) -> Rgb {
        rgb(color).map(|byte| f64::from(byte) / 255.0)
    }

    fn linear(rgb: Rgb) -> Rgb {
        rgb.map(|channel| match channel {
            low if low <= 0.040_45 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        })
    }

    fn times(matrix: [Rgb; 3], [r, g, b]: Rgb) -> Rgb {
        matrix.map(|row| row[0] * r + row[1] * g + row[2] * b)
    }

    /// The ratio of relative luminances, as WCAG 2 defines it.
    fn contrast(front: Rgb, back: Rgb) -> f64 {
        let luminance = |rgb| {
            let [r, g, b] = linear(rgb);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (front, back) = (luminance(front), luminance(back));
        (front.max(back) + 0.05) / (front.min(back) + 0.05)
    }

    /// What eyes see: all three cones; without long, middle or short ones (Machado and others 2009, severity 1).
    const EYES: [[Rgb; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    /// CIE L*a*b* of a colour as some eyes see it.
    fn lab(color: Color, eyes: [Rgb; 3]) -> Rgb {
        let seen = times(eyes, linear(channels(color))).map(|channel| channel.clamp(0.0, 1.0));
        let to_xyz = [
            [0.4339, 0.3762, 0.1899],
            [0.2126, 0.7152, 0.0722],
            [0.0177, 0.1095, 0.8730],
        ];
        let [x, y, z] = times(to_xyz, seen).map(|value| match value {
            value if value > 0.008_856 => value.cbrt(),
            value => 7.787 * value + 16.0 / 116.0,
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Every palette with the backgrounds that it is for.
    fn palettes() -> [(&'static Palette, [Rgb; 2]); 4] {
        let (dark, light) = ([[0.0; 3], [28.0 / 255.0; 3]], [[1.0; 3], [250.0 / 255.0; 3]]);
        let [black, white] = [[[0.0; 3]; 2], [[1.0; 3]; 2]];
        [(&DARK, dark), (&LIGHT, light), (&FEW[0], black), (&FEW[1], white)]
    }

    fn roles() -> Vec<Role> {
        let mut roles = vec![
            Role::Plain,
            Role::Dim,
            Role::Strong,
            Role::Correct,
            Role::Wrong,
            Role::Invalid,
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
            Role::Bar,
            Role::Code,
            Role::BarFull,
            Role::BarLow,
            Role::BarHigh,
            Role::BarEmpty,
        ];
        roles.extend(Outcome::ALL.map(Role::Match));
        roles.extend(Outcome::ALL.map(Role::Letter));
        roles
    }

    fn given(color: Option<Color>) -> Option<Rgb> {
        color.filter(|color| *color != Color::Reset).map(channels)
    }

    #[test]
    fn every_role_can_be_read_on_its_background_dark_and_light() {
        for (palette, grounds) in palettes() {
            let selected = given(colored(Role::Selected, palette).bg);
            for role in roles() {
                let style = colored(role, palette);
                // On the line under the cursor what is faint takes its front.
                let is_faint = [palette.dim, palette.faint]
                    .iter()
                    .any(|faint| style.fg == Some(*faint));
                let mut backs: Vec<Rgb> = match given(style.bg) {
                    Some(own) => vec![own],
                    None => grounds.to_vec(),
                };
                backs.extend(selected.filter(|_| style.bg.is_none() && !is_faint));
                for back in backs {
                    let Some(front) = given(style.fg) else { continue };
                    let contrast = contrast(front, back);
                    assert!(contrast >= 4.5, "{role:?} on {back:?} of {palette:?}: {contrast:.2}");
                }
            }
        }
    }

    #[test]
    fn right_wrong_and_invalid_stay_apart_for_every_kind_of_eyes() {
        for (palette, _) in palettes() {
            for eyes in EYES {
                let [right, wrong, invalid] = palette.outcomes.map(|color| lab(color, eyes));
                for (a, b) in [(right, wrong), (right, invalid), (wrong, invalid)] {
                    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
                    let distance = squares.sum::<f64>().sqrt();
                    assert!(distance >= 20.0, "{palette:?}: {distance:.1}");
                }
            }
        }
    }

    #[test]
    fn only_what_is_right_has_the_colours_of_right() {
        let of_right = [
            Role::Correct,
            Role::BarFull,
            Role::BarLow,
            Role::BarHigh,
            Role::Match(Outcome::Right),
            Role::Letter(Outcome::Right),
        ];
        for (palette, _) in palettes() {
            for role in roles().into_iter().filter(|role| !of_right.contains(role)) {
                let style = colored(role, palette);
                let is_right = |color: &Option<Color>| color.is_some_and(|color| palette.bars.contains(&color));
                assert!(![style.fg, style.bg].iter().any(is_right), "{role:?}");
            }
        }
        let neutral = [
            Role::Focus,
            Role::Key,
            Role::Strong,
            Role::Found,
            Role::Chip,
            Role::Selected,
        ];
        for role in neutral {
            let style = colored(role, &DARK);
            let is_hue = |color| given(color).is_some_and(|[r, g, b]| r != g || g != b);
            assert!(!is_hue(style.fg) && !is_hue(style.bg), "{role:?}");
        }
    }
}
