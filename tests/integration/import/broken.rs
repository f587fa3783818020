//! Files that chance has broken: thousands of mutations of each format open or fail, and never panic, hang or swell.

use std::io::Write;
use std::path::Path;

use markbook::check::check;
use markbook::export;
use markbook::import::{Options, parse_map};
use markbook::record::Record;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use serde_json::json;

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

/// Opens a file, and reads, scans, exports and checks what it gives.
fn exercise(path: &Path, options: &Options) {
    let Ok(traces) = open_with(&[path], options) else {
        return;
    };
    for trace in &traces {
        assert!(!trace.kind.contains('\n'));
        for row in 0..trace.rows.len().min(20) {
            let _ = trace.record(row);
            let _ = trace.texts.source(&[row]);
            let _ = trace.texts.source_lines(&[row]);
        }
    }
    let _ = check(&traces, &[]);
}

/// A kind of file: sound ones to begin with, and the map that they are opened by.
struct Kind {
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    map: &'static str,
}

fn mutated() -> impl Strategy<Value = (prop::sample::Index, Vec<Change>)> {
    (any::<prop::sample::Index>(), prop::collection::vec(change(), 1..6))
}

impl Kind {
    fn file(&self, seed: prop::sample::Index, changes: &[Change]) -> Vec<u8> {
        let mut bytes = seed.get(&self.seeds).clone();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        bytes
    }

    fn withstands(&self, cases: u32) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            map: parse_map(self.map).unwrap(),
            ..Options::default()
        };
        let path = folder.path().join(self.name);
        for seed in &self.seeds {
            std::fs::write(&path, seed).unwrap();
            open_with(&[&path], &options).unwrap_or_else(|error| panic!("{}: a sound file: {error:#}", self.name));
        }
        let config = Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        runner
            .run(&mutated(), |(seed, changes)| {
                std::fs::write(&path, self.file(seed, &changes)).unwrap();
                exercise(&path, &options);
                Ok(())
            })
            .unwrap();
    }

    /// Opens and checks a folder of mutated files in a process of its own, which may hold so many kilobytes of data.
    #[cfg(target_os = "linux")]
    fn stays_small(&self, files: usize, kilobytes: usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        for number in 0..files {
            let (seed, changes) = mutated().new_tree(&mut runner).unwrap().current();
            let path = folder.path().join(format!("{number}-{}", self.name));
            std::fs::write(path, self.file(seed, &changes)).unwrap();
        }
        let mut command = format!("ulimit -d {kilobytes}; exec \"$0\" check \"$1\" --json");
        if !self.map.is_empty() {
            command.push_str(&format!(" --map {}", self.map));
        }
        let output = std::process::Command::new("sh")
            .args(["-c", &command, env!("CARGO_BIN_EXE_markbook")])
            .arg(folder.path())
            .env("MARKBOOK_HOME", folder.path().join(".home"))
            .env("RAYON_NUM_THREADS", "2")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code().is_some_and(|code| code < 2),
            "{}: {errors}",
            self.name
        );
        assert!(!errors.contains("panicked"), "{errors}");
    }
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

fn harness_samples() -> Kind {
    let generated = json!({"doc_id": 0, "doc": {"question": "2+2?", "options": ["3", "4"], "answer": "B", "category": "math", "question_id": 7},
        "target": "B", "arguments": {"gen_args_0": {"arg_0": ["[{\"role\": \"user\"}]"], "arg_1": {"until": ["Question:"]}}},
        "resps": [["So 4. The answer is (B). \u{1f600}"]], "filtered_resps": ["B"], "filter": "custom-extract", "exact_match": 1.0});
    let scored = json!({"doc_id": 1, "doc": {"question": "q", "choices": ["a", "b"], "answer": 0, "subject": "law"}, "target": "0",
        "arguments": [["CTX", " A"], ["CTX", " B"]], "resps": [[["-2.5", "False"]], [["nan", "False"]]],
        "filtered_resps": [["-2.5", "False"], ["nan", "False"]], "acc": 0.0});
    let written = json!([{"doc_id": 0, "prompt_0": "q Answer: A", "logit_0": -1.5, "prompt_1": "q Answer: B", "logit_1": -0.5, "truth": 1}]);
    let seeds = vec![
        lines(&[generated.clone(), generated.clone(), scored.clone()]),
        pretty(&json!([scored, generated])),
        pretty(&written),
    ];
    Kind {
        name: "samples_mmlu_law_2025-03-01T10-00-00.000000.jsonl",
        seeds,
        map: "",
    }
}

