//! Scores, intervals and comparisons against the shared cases, the harness's own figures and a five-attempt trace.

use std::fs;

use markbook::compare::mcnemar_exact;
use markbook::diagnose::{Answer, Cause, describe_twins, diagnose, identical_attempts, text_hash};
use markbook::extract::Rule;
use markbook::extract::argmax::argmax_first;
use markbook::record::{Finish, INVALID, Record, letter};
use markbook::stats::{
    Slice, Tally, Vote, accuracy_with_random_fill, always, constant_pick, macro_mean, mean, mean_stderr, micro_mean,
    percent, pooled_stderr, sample_std,
};
use markbook::trace::{Rows, Trace};
use serde_json::Value;

use crate::{cases, shared};

/// A trace in memory: one row a pick, on as many questions, or on one question in as many attempts.
fn rows(picks: &[(&str, &str)], is_one_question: bool) -> Rows {
    let record = |(index, (pick, gold)): (usize, &(&str, &str))| Record {
        question_id: if is_one_question { 1 } else { index as i64 },
        attempt: if is_one_question { index as i64 } else { 0 },
        pick: (*pick).to_owned(),
        answer: (*gold).to_owned(),
        correct: pick == gold,
        options: vec![String::new(); 10],
        reasoning_chars: 1,
        ..Record::default()
    };
    Trace::from_records("test", "test", picks.iter().enumerate().map(record).collect()).rows
}

fn tally(n: &Value, correct: &Value) -> Tally {
    Tally {
        n: n.as_u64().unwrap() as usize,
        correct: correct.as_u64().unwrap() as usize,
        invalid: 0,
    }
}

fn close(found: Option<f64>, expected: &Value) -> bool {
    match (found, expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
        (found, expected) => found == expected,
    }
}

fn check_scores(case: &Value) {
    let (params, expected) = (&case["params"], &case["expected"]);
    let count = |name: &str| params[name].as_u64().unwrap() as usize;
    match case["rule"][0].as_str().unwrap() {
        "argmax_first" => {
            let number = |value: &Value| {
                value
                    .as_str()
                    .map_or_else(|| value.as_f64().unwrap(), |v| v.parse().unwrap())
            };
            let scores: Vec<f64> = params["lls"].as_array().unwrap().iter().map(number).collect();
            let pick = argmax_first(&scores).unwrap();
            assert_eq!(letter(pick).unwrap().to_string(), expected["pick"], "{case}");
            assert_eq!(
                scores.iter().any(|score| score.is_nan()),
                expected["flag"] == "nan",
                "{case}"
            );
            if let Some(acc) = expected["acc"].as_f64() {
                assert_eq!(f64::from(u8::from(pick == count("gold"))), acc, "{case}");
            }
        }
        "constant_pick" => {
            let mut picks = vec![("A", "A"); 3222];
            picks.resize(14042, ("A", "B"));
            let rows = rows(&picks, false);
            assert_eq!(constant_pick(Slice::all(&rows)), Some("A"));
            assert!(close(always(Slice::all(&rows), "A"), &expected["acc"]), "{case}");
        }
        "group_mean" => {
            let subjects: Vec<Tally> = (params["subjects"].as_array().unwrap().iter())
                .map(|subject| {
                    let n = subject[0].as_f64().unwrap();
                    Tally {
                        n: n as usize,
                        correct: (n * subject[1].as_f64().unwrap()).round() as usize,
                        invalid: 0,
                    }
                })
                .collect();
            assert!(close(micro_mean(&subjects), &expected["micro"]), "{case}");
            assert!(close(macro_mean(&subjects), &expected["macro"]), "{case}");
        }
        "mean_stderr" => {
            let tally = tally(&params["total"], &params["correct"]);
            assert!(
                close(tally.accuracy(), &expected["mean"]) && close(mean_stderr(tally), &expected["stderr"]),
                "{case}"
            );
        }
        "category_accuracy" => {
            let tally = tally(&params["total"], &params["correct"]);
            assert_eq!(percent(tally.accuracy()), expected["shown"].as_str().unwrap());
        }
        "summary" => {
            let tally = Tally {
                n: count("total"),
                correct: count("correct"),
                invalid: count("invalid"),
            };
            assert!(close(tally.accuracy(), &expected["accuracy"]), "{case}");
            assert!(close(tally.invalid_rate(), &expected["invalid"]), "{case}");
            assert!(
                close(tally.accuracy_of_valid(), &expected["accuracy_of_valid"]),
                "{case}"
            );
        }
        "tiger_random_fill" => {
            let mut picks = vec![("B", "B"); count("correct")];
            picks.resize(picks.len() + count("failed"), (INVALID, "B"));
            picks.resize(count("total"), ("A", "B"));
            let rows = rows(&picks, false);
            let correct = rows.correct.iter().filter(|correct| **correct).count();
            let strict = Tally {
                n: rows.len(),
                correct,
                invalid: 0,
            };
            assert!(close(strict.accuracy(), &expected["strict"]), "{case}");
            assert!(
                close(
                    accuracy_with_random_fill(Slice::all(&rows)),
                    &expected["expected_with_fill"]
                ),
                "{case}"
            );
        }
        "mcnemar_exact" => {
            let p = mcnemar_exact(count("only_a_right"), count("only_b_right"));
            assert!(close(Some(p), &expected["p"]), "{case}");
        }
        "gold" => {}
        other => panic!("no test for the rule {other} of {case}"),
    }
}

