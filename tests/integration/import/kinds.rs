//! Further kinds of files, and kinds that are spread over several: written here, as their tools write them.

use std::io::Write;
use std::path::Path;

use markbook::parquet::{Order, write_records};
use markbook::record::{INVALID, Record};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use super::{counts, folder, lm_eval_row, notice, open, open_one, write_one};

#[test]
fn the_mmlu_authors_tables_open_with_the_letter_that_is_most_probable() {
    let table = "0,1,2,3,4,5,/llama_correct,/llama_choiceA_probs,/llama_choiceB_probs,/llama_choiceC_probs,/llama_choiceD_probs\n\
                 \"Which, of these?\",w,x,\"y, z\",v,B,True,0.2,0.5,0.2,0.1\n\
                 What?,1,2,3,4,D,False,0.4,0.3,0.2,0.1\n\
                 Why?,1,2,3,4,A,False,0.4,0.3,0.2,0.1\n";
    let (_folder, trace) = write_one("abstract_algebra.csv", table);
    assert_eq!(counts(&trace), (3, 2, 0));
    assert_eq!(trace.name, "llama");
    assert!(
        trace
            .kind
            .starts_with("table of option probabilities, one row a question"),
        "{}",
        trace.kind
    );
    let record = trace.record(0).unwrap();
    assert_eq!((record.pick.as_str(), record.answer.as_str()), ("B", "B"));
    assert_eq!(
        (record.question.as_str(), record.options.join("|").as_str()),
        ("Which, of these?", "w|x|y, z|v")
    );
    assert_eq!(
        (record.benchmark.as_str(), record.subject.as_str()),
        ("mmlu", "abstract_algebra")
    );
    let first = record.logprobs.as_ref().unwrap()[0];
    assert!((first - 0.2_f32.ln()).abs() < 1e-6, "{first}");
    assert_eq!(record.doc_hash.len(), 64);
    assert!(
        notice(&trace, "score_differs").starts_with("1 rows"),
        "{:?}",
        trace.notices
    );
}

#[test]
fn several_models_side_by_side_are_a_trace_each_and_subjects_one_run() {
    let table = "question,A,B,C,D,answer,a_correct,a_choiceA_probs,a_choiceB_probs,b_correct,b_choiceA_probs,b_choiceB_probs\n\
                 q,1,2,3,4,A,1,0.9,0.1,0,0.2,0.8\n";
    let folder = folder(&[("x/anatomy_test.csv", table), ("x/virology_test.csv", table)]);
    let traces = open(folder.path()).unwrap();
    let seen: Vec<_> = traces
        .iter()
        .map(|trace| (counts(trace), trace.rows.pick.get(0).to_owned()))
        .collect();
    assert_eq!(seen, [((2, 2, 0), "A".to_owned()), ((2, 0, 0), "B".to_owned())]);
    assert!(traces[1].name.ends_with("[b]") && traces[1].kind.contains("b of 2 models, 2 subjects"));
    assert_eq!(traces[0].rows.question_id, [0, 1]);
}

#[test]
fn tables_of_logarithms_and_of_numbered_golds_open_too() {
    let table = "question,A,B,C,D,answer,model_output,correctness,prob_A,prob_B,prob_C,prob_D\n\
                 q,1,2,3,4,2,C,1.0,-3.5,-2.5,-0.5,-4.0\n";
    let (_folder, trace) = write_one("law_result.csv", table);
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.pick.as_str(), record.answer.as_str(), record.subject.as_str()),
        ("C", "C", "law")
    );
    assert_eq!(record.logprobs, Some(vec![-3.5, -2.5, -0.5, -4.0]));
    assert_eq!(notice(&trace, "score_differs"), "");
}

fn asked(number: usize) -> String {
    format!("Question: Which of {number}?\nA. one\nB. two\nC. three\nD. four\nAnswer: ")
}

