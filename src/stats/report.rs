//! The figures of traces as `stats --json` and `run --json` print them. Fractions lie in 0-1; unknown is null.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{
    Attempts, Grouped, Interval, IntervalKind, Jitter, Labels, Letters, Oddness, Questions, Slice, Sum, Votes,
    accuracy_with_random_fill, by_attempt, harness_stderr, jitter, letters::constant_pick_warning, mean,
};
use crate::manifest::Timing;
use crate::trace::{Names, Trace};

#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub runs: Vec<RunReport>,
}

/// One benchmark of one trace.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    pub benchmark: Option<String>,
    pub model: String,
    pub path: Option<String>,
    pub n: usize,
    pub questions: usize,
    pub correct: usize,
    pub accuracy: Option<f64>,
    pub invalid: usize,
    /// With one attempt a question the harness's; with several that of the interval, clustered over questions.
    pub stderr: Option<f64>,
    pub stderr_kind: StderrKind,
    /// The harness's: pooled over subjects, null where one has a single row. It takes attempts for independent rows.
    pub harness_stderr: Option<f64>,
    /// Cluster-robust over questions, also where it is less than that of independent rows; null for one question.
    pub clustered_stderr: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    pub ci_kind: Option<IntervalKind>,
    #[serde(serialize_with = "as_map")]
    pub categories: Vec<(String, GroupReport)>,
    #[serde(serialize_with = "as_map")]
    pub subjects: Vec<(String, GroupReport)>,
    /// By seed where every row tells its own, else by `attempt 0`, ... or `epoch 1`, ...
    #[serde(serialize_with = "as_map")]
    pub seeds: Vec<(String, SeedReport)>,
    /// What tells attempts apart.
    pub attempts_by: AttemptsBy,
    pub seed_mean: Option<f64>,
    pub seed_std: Option<f64>,
    /// The standard deviation that chance alone makes expect of the attempts' accuracies; null without sampling.
    pub seed_std_expected: Option<f64>,
    /// Variance of one attempt at a question, mean over questions; null with one attempt each.
    pub within: Option<f64>,
    /// `too_even` or `too_uneven`: the attempts do not differ as chance alone makes them (p < 0.001).
    pub seeds_odd: Option<Oddness>,
    /// Share of questions whose vote is right: the pick given more often than every other; null with one attempt each.
    pub vote: Option<f64>,
    /// Questions whose most frequent picks are several: their vote is none.
    pub ties: Option<usize>,
    /// Share of questions whose right pick was given by more than half of the attempts; null with one attempt each.
    pub majority: Option<f64>,
    /// Share of questions with at least one right attempt; null with one attempt each.
    pub any: Option<f64>,
    /// Mean over categories that have rows, each weighing the same; and how many they are.
    pub macro_accuracy: Option<f64>,
    pub macro_categories: usize,
    pub accuracy_of_valid: Option<f64>,
    /// Expected, if invalid rows were given a random option; no draw is made.
    pub accuracy_with_random_fill: Option<f64>,
    #[serde(serialize_with = "as_letters")]
    pub letters: Letters,
    /// The rule whose picks are counted; null: as stored.
    pub rule: Option<String>,
    /// Rows that carry each flag: `truncated`, `nan`, ...
    pub flags: BTreeMap<String, usize>,
    /// sha256 over content and order of the questions; of our own runs.
    pub fingerprint: Option<String>,
    pub warnings: Vec<String>,
    /// What a run of markbook took.
    pub timing: Option<Timing>,
}

/// What a standard error is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StderrKind {
    /// Subjects, pooled as the harness does.
    Pooled,
    /// Questions.
    Clustered,
}

/// What tells the attempts at a question apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptsBy {
    Seed,
    Attempt,
    /// Inspect's word; they count from 1.
    Epoch,
}

