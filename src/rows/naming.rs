//! How the cells of a column name options: by label, by letter, by number, or by the option's own text. The way is found
//! over many rows; rows that say it otherwise are read each by itself.

use serde_json::Value;

use super::options::Choices;
use super::texts::{half_width, literal};
use super::values::{by_text, letter_among, marks_set, one_hot, parts_of, split_mark, value_text, whole_number};
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
