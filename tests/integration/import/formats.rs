//! Formats of other tools, told by themselves: each opens with the counts that its own tool gives, free text is refused by
//! what it is, titles name the real benchmark.

use std::path::{Path, PathBuf};

use markbook::record::INVALID;
use markbook::trace::Trace;
use serde_json::{Value, json};

use super::{counts, folder, notice, open, open_one, write_one};

/// A question of ours with its options, gold and the letter that a model chose.
const ASKED: [(&str, [&str; 4], usize, usize); 4] = [
    (
        "Which of these floats on water?",
        ["iron", "cork", "lead", "gold"],
        1,
        1,
    ),
    ("How many legs has a spider?", ["four", "six", "eight", "ten"], 2, 0),
    ("Which sea lies by Riga?", ["Baltic", "Black", "Red", "North"], 0, 0),
    ("What do bees make?", ["silk", "milk", "wool", "honey"], 3, 3),
];

const LETTERS: [&str; 4] = ["A", "B", "C", "D"];

fn prompt(question: &str, options: &[&str]) -> String {
    let lines: Vec<String> = options
        .iter()
        .zip(LETTERS)
        .map(|(option, letter)| format!("{letter}. {option}"))
        .collect();
    format!("{question}\n{}\nAnswer:", lines.join("\n"))
}

/// One row a question, made of question, options, gold and pick.
fn rows(row: impl Fn(usize, &str, &[&str], usize, usize) -> Value) -> Vec<Value> {
    let of = |(at, (question, options, gold, pick)): (usize, &(&str, [&str; 4], usize, usize))| {
        row(at, question, options, *gold, *pick)
    };
    ASKED.iter().enumerate().map(of).collect()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// Three of four are right, one picks A for C.
fn holds(trace: &Trace) {
    assert_eq!(counts(trace), (4, 3, 0), "{trace:?} {:?}", trace.notices);
    let picks: String = (0..4).map(|row| trace.rows.pick.get(row)).collect();
    let golds: String = (0..4).map(|row| trace.rows.answer.get(row)).collect();
    assert_eq!((picks.as_str(), golds.as_str()), ("BAAD", "BCAD"), "{trace:?}");
    assert_eq!(notice(trace, "score_differs"), "");
}

fn scores(pick: usize) -> Vec<f64> {
    (0..4)
        .map(|option| if option == pick { -0.25 } else { -2.0 - option as f64 })
        .collect()
}

fn lighteval_scored() -> String {
    lines(&rows(|at, question, options, gold, pick| {
        let query = prompt(question, options);
        json!({
            "doc": {"query": query, "choices": [" A", " B", " C", " D"], "gold_index": [gold], "id": at.to_string(),
                    "task_name": "mmlu:sociology|0"},
            "model_response": {"input": query, "text": [], "logprobs": scores(pick),
                               "argmax_logits_eq_gold": [false, false, false, false]},
            "metric": {"acc": u8::from(gold == pick)}
        })
    }))
}

fn lighteval_generated() -> String {
    lines(&rows(|_, question, options, gold, pick| {
        let query = prompt(question, options);
        json!({
            "doc": {"query": query, "choices": LETTERS, "gold_index": gold, "task_name": "lighteval|mmlu_pro:law|5"},
            "model_response": {"input": [{"role": "user", "content": query}],
                               "text": [format!("Let me think.\n\nAnswer: {}", LETTERS[pick])], "logprobs": []},
            "metric": {"extractive_match": f64::from(u8::from(gold == pick))}
        })
    }))
}

/// As lists stood in the parquet files before 0.10: printed by Python.
fn lighteval_old() -> String {
    lines(&rows(|_, question, options, gold, pick| {
        let predictions: Vec<String> = scores(pick).iter().map(|score| format!("({score}, False)")).collect();
        json!({
            "example": question, "full_prompt": prompt(question, options), "choices": "['A', 'B', 'C', 'D']",
            "gold_index": format!("[{gold}]"), "gold": "[]", "predictions": format!("[{}]", predictions.join(", ")),
            "metrics": format!("{{'acc': {}}}", u8::from(gold == pick)), "cont_tokens": "[[1], [2], [3], [4]]"
        })
    }))
}

fn olmes_scored() -> String {
    lines(&rows(|at, _, _, gold, pick| {
        let output = |score: f64| json!({"sum_logits": score, "num_tokens": 1, "is_greedy": false});
        json!({
            "doc_id": at, "native_id": format!("q{at}"),
            "metrics": {"predicted_index_raw": pick, "correct_choice": gold, "acc_raw": u8::from(gold == pick)},
            "model_output": scores(pick).into_iter().map(output).collect::<Vec<_>>(), "label": gold,
            "model_hash": "m"
        })
    }))
}

fn olmes_generated() -> String {
    lines(&rows(|at, _, _, gold, pick| {
        json!({
            "doc_id": at, "native_id": at, "label": LETTERS[gold],
            "metrics": {"exact_match": u8::from(gold == pick), "model_answer": format!("({})", LETTERS[pick])},
            "model_output": [{"continuation": format!("So the answer is ({}).", LETTERS[pick]), "num_tokens": 7}]
        })
    }))
}

fn evalscope_review(target: fn(usize) -> Value) -> String {
    lines(&rows(|at, question, options, gold, pick| {
        let said = format!("Hm.\n\nANSWER: {}", LETTERS[pick]);
        json!({
            "index": at, "target": target(gold),
            "messages": [{"id": "u", "role": "user", "content": prompt(question, options)},
                         {"id": "a", "role": "assistant", "content": said, "model": "tiny"}],
            "sample_score": {"score": {"value": {"acc": f64::from(u8::from(gold == pick))}, "prediction": said,
                                       "extracted_prediction": LETTERS[pick]},
                             "sample_id": at, "group_id": at, "sample_metadata": {"correct_answer": options[gold]}}
        })
    }))
}

fn evalscope_old() -> String {
    lines(&rows(|at, question, options, gold, pick| {
        let said = format!("It is {}.", LETTERS[pick]);
        json!({
            "id": "chat", "model": "tiny", "subset_name": "ARC-Easy", "index": at,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop",
                         "review": {"gold": LETTERS[gold], "pred": LETTERS[pick], "result": u8::from(gold == pick)}}],
            "raw_input": {"question": question, "choices": {"text": options, "label": LETTERS}, "answerKey": LETTERS[gold]},
            "origin_prompt": {"data": [prompt(question, options)], "multi_choices": LETTERS},
            "usage": {"prompt_tokens": 9, "completion_tokens": 4}
        })
    }))
}