impl AttemptsBy {
    /// A seed, or the attempt of that number.
    pub fn label(self, number: i64) -> String {
        match self {
            AttemptsBy::Seed => number.to_string(),
            AttemptsBy::Attempt => format!("attempt {number}"),
            AttemptsBy::Epoch => format!("epoch {}", number + 1),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct GroupReport {
    pub n: usize,
    pub correct: usize,
    pub accuracy: Option<f64>,
    pub invalid: usize,
    pub ci95: Option<[f64; 2]>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SeedReport {
    pub n: usize,
    pub correct: usize,
    pub accuracy: Option<f64>,
    pub invalid: usize,
}

/// The figures of a trace, or of some of its rows: an entry for each benchmark that is in.
pub fn report(trace: &Trace, picked: Option<&[u32]>) -> Vec<RunReport> {
    let slice = Slice {
        rows: &trace.rows,
        picked,
    };
    let names = &trace.rows.benchmark;
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); names.list().len()];
    for row in slice.iter() {
        parts[names.code(row) as usize].push(row as u32);
    }
    let parts: Vec<Vec<u32>> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.len() {
        0 | 1 => vec![run_report(trace, slice)],
        _ => parts
            .iter()
            .map(|part| run_report(trace, Slice::of(&trace.rows, part)))
            .collect(),
    }
}

fn run_report(trace: &Trace, slice: Slice) -> RunReport {
    let rows = &trace.rows;
    let questions = Questions::of(slice);
    let by = |names: &Names| {
        let groups = questions.group(
            slice,
            |row| names.code(row),
            |code| names.list()[code as usize].to_string(),
        );
        (group_reports(&groups), groups)
    };
    let (categories, by_category) = by(&rows.category);
    let all = by_category.total;
    let votes = Votes::of(slice, &questions);
    let attempts = by_attempt(slice);
    let attempts_by = attempts_by(trace, &attempts);
    let (seed_mean, seed_std) = attempts.spread();
    let jitter = Jitter::of(slice, &questions, &attempts);
    let interval = all.interval();
    let harness_stderr = harness_stderr(slice);
    let (stderr, stderr_kind) = if all.has_repeats() {
        (all.stderr(), StderrKind::Clustered)
    } else {
        (harness_stderr, StderrKind::Pooled)
    };
    let first = slice.iter().next();
    RunReport {
        benchmark: first
            .map(|row| rows.benchmark.get(row).to_owned())
            .filter(|name| !name.is_empty()),
        model: model_name(trace),
        path: trace.path.as_ref().map(|path| path.display().to_string()),
        n: all.rows(),
        questions: questions.len(),
        correct: all.tally.correct,
        accuracy: all.accuracy(),
        invalid: all.tally.invalid,
        stderr,
        stderr_kind,
        harness_stderr,
        clustered_stderr: all.clustered_stderr(),
        ci95: interval.map(limits),
        ci_kind: interval.map(|interval| interval.kind),
        macro_accuracy: mean(&by_category.accuracies()),
        macro_categories: by_category.len(),
        categories,
        subjects: by(&rows.subject).0,
        seeds: seed_reports(&attempts, attempts_by),
        attempts_by,
        seed_mean,
        seed_std,
        seed_std_expected: jitter.map(|jitter| jitter.expected),
        within: jitter
            .map(|jitter| jitter.within)
            .or_else(|| jitter::within(slice, &questions)),
        seeds_odd: jitter.and_then(|jitter| jitter.oddness()),
        vote: votes.share(votes.vote),
        ties: (votes.attempts > 1).then_some(votes.ties),
        majority: votes.share(votes.majority),
        any: votes.share(votes.any),
        accuracy_of_valid: all.tally.accuracy_of_valid(),
        accuracy_with_random_fill: accuracy_with_random_fill(slice),
        letters: Letters::of(rows, slice.iter()),
        rule: trace.rule.clone().or_else(|| own_rule(trace)),
        flags: flags(slice),
        fingerprint: trace
            .ours()
            .map(|run| run.settings.data.fingerprint.clone())
            .filter(|fingerprint| !fingerprint.is_empty()),
        warnings: constant_pick_warning(slice)
            .into_iter()
            .chain(jitter.and_then(|jitter| Some(format!("the attempts are {}", jitter.oddness()?.text()))))
            .collect(),
        timing: trace.ours().map(|run| run.timing),
    }
}

fn attempts_by(trace: &Trace, attempts: &Attempts) -> AttemptsBy {
    match attempts.labels {
        Labels::Seeds => AttemptsBy::Seed,
        Labels::Attempts if trace.counts_epochs() => AttemptsBy::Epoch,
        Labels::Attempts => AttemptsBy::Attempt,
    }
}

/// The manifest's `model` (a name, or an object with `id` or `name`), else the trace's name.
fn model_name(trace: &Trace) -> String {
    let Some(manifest) = &trace.manifest else {
        return trace.name.clone();
    };
    if let Some(run) = manifest.ours() {
        return run.settings.model.name.clone();
    }
    let model = manifest.told("model").unwrap_or(&serde_json::Value::Null);
    let named = model.as_str().or(model["id"].as_str()).or(model["name"].as_str());
    named.unwrap_or(&trace.name).to_owned()
}

/// The rule that a run of ours was read by.
fn own_rule(trace: &Trace) -> Option<String> {
    Some(trace.ours()?.settings.rule.clone())
}

/// The reasons of failed rows stand among their flags and are no kinds of their own.
fn flags(slice: Slice) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for row in slice.iter() {
        let flags = slice.rows.flags.get(row);
        for flag in flags
            .split(',')
            .filter(|flag| !flag.is_empty() && !flag.starts_with("reason: "))
        {
            *counts.entry(flag.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn limits(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn group_reports(groups: &Grouped<String>) -> Vec<(String, GroupReport)> {
    let report = |sum: &Sum| GroupReport {
        n: sum.rows(),
        correct: sum.tally.correct,
        accuracy: sum.accuracy(),
        invalid: sum.tally.invalid,
        ci95: sum.interval().map(limits),
    };
    groups.iter().map(|(name, sum)| (name.clone(), report(sum))).collect()
}

fn seed_reports(attempts: &Attempts, by: AttemptsBy) -> Vec<(String, SeedReport)> {
    let report = |sum: &Sum| SeedReport {
        n: sum.rows(),
        correct: sum.tally.correct,
        accuracy: sum.accuracy(),
        invalid: sum.tally.invalid,
    };
    let sums = attempts.sums.iter();
    sums.map(|(number, sum)| (by.label(*number), report(sum))).collect()
}

fn as_map<S: Serializer, T: Serialize>(pairs: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// `{"picks":{"A":1},"gold":{"B":2}}`: letters that occur.
fn as_letters<S: Serializer>(letters: &Letters, serializer: S) -> Result<S::Ok, S::Error> {
    let counts = |counts: &[usize; 26]| {
        let used = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        used.filter_map(|(index, count)| Some((crate::record::letter(index)?.to_string(), serde_json::json!(count))))
            .collect::<serde_json::Map<_, _>>()
    };
    serde_json::json!({ "picks": counts(&letters.picks), "gold": counts(&letters.gold) }).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{INVALID, Record};

    fn record(id: i64, attempt: i64, benchmark: &str, pick: &str) -> Record {
        Record {
            question_id: id,
            attempt,
            seed: Some(42 + attempt),
            benchmark: benchmark.to_owned(),
            category: "law".to_owned(),
            pick: pick.to_owned(),
            answer: "B".to_owned(),
            correct: pick == "B",
            ..Record::default()
        }
    }

    #[test]
    fn a_report_has_the_documented_shape() {
        let picks = [("B", "B"), ("A", "B"), (INVALID, "C")];
        let records = picks.iter().enumerate().flat_map(|(id, (one, two))| {
            [
                record(id as i64, 0, "mmlu_pro", one),
                record(id as i64, 1, "mmlu_pro", two),
            ]
        });
        let mut trace = Trace::from_records("tiny", "test", records.collect());
        let told = serde_json::json!({"model": {"id": "a/b"}});
        trace.manifest = Some(crate::trace::Provenance::Foreign(told));
        let json = serde_json::to_value(Report {
            runs: report(&trace, None),
        })
        .unwrap();
        let run = &json["runs"][0];
        assert_eq!((&run["benchmark"], &run["model"]), (&"mmlu_pro".into(), &"a/b".into()));
        assert_eq!(
            (run["n"].as_u64(), run["questions"].as_u64(), run["invalid"].as_u64()),
            (Some(6), Some(3), Some(1))
        );
        assert_eq!(
            (run["accuracy"].as_f64(), run["ci_kind"].as_str()),
            (Some(0.5), Some("clustered"))
        );
        assert_eq!(run["seeds"]["43"]["correct"], 2);
        assert_eq!(run["categories"]["law"]["n"], 6);
        assert_eq!(
            (run["majority"].as_f64(), run["any"].as_f64()),
            (Some(1.0 / 3.0), Some(2.0 / 3.0))
        );
        assert!(run["timing"].is_null());
        assert_eq!(run["letters"]["picks"]["B"], 3);
        assert_eq!(
            (&run["ties"], run["vote"].as_f64()),
            (&1.into(), Some(1.0 / 3.0)),
            "A and B once each are a tie"
        );
        assert_eq!(
            (run["stderr_kind"].as_str(), run["attempts_by"].as_str()),
            (Some("clustered"), Some("seed"))
        );
    }

    #[test]
    fn two_benchmarks_in_a_trace_are_two_entries_and_no_rows_are_one_with_nulls() {
        let trace = Trace::from_records(
            "both",
            "test",
            vec![record(1, 0, "mmlu", "A"), record(1, 0, "mmlu_pro", "B")],
        );
        let runs = report(&trace, None);
        assert_eq!(
            runs.iter().map(|run| run.benchmark.as_deref()).collect::<Vec<_>>(),
            [Some("mmlu"), Some("mmlu_pro")]
        );
        let none = serde_json::to_value(report(&trace, Some(&[]))).unwrap();
        assert_eq!(
            (&none[0]["accuracy"], &none[0]["ci95"]),
            (&serde_json::Value::Null, &serde_json::Value::Null)
        );
    }
}