#[test]
fn opencompass_predictions_and_results_open() {
    let predictions = json!({
        "0": {"origin_prompt": asked(0), "prediction": "B", "gold": "B"},
        "1": {"origin_prompt": [{"role": "HUMAN", "prompt": asked(1)}], "prediction": "So the answer is (A).", "gold": "C"},
        "2": {"origin_prompt": asked(2), "prediction": "Two of them", "gold": "A"}
    });
    let results = json!({"accuracy": 50.0, "details": {"type": "GEN",
        "0": {"prompt": asked(0), "origin_prediction": "A. one", "predictions": "A", "references": "A"},
        "1": {"prompt": asked(1), "origin_prediction": "hm", "predictions": "", "references": "B", "correct": false}}});
    let folder = folder(&[
        (
            "predictions/llama/lukaemon_mmlu_anatomy.json",
            &serde_json::to_string_pretty(&predictions).unwrap(),
        ),
        (
            "predictions/llama/lukaemon_mmlu_virology.json",
            &predictions.to_string(),
        ),
        ("results/llama/mmlu_pro_computer_science.json", &results.to_string()),
    ]);
    let traces = open(&folder.path().join("predictions")).unwrap();
    assert_eq!(traces.iter().map(counts).collect::<Vec<_>>(), [(6, 2, 2)]);
    let trace = &traces[0];
    assert_eq!((trace.name.as_str(), trace.rows.subject.get(5)), ("llama", "virology"));
    assert_eq!(trace.rows.question_id, [0, 1, 2, 3, 4, 5]);
    let record = trace.record(1).unwrap();
    assert_eq!(record.options.join("|"), "one|two|three|four");
    assert_eq!((record.question.as_str(), record.pick.as_str()), ("Which of 1?", "A"));
    assert!(
        notice(trace, "letter_read").starts_with("6 rows store no pick"),
        "{:?}",
        trace.notices
    );
    let trace = open_one(&folder.path().join("results"));
    assert_eq!(counts(&trace), (2, 1, 1));
    assert_eq!(
        notice(&trace, "broken_row"),
        "",
        "how the details were made is no broken row"
    );
    let record = trace.record(0).unwrap();
    assert_eq!(
        (
            record.reasoning.as_str(),
            record.benchmark.as_str(),
            record.category.as_str()
        ),
        ("A. one", "mmlu_pro", "computer science")
    );
}

#[test]
fn opencompass_output_of_other_tasks_is_refused() {
    let row = json!({"origin_prompt": "Who wrote it?", "prediction": "Ada", "gold": ["Ada", "Ada L."]});
    let folder = folder(&[("TriviaQA.json", &json!({"0": row, "1": row}).to_string())]);
    let error = open(&folder.path().join("TriviaQA.json")).unwrap_err().to_string();
    assert!(
        error.ends_with("OpenCompass output of TriviaQA, whose questions have no options"),
        "{error}"
    );
}

#[test]
fn opencompass_perplexities_are_log_likelihoods() {
    let label = |ppl: f64| json!({"testing input": "x", "prompt": asked(0), "PPL": ppl});
    let row = json!({"in-context examples": "", "label: A": label(1.5), "label: B": label(0.25), "prediction": "B", "gold": "A"});
    let (_folder, trace) = write_one("mmlu_anatomy.json", &json!({"0": row}).to_string());
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.pick.as_str(), record.logprobs.clone()),
        ("B", Some(vec![-1.5, -0.25]))
    );
    assert_eq!(counts(&trace), (1, 0, 0));
}

#[test]
fn a_results_file_with_samples_in_it_opens_as_its_tasks() {
    let row = |doc: usize, pick: &str| serde_json::from_str::<Value>(&lm_eval_row(doc, pick)).unwrap();
    // The figures before the samples are longer than the start that is looked at first.
    let filler = "x".repeat(300_000);
    let document = json!({"results": {"mmlu_pro_math": {"exact_match": 0.5}}, "configs": {"long": filler}, "versions": {"mmlu_pro_math": 3.1},
        "samples": {"mmlu_pro_math": [row(0, "B"), row(1, "A")], "mmlu_pro_law": [row(2, "B")]},
        "config": {"model": "hf", "model_args": "pretrained=org/model,dtype=float"}, "lm_eval_version": "0.4.9",
        "n-samples": {"mmlu_pro_math": {"effective": 2}, "mmlu_pro_law": {"effective": 1}}});
    let (_folder, trace) = write_one("results.json", &serde_json::to_string_pretty(&document).unwrap());
    assert_eq!(counts(&trace), (3, 2, 0));
    assert_eq!(trace.name, "org/model");
    assert!(
        trace.kind.starts_with("lm-eval 0.4.9, generated answers") && trace.kind.contains("2 tasks"),
        "{}",
        trace.kind
    );
    assert_eq!(trace.rows.benchmark.get(2), "mmlu_pro");
    assert_eq!(notice(&trace, "sample_count"), "");
    let (folder, figures) = (
        folder(&[]),
        json!({"results": {"a": {}}, "configs": {"long": "y".repeat(300_000)}}),
    );
    let path = folder.path().join("results.json");
    std::fs::write(&path, figures.to_string()).unwrap();
    assert!(
        open(&path)
            .unwrap_err()
            .to_string()
            .contains("results of lm-eval without samples")
    );
}

