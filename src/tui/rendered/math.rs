//! Formulas of one line in Unicode: `\frac{\pi}{2}` as π/2.

/// Commands that are one character.
#[rustfmt::skip] // many on a line, as a table
const SYMBOLS: &[(&str, &str)] = &[
    ("alpha", "α"), ("beta", "β"), ("gamma", "γ"), ("delta", "δ"), ("epsilon", "ε"), ("varepsilon", "ε"), ("zeta", "ζ"),
    ("eta", "η"), ("theta", "θ"), ("vartheta", "ϑ"), ("iota", "ι"), ("kappa", "κ"), ("lambda", "λ"), ("mu", "μ"), ("nu", "ν"),
    ("xi", "ξ"), ("pi", "π"), ("rho", "ρ"), ("sigma", "σ"), ("tau", "τ"), ("upsilon", "υ"), ("phi", "φ"), ("varphi", "φ"),
    ("chi", "χ"), ("psi", "ψ"), ("omega", "ω"), ("Gamma", "Γ"), ("Delta", "Δ"), ("Theta", "Θ"), ("Lambda", "Λ"), ("Xi", "Ξ"),
    ("Pi", "Π"), ("Sigma", "Σ"), ("Phi", "Φ"), ("Psi", "Ψ"), ("Omega", "Ω"), ("times", "×"), ("cdot", "·"), ("div", "÷"),
    ("pm", "±"), ("mp", "∓"), ("leq", "≤"), ("le", "≤"), ("geq", "≥"), ("ge", "≥"), ("neq", "≠"), ("ne", "≠"), ("ll", "≪"),
    ("gg", "≫"), ("approx", "≈"), ("sim", "∼"), ("simeq", "≃"), ("equiv", "≡"), ("cong", "≅"), ("propto", "∝"),
    ("infty", "∞"), ("partial", "∂"), ("nabla", "∇"), ("int", "∫"), ("oint", "∮"), ("sum", "∑"), ("prod", "∏"), ("in", "∈"),
    ("notin", "∉"), ("subset", "⊂"), ("subseteq", "⊆"), ("supset", "⊃"), ("cup", "∪"), ("cap", "∩"), ("emptyset", "∅"),
    ("varnothing", "∅"), ("forall", "∀"), ("exists", "∃"), ("neg", "¬"), ("lnot", "¬"), ("land", "∧"), ("wedge", "∧"),
    ("lor", "∨"), ("vee", "∨"), ("oplus", "⊕"), ("otimes", "⊗"), ("to", "→"), ("rightarrow", "→"), ("longrightarrow", "→"),
    ("leftarrow", "←"), ("Rightarrow", "⇒"), ("implies", "⇒"), ("Leftarrow", "⇐"), ("leftrightarrow", "↔"),
    ("Leftrightarrow", "⇔"), ("iff", "⇔"), ("mapsto", "↦"), ("supseteq", "⊇"), ("setminus", "∖"), ("mid", "|"),
    ("parallel", "∥"), ("perp", "⊥"), ("angle", "∠"), ("triangle", "△"), ("circ", "∘"), ("degree", "°"), ("bullet", "•"),
    ("star", "⋆"), ("ast", "∗"), ("hbar", "ℏ"), ("ell", "ℓ"), ("Re", "ℜ"), ("Im", "ℑ"), ("aleph", "ℵ"), ("ldots", "…"),
    ("cdots", "⋯"), ("dots", "…"), ("therefore", "∴"), ("because", "∵"), ("square", "□"), ("prime", "′"), ("langle", "⟨"),
    ("rangle", "⟩"), ("lfloor", "⌊"), ("rfloor", "⌋"), ("lceil", "⌈"), ("rceil", "⌉"), ("top", "⊤"), ("bot", "⊥"),
    ("vdash", "⊢"), ("models", "⊨"), ("supset", "⊃"), ("rightleftharpoons", "⇌"),
];

/// Commands that are their own names, and those that only move what stands beside them.
#[rustfmt::skip] // many on a line, as a table
const NAMES: &[&str] = &[
    "sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "lim", "max", "min", "sup", "inf", "det", "dim", "ker", "gcd",
    "deg", "arg", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "Pr",
];
const NOTHING: &[&str] = &[
    "left",
    "right",
    "big",
    "Big",
    "bigg",
    "Bigg",
    "displaystyle",
    "textstyle",
    "limits",
    "nolimits",
    "rm",
    "bf",
    "it",
];
const SPACES: &[&str] = &["quad", "qquad"];

