//! Odd files from reports: the shared cases, and variants of the formats that the public files do not show.

use std::io::Write;
use std::path::{Path, PathBuf};

use markbook::check::check;
use markbook::compare::CompareReport;
use markbook::import::{Options, parse_map};
use markbook::record::INVALID;
use markbook::trace::Trace;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{counts, folder, lm_eval_row, notice, open, open_one, open_with, write_one};

fn case(id: &str) -> Option<Value> {
    crate::shared::case("files.jsonl", id)
}

/// The case's file, written and opened.
fn opened(id: &str) -> Option<(TempDir, Trace)> {
    let case = case(id)?;
    let (name, content) = (
        case["file"]["name"].as_str().unwrap(),
        case["file"]["content"].as_str().unwrap(),
    );
    Some(write_one(name, content))
}

#[test]
fn current_samples_open_in_full() {
    let Some((_folder, trace)) = opened("fil-001") else {
        return;
    };
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.prompt.as_str(), record.reasoning.as_str()),
        ("PROMPT", "So 4. The answer is (B).")
    );
    assert_eq!(
        (record.pick.as_str(), record.answer.as_str(), record.correct),
        ("B", "B", true)
    );
    assert_eq!(
        (record.category.as_str(), record.question_id, record.doc_hash.as_str()),
        ("math", 7, "h1")
    );
    assert_eq!((trace.rows.len(), trace.rows.benchmark.get(0)), (1, "mmlu_pro"));
}

#[test]
fn an_array_in_a_jsonl_file_opens() {
    let Some((_folder, trace)) = opened("fil-002") else {
        return;
    };
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.pick.as_str(), record.answer.as_str(), record.correct),
        ("B", "B", true)
    );
    assert_eq!((record.prompt.as_str(), record.category.as_str()), ("CTX", "anatomy"));
    assert!(trace.kind.starts_with("lm-eval 0.4.0 to 0.4.2"), "{}", trace.kind);
    assert_eq!(record.logprobs, Some(vec![-2.5, -0.5, -3.0, -4.0]));
    assert_eq!(record.greedy, Some(vec![false, true, false, false]));
}

#[test]
fn samples_without_a_filter_field_open() {
    let Some((_folder, trace)) = opened("fil-003") else {
        return;
    };
    assert_eq!((trace.rows.pick.get(0), trace.rows.correct[0]), ("B", true));
    assert!(trace.kind.starts_with("lm-eval 0.4.3 to 0.4.6"), "{}", trace.kind);
}

#[test]
fn two_filters_are_two_traces_of_one_question() {
    let Some(case) = case("fil-004") else { return };
    let folder = folder(&[(
        "samples_t_2025-03-01T10-00-00.000000.jsonl",
        case["file"]["content"].as_str().unwrap(),
    )]);
    let traces = open(folder.path()).unwrap();
    let names: Vec<&str> = traces.iter().map(|trace| trace.name.as_str()).collect();
    assert!(
        names.len() == 2 && names[0].ends_with("[strict-match]") && names[1].ends_with("[custom-extract]"),
        "{names:?}"
    );
    assert_eq!(traces.iter().map(counts).collect::<Vec<_>>(), [(1, 0, 1), (1, 1, 0)]);
    let problems = check(&traces[..1], &[]).unwrap();
    assert!(
        !problems.iter().any(|problem| problem.kind == "duplicated_rows"),
        "{problems:?}"
    );
}

#[test]
fn rank_by_rank_rows_are_sorted() {
    let Some((_folder, trace)) = opened("fil-005") else {
        return;
    };
    let docs: Vec<Value> = trace
        .texts
        .source(&[0, 1, 2, 3, 4, 5])
        .unwrap()
        .iter()
        .map(|row| row["doc_id"].clone())
        .collect();
    assert_eq!(docs, [0, 1, 2, 3, 4, 5].map(Value::from));
    assert!(trace.kind.contains("2 ranks"), "{}", trace.kind);
    assert_eq!(notice(&trace, "missing_rows"), "");
}

#[test]
fn a_null_response_written_as_a_word_is_no_output() {
    let Some((_folder, trace)) = opened("fil-006") else {
        return;
    };
    let record = trace.record(0).unwrap();
    assert_eq!((record.reasoning.as_str(), record.pick.as_str()), ("", INVALID));
    assert!(record.flags.contains(&"no_output".to_owned()));
}

#[test]
fn numbers_written_as_text_are_numbers() {
    let Some((_folder, trace)) = opened("fil-007") else {
        return;
    };
    let record = trace.record(0).unwrap();
    let lls = record.logprobs.clone().unwrap();
    assert_eq!((lls[0], lls[1], lls[3]), (-2.5, f32::NEG_INFINITY, -4.0));
    assert!(lls[2].is_nan() && record.flags.contains(&"nan".to_owned()));
    assert_eq!(
        (record.pick.as_str(), record.subject.as_str(), record.benchmark.as_str()),
        ("C", "anatomy", "mmlu")
    );
}

