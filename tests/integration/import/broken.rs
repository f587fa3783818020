//! Files that chance has broken: thousands of mutations of each format open or fail, and never panic, hang or swell.

use std::path::Path;

use markbook::check::check;
use markbook::import::{Options, parse_map};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::open_with;

/// One change to a file.
#[derive(Debug, Clone)]
enum Change {
    Byte(usize, u8),
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
    Insert(usize, &'static [u8]),
}

/// Pieces that readers of JSON, CSV and archives have stumbled over.
const PIECES: [&[u8]; 18] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\u",
    b"\\ud83d",
    b"null",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"\n",
    b"\0",
    b",",
    b"\xff\xfe",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"99999999999999999999999999",
];

fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        4 => (place.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => place.clone().prop_map(Change::Cut),
        2 => (place.clone(), 1..200_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        1 => (place.clone(), 1..400_usize).prop_map(|(at, length)| Change::Repeat(at, length)),
        3 => (place, prop::sample::select(PIECES.to_vec())).prop_map(|(at, piece)| Change::Insert(at, piece)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let size = bytes.len().max(1);
    match change {
        Change::Byte(at, byte) => {
            if let Some(place) = bytes.get_mut(at % size) {
                *place = *byte;
            }
        }
        Change::Cut(at) => bytes.truncate(at % size),
        Change::Remove(at, length) => {
            let from = (at % size).min(bytes.len());
            let to = (from + length).min(bytes.len());
            bytes.drain(from..to);
        }
        Change::Repeat(at, length) => {
            let from = (at % size).min(bytes.len());
            let piece = bytes[from..(from + length).min(bytes.len())].to_vec();
            bytes.splice(from..from, piece);
        }
        Change::Insert(at, piece) => {
            let from = (at % size).min(bytes.len());
            bytes.splice(from..from, piece.iter().copied());
        }
    }
}

/// Opens a file, and reads, scans and checks what it gives.
fn exercise(path: &Path, options: &Options) {
    let Ok(traces) = open_with(&[path], options) else {
        return;
    };
    for trace in &traces {
        assert!(!trace.kind.contains('\n'));
        for row in 0..trace.rows.len().min(20) {
            let _ = trace.record(row);
            let _ = trace.texts.source(&[row]);
        }
    }
    let _ = check(&traces, &[]);
}

/// Kilobytes that this process has held at most.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap_or_default();
    line.chars()
        .filter(char::is_ascii_digit)
        .collect::<String>()
        .parse()
        .unwrap_or(0)
}

fn withstands(name: &str, seeds: &[Vec<u8>], map: &str, cases: u32) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        map: parse_map(map).unwrap(),
        ..Options::default()
    };
    let path = folder.path().join(name);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let input = (
        prop::sample::select(seeds.to_vec()),
        prop::collection::vec(change(), 1..6),
    );
    let before = peak_memory();
    runner
        .run(&input, |(mut bytes, changes)| {
            changes.iter().for_each(|change| apply(&mut bytes, change));
            std::fs::write(&path, &bytes).unwrap();
            exercise(&path, &options);
            Ok(())
        })
        .unwrap();
    let grown = peak_memory().saturating_sub(before);
    assert!(grown < 1 << 20, "memory grew by {grown} KiB over small files");
}

fn lines(rows: &[serde_json::Value]) -> Vec<u8> {
    rows.iter()
        .map(|row| format!("{row}\n"))
        .collect::<String>()
        .into_bytes()
}

fn pretty(rows: &serde_json::Value) -> Vec<u8> {
    serde_json::to_vec_pretty(rows).unwrap()
}

#[test]
fn harness_samples() {
    use serde_json::json;
    let generated = json!({"doc_id": 0, "doc": {"question": "2+2?", "options": ["3", "4"], "answer": "B", "category": "math", "question_id": 7},
        "target": "B", "arguments": {"gen_args_0": {"arg_0": ["[{\"role\": \"user\"}]"], "arg_1": {"until": ["Question:"]}}},
        "resps": [["So 4. The answer is (B). \u{1f600}"]], "filtered_resps": ["B"], "filter": "custom-extract", "exact_match": 1.0});
    let scored = json!({"doc_id": 1, "doc": {"question": "q", "choices": ["a", "b"], "answer": 0, "subject": "law"}, "target": "0",
        "arguments": [["CTX", " A"], ["CTX", " B"]], "resps": [[["-2.5", "False"]], [["nan", "False"]]],
        "filtered_resps": [["-2.5", "False"], ["nan", "False"]], "acc": 0.0});
    let written = json!([{"doc_id": 0, "prompt_0": "q Answer: A", "logit_0": -1.5, "prompt_1": "q Answer: B", "logit_1": -0.5, "truth": 1}]);
    let seeds = [
        lines(&[generated.clone(), generated.clone(), scored.clone()]),
        pretty(&json!([scored, generated])),
        pretty(&written),
    ];
    withstands("samples_mmlu_law_2025-03-01T10-00-00.000000.jsonl", &seeds, "", 2500);
}

