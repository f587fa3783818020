//! What is exported comes back: source columns in order, texts to the byte, values equal; and an input is never replaced.

use std::path::Path;

use markbook::export::{self, Extra, Options as ExportOptions, Target};
use markbook::extract::Rule;
use markbook::import::{Options, parse_map};
use markbook::parquet::{Order, write_records};
use markbook::record::{Finish, INVALID, Record, ServedBy};
use markbook::trace::Trace;
use serde_json::{Value, json};

use super::{folder, lm_eval_row, open_one, open_with};

fn options(format: &str, target: &Path) -> ExportOptions {
    ExportOptions {
        format: export::format(format).unwrap(),
        target: Target::File(target.to_owned()),
        ..ExportOptions::jsonl(Target::Stdout).unwrap()
    }
}

/// All rows to a file of that format.
fn exported(trace: &Trace, format: &str, target: &Path) {
    let rows: Vec<u32> = (0..trace.rows.len() as u32).collect();
    let written = export::write(trace, &rows, &options(format, target)).unwrap();
    assert_eq!(
        (written.rows, written.bytes),
        (rows.len(), std::fs::metadata(target).unwrap().len())
    );
}

fn records(trace: &Trace) -> Vec<Record> {
    (0..trace.rows.len())
        .map(|row| (*trace.record(row).unwrap()).clone())
        .collect()
}

/// Texts that trip writers and readers up.
const HARD: [&str; 9] = [
    "plain",
    "line\nbreaks\r\nof both kinds\rand a lone one",
    "quotes \" and 'single', commas; tabs\t",
    "NUL \0 bell \u{7} escape \u{1b}[31m",
    "é ü 漢字 \u{1f600} e\u{301} \u{200b}",
    "{\"looks\": [\"like\", \"JSON\"], \"is\": 1.50}",
    "[not a list",
    "=1+2",
    " blanks at both ends ",
];

fn hard_records() -> Vec<Record> {
    let record = |(i, text): (usize, &&str)| Record {
        question_id: 9_007_199_254_740_993 + i as i64,
        attempt: i as i64 % 2,
        category: "law, \"torts\"\n".to_owned(),
        subject: "torts".to_owned(),
        benchmark: "mine".to_owned(),
        prompt: format!("Ask: {text}"),
        reasoning: (*text).to_owned(),
        reasoning_chars: text.chars().count() as i64,
        pick: if i % 3 == 0 { INVALID } else { "B" }.to_owned(),
        answer: "B".to_owned(),
        correct: i % 3 != 0,
        doc_hash: format!("{i:064x}"),
        prompt_hash: format!("{:064x}", i + 100),
        question: format!("Which? {text}"),
        options: vec![(*text).to_owned(), String::new(), "[x]".to_owned()],
        doc: (i % 2 == 0).then(|| json!({"b": [1, null], "a": text}).to_string()),
        target_hash: "t".to_owned(),
        doc_id: (i % 2 == 0).then_some(3),
        seed: (i % 2 == 1).then_some(43),
        finish: [None, Some(Finish::Length), Some(Finish::Eos)][i % 3],
        prompt_tokens: Some(17),
        output_tokens: (i > 3).then_some(5),
        continuations: (i % 2 == 0).then(|| vec![" A".to_owned(), (*text).to_owned()]),
        continuation_tokens: (i % 2 == 0).then(|| vec![1, 7]),
        logprobs: (i % 2 == 0).then(|| vec![-1.375, -0.1, f32::NEG_INFINITY]),
        greedy: (i % 2 == 0).then(|| vec![true, false, false]),
        letter_mass: (i % 2 == 0).then_some(0.3),
        top_token: (i % 2 == 0).then(|| " B\n".to_owned()),
        flags: if i % 4 == 0 {
            vec!["truncated".to_owned()]
        } else {
            Vec::new()
        },
        seconds: 0.1,
        served: Some(Box::new(ServedBy {
            replica: "gpu1:8000".to_owned(),
            request_id: Some((*text).to_owned()),
            tries: 1,
            ..ServedBy::default()
        })),
    };
    HARD.iter().enumerate().map(record).collect()
}

