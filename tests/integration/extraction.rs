//! Extraction rules against the shared cases and the published traces.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use markbook::check::check;
use markbook::diagnose::{Answer, Cause, Mark, diagnose};
use markbook::extract::{Rule, exact_match, postprocess};
use markbook::record::{INVALID, Record};
use markbook::trace::Trace;
use proptest::prelude::*;
use serde_json::Value;

use crate::{cases, shared};

/// The text of a case as its rules see it.
fn text_of(case: &Value) -> String {
    if let Some(recipe) = case.get("gen") {
        let times = recipe["times"].as_u64().unwrap() as usize;
        return recipe["repeat"].as_str().unwrap().repeat(times) + recipe["then"].as_str().unwrap_or_default();
    }
    let text = case["text"].as_str().unwrap_or_default();
    let Some(params) = case.get("params") else {
        return text.to_owned();
    };
    let stops: Vec<&str> = params["stop"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stop| stop.as_str().unwrap())
        .collect();
    postprocess(text, params["think_end"].as_str(), &stops).to_owned()
}

#[test]
fn every_extraction_case_gives_the_pick_that_python_gives() {
    for case in cases("extraction.jsonl") {
        let (id, expected) = (&case["id"], &case["expected"]);
        let text = text_of(&case);
        if let Some(after) = expected.get("text_after") {
            assert_eq!(text, after.as_str().unwrap(), "{id}");
        }
        let pick = |rule: &str| {
            let rule = Rule::parse(rule).unwrap();
            let extraction = rule.read(&text);
            (extraction.pick.map(str::to_owned), u64::from(extraction.step))
        };
        for (rule, step) in [
            ("lm_eval_mmlu_pro", ""),
            ("tiger_chain", "tiger_step"),
            ("tiger_api_chain", "tiger_api_step"),
            ("tiger_final_old", ""),
        ] {
            let Some(letter) = expected.get(rule) else { continue };
            let letter = letter.as_str().filter(|letter| *letter != INVALID);
            assert_eq!(pick(rule).0.as_deref(), letter, "{id} {rule}");
            if let Some(step) = expected.get(step) {
                assert_eq!(pick(rule).1, step.as_u64().unwrap(), "{id} {rule}");
            }
        }
        if let Some(lit) = case.get("match") {
            let rule = Rule::default();
            let found = rule.read(&text).found.unwrap();
            assert_eq!(&text[found.whole], lit.as_str().unwrap(), "{id}");
        }
        if let Some(score) = expected.get("exact_match") {
            let generative = expected
                .get("pick")
                .map(|_| pick("lm_eval_mmlu_generative").0.unwrap_or_default());
            if let Some(first_line) = &generative {
                assert_eq!(first_line, expected["pick"].as_str().unwrap(), "{id}");
            }
            let is_right = exact_match(generative.as_deref().unwrap_or(&text), case["gold"].as_str().unwrap());
            assert_eq!(is_right, score.as_f64() == Some(1.0), "{id}");
        }
    }
}

