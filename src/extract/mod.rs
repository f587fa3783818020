//! What was answered: rules as data.
//!
//! A rule has a name that a run records and a flag takes; reading a text by it gives the pick and the stretch of text
//! that gave it, so that it can be lit on screen.

pub mod argmax;
pub mod harness;
mod named;
mod pattern;
pub mod python;
mod thinking;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Result, bail};
use sha2::{Digest, Sha256};

use crate::text::hex;

use argmax::ArgMax;
pub use harness::{exact_match, postprocess};
pub use named::{ALL, Known};
use pattern::Pattern;
pub(crate) use pattern::{describe, states};
pub use thinking::{answer_start, unclosed_thinking};

/// How a rule is written, for `--help`.
pub fn help() -> String {
    let named = ALL.iter().map(|known| format!("  {:27} {}\n", known.name, known.about));
    let scored = argmax::ALL.iter().map(|(name, about)| format!("  {name:27} {about}\n"));
    format!(
        r"A rule is a name, or a pattern of your own:
{}  re:PATTERN                  first match; the pick is the first group that holds something, else the whole match
  re:PATTERN@last  @2  @-2    the last match, the second, the last but one (@first to end a pattern in `@2` itself)
  RULE ?? RULE                the second where the first reads nothing; `?? =C` is a fixed pick
  think:RULE                  only the text after the last `</think>` (all of it where there is none)
  final:RULE                  only the last final channel (`<|channel|>final<|message|>`; all where there are no channels)
For rows of log-likelihoods (other rows keep their picks, as these do under the rules above):
{}Patterns are those of Rust's regex crate; look-around and back-references work too. A row whose text takes a pattern too
many steps is [invalid] and flagged {FLAG_LIMIT}. Example: --rule 're:(?i)final answer:? \(?([A-J])@last ?? tiger_chain'",
        named.collect::<String>(),
        scored.collect::<String>()
    )
}

/// The flag of a row on which a pattern gave up.
pub const FLAG_LIMIT: &str = "rule_limit";

/// A way to get a pick: read from a completion, or compared between log-likelihoods.
#[derive(Debug, Clone)]
pub struct Rule {
    name: String,
    /// How scored rows are picked; such a rule reads no text.
    argmax: Option<ArgMax>,
    scope: Scope,
    /// Tried in order.
    readers: Vec<Reader>,
}

/// The part of a text that a rule reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    /// The text after the last `</think>`.
    AfterThinking,
    /// The last final channel.
    FinalChannel,
}

#[derive(Debug, Clone)]
enum Reader {
    Named(&'static Known),
    Pattern(Box<Pattern>),
    Fixed(String),
}

/// One place where a rule matched; byte ranges of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// What is lit: the asked-for phrase with its letter. Of `.*[aA]nswer:` the part from `answer` on.
    pub whole: Range<usize>,
    /// The pick within it.
    pub letter: Range<usize>,
}

/// What a rule read from a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extraction<'t> {
    /// A letter, or the text that the rule took; `None` is `[invalid]`.
    pub pick: Option<&'t str>,
    /// Where it stands; `None` also for a fixed pick.
    pub found: Option<Match>,
    /// Which step of the rule decided, from 1; 0 for none.
    pub step: u8,
    /// [`FLAG_LIMIT`], where the rule could not be carried through.
    pub flag: Option<&'static str>,
}

impl Rule {
    /// The rule of a name or pattern, as [`help`] says.
    pub fn parse(name: &str) -> Result<Rule> {
        if let Some(argmax) = ArgMax::from_name(name.trim()) {
            return Ok(Rule::of_scores(argmax));
        }
        let prefixes = [("think:", Scope::AfterThinking), ("final:", Scope::FinalChannel)];
        let scoped = prefixes
            .into_iter()
            .find_map(|(prefix, scope)| Some((scope, name.trim().strip_prefix(prefix)?)));
        let (scope, rest) = scoped.unwrap_or((Scope::All, name.trim()));
        let readers = rest.split(" ?? ").map(parse_reader).collect::<Result<_>>()?;
        Ok(Rule {
            name: name.trim().to_owned(),
            argmax: None,
            scope,
            readers,
        })
    }

    /// The rule of rows of log-likelihoods.
    pub fn of_scores(argmax: ArgMax) -> Rule {
        Rule {
            name: argmax.name().to_owned(),
            argmax: Some(argmax),
            scope: Scope::All,
            readers: Vec::new(),
        }
    }

    /// The rule of this name that reads texts, for lighting what it matched; the default where the name is none, or one
    /// that compares log-likelihoods.
    pub fn of_texts(name: Option<&str>) -> Rule {
        let rule = name.and_then(|name| Rule::parse(name).ok());
        rule.filter(|rule| rule.argmax.is_none()).unwrap_or_default()
    }

    /// How it compares log-likelihoods; `None` for a rule that reads texts.
    pub fn argmax(&self) -> Option<ArgMax> {
        self.argmax
    }