#[test]
fn a_bare_nan_does_not_lose_the_row() {
    let Some((_folder, trace)) = opened("fil-008") else {
        return;
    };
    assert_eq!(trace.rows.len(), 1);
    assert!(notice(&trace, "nan").contains("NaN"), "{:?}", trace.notices);
}

#[test]
fn half_a_last_line_is_told_and_the_rest_opens() {
    let Some((_folder, trace)) = opened("fil-009") else {
        return;
    };
    assert_eq!(trace.rows.len(), 2);
    assert!(
        notice(&trace, "broken_row").contains("line 3 is incomplete"),
        "{:?}",
        trace.notices
    );
}

#[test]
fn a_byte_order_mark_blank_lines_and_crlf_are_passed_over() {
    let Some((_folder, trace)) = opened("fil-010") else {
        return;
    };
    assert_eq!(trace.rows.len(), 2);
    assert_eq!(notice(&trace, "broken_row"), "");
}

#[test]
fn physical_line_numbers_are_told() {
    let (row, other) = (lm_eval_row(0, "B"), lm_eval_row(1, "B"));
    let (_folder, trace) = write_one(
        "samples.jsonl",
        &format!("\u{feff}\n{row}\r\n\r\n{{\"doc_id\": }}\n{other}\n[1]\n"),
    );
    assert_eq!(trace.rows.len(), 2);
    let told = notice(&trace, "broken_row");
    assert!(
        told.contains("line 4:") && told.contains("line 6:") && told.starts_with("2 of 4 rows"),
        "{told}"
    );
}

#[test]
fn half_a_surrogate_pair_is_replaced_and_marked() {
    let Some((_folder, trace)) = opened("fil-011") else {
        return;
    };
    let record = trace.record(0).unwrap();
    assert!(record.reasoning.contains('\u{fffd}') && record.flags.contains(&"replaced_text".to_owned()));
    assert!(
        notice(&trace, "replaced_text").starts_with("1 rows"),
        "{:?}",
        trace.notices
    );
}

#[test]
fn samples_without_results_open() {
    let Some(case) = case("fil-012") else { return };
    let folder = folder(&[(
        case["file"]["name"].as_str().unwrap(),
        case["file"]["content"].as_str().unwrap(),
    )]);
    let trace = open_one(folder.path());
    assert_eq!(counts(&trace), (1, 1, 0));
    assert_eq!(
        notice(&trace, "no_results"),
        "results_*.json not found; figures computed from the samples"
    );
    assert_eq!(trace.name, "model/x");
}