fn evalscope_table() -> String {
    lines(&rows(|at, question, options, gold, pick| {
        json!({
            "Index": at.to_string(), "Input": prompt(question, options), "Generated": LETTERS[pick],
            "Gold": LETTERS[gold], "Pred": "*Same as Generated*", "Score": {"value": {"acc": u8::from(gold == pick)}},
            "NScore": f64::from(u8::from(gold == pick))
        })
    }))
}

fn details(is_scored: bool) -> String {
    lines(&rows(|_, question, options, gold, pick| {
        let choices: serde_json::Map<String, Value> = LETTERS
            .iter()
            .zip(options)
            .map(|(letter, option)| ((*letter).to_owned(), json!(option)))
            .collect();
        let negative: Vec<f64> = scores(pick).into_iter().map(|score| -score).collect();
        json!({
            "task_type": if is_scored { "Choice" } else { "Generative" }, "task_name": "mmlu__0_shot__cot",
            "subtask_name": "mmlu_chat.sociology", "input_question": question, "input_choice_list": choices,
            "input_final_prompts": [prompt(question, options)], "input_correct_responses": [format!(" {}", LETTERS[gold])],
            "output_prediction_text": if is_scored { Value::Null } else { json!([format!("The answer is {}.", LETTERS[pick])]) },
            "output_parsed_answer": if is_scored { Value::Null } else { json!(LETTERS[pick]) },
            "output_choice_negative_log_likelihoods": if is_scored { json!({"raw": negative}) } else { Value::Null },
            "is_correct": gold == pick, "benchmark_label": "MMLU"
        })
    }))
}