    /// As it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does, a line a step: what of the text is read, then the patterns (of Python's `re` for the named rules) in the
    /// order in which they are tried.
    pub fn patterns(&self) -> Vec<String> {
        if let Some(argmax) = self.argmax {
            return vec![argmax.about().to_owned()];
        }
        let scope = match self.scope {
            Scope::All => None,
            Scope::AfterThinking => Some("after the last </think>".to_owned()),
            Scope::FinalChannel => Some("the last final channel".to_owned()),
        };
        let written = self.name.trim_start_matches("think:").trim_start_matches("final:");
        let steps = self.readers.iter().zip(written.split(" ?? "));
        let patterns = steps.flat_map(|(reader, written)| match reader {
            Reader::Named(known) => known.patterns.iter().map(ToString::to_string).collect(),
            Reader::Pattern(_) | Reader::Fixed(_) => vec![written.trim().to_owned()],
        });
        scope.into_iter().chain(patterns).collect()
    }

    /// sha256 over [`Rule::patterns`], a line each: the same for rules that read alike, whatever they are called.
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(self.patterns().join("\n").as_bytes()))
    }

    /// Reads the pick. Time is linear in the text for the named rules.
    pub fn read<'t>(&'t self, text: &'t str) -> Extraction<'t> {
        let (offset, text) = self.scope(text);
        let mut flag = None;
        for (index, reader) in self.readers.iter().enumerate() {
            let mut extraction = reader.read(text);
            flag = flag.or(extraction.flag);
            if extraction.pick.is_some() {
                if index > 0 {
                    extraction.step = u8::try_from(index + 1).unwrap_or(u8::MAX);
                }
                extraction.flag = flag;
                extraction.found = extraction.found.map(|found| found.shifted(offset));
                return extraction;
            }
        }
        Extraction {
            flag,
            ..Extraction::default()
        }
    }

    /// Every place where the step that decided matches, in text order. The last step of the authors' chain counts only
    /// the match that it takes: each stand-alone letter of a text is not an answer.
    pub fn matches(&self, text: &str) -> Vec<Match> {
        let (offset, text) = self.scope(text);
        let decided = self.readers.iter().find(|reader| reader.read(text).pick.is_some());
        let found = match decided {
            Some(Reader::Named(named)) => named.matches(text),
            Some(Reader::Pattern(pattern)) => pattern.matches(text),
            Some(Reader::Fixed(_)) | None => Vec::new(),
        };
        found.into_iter().map(|found| found.shifted(offset)).collect()
    }

    fn scope<'t>(&self, text: &'t str) -> (usize, &'t str) {
        let range = match self.scope {
            Scope::All => 0..text.len(),
            Scope::AfterThinking => thinking::after_thinking(text),
            Scope::FinalChannel => thinking::final_channel(text),
        };
        (range.start, &text[range])
    }
}