#[test]
fn several_time_stamps_are_several_runs() {
    let Some(case) = case("fil-013") else { return };
    let row = lm_eval_row(0, "B");
    let names: Vec<&str> = case["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let results = r#"{"results": {}, "config": {}, "model_name": "m"}"#;
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|name| {
            (
                *name,
                if name.starts_with("results") {
                    results
                } else {
                    row.as_str()
                },
            )
        })
        .collect();
    let folder = folder(&files);
    let traces = open(folder.path()).unwrap();
    assert_eq!(traces.iter().map(|trace| trace.rows.len()).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(
        (traces[0].name.as_str(), notice(&traces[1], "no_results").is_empty()),
        ("m", false)
    );
    let paths: Vec<PathBuf> = names.iter().map(|name| folder.path().join(name)).collect();
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    assert_eq!(
        open_with(&paths, &Options::default()).unwrap().len(),
        2,
        "named one by one they are the same runs"
    );
}

#[test]
fn a_line_of_64_mebibytes_opens() {
    let times = case("fil-014").map(|case| case["gen"]["times"].clone());
    assert!(times.is_none_or(|times| times == 13_000_000));
    let row = lm_eval_row(0, "B").replace("So 4.", &"loop ".repeat(13_000_000));
    let (_folder, trace) = write_one("samples_t_2025-03-01T10-00-00.000000.jsonl", &row);
    assert_eq!((trace.rows.len(), trace.rows.chars[0] > 64_000_000), (1, true));
}

#[test]
fn the_authors_output_field_may_have_any_of_its_names() {
    let Some(case) = case("fil-015") else { return };
    for file in case["files"].as_array().unwrap() {
        let (_folder, trace) = write_one(file["name"].as_str().unwrap(), file["content"].as_str().unwrap());
        assert_eq!(trace.record(0).unwrap().reasoning, "x The answer is (B).");
    }
}

#[test]
fn a_stored_pick_that_no_rule_gives_is_kept_and_found() {
    let Some((_folder, trace)) = opened("fil-016") else {
        return;
    };
    assert_eq!(trace.rows.pick.get(0), "G");
    let problems = check(&[trace], &[]).unwrap();
    assert!(
        problems.iter().any(|problem| problem.kind == "underivable_picks"),
        "{problems:?}"
    );
}

#[test]
fn a_null_that_a_later_step_would_read_is_found() {
    let Some((_folder, trace)) = opened("fil-017") else {
        return;
    };
    assert_eq!(trace.rows.pick.get(0), INVALID);
    let problems = check(&[trace], &[]).unwrap();
    let found = problems.iter().find(|problem| problem.kind == "step_1_only").unwrap();
    assert!(found.detail.contains("step 1 only"), "{}", found.detail);
}

#[test]
fn indented_lists_open() {
    let Some((_folder, trace)) = opened("fil-018") else {
        return;
    };
    assert_eq!(counts(&trace), (1, 1, 0));
}

#[test]
fn missing_questions_of_the_set_are_told() {
    let of = case("fil-019").map(|case| (case["gen"]["rows"].clone(), case["gen"]["of"].clone()));
    assert!(of.is_none_or(|of| of == (12_012.into(), 12_032.into())));
    let categories = [
        "biology",
        "business",
        "chemistry",
        "computer science",
        "economics",
        "law",
        "math",
        "physics",
    ];
    let row = |id: usize| {
        json!({"question_id": id, "question": "q", "options": ["a", "b"], "answer": "B", "answer_index": 1,
               "cot_content": "", "category": categories[id % 8], "src": "s", "pred": "B", "generated_text": "The answer is (B)."})
    };
    let rows: Vec<Value> = (0..12_012).map(row).collect();
    let (_folder, trace) = write_one("m.json", &Value::from(rows).to_string());
    assert_eq!(
        (trace.rows.len(), notice(&trace, "missing_rows")),
        (12_012, "20 of 12,032 questions are not in this file")
    );
}

#[test]
fn changed_options_make_questions_incomparable() {
    let Some(case) = case("fil-020") else { return };
    let rows = case["rows"].as_array().unwrap();
    let folder = folder(&[
        ("a.json", &json!([rows[0]]).to_string()),
        ("b.json", &json!([rows[1]]).to_string()),
    ]);
    let traces = open(folder.path()).unwrap();
    let problems = check(&traces, &[]).unwrap();
    let found = problems
        .iter()
        .find(|problem| problem.kind == "options_changed")
        .unwrap();
    assert!(found.detail.contains("not comparable"), "{}", found.detail);
}

#[test]
fn a_look_alike_task_is_told() {
    let Some((_folder, trace)) = opened("fil-021") else {
        return;
    };
    assert!(
        trace.kind.contains("multiple choice by log-probability"),
        "{}",
        trace.kind
    );
    let record = trace.record(0).unwrap();
    assert_eq!((record.pick.as_str(), record.answer.as_str()), ("B", "B"));
    assert_ne!(record.benchmark, "mmlu_pro");
    assert!(notice(&trace, "look_alike").contains("mmlu_pro"));
}

#[test]
fn an_export_keeps_a_row_to_the_byte() {
    let Some(case) = case("fil-023") else { return };
    let content = case["file"]["content"].as_str().unwrap();
    let name = case["file"]["name"].as_str().unwrap();
    let (_folder, trace) = write_one(name, content);
    let slice = folder(&[]);
    let target = slice.path().join(name);
    let options = markbook::export::Options::jsonl(markbook::export::Target::File(target.clone())).unwrap();
    markbook::export::write(&trace, &[0], &options).unwrap();
    let written = std::fs::read_to_string(&target).unwrap();
    assert_eq!(written.lines().count(), 1);
    // Only the blanks between values are gone: the output's own bytes, its escapes too, are those of the file.
    let output = r#""\frac{1}{2}\u001b[31m The answer is (B).""#;
    assert!(content.contains(output) && written.contains(output), "{written}");
    assert_eq!(
        serde_json::from_str::<Value>(&written).unwrap(),
        serde_json::from_str::<Value>(content).unwrap()
    );
    assert_eq!(open_one(&target).record(0).unwrap(), trace.record(0).unwrap());
    let row = trace.texts.source(&[0]).unwrap().remove(0);
    assert_eq!(row["extra_field"], json!({"a": [1, 2]}));
    assert_eq!(row["resps"][0][0], "\u{c}rac{1}{2}\u{1b}[31m The answer is (B).");
    assert_eq!(row.keys().next().map(String::as_str), Some("doc_id"));
}

#[test]
fn null_and_empty_outputs_of_a_parquet_file_are_no_output() {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    let missing_rows = case("fil-024").map(|case| case["expected"]["output_missing_rows"].clone());
    assert!(missing_rows.is_none_or(|missing| missing == 2));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let schema = "message rows { required int64 question_id; optional binary output (UTF8); }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = parquet::file::writer::SerializedFileWriter::new(file, schema, std::sync::Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[1, 2, 3], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let texts = [ByteArray::from("The answer is (A)."), ByteArray::from("")];
    column
        .typed::<ByteArrayType>()
        .write_batch(&texts, Some(&[1, 0, 1]), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let options = Options {
        map: parse_map("reasoning=output").unwrap(),
        ..Options::default()
    };
    let trace = open_with(&[&path], &options).unwrap().remove(0);
    let missing = (0..3)
        .filter(|row| trace.rows.flags.get(*row).contains("no_output"))
        .count();
    assert_eq!((trace.rows.len(), missing, trace.rows.pick.get(0)), (3, 2, "A"));
    assert!(notice(&trace, "no_gold").contains("no column is the answer"));
}

#[test]
fn responses_may_be_bare_texts_and_picks_nested_lists() {
    let row = |resps: Value, picks: Value| {
        let mut row: Value = serde_json::from_str(&lm_eval_row(0, "B")).unwrap();
        row["resps"] = resps;
        row["filtered_resps"] = picks;
        write_one("samples.jsonl", &format!("{row}\n")).1
    };
    for (resps, picks) in [
        (json!(["text"]), json!("B")),
        (json!("text"), json!(["B"])),
        (json!([["text"]]), json!([["B"]])),
        (json!([["text", "more"]]), json!(["B"])),
    ] {
        let trace = row(resps.clone(), picks);
        let record = trace.record(0).unwrap();
        assert_eq!(
            (trace.rows.len(), record.pick.as_str(), record.reasoning.as_str()),
            (1, "B", "text"),
            "{resps}"
        );
    }
    let repeats = row(json!([["one", "two", "three"]]), json!([["A", "B", null]]));
    let picks: Vec<&str> = (0..3).map(|row| repeats.rows.pick.get(row)).collect();
    assert_eq!(
        (picks, repeats.rows.attempt.clone()),
        (vec!["A", "B", INVALID], vec![0, 1, 2])
    );
    assert_eq!(repeats.record(1).unwrap().reasoning, "two");
    let empty = row(json!([[]]), json!([]));
    assert_eq!(
        (empty.rows.pick.get(0), empty.rows.flags.get(0).contains("no_output")),
        (INVALID, true)
    );
}

#[test]
fn subjects_of_one_run_are_numbered_on() {
    let row = |doc: usize, answer: usize| {
        json!({"doc_id": doc, "doc": {"question": format!("q{doc}"), "choices": ["a", "b", "c", "d"], "answer": answer},
               "target": answer.to_string(),
               "arguments": {"gen_args_0": {"arg_0": "CTX", "arg_1": " A"}, "gen_args_1": {"arg_0": "CTX", "arg_1": " B"},
                             "gen_args_2": {"arg_0": "CTX", "arg_1": " C"}, "gen_args_3": {"arg_0": "CTX", "arg_1": " D"}},
               "resps": [[["-1.0", "True"]], [["-2.0", "False"]], [["-3.0", "False"]], [["-4.0", "False"]]],
               "filtered_resps": [["-1.0", "True"], ["-2.0", "False"], ["-3.0", "False"], ["-4.0", "False"]], "acc": 1.0,
               "doc_hash": "h", "prompt_hash": "h", "target_hash": "h"})
    };
    let lines = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    let folder = folder(&[
        (
            "m/samples_mmlu_anatomy_2024-08-01T10-00-00.000000.jsonl",
            &lines(&[row(1, 0), row(0, 1)]),
        ),
        (
            "m/samples_mmlu_virology_2024-08-01T10-00-00.000000.jsonl",
            &lines(&[row(0, 0), row(1, 0), row(2, 3)]),
        ),
    ]);
    let trace = open_one(folder.path());
    assert_eq!(trace.rows.question_id, [0, 1, 2, 3, 4]);
    assert_eq!(trace.record(2).unwrap().question_id, 2);
    assert_eq!(
        (trace.rows.subject.get(0), trace.rows.subject.get(4)),
        ("anatomy", "virology")
    );
    assert_eq!(counts(&trace), (5, 3, 0));
    assert!(
        trace.kind.contains("2 ranks, 2 tasks") || trace.kind.contains("2 tasks"),
        "{}",
        trace.kind
    );
    assert!(
        notice(&trace, "score_differs").starts_with("2 rows"),
        "a stored acc that the numbers do not give is told"
    );
}

#[test]
fn write_outs_of_the_oldest_harness_open() {
    let prompt = |letter: &str| format!("The following ...\n\nWhich?\nA. one\nB. two\nAnswer: {letter}");
    let rows = json!([
        {"doc_id": 0, "prompt_0": prompt("A"), "logit_0": -1.5, "prompt_1": prompt("B"), "logit_1": -0.5, "truth": 1, "acc": "1.0"},
        {"doc_id": 1, "prompt_0": prompt("A"), "logit_0": -1.5, "prompt_1": prompt("B"), "logit_1": -2.5, "truth": 1, "acc": "0.0"}
    ]);
    let (_folder, trace) = write_one(
        "hendrycksTest-anatomy_write_out_info.json",
        &serde_json::to_string_pretty(&rows).unwrap(),
    );
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.pick.as_str(), record.answer.as_str(), record.subject.as_str()),
        ("B", "B", "anatomy")
    );
    assert_eq!(
        (record.options.clone(), counts(&trace)),
        (vec!["one".to_owned(), "two".to_owned()], (2, 1, 0))
    );
}

