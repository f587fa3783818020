//! Every foreign format.

use super::head::Head;
use super::layout::Sniffed;
use super::{
    Options, closed, cloze, deepeval, details, evalscope, helm, inspect, lighteval, lm_eval, olmes, openai_evals,
    opencompass, probs, promptfoo, simple_evals, tiger,
};

/// What `--map` does over a known format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MapUse {
    /// It says where some columns stand: a record is made of one object.
    Over,
    /// The rows are taken as a table of the mapped columns.
    Instead,
    Refused,
}

/// How a file is looked at.
#[derive(Debug, Clone, Copy)]
enum Sniff {
    Plain(fn(&Head) -> Option<Sniffed>),
    /// It hangs on what was asked for, too.
    Asked(fn(&Head, &Options) -> Option<Sniffed>),
}

/// A kind of file that can be opened.
#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    pub(super) map: MapUse,
    sniff: Sniff,
}

impl Format {
    /// What the file is, where it is of this kind.
    pub(super) fn sniff(&self, head: &Head, options: &Options) -> Option<Sniffed> {
        match self.sniff {
            Sniff::Plain(sniff) => sniff(head),
            Sniff::Asked(sniff) => sniff(head, options),
        }
    }
}

macro_rules! formats {
    ($($name:literal: $about:literal, $map:ident, $kind:ident($sniff:path);)*) => {
        /// Every foreign format, in the order in which a file is held against them. Our own run folders and parquet files are
        /// told before, tables that the user maps after.
        pub static ALL: &[Format] = &[$(Format {
            name: $name,
            about: $about,
            map: MapUse::$map,
            sniff: Sniff::$kind($sniff),
        },)*];
    };
}

formats! {
    "inspect": "Inspect logs (.eval, .json) of multiple-choice tasks", Over, Plain(inspect::sniff);
    "helm": "HELM scenario states (.json)", Refused, Plain(helm::sniff);
    "lighteval": "lighteval details, scored and generated, of today and before 0.10", Over, Plain(lighteval::sniff);
    "olmes": "OLMES predictions", Over, Plain(olmes::sniff);
    "evalscope": "evalscope reviews and predictions", Over, Plain(evalscope::sniff);
    "details": "the Details_*.parquet that publishers put beside their models", Over, Plain(details::sniff);
    "openai-evals": "event files of openai/evals", Instead, Plain(openai_evals::sniff);
    "simple-evals": "simple-evals results", Instead, Plain(simple_evals::sniff);
    "promptfoo": "promptfoo output", Instead, Plain(promptfoo::sniff);
    "deepeval": "deepeval test results and predictions", Instead, Plain(deepeval::sniff);
    "lm-eval": "lm-evaluation-harness samples, with their results beside", Over, Plain(lm_eval::sniff);
    "lm-eval-0.3": "lm-evaluation-harness 0.3 write-outs", Refused, Plain(lm_eval::write_out::sniff);
    "closed": "closed-answer tables: one row a question, with all its picks", Refused, Plain(closed::sniff);
    "mmlu-pro": "result lists of the MMLU-Pro authors", Over, Asked(tiger::sniff);
    "option-probs": "tables of option probabilities, one row a question", Refused, Plain(probs::sniff);
    "opencompass": "OpenCompass predictions, and results with details", Over, Plain(opencompass::sniff);
    "cloze": "tables of log-probabilities, one row an option", Refused, Plain(cloze::sniff);
}
