//! How the cells of a column name options: by label, by letter, by number, or by the option's own text. The way is found
//! over many rows; rows that say it otherwise are read each by itself.

use serde_json::Value;

use super::options::Choices;
use super::texts::{half_width, literal, mark_length};
use crate::json::python_text;
use crate::text::strip;

/// How a value names its option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// What the row itself calls the option.
    Label,
    Letter,
    Text,
    /// From 0 or from 1.
    Number,
}

/// A gold or a pick, and the options that it chooses from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub value: Value,
    pub choices: Choices,
}

/// How the golds or picks of a column are meant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Naming {
    /// The way of most rows.
    usual: Way,
    /// Ways to read a value, the first that finds an option counts.
    ways: Vec<Way>,
    base: Base,
    /// Whether rows say it in different ways, so that a value that could be read in two is doubtful.
    is_mixed: bool,
}

/// The option that a value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Named {
    /// It may lie outside the options.
    pub index: Option<usize>,
    pub way: Option<Way>,
    /// What it names when read in another way.
    pub otherwise: Option<usize>,
}

/// What the first option is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Base {
    /// 0 or 1.
    pub first: i64,
    /// Whether the numbers fit the other as well.
    pub is_open: bool,
}

/// How many numbers name an option when counted from 0, and from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bases {
    pub zero: usize,
    pub one: usize,
}

impl Bases {
    pub fn of(asked: &[Asked]) -> Bases {
        let count = |base| {
            asked
                .iter()
                .filter(|asked| asked.names(Way::Number, base).is_some())
                .count()
        };
        Bases {
            zero: count(0),
            one: count(1),
        }
    }

    pub fn add(self, other: Bases) -> Bases {
        Bases {
            zero: self.zero + other.zero,
            one: self.one + other.one,
        }
    }

    pub fn likely(self) -> Base {
        Base {
            first: i64::from(self.one > self.zero),
            is_open: self.one == self.zero,
        }
    }
}

impl Naming {
    /// A letter, as MMLU-Pro says it.
    pub fn letter() -> Naming {
        Naming {
            usual: Way::Letter,
            ways: vec![Way::Letter],
            base: Base::default(),
            is_mixed: false,
        }
    }

    /// A class number, as MMLU says it, or a letter.
    pub fn class() -> Naming {
        Naming {
            usual: Way::Number,
            ways: vec![Way::Number, Way::Letter],
            base: Base::default(),
            is_mixed: false,
        }
    }

    /// How a column of golds is meant: the way that finds an option in most of the rows. Where several do, it is
    /// `usual`, the way of the set's questions, else a letter; the text of a listed option goes before a number that is
    /// written as text.
    pub fn find(asked: &[Asked], are_listed: bool, base: Base, usual: Option<Way>) -> Naming {
        let is_written = asked.iter().any(|asked| asked.value.is_string());
        let mut ways = if is_written && are_listed {
            vec![Way::Label, Way::Letter, Way::Text, Way::Number]
        } else {
            vec![Way::Label, Way::Letter, Way::Number, Way::Text]
        };
        if let Some(usual) = usual {
            ways.retain(|way| *way != usual);
            ways.insert(0, usual);
        }
        let has_labels = asked.iter().any(|asked| !asked.choices.labels.is_empty());
        ways.retain(|way| has_labels || *way != Way::Label);
        let found = |way: Way| {
            asked
                .iter()
                .filter(|asked| asked.names(way, base.first).is_some())
                .count()
        };
        let counts: Vec<usize> = ways.iter().map(|way| found(*way)).collect();
        let most = counts.iter().max().copied().unwrap_or(0);
        let usual = ways.remove(counts.iter().position(|count| *count == most).unwrap_or(0));
        ways.insert(0, usual);
        // A label is the row's own word for its option, whatever the column is like.
        ways.sort_by_key(|way| *way != Way::Label);
        let usually = |asked: &&Asked| {
            [Way::Label, usual]
                .iter()
                .any(|way| asked.names(*way, base.first).is_some())
        };
        let somehow = |asked: &&Asked| ways.iter().any(|way| asked.names(*way, base.first).is_some());
        let is_mixed = asked.iter().filter(usually).count() < asked.iter().filter(somehow).count();
        Naming {
            usual,
            ways,
            base,
            is_mixed,
        }
    }