#[test]
fn authors_rows_open_with_an_index_only_and_without_a_stored_pick() {
    let row = json!({"question_id": 1, "question": "q", "options": ["a", "b"], "answer_index": 1, "category": "law", "model_outputs": "so the answer is (B)"});
    let (_folder, trace) = write_one("m.jsonl", &format!("{row}\n{row}\n"));
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.answer.as_str(), record.pick.as_str(), record.correct),
        ("B", "B", true)
    );
    assert!(record.flags.contains(&"pick_read".to_owned()));
    let problems = check(&[trace], &[]).unwrap();
    assert!(
        problems
            .iter()
            .any(|problem| problem.kind == "duplicated_rows" && problem.rows == 1),
        "{problems:?}"
    );
}

#[test]
fn category_files_of_one_folder_are_one_run() {
    let row = |id: i64, category: &str| {
        json!([{"question_id": id, "question": "q", "options": ["a", "b"], "answer": "B", "answer_index": 1,
                "category": category, "pred": "B", "model_outputs": "The answer is (B)."}])
        .to_string()
    };
    let folder = folder(&[
        ("x/law_result.json", &row(1, "law")),
        ("x/computer science_result.json", &row(2, "computer science")),
        (
            "x/law_summary.json",
            r#"{"law": {"corr": 1.0, "wrong": 0.0, "acc": 1.0}}"#,
        ),
    ]);
    let trace = open_one(folder.path());
    assert_eq!(trace.rows.len(), 2);
    assert!(
        notice(&trace, "skipped_file").contains("a summary"),
        "{:?}",
        trace.notices
    );
}

