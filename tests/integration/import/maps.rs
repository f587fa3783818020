//! `--map`: over unknown tables, over known formats, and refused where it cannot hold.

use std::path::Path;

use markbook::import::{Options, parse_map};
use markbook::record::INVALID;
use markbook::trace::Trace;
use serde_json::{Value, json};

use super::{counts, folder, lm_eval_row, notice, open_with};

fn mapped(path: &Path, map: &str) -> anyhow::Result<Trace> {
    let options = Options {
        map: parse_map(map)?,
        ..Options::default()
    };
    Ok(open_with(&[path], &options)?.remove(0))
}

fn refused(path: &Path, map: &str) -> String {
    let error = format!("{:#}", mapped(path, map).unwrap_err());
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn a_map_stands_over_the_columns_that_a_known_format_takes() {
    let row = json!({"question_id": 7, "question": "q", "options": ["a", "b", "c"], "answer": "B", "answer_index": 1, "cot_content": "",
        "category": "law", "src": "s", "pred": "A", "model_outputs": "The answer is (A).", "second": {"letter": "B"}, "judge": "C"});
    let folder = folder(&[("m.json", &json!([row]).to_string())]);
    let path = folder.path().join("m.json");
    let plain = mapped(&path, "").unwrap();
    let trace = mapped(&path, "pick=second.letter").unwrap();
    assert_eq!((plain.rows.pick.get(0), trace.rows.pick.get(0)), ("A", "B"));
    assert_eq!(counts(&trace), (1, 1, 0));
    let record = trace.record(0).unwrap();
    assert_eq!(
        (record.reasoning.as_str(), record.options.len(), record.doc_hash.len()),
        ("The answer is (A).", 3, 64),
        "what the map does not name stays as the format has it"
    );
    assert!(
        trace.kind.starts_with("MMLU-Pro authors' result list") && trace.kind.contains("pick=second.letter"),
        "{}",
        trace.kind
    );
    let trace = mapped(&path, "answer=judge,reasoning=question").unwrap();
    assert_eq!(
        (trace.rows.answer.get(0), trace.record(0).unwrap().reasoning.as_str()),
        ("C", "q")
    );
    assert_eq!(counts(&trace), (1, 0, 0));
}

#[test]
fn a_map_reaches_into_harness_samples_and_inspect_logs() {
    let mut row: Value = serde_json::from_str(&lm_eval_row(0, "B")).unwrap();
    row["judged"] = json!("A");
    let sample = json!({"id": 1, "epoch": 1, "input": "q", "choices": ["x", "y"], "target": "B", "messages": [],
        "output": {"choices": [{"message": {"content": "ANSWER: B"}}]},
        "scores": {"choice": {"value": "C", "answer": "B"}, "other": {"value": "I", "answer": "A"}}});
    let log = json!({"version": 2, "eval": {"task": "mmlu", "model": "m"}, "samples": [sample]});
    let folder = folder(&[("samples.jsonl", &row.to_string()), ("log.json", &log.to_string())]);
    let trace = mapped(&folder.path().join("samples.jsonl"), "pick=judged").unwrap();
    assert_eq!((trace.rows.pick.get(0), trace.rows.correct[0]), ("A", false));
    assert_eq!(trace.record(0).unwrap().prompt, "PROMPT");
    let trace = mapped(&folder.path().join("log.json"), "pick=scores.other.answer").unwrap();
    assert_eq!((trace.rows.pick.get(0), trace.rows.subject.get(0)), ("A", ""));
}

#[test]
fn a_column_that_is_not_there_is_refused_with_those_that_are() {
    let tiger = json!([{"question_id": 1, "question": "q", "options": ["a", "b"], "answer": "B", "category": "law", "pred": "B", "response": "t"}]);
    let folder = folder(&[
        ("known.json", &tiger.to_string()),
        ("samples.jsonl", &lm_eval_row(0, "B")),
        ("unknown.csv", "id,guess,key\n1,A,B\n2,B,B\n"),
    ]);
    for (name, columns) in [
        (
            "known.json",
            "question_id, question, options, answer, category, pred, response",
        ),
        ("samples.jsonl", "doc_id, doc, target, arguments, resps"),
        ("unknown.csv", "id, guess, key"),
    ] {
        let error = refused(&folder.path().join(name), "pick=nothing");
        assert!(
            error.contains("--map pick=nothing: no column nothing; the columns are: ") && error.contains(columns),
            "{name}: {error}"
        );
    }
    let error = refused(&folder.path().join("samples.jsonl"), "question=doc.nothing");
    assert!(error.contains("no column doc.nothing"), "{error}");
    let error = refused(&folder.path().join("unknown.csv"), "options=guess+other,pick=guess");
    assert!(error.contains("no column other"), "{error}");
    for (map, said) in [
        (
            "picks=guess",
            "no column picks of ours; known: pick, answer, reasoning, prompt",
        ),
        ("pick=guess,pick=key", "names pick twice"),
        ("pick", "no = in \"pick\""),
        ("pick=", "no column of the file is named"),
    ] {
        let error = refused(&folder.path().join("unknown.csv"), map);
        assert!(error.contains(said), "{map}: {error}");
    }
}

#[test]
fn where_a_record_is_made_of_several_rows_a_map_is_refused() {
    let cloze =
        "preamble,stimulus,is_correct,subject,stimulus_prob\nq (A) 1 (B) 2,A,0,law,-1\nq (A) 1 (B) 2,B,1,law,-2\n";
    let folder = folder(&[("cloze.csv", cloze), ("run/run.json", "{}"), ("run/journal.jsonl", "")]);
    let error = refused(&folder.path().join("cloze.csv"), "pick=stimulus");
    assert!(
        error.contains("--map does not apply to tables of log-probabilities"),
        "{error}"
    );
    let error = refused(&folder.path().join("run"), "pick=reasoning");
    assert!(
        error.contains("--map does not apply to a run folder of markbook's own"),
        "{error}"
    );
}

#[test]
fn options_may_stand_in_columns_of_their_own() {
    let table = "No,Frage,A,B,C,loesung,antwort\n1,q,w,x,y,2,1\n2,q,w,x,y,0,NaN\n";
    let folder = folder(&[("t.csv", table)]);
    let path = folder.path().join("t.csv");
    let trace = mapped(&path, "pick=antwort,answer=loesung,question=Frage,question_id=No").unwrap();
    assert_eq!(trace.record(0).unwrap().options, ["w", "x", "y"]);
    let picks: Vec<&str> = (0..2).map(|row| trace.rows.pick.get(row)).collect();
    assert_eq!((picks, trace.rows.answer.get(0)), (vec!["B", INVALID], "C"));
    let trace = mapped(&path, "pick=antwort,answer=loesung,options=A+C").unwrap();
    assert_eq!(trace.record(0).unwrap().options, ["w", "y"]);
    assert!(
        notice(&trace, "number_pick").contains("counted from 1"),
        "a gold of 2 is beyond two options"
    );
}

#[test]
fn an_unknown_table_is_refused_with_a_map_to_begin_with() {
    for (rows, map) in [
        (
            json!([{"Question": "q", "choices": ["a", "b"], "Answer": "B", "LLM_Answer": "A", "Subject": "law"}]),
            "--map pick=LLM_Answer,answer=Answer,question=Question,options=choices,category=Subject",
        ),
        (
            json!([{"index": 1, "target": "B", "sample_score": {"score": {"extracted_prediction": "B", "prediction": "so B"}}}]),
            "--map pick=sample_score.score.extracted_prediction,answer=target,reasoning=sample_score.score.prediction,question_id=index",
        ),
        (
            json!([{"prompt": "p", "model_answer": "A", "correct_answer": "A", "is_correct": true}]),
            "--map pick=model_answer,answer=correct_answer,correct=is_correct",
        ),
    ] {
        let folder = folder(&[("rows.json", &rows.to_string())]);
        let error = refused(&folder.path().join("rows.json"), "");
        assert!(error.contains(map), "{error}");
        let found = error.split("--map ").nth(1).unwrap();
        assert_eq!(
            mapped(&folder.path().join("rows.json"), found).unwrap().rows.len(),
            1,
            "{found}"
        );
    }
}

/// The file's rows as the map that its refusal offers opens them.
fn by_its_own_map(rows: &[Value]) -> (usize, usize, usize) {
    let folder = folder(&[("t.json", &json!(rows).to_string())]);
    let path = folder.path().join("t.json");
    let told = refused(&path, "");
    let offered = told.rsplit("--map ").next().unwrap().trim_matches('\'');
    counts(&mapped(&path, offered).unwrap())
}

#[test]
fn the_map_that_is_offered_counts_the_rows_rightly() {
    // Column names, then how gold (from 0) and pick are written; four rows, two right, one with nothing read.
    type Write = fn(usize) -> Value;
    let letter: Write = |at| json!(["a", "b", "c", "d"][at]);
    let said: Write = |at| json!(format!("Option {}", ["A", "B", "C", "D"][at]));
    let shown: Write = |at| json!(format!("({}) metal {at}", ["A", "B", "C", "D"][at]));
    let number: Write = |at| json!([at]);
    let listed = json!({"text": ["iron", "tin", "lead", "zinc"], "label": ["A", "B", "C", "D"]});
    for (gold_name, pick_name, gold, pick, options) in [
        ("target", "prediction", letter, said, Some(("choices", listed.clone()))),
        (
            "Correct Answer",
            "Model Answer",
            letter,
            letter,
            Some(("Options", listed.clone())),
        ),
        ("answer_index", "pred_index", number, letter, Some(("options", listed))),
        ("gold", "predicted", shown, said, None),
        ("label", "model_pred", number, shown, None),
    ] {
        let row = |at: usize| {
            let picked = if at == 3 {
                json!("parse_error")
            } else {
                pick([0, 1, 3][at])
            };
            let mut row =
                json!({"question": format!("which metal is number {at}?"), gold_name: gold(at), pick_name: picked});
            if let Some((name, list)) = &options {
                row[*name] = list.clone();
            }
            row
        };
        let rows: Vec<Value> = (0..4).map(row).collect();
        assert_eq!(by_its_own_map(&rows), (4, 2, 1), "{gold_name} {pick_name}");
    }
}

#[test]
fn options_counted_from_nought_are_all_there() {
    let row = |at: usize| {
        json!({"question": "which?", "opt0": "iron", "opt1": "tin", "opt2": "lead", "opt3": "zinc",
            "label": (["iron", "tin", "lead", "zinc"][at]), "model_pred": (["A.", "B.", "D.", "D."][at])})
    };
    let rows: Vec<Value> = (0..4).map(row).collect();
    assert_eq!(by_its_own_map(&rows), (4, 3, 0));
}

#[test]
fn texts_that_are_never_equal_are_told() {
    let row = |at: usize| json!({"question": "which?", "answer": format!("metal {at}"), "guess": format!("ore {at}")});
    let rows: Vec<Value> = (0..3).map(row).collect();
    let folder = folder(&[("t.json", &json!(rows).to_string())]);
    let trace = mapped(&folder.path().join("t.json"), "pick=guess,answer=answer").unwrap();
    assert!(
        notice(&trace, "unread_texts").starts_with("3 of 3 picks"),
        "{:?}",
        trace.notices
    );
}
