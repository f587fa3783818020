//! Two texts word by word: what they share, and what each has instead.

use std::ops::Range;

/// Words of both texts whose products are compared at most; longer middles count as changed whole.
const MOST: usize = 1 << 22;

/// A stretch of two texts, in bytes of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub a: Range<usize>,
    pub b: Range<usize>,
    pub is_equal: bool,
}

/// The texts as stretches that are equal or differ, in turns.
pub fn hunks(a: &str, b: &str) -> Vec<Hunk> {
    let (words_a, words_b) = (words(a), words(b));
    let same = |x: &Range<usize>, y: &Range<usize>| a[x.clone()] == b[y.clone()];
    let begin = words_a.iter().zip(&words_b).take_while(|(x, y)| same(x, y)).count();
    let (rest_a, rest_b) = (&words_a[begin..], &words_b[begin..]);
    let end = rest_a
        .iter()
        .rev()
        .zip(rest_b.iter().rev())
        .take_while(|(x, y)| same(x, y))
        .count();
    let (middle_a, middle_b) = (&rest_a[..rest_a.len() - end], &rest_b[..rest_b.len() - end]);
    let mut pairs: Vec<(usize, usize)> = (0..begin).map(|at| (at, at)).collect();
    pairs.extend(
        common(middle_a, middle_b, &same)
            .into_iter()
            .map(|(x, y)| (begin + x, begin + y)),
    );
    pairs.extend((0..end).map(|at| (words_a.len() - end + at, words_b.len() - end + at)));
    tidy(joined((a, &words_a), (b, &words_b), &pairs))
}

/// A few equal words between two longer changes belong to one change: confetti of `the` and `is` tells nothing.
fn tidy(hunks: Vec<Hunk>) -> Vec<Hunk> {
    let size = |hunk: &Hunk| hunk.a.len().max(hunk.b.len());
    let mut tidied: Vec<Hunk> = Vec::new();
    for (at, hunk) in hunks.iter().enumerate() {
        let is_short = |other: Option<&Hunk>| other.is_some_and(|other| !other.is_equal && size(hunk) <= size(other));
        let is_lost = hunk.is_equal && is_short(tidied.last()) && is_short(hunks.get(at + 1));
        match tidied.last_mut() {
            Some(last) if is_lost || (!last.is_equal && !hunk.is_equal) => {
                (last.a.end, last.b.end) = (hunk.a.end, hunk.b.end);
            }
            _ => tidied.push(hunk.clone()),
        }
    }
    tidied
}

/// Words with the white space after them.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut was_space = false;
    for (at, c) in text.char_indices() {
        if was_space && !c.is_whitespace() {
            words.push(start..at);
            start = at;
        }
        was_space = c.is_whitespace();
    }
    if start < text.len() {
        words.push(start..text.len());
    }
    words
}

/// The longest common sequence, as places in both.
fn common(
    a: &[Range<usize>],
    b: &[Range<usize>],
    same: &dyn Fn(&Range<usize>, &Range<usize>) -> bool,
) -> Vec<(usize, usize)> {
    if a.is_empty() || b.is_empty() || a.len().saturating_mul(b.len()) > MOST {
        return Vec::new();
    }
    let width = b.len() + 1;
    let mut longest = vec![0_u32; (a.len() + 1) * width];
    for x in (0..a.len()).rev() {
        for y in (0..b.len()).rev() {
            longest[x * width + y] = if same(&a[x], &b[y]) {
                longest[(x + 1) * width + y + 1] + 1
            } else {
                longest[(x + 1) * width + y].max(longest[x * width + y + 1])
            };
        }
    }
    let (mut x, mut y, mut pairs) = (0, 0, Vec::new());
    while x < a.len() && y < b.len() {
        if same(&a[x], &b[y]) {
            pairs.push((x, y));
            (x, y) = (x + 1, y + 1);
        } else if longest[(x + 1) * width + y] >= longest[x * width + y + 1] {
            x += 1;
        } else {
            y += 1;
        }
    }
    pairs
}

