//! The harness's tasks as its files show them: one entry a family, found by the style that asks as they do.

use serde_json::{Value, json};

use crate::benchmark::Form;

/// A family of tasks, one a subject or one for all.
#[derive(Debug)]
pub(super) struct Kind {
    form: Form,
    styles: &'static [&'static str],
    /// A task's name; without `{subject}` one task asks all questions.
    name: &'static str,
    /// Whether a task has an alias, the subject.
    pub has_alias: bool,
    /// Whether each subject is a configuration of its data set; else a task takes its subject's rows of one.
    pub is_configured: bool,
    /// What a task does to the rows first.
    pub process_docs: Option<&'static str>,
    /// Whether its configuration lists the metrics.
    pub lists_metrics: bool,
    pub filter: &'static str,
    /// The filter's steps, where picks are read from texts.
    steps: Option<fn() -> Value>,
    /// What exact match passes over, in the order of the configuration.
    pub ignores: [&'static str; 2],
    /// Whether all settings of generation are handed over, or only those that are not the harness's defaults.
    pub hands_over_all: bool,
    /// What ends a generated text.
    pub stops: &'static [&'static str],
}

const MMLU: Kind = Kind {
    form: Form::Mmlu,
    styles: &["lm_eval"],
    name: "{benchmark}_{subject}",
    has_alias: true,
    is_configured: true,
    process_docs: None,
    lists_metrics: true,
    filter: "none",
    steps: None,
    ignores: ["ignore_case", "ignore_punctuation"],
    hands_over_all: true,
    stops: &["Question:"],
};

/// The families, and last what stands for the tasks of other styles and sets.
static ALL: &[Kind] = &[
    MMLU,
    Kind {
        styles: &["lm_eval_continuation"],
        name: "{benchmark}_{subject}_continuation",
        has_alias: false,
        lists_metrics: false,
        ..MMLU
    },
    Kind {
        styles: &["lm_eval_generative"],
        name: "{benchmark}_{subject}_generative",
        filter: "get_response",
        steps: Some(first_line),
        ignores: ["ignore_punctuation", "ignore_case"],
        hands_over_all: false,
        stops: &["</s>", "\n"],
        ..MMLU
    },
    Kind {
        form: Form::MmluPro,
        styles: &["lm_eval", "lm_eval_2.1"],
        is_configured: false,
        process_docs: Some("functools.partial(<function process_docs>, subject='{subject}')"),
        filter: "custom-extract",
        steps: Some(answer_is),
        ..MMLU
    },
    Kind {
        form: Form::MmluPro,
        styles: &["lm_eval_leaderboard"],
        name: "leaderboard_{benchmark}",
        has_alias: false,
        is_configured: false,
        ..MMLU
    },
    Kind {
        form: Form::Custom,
        styles: &[],
        filter: "custom-extract",
        ..MMLU
    },
];

fn first_line() -> Value {
    json!([
        { "function": "regex", "regex_pattern": "^(.*?)(?=\\n|$)" },
        { "function": "remove_whitespace" },
        { "function": "regex", "regex_pattern": "^(.*?)\\s*$" },
        { "function": "take_first" },
    ])
}

fn answer_is() -> Value {
    json!([
        { "function": "regex", "regex_pattern": "answer is \\(?([ABCDEFGHIJ])\\)?" },
        { "function": "take_first" },
    ])
}

impl Kind {
    /// The family of a style.
    pub fn of(form: Form, style: &str) -> &'static Kind {
        let is_own = |kind: &&Kind| kind.form == form && kind.styles.contains(&style);
        ALL.iter().find(is_own).unwrap_or(&ALL[ALL.len() - 1])
    }

    /// The family whose rows look so, of a trace that does not tell its style.
    pub fn like(form: Form, is_cloze: bool, scores_texts: bool) -> &'static Kind {
        let style = match (form, is_cloze, scores_texts) {
            (Form::Mmlu, true, true) => "lm_eval_continuation",
            (Form::Mmlu, false, _) => "lm_eval_generative",
            (Form::MmluPro, true, _) => "lm_eval_leaderboard",
            _ => "lm_eval",
        };
        Kind::of(form, style)
    }

    pub fn is_one_task(&self) -> bool {
        !self.name.contains("{subject}")
    }

    /// A task's name; a set without subjects is one task.
    pub fn task_name(&self, benchmark: &str, subject: &str) -> String {
        let name = if subject.is_empty() {
            self.name.replace("_{subject}", "")
        } else {
            self.name.replace("{subject}", subject)
        };
        name.replace("{benchmark}", benchmark)
    }

    /// What the names of the family's tasks and groups end with.
    pub fn suffix(&self) -> &'static str {
        self.name.rsplit('}').next().unwrap_or_default()
    }

    /// How picks are got, as the configuration lists it: the harness's own steps, or the name of another rule.
    pub fn filter_list(&self, rule: &Value) -> Value {
        let steps = match self.steps {
            Some(steps) if self.rules().contains(&rule.as_str().unwrap_or_default()) => steps(),
            _ => json!([{ "function": rule }]),
        };
        json!([{ "name": self.filter, "filter": steps }])
    }

    /// The rules that the steps are.
    fn rules(&self) -> &'static [&'static str] {
        match self.filter {
            "get_response" => &["lm_eval_mmlu_generative"],
            _ => &["lm_eval_mmlu_pro"],
        }
    }
}
