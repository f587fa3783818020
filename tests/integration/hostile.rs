//! Models and settings that mean ill or are broken: the program refuses each in one line, in time and within memory.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{cases, tiny};

/// Kinds of the shared faults that are told here; those of the hub stand in `hub`.
const KINDS: [&str; 3] = ["template/", "model/", "secrets/"];

#[test]
fn every_hostile_model_or_setting_of_the_cases_is_refused_in_one_line() {
    let all = cases("faults.jsonl");
    for case in &all {
        if KINDS
            .iter()
            .any(|kind| case["kind"].as_str().unwrap().starts_with(kind))
        {
            refused(case, &command_of(case, &all));
        }
    }
}

/// A case's command; `as ID` takes that of another.
fn command_of(case: &Value, all: &[Value]) -> String {
    let command = case["command"].as_str().unwrap();
    match command.strip_prefix("as ") {
        Some(id) => command_of(all.iter().find(|case| case["id"] == id).unwrap(), all),
        None => command.to_owned(),
    }
}

/// What was said, and the most memory in MiB.
fn refused(case: &Value, command: &str) -> (String, u64) {
    let home = tempfile::tempdir().unwrap();
    let model = tiny::write(home.path(), 3);
    for (name, content) in case["files"].as_object().into_iter().flatten() {
        write(&model.join(name), content);
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_markbook"));
    program.args(
        command
            .split_whitespace()
            .map(|word| if word == "M" { model.to_str().unwrap() } else { word }),
    );
    program
        .current_dir(home.path())
        .env("MARKBOOK_HOME", home.path().join("home"))
        .env("HF_HOME", home.path().join("hf"));
    for (name, value) in case["env"].as_object().into_iter().flatten() {
        program.env(name, value.as_str().unwrap());
    }
    let expected = &case["expected"];
    let seconds = expected["seconds_at_most"].as_u64().unwrap_or(60);
    let (output, memory) = run(program, Duration::from_secs(seconds));
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let exit = expected["exit"].as_i64().unwrap_or(1);
    assert_eq!(output.status.code(), Some(exit as i32), "{case}: {said}");
    assert!(!said.contains("panicked"), "{case}: {said}");
    if let Some(most) = expected["memory_mb_at_most"].as_u64() {
        assert!(memory <= most, "{case}: {memory} MiB");
    }
    for word in ["chat template", "limit", "tokenizer.json", "config.json"] {
        let is_wanted = expected["message"]
            .as_str()
            .is_some_and(|message| message.contains(word));
        assert!(!is_wanted || said.contains(word), "{case}: no {word} in {said}");
    }
    assert!(
        expected["told"].as_str().is_none_or(|told| said.contains(told)),
        "{case}: {said}"
    );
    assert!(
        expected["not_in_message"]
            .as_str()
            .is_none_or(|word| !said.contains(word)),
        "{case}: {said}"
    );
    (said.into_owned(), memory)
}

/// A file as it is given: its text, changes of the one that is there, or an object that is written as JSON.
fn write(path: &Path, content: &Value) {
    let text = match content {
        Value::String(text) => text.clone(),
        changed if changed.get("with").is_some() => {
            let mut json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            for (key, value) in changed["with"].as_object().unwrap() {
                json[key] = repeated(value);
            }
            json.to_string()
        }
        other => repeated(other).to_string(),
    };
    std::fs::write(path, text).unwrap();
}

/// `{"before": …, "repeat": …, "times": …, "after": …}` as the text that it stands for, wherever it is.
fn repeated(value: &Value) -> Value {
    if let (Some(text), Some(times)) = (value["repeat"].as_str(), value["times"].as_u64()) {
        let part = |name: &str| value[name].as_str().unwrap_or_default();
        return Value::String(part("before").to_owned() + &text.repeat(times as usize) + part("after"));
    }
    match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), repeated(value)))
            .collect(),
        Value::Array(items) => items.iter().map(repeated).collect(),
        other => other.clone(),
    }
}

