//! The statistics against the golden values of the shared data: numbers within 1e-9, chances within 1e-6 of themselves.

use markbook::baseline::judge;
use markbook::compare::{Paired, Right, Spread, mcnemar_exact, mcnemar_mid_p, power_exact, power_normal};
use markbook::stats::{self, Clusters, Interval, Jitter, jitter};
use serde_json::Value;

use crate::shared_path;

pub fn golden(name: &str) -> Option<Value> {
    let path = shared_path(&format!("golden/stats/{name}.json"))?;
    Some(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
}

#[track_caller]
pub fn near(found: f64, known: &Value) {
    let known = known.as_f64().unwrap_or_else(|| panic!("{known} is no number"));
    assert!((found - known).abs() < 1e-9, "{found} is not {known}");
}

#[track_caller]
pub fn chance(found: f64, known: &Value) {
    let known = known.as_f64().unwrap();
    assert!((found / known - 1.0).abs() < 1e-6, "{found} is not {known}");
}

#[track_caller]
fn limits(found: Interval, known: &Value) {
    near(found.low, &known[0]);
    near(found.high, &known[1]);
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn count(value: &Value, name: &str) -> usize {
    value[name].as_u64().unwrap() as usize
}

fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().filter_map(Value::as_f64).collect()
}

fn accuracy(correct: usize, n: usize) -> (f64, Interval) {
    let mut clusters = Clusters::default();
    (0..n).for_each(|at| clusters.add(1, i64::from(at < correct)));
    (clusters.mean().unwrap(), clusters.interval().unwrap())
}

#[test]
fn accuracies_lie_where_wilson_puts_them() {
    let Some(golden) = golden("wilson") else { return };
    for case in list(&golden["rows"]).iter().chain(list(&golden["edges"])) {
        limits(accuracy(count(case, "correct"), count(case, "n")).1, &case["ci95"]);
    }
}

#[test]
fn paired_differences_have_the_adjusted_interval_and_both_tests() {
    let Some(golden) = golden("paired") else { return };
    for case in list(&golden["cases"]) {
        let (a, b) = (count(case, "a_only"), count(case, "b_only"));
        let paired = Paired::of_counts(a, b, count(case, "n"));
        near(paired.difference().unwrap(), &case["difference"]);
        limits(paired.interval().unwrap(), &case["bonett_price"]["ci95"]);
        chance(paired.p().0, &case["mcnemar_exact_p"]);
        chance(mcnemar_mid_p(a, b), &case["mcnemar_mid_p"]);
    }
}

fn right(attempts: &Value) -> Right {
    let correct = list(attempts).iter().filter(|outcome| **outcome == 1).count() as u32;
    Right {
        correct,
        attempts: list(attempts).len() as u32,
    }
}

fn paired(golden: &Value) -> Paired {
    let mut paired = Paired::default();
    for (a, b) in list(&golden["A"]).iter().zip(list(&golden["B"])) {
        paired.add(right(a), right(b));
    }
    paired
}

#[test]
fn several_attempts_are_counted_by_question() {
    let Some(golden) = golden("clustered") else { return };
    for (rows, known) in [("A", &golden["a"]), ("B", &golden["b"])] {
        let mut clusters = Clusters::default();
        let questions: Vec<Right> = list(&golden[rows]).iter().map(right).collect();
        questions
            .iter()
            .for_each(|own| clusters.add(own.attempts as usize, i64::from(own.correct)));
        near(clusters.mean().unwrap(), &known["mean"]);
        near(clusters.stderr().unwrap(), &known["stderr"]);
        let within = questions
            .iter()
            .filter_map(|own| jitter::within_of(own.correct as usize, own.attempts as usize));
        near(stats::mean(&within.collect::<Vec<_>>()).unwrap(), &known["within"]);
    }
    let both = paired(&golden);
    near(both.difference().unwrap(), &golden["difference"]["mean"]);
    near(both.stderr().unwrap(), &golden["difference"]["stderr"]);
    limits(both.interval().unwrap(), &golden["difference"]["ci95"]);
    let uneven = paired(&golden["uneven"]);
    near(uneven.difference().unwrap(), &golden["uneven"]["mean"]);
    near(uneven.stderr().unwrap(), &golden["uneven"]["stderr"]);
    let seeds = &golden["seeds_a"];
    let found = Jitter::new(
        golden["a"]["within"].as_f64().unwrap(),
        8,
        &numbers(&seeds["accuracies"]),
    )
    .unwrap();
    near(found.seen, &seeds["std"]);
    near(found.expected, &seeds["expected_std"]);
    near(found.chi_squared, &seeds["chi2"]);
    chance(found.below, &seeds["p_low"]);
    chance(found.above, &seeds["p_high"]);
}

#[test]
fn different_questions_and_numbers_without_rows_have_intervals_too() {
    let Some(golden) = golden("unpaired") else { return };
    for case in list(&golden["cases"]) {
        let [a, b] = [("x1", "n1"), ("x2", "n2")].map(|(x, n)| accuracy(count(case, x), count(case, n)));
        near(a.0 - b.0, &case["difference"]);
        limits(Interval::unpaired(a, b), &case["ci95"]);
    }
    for case in list(&golden["against_published"]) {
        let (ours, interval) = accuracy(count(case, "correct"), count(case, "n"));
        let published = case["published"].as_f64().unwrap();
        near(ours - published, &case["delta"]);
        let delta = interval.less(published);
        limits(delta, &case["ci95_delta"]);
        assert_eq!(delta.low <= 0.0 && 0.0 <= delta.high, case["inside"], "{case}");
    }
}

#[test]
fn many_tests_are_adjusted_for_how_many_they_are() {
    let Some(golden) = golden("multiple") else { return };
    for case in [&golden, &golden["with_ties"]] {
        let p = numbers(&case["p"]);
        for (found, known) in stats::holm(&p).iter().zip(list(&case["holm"])) {
            chance(*found, known);
        }
        for (found, known) in stats::benjamini_hochberg(&p).iter().zip(list(&case["bh"])) {
            chance(*found, known);
        }
    }
}

#[test]
fn a_plan_says_how_many_questions_it_takes() {
    let Some(golden) = golden("power") else { return };
    let number = |case: &Value, name: &str| case[name].as_f64().unwrap();
    for case in list(&golden["needed"]) {
        let (spread, difference) = (
            Spread::Discordant(number(case, "discordant")),
            number(case, "difference"),
        );
        assert_eq!(spread.needed(difference, 0.8), count(case, "detect"), "{case}");
        assert_eq!(
            spread.rules_out(difference, 0.8),
            count(case, "rule_out_if_equal"),
            "{case}"
        );
    }
    for case in list(&golden["mde"]) {
        let seen = Spread::Discordant(number(case, "discordant")).least_seen(count(case, "n"), 0.8);
        near(100.0 * seen, &case["mde_points"]);
    }
    for case in list(&golden["attempts"]) {
        let within = number(case, "sigma2_a") / number(case, "k_a") + number(case, "sigma2_b") / number(case, "k_b");
        let spread = Spread::Attempts {
            between: number(case, "omega2"),
            within,
        };
        assert_eq!(
            spread.needed(number(case, "difference"), 0.8),
            count(case, "n"),
            "{case}"
        );
    }
    for case in list(&golden["exact"]) {
        let (n, discordant, difference) = (count(case, "n"), number(case, "discordant"), number(case, "difference"));
        // The golden sum leaves out the rarest outcomes, up to 1.1e-9 of it: by the whole sum in exact binomials 0.578806213202
        // where it has 0.578806212158.
        let found = power_exact(n, discordant, difference);
        assert!((found - number(case, "power_exact")).abs() < 2e-9, "{found} {case}");
        near(power_normal(n, discordant, difference), &case["power_normal"]);
    }
}

#[test]
fn jitter_is_what_a_release_of_two_draws_implies() {
    let (Some(golden), Some(release)) = (golden("jitter"), golden("release")) else {
        return;
    };
    let within = count(&release, "scores_changed") as f64 / count(&release, "rows") as f64 / 2.0;
    near(within, &golden["within"]);
    near(
        jitter::std_of_one(within, count(&release, "questions")),
        &release["seed_std_expected"],
    );
    for row in list(&golden["rows"]) {
        let rows = count(row, "questions") * count(row, "attempts");
        near(jitter::std_of_one(within, rows), &row["std_of_one"]);
        near(jitter::std_of_one(2.0 * within, rows), &row["std_of_change"]);
        chance(jitter::false_alarm(within, rows, 0.02), &row["false_alarm_at_2_points"]);
        chance(
            2.0 * jitter::false_alarm(within, rows, 0.05),
            &row["either_way_5_points"],
        );
    }
}

#[test]
fn a_league_of_models_is_tested_pair_by_pair() {
    let Some(golden) = golden("leaderboard") else { return };
    let pairs = list(&golden["pairs"]);
    let found: Vec<f64> = pairs
        .iter()
        .map(|pair| mcnemar_exact(count(pair, "a_only"), count(pair, "b_only")))
        .collect();
    for ((found, adjusted), known) in found.iter().zip(stats::holm(&found)).zip(pairs) {
        chance(*found, &known["p"]);
        chance(adjusted, &known["holm"]);
    }
}

#[test]
fn a_two_way_layout_reads_its_chances_from_the_f_and_chi_squared_tails() {
    let Some(golden) = golden("spread") else { return };
    let known = &golden["expected"];
    let freedom = (
        known["cochran_df"].as_f64().unwrap(),
        known["cochran_q"].as_f64().unwrap(),
    );
    chance(stats::chi_squared(freedom.1, freedom.0).1, &known["cochran_p"]);
    for (part, upper) in [("opening", 3.0), ("format", 5.0), ("both", 15.0)] {
        let f = known["f"][part].as_f64().unwrap();
        chance(stats::f_above(f, (upper, 59.0 * 23.0)), &known["p"][part]);
    }
}

#[test]
fn gates_give_the_verdict_of_every_golden_case() {
    let Some(golden) = golden("gate") else { return };
    for case in list(&golden["cases"]) {
        let paired = Paired::of_counts(count(case, "new_only"), count(case, "baseline_only"), count(case, "n"));
        near(paired.difference().unwrap(), &case["change"]);
        let interval = paired.interval().unwrap();
        limits(interval, &case["ci95"]);
        chance(paired.p().0, &case["p"]);
        assert_eq!(judge(&paired, 0.02).word(), case["verdict"], "{case}");
        assert_eq!(
            (interval.high < 0.0, interval.low > 0.0),
            (case["is_worse"] == true, case["is_better"] == true)
        );
    }
}

#[test]
fn as_many_questions_as_a_plan_asks_for_show_the_difference_four_times_in_five() {
    let (questions, discordant, difference) = (Spread::Discordant(0.1).needed(0.02, 0.8), 0.1, 0.02);
    let mut state = 42_u64;
    let mut chance = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let found = (0..2000).filter(|_| {
        let (mut up, mut down) = (0, 0);
        for _ in 0..questions {
            match chance() {
                share if share < (discordant + difference) / 2.0 => up += 1,
                share if share < discordant => down += 1,
                _ => {}
            }
        }
        mcnemar_exact(up, down) <= 0.05
    });
    let power = found.count() as f64 / 2000.0;
    assert!((0.77..0.83).contains(&power), "{power}");
}