#[test]
fn our_own_rows_come_back_whole_from_every_format() {
    let folder = folder(&[]);
    let at = |name: &str| folder.path().join(name);
    write_records(&at("set.parquet"), &hard_records(), Order::AsGiven).unwrap();
    let source = open_one(&at("set.parquet"));
    assert_eq!(records(&source), hard_records());
    for format in ["jsonl", "csv", "parquet"] {
        let (first, second) = (at(&format!("one.{format}")), at(&format!("two.{format}")));
        exported(&source, format, &first);
        let back = open_one(&first);
        for (own, wanted) in records(&back).iter().zip(hard_records()) {
            assert_eq!(*own, wanted, "{format}");
        }
        assert_eq!(back.rows.len(), HARD.len());
        exported(&back, format, &second);
        assert_eq!(
            std::fs::read(&first).unwrap(),
            std::fs::read(&second).unwrap(),
            "{format} is stable"
        );
    }
}

#[test]
fn json_rows_are_exported_as_they_are_written() {
    let row = lm_eval_row(0, "B").replace(
        "So 4. The answer is (B).",
        r"\frac{1}{2}\u001b[31m \ud83d \u00e9 The answer is (B).",
    );
    let odd = row.replacen(
        '{',
        r#"{"big": 123456789012345678901234567890, "price": 1.50, "odd": NaN, "none": null, "#,
        1,
    );
    let indented = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&lm_eval_row(2, "A")).unwrap()).unwrap();
    let folder = folder(&[(
        "samples.jsonl",
        &format!("{odd}\n{}\n{indented}\n", lm_eval_row(1, "B")),
    )]);
    let trace = open_one(&folder.path().join("samples.jsonl"));
    let out = folder.path().join("out.jsonl");
    exported(&trace, "jsonl", &out);
    let text = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].starts_with(
            r#"{"big":123456789012345678901234567890,"price":1.50,"odd":NaN,"none":null,"doc_id":0,"doc":{"#
        ),
        "{}",
        lines[0]
    );
    assert!(
        lines[0].contains(r#""resps":[["\frac{1}{2}\u001b[31m \ud83d \u00e9 The answer is (B)."]]"#),
        "{}",
        lines[0]
    );
    assert_eq!(lines[1], lm_eval_row(1, "B"));
    let back = open_one(&out);
    assert_eq!(records(&back), records(&trace));
    let again = folder.path().join("again.jsonl");
    exported(&back, "jsonl", &again);
    assert_eq!(std::fs::read_to_string(&again).unwrap(), text);
    let table = folder.path().join("out.csv");
    exported(&trace, "csv", &table);
    let header = std::fs::read_to_string(&table)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .to_owned();
    assert!(
        header.starts_with("big,price,odd,none,doc_id,doc,target,arguments,resps"),
        "{header}"
    );
    let back = open_one(&table);
    assert!(back.kind.starts_with("lm-eval"), "{}", back.kind);
    assert_eq!(back.rows.len(), 3);
    assert_eq!(back.record(1).unwrap(), trace.record(1).unwrap());
}

#[test]
fn the_authors_rows_keep_their_hash_through_a_table() {
    let row = |id: usize| {
        json!({"question_id": id, "question": "q, \"x\"\n", "options": ["a", "b"], "answer": "B", "answer_index": 1,
        "cot_content": "", "category": "law", "src": "s", "pred": null, "model_outputs": "so B.\r\nAnswer: C"})
    };
    let folder = folder(&[("m.json", &json!([row(1), row(2)]).to_string())]);
    let trace = open_one(&folder.path().join("m.json"));
    let table = folder.path().join("m.csv");
    exported(&trace, "csv", &table);
    assert_eq!(records(&open_one(&table)), records(&trace));
}

#[test]
fn tables_of_other_columns_keep_all_of_them() {
    let csv = "id;pred;gold;text;extra\n1;A;A;\"x\r\ny\";\"[1, 2]\"\n2;;B;;é\n";
    let folder = folder(&[("t.csv", csv)]);
    let map = || Options {
        map: parse_map("pick=pred,answer=gold,reasoning=text,question_id=id").unwrap(),
        ..Options::default()
    };
    let trace = open_with(&[&folder.path().join("t.csv")], &map()).unwrap().remove(0);
    let out = folder.path().join("t.jsonl");
    exported(&trace, "jsonl", &out);
    assert_eq!(
        std::fs::read_to_string(&out).unwrap().lines().next().unwrap(),
        r#"{"id":"1","pred":"A","gold":"A","text":"x\r\ny","extra":"[1, 2]"}"#
    );
    let back = open_with(&[&out], &map()).unwrap().remove(0);
    assert_eq!(records(&back), records(&trace));
}