    /// The way that most rows are read by.
    pub fn usual(&self) -> Way {
        self.usual
    }

    /// Whether a letter is a letter in every row.
    pub fn is_letter(&self) -> bool {
        self.usual == Way::Letter && !self.is_mixed
    }

    pub fn base(&self) -> Base {
        self.base
    }

    /// The option that a value names.
    pub fn read(&self, asked: &Asked) -> Named {
        let mut named = self
            .ways
            .iter()
            .filter_map(|way| Some((*way, asked.names(*way, self.base.first)?)));
        let Some((way, index)) = named.next() else {
            let outside = self.ways.iter().find_map(|way| way.read(asked, self.base.first));
            return Named {
                index: outside,
                ..Named::default()
            };
        };
        // `C. gamma` says it twice, and may contradict itself.
        let is_doubtful = way != Way::Label && (self.is_mixed || asked.has_mark());
        let otherwise = named.map(|(_, other)| other).find(|other| *other != index);
        let twin = || {
            let texts = asked.choices.texts.iter().enumerate();
            let equal = texts.filter(|(_, text)| **text == asked.choices.texts[index]);
            equal
                .map(|(other, _)| other)
                .find(|other| *other != index)
                .filter(|_| way == Way::Text)
        };
        Named {
            index: Some(index),
            way: Some(way),
            otherwise: otherwise.filter(|_| is_doubtful).or_else(twin),
        }
    }

    /// How many rows another way would read otherwise, where all rows are read in one way.
    pub fn differing(&self, asked: &[Asked]) -> Option<(Way, usize)> {
        if self.is_mixed {
            return None;
        }
        let own = |asked: &Asked| self.read(asked).index;
        let others = [Way::Text, Way::Number, Way::Letter];
        let counts = others.into_iter().filter(|way| *way != self.usual).map(|way| {
            let all = asked.iter().all(|asked| asked.names(way, self.base.first).is_some());
            let differs = |asked: &&Asked| asked.names(way, self.base.first) != own(asked);
            (way, if all { asked.iter().filter(differs).count() } else { 0 })
        });
        counts.max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0)
    }
}

impl Asked {
    /// The option that the value names in this way; none where it names none of them.
    fn names(&self, way: Way, base: i64) -> Option<usize> {
        way.read(self, base).filter(|index| *index < self.choices.texts.len())
    }

    /// Whether this is one of the options.
    pub fn is_within(&self, index: Option<usize>) -> bool {
        index.is_some_and(|index| index < self.choices.texts.len())
    }

    /// The options that a value names where it names several, in their order: `A,C`, `A and C`, `["A", "C"]`, `[0, 2]`,
    /// one mark an option (`[1, 0, 1]`), or `AC`.
    pub fn several(&self, naming: &Naming) -> Option<Vec<usize>> {
        let parts = match &self.value {
            Value::Array(marks) => {
                match marks_set(marks).filter(|set| marks.len() == self.choices.texts.len() && set.len() > 1) {
                    Some(set) => return Some(set),
                    None => marks.clone(),
                }
            }
            Value::String(text) => match literal(text) {
                Some(value) => {
                    return Asked {
                        value,
                        choices: self.choices.clone(),
                    }
                    .several(naming);
                }
                None => parts_of(&half_width(text), !self.choices.texts.is_empty())?,
            },
            _ => return None,
        };
        let one = |part: Value| {
            let choices = self.choices.clone();
            naming.read(&Asked { value: part, choices }).index
        };
        let mut found: Vec<usize> = parts.into_iter().map(one).collect::<Option<_>>()?;
        found.sort_unstable();
        found.dedup();
        let is_within = |index: &usize| *index < self.choices.texts.len() || self.choices.texts.is_empty();
        (found.len() > 1 && found.iter().all(is_within)).then_some(found)
    }

