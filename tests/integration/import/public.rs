//! Public files: every one opens with the counts that are known of it, or is refused in one line.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use markbook::benchmark::hash::hash_text;
use markbook::check::check;
use markbook::import::Options;
use markbook::record::INVALID;
use markbook::trace::Field;
use serde_json::Value;

use super::{counts, notice, open, open_one, open_with};

fn traces() -> Option<PathBuf> {
    crate::shared_path("data/traces")
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn number(value: &Value, path: &str) -> usize {
    value
        .pointer(path)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no number at {path}")) as usize
}

#[test]
fn result_lists_of_the_authors_open_with_their_stored_picks() {
    let Some(folder) = traces() else { return };
    let mut tried = 0;
    for part in ["tiger", "tiger-old", "thinking"] {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join(part))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for path in files {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with("expected.json") || name.contains("summary") {
                assert_eq!(open(&path).unwrap_err().to_string().lines().count(), 1, "{name}");
                continue;
            }
            let stem = name
                .trim_end_matches(".zst")
                .trim_end_matches(".zip")
                .trim_end_matches(".json");
            let expected = json(&path.with_file_name(format!("{stem}.expected.json")));
            let trace = open_one(&path);
            let stored = ["/rows", "/pred_field/correct", "/pred_field/null"].map(|at| number(&expected, at));
            assert_eq!(counts(&trace), (stored[0], stored[1], stored[2]), "{name}");
            assert_eq!(
                trace.rows.chars.iter().map(|chars| *chars as usize).sum::<usize>(),
                number(&expected, "/text_chars/sum")
            );
            let first: Vec<i64> = trace.rows.question_id.iter().take(5).copied().collect();
            assert_eq!(serde_json::json!(first), expected["first_question_ids"], "{name}");
            tried += 1;
        }
    }
    assert_eq!(tried, 14);
}

