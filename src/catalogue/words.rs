//! The filter line of the list of runs: `bench:mmlu_pro acc>40 -tag:demo`.

use anyhow::{Result, bail};

use super::Listed;

/// What can be asked of an entry, for help.
pub const WORDS: [(&str, &str); 12] = [
    ("bench:", "benchmark: bench:mmlu_pro"),
    ("model:", "part of the model's name"),
    ("proc:", "beginning of the procedure's hash"),
    ("slice:", "beginning of the slice's hash"),
    ("tag:", "tag: tag:build-1130"),
    ("kind:", "part of what it is: kind:lm-eval"),
    ("since:", "not older than: since:2026-11"),
    ("acc>", "accuracy in percent: acc>40 acc<=52.5"),
    ("base", "a baseline was frozen of it"),
    ("gone", "its folder is gone"),
    ("partial", "not finished"),
    ("hidden", "put out of sight"),
];

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Benchmark(String),
    Model(String),
    Procedure(String),
    Slice(String),
    Tag(String),
    Kind(String),
    Since(String),
    Accuracy(Bound, f64),
    Base,
    Gone,
    Partial,
    Hidden,
    /// A word that stands somewhere in id, model, benchmark, note or tags.
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// A filter line, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words(Vec<(bool, Test)>);

impl Words {
    /// Reads a line; words are joined by and, `-` before one turns it round.
    ///
    /// # Errors
    /// For a word with a `:` that is not known, or an accuracy that is no number.
    pub fn parse(line: &str) -> Result<Words> {
        let word = |word: &str| {
            let (is_wanted, rest) = word.strip_prefix('-').map_or((true, word), |rest| (false, rest));
            Ok((is_wanted, test(rest)?))
        };
        Ok(Words(line.split_whitespace().map(word).collect::<Result<_>>()?))
    }

    pub fn hold(&self, entry: &Listed) -> bool {
        let asks_hidden = self.0.iter().any(|(_, test)| *test == Test::Hidden);
        (asks_hidden || !entry.is_hidden) && self.0.iter().all(|(wanted, test)| test.holds(entry) == *wanted)
    }
}

fn test(word: &str) -> Result<Test> {
    if let Some(rest) = word.strip_prefix("acc")
        && let Some(bound) = accuracy(rest)?
    {
        return Ok(bound);
    }
    let Some((key, value)) = word.split_once(':') else {
        return Ok(match word {
            "base" => Test::Base,
            "gone" => Test::Gone,
            "partial" => Test::Partial,
            "hidden" => Test::Hidden,
            other => Test::Text(other.to_lowercase()),
        });
    };
    let value = value.to_owned();
    Ok(match key {
        "bench" => Test::Benchmark(value),
        "model" => Test::Model(value.to_lowercase()),
        "proc" => Test::Procedure(value),
        "slice" => Test::Slice(value),
        "tag" => Test::Tag(value),
        "kind" => Test::Kind(value.to_lowercase()),
        "since" => Test::Since(value),
        _ => {
            let known: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
            bail!("unknown word {key}: (known: {})", known.join(", "))
        }
    })
}

fn accuracy(rest: &str) -> Result<Option<Test>> {
    let bounds = [
        (">=", Bound::AtLeast),
        ("<=", Bound::AtMost),
        (">", Bound::Above),
        ("<", Bound::Below),
    ];
    let found = bounds
        .iter()
        .find_map(|(sign, bound)| Some((*bound, rest.strip_prefix(sign)?)));
    let Some((bound, number)) = found else { return Ok(None) };
    match number.trim_end_matches('%').parse::<f64>() {
        Ok(percent) => Ok(Some(Test::Accuracy(bound, percent / 100.0))),
        Err(_) => bail!("acc{rest}: {number:?} is no number of percent, as acc>40"),
    }
}

impl Test {
    fn holds(&self, entry: &Listed) -> bool {
        let contains = |text: &str, part: &str| text.to_lowercase().contains(part);
        match self {
            Test::Benchmark(name) => entry.benchmark == *name,
            Test::Model(part) => contains(&entry.model, part),
            Test::Procedure(start) => entry.procedure.starts_with(start),
            Test::Slice(start) => entry.slice.as_ref().is_some_and(|slice| slice.starts_with(start)),
            Test::Tag(tag) => entry.tags.contains(tag),
            Test::Kind(part) => contains(&entry.kind, part),
            Test::Since(date) => entry.created_at.as_str() >= date.as_str(),
            Test::Accuracy(bound, limit) => entry.accuracy.is_some_and(|accuracy| match bound {
                Bound::Above => accuracy > *limit,
                Bound::AtLeast => accuracy >= *limit,
                Bound::Below => accuracy < *limit,
                Bound::AtMost => accuracy <= *limit,
            }),
            Test::Base => !entry.baselines.is_empty(),
            Test::Gone => entry.is_gone(),
            Test::Partial => !entry.is_complete,
            Test::Hidden => entry.is_hidden,
            Test::Text(part) => {
                let told = [&entry.run_id, &entry.model, &entry.benchmark];
                let notes = entry.note.iter().chain(&entry.tags);
                told.into_iter().chain(notes).any(|text| contains(text, part))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Listed {
        Listed {
            run_id: "20261130-Qwen-mmlu-1b6e09d4".into(),
            kind: "markbook run".into(),
            is_complete: true,
            benchmark: "mmlu".into(),
            model: "Qwen2.5-0.5B".into(),
            rule: "argmax".into(),
            rows: 245,
            planned: None,
            questions: 245,
            attempts: 1,
            procedure: "3f9c12ab".into(),
            slice: Some("b8c790c6".into()),
            model_hash: String::new(),
            environment: String::new(),
            unknown: 0,
            created_at: "2026-11-30T10:00:00Z".into(),
            accuracy: Some(0.482),
            low: None,
            high: None,
            stderr: None,
            correct: 118,
            invalid: 0,
            style: None,
            shots: None,
            chat: None,
            temperature: None,
            path: None,
            places: 1,
            tags: vec!["build-1130".into()],
            note: None,
            is_hidden: false,
            baselines: Vec::new(),
        }
    }

    #[test]
    fn words_hold_of_an_entry_and_unknown_ones_are_refused() {
        let holds = |line: &str| Words::parse(line).unwrap().hold(&entry());
        for line in [
            "",
            "bench:mmlu model:qwen",
            "proc:3f9c slice:b8",
            "tag:build-1130 gone",
            "since:2026-11 acc>48 acc<=48.2",
            "-base -partial 1b6e",
        ] {
            assert!(holds(line), "{line}");
        }
        for line in [
            "bench:mmlu_pro",
            "acc<48",
            "base",
            "-gone",
            "since:2026-12",
            "hidden",
            "llama",
        ] {
            assert!(!holds(line), "{line}");
        }
        let error = Words::parse("colour:red").unwrap_err().to_string();
        assert!(error.contains("bench:") && error.contains("since:"), "{error}");
        assert!(Words::parse("acc>x").is_err());
    }
}
