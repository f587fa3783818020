//! Served models from the command line: resume, drift, keys, and what is kept of each answer.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::kit::{Fault, StandIn, Ways};

const KEY: &str = "sk-canary-5f2c9e71";
const HEADER: &str = "canary-8812-header";

fn markbook(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_markbook"));
    command.args(args).env("MARKBOOK_HOME", home.join("home"));
    for name in [
        "MARKBOOK_API_KEY",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
    ] {
        command.env_remove(name);
    }
    command.env("MARKBOOK_TEST_KEY", KEY).output().unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A run of both exams against a server, with some flags more.
fn run(home: &Path, server: &StandIn, more: &[&str]) -> Output {
    let (url, out) = (server.url(), home.join("out"));
    let mut args = vec![
        "run",
        "--model",
        "vllm:",
        "--base-url",
        &url,
        "--data",
        "embedded",
        "--limit",
        "6",
    ];
    args.extend(["--retries", "2", "--plain", "--out", out.to_str().unwrap()]);
    if !more.contains(&"--max-tokens") {
        args.extend(["--max-tokens", "64"]);
    }
    args.extend(more);
    markbook(home, &args)
}

fn rows(home: &Path, exam: &str) -> Vec<Value> {
    let (from, to) = (home.join("out").join(exam), home.join(format!("{exam}.jsonl")));
    let output = markbook(
        home,
        &["export", from.to_str().unwrap(), "--force", "-o", to.to_str().unwrap()],
    );
    assert!(output.status.success(), "{}", said(&output));
    let text = std::fs::read_to_string(to).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn manifest(home: &Path, exam: &str) -> Value {
    let text = std::fs::read(home.join("out").join(exam).join("run.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// A server that ends the run by refusing the key after so many requests, until `renew` is called.
fn ending(after: usize) -> StandIn {
    StandIn::start(Ways::default(), move |number, _| {
        (number == after).then(|| Fault::Status(401, Vec::new(), format!("{{\"error\": \"bad key {KEY}\"}}")))
    })
}

#[test]
fn a_run_that_ended_is_gone_on_with_against_the_same_server_and_its_rows_tell_who_answered() {
    let home = tempfile::tempdir().unwrap();
    let server = ending(45);
    let first = run(home.path(), &server, &[]);
    assert!(
        !first.status.success() && said(&first).contains("--resume"),
        "{}",
        said(&first)
    );
    let second = run(home.path(), &server, &["--resume"]);
    assert!(second.status.success(), "{}", said(&second));
    let (mmlu, pro) = (rows(home.path(), "mmlu"), rows(home.path(), "mmlu_pro"));
    assert_eq!((mmlu.len(), pro.len()), (6, 30));
    for row in mmlu.iter().chain(&pro) {
        let by: Value = serde_json::from_str(row["served"].as_str().unwrap()).unwrap();
        assert_eq!(by["replica"], server.address.to_string(), "{row}");
        assert!(
            by["usage"]["prompt"].as_u64() > Some(0) && row["finish"] != "error",
            "{row}"
        );
    }
    assert_eq!(manifest(home.path(), "mmlu")["settings"]["engine"]["version"], "1.0");
}

#[test]
fn resume_refuses_another_version_by_name_and_keeps_both_where_it_is_accepted() {
    let home = tempfile::tempdir().unwrap();
    let server = ending(45);
    assert!(!run(home.path(), &server, &[]).status.success());
    server.renew(true);
    let refused = said(&run(home.path(), &server, &["--resume"]));
    for words in ["engine.version was \"1.0\", is now \"1.0+1\"", "--accept-drift"] {
        assert!(refused.contains(words), "{refused}");
    }
    let accepted = run(home.path(), &server, &["--resume", "--accept-drift"]);
    assert!(accepted.status.success(), "{}", said(&accepted));
    assert_eq!(rows(home.path(), "mmlu_pro").len(), 30);
    let engine = manifest(home.path(), "mmlu_pro")["settings"]["engine"].clone();
    assert_eq!(
        (&engine["version"], &engine["earlier"][0]["version"]),
        (&"1.0+1".into(), &"1.0".into())
    );
}

#[test]
fn a_first_token_of_a_chat_is_a_measure_of_its_own_and_not_paired_with_cloze() {
    let home = tempfile::tempdir().unwrap();
    let server = StandIn::start(Ways::default(), |_, _| None);
    let output = run(home.path(), &server, &["--benchmark", "mmlu", "--cloze", "chat"]);
    assert!(output.status.success(), "{}", said(&output));
    let out = home.path().join("out");
    let text = std::fs::read_to_string(out.join("run.json")).unwrap();
    assert!(text.contains("\"method\": \"chat_first_token\""), "{text}");
    let chat = home.path().join("chat");
    std::fs::rename(&out, &chat).unwrap();
    assert!(run(home.path(), &server, &["--benchmark", "mmlu"]).status.success());
    let compared = markbook(home.path(), &["compare", chat.to_str().unwrap(), out.to_str().unwrap()]);
    assert!(
        !compared.status.success() && said(&compared).contains("chat_first_token"),
        "{}",
        said(&compared)
    );
}

#[test]
fn rows_that_were_cut_are_answered_again_with_more_room_and_both_scores_are_told() {
    let home = tempfile::tempdir().unwrap();
    // Two attempts of one question are cut in the first sitting.
    let cut = |_: usize, body: &Value| {
        let is_cut = body["max_tokens"] == 64 && body["seed"].as_i64().is_some_and(|seed| seed < 44);
        let lines = [
            r#"data: {"choices": [{"text": "So far"}]}"#,
            r#"data: {"choices": [{"text": "", "finish_reason": "length"}]}"#,
            "data: [DONE]",
        ];
        is_cut.then(|| Fault::Stream(lines.map(str::to_owned).to_vec()))
    };
    let server = StandIn::start(Ways::default(), cut);
    let pro = ["--benchmark", "mmlu_pro"];
    let first = run(home.path(), &server, &pro);
    assert!(first.status.success(), "{}", said(&first));
    let out = home.path().join("out");
    let before = std::fs::read(out.join("records.parquet")).unwrap();
    let same = run(home.path(), &server, &[&pro[..], &["--again", "cut"]].concat());
    assert!(said(&same).contains("the same text"), "{}", said(&same));
    let second = run(
        home.path(),
        &server,
        &[&pro[..], &["--again", "cut,error", "--max-tokens", "128"]].concat(),
    );
    assert!(second.status.success(), "{}", said(&second));
    for words in [
        "12 of 30 rows answered again (cut 12",
        "64 → 128 tokens",
        "accuracy before",
        "records.0.parquet",
    ] {
        assert!(said(&second).contains(words), "{words}: {}", said(&second));
    }
    assert_eq!(
        std::fs::read(out.join("records.0.parquet")).unwrap(),
        before,
        "the first answers are kept"
    );
    let stats = said(&markbook(home.path(), &["stats", out.to_str().unwrap()]));
    assert!(stats.contains("answered again"), "{stats}");
    let none = run(
        home.path(),
        &server,
        &[&pro[..], &["--again", "cut", "--max-tokens", "256"]].concat(),
    );
    assert!(said(&none).contains("no row that is cut"), "{}", said(&none));
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_key_in_the_environment_or_a_header_file_stands_in_no_file_and_no_output() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let secret = tempfile::tempdir().unwrap();
    let headers = secret.path().join("headers");
    std::fs::write(&headers, format!("X-Team: {HEADER}\n")).unwrap();
    std::fs::set_permissions(&headers, std::fs::Permissions::from_mode(0o600)).unwrap();
    // The key comes back in a refusal, in an answer, in an error of a stream and in a page.
    let echo = move |number: usize, _: &Value| match number {
        40 => Some(Fault::Status(
            500,
            Vec::new(),
            format!("{{\"error\": \"Bearer {KEY} {HEADER}\"}}"),
        )),
        44 => Some(Fault::Stream(vec![format!("error: {{\"message\": \"{KEY}\"}}")])),
        46 => Some(Fault::Stream(vec![format!("data: {KEY} {HEADER}")])),
        48 => Some(Fault::Status(
            200,
            vec![("content-type".to_owned(), "text/html".to_owned())],
            format!("<html><title>{KEY}</title>"),
        )),
        60 => Some(Fault::Status(400, Vec::new(), format!("{{\"error\": \"no {KEY}\"}}"))),
        70 => Some(Fault::Status(
            401,
            Vec::new(),
            format!("{{\"error\": \"bad {KEY} {HEADER}\"}}"),
        )),
        _ => None,
    };
    let server = StandIn::start(Ways::default(), echo);
    let flags = [
        "--api-key-env",
        "MARKBOOK_TEST_KEY",
        "--header-file",
        headers.to_str().unwrap(),
    ];
    let mut all = said(&run(home.path(), &server, &flags));
    let url = server.url();
    let probe = [&["probe", "--model", "vllm:", "--json", "--base-url", &url][..], &flags].concat();
    all += &said(&markbook(home.path(), &probe));
    let mut paths = Vec::new();
    files(home.path(), &mut paths);
    assert!(paths.len() > 3, "{paths:?}");
    for path in paths {
        all += &String::from_utf8_lossy(&std::fs::read(path).unwrap());
    }
    for secret in [KEY, HEADER] {
        assert!(!all.contains(secret), "{secret} was told: {:.2000}", all);
    }
    assert!(all.contains("[hidden]"), "the server did say it");
    let heads = server.heads.lock().unwrap();
    assert!(heads.iter().all(|head| head.contains(KEY) && head.contains(HEADER)));
}