    /// Whether the value is an option's mark and more.
    fn has_mark(&self) -> bool {
        split_mark(&value_text(&self.value)).is_some_and(|(_, rest)| !rest.is_empty())
    }
}

impl Way {
    /// The index that a value names; it may lie outside the options.
    fn read(self, asked: &Asked, base: i64) -> Option<usize> {
        let Choices { texts, labels } = &asked.choices;
        let text = value_text(&asked.value);
        let mark = || split_mark(&text).map(|(mark, _)| mark);
        match self {
            Way::Label => {
                let place = |wanted: &str| {
                    labels
                        .iter()
                        .position(|label| strip(label).eq_ignore_ascii_case(strip(&half_width(wanted))))
                };
                place(&text).or_else(|| place(&mark()?))
            }
            Way::Letter => letter_among(&text, texts),
            Way::Text => by_text(&text, texts).or_else(|| {
                let (_, rest) = split_mark(&text)?;
                by_text(&rest, texts).filter(|_| !rest.is_empty())
            }),
            Way::Number => match &asked.value {
                Value::Array(marks) if marks.len() > 1 => one_hot(marks).filter(|_| marks.len() == texts.len()),
                _ => {
                    let number = whole_number(&Value::from(text.as_str())).or_else(|| mark()?.parse().ok())?;
                    usize::try_from(number.checked_sub(base)?).ok()
                }
            },
        }
    }
}

/// A gold value as text; a list of one is its item.
fn value_text(gold: &Value) -> String {
    match gold {
        Value::Array(items) if items.len() == 1 => value_text(&items[0]),
        Value::Array(_) => String::new(),
        Value::String(text) => match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(inner) => inner.trim().trim_matches(['\'', '"']).to_owned(),
            None => text.clone(),
        },
        other => python_text(other),
    }
}

/// The option that a text names by its letter, with or without the option's text after it. What is an option to the
/// letter (`C++`, `B.`) is its text, not its letter.
fn letter_among(text: &str, options: &[String]) -> Option<usize> {
    let bare = strip(text);
    if bare.chars().count() > 1 && options.iter().any(|option| strip(option) == bare) {
        return None;
    }
    let index = |letter: &str| match letter.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => None,
    };
    let with_text = || {
        let (first, rest) = bare.split_once([' ', '-', '\t', '\n'])?;
        index(first).filter(|letter| by_text(rest, options) == Some(*letter))
    };
    lone_letter(bare)
        .or_else(|| index(&split_mark(bare)?.0))
        .or_else(with_text)
}

/// The place of the letter that a text is, whatever marks stand around it: `b`, ` B.`, `**B**`, `Ｂ`, `【B】`, `\boxed{B}`.
pub(crate) fn lone_letter(text: &str) -> Option<usize> {
    let text = half_width(text);
    let mut bare = strip(&text);
    for command in ["\\boxed{", "\\text{", "\\mathbf{", "\\textbf{"] {
        bare = bare
            .trim_start_matches(['$', '\\', '('])
            .strip_prefix(&command[1..])
            .unwrap_or(bare);
    }
    let is_mark = |c: char| c.is_whitespace() || "()[]{}<>.,:;*`'\"$_\\。、「」『』【】《》〈〉“”‘’".contains(c);
    match bare.trim_matches(is_mark).as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => None,
    }
}

/// The place of the letter that a text is or begins with as an option's mark: `B`, `(B) lead`, `B. lead`, `Option B`.
pub(crate) fn marked_letter(text: &str) -> Option<usize> {
    lone_letter(text).or_else(|| match split_mark(text)?.0.as_bytes() {
        [mark] if mark.is_ascii_alphabetic() => Some(usize::from(mark.to_ascii_uppercase() - b'A')),
        _ => None,
    })
}