type Words<'a> = (&'a str, &'a [Range<usize>]);

fn joined(
    (a, words_a): (&str, &Vec<Range<usize>>),
    (b, words_b): (&str, &Vec<Range<usize>>),
    pairs: &[(usize, usize)],
) -> Vec<Hunk> {
    fn start((text, words): Words, at: usize) -> usize {
        words.get(at).map_or(text.len(), |word| word.start)
    }
    let (a, b): (Words, Words) = ((a, words_a), (b, words_b));
    let mut hunks: Vec<Hunk> = Vec::new();
    let (mut x, mut y) = (0, 0);
    let mut push = |from: (usize, usize), to: (usize, usize), is_equal: bool| {
        if from == to {
            return;
        }
        let (range_a, range_b) = (start(a, from.0)..start(a, to.0), start(b, from.1)..start(b, to.1));
        match hunks.last_mut() {
            Some(last) if last.is_equal == is_equal => (last.a.end, last.b.end) = (range_a.end, range_b.end),
            _ => hunks.push(Hunk {
                a: range_a,
                b: range_b,
                is_equal,
            }),
        }
    };
    for pair in pairs {
        push((x, y), *pair, false);
        (x, y) = (pair.0 + 1, pair.1 + 1);
        push(*pair, (x, y), true);
    }
    push((x, y), (a.1.len(), b.1.len()), false);
    hunks
}

/// Bytes at the beginning that both texts share, to a word's end.
pub fn common_beginning(a: &str, b: &str) -> usize {
    let shared = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    if shared == a.len() && shared == b.len() {
        return shared;
    }
    let mut end = shared;
    while end > 0 && !(a.is_char_boundary(end) && a[..end].ends_with(char::is_whitespace)) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(a: &str, b: &str) -> Vec<(bool, String, String)> {
        hunks(a, b)
            .into_iter()
            .map(|hunk| (hunk.is_equal, a[hunk.a].to_owned(), b[hunk.b].to_owned()))
            .collect()
    }

    #[test]
    fn texts_are_parted_into_what_is_equal_and_what_differs() {
        let own = |parts: &[(bool, &str, &str)]| -> Vec<(bool, String, String)> {
            parts
                .iter()
                .map(|(is_equal, a, b)| (*is_equal, (*a).to_owned(), (*b).to_owned()))
                .collect()
        };
        assert_eq!(
            shown("the view of the law", "the law of the view today"),
            own(&[
                (true, "the ", "the "),
                (false, "view ", "law "),
                (true, "of the ", "of the "),
                (false, "law", "view today"),
            ])
        );
        assert_eq!(shown("same", "same"), own(&[(true, "same", "same")]));
        assert_eq!(shown("", "new"), own(&[(false, "", "new")]));
        assert_eq!(shown("", ""), own(&[]));
    }

    #[test]
    fn every_byte_is_in_some_hunk_whatever_the_texts() {
        let long = "word and 答案 ".repeat(3_000);
        let other = format!("{} end", long.replace("and", "or"));
        for (a, b) in [
            ("a b  c\n\nd", "b a\tc d "),
            ("  x", "x  "),
            (long.as_str(), other.as_str()),
        ] {
            let hunks = hunks(a, b);
            let all_a: String = hunks.iter().map(|hunk| &a[hunk.a.clone()]).collect();
            let all_b: String = hunks.iter().map(|hunk| &b[hunk.b.clone()]).collect();
            assert_eq!((all_a.as_str(), all_b.as_str()), (a, b));
        }
    }

    #[test]
    fn the_common_beginning_ends_at_a_word() {
        assert_eq!(
            common_beginning("We ask about law", "We ask about lawn"),
            "We ask about ".len()
        );
        assert_eq!(common_beginning("same", "same"), 4);
        assert_eq!(common_beginning("答案 x", "答桉 x"), 0);
    }
}