#[test]
fn columns_of_a_parquet_set_that_nobody_knows_are_exported_in_their_order_with_nulls() {
    use arrow::array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};
    use std::sync::Arc;
    let folder = folder(&[]);
    let path = folder.path().join("set.parquet");
    let texts = |list: Vec<Option<&str>>| Arc::new(StringArray::from(list)) as ArrayRef;
    let numbers =
        ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>(vec![Some(vec![Some(1), None]), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("extra", Arc::new(numbers)),
        ("question_id", Arc::new(Int64Array::from(vec![2, 1]))),
        ("pick", texts(vec![None, Some("A")])),
        ("answer", texts(vec![Some("A"), Some("A")])),
        ("weight", Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(1.5)]))),
        ("reasoning", texts(vec![None, Some("x\0\u{1f600}")])),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .unwrap();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let trace = open_one(&path);
    let out = folder.path().join("out.jsonl");
    exported(&trace, "jsonl", &out);
    assert_eq!(
        std::fs::read_to_string(&out).unwrap(),
        concat!(
            r#"{"extra":[1,null],"question_id":2,"pick":null,"answer":"A","weight":"NaN","reasoning":null}"#,
            "\n",
            r#"{"extra":null,"question_id":1,"pick":"A","answer":"A","weight":1.5,"reasoning":"x\u0000😀"}"#,
            "\n"
        )
    );
    assert_eq!(records(&open_one(&out)).len(), 2);
}

#[test]
fn a_table_has_every_column_that_any_row_has() {
    let rows = [
        "{\"pick\":\"A\",\"answer\":\"A\"}",
        "{\"pick\":\"B\",\"answer\":\"A\",\"note\":\"n\"}",
    ];
    let folder = folder(&[("rows.jsonl", &rows.join("\n"))]);
    let out = folder.path().join("rows.csv");
    exported(&open_one(&folder.path().join("rows.jsonl")), "csv", &out);
    assert_eq!(
        std::fs::read_to_string(&out).unwrap(),
        "pick,answer,note\nA,A,\nB,A,n\n"
    );
}

#[test]
fn added_columns_stand_after_the_source_columns() {
    let folder = folder(&[("samples.jsonl", &lm_eval_row(0, "B"))]);
    let trace = open_one(&folder.path().join("samples.jsonl"));
    let out = folder.path().join("out.jsonl");
    let with = ExportOptions {
        with: vec![Extra::Why, Extra::Match, Extra::Marks],
        marks: std::collections::HashSet::from([0]),
        ..options("jsonl", &out)
    };
    export::write(&trace, &[0], &with).unwrap();
    let line = std::fs::read_to_string(&out).unwrap();
    let tail = r#","why":null,"match_start":10,"match_end":23,"marks":true}"#;
    assert_eq!(
        line.trim_end(),
        lm_eval_row(0, "B").trim_end_matches('}').to_owned() + tail
    );
    let mut read_again = trace.clone();
    markbook::rescore::rescore(&mut read_again, &Rule::parse("tiger_chain").unwrap()).unwrap();
    export::write(
        &read_again,
        &[0],
        &ExportOptions {
            force: true,
            ..options("jsonl", &out)
        },
    )
    .unwrap();
    let row: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(
        (&row["pick_tiger_chain"], &row["correct_tiger_chain"]),
        (&json!("B"), &json!(true))
    );
}