#[test]
fn packed_files_open_like_plain_ones() {
    let row = lm_eval_row(0, "B");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(row.as_bytes()).unwrap();
    std::fs::write(path("a.bin"), gz.finish().unwrap()).unwrap();
    std::fs::write(path("b.bin"), zstd::encode_all(row.as_bytes(), 3).unwrap()).unwrap();
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path("c.bin")).unwrap());
    for name in [
        "x/samples_t_2025-03-01T10-00-00.000000.jsonl",
        "x/samples_t_2025-03-02T10-00-00.000000.jsonl",
    ] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(row.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    for (name, traces) in [("a.bin", 1), ("b.bin", 1), ("c.bin", 2)] {
        let found = open(&path(name)).unwrap();
        assert_eq!(found.len(), traces, "{name}");
        assert!(found.iter().all(|trace| trace.record(0).unwrap().pick == "B"), "{name}");
    }
}

#[test]
fn csv_rows_open_by_a_map_and_uneven_ones_are_told() {
    let table = "id,pred,gold,output,subject\n1,A,A,\"because, so\",law\n2,,B,\"x\ny\",law\n3,C\n4,1,B,z,law\n";
    let folder = folder(&[("rows.csv", table)]);
    let path = folder.path().join("rows.csv");
    let error = open(&path).unwrap_err().to_string();
    assert!(
        error.contains("--map pick=pred,answer=gold,reasoning=output,category=subject,question_id=id"),
        "{error}"
    );
    let options = Options {
        map: parse_map("pick=pred,answer=gold,reasoning=output,category=subject,question_id=id").unwrap(),
        ..Options::default()
    };
    let trace = open_with(&[&path], &options).unwrap().remove(0);
    assert_eq!(
        (counts(&trace), trace.rows.question_id.clone()),
        ((3, 1, 1), vec![1, 2, 4])
    );
    assert!(
        notice(&trace, "broken_row").contains("2 cells, not 5"),
        "{:?}",
        trace.notices
    );
    assert_eq!(trace.record(1).unwrap().reasoning, "x\ny");
    let wrong = Options {
        map: parse_map("pick=nothing").unwrap(),
        ..Options::default()
    };
    assert!(
        open_with(&[&path], &wrong)
            .unwrap_err()
            .to_string()
            .contains("no column nothing; the columns are: id, pred")
    );
    assert!(
        parse_map("picks=pred")
            .unwrap_err()
            .to_string()
            .contains("known: pick, answer")
    );
}