/// Commands whose argument stands for itself.
#[rustfmt::skip] // many on a line, as a table
const WRAPPERS: &[&str] = &[
    "text", "textbf", "textit", "textrm", "mathrm", "mathbf", "mathit", "mathsf", "mathcal", "mathbb", "operatorname", "mbox",
    "hbox", "bm", "boldsymbol", "emph", "underline",
];

#[rustfmt::skip] // many on a line, as a table
const RAISED: &[(char, char)] = &[
    ('0', '⁰'), ('1', '¹'), ('2', '²'), ('3', '³'), ('4', '⁴'), ('5', '⁵'), ('6', '⁶'), ('7', '⁷'), ('8', '⁸'), ('9', '⁹'),
    ('+', '⁺'), ('-', '⁻'), ('=', '⁼'), ('(', '⁽'), (')', '⁾'), ('n', 'ⁿ'), ('i', 'ⁱ'), ('x', 'ˣ'), ('y', 'ʸ'), ('k', 'ᵏ'),
    ('t', 'ᵗ'), ('T', 'ᵀ'), ('a', 'ᵃ'), ('b', 'ᵇ'), ('m', 'ᵐ'), ('j', 'ʲ'), ('∘', '°'), ('′', '′'), ('*', '*'),
];
#[rustfmt::skip] // many on a line, as a table
const LOWERED: &[(char, char)] = &[
    ('0', '₀'), ('1', '₁'), ('2', '₂'), ('3', '₃'), ('4', '₄'), ('5', '₅'), ('6', '₆'), ('7', '₇'), ('8', '₈'), ('9', '₉'),
    ('+', '₊'), ('-', '₋'), ('=', '₌'), ('(', '₍'), (')', '₎'), ('a', 'ₐ'), ('e', 'ₑ'), ('i', 'ᵢ'), ('j', 'ⱼ'), ('k', 'ₖ'),
    ('m', 'ₘ'), ('n', 'ₙ'), ('x', 'ₓ'), ('t', 'ₜ'), ('p', 'ₚ'), ('r', 'ᵣ'),
];

/// A formula without its delimiters in Unicode; `None` where something in it is not understood.
pub fn shown(formula: &str) -> Option<String> {
    let mut rest = formula;
    let shown = sequence(&mut rest, 0)?;
    rest.is_empty().then_some(shown)
}

/// The one symbol at the beginning of a text, and the bytes of its name.
pub fn symbol_at(text: &str) -> Option<(usize, &'static str)> {
    let name = name_of(text.strip_prefix('\\')?);
    Some((name.len() + 1, symbol(name)?))
}

/// Bytes of a text up to the brace that closes its first character, that one included.
pub fn braced(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            b'\n' => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

fn name_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    &text[..end]
}

fn symbol(name: &str) -> Option<&'static str> {
    let found = SYMBOLS.iter().find(|(known, _)| *known == name);
    found.map(|(_, symbol)| *symbol)
}

/// Deepest braces that are followed.
const DEEPEST: usize = 24;

/// Everything up to the end or a brace that closes more than was opened.
fn sequence(rest: &mut &str, depth: usize) -> Option<String> {
    let mut shown = String::new();
    while !rest.is_empty() && !rest.starts_with('}') {
        let raise = rest.chars().next().filter(|c| matches!(c, '^' | '_'));
        if let Some(sign) = raise {
            *rest = &rest[1..];
            let inner = argument(rest, depth)?;
            shown.push_str(&moved(sign, &inner));
        } else {
            shown.push_str(&item(rest, depth)?);
        }
    }
    Some(shown)
}

/// The next character, command or group.
fn item(rest: &mut &str, depth: usize) -> Option<String> {
    let first = rest.chars().next()?;
    match first {
        '{' => argument(rest, depth),
        '\\' => command(rest, depth),
        '&' => None,
        _ => {
            *rest = &rest[first.len_utf8()..];
            Some(if first == '~' { ' ' } else { first }.to_string())
        }
    }
}

/// What a command takes: a group in braces, or one item.
fn argument(rest: &mut &str, depth: usize) -> Option<String> {
    *rest = rest.trim_start_matches(' ');
    if depth > DEEPEST {
        return None;
    }
    let Some(inner) = rest.strip_prefix('{') else {
        return item(rest, depth + 1);
    };
    *rest = inner;
    let shown = sequence(rest, depth + 1)?;
    *rest = rest.strip_prefix('}')?;
    Some(shown)
}