impl Default for Rule {
    /// The harness's rule for MMLU-Pro.
    fn default() -> Rule {
        let readers = vec![Reader::Named(&ALL[0])];
        Rule {
            name: ALL[0].name.to_owned(),
            argmax: None,
            scope: Scope::All,
            readers,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for Rule {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Rule> {
        Rule::parse(name)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.name == other.name
    }
}

impl Reader {
    fn read<'t>(&'t self, text: &'t str) -> Extraction<'t> {
        match self {
            Reader::Named(named) => named.read(text),
            Reader::Pattern(pattern) => pattern.read(text),
            Reader::Fixed(pick) => Extraction {
                pick: Some(pick),
                step: 1,
                ..Extraction::default()
            },
        }
    }
}

impl Match {
    fn shifted(self, by: usize) -> Match {
        Match {
            whole: self.whole.start + by..self.whole.end + by,
            letter: self.letter.start + by..self.letter.end + by,
        }
    }
}

fn parse_reader(text: &str) -> Result<Reader> {
    if let Some(pattern) = text.strip_prefix("re:") {
        return Ok(Reader::Pattern(Box::new(Pattern::parse(pattern)?)));
    }
    let text = text.trim();
    if let Some(pick) = text.strip_prefix('=') {
        return Ok(Reader::Fixed(pick.to_owned()));
    }
    match Known::find(text) {
        Some(named) => Ok(Reader::Named(named)),
        None => {
            bail!("unknown rule `{text}`; known are {}", known_rules())
        }
    }
}

/// What may be named as a rule, for messages.
pub fn known_rules() -> String {
    format!(
        "{}, re:PATTERN, think:RULE and final:RULE",
        names().collect::<Vec<_>>().join(", ")
    )
}

/// The names of all rules.
pub fn names() -> impl Iterator<Item = &'static str> {
    let scored = argmax::ALL.iter().map(|(name, _)| *name);
    ALL.iter().map(|known| known.name).chain(scored)
}

/// The first named rule that reads this pick from the text (`None`: reads nothing); `None` where no rule does.
pub fn rule_that_gives(text: &str, pick: Option<&str>) -> Option<&'static str> {
    let mut telling = ALL.iter().filter(|known| !known.reads_anything);
    telling
        .find(|known| known.read(text).pick == pick)
        .map(|known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rule: &str, text: &str) -> (Option<String>, u8) {
        let rule = Rule::parse(rule).unwrap();
        let extraction = rule.read(text);
        (extraction.pick.map(str::to_owned), extraction.step)
    }

    fn pick(rule: &str, text: &str) -> String {
        read(rule, text).0.unwrap_or("-".to_owned())
    }

    #[test]
    fn a_pattern_takes_first_last_and_nth_match() {
        let text = "the answer is (A); the answer is (C); the answer is (d)";
        assert_eq!(pick(r"re:answer is \(?([A-J])", text), "A");
        assert_eq!(pick(r"re:answer is \(?([A-J])@last", text), "C");
        assert_eq!(pick(r"re:answer is \(?([A-J])@2", text), "C");
        assert_eq!(pick(r"re:answer is \(?([A-J])@-2", text), "A");
        assert_eq!(pick(r"re:answer is \(?([A-J])@3", text), "-");
        assert_eq!(
            pick(r"re:(?i)answer is \(?([A-J])@3", text),
            "D",
            "a lone lower-case letter is that option"
        );
    }

    #[test]
    fn a_pattern_without_a_group_picks_its_whole_match_and_an_empty_group_is_passed_over() {
        assert_eq!(pick(r"re:\b[A-J]\b@last", "B or C?"), "C");
        assert_eq!(pick(r"re:(X)?option ([A-J])", "option E"), "E");
    }

    #[test]
    fn look_around_works_and_is_flagged_at_its_step_limit() {
        assert_eq!(pick(r"re:(?<=answer )\b[A-J]\b(?!\.)", "answer A. answer B"), "B");
        let rule = Rule::parse(r"re:^(\w+\s?)*\1$(?!x)").unwrap();
        let text = "aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa !";
        let extraction = rule.read(text);
        assert_eq!((extraction.pick, extraction.flag), (None, Some(FLAG_LIMIT)));
    }

    #[test]
    fn a_fallback_is_read_where_the_first_rule_reads_nothing() {
        let rule = r"re:boxed\{([A-J])\} ?? tiger_chain ?? =A";
        assert_eq!(read(rule, r"\boxed{C}").0.as_deref(), Some("C"));
        assert_eq!(read(rule, "Answer: D"), (Some("D".to_owned()), 2));
        assert_eq!(read(rule, "no idea"), (Some("A".to_owned()), 3));
    }

    #[test]
    fn thinking_is_left_out_when_asked_and_the_match_is_found_in_the_whole_text() {
        let text = "<think>the answer is (A)?</think>\n\nThe answer is (C).";
        assert_eq!(pick("lm_eval_mmlu_pro", text), "A");
        let rule = Rule::parse("think:lm_eval_mmlu_pro").unwrap();
        let found = rule.read(text).found.unwrap();
        assert_eq!((&text[found.whole], &text[found.letter]), ("answer is (C)", "C"));
        assert_eq!(
            pick("think:lm_eval_mmlu_pro", "the answer is (B)"),
            "B",
            "never thought: the whole text"
        );
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let error = Rule::parse("lm_eval").unwrap_err().to_string();
        assert!(error.contains("`lm_eval`") && error.contains("tiger_chain"), "{error}");
        assert!(Rule::parse("lm_eval_mmlu_pro ?? nope").is_err());
    }

    #[test]
    fn a_pattern_that_is_none_is_refused_with_the_place() {
        let error = Rule::parse("re:answer (is").unwrap_err().to_string();
        assert!(
            error.contains("unclosed group") && error.contains("character 8"),
            "{error}"
        );
        assert!(!error.contains('\n'), "{error}");
        assert!(Rule::parse(r"re:(?=[A-J]").is_err());
        assert!(Rule::parse("re:").is_err());
        assert!(Rule::parse("re:[A-J]@0").is_err());
    }

    #[test]
    fn the_api_chain_finds_its_match_in_the_text_with_the_stars() {
        let text = "The answer **is** **(C)**.";
        let rule = Rule::parse("tiger_api_chain").unwrap();
        let extraction = rule.read(text);
        let found = extraction.found.unwrap();
        assert_eq!((extraction.pick, extraction.step), (Some("C"), 1));
        assert_eq!((&text[found.whole], &text[found.letter]), ("answer **is** **(C)", "C"));
    }

    #[test]
    fn every_listed_name_is_a_rule_and_stands_in_the_help() {
        let help = help();
        for name in names() {
            assert_eq!(Rule::parse(name).unwrap().name(), name);
            assert!(help.contains(&format!("  {name} ")), "{help}");
        }
    }

    #[test]
    fn the_rule_behind_a_stored_pick_is_named() {
        assert_eq!(rule_that_gives("Answer: D", None), Some("lm_eval_mmlu_pro"));
        assert_eq!(rule_that_gives("Answer: D", Some("D")), Some("tiger_chain"));
        assert_eq!(rule_that_gives("Answer: D", Some("G")), None);
    }
}