/// Samples whose events lie among each other, as threads write them.
fn openai_events() -> String {
    let mut events = vec![
        json!({"spec": {"completion_fns": ["tiny"], "eval_name": "mmlu-sociology.val.ab-v1",
                                          "base_eval": "mmlu-sociology", "run_id": "r"}}),
    ];
    events.extend(rows(|at, question, options, _, pick| {
        json!({"run_id": "r", "event_id": at, "sample_id": format!("mmlu-sociology.val.{at}"), "type": "sampling",
               "data": {"prompt": [{"role": "user", "content": prompt(question, options)}], "sampled": [LETTERS[pick]]}})
    }));
    events.extend(rows(|at, _, _, gold, pick| {
        json!({"run_id": "r", "event_id": 10 + at, "sample_id": format!("mmlu-sociology.val.{at}"), "type": "match",
               "data": {"correct": gold == pick, "expected": LETTERS[gold], "sampled": LETTERS[pick],
                        "picked": if gold == pick { json!(LETTERS[pick]) } else { Value::Null }, "options": [LETTERS[gold]]}})
    }));
    events.push(json!({"final_report": {"accuracy": 0.75}}));
    lines(&events)
}

fn simple_evals_pages() -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let pages = rows(|_, question, options, gold, pick| {
        let message = |role: &str, text: &str| {
            format!(
                "<div class=\"message {role}\"><div class=\"content\"><pre>{}</pre></div></div>",
                escape(text)
            )
        };
        let (asked, said) = (prompt(question, options), format!("a < b\nAnswer: {}", LETTERS[pick]));
        json!(format!(
            "<h3>Prompt conversation</h3>{}<h3>Sampled message</h3>{}<h3>Results</h3>\n<p>Correct Answer: {}</p>\n\
             <p>Extracted Answer: {}</p>\n<p>Score: {}</p>",
            message("user", &asked),
            message("assistant", &said),
            LETTERS[gold],
            LETTERS[pick],
            f64::from(u8::from(gold == pick))
        ))
    });
    json!({"score": 0.75, "metrics": {"chars": 17.0}, "htmls": pages, "convos": []}).to_string()
}

fn promptfoo_result(at: usize, question: &str, options: &[&str], gold: usize, pick: usize) -> Value {
    json!({
        "promptIdx": 0, "testIdx": at, "prompt": {"raw": prompt(question, options), "label": "p"},
        "vars": {"question": question, "A": options[0], "B": options[1], "C": options[2], "D": options[3]},
        "response": {"output": format!("Answer: {}", LETTERS[pick])}, "success": gold == pick, "latencyMs": 20,
        "provider": {"id": "tiny", "label": ""},
        "testCase": {"assert": [{"type": "equals", "value": LETTERS[gold]}, {"type": "latency", "threshold": 9}]}
    })
}

fn promptfoo(version: u8) -> String {
    let results = rows(promptfoo_result);
    json!({"evalId": "e", "config": {}, "results": {"version": version, "prompts": [{"raw": "{{question}}", "provider": "tiny"}],
           "results": results, "stats": {"successes": 3}}})
    .to_string()
}

fn promptfoo_table() -> String {
    let body = rows(|_, question, options, gold, pick| {
        json!({"vars": [question, LETTERS[gold]], "outputs": [{"pass": gold == pick, "score": 1, "text": LETTERS[pick],
               "prompt": prompt(question, options), "provider": "tiny"}], "test": {}})
    });
    json!({"results": {"version": 2, "table": {"head": {"prompts": [{"raw": "x", "provider": "tiny"}],
           "vars": ["question", "answer"]}, "body": body}}, "config": {}})
    .to_string()
}

fn promptfoo_csv() -> String {
    let lines = rows(|_, question, options, gold, pick| {
        json!(format!(
            "{question},{},{},\"Answer: {}\",{},1.00,,ok,\n",
            options.join(","),
            LETTERS[gold],
            LETTERS[pick],
            if gold == pick { "PASS" } else { "FAIL" }
        ))
    });
    let lines: String = lines.iter().filter_map(Value::as_str).collect();
    format!("question,A,B,C,D,answer,[tiny] {{{{question}}}},Status,Score,Named Scores,Grader Reason,Comment\n{lines}")
}