fn result_lists() -> Kind {
    let row = json!({"question_id": 1, "question": "q \u{e9}", "options": ["a", "b"], "answer": "B", "answer_index": 1, "cot_content": "",
        "category": "law", "src": "s", "pred": null, "model_outputs": "x The answer is (B). Answer: C"});
    let seeds = vec![
        pretty(&json!([row, "other", row])),
        serde_json::to_vec(&json!([row, row])).unwrap(),
        lines(&[row.clone(), row]),
    ];
    Kind {
        name: "model_outputs_x_5shots.json",
        seeds,
        map: "",
    }
}

/// The same with a map over what is known of them.
fn mapped_lists() -> Kind {
    Kind {
        name: "mapped.json",
        map: "pick=answer_index,reasoning=question",
        ..result_lists()
    }
}

fn documents() -> Kind {
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
    let predictions = json!({"0": {"origin_prompt": "q\nA. x\nB. y\nAnswer:", "prediction": "B", "gold": "B"},
        "1": {"label: A": {"PPL": 1.5}, "label: B": {"PPL": 0.5}, "prediction": "B", "gold": "A"}});
    let details = json!({"accuracy": 50.0, "details": {"type": "GEN", "0": {"prompt": "q", "origin_prediction": "B", "predictions": "B", "references": "A"}}});
    let sample = json!({"doc_id": 0, "doc": {"question": "q", "options": ["a", "b"], "answer": "B"}, "target": "B", "arguments": [["p", {}]],
        "resps": [["so (B)"]], "filtered_resps": ["B"]});
    let results = json!({"results": {"t": {}}, "configs": {}, "samples": {"t": [sample, sample], "u": [sample]}});
    let seeds = vec![
        pretty(&predictions),
        pretty(&details),
        pretty(&results),
        pretty(&log),
        pretty(&helm("multiple_choice_joint")),
        pretty(&helm("multiple_choice_separate_original")),
        pretty(&nested),
    ];
    Kind {
        name: "document.json",
        seeds,
        map: "",
    }
}

fn tables() -> Kind {
    let cloze = "preamble,stimulus,is_correct,subject,stimulus_prob\n\"q (A) 1 and (B) 2. Of the answer choices above, the best is (\",A,0,law,[-1.5]\n\"q (A) 1 and (B) 2. Of the answer choices above, the best is (\",B,1,law,[-0.5]\n";
    let columns = "question_id;pick;answer;reasoning;options\n1;A;B;\"x\ny\";\"['a', 'b']\"\n1;C;B;;\"[\"\"a\"\"]\"\n";
    let closed = "{\"question_id\": 1, \"picks\": [\"A\", \"B\"], \"answer\": \"A\", \"k\": 2, \"correct_count\": 1}\n";
    let probs = "0,1,2,3,m_correct,m_choiceA_probs,m_choiceB_probs\nq,x,y,A,1,0.5,0.25\n\"q, r\",x,y,B,0,0.1,0.9\n";
    let own = csv_of(&[own_record(1), own_record(2)]);
    let seeds = vec![
        cloze.as_bytes().to_vec(),
        columns.as_bytes().to_vec(),
        closed.as_bytes().to_vec(),
        probs.as_bytes().to_vec(),
        own,
    ];
    Kind {
        name: "table.csv",
        seeds,
        map: "",
    }
}

fn own_record(id: i64) -> Record {
    Record {
        question_id: id,
        pick: "A".to_owned(),
        answer: "B".to_owned(),
        reasoning: "t, \"u\"\n".to_owned(),
        options: vec!["x".to_owned(), "y".to_owned()],
        logprobs: Some(vec![-1.5, -0.5]),
        doc: Some("{\"a\": 1}".to_owned()),
        ..Record::default()
    }
}

