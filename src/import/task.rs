//! What a task's name says of its questions. `mmlu` and `mmlu_pro` are said only by those names with one of their own
//! subjects behind them, or with a sign that parts the two: MMLU-Redux, HellaSwag and others keep their own name.

use std::sync::LazyLock;

use regex::Regex;

use super::tiger;
use crate::benchmark::mmlu;

/// A benchmark and, where the name holds one, a subject of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Task {
    pub benchmark: String,
    pub subject: String,
}

impl Task {
    fn new(benchmark: &str, subject: &str) -> Task {
        let subject = if benchmark == "mmlu_pro" {
            subject.replace('_', " ")
        } else {
            subject.to_owned()
        };
        Task {
            benchmark: benchmark.to_owned(),
            subject,
        }
    }

    /// Reads a task's name as any of the tools writes it: `leaderboard|mmlu:anatomy|5`, `mmlu_anatomy:mc::olmes`,
    /// `hendrycksTest-anatomy`, `inspect_evals/mmlu_0_shot`, `mmlu:subject=anatomy,method=multiple_choice_joint,model=m`.
    pub fn named(name: &str) -> Task {
        if let Some(task) = with_arguments(name) {
            return task;
        }
        let name = name.rsplit('/').next().unwrap_or(name);
        let name = without_suite(name).split("::").next().unwrap_or_default();
        let name = METHODS
            .iter()
            .find_map(|method| name.strip_suffix(method))
            .unwrap_or(name);
        let parted = name.split_once(':').or_else(|| {
            let parted = name.split_once('.');
            parted.filter(|(benchmark, _)| own_name(&spelled(benchmark)).is_some())
        });
        if let Some((benchmark, subject)) = parted {
            let plain = spelled(benchmark);
            return Task::new(own_name(&plain).unwrap_or(benchmark), subject);
        }
        let plain = spelled(name);
        if let Some(subject) = plain.strip_prefix("hendryckstest_") {
            return Task::new("mmlu", subject);
        }
        if let Some(known) = own_name(&plain) {
            return Task::new(known, "");
        }
        let of = |known: &str| plain.strip_prefix(known)?.strip_prefix('_').map(str::to_owned);
        match (of("mmlu_pro"), of("mmlu")) {
            (Some(category), _) if tiger::is_category(&category.replace('_', " ")) => Task::new("mmlu_pro", &category),
            (_, Some(subject)) if mmlu::category_of(&subject).is_some() => Task::new("mmlu", &subject),
            _ => Task::new(name, ""),
        }
    }
}

/// Ends that say how a task's questions are put.
const METHODS: [&str; 7] = [":mc", ":rc", ":cot", ":gen", ":mc_none", ":bpb", ":rc_none"];

/// `mmlu_5_shot`, `mmlu__0_shot__cot` and `MMLU-Pro` are those sets.
fn own_name(name: &str) -> Option<&'static str> {
    static OWN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(mmlu|mmlu_pro)(?:_+(?:\d+_?shots?|cot|chat|instruct|all|test|val|validation|dev|default|main|en))*$",
        )
        .expect("a constant pattern")
    });
    let found = OWN.captures(name)?.get(1)?;
    Some(if found.as_str() == "mmlu" { "mmlu" } else { "mmlu_pro" })
}

fn spelled(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace(['-', ' '], "_")
}

/// `leaderboard|mmlu:anatomy|5` without the suite before and the number of shots behind.
fn without_suite(name: &str) -> &str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name.split('|').collect();
    let shown = match parts.as_slice() {
        [_, rest @ ..] if rest.len() > 1 => rest[0],
        [first, last] if !is_number(last) && !first.is_empty() => last,
        [first, ..] => first,
        [] => name,
    };
    match shown.rsplit_once("__") {
        Some((rest, shots)) if is_number(shots) => rest,
        _ => shown,
    }
}

/// HELM's run names: a scenario, then `key=value` parted by commas; as a folder the colon may be another sign.
fn with_arguments(name: &str) -> Option<Task> {
    let (head, rest) = name.split_once('=')?;
    let (scenario, first_key) = head.rsplit_once([':', '-', ','])?;
    let arguments = format!("{first_key}={rest}");
    let value = |wanted: &[&str]| {
        let pairs = arguments.split(',').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(key, _)| wanted.contains(key)).map(|(_, value)| value);
        found.next().unwrap_or_default()
    };
    let scenario = scenario.rsplit('/').next().unwrap_or(scenario);
    let benchmark = match value(&["dataset"]) {
        "" => scenario,
        dataset => dataset,
    };
    let known = spelled(benchmark);
    let benchmark = own_name(&known).unwrap_or(benchmark);
    let subject = value(&["subject", "subset", "task", "category"]);
    let subject = if subject == "all" { "" } else { subject };
    Some(Task::new(benchmark, subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_tool_say_benchmark_and_subject() {
        for (name, benchmark, subject) in [
            ("leaderboard|mmlu:things|5", "mmlu", "things"),
            ("leaderboard|mmlu:things", "mmlu", "things"),
            ("mmlu:things|0", "mmlu", "things"),
            ("mmlu_redux_2.0_anatomy", "mmlu_redux_2.0_anatomy", ""),
            ("harness|hendrycksTest-abstract_algebra|5", "mmlu", "abstract_algebra"),
            ("lighteval|agieval:lsat-ar|0", "agieval", "lsat-ar"),
            ("leaderboard|arc:challenge|25", "arc", "challenge"),
            ("hellaswag|10", "hellaswag", ""),
            ("mmlu_anatomy:mc::olmes", "mmlu", "anatomy"),
            ("arc_challenge:rc::olmes", "arc_challenge", ""),
            ("mmlu_pro_computer_science:cot::olmes", "mmlu_pro", "computer science"),
            ("mmlu_redux_anatomy", "mmlu_redux_anatomy", ""),
            ("mmlu_pro_plus_chemistry", "mmlu_pro_plus_chemistry", ""),
            ("mmlu_chat.things", "mmlu", "things"),
            ("mmlu__0_shot__cot", "mmlu", ""),
            ("mmlu_pro__5_shot__cot", "mmlu_pro", ""),
            ("inspect_evals/mmlu_0_shot", "mmlu", ""),
            ("MMLU-Pro", "mmlu_pro", ""),
            ("metals", "metals", ""),
            (
                "commonsense-dataset=hellaswag,method=multiple_choice_joint,model=openai_some",
                "hellaswag",
                "",
            ),
            (
                "mmlu:subject=philosophy,method=multiple_choice_joint,model=openai_gpt2",
                "mmlu",
                "philosophy",
            ),
            ("mmlu_pro:subset=all,model=a", "mmlu_pro", ""),
            ("legalbench:subset=abercrombie,model=a", "legalbench", "abercrombie"),
            ("narrative_qa-model=openai_gpt2", "narrative_qa", ""),
            ("", "", ""),
        ] {
            let task = Task::named(name);
            assert_eq!(
                (task.benchmark.as_str(), task.subject.as_str()),
                (benchmark, subject),
                "{name}"
            );
        }
    }
}