fn deepeval(results: &str, names: [&str; 2]) -> String {
    let cases = rows(|at, question, options, gold, pick| {
        json!({"name": format!("case {at}"), "input": prompt(question, options), names[0]: format!("({})", LETTERS[pick]),
               names[1]: LETTERS[gold], "success": gold == pick, "metricsData": []})
    });
    let run = json!({ results: cases, "hyperparameters": null });
    // A run that is kept has its data one level deeper.
    if results == "testCases" {
        json!({ "testRunData": run })
    } else {
        run
    }
    .to_string()
}

fn deepeval_predictions() -> String {
    let rows = rows(|_, question, options, gold, pick| {
        json!(format!(
            "sociology,\"{}\",{},{},{}\n",
            prompt(question, options),
            LETTERS[pick],
            LETTERS[gold],
            u8::from(gold == pick)
        ))
    });
    let rows: String = rows.iter().filter_map(Value::as_str).collect();
    format!("Task,Input,Prediction,Expected Output,Correct\n{rows}")
}

/// Every form: file name, content, what `kind` begins with, benchmark, subject, name.
pub(super) fn forms() -> Vec<(&'static str, String, &'static str, &'static str, &'static str)> {
    vec![
        (
            "tiny/2026-01-10T10-00-00.000000/details_mmlu:sociology|0_2026-01-10T10-00-00.000000.jsonl",
            lighteval_scored(),
            "lighteval details, multiple choice",
            "mmlu",
            "sociology",
        ),
        (
            "details.jsonl",
            lighteval_generated(),
            "lighteval details, generated",
            "mmlu_pro",
            "law",
        ),
        (
            "tiny/details_harness|hendrycksTest-sociology|5_2023-08-21T20:33:40.867025.jsonl",
            lighteval_old(),
            "lighteval details before 0.10",
            "mmlu",
            "sociology",
        ),
        (
            "tiny/task-002-mmlu_sociology:mc-predictions.jsonl",
            olmes_scored(),
            "OLMES predictions, multiple choice",
            "mmlu",
            "sociology",
        ),
        (
            "tiny/task-003-mmlu_pro_law:cot-predictions.jsonl",
            olmes_generated(),
            "OLMES predictions, generated",
            "mmlu_pro",
            "law",
        ),
        (
            "mmlu_sociology.jsonl",
            evalscope_review(|gold| json!(LETTERS[gold])),
            "evalscope reviews",
            "mmlu",
            "sociology",
        ),
        (
            "mmlu_pro_law.jsonl",
            evalscope_review(|gold| json!([LETTERS[gold]])),
            "evalscope reviews",
            "mmlu_pro",
            "law",
        ),
        (
            "arc_ARC-Easy.jsonl",
            evalscope_old(),
            "evalscope reviews before July 2025",
            "arc",
            "ARC-Easy",
        ),
        (
            "viewed.jsonl",
            evalscope_table(),
            "evalscope reviews as its viewer",
            "viewed",
            "viewed",
        ),
        (
            "details2.jsonl",
            details(false),
            "published details of MMLU",
            "mmlu",
            "sociology",
        ),
        (
            "Details_mmlu_2024-12-02T17-49-00.jsonl",
            details(true),
            "published details of MMLU",
            "mmlu",
            "sociology",
        ),
        (
            "230321_tiny_mmlu.jsonl",
            openai_events(),
            "openai/evals events of mmlu-sociology",
            "mmlu",
            "sociology",
        ),
        (
            "mmlu_tiny_allresults.json",
            simple_evals_pages(),
            "simple-evals results",
            "mmlu",
            "mmlu",
        ),
        ("v2.json", promptfoo(2), "promptfoo output", "", ""),
        ("v3.json", promptfoo(3), "promptfoo output", "", ""),
        ("out.jsonl", lines(&rows(promptfoo_result)), "promptfoo output", "", ""),
        ("table.json", promptfoo_table(), "promptfoo output", "", ""),
        ("out.csv", promptfoo_csv(), "promptfoo output", "", ""),
        (
            "test_run.json",
            deepeval("testCases", ["actualOutput", "expectedOutput"]),
            "deepeval test results",
            "",
            "",
        ),
        (
            "result.json",
            deepeval("test_results", ["actual_output", "expected_output"]),
            "deepeval test results",
            "",
            "",
        ),
        (
            "predictions.csv",
            deepeval_predictions(),
            "deepeval predictions",
            "mmlu",
            "sociology",
        ),
    ]
}