#[test]
fn every_scoring_case_gives_the_expected_figures() {
    cases("scoring.jsonl").iter().for_each(check_scores);
}

#[test]
fn seed_cases_are_counted_as_expected() {
    for case in cases("runs.jsonl") {
        let expected = &case["expected"];
        match case["rule"][0].as_str().unwrap() {
            "seed_check" => {
                let texts: Vec<&str> = case["outputs"]
                    .as_object()
                    .unwrap()
                    .values()
                    .filter_map(Value::as_str)
                    .collect();
                let rows = rows(&vec![("A", "A"); texts.len()], true);
                let hashes: Vec<u64> = texts.iter().map(|text| text_hash(text)).collect();
                let warnings = describe_twins(&identical_attempts(&rows, &hashes));
                assert_eq!(warnings.len(), 1, "{case}");
                assert!(
                    warnings[0].contains('5') && warnings[0].contains("sampling is off"),
                    "{warnings:?}"
                );
            }
            "seed_stats" => {
                let scores: Vec<f64> = case["scores"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_f64)
                    .collect();
                assert!(
                    close(mean(&scores), &expected["mean"]) && close(sample_std(&scores), &expected["std"]),
                    "{case}"
                );
            }
            "seed_table" => {
                let picks: Vec<(&str, &str)> = case["picks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|pick| (pick.as_str().unwrap(), "A"))
                    .collect();
                let rows = rows(&picks, true);
                let vote = Vote::of(&rows, 0..rows.len() as u32);
                let winner = vote.winner.map(|code| rows.pick.list()[code as usize].to_string());
                assert_eq!(winner.as_deref(), expected["majority"].as_str(), "{case}");
                assert_eq!(u64::from(vote.agree), expected["agree"].as_u64().unwrap(), "{case}");
            }
            "row_flags" => {
                let text = case["row"]["output"].as_str().unwrap();
                let finish = Finish::from_name(case["row"]["finish"].as_str().unwrap());
                let pick = Rule::default().read(text).pick.unwrap_or(INVALID).to_owned();
                assert_eq!(pick, expected["pick"].as_str().unwrap());
                let answer = Answer {
                    text,
                    pick: &pick,
                    finish,
                    ..Answer::default()
                };
                assert_eq!(diagnose(&Rule::default(), &answer).cause, Some(Cause::Cut), "{case}");
            }
            _ => {}
        }
    }
}

#[test]
fn group_errors_are_the_harnesss_own() {
    let Some(folder) = shared() else { return };
    for shots in [0, 5] {
        let name = format!("golden/lm_eval_mmlu/full_hashes_{shots}shot_alwaysA.json");
        let golden: Value = serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap();
        let leaf = |task: &Value| {
            let result = &golden["results"][task.as_str().unwrap()];
            let (n, accuracy) = (
                result["sample_len"].as_f64().unwrap(),
                result["acc,none"].as_f64().unwrap(),
            );
            let tally = Tally {
                n: n as usize,
                correct: (n * accuracy).round() as usize,
                invalid: 0,
            };
            assert!(close(mean_stderr(tally), &result["acc_stderr,none"]), "{result}");
            tally
        };
        let mut all = Vec::new();
        for group in golden["group_subtasks"]["mmlu"].as_array().unwrap() {
            let tasks = golden["group_subtasks"][group.as_str().unwrap()].as_array().unwrap();
            let tallies: Vec<Tally> = tasks.iter().map(leaf).collect();
            let expected = &golden["groups"][group.as_str().unwrap()];
            assert!(close(pooled_stderr(&tallies), &expected["acc_stderr,none"]), "{group}");
            assert!(close(micro_mean(&tallies), &expected["acc,none"]), "{group}");
            all.extend(tallies);
        }
        assert_eq!(all.len(), 57);
        assert!(close(pooled_stderr(&all), &golden["groups"]["mmlu"]["acc_stderr,none"]));
    }
}