#[test]
fn picks_read_from_the_texts_are_those_of_the_reference_row_by_row() {
    let Some(folder) = traces() else { return };
    let path = folder.join("tiger/model_outputs_Qwen1.5-7B-Chat_5shots.zip");
    let expected = json(&folder.join("tiger/model_outputs_Qwen1.5-7B-Chat_5shots.expected.json"));
    let trace = open_one(&path);
    let rule = markbook::extract::Rule::parse("lm_eval_mmlu_pro").unwrap();
    let mut picks = String::new();
    let every = |_| true;
    trace
        .texts
        .scan(Field::Completion, &every, &mut |row, text| {
            assert_eq!(text.chars().count(), trace.rows.chars[row] as usize);
            picks.push_str(rule.read(text).pick.unwrap_or("-"));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(picks, expected["lm_picks"].as_str().unwrap());
}

#[test]
fn a_list_with_strings_among_its_rows_tells_them_and_what_is_missing() {
    let Some(folder) = traces() else { return };
    let trace = open_one(&folder.join("tiger/model_outputs_DeepSeek-Coder-V2_5shots.zip"));
    assert!(
        notice(&trace, "broken_row").starts_with("43 of 10,394 rows skipped"),
        "{:?}",
        trace.notices
    );
    assert!(notice(&trace, "broken_row").contains("and 23 more"));
    assert!(
        notice(&trace, "missing_rows").starts_with("1,681 of 12,032 questions"),
        "{:?}",
        trace.notices
    );
    assert_eq!(trace.name, "DeepSeek-Coder-V2");
    let aborted = open_one(&folder.join("thinking/qwen3-30b-a3b-bf16_cs_partial.json"));
    assert_eq!(
        notice(&aborted, "missing_rows"),
        "392 of 410 questions of computer science are not in this file"
    );
}

#[test]
fn samples_of_the_harness_open_with_their_scores() {
    let Some(folder) = traces() else { return };
    let folder = folder.join("lm_eval");
    let expected = json(&folder.join("expected.json"));
    for file in expected.as_array().unwrap() {
        let name = file["file"].as_str().unwrap();
        let trace = open_one(&folder.join(name));
        let right = file["exact_match_sum"].as_f64().unwrap() as usize;
        assert_eq!(
            counts(&trace),
            (number(file, "/rows"), right, number(file, "/invalid")),
            "{name}"
        );
        assert!(
            !trace
                .rows
                .flags
                .list()
                .iter()
                .any(|flags| flags.contains("score_differs")),
            "{name}"
        );
        for (row, target) in file["targets"].as_array().unwrap().iter().enumerate() {
            let record = trace.record(row).unwrap();
            assert_eq!(record.answer, target.as_str().unwrap(), "{name}");
            assert!(!record.prompt.is_empty() && !record.options.is_empty(), "{name}");
            assert_eq!(record.doc_hash.len(), 64);
        }
        let problems = check(&[trace], &[]).unwrap();
        assert!(
            !problems.iter().any(|problem| problem.kind == "hash_differs"),
            "{name}: {problems:?}"
        );
    }
    assert!(
        open(&folder.join("expected.json"))
            .unwrap_err()
            .to_string()
            .contains("expected")
    );
}

#[test]
fn generations_of_the_harness_are_named() {
    let Some(folder) = traces() else { return };
    let kind = |path: &str| open_one(&folder.join("lm_eval").join(path)).kind;
    let kt = kind("kt-gpt-4o/samples_leaderboard_mmlu_pro_2024-11-22T16-44-21.111622.jsonl");
    assert_eq!(kt, "lm-eval 0.4.3 to 0.4.6, generated answers, one filter, 10 rows");
    let exaone = kind("kt-exaone/samples_winogrande_2024-12-23T14-45-44.695233.jsonl");
    assert_eq!(
        exaone,
        "lm-eval 0.4.7 or later, generated answers, one filter (get-answer), 10 rows"
    );
    let pyfade = kind("pyfade-gemma3-12b-u2/samples_mmlu_pro_plus_health_2025-10-14T14-44-39.372006.jsonl");
    assert_eq!(
        pyfade,
        "lm-eval 0.4.9.1, generated answers, one filter (custom-extract), 3 rows"
    );
}

#[test]
fn a_folder_is_parted_into_its_runs() {
    let Some(folder) = traces() else { return };
    let pyfade = open(&folder.join("lm_eval/pyfade-gemma3-12b-u2")).unwrap();
    assert_eq!(pyfade.iter().map(counts).collect::<Vec<_>>(), [(9, 3, 1)]);
    assert_eq!(pyfade[0].name, "/workspace/gemma3_12b_u2");
    assert!(pyfade[0].kind.contains("3 tasks"), "{}", pyfade[0].kind);
    let told = notice(&pyfade[0], "sample_count");
    assert!(
        told.starts_with(
            "the results file tells of 1,400 samples, here are 9, and no samples of mmlu_pro_plus_biology (100)"
        ),
        "{told}"
    );
    let kt = open(&folder.join("lm_eval/kt-gpt-4o")).unwrap();
    let mut rows: Vec<usize> = kt.iter().map(|trace| trace.rows.len()).collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [10, 10, 10, 10, 20, 30, 30],
        "two gpqa tasks of one time stamp are one run"
    );
    assert_eq!(open(&folder.join("tiger")).unwrap().len(), 7);
    assert_eq!(open(&folder.join("tiger-old")).unwrap().len(), 3);
    assert_eq!(open(&folder.join("thinking")).unwrap().len(), 4);
    assert_eq!(open(&folder.join("helm")).unwrap().len(), 3);
    assert_eq!(open(&folder.join("cloze")).unwrap().len(), 4);
    let all = open(&folder).unwrap();
    assert!(all.len() > 20 && notice(&all[0], "skipped_file").contains("files were not opened"));
}

#[test]
fn inspect_logs_of_multiple_choice_open_and_others_are_refused() {
    let Some(folder) = traces() else { return };
    for name in ["mmlu-no-summary-choices.eval", "mmlu-summary-choices.eval"] {
        let trace = open_one(&folder.join("inspect").join(name));
        assert_eq!(counts(&trace), (1, 0, 0));
        let record = trace.record(0).unwrap();
        assert_eq!(
            (record.pick.as_str(), record.answer.as_str(), record.subject.as_str()),
            ("C", "A", "college_physics")
        );
        assert_eq!((record.reasoning.as_str(), record.options.len()), ("ANSWER: C", 4));
        assert!(record.prompt.ends_with("D) 13.6 eV"), "{}", record.prompt);
        assert_eq!(
            (trace.name.as_str(), record.benchmark.as_str()),
            ("openai/gpt-4o", "mmlu")
        );
    }
    for name in ["log_formats.eval", "log_formats.json", "log_read_sample.json"] {
        let error = open(&folder.join("inspect").join(name)).unwrap_err().to_string();
        assert!(
            error.contains("Inspect log of the task popularity") && error.contains("no options"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1);
    }
}

#[test]
fn an_inspect_answer_has_the_hash_of_its_mmlu_row() {
    let (Some(folder), Some(shared)) = (traces(), crate::shared()) else {
        return;
    };
    let source = markbook::benchmark::DataSource::parse(&shared.join("data").display().to_string()).unwrap();
    let benchmark = markbook::benchmark::find("mmlu").unwrap();
    let set = markbook::benchmark::load(benchmark, &source, "test").unwrap();
    let known: std::collections::HashSet<&str> = set
        .questions
        .iter()
        .map(|question| question.doc_hash.as_str())
        .collect();
    for path in [
        "inspect/mmlu-summary-choices.eval",
        "helm/meta_llama-3-70b_global_facts.json.zst",
    ] {
        let trace = open_one(&folder.join(path));
        let found = (0..trace.rows.len())
            .filter(|row| known.contains(trace.record(*row).unwrap().doc_hash.as_str()))
            .count();
        println!(
            "{path}: {found} of {} rows have the hash of a row of the set",
            trace.rows.len()
        );
        assert!(found * 10 >= trace.rows.len() * 9, "{path}: {found}");
    }
}

#[test]
fn helm_runs_open_with_the_picks_that_the_mapping_knows() {
    let Some(folder) = traces() else { return };
    for (name, invalid) in [
        ("anthropic_claude-3-opus-20240229_college_chemistry", 0),
        ("anthropic_claude-3-opus-20240229_global_facts", 0),
        ("meta_llama-3-70b_college_chemistry", 0),
        ("meta_llama-3-70b_global_facts", 0),
        ("openai_gpt-4-1106-preview_college_chemistry", 36),
        ("openai_gpt-4-1106-preview_global_facts", 2),
    ] {
        let trace = open_one(&folder.join(format!("helm/{name}.json.zst")));
        let (rows, right, without) = counts(&trace);
        assert_eq!((rows, without), (100, invalid), "{name}");
        assert!(right > 30, "{name}: {right}");
        assert!(
            trace
                .record(0)
                .unwrap()
                .prompt
                .contains("The following are multiple choice questions")
        );
    }
}

#[test]
fn cloze_tables_open_as_one_row_a_question() {
    let Some(folder) = traces() else { return };
    for name in [
        "abstract_algebra_cf_GPT2",
        "abstract_algebra_cloze_GPT2",
        "abstract_algebra_cloze_Gemma-7B",
        "abstract_algebra_cloze_LLaMa3-8B",
        "global_facts_cloze_GPT2",
        "global_facts_cloze_Gemma-7B",
        "global_facts_cloze_LLaMa3-8B",
    ] {
        let trace = open_one(&folder.join(format!("cloze/{name}.csv.zst")));
        let (rows, right, invalid) = counts(&trace);
        assert_eq!((rows, invalid), (100, 0), "{name}");
        assert!((10..70).contains(&right), "{name}: {right}");
        let record = trace.record(0).unwrap();
        assert_eq!(
            (record.options.len(), record.logprobs.as_ref().map(Vec::len)),
            (4, Some(4)),
            "{name}"
        );
        assert!(!record.question.contains("(A)"));
    }
    let record = open_one(&folder.join("cloze/abstract_algebra_cloze_GPT2.csv.zst"))
        .record(0)
        .unwrap();
    // By its hash: the set's own text stays out of the project.
    assert!(
        hash_text(&record.question).starts_with("77ac9a83a7b16e1d"),
        "{}",
        record.question
    );
    assert_eq!(record.options.len(), 4);
    assert_eq!((record.pick.as_str(), record.answer.as_str()), ("A", "B"));
    assert_eq!(record.logprobs, Some(vec![-1.375, -2.25, -3.0, -2.8125]));
}

#[test]
fn tables_of_other_columns_open_by_a_map_and_say_which_otherwise() {
    let Some(folder) = traces() else { return };
    let path = folder.join("other/resultados_zero_shot.parquet");
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("respuesta_llm, respuesta_extraida"), "{error}");
    assert!(
        error.contains("--map pick=respuesta_extraida,answer=respuesta_verdadera,reasoning=respuesta_llm"),
        "{error}"
    );
    let map = markbook::import::parse_map("pick=respuesta_extraida,answer=respuesta_verdadera,reasoning=respuesta_llm")
        .unwrap();
    let options = Options {
        map,
        ..Options::default()
    };
    let traces = open_with(&[&path], &options).unwrap();
    let (rows, right, invalid) = counts(&traces[0]);
    assert_eq!(rows, 500);
    assert!(right > 100 && invalid < 250, "{right} {invalid}");
    assert!(traces[0].record(0).unwrap().reasoning.starts_with("```json"));

    let path = folder.join("other/leveled_evaluation_full.json");
    let error = open(&path).unwrap_err().to_string();
    assert!(
        error.contains("--map pick=predicted_answer,answer=correct_answer,reasoning=response"),
        "{error}"
    );
    let map = markbook::import::parse_map("pick=predicted_answer,answer=correct_answer,reasoning=response").unwrap();
    let traces = open_with(
        &[&path],
        &Options {
            map,
            ..Options::default()
        },
    )
    .unwrap();
    assert_eq!(counts(&traces[0]).0, 100);
    assert!(
        !traces[0]
            .rows
            .flags
            .list()
            .iter()
            .any(|flags| flags.contains("score_differs"))
    );
}

#[test]
fn what_is_no_trace_is_refused_in_one_line_that_says_what_it_is() {
    let Some(folder) = traces() else { return };
    for (path, what) in [
        ("lm_eval/v0.3/llama-7B_mmlu_5-shot.json", "results of lm-eval"),
        ("lm_eval/v0.3/llama-30B_mmlu_5-shot.json", "results of lm-eval"),
        (
            "lm_eval/kt-gpt-4o/results_2024-11-22T16-44-21.111622.json",
            "results of lm-eval",
        ),
        (
            "lm_eval/pythia-14m/mmlu_stem_10_pythia-14m_float32_cpu.txt",
            "text table",
        ),
        ("tiger-old/gpt4o_history_summary.json", "summary"),
        ("tiger/model_outputs_Llama-2-7b-hf_5shots.expected.json", "expected"),
        ("../mmlu_pro/test.parquet", "questions without answers"),
        ("../mmlu/test.parquet", "questions without answers"),
        ("../CHECKS.md", "text"),
    ] {
        let error = open(&folder.join(path)).unwrap_err().to_string();
        assert!(error.contains(what) && error.lines().count() == 1, "{path}: {error}");
    }
}

#[test]
fn a_five_attempt_set_opens_with_its_stored_columns() {
    let Some(folder) = traces() else { return };
    let trace = open_one(&folder.join("localgate-like/localgate_like.parquet"));
    assert_eq!(counts(&trace), (60_160, 20_669, 8_098));
}

#[test]
fn fillers_and_step_1_picks_are_found() {
    let Some(folder) = traces() else { return };
    let problems = |name: &str| {
        let trace = open_one(&folder.join(format!("tiger/model_outputs_{name}_5shots.zip")));
        check(&[trace], &[]).unwrap()
    };
    let detail = |name: &str, kind: &str| {
        let found = problems(name);
        let problem = found
            .iter()
            .find(|problem| problem.kind == kind)
            .unwrap_or_else(|| panic!("{name}: {found:?}"));
        problem.detail.clone()
    };
    assert!(detail("Meta-Llama-3_1-8B-Instruct", "underivable_picks").contains("all 694 unreadable rows store G"));
    assert!(detail("Phi-3-mini-4k-instruct", "step_1_only").contains("943"));
    assert!(detail("mathstral-7B", "gold_conflict").contains("question 3983"));
    assert!(
        !problems("gemini-1.5-pro-002")
            .iter()
            .any(|problem| problem.kind == "underivable_picks")
    );
    let seen = problems("Phi-3-mini-4k-instruct");
    let beyond = seen
        .iter()
        .find(|problem| problem.kind == "pick_beyond_options")
        .unwrap();
    assert_eq!(beyond.rows, 3);
}

#[test]
fn gold_that_the_set_has_mended_is_found() {
    let (Some(folder), Some(shared)) = (traces(), crate::shared()) else {
        return;
    };
    let source = markbook::benchmark::DataSource::parse(&shared.join("data").display().to_string()).unwrap();
    let set = markbook::benchmark::load(markbook::benchmark::find("mmlu_pro").unwrap(), &source, "test").unwrap();
    let phi = open_one(&folder.join("tiger/model_outputs_Phi-3-mini-4k-instruct_5shots.zip"));
    let llama = open_one(&folder.join("tiger/model_outputs_Meta-Llama-3_1-8B-Instruct_5shots.zip"));
    let problems = check(&[phi, llama], &[&set]).unwrap();
    let of = |kind: &str| {
        problems
            .iter()
            .filter(|problem| problem.kind == kind)
            .map(|problem| problem.rows)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("gold_differs_from_data"), [34, 31]);
    assert_eq!(of("gold_differs").len(), 1);
    assert_eq!(of("options_changed")[0], 12);
    assert_eq!(of("question_changed")[0], 8);
}

#[test]
fn large_files_open_again_from_their_index_and_a_changed_file_anew() {
    let Some(folder) = traces() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let options = Options {
        cache_dir: Some(scratch.path().join("cache")),
        ..Options::default()
    };
    let path = scratch.path().join("copy.zip");
    std::fs::copy(folder.join("tiger/model_outputs_gemini-1.5-pro-002_5shots.zip"), &path).unwrap();
    let first = open_with(&[&path], &options).unwrap().remove(0);
    let again = open_with(&[&path], &options).unwrap().remove(0);
    assert_eq!((&first.kind, &first.notices), (&again.kind, &again.notices));
    for row in [0, 5000, 12_019] {
        assert_eq!(first.record(row).unwrap(), again.record(row).unwrap());
        assert_eq!(first.rows.light(row).pick, again.rows.light(row).pick);
    }
    std::fs::copy(folder.join("tiger/model_outputs_mathstral-7B_5shots.zip"), &path).unwrap();
    let changed = open_with(&[&path], &options).unwrap().remove(0);
    assert_eq!(changed.rows.len(), 12_032);
    // A damaged index is made anew.
    for index in std::fs::read_dir(scratch.path().join("cache/index")).unwrap() {
        let index = index.unwrap().path();
        let mut bytes = std::fs::read(&index).unwrap();
        bytes.truncate(bytes.len() / 2);
        std::fs::write(&index, bytes).unwrap();
    }
    assert_eq!(open_with(&[&path], &options).unwrap()[0].rows.len(), 12_032);
    assert_ne!(INVALID, changed.rows.light(0).answer);
}