#[test]
fn formats_of_other_tools_open_by_themselves() {
    for (name, content, kind, benchmark, subject) in forms() {
        let (_folder, trace) = write_one(name, &content);
        holds(&trace);
        assert!(trace.kind.starts_with(kind), "{name}: {}", trace.kind);
        assert_eq!(
            (trace.rows.benchmark.get(0), trace.rows.subject.get(0)),
            (benchmark, subject),
            "{name}"
        );
        let record = trace.record(1).unwrap();
        let is_scored = kind.contains("multiple choice") || name.starts_with("Details_") || name.contains("hendrycks");
        assert_eq!(record.logprobs.is_some(), is_scored, "{name}");
        if !name.contains("task-00") {
            assert_eq!(record.options, ["four", "six", "eight", "ten"], "{name}");
            let has_prompt = name == "out.csv" || record.prompt.contains("spider");
            assert!(has_prompt && record.question.contains("spider"), "{name}: {record:?}");
        }
    }
}

#[test]
fn models_are_named_by_file_or_folder() {
    for (name, content, model) in [
        (
            "details_org__m/x/details_mmlu:sociology|0_2026-01-10T10-00-00.000000.jsonl",
            lighteval_scored(),
            "x",
        ),
        (
            "org__m/2026-01-10T10-00-00.000000/details_mmlu:sociology|0_2026-01-10T10-00-00.000000.jsonl",
            lighteval_scored(),
            "org/m",
        ),
        ("a.jsonl", evalscope_review(|gold| json!(LETTERS[gold])), "tiny"),
        ("a.jsonl", openai_events(), "tiny"),
        ("a.json", promptfoo(3), "tiny"),
    ] {
        let (_folder, trace) = write_one(name, &content);
        assert_eq!(trace.name, model, "{name}");
        assert_eq!(trace.model().as_deref(), Some(model), "{name}");
    }
}

#[test]
fn free_text_of_every_tool_is_refused_by_what_it_is() {
    let helm = json!({"adapter_spec": {"method": "generation", "model": "m"}, "request_states": [
        {"instance": {"input": {"text": "Who?"}, "references": [{"output": {"text": "x"}, "tags": ["correct"]},
         {"output": {"text": "y"}, "tags": ["correct"]}], "id": "id1"}, "request": {"prompt": "Who?"},
         "result": {"success": true, "completions": [{"text": "z"}]}}]});
    let olmes = json!({"doc_id": 0, "native_id": 0, "label": "john", "metrics": {"f1": 0.5},
                       "model_output": [{"continuation": "John"}]});
    let lighteval = json!({"doc": {"query": "Who?", "choices": ["John"], "gold_index": 0, "task_name": "squad|0"},
                           "model_response": {"text": ["John"], "logprobs": []}, "metric": {"em": 1}});
    let evalscope = json!({"index": 0, "target": "72", "messages": [{"role": "user", "content": "How many?"}],
                           "sample_score": {"score": {"value": {"acc": 1}, "prediction": "72", "extracted_prediction": "72"}}});
    let foo = json!({"results": {"results": [{"vars": {"name": "Bob"}, "provider": "m", "prompt": {"raw": "Greet"},
                     "response": {"output": "Hello"}, "success": true, "testIdx": 0}]}, "config": {}, "evalId": "e"});
    let deep = json!({"testCases": [{"input": "Hi", "actualOutput": "Hello", "expectedOutput": "Hello there"}]});
    let details = json!({"input_question": "Who?", "input_correct_responses": ["john"], "output_prediction_text": ["John"],
                         "output_parsed_answer": "john", "input_choice_list": null, "benchmark_label": "SQuAD"});
    let events = json!({"run_id": "r", "event_id": 0, "sample_id": "s.0", "type": "match",
                        "data": {"correct": true, "expected": "Paris", "picked": "Paris", "sampled": "Paris"}});
    for (name, content, refusal) in [
        (
            "scenario_state.json",
            helm,
            "a HELM run of free-text answers, no options (method generation)",
        ),
        (
            "task-1-squad-predictions.jsonl",
            olmes,
            "OLMES predictions of free-text answers, no options",
        ),
        (
            "l.jsonl",
            lighteval,
            "lighteval details (squad) of free-text answers, no options",
        ),
        (
            "e.jsonl",
            evalscope,
            "an evalscope run of free-text answers, no options",
        ),
        ("p.json", foo, "promptfoo output of free-text answers, no options"),
        ("d.json", deep, "deepeval results of free-text answers, no options"),
        (
            "m.jsonl",
            details,
            "published details (SQuAD) of free-text answers, no options",
        ),
        ("o.jsonl", events, "of free-text answers, no options"),
    ] {
        let folder = folder(&[(name, &content.to_string())]);
        let error = open(&folder.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(refusal) && error.lines().count() == 1, "{name}: {error}");
    }
}