#[cfg(unix)]
#[test]
fn an_input_is_never_replaced_whatever_leads_to_it() {
    let folder = folder(&[
        ("in/samples_t_2025-03-01T10-00-00.000000.jsonl", &lm_eval_row(0, "B")),
        ("in/samples_u_2025-03-01T10-00-00.000000.jsonl", &lm_eval_row(1, "B")),
    ]);
    let at = |name: &str| folder.path().join(name);
    let input = at("in/samples_u_2025-03-01T10-00-00.000000.jsonl");
    std::os::unix::fs::symlink(&input, at("soft.jsonl")).unwrap();
    std::fs::hard_link(&input, at("hard.jsonl")).unwrap();
    std::os::unix::fs::symlink(at("in"), at("other")).unwrap();
    let trace = open_one(&at("in"));
    assert_eq!(trace.rows.len(), 2, "two files are one run, and both are inputs");
    let before = std::fs::read(&input).unwrap();
    for name in [
        "in/samples_u_2025-03-01T10-00-00.000000.jsonl",
        "in/../in/samples_t_2025-03-01T10-00-00.000000.jsonl",
        "other/samples_u_2025-03-01T10-00-00.000000.jsonl",
        "soft.jsonl",
        "hard.jsonl",
    ] {
        let forced = ExportOptions {
            force: true,
            ..options("jsonl", &at(name))
        };
        let error = export::write(&trace, &[0], &forced).unwrap_err().to_string();
        assert!(error.contains("never replaces its input"), "{name}: {error}");
    }
    assert_eq!(std::fs::read(&input).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_written_through() {
    let folder = folder(&[("rows.jsonl", &lm_eval_row(0, "B")), ("target.jsonl", "old")]);
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink(at("target.jsonl"), at("link.jsonl")).unwrap();
    let trace = open_one(&at("rows.jsonl"));
    let error = export::write(&trace, &[0], &options("jsonl", &at("link.jsonl")))
        .unwrap_err()
        .to_string();
    assert!(error.contains("--force"), "{error}");
    let forced = ExportOptions {
        force: true,
        ..options("jsonl", &at("link.jsonl"))
    };
    export::write(&trace, &[0], &forced).unwrap();
    assert!(
        at("link.jsonl").is_symlink()
            && std::fs::read_to_string(at("target.jsonl"))
                .unwrap()
                .starts_with("{\"doc_id\"")
    );
    let written = export::write(&trace, &[0], &options("jsonl", Path::new("/dev/null"))).unwrap();
    assert_eq!(written.rows, 1);
    assert!(!Path::new("/dev/null").is_file(), "a device stays what it is");
}

/// Pick, gold and right or wrong of the first rows, sorted.
fn answers(trace: &Trace, most: usize) -> Vec<(String, String, bool)> {
    let one = |row: usize| {
        let record = trace.record(row).unwrap();
        (record.pick.clone(), record.answer.clone(), record.correct)
    };
    let mut answers: Vec<_> = (0..trace.rows.len().min(most)).map(one).collect();
    answers.sort();
    answers
}

/// Rows of a trace that are tried.
const MOST: usize = 300;

/// Exports a trace in every format that can be written, opens each again, and tells what is not as it was.
fn lost(trace: &Trace) -> Vec<String> {
    let before = answers(trace, MOST);
    let rows: Vec<u32> = (0..before.len() as u32).collect();
    let loss = |format: &export::Format| {
        let folder = tempfile::tempdir().unwrap();
        let target = format.named(&folder.path().join("slice"));
        if let Err(error) = export::write(trace, &rows, &options(format.name, &target)) {
            // The harness's files hold rows of some kinds only; what they cannot hold is refused.
            return Some(format!("{error:#}")).filter(|_| format.name != "lm-eval");
        }
        let opened = match open_with(&[&target], &Options::default()) {
            Ok(opened) => opened,
            Err(error) => return Some(format!("{error:#}")),
        };
        let mut after: Vec<_> = opened.iter().flat_map(|trace| answers(trace, usize::MAX)).collect();
        after.sort();
        let first = after.iter().zip(&before).find(|(after, before)| after != before);
        (after != before).then(|| format!("{} rows for {}: {first:?}", after.len(), before.len()))
    };
    let losses = export::ALL
        .iter()
        .filter_map(|format| Some((format.name, loss(format)?)));
    losses
        .map(|(format, loss)| format!("{} as {format}: {loss}", trace.kind))
        .collect()
}

#[test]
fn every_source_comes_back_from_every_format() {
    let mut problems = Vec::new();
    for (name, content, ..) in super::formats::forms() {
        let (_folder, trace) = super::write_one(name, &content);
        problems.extend(lost(&trace));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_shared_trace_comes_back_from_every_format() {
    let Some(folder) = crate::shared().map(|folder| folder.join("data/traces")) else {
        return;
    };
    let mut problems = Vec::new();
    // One part at a time: the whole folder would be held at once.
    for part in std::fs::read_dir(folder).unwrap() {
        for trace in super::open(&part.unwrap().path()).unwrap_or_default() {
            problems.extend(lost(&trace));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