#[test]
fn result_lists() {
    use serde_json::json;
    let row = json!({"question_id": 1, "question": "q \u{e9}", "options": ["a", "b"], "answer": "B", "answer_index": 1, "cot_content": "",
        "category": "law", "src": "s", "pred": null, "model_outputs": "x The answer is (B). Answer: C"});
    let seeds = [
        pretty(&json!([row, "other", row])),
        serde_json::to_vec(&json!([row, row])).unwrap(),
        lines(&[row.clone(), row]),
    ];
    withstands("model_outputs_x_5shots.json", &seeds, "", 2500);
}

#[test]
fn documents() {
    use serde_json::json;
    let sample = json!({"id": 1, "epoch": 1, "input": "q", "choices": ["x", "y"], "target": "B", "messages": [{"role": "user", "content": "q"}],
        "output": {"choices": [{"message": {"content": "ANSWER: B"}}]}, "scores": {"choice": {"value": "C", "answer": "B"}}});
    let log = json!({"version": 2, "eval": {"task": "mmlu", "model": "m"}, "samples": [sample, sample]});
    let state = |mode: &str| {
        json!({"instance": {"input": {"text": "q"}, "id": "id1", "references": [{"output": {"text": "x"}, "tags": []},
        {"output": {"text": "y"}, "tags": ["correct"]}]}, "output_mapping": {"A": "x", "B": "y"}, "train_trial_index": 0, "request_mode": mode,
        "reference_index": 0, "request": {"prompt": "p"}, "result": {"completions": [{"text": " B", "logprob": -1.0}]}})
    };
    let helm = |method: &str| {
        json!({"adapter_spec": {"method": method, "model": "m", "instructions": "(with answers) about law.\n"},
        "request_states": [state("original"), state("calibration"), state("original")]})
    };
    let nested = json!({"m": {"details": {"a": [{"question_id": 1, "pick": "A", "answer": "B", "reasoning": "t"}]}}});
    let seeds = [
        pretty(&log),
        pretty(&helm("multiple_choice_joint")),
        pretty(&helm("multiple_choice_separate_original")),
        pretty(&nested),
    ];
    withstands("document.json", &seeds, "", 2500);
}

#[test]
fn tables() {
    let cloze = "preamble,stimulus,is_correct,subject,stimulus_prob\n\"q (A) 1 and (B) 2. Of the answer choices above, the best is (\",A,0,law,[-1.5]\n\"q (A) 1 and (B) 2. Of the answer choices above, the best is (\",B,1,law,[-0.5]\n";
    let columns = "question_id;pick;answer;reasoning;options\n1;A;B;\"x\ny\";\"['a', 'b']\"\n1;C;B;;\"[\"\"a\"\"]\"\n";
    let closed = "{\"question_id\": 1, \"picks\": [\"A\", \"B\"], \"answer\": \"A\", \"k\": 2, \"correct_count\": 1}\n";
    let seeds = [
        cloze.as_bytes().to_vec(),
        columns.as_bytes().to_vec(),
        closed.as_bytes().to_vec(),
    ];
    withstands("table.csv", &seeds, "", 2500);
}

#[test]
fn archives_and_parquet() {
    use std::io::Write;
    let row = br#"{"question_id": 1, "question": "q", "options": ["a", "b"], "answer": "B", "category": "law", "pred": "B", "response": "t"}"#;
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(row).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let member = |zip: &mut zip::ZipWriter<_>, name: &str, bytes: &[u8]| {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    };
    member(
        &mut zip,
        "header.json",
        br#"{"version": 2, "eval": {"task": "mmlu", "model": "m"}}"#,
    );
    member(&mut zip, "samples/1_epoch_1.json", br#"{"id": 1, "epoch": 1, "input": "q", "choices": ["x", "y"], "target": "B", "scores": {"choice": {"answer": "B"}}}"#);
    let log = zip.finish().unwrap().into_inner();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    member(&mut zip, "rows.jsonl", row);
    let list = zip.finish().unwrap().into_inner();
    let seeds = [
        gz.finish().unwrap(),
        zstd::encode_all(&row[..], 3).unwrap(),
        log,
        list,
        small_parquet(),
    ];
    withstands("packed", &seeds, "reasoning=output", 3000);
}

fn small_parquet() -> Vec<u8> {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    let schema = "message rows { required int64 question_id; optional binary output (UTF8); }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(&mut bytes, schema, std::sync::Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[1, 2], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(&[ByteArray::from("The answer is (A).")], Some(&[1, 0]), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}