#[test]
fn the_harness_filter_and_comparison_give_its_own_scores() {
    let Some(folder) = shared() else { return };
    let text = fs::read_to_string(folder.join("golden/lm_eval_mmlu_pro/exact_match_cases.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let rule = Rule::default();
    for case in golden["filter_then_exact_match"].as_array().unwrap() {
        let pick = rule.read(case["text"].as_str().unwrap()).pick.unwrap_or(INVALID);
        assert_eq!(pick, case["filtered"].as_str().unwrap(), "{case}");
        for (gold, score) in case["exact_match"].as_object().unwrap() {
            assert_eq!(exact_match(pick, gold), score.as_f64() == Some(1.0), "{case} {gold}");
        }
    }
    for case in golden["exact_match_ignore_case_ignore_punctuation"].as_array().unwrap() {
        let is_match = exact_match(
            case["prediction"].as_str().unwrap(),
            case["reference"].as_str().unwrap(),
        );
        assert_eq!(is_match, case["exact_match"].as_f64() == Some(1.0), "{case}");
    }
}

/// Files of the MMLU-Pro authors' form: a JSON array, zipped, in zstd or plain.
fn read_array(path: &Path) -> Vec<Value> {
    let bytes = fs::read(path).unwrap();
    let text = match path.extension().and_then(|extension| extension.to_str()) {
        Some("zip") => {
            let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
            let mut text = Vec::new();
            archive.by_index(0).unwrap().read_to_end(&mut text).unwrap();
            text
        }
        Some("zst") => zstd::decode_all(&bytes[..]).unwrap(),
        _ => bytes,
    };
    serde_json::from_slice(&text).unwrap()
}

fn trace_files(folder: &Path) -> Vec<(PathBuf, Value)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let stem = name.split(".json").next().unwrap().trim_end_matches(".zip");
        let expected = folder.join(format!("{stem}.expected.json"));
        if path != expected && expected.is_file() {
            files.push((
                path,
                serde_json::from_str(&fs::read_to_string(expected).unwrap()).unwrap(),
            ));
        }
    }
    files
}

#[test]
fn published_traces_are_read_row_by_row_as_python_reads_them() {
    let Some(folder) = shared() else { return };
    let (mut files, mut reading) = (0, Duration::ZERO);
    for group in ["tiger", "tiger-old", "thinking"] {
        for (path, expected) in trace_files(&folder.join("data/traces").join(group)) {
            let rows = read_array(&path);
            let rows: Vec<&Value> = rows.iter().filter(|row| row.is_object()).collect();
            for (rule, column) in [("lm_eval_mmlu_pro", "lm_picks"), ("tiger_chain", "tiger_picks")] {
                let rule = Rule::parse(rule).unwrap();
                let begun = Instant::now();
                let picks: String = rows
                    .iter()
                    .map(|row| rule.read(output(row)).pick.unwrap_or("-"))
                    .collect();
                reading += begun.elapsed();
                let golden = expected[column].as_str().unwrap();
                let differing = picks
                    .chars()
                    .zip(golden.chars())
                    .position(|(ours, theirs)| ours != theirs);
                assert_eq!(
                    (differing, picks.len()),
                    (None, golden.len()),
                    "{} {rule}",
                    path.display()
                );
            }
            files += 1;
        }
    }
    assert_eq!(files, 14);
    println!("{files} files read by two rules in {reading:?}");
}

fn output(row: &Value) -> &str {
    ["generated_text", "model_outputs", "model_output", "response", "output"]
        .iter()
        .find_map(|key| row.get(*key).and_then(Value::as_str))
        .unwrap_or_default()
}

/// Pieces that the rules look for, so that random texts reach all their branches.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("answer is ".to_owned()),
        Just("nswer:".to_owned()),
        Just("Answer: \n".to_owned()),
        Just("**".to_owned()),
        Just("</think>".to_owned()),
        "[A-J()*_ \\n]{0,3}",
        "\\PC{0,4}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_a_rule_panic_and_the_match_holds_the_pick(text in any_text()) {
        for name in markbook::extract::ALL.map(|known| known.name) {
            for name in [name.to_owned(), format!("think:{name}"), format!(r"re:\b([A-J])@last ?? {name}")] {
                let rule = Rule::parse(&name).unwrap();
                let extraction = rule.read(&text);
                if let (Some(pick), Some(found)) = (extraction.pick, &extraction.found) {
                    prop_assert_eq!(pick, &text[found.letter.clone()]);
                    prop_assert!(found.whole.start <= found.letter.start && found.letter.end <= found.whole.end);
                    prop_assert!(text.is_char_boundary(found.whole.end));
                    prop_assert!(rule.matches(&text).contains(found), "{} {:?}", name, text);
                }
            }
        }
    }

    /// The scans against the same rules as regular expressions (ASCII texts: there Rust and Python agree).
    #[test]
    fn the_scans_give_what_the_patterns_give(text in "(answer is |[aA]nswer:|[A-Ja-c(). \n*_]){0,40}") {
        let pick = |rule: &str| Rule::parse(rule).unwrap().read(&text).pick.map(str::to_owned);
        let pattern = r"re:answer is \(?([A-J])\)? ?? re:.*[aA]nswer:\s*([A-J]) ?? re:\b[A-J]\b@last";
        prop_assert_eq!(pick("tiger_chain"), pick(pattern));
        let older = r"re:answer is \(?([A-J])\)? ?? re:.*[aA]nswer:\s*([A-J]) ?? re:[A-J]@last";
        prop_assert_eq!(pick("tiger_chain_old"), pick(older));
        prop_assert_eq!(pick("tiger_final_old"), pick("re:[A-J]@last"));
        prop_assert_eq!(pick("lm_eval_mmlu_pro"), pick(r"re:answer is \(?([A-J])\)?"));
        let unstarred = text.replace("**", "");
        let chain = Rule::parse("tiger_chain").unwrap();
        prop_assert_eq!(pick("tiger_api_chain"), chain.read(&unstarred).pick.map(str::to_owned));
    }
}

