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

use MapUse::{Instead, Over, Refused};

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

const fn known(name: &'static str, about: &'static str, map: MapUse, sniff: fn(&Head) -> Option<Sniffed>) -> Format {
    Format {
        name,
        about,
        map,
        sniff: Sniff::Plain(sniff),
    }
}

/// Every foreign format, in the order in which a file is held against them. Our own run folders and parquet files are
/// told before, tables that the user maps after.
pub static ALL: &[Format] = &[
    known(
        "inspect",
        "Inspect logs (.eval, .json) of multiple-choice tasks",
        Over,
        inspect::sniff,
    ),
    known("helm", "HELM scenario states (.json)", Refused, helm::sniff),
    known(
        "lighteval",
        "lighteval details, scored and generated, of today and before 0.10",
        Over,
        lighteval::sniff,
    ),
    known("olmes", "OLMES predictions", Over, olmes::sniff),
    known("evalscope", "evalscope reviews and predictions", Over, evalscope::sniff),
    known(
        "details",
        "the Details_*.parquet that publishers put beside their models",
        Over,
        details::sniff,
    ),
    known(
        "openai-evals",
        "event files of openai/evals",
        Instead,
        openai_evals::sniff,
    ),
    known("simple-evals", "simple-evals results", Instead, simple_evals::sniff),
    known("promptfoo", "promptfoo output", Instead, promptfoo::sniff),
    known(
        "deepeval",
        "deepeval test results and predictions",
        Instead,
        deepeval::sniff,
    ),
    known(
        "lm-eval",
        "lm-evaluation-harness samples, with their results beside",
        Over,
        lm_eval::sniff,
    ),
    known(
        "lm-eval-0.3",
        "lm-evaluation-harness 0.3 write-outs",
        Refused,
        lm_eval::write_out::sniff,
    ),
    known(
        "closed",
        "closed-answer tables: one row a question, with all its picks",
        Refused,
        closed::sniff,
    ),
    Format {
        name: "mmlu-pro",
        about: "result lists of the MMLU-Pro authors",
        map: Over,
        sniff: Sniff::Asked(tiger::sniff),
    },
    known(
        "option-probs",
        "tables of option probabilities, one row a question",
        Refused,
        probs::sniff,
    ),
    known(
        "opencompass",
        "OpenCompass predictions, and results with details",
        Over,
        opencompass::sniff,
    ),
    known(
        "cloze",
        "tables of log-probabilities, one row an option",
        Refused,
        cloze::sniff,
    ),
];