#[test]
fn a_tools_score_stands_where_its_pick_was_not_stored_and_is_read_otherwise() {
    let row = |said: &str, success: bool| {
        json!({"vars": {"question": "q", "A": "x", "B": "y", "answer": "B"}, "provider": "m", "prompt": {"raw": "q"},
               "response": {"output": said}, "success": success, "testIdx": usize::from(success)})
    };
    let content = lines(&[row("Answer: B", false), row("both are fine", true)]);
    let (_folder, trace) = write_one("p.jsonl", &content);
    assert_eq!(counts(&trace), (2, 1, 1));
    assert!(
        notice(&trace, "score_stands").starts_with("2 rows"),
        "{:?}",
        trace.notices
    );
}

#[test]
fn several_right_answers_count_each() {
    let row = json!({"index": 0, "target": ["A", "C"], "messages": [{"role": "user", "content": prompt("q", &["a", "b", "c", "d"])}],
                     "sample_score": {"score": {"value": {"acc": 1.0}, "prediction": "C", "extracted_prediction": "C"}}});
    let (_folder, trace) = write_one("r.jsonl", &lines(&[row]));
    assert_eq!(counts(&trace), (1, 1, 0));
    assert!(
        notice(&trace, "several_golds").starts_with("1 rows name several golds"),
        "{:?}",
        trace.notices
    );
}

fn samples(rows: &[Value]) -> (tempfile::TempDir, anyhow::Result<Vec<Trace>>) {
    let name = "samples_winogrande_2026-02-01T10-00-00.000000.jsonl";
    let folder = folder(&[(name, &lines(rows))]);
    let opened = open(&folder.path().join(name));
    (folder, opened)
}

fn requests(pairs: &[(&str, &str, f64)]) -> (Value, Value) {
    let arguments = pairs
        .iter()
        .enumerate()
        .map(|(at, (context, text, _))| (format!("gen_args_{at}"), json!({"arg_0": context, "arg_1": text})));
    let scores: Vec<Value> = pairs
        .iter()
        .map(|(.., score)| json!([score.to_string(), "False"]))
        .collect();
    (Value::Object(arguments.collect()), json!(scores))
}

#[test]
fn samples_of_two_contexts_have_the_gold_that_their_document_numbers() {
    let row = |at: usize, answer: &str, first: f64, acc: f64| {
        let (arguments, scores) = requests(&[
            ("The cup fell as the cup", " shook.", first),
            ("The cup fell as the table", " shook.", -3.0),
        ]);
        json!({"doc_id": at, "doc": {"sentence": "The cup fell as _ shook.", "option1": "the cup", "option2": "the table",
               "answer": answer}, "target": " shook.", "arguments": arguments, "resps": [], "filtered_resps": scores,
               "acc": acc, "metrics": ["acc"], "filter": "none"})
    };
    let (_folder, opened) = samples(&[row(0, "2", -4.0, 1.0), row(1, "1", -4.0, 0.0), row(2, "1", -1.0, 1.0)]);
    let trace = opened.unwrap().remove(0);
    assert_eq!(counts(&trace), (3, 2, 0));
    assert_eq!(notice(&trace, "score_differs"), "");
}