fn records(ids: std::ops::Range<i64>, attempts: &[i64], category: &str) -> Vec<Record> {
    let record = |id: i64, attempt: i64| Record {
        question_id: id,
        attempt,
        seed: Some(42 + attempt),
        category: category.to_owned(),
        subject: category.to_owned(),
        benchmark: "mmlu_pro".to_owned(),
        prompt: format!("Question:\nWhat is {id}?\nOptions:\nA. x\nB. y\nAnswer: Let's think step by step."),
        reasoning: format!("{attempt} of {id}: the answer is (B)"),
        reasoning_chars: 27,
        pick: if id % 4 == 0 { INVALID } else { "B" }.to_owned(),
        answer: "B".to_owned(),
        correct: id % 4 != 0,
        options: vec!["x".to_owned(), "y".to_owned()],
        ..Record::default()
    };
    ids.flat_map(|id| attempts.iter().map(move |attempt| record(id, *attempt)))
        .collect()
}

fn parquet(path: &Path, rows: &[Record]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_records(path, rows, Order::AsGiven).unwrap();
}

#[test]
fn shards_subjects_and_attempts_in_files_of_their_own_are_one_run() {
    let folder = folder(&[]);
    let at = |name: &str| folder.path().join(name);
    for shard in 0..3 {
        let name = format!("data/test-0000{shard}-of-00003.parquet");
        parquet(&at(&name), &records(shard * 10..shard * 10 + 10, &[0, 1], "law"));
    }
    parquet(&at("subjects/law.parquet"), &records(0..4, &[0], "law"));
    parquet(
        &at("subjects/computer_science.parquet"),
        &records(4..8, &[0], "computer science"),
    );
    for attempt in 0..5 {
        parquet(
            &at(&format!("seeds/seed_{}.parquet", 42 + attempt)),
            &records(0..4, &[attempt], "law"),
        );
    }
    let trace = open_one(&at("data"));
    assert_eq!((counts(&trace), trace.name.as_str()), ((60, 44, 16), "test"));
    assert!(trace.kind.ends_with("60 rows, 30 questions, 3 files"), "{}", trace.kind);
    assert_eq!(trace.record(59).unwrap().question_id, 29);
    assert!(notice(&trace, "several_files").starts_with("3 files are read as one run: test-00000"));
    let trace = open_one(&at("subjects"));
    assert_eq!((trace.rows.len(), trace.name.as_str()), (8, "subjects"));
    let trace = open_one(&at("seeds"));
    assert_eq!(trace.rows.len(), 20);
    assert_eq!(trace.name, "seed");
    assert!(trace.kind.contains("20 rows, 4 questions, 5 files"), "{}", trace.kind);
    // The same answers in two files are two runs.
    parquet(&at("two/run-1.parquet"), &records(0..4, &[0], "law"));
    parquet(&at("two/run-2.parquet"), &records(0..4, &[0], "law"));
    assert_eq!(open(&at("two")).unwrap().len(), 2);
}

#[test]
fn packed_parquet_sets_and_archived_runs_open_like_plain_ones() {
    let folder = folder(&[]);
    let at = |name: &str| folder.path().join(name);
    parquet(&at("set.parquet"), &records(0..8, &[0, 1], "law"));
    let bytes = std::fs::read(at("set.parquet")).unwrap();
    std::fs::write(at("set.zst"), zstd::encode_all(&bytes[..], 3).unwrap()).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&bytes).unwrap();
    std::fs::write(at("set.gz"), gz.finish().unwrap()).unwrap();
    let plain = open_one(&at("set.parquet"));
    for name in ["set.zst", "set.gz"] {
        let packed = open_one(&at(name));
        assert_eq!((&packed.kind, packed.name.as_str()), (&plain.kind, "set"), "{name}");
        assert_eq!(packed.record(15).unwrap(), plain.record(15).unwrap(), "{name}");
    }
    let mut zip = zip::ZipWriter::new(std::fs::File::create(at("run.zip")).unwrap());
    for (name, content) in [("x/sets/set.parquet", bytes.as_slice()), ("x/notes.txt", b"notes")] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap();
    let trace = open_one(&at("run.zip"));
    assert_eq!((trace.rows.len(), trace.name.as_str()), (16, "set"));
    assert!(notice(&trace, "skipped_file").contains("notes.txt"));
}