/// What stands between the marks of several options, or the letters of `ACD`, capitals in their order.
fn parts_of(text: &str, has_options: bool) -> Option<Vec<Value>> {
    let text = strip(text).trim_matches(['(', ')', '[', ']', '{', '}']);
    let is_run = has_options
        && text.len() > 1
        && text.bytes().all(|byte| byte.is_ascii_uppercase())
        && text.as_bytes().windows(2).all(|pair| pair[0] < pair[1]);
    if is_run {
        return Some(text.chars().map(|letter| letter.to_string().into()).collect());
    }
    let words = text.replace(" and ", ",").replace(" or ", ",");
    let parts: Vec<&str> = words.split([',', ';', '/', '|', '&', '+', '、']).map(strip).collect();
    let is_mark = |part: &&str| lone_letter(part).is_some() || whole_number(&Value::from(*part)).is_some();
    (parts.len() > 1 && parts.iter().all(is_mark)).then(|| parts.into_iter().map(Value::from).collect())
}

/// The mark of an option and what follows it: `C`, `c)`, `(C)`, `C. gamma`, `Option C`, `3. gamma`.
fn split_mark(text: &str) -> Option<(String, String)> {
    let text = half_width(text);
    let text = strip(&text);
    let word = text.split([' ', ':', '_']).next().unwrap_or_default();
    let is_said = ["option", "choice", "answer"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known));
    let text = if is_said {
        text[word.len()..].trim_start_matches([' ', ':', '_'])
    } else {
        text
    };
    let bare = text.trim_start_matches(['(', '[']);
    let letters = bare.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let length = if letters {
        1
    } else {
        bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len()
    };
    let mark = &bare[..length];
    if mark.is_empty() || mark.len() > 4 {
        return None;
    }
    if bare.len() == length && bare.len() == text.len() {
        return Some((mark.to_owned(), String::new()));
    }
    let rest = &text[mark_length(text, mark)?..];
    Some((mark.to_owned(), rest.to_owned()))
}

/// The option of this text: to the letter, else but for white space around it, else but for case, blanks and a full
/// stop, where that is one option only. Yes and no are spoken for true and false.
fn by_text(text: &str, options: &[String]) -> Option<usize> {
    let exact = options.iter().position(|option| option == text);
    let stripped = || options.iter().position(|option| strip(option) == strip(text));
    let loosely = |wanted: &str| {
        let wanted = loose(wanted);
        let first = |text: &str| text.trim_start().chars().next().map(|c| c.to_lowercase().next());
        let is_it = |option: &str| first(option) == first(&wanted) && loose(option) == wanted;
        let mut found = options.iter().enumerate().filter(|(_, option)| is_it(option));
        match (found.next(), found.next()) {
            (Some((index, _)), None) if !wanted.is_empty() => Some(index),
            _ => None,
        }
    };
    exact
        .or_else(stripped)
        .or_else(|| loosely(text))
        .or_else(|| match text {
            "True" => loosely("yes"),
            "False" => loosely("no"),
            _ => None,
        })
}

fn loose(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_lowercase()
}