#[test]
fn scores_that_are_no_accuracy_are_refused_by_what_they_are() {
    let (arguments, scores) = requests(&[("Q", " No", -3.0), ("Q", " Never", -3.0), ("Q", " Yes", -3.0)]);
    let mass = json!({"doc_id": 0, "doc": {"question": "Can pigs fly?", "mc1_targets": {"choices": ["No"], "labels": [1]},
        "mc2_targets": {"choices": ["No", "Never", "Yes"], "labels": [1, 1, 0]}}, "target": "0", "arguments": arguments,
        "resps": [], "filtered_resps": scores, "acc": 0.667, "metrics": ["acc"]});
    let (arguments, scores) = requests(&[("", "She is kind.", -9.0), ("", "He is kind.", -8.0)]);
    let likelihood = json!({"doc_id": 0, "doc": {"sent_more": "She is kind."}, "target": 0, "arguments": arguments,
        "resps": [], "filtered_resps": scores, "likelihood_diff": 1.0, "metrics": ["likelihood_diff", "pct_stereotype"]});
    for (row, refusal) in [
        (mass, "a score that is a probability mass over several right answers"),
        (
            likelihood,
            "scored by likelihood_diff, pct_stereotype, neither right nor wrong",
        ),
    ] {
        let (_folder, opened) = samples(&[row]);
        let error = opened.unwrap_err().to_string();
        assert!(error.contains(refusal), "{error}");
    }
}

#[test]
fn a_task_scored_by_length_alone_is_picked_by_length() {
    let (arguments, scores) = requests(&[("Q", " no", -3.0), ("Q", " certainly", -4.0)]);
    let row = json!({"doc_id": 0, "doc": {"question": "Q", "choices": ["no", "certainly"]}, "target": 1, "arguments": arguments,
        "resps": [], "filtered_resps": scores, "acc_norm": 1.0, "metrics": ["acc_norm"]});
    let (_folder, opened) = samples(&[row]);
    assert_eq!(counts(&opened.unwrap()[0]), (1, 1, 0));
}

fn public() -> Option<PathBuf> {
    crate::shared().map(|folder| folder.join("data/traces/public-2"))
}