#[test]
fn five_rows_a_question_without_attempts_are_numbered() {
    let row = |id: usize, pick: &str| {
        json!({"question_id": id, "pick": pick, "answer": "B", "reasoning": "t", "options": ["x", "y"]}).to_string()
    };
    let rows: Vec<String> = (0..10)
        .map(|i| row(i / 5, if i % 2 == 0 { "B" } else { "A" }))
        .collect();
    let (_folder, trace) = write_one("rows.jsonl", &rows.join("\n"));
    assert_eq!(trace.rows.attempt, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    assert_eq!(trace.record(3).unwrap().attempt, 3);
    assert!(notice(&trace, "attempts").contains("5 times each"));
}

#[test]
fn numbers_for_picks_are_shown_as_letters_and_told() {
    let rows = [
        json!({"pick": 1, "answer": 1, "options": ["x", "y"]}),
        json!({"pick": 5, "answer": 0, "options": ["x", "y"]}),
    ];
    let (_folder, trace) = write_one("rows.json", &Value::from(rows.to_vec()).to_string());
    assert_eq!(
        (trace.rows.pick.get(0), trace.rows.answer.get(0), trace.rows.pick.get(1)),
        ("B", "B", "5")
    );
    assert!(notice(&trace, "number_pick").contains("letters"));
}

#[test]
fn closed_answer_tables_join_with_their_trace() {
    let table = [
        json!({"question_id": 1, "category": "law", "answer": "A", "picks": ["A", "B", "[invalid]"], "k": 3, "correct_count": 1, "invalid_count": 1}),
        json!({"question_id": 2, "category": "law", "answer": "B", "picks": ["B", "B", "B"], "k": 3, "correct_count": 2, "invalid_count": 0}),
    ];
    let traces = [(1, ["A", "B", INVALID]), (2, ["B", "C", "B"])];
    let rows = traces.iter().flat_map(|(id, picks)| {
        picks.iter().enumerate().map(move |(attempt, pick)| {
            json!({"question_id": id, "attempt": attempt, "pick": pick, "answer": if *id == 1 { "A" } else { "B" }, "reasoning": "", "category": "law", "benchmark": "mmlu_pro"}).to_string()
        })
    });
    let lines: Vec<String> = table.iter().map(Value::to_string).collect();
    let folder = folder(&[
        ("closed.jsonl", &lines.join("\n")),
        ("trace.jsonl", &rows.collect::<Vec<_>>().join("\n")),
    ]);
    let traces = open(folder.path()).unwrap();
    assert_eq!((traces[0].rows.len(), traces[1].rows.len()), (6, 6));
    assert!(
        traces[0].kind.starts_with("closed-answer table, 3 attempts a question"),
        "{}",
        traces[0].kind
    );
    assert_eq!(counts(&traces[0]), (6, 4, 1));
    let problems = check(&traces, &[]).unwrap();
    let of = |kind: &str| {
        problems
            .iter()
            .find(|problem| problem.kind == kind)
            .map(|problem| problem.rows)
    };
    assert_eq!(
        (of("counts_differ"), of("picks_differ")),
        (Some(3), Some(1)),
        "{problems:?}"
    );
}

#[test]
fn helm_scores_of_single_options_are_one_row_a_question() {
    let state = |id: usize, option: usize, logprob: f64| {
        json!({"instance": {"input": {"text": format!("q{id}")}, "id": format!("id{id}"), "references": [
                   {"output": {"text": "x"}, "tags": []}, {"output": {"text": "y"}, "tags": ["correct"]}]},
               "reference_index": option, "request_mode": "original", "train_trial_index": 0,
               "request": {"prompt": "p"}, "result": {"success": true, "completions": [{"text": "", "logprob": logprob}]}})
    };
    let document = json!({"adapter_spec": {"method": "multiple_choice_separate_original", "model": "m", "instructions": ""},
        "request_states": [state(1, 0, -2.0), state(1, 1, -1.0), state(2, 0, -1.0), state(2, 1, -3.0)]});
    let (_folder, trace) = write_one("scenario_state.json", &serde_json::to_string_pretty(&document).unwrap());
    assert_eq!(
        (counts(&trace), trace.rows.question_id.clone()),
        ((2, 1, 0), vec![1, 2])
    );
    assert_eq!(trace.record(0).unwrap().logprobs, Some(vec![-2.0, -1.0]));
}

#[test]
fn inspect_json_logs_open_with_epochs_parts_and_attachments() {
    let sample = |id: usize, epoch: usize, answer: Value| {
        json!({"id": id, "epoch": epoch, "input": "q", "choices": ["x", "y"], "target": ["B"],
               "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "attachment://k"},
                            {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "ANSWER: B"}]}],
               "output": {"choices": [{"message": {"content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "ANSWER: B"}]}, "stop_reason": "max_tokens"}]},
               "scores": {"choice": {"value": "C", "answer": answer}}, "metadata": {"subject": "law"},
               "attachments": {"k": "the question"}})
    };
    let log = json!({"version": 2, "status": "success", "eval": {"task": "mmlu_pro", "model": "m"},
        "samples": [sample(1, 1, json!("B")), sample(1, 2, Value::Null)]});
    let (_folder, trace) = write_one("log.json", &log.to_string());
    assert_eq!((counts(&trace), trace.rows.attempt.clone()), ((2, 1, 1), vec![0, 1]));
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.reasoning.as_str(), record.answer.as_str()),
        ("hm\nANSWER: B", "B")
    );
    assert!(
        record.prompt.contains("be brief") && record.prompt.contains("the question"),
        "{}",
        record.prompt
    );
    assert!(trace.kind.contains("2 epochs"), "{}", trace.kind);
    assert!(
        notice(&trace, "score_differs").starts_with("1 rows"),
        "{:?}",
        trace.notices
    );
}