fn command(rest: &mut &str, depth: usize) -> Option<String> {
    let after = rest.strip_prefix('\\')?;
    let name = name_of(after);
    if name.is_empty() {
        let sign = after.chars().next()?;
        *rest = &after[sign.len_utf8()..];
        return match sign {
            ',' | ';' | ':' | ' ' => Some(" ".to_owned()),
            '!' => Some(String::new()),
            '{' | '}' | '%' | '$' | '#' | '&' | '_' | '|' => Some(sign.to_string()),
            _ => None,
        };
    }
    *rest = &after[name.len()..];
    let mut inner = || argument(rest, depth);
    match name {
        "frac" | "dfrac" | "tfrac" | "cfrac" => Some(format!("{}/{}", grouped(inner()?), grouped(inner()?))),
        "binom" => Some(format!("C({}, {})", inner()?, inner()?)),
        "sqrt" => root(rest, depth),
        "boxed" | "fbox" => Some(format!("[{}]", inner()?)),
        "overline" | "bar" => Some(marked(&inner()?, '\u{305}')),
        "hat" | "widehat" => Some(marked(&inner()?, '\u{302}')),
        "vec" => Some(marked(&inner()?, '\u{20d7}')),
        "dot" => Some(marked(&inner()?, '\u{307}')),
        _ if WRAPPERS.contains(&name) => inner(),
        _ if NAMES.contains(&name) => Some(name.to_owned()),
        _ if SPACES.contains(&name) => Some("  ".to_owned()),
        _ if NOTHING.contains(&name) => {
            // A dot stands for no bracket at all.
            if let Some(bare) = rest.strip_prefix('.') {
                *rest = bare;
            }
            Some(String::new())
        }
        _ => symbol(name).map(str::to_owned),
    }
}

fn root(rest: &mut &str, depth: usize) -> Option<String> {
    let mut degree = String::new();
    if let Some((inner, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        degree = moved('^', inner);
        *rest = after;
    }
    Some(format!("{degree}√{}", grouped(argument(rest, depth)?)))
}

/// In brackets where it is more than one thing.
fn grouped(text: String) -> String {
    let text = text.trim();
    let is_one = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | ',')) || is_bracketed(text);
    if is_one { text.to_owned() } else { format!("({text})") }
}

fn is_bracketed(text: &str) -> bool {
    text.starts_with('(') && text.find(')') == Some(text.len() - 1)
}

fn marked(text: &str, mark: char) -> String {
    if text.chars().count() == 1 {
        format!("{text}{mark}")
    } else {
        text.to_owned()
    }
}

/// An exponent or an index.
fn moved(sign: char, text: &str) -> String {
    let table = if sign == '^' { RAISED } else { LOWERED };
    let small = |c: char| table.iter().find(|(plain, _)| *plain == c).map(|(_, small)| *small);
    let text = text.trim();
    match text.chars().map(small).collect::<Option<String>>() {
        Some(small) => small,
        None if text.chars().count() == 1 => format!("{sign}{text}"),
        None => format!("{sign}({text})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_of_one_line_are_read() {
        for (formula, wanted) in [
            (r"\frac{\pi}{2}", "π/2"),
            (r"\frac{a+b}{2c}", "(a+b)/2c"),
            (r"x^{2n} + y_{10}", "x²ⁿ + y₁₀"),
            (r"e^{-\frac{1}{2}}", "e^(-1/2)"),
            (r"\sqrt[3]{x+1}", "³√(x+1)"),
            (r"\left( \sum_{i=1}^n x_i \right)", "( ∑ᵢ₌₁ⁿ xᵢ )"),
            (r"90^\circ", "90°"),
            (r"\text{if } x \in \mathbb{R}", "if  x ∈ R"),
            (r"\vec{v} \cdot \hat{n}", "v\u{20d7} · n\u{302}"),
            (r"100\%", "100%"),
            (r"\boxed{\frac{1}{3}}", "[1/3]"),
        ] {
            assert_eq!(shown(formula).as_deref(), Some(wanted), "{formula}");
        }
    }

    #[test]
    fn what_is_not_known_or_not_closed_is_no_formula() {
        for formula in [
            r"\begin{cases} 1 \end{cases}",
            r"\frac{1}{",
            "a & b",
            r"x \\ y",
            r"\unknown",
            "a } b",
            &"{".repeat(9000),
        ] {
            assert_eq!(shown(formula), None, "{formula}");
        }
    }
}