/// Runs it, at most so long; with the most memory it held, in MiB, where the platform tells.
fn run(mut program: Command, most: Duration) -> (Output, u64) {
    let begun = Instant::now();
    let mut child = program
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut memory = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let held = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        memory = memory.max(held.unwrap_or(0) / 1024);
        if begun.elapsed() > most + Duration::from_secs(5) {
            child.kill().unwrap();
            panic!("it takes more than {most:?}: {program:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (child.wait_with_output().unwrap(), memory)
}

/// A case of our own.
fn case(files: Value, message: &str) -> Value {
    json!({"files": files, "expected": {"exit": 1, "message": message, "memory_mb_at_most": 600, "seconds_at_most": 20}})
}

const RUN: &str = "run --model M --benchmark mmlu_pro --chat on --data embedded --limit 2 --max-tokens 8 --plain";

#[test]
fn templates_of_every_kind_of_excess_are_stopped_at_a_limit() {
    let chain = |before: &str, repeat: &str, after: &str| json!({"chat_template": {"before": before, "repeat": repeat, "times": 100_000, "after": after}});
    for template in [
        chain("{{ ", "-", "1 }}"),
        chain("{{ x", ".a", " }}"),
        chain("{{ 'a'", "|upper", " }}"),
        chain("{{ ", "(", "1 }}"),
        chain("", "{% if 1 %}", ""),
        json!({"chat_template": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"}),
        json!({"chat_template": "{% set s = 'a' * 1000000 %}{{ s.replace('a', s) }}"}),
        json!({"chat_template": "{{ 'a' * 1000000000 }}"}),
        json!({"chat_template": "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = [n.l, n.l] %}{% endfor %}"}),
        json!({"chat_template": "{% set s = 'a' * 10000000 %}{% for i in range(99999) %}{{ s.find('b') }}{% endfor %}"}),
    ] {
        refused(
            &case(json!({"tokenizer_config.json": template}), "chat template limit"),
            RUN,
        );
    }
}

#[test]
fn no_password_of_an_address_is_told() {
    for (command, env) in [
        (
            "fetch org/name",
            json!({"HF_ENDPOINT": "https://ada:Hush99@127.0.0.1:1"}),
        ),
        (
            "fetch org/name",
            json!({"HF_ENDPOINT": "http://127.0.0.1:1?token=Hush99"}),
        ),
        ("fetch org/name", json!({"HF_ENDPOINT": "ftp://ada:Hush99@hub.example"})),
        (
            "fetch org/name",
            json!({"HF_ENDPOINT": "https://ada:Hush/99@hub.example"}),
        ),
        (
            "run --model https://ada:Hush99@hub.example/org/name --data embedded --plain",
            json!({}),
        ),
        ("stats https://ada:Hush99@hub.example/a.jsonl", json!({})),
    ] {
        let mut case = case(json!({}), "");
        case["env"] = env;
        case["expected"] = json!({"not_in_message": "Hush"});
        case["expected"]["exit"] = json!(if command.contains("--model") { 2 } else { 1 });
        refused(&case, command);
    }
}

#[test]
fn sizes_that_no_file_has_are_refused_before_anything_is_allocated() {
    let keys = [
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "head_dim",
        "max_position_embeddings",
    ];
    for key in keys {
        for size in [0, 3, 1 << 23, 1 << 31, 1 << 40, u64::MAX] {
            if key == "max_position_embeddings" && (size == 1 << 23 || size == 1 << 31 || size == 3) {
                continue;
            }
            let files = json!({"config.json": {"of": "a working one", "with": {key: size}}});
            let command = RUN.replace("--chat on", "--chat off");
            let (said, memory) = refused(&case(files, ""), &command);
            assert!(memory < 300, "{key} {size}: {memory} MiB");
            assert!(
                said.contains("config.json") || said.contains("model.safetensors"),
                "{key} {size}: {said}"
            );
        }
    }
}