/// Texts on which a rule that goes back for every place it tried would take days.
#[test]
fn long_texts_made_to_be_slow_are_read_to_their_end() {
    const LONG: usize = 4 << 20;
    for piece in [
        "answer is ",
        "answer:",
        "answer: ",
        "Answer:\n",
        " ",
        "\n",
        "a",
        "A ",
        "(",
        "**",
        "</think>",
        "é\u{1c}",
    ] {
        let filler = piece.repeat(LONG / piece.len());
        for text in [
            filler.clone(),
            format!("answer:{filler}"),
            format!("{filler}\nthe answer is (C)"),
        ] {
            for name in markbook::extract::ALL.map(|known| known.name) {
                for name in [name.to_owned(), format!("think:{name}")] {
                    let rule = Rule::parse(&name).unwrap();
                    let extraction = rule.read(&text);
                    if text.ends_with("(C)") && name == "lm_eval_mmlu_pro" {
                        assert_eq!(extraction.pick, Some("C"), "{piece:?}");
                    }
                    rule.matches(&text);
                }
            }
        }
    }
}

/// Cases of the reports that are a text and what a rule reads from it, with the cause where it reads nothing.
#[test]
fn texts_of_the_reports_are_read_and_explained() {
    for case in cases("reports.jsonl") {
        let (Some(text), Some(rules)) = (case["text"].as_str(), case["rule"].as_array()) else {
            continue;
        };
        let expected = &case["expected"];
        let rule = Rule::parse(rules[0].as_str().unwrap()).unwrap();
        let pick = rule.read(text).pick.unwrap_or(INVALID);
        let wanted = expected.get("pick").or_else(|| expected.get(rule.name()));
        assert_eq!(Some(pick), wanted.and_then(Value::as_str), "{case}");
        let answer = Answer {
            text,
            pick,
            options: case["options"].as_u64().unwrap_or(10) as usize,
            ..Answer::default()
        };
        let diagnosis = diagnose(&rule, &answer);
        if let Some(why) = expected["why"].as_str() {
            assert_eq!(diagnosis.cause.map(Cause::name), Some(why), "{case}");
        }
        if let Some(said) = expected["only_final_channel"].as_str() {
            let rule = Rule::parse(&format!("final:{}", rule.name())).unwrap();
            assert_eq!(rule.read(text).pick, Some(said), "{case}");
            assert!(diagnosis.marks.has(Mark::Thought), "{case}");
            let record = Record {
                reasoning: text.to_owned(),
                reasoning_chars: text.chars().count() as i64,
                pick: pick.to_owned(),
                answer: said.to_owned(),
                ..Record::default()
            };
            let problems = check(&[Trace::from_records("m", "test", vec![record])], &[]).unwrap();
            let told = problems.iter().find(|problem| problem.kind == "thought_picks").unwrap();
            assert!(told.detail.contains("in the analysis channel"), "{}", told.detail);
        }
    }
}