/// Records as our CSV export writes them.
fn csv_of(records: &[Record]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let trace = markbook::trace::Trace::from_records("", "", records.to_vec());
    let options = export::Options {
        format: export::format("csv").unwrap(),
        ..export::Options::jsonl(export::Target::File(path.clone())).unwrap()
    };
    export::write(&trace, &[0, 1], &options).unwrap();
    std::fs::read(path).unwrap()
}

/// Every form of the formats that are told by themselves.
fn other_tools() -> Kind {
    Kind {
        name: "tool.jsonl",
        seeds: super::formats::forms()
            .into_iter()
            .map(|(_, content, ..)| content.into_bytes())
            .collect(),
        map: "",
    }
}

/// Packed rows, logs and parquet.
fn archives() -> Kind {
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
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    member(&mut zip, "set.parquet", &own_parquet());
    let packed_set = zip.finish().unwrap().into_inner();
    Kind {
        name: "packed",
        seeds: vec![
            gz.finish().unwrap(),
            zstd::encode_all(&row[..], 3).unwrap(),
            log,
            list,
            packed_set,
            zstd::encode_all(&own_parquet()[..], 3).unwrap(),
        ],
        map: "",
    }
}

/// Parquet of records, and of columns that a map names.
fn own_parquet_files() -> Kind {
    Kind {
        name: "set.parquet",
        seeds: vec![own_parquet()],
        map: "",
    }
}

fn other_parquet_files() -> Kind {
    Kind {
        name: "other.parquet",
        seeds: vec![small_parquet()],
        map: "reasoning=output",
    }
}

fn own_parquet() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.parquet");
    let records: Vec<Record> = (0..40).map(own_record).collect();
    markbook::parquet::write_records(&path, &records, markbook::parquet::Order::AsGiven).unwrap();
    std::fs::read(path).unwrap()
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

#[test]
fn harness_samples_withstand_chance() {
    harness_samples().withstands(2500);
}

#[test]
fn result_lists_withstand_chance() {
    result_lists().withstands(2000);
    mapped_lists().withstands(500);
}

#[test]
fn documents_withstand_chance() {
    documents().withstands(3500);
}

#[test]
fn files_of_other_tools_withstand_chance() {
    other_tools().withstands(2500);
}

#[test]
fn tables_withstand_chance() {
    tables().withstands(2500);
}

#[test]
fn archives_withstand_chance() {
    archives().withstands(3000);
}

#[test]
fn parquet_files_withstand_chance() {
    own_parquet_files().withstands(1000);
    other_parquet_files().withstands(1000);
}

#[cfg(target_os = "linux")]
#[test]
fn broken_files_take_no_more_memory_than_sound_ones() {
    for kind in [
        harness_samples(),
        result_lists(),
        documents(),
        tables(),
        archives(),
        own_parquet_files(),
        other_parquet_files(),
    ] {
        kind.stays_small(120, 200_000);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_file_takes_a_few_times_its_size_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let row = |id: usize| {
        json!({"question_id": id, "question": "q", "options": ["a", "b"], "answer": "B", "answer_index": 1, "category": "law",
               "pred": "B", "model_outputs": format!("{id} {} The answer is (B).", "think ".repeat(400))})
        .to_string()
    };
    let rows: Vec<String> = (0..16_000).map(row).collect();
    let list = format!("[{}]", rows.join(",\n"));
    let lines = rows.join("\n");
    let size = lines.len();
    assert!(size > 40_000_000, "{size}");
    let files: [(&str, Vec<u8>); 3] = [
        ("list.json", list.into_bytes()),
        ("lines.zst", zstd::encode_all(lines.as_bytes(), 1).unwrap()),
        // Cut within a row, and with a row that never ends.
        (
            "cut.jsonl",
            [
                &lines.as_bytes()[..size - 3000],
                b"{\"question_id\": 9, \"model_outputs\": \"",
                "x".repeat(9_000_000).as_bytes(),
            ]
            .concat(),
        ),
    ];
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -d $0; exec \"$1\" stats \"$2\" --json"])
            .arg((size * 3 / 1024).to_string())
            .arg(env!("CARGO_BIN_EXE_markbook"))
            .arg(&path)
            .env("MARKBOOK_HOME", folder.path().join(".home"))
            .env("RAYON_NUM_THREADS", "2")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