#[test]
fn category_files_of_several_times_are_one_run_unless_a_category_comes_twice() {
    let row = |id: i64, category: &str| {
        json!([{"question_id": id, "question": "q", "options": ["a", "b"], "answer": "B", "answer_index": 1,
                "category": category, "pred": "B", "model_outputs": "The answer is (B)."}])
        .to_string()
    };
    let once = folder(&[
        ("jamba_law_result_20241128_105928.json", &row(1, "law")),
        (
            "jamba_computer science_result_20241128_113001.json",
            &row(2, "computer science"),
        ),
    ]);
    let trace = open_one(once.path());
    assert_eq!((trace.rows.len(), trace.name.as_str()), (2, "jamba"));
    assert!(notice(&trace, "several_times").contains("2 files of several times"));
    let twice = folder(&[
        ("jamba_law_result_20241128_105928.json", &row(1, "law")),
        ("jamba_law_result_20241129_080000.json", &row(1, "law")),
        ("jamba_math_result_20241128_105928.json", &row(2, "math")),
    ]);
    let mut rows: Vec<usize> = open(twice.path())
        .unwrap()
        .iter()
        .map(|trace| trace.rows.len())
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, [1, 2], "the files of one time belong together");
    let folders = folder(&[
        ("big-model/CoT/all/law.json", &row(1, "law")),
        ("big-model/CoT/all/math.json", &row(2, "math")),
    ]);
    assert_eq!(open_one(folders.path()).name, "big-model/CoT/all");
}

#[test]
fn lines_of_a_log_among_the_rows_are_told_and_skipped() {
    let content = format!(
        "loading model org/model\n{}\nWARNING: slow\n{}\n",
        lm_eval_row(0, "B"),
        lm_eval_row(1, "A")
    );
    let (_folder, trace) = write_one("samples.jsonl", &content);
    assert_eq!(counts(&trace), (2, 1, 0));
    let told = notice(&trace, "broken_row");
    assert!(
        told.starts_with("2 of 4 rows skipped: line 1:") && told.contains("line 3:"),
        "{told}"
    );
}

#[test]
fn files_that_are_no_traces_are_refused_by_what_they_are() {
    let eval = json!({"version": 2, "status": "error", "eval": {"task": "mmlu_0_shot", "model": "m"}, "samples": []});
    let questions = "id,Question,A,B,C,D,Answer\n1,q,w,x,y,z,B\n2,q,w,x,y,z,A\n";
    for (name, content, what) in [
        (
            "x.json",
            "version https://git-lfs.github.com/spec/v1\noid sha256:39b0\nsize 76259\n",
            "a pointer of Git LFS",
        ),
        (
            "x.csv",
            "question,choices,answer,model answer\n",
            "a header without rows",
        ),
        (
            "x.txt",
            "\u{feff}just some words, and more\nof them\n",
            "text that is neither JSON nor a table",
        ),
        (
            "log.json",
            &eval.to_string(),
            "an Inspect log of the task mmlu_0_shot (status error) without samples",
        ),
        ("q.csv", questions, "questions without answers of a model"),
        (
            "counts.json",
            "{\"law\": {\"corr\": 1.0, \"wrong\": 0.0, \"acc\": 1.0}}",
            "a summary (accuracy per category)",
        ),
    ] {
        let folder = folder(&[(name, content)]);
        let error = open(&folder.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(what) && error.lines().count() == 1, "{name}: {error}");
    }
}

#[test]
fn a_table_in_utf_16_opens_as_one_in_utf_8() {
    let folder = folder(&[]);
    let path = folder.path().join("x.csv");
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        let text = "\u{feff}sep=;\r\nFrage;answer;pick\r\nÜber?;B;B\r\nq;A;B\r\n";
        std::fs::write(&path, text.encode_utf16().flat_map(order).collect::<Vec<u8>>()).unwrap();
        assert_eq!(counts(&open_one(&path)), (2, 1, 0));
    }
}

#[test]
fn how_a_set_was_made_is_told_beside_it() {
    let folder = folder(&[
        (
            "set/provenance/generation.json",
            r#"{"model": "org/model", "sampling": {"seeds": [42, 43], "top_k": 64}, "steps": [{"name": "a"}]}"#,
        ),
        ("set/provenance/notes.txt", "not JSON"),
        ("set/provenance/broken.json", "{"),
    ]);
    parquet(
        &folder.path().join("set/data/test.parquet"),
        &records(0..3, &[0], "law"),
    );
    for path in ["set", "set/data", "set/data/test.parquet"] {
        let trace = open_one(&folder.path().join(path));
        assert_eq!(
            trace.provenance_lines(),
            [
                "generation · model: org/model",
                "generation · sampling.seeds: [42,43]",
                "generation · sampling.top_k: 64",
                "generation · steps.0.name: a"
            ],
            "{path}"
        );
        assert_eq!(trace.provenance().unwrap()["generation"]["sampling"]["top_k"], 64);
    }
    parquet(&folder.path().join("alone.parquet"), &records(0..3, &[0], "law"));
    assert!(open_one(&folder.path().join("alone.parquet")).provenance().is_none());
}