#[test]
fn real_files_of_the_second_collection_have_their_right_counts() {
    let Some(folder) = public() else { return };
    for (file, expected) in [
        ("evalscope/reviews_qwen-plus_iquiz_IQ.jsonl", (10, 10, 0)),
        ("evalscope/reviews_qwen-plus_iquiz_EQ.jsonl", (10, 7, 0)),
        ("helm/philosophy_gpt2/scenario_state.json", (10, 1, 0)),
        ("helm/hellaswag_pythia-1b/scenario_state.json", (10, 3, 0)),
        ("inspect/data_arc_qwen.json", (3, 1, 0)),
        ("inspect/data_arc_sonnet.json", (5, 5, 0)),
        ("redux/virology_text-unicorn.json.zst", (166, 95, 0)),
        ("redux/virology_palmyra-x-v3.json.zst", (166, 95, 0)),
        ("tiger-es/history_result_haiku.json", (83, 42, 4)),
        ("tiger-es/history_result_small.json", (4, 0, 3)),
        ("simple-evals-ru/mmlu_30.jsonl", (100, 53, 2)),
        ("tiger-2026/computer_science_result.json.zst", (410, 350, 1)),
    ] {
        let trace = open_one(&folder.join(file));
        assert_eq!(counts(&trace), expected, "{file}: {:?}", trace.notices);
        assert_eq!(notice(&trace, "score_differs"), "", "{file}");
    }
    let predictions = open_one(&folder.join("evalscope/predictions_qwen-plus_iquiz_IQ.jsonl"));
    assert_eq!(predictions.rows.len(), 10);
    assert!(notice(&predictions, "no_gold").contains("reviews"));
    let error = open(&folder.join("helm/narrative_qa_gpt2/scenario_state.json"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("a HELM run of free-text answers, no options"), "{error}");
}

#[test]
fn titles_name_the_benchmark_that_was_run() {
    let Some(folder) = public() else { return };
    let benchmark = |file: &str| open_one(&folder.join(file)).rows.benchmark.get(0).to_owned();
    assert_eq!(benchmark("helm/philosophy_gpt2/scenario_state.json"), "mmlu");
    assert_ne!(benchmark("helm/hellaswag_pythia-1b/scenario_state.json"), "mmlu");
    assert_eq!(benchmark("inspect/data_arc_qwen.json"), "arc_easy");
    let rows = open_one(&folder.join("simple-evals-ru/mmlu_30.jsonl")).rows;
    assert_eq!(rows.benchmark.list().len(), 1, "{:?}", rows.benchmark.list());
    assert_eq!(rows.benchmark.get(0), "mmlu_pro");
}

#[test]
fn a_run_has_one_model() {
    let Some(folder) = crate::shared().map(|folder| folder.join("data/traces/lm_eval")) else {
        return;
    };
    let runs = markbook::joined::part_runs(open(&folder).unwrap()).unwrap();
    let is_of = |name: &str, folder: &str| name.contains(folder);
    for run in &runs {
        let is_mixed = is_of(&run.name, "gpt-4o") && is_of(&run.name, "gemma")
            || is_of(&run.name, "llama-7B") && is_of(&run.name, "gpt");
        assert!(!is_mixed, "{}", run.name);
    }
    let models: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    assert!(models.iter().any(|name| name.contains("gemma3_12b_u2")), "{models:?}");
}

#[test]
fn an_unreadable_pick_of_a_tool_is_invalid() {
    for pick in [json!(null), json!("?"), json!(""), json!("None"), json!("-")] {
        let row = json!({"id": "law/3", "instruction": prompt("q", &["a", "b", "c", "d"]), "answer": "Hm", "pred": pick, "is_correct": false});
        let (_folder, trace) = write_one("s.jsonl", &lines(&[row]));
        assert_eq!(trace.rows.pick.get(0), INVALID, "{pick}");
    }
}

#[test]
fn a_path_of_real_details_is_one_run_of_many_tasks() {
    let scored = lighteval_scored();
    let name =
        |task: &str| format!("m/2026-01-10T10-00-00.000000/details_mmlu:{task}|0_2026-01-10T10-00-00.000000.jsonl");
    let (one, other) = (name("sociology"), name("law"));
    let folder = folder(&[(one.as_str(), scored.as_str()), (other.as_str(), scored.as_str())]);
    let traces = open(Path::new(folder.path())).unwrap();
    assert_eq!(traces.iter().map(counts).collect::<Vec<_>>(), [(8, 6, 0)]);
    assert!(traces[0].kind.contains("2 tasks"), "{}", traces[0].kind);
}

#[test]
fn predictions_beside_their_reviews_are_left_out() {
    let review = evalscope_review(|gold| json!(LETTERS[gold]));
    let prediction = lines(&rows(|at, question, options, _, pick| {
        let said = json!({"message": {"role": "assistant", "content": LETTERS[pick]}, "stop_reason": "stop"});
        json!({"index": at, "model": "tiny", "model_output": {"choices": [said]},
               "messages": [{"role": "user", "content": prompt(question, options)}]})
    }));
    let files = [
        ("reviews/tiny/mmlu_law.jsonl", review.as_str()),
        ("predictions/tiny/mmlu_law.jsonl", prediction.as_str()),
    ];
    let whole = folder(&files);
    let traces = open(whole.path()).unwrap();
    assert_eq!(traces.iter().map(counts).collect::<Vec<_>>(), [(4, 3, 0)]);
    let alone = folder(&files[1..]);
    let trace = open(alone.path()).unwrap().remove(0);
    assert_eq!(counts(&trace), (4, 0, 0));
    assert!(notice(&trace, "no_gold").contains("reviews"));
}
