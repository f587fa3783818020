//! The only way of foreign text to the screen: models, files and data sets may hold anything, terminals obey some of it.
//!
//! Text is cut into clusters (what a reader sees as one character). Whatever a terminal would act on, or would not show
//! at all, becomes a visible mark; nothing else is changed.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns between tab stops.
const TAB: usize = 8;

/// Longest cluster shown as it is, in code points: beyond it stand piled-up marks that no writing system uses.
const CLUSTER_LIMIT: usize = 16;

/// What a cluster means for the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Printable; its text is the source's.
    Plain,
    /// White space at which a line may be broken.
    Space,
    /// Ends the line.
    Newline,
    /// Advances to the next tab stop; shown as a mark.
    Tab,
    /// Stands for something a terminal would act on or hide.
    Mark,
}

/// One piece of foreign text, safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster<'a> {
    /// Where it begins in the source, in bytes.
    pub start: usize,
    pub shown: Cow<'a, str>,
    /// Columns; 0 for a newline. A tab's is set by whoever knows the column.
    pub width: usize,
    pub kind: Kind,
}

/// Columns from `column` to the next tab stop.
pub fn tab_width(column: usize) -> usize {
    TAB - column % TAB
}

/// Cuts text into clusters. With `ascii`, marks are spelled in ASCII.
pub fn clusters(text: &str, ascii: bool) -> impl Iterator<Item = Cluster<'_>> {
    text.grapheme_indices(true)
        .flat_map(move |(start, cluster)| split(start, cluster, ascii))
}

fn split(start: usize, cluster: &str, ascii: bool) -> Parts<'_> {
    let one = |shown, width, kind| {
        Parts::One(Some(Cluster {
            start,
            shown,
            width,
            kind,
        }))
    };
    match cluster {
        "\n" | "\r\n" => return one("".into(), 0, Kind::Newline),
        " " | "\u{3000}" => return one(cluster.into(), cluster.width(), Kind::Space),
        "\t" => return one(if ascii { ">" } else { "→" }.into(), 1, Kind::Tab),
        _ => {}
    }
    if cluster.len() == 1 && !cluster.as_bytes()[0].is_ascii_control() {
        return one(cluster.into(), 1, Kind::Plain);
    }
    let printable = is_joined_emoji(cluster) || cluster.chars().enumerate().all(|(at, c)| !is_hidden(c, at > 0));
    if printable && cluster.chars().count() <= CLUSTER_LIMIT {
        return match cluster.width() {
            0 => one(
                format!("{}{cluster}", if ascii { "?" } else { "◌" }).into(),
                1,
                Kind::Plain,
            ),
            width => one(cluster.into(), width, Kind::Plain),
        };
    }
    let mut parts = Vec::new();
    for (at, c) in cluster.char_indices() {
        let start = start + at;
        let is_base = !is_hidden(c, false) && c.to_string().width() > 0;
        parts.push(if is_base {
            Cluster {
                start,
                shown: c.to_string().into(),
                width: c.to_string().width(),
                kind: Kind::Plain,
            }
        } else {
            let shown = spell(c, ascii);
            Cluster {
                start,
                width: shown.width(),
                shown: shown.into(),
                kind: Kind::Mark,
            }
        });
    }
    parts.truncate(CLUSTER_LIMIT);
    Parts::Many(parts.into_iter())
}

/// One cluster nearly always; several where a part of it must be marked.
enum Parts<'a> {
    One(Option<Cluster<'a>>),
    Many(std::vec::IntoIter<Cluster<'a>>),
}

impl<'a> Iterator for Parts<'a> {
    type Item = Cluster<'a>;

    fn next(&mut self) -> Option<Cluster<'a>> {
        match self {
            Parts::One(cluster) => cluster.take(),
            Parts::Many(parts) => parts.next(),
        }
    }
}

/// Emoji joined by U+200D, with skin tones and variation selectors: one picture, two columns.
fn is_joined_emoji(cluster: &str) -> bool {
    let is_pictograph = |c: char| ('\u{2190}'..='\u{2bff}').contains(&c) || ('\u{1f000}'..='\u{1faff}').contains(&c);
    cluster.chars().next().is_some_and(is_pictograph)
        && cluster
            .chars()
            .all(|c| is_pictograph(c) || matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}'))
}