#[test]
fn attempts_with_one_text_are_found_within_and_between_traces() {
    let row = |id: usize, attempt: usize, text: &str| {
        json!({"question_id": id, "attempt": attempt, "pick": "A", "answer": if id.is_multiple_of(2) { "A" } else { "B" }, "reasoning": text, "benchmark": "b"}).to_string()
    };
    let same: Vec<String> = (0..40)
        .map(|i| row(i / 2, i % 2, &format!("text {} A", i / 2)))
        .collect();
    let folder = folder(&[("a.jsonl", &same.join("\n")), ("b.jsonl", &same.join("\n"))]);
    let traces = open(folder.path()).unwrap();
    let kinds: Vec<&str> = check(&traces, &[])
        .unwrap()
        .iter()
        .map(|problem| problem.kind)
        .collect();
    for kind in ["identical_attempts", "identical_runs", "one_letter"] {
        assert!(kinds.contains(&kind), "{kind} of {kinds:?}");
    }
}

#[test]
fn a_cut_archive_and_a_cut_array_are_told_by_name() {
    let rows = format!("[{}, {}", lm_eval_row(0, "B"), &lm_eval_row(1, "B")[..80]);
    let (_folder, trace) = write_one("samples.json", &rows);
    assert_eq!(trace.rows.len(), 1);
    assert!(notice(&trace, "broken_row").contains("entry 2"), "{:?}", trace.notices);
    assert!(notice(&trace, "cut_file").contains("ends too early, at byte"));
    let packed = zstd::encode_all(lm_eval_row(0, "B").as_bytes(), 3).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.zst");
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    assert!(open(&path).unwrap_err().to_string().contains("cut.zst"));
    let path = folder.path().join("cut.zip");
    std::fs::write(&path, b"PK\x03\x04 and nothing more").unwrap();
    assert!(format!("{:#}", open(&path).unwrap_err()).contains("cut.zip is a broken zip archive"));
}

#[test]
fn rows_that_were_broken_over_several_lines_open() {
    let row: Value = serde_json::from_str(&lm_eval_row(0, "B")).unwrap();
    let wrapped = lm_eval_row(2, "A")
        .replace("So 4.", "So\n4.")
        .replace("\"doc\":", "\n\"doc\":\n");
    let content = format!(
        "{}\n{}\n{wrapped}\n",
        lm_eval_row(1, "B"),
        serde_json::to_string_pretty(&row).unwrap()
    );
    let (_folder, trace) = write_one("samples_t_2025-03-01T10-00-00.000000.jsonl", &content);
    assert_eq!(counts(&trace), (3, 2, 0));
    assert_eq!(notice(&trace, "broken_row"), "");
    assert_eq!(trace.record(2).unwrap().reasoning, "So\n4. The answer is (B).");
}

#[test]
fn a_run_that_was_appended_to_itself_is_duplicated_and_no_second_rank() {
    let rows = [
        lm_eval_row(0, "B"),
        lm_eval_row(1, "B"),
        lm_eval_row(0, "B"),
        lm_eval_row(1, "B"),
    ]
    .join("\n");
    let (_folder, trace) = write_one("samples_t_2025-03-01T10-00-00.000000.jsonl", &rows);
    assert!(!trace.kind.contains("ranks"), "{}", trace.kind);
    let problems = check(&[trace], &[]).unwrap();
    assert!(
        problems
            .iter()
            .any(|problem| problem.kind == "duplicated_rows" && problem.rows == 2),
        "{problems:?}"
    );
}

#[test]
fn samples_without_their_docs_open_with_the_stored_score() {
    let row = json!({"doc_id": 3, "resps": ["so (A)"], "filtered_resps": ["A"], "doc_hash": "h", "exact_match": 1.0, "input": "Which?"});
    let (_folder, trace) = write_one("samples.jsonl", &row.to_string());
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.pick.as_str(), record.answer.as_str(), record.correct),
        ("A", "", true)
    );
    assert_eq!(
        (record.prompt.as_str(), record.reasoning.as_str(), record.question_id),
        ("Which?", "so (A)", 3)
    );
    let problems = check(&[trace], &[]).unwrap();
    assert!(
        !problems.iter().any(|problem| problem.kind == "correct_differs"),
        "{problems:?}"
    );
}