/// Which of several marks is the one that is set.
fn one_hot(marks: &[Value]) -> Option<usize> {
    match marks_set(marks)?.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// The places of the marks that are set, where all are marks.
fn marks_set(marks: &[Value]) -> Option<Vec<usize>> {
    let set = |mark: &Value| match mark {
        Value::Bool(set) => Some(*set),
        _ => match whole_number(mark) {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
    };
    let marks: Vec<bool> = marks.iter().map(set).collect::<Option<_>>()?;
    let places = marks.iter().enumerate().filter(|(_, set)| **set);
    Some(places.map(|(place, _)| place).collect())
}

/// A whole number, also one that is written as text or as a float (`2.0`, in some countries `2,0`).
pub(crate) fn whole_number(value: &Value) -> Option<i64> {
    // Beyond this, floats skip whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let of_float = |float: f64| (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64);
    match value {
        Value::Number(number) if number.is_f64() => of_float(number.as_f64()?),
        Value::Number(number) => number.as_i64(),
        Value::String(text) => {
            let text = half_width(text);
            let text = text.trim();
            let text = text.strip_suffix(",0").unwrap_or(text);
            let is_plain = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
            let float = || text.parse::<f64>().ok().and_then(of_float);
            text.parse().ok().or_else(|| float().filter(|_| is_plain))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked(gold: Value, options: &[&str], labels: &[&str]) -> Asked {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Asked {
            value: gold,
            choices: Choices {
                texts: texts(options),
                labels: texts(labels),
            },
        }
    }

    #[test]
    fn a_gold_value_is_read_in_the_forms_that_people_write() {
        let options = ["iron", "Zinc ore.", "gold", "tin"];
        let letters: Vec<_> = ["A", "B"].map(|gold| asked(json!(gold), &options, &[])).into();
        let kind = Naming::find(&letters, true, Base::default(), None);
        for gold in [
            json!("B"),
            json!(" b "),
            json!("(B)"),
            json!("B."),
            json!("b)"),
            json!("[B]"),
            json!("['B']"),
            json!(["B"]),
            json!("Option B"),
            json!("Answer: B"),
            json!("B. Zinc ore."),
            json!("(B) zinc ore"),
            json!("B: zinc  ORE"),
            json!(1),
            json!(1.0),
            json!("1"),
            json!("1.0"),
            json!(["1"]),
            json!([0, 1, 0, 0]),
            json!([false, true, false, false]),
            json!("Zinc ore."),
            json!(" Zinc ore. "),
            json!("zinc ore"),
        ] {
            let read = kind.read(&asked(gold.clone(), &options, &[]));
            assert_eq!((read.index, read.otherwise), (Some(1), None), "{gold}");
        }
        for gold in [
            json!(null),
            json!(""),
            json!(["A", "B"]),
            json!("A,B"),
            json!("copper"),
            json!([1, 1]),
            json!({"a": 1}),
        ] {
            assert_eq!(kind.read(&asked(gold.clone(), &options, &[])).index, None, "{gold}");
        }
        assert_eq!(kind.read(&asked(json!("Z"), &options, &[])).index, Some(25));
        assert_eq!(kind.read(&asked(json!("C. iron"), &options, &[])).otherwise, Some(0));
        assert_eq!(
            kind.read(&asked(json!("tin"), &["tin", "iron", "tin"], &[])).otherwise,
            Some(2)
        );
    }

    #[test]
    fn what_a_row_calls_its_options_goes_first() {
        let rows = [
            asked(json!("2"), &["x", "y", "z"], &["1", "2", "3"]),
            asked(json!("C"), &["x", "y", "z"], &["C", "A", "B"]),
            asked(json!("b"), &["x", "y", "z"], &["C", "A", "B"]),
        ];
        let kind = Naming::find(&rows, true, Base::default(), None);
        let read: Vec<_> = rows.iter().map(|row| kind.read(row).index).collect();
        assert_eq!(read, [Some(1), Some(0), Some(2)]);
    }

    #[test]
    fn a_value_that_two_ways_read_differently_is_doubtful_in_a_mixed_column_only() {
        let options = ["3", "0", "1", "2"];
        let numbers: Vec<_> = [0, 3, 1].map(|gold| asked(json!(gold), &options, &[])).into();
        let kind = Naming::find(&numbers, true, Base::default(), None);
        assert_eq!(
            kind.read(&numbers[1]),
            Named {
                index: Some(3),
                way: Some(Way::Number),
                otherwise: None
            }
        );
        assert_eq!(kind.differing(&numbers), Some((Way::Text, 3)));
        let mut mixed = numbers.clone();
        mixed.push(asked(json!("D"), &options, &[]));
        let kind = Naming::find(&mixed, true, Base::default(), None);
        let doubtful = kind.read(&mixed[1]);
        assert_eq!((doubtful.index, doubtful.otherwise), (Some(0), Some(3)));
        assert_eq!(kind.read(&mixed[3]).otherwise, None);
    }

    #[test]
    fn numbers_are_whole_and_never_rounded() {
        assert_eq!(whole_number(&json!("3.0")), Some(3));
        assert_eq!(whole_number(&json!(-4.0)), Some(-4));
        for value in [
            json!("3.5"),
            json!("1e2"),
            json!(u64::MAX),
            json!(1e300),
            json!("x"),
            json!("9223372036854775808"),
        ] {
            assert_eq!(whole_number(&value), None, "{value}");
        }
    }
}