/// Whether a terminal would act on the character, reorder by it, or show nothing for it.
fn is_hidden(c: char, follows: bool) -> bool {
    match c {
        '\u{fe00}'..='\u{fe0f}' => !follows,
        _ => {
            c.is_control()
                || matches!(c,
                    '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                    | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                    | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                    | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        }
    }
}

/// A visible name: a control picture, or the code point.
fn spell(c: char, ascii: bool) -> String {
    match (c, ascii) {
        ('\0'..='\u{1f}', false) => char::from_u32(0x2400 + u32::from(c)).unwrap_or('?').to_string(),
        ('\u{7f}', false) => "␡".to_owned(),
        ('\0'..='\u{1f}' | '\u{7f}', true) => format!("^{}", char::from(c as u8 ^ 0x40)),
        _ => format!("<{:02X}>", u32::from(c)),
    }
}

/// Foreign text as one line of at most `width` columns, white space collapsed, cut at a cluster with `…`.
pub fn one_line(text: &str, width: usize, ascii: bool) -> String {
    let ellipsis = if ascii { "..." } else { "…" };
    let mut line = String::new();
    let mut column = 0;
    // Where the line could be cut and still leave room for the ellipsis.
    let mut cut = 0;
    let mut pending_space = false;
    for cluster in clusters(text, ascii) {
        if matches!(cluster.kind, Kind::Space | Kind::Newline | Kind::Tab) {
            pending_space = column > 0;
            continue;
        }
        let needed = cluster.width + usize::from(pending_space);
        if column + needed > width {
            line.truncate(cut);
            line.push_str(if ellipsis.width() <= width { ellipsis } else { "" });
            return line;
        }
        if std::mem::take(&mut pending_space) {
            line.push(' ');
        }
        line.push_str(&cluster.shown);
        column += needed;
        if column + ellipsis.width() <= width {
            cut = line.len();
        }
    }
    line
}

/// Foreign text as one line, all of it.
pub fn inline(text: &str, ascii: bool) -> String {
    one_line(text, usize::MAX / 2, ascii)
}

/// Foreign text of any lines as a terminal can be given it: line ends and tabs stay, everything else that it would act on
/// is shown.
pub fn lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for cluster in clusters(text, false) {
        match cluster.kind {
            Kind::Newline => safe.push('\n'),
            Kind::Tab => safe.push('\t'),
            _ => safe.push_str(&cluster.shown),
        }
    }
    safe
}

/// Foreign text as it may be pasted anywhere, a shell included: without controls but line ends and tabs and without marks
/// that reorder text; and how many characters that left out.
pub fn pasteable(text: &str) -> (String, usize) {
    let text = text.replace("\r\n", "\n");
    let acts = |c: &char| {
        let reorders =
            matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        reorders || (c.is_control() && !matches!(c, '\n' | '\t'))
    };
    let kept: String = text.chars().filter(|c| !acts(c)).collect();
    let left_out = text.chars().count() - kept.chars().count();
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        clusters(text, false)
            .map(|cluster| cluster.shown.into_owned())
            .collect()
    }

    #[test]
    fn nothing_a_terminal_acts_on_gets_through() {
        for (text, expected) in [
            ("\u{1b}[2J\u{1b}[31mred\u{1b}[0m", "␛[2J␛[31mred␛[0m"),
            ("\u{1b}]52;c;ZWNobw==\u{7}", "␛]52;c;ZWNobw==␇"),
            ("\u{9b}31mX", "<9B>31mX"),
            ("wrong\rright", "wrong␍right"),
            ("abc \u{202e}evil\u{202c} def", "abc <202E>evil<202C> def"),
            ("a\u{200b}b\u{feff}", "a<200B>b<FEFF>"),
            ("x\u{200d}y", "x<200D>y"),
            ("\u{7f}\u{0}", "␡␀"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_and_tabs_stay_where_text_goes_to_a_terminal_line_by_line() {
        let text = "a\tb\r\n\u{1b}[31mc\rd\u{202e}\n";
        assert_eq!(lines(text), "a\tb\n␛[31mc␍d<202E>\n");
    }

    #[test]
    fn what_is_pasted_ends_no_paste_and_says_what_it_lacks() {
        let text = "The answer is (A).\r\n\u{1b}[201~rm -rf x\n\t\u{9b}\u{202e}👩\u{200d}💻";
        let (kept, left_out) = pasteable(text);
        assert_eq!(kept, "The answer is (A).\n[201~rm -rf x\n\t👩\u{200d}💻");
        assert_eq!(left_out, 3);
    }

    #[test]
    fn marks_are_ascii_where_asked_for() {
        let text: String = clusters("a\u{7}\tb\u{7f}\u{1b}", true)
            .map(|cluster| cluster.shown.into_owned())
            .collect();
        assert_eq!(text, "a^G>b^?^[");
    }

    #[test]
    fn mangled_latex_shows_four_marks() {
        let text = "\u{c}rac{1}{2} \u{7}lpha \u{8}eta \texttheta";
        let marks = clusters(text, false)
            .filter(|cluster| matches!(cluster.kind, Kind::Mark | Kind::Tab))
            .count();
        assert_eq!(marks, 4);
    }

    #[test]
    fn a_joined_emoji_is_one_cluster_and_is_never_split() {
        let woman = "👩\u{200d}💻";
        let text = format!("{woman} ok");
        let first = clusters(&text, false).next().unwrap();
        assert_eq!((first.shown.as_ref(), first.width), (woman, 2));
        assert_eq!(one_line(&text, 5, false), format!("{woman} ok"));
        assert_eq!(one_line(&text, 4, false), format!("{woman}…"));
        assert_eq!(one_line(&format!("ab{woman}cd"), 4, false), "ab…");
    }

    #[test]
    fn wide_text_counts_two_columns_each() {
        let width: usize = clusters("答案是C", false).map(|cluster| cluster.width).sum();
        assert_eq!(width, 7);
        assert_eq!(one_line("答案是C", 6, false), "答案…");
    }

    #[test]
    fn a_pile_of_combining_marks_does_not_grow() {
        let zalgo = format!("e{}", "\u{301}".repeat(5000));
        assert!(clusters(&zalgo, false).count() <= CLUSTER_LIMIT);
        assert!(one_line(&zalgo, 10, false).width() <= 10);
    }

    #[test]
    fn one_line_folds_white_space_and_marks_what_it_cut() {
        assert_eq!(one_line("  a\n\n b\tc  ", 20, false), "a b c");
        assert_eq!(one_line("The answer is (C).", 10, true), "The ans...");
        assert_eq!(one_line("abc", 0, false), "");
    }
}