#[test]
fn a_file_that_grows_shows_its_new_rows() {
    let folder = folder(&[(
        "samples.jsonl",
        &format!("{}\n{}", lm_eval_row(0, "B"), &lm_eval_row(1, "A")[..40]),
    )]);
    let path = folder.path().join("samples.jsonl");
    let paths = [path.clone()];
    let before = markbook::import::stamp(&paths);
    assert_eq!(
        (open_one(&path).rows.len(), markbook::import::stamp(&paths)),
        (1, before)
    );
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(format!("{}\n", &lm_eval_row(1, "A")[40..]).as_bytes())
        .unwrap();
    assert_ne!(markbook::import::stamp(&paths), before);
    assert_eq!(counts(&open_one(&path)), (2, 1, 0));
}

#[test]
fn our_own_rows_come_back_whole_from_jsonl() {
    let record = markbook::record::Record {
        question_id: 7,
        attempt: 2,
        pick: "B".to_owned(),
        answer: "B".to_owned(),
        correct: true,
        benchmark: "mmlu".to_owned(),
        logprobs: Some(vec![-1.5, -0.5]),
        seed: Some(44),
        doc: Some("{}".to_owned()),
        ..markbook::record::Record::default()
    };
    let (_folder, trace) = write_one("rows.jsonl", &serde_json::to_string(&record).unwrap());
    assert_eq!(*trace.record(0).unwrap(), record);
}

#[test]
fn a_great_many_entries_that_are_no_rows_stay_small() {
    let row = json!({"question_id": 1, "options": ["a", "b"], "answer": "B", "pred": "B", "category": "law"});
    let (_folder, trace) = write_one("m.json", &format!("[{row}{}]", ",0".repeat(200_000)));
    assert_eq!(trace.rows.len(), 1);
    assert!(
        notice(&trace, "broken_row").starts_with("200,000 of 200,001 rows skipped"),
        "{:?}",
        trace.notices
    );
}

#[test]
fn equal_version_labels_do_not_make_prompts_the_same() {
    let Some(case) = case("fil-022") else { return };
    let side = |row: &Value, prompt_hash: Option<&str>| {
        let mut sample: Value = serde_json::from_str(&lm_eval_row(0, "B")).unwrap();
        match prompt_hash {
            Some(hash) => sample["prompt_hash"] = hash.into(),
            None => sample["arguments"] = json!({}),
        }
        let stamp = format!("{}T10-00-00.000000", row["date"].as_str().unwrap());
        let results = json!({"results": {}, "configs": {}, "versions": {"mmlu_pro_math": row["version"]}, "date": 1.0})
            .to_string();
        let folder = folder(&[
            (&format!("samples_mmlu_pro_math_{stamp}.jsonl"), &sample.to_string()),
            (&format!("results_{stamp}.json"), &results),
        ]);
        let trace = open_one(folder.path());
        (folder, trace)
    };
    let compare = |hashes: [Option<&str>; 2], versions: [f64; 2]| {
        let rows = case["rows"].as_array().unwrap();
        let mut rows = [rows[0].clone(), rows[1].clone()];
        rows[0]["version"] = versions[0].into();
        rows[1]["version"] = versions[1].into();
        let sides = [side(&rows[0], hashes[0]), side(&rows[1], hashes[1])];
        CompareReport::of(&sides[0].1, &sides[1].1)
    };
    let unknown = compare([None, None], [2.1, 2.1]);
    assert_eq!(unknown.same_prompt, None);
    assert!(
        unknown
            .warnings
            .iter()
            .any(|warning| warning.contains("task versions are ambiguous")),
        "{:?}",
        unknown.warnings
    );
    let unknown = compare([None, None], [2.1, 3.0]);
    assert!(
        unknown
            .warnings
            .iter()
            .any(|warning| warning.contains("task versions differ (mmlu_pro_math 2.1 and 3.0)")),
        "{:?}",
        unknown.warnings
    );
    let (one, other) = ("a".repeat(64), "b".repeat(64));
    assert_eq!(compare([Some(&one), Some(&one)], [2.1, 3.0]).same_prompt, Some(true));
    let differs = compare([Some(&one), Some(&other)], [2.1, 2.1]);
    assert_eq!(differs.same_prompt, Some(false));
    assert!(
        differs
            .warnings
            .iter()
            .any(|warning| warning.starts_with("1 of 1 pairs that were looked at"))
    );
}

#[test]
fn the_first_lines_of_a_huge_output_are_shown_and_the_rest_is_not_drawn() {
    let row = lm_eval_row(0, "B").replace("So 4.", &"loop ".repeat(2_000_000));
    let (_folder, trace) = write_one("samples_t_2025-03-01T10-00-00.000000.jsonl", &row);
    let opener = markbook::tui::Opener::new(move || Ok(vec![trace.clone()]));
    let screen = markbook::tui::print_screen(&opener, (100, 30), &markbook::tui::Options::default()).unwrap();
    assert!(screen.contains("loop loop loop"), "{screen}");
    assert_eq!(screen.lines().count(), 30);
}
