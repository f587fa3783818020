//! Chats: what templates print, when they are used, and completions that leave a prompt no room.

use std::ops::ControlFlow;

use markbook::engine;
use markbook::engine::scripted::{Reply, ScriptedEngine};
use markbook::hub::ModelName;
use markbook::jinja::{Fault, Template};
use markbook::run::{self, Update};
use serde_json::{Map, Value, json};

use crate::program::Bench;
use crate::{cases, runs, tiny};

/// Cases of one kind, whichever file they stand in.
fn of_kind(kind: &str) -> Vec<Value> {
    let all = ["fidelity.jsonl", "prompts.jsonl"].into_iter().flat_map(cases);
    all.filter(|case| case["kind"] == kind).collect()
}

/// Writes the keys of a case over those of a file.
fn change(path: &std::path::Path, keys: &Value) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut json: Map<String, Value> = serde_json::from_str(&text).unwrap();
    json.extend(keys.as_object().cloned().unwrap_or_default());
    std::fs::write(path, Value::Object(json).to_string()).unwrap();
}

#[test]
fn templates_of_the_cases_print_what_transformers_prints() {
    for case in of_kind("prompt/chat-template") {
        let params = &case["params"];
        let folder = tempfile::tempdir().unwrap();
        let model = tiny::write(folder.path(), 3);
        change(&model.join("config.json"), &params["config"]);
        change(&model.join("tokenizer_config.json"), &params["tokenizer_config"]);
        change(
            &model.join("tokenizer_config.json"),
            &json!({"chat_template": params["template"]}),
        );
        let template = engine::chat_template(&ModelName::Folder(model), &mut |_| ControlFlow::Continue(()));
        let template = template.unwrap().unwrap();
        let mut variables = vec![
            ("messages", params["messages"].clone()),
            ("tools", Value::Null),
            ("add_generation_prompt", true.into()),
        ];
        variables.extend(template.bos_token.as_deref().map(|token| ("bos_token", token.into())));
        let text = Template::parse(&template.source).and_then(|parsed| parsed.render(&variables));
        assert_eq!(
            text.as_deref(),
            Ok(case["expected"]["text"].as_str().unwrap()),
            "{case}"
        );
    }
}

/// Each line is a template and what Python's Jinja2 prints of it, set up as transformers does.
#[test]
fn every_construct_prints_what_jinja2_prints() {
    let variables = [
        (
            "messages",
            json!([{"role": "system", "content": "S y"}, {"role": "user", "content": "U\n1"}]),
        ),
        ("tools", Value::Null),
        ("bos_token", "<s>".into()),
    ];
    for line in include_str!("jinja2.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let template = Template::parse(case["template"].as_str().unwrap());
        let text = template.and_then(|template| template.render(&variables));
        assert_eq!(text.as_deref(), Ok(case["text"].as_str().unwrap()), "{line}");
    }
}

#[test]
fn faults_are_told_apart() {
    for (source, fault) in [
        ("{{ nothing.x }}", Fault::Template),
        ("{{ raise_exception('no') }}", Fault::Template),
        ("{{ 'a'|nosuch }}", Fault::Template),
        ("{{ [].append(1) }}", Fault::Template),
        ("{% if %}", Fault::Template),
        ("{{ 1 + 'a' }}", Fault::Python),
        ("{{ none|length }}", Fault::Python),
        ("{{ 'a'.casefold() }}", Fault::Unknown),
        ("{{ 'a'|urlize }}", Fault::Unknown),
        ("{{ 2 ** 99 }}", Fault::Unknown),
        ("{{ '%05.1f' % 2.5 }}{{ '{:>5}'.format(1) }}", Fault::Unknown),
        ("{{ ('<a>' | safe) + '<b>' }}", Fault::Unknown),
        ("{{ 'ǆx'.capitalize() }}", Fault::Unknown),
        ("{{ [1, 2] | groupby('x') }}", Fault::Unknown),
        (
            "{% for x in [[1]] recursive %}{{ loop(x) }}{% endfor %}",
            Fault::Unknown,
        ),
        ("{% include 'x' %}", Fault::Unknown),
        ("{{ [1] * 99999999999 }}", Fault::Limit),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            Fault::Limit,
        ),
    ] {
        let rendered = Template::parse(source).and_then(|template| template.render(&[]));
        assert_eq!(rendered.map_err(|error| error.fault), Err(fault), "{source}");
    }
}

#[test]
fn auto_follows_the_exam_and_not_the_style() {
    let own = ["mmlu lm_eval_generative", "mmlu lm_eval", "mmlu_pro lm_eval"].map(|words| {
        let (benchmark, style) = words.split_once(' ').unwrap();
        json!({
            "params": {"benchmark": benchmark, "style": style, "chat": "auto", "model_has_template": true},
            "expected": {"chat": benchmark == "mmlu_pro"}
        })
    });
    for case in of_kind("prompt/chat-auto").into_iter().chain(own) {
        let (params, bench) = (&case["params"], Bench::new());
        if params["model_has_template"] == true {
            let template = "<chat>{% for m in messages %}{{ m.content }}{% endfor %}";
            change(
                &bench.model.join("tokenizer_config.json"),
                &json!({"chat_template": template}),
            );
        }
        let word = |name: &str| params[name].as_str().unwrap();
        let model = bench.model.to_str().unwrap();
        let chosen = [
            "--benchmark",
            word("benchmark"),
            "--style",
            word("style"),
            "--chat",
            word("chat"),
        ];
        let asked = [
            &["prompts", "--model", model, "--data", "embedded", "--limit", "1"][..],
            &chosen,
        ]
        .concat();
        assert_eq!(
            json!(bench.ok(&asked).contains("<chat>")),
            case["expected"]["chat"],
            "{case}"
        );

        let out = bench.path("run");
        let rest = [
            "--data",
            "embedded",
            "--limit",
            "1",
            "--max-tokens",
            "4",
            "--seeds",
            "1",
            "--plain",
            "--out",
        ];
        bench.ok(&[&["run", "--model", model][..], &chosen, &rest, &[out.to_str().unwrap()]].concat());
        let manifest: Value = serde_json::from_slice(&std::fs::read(out.join("run.json")).unwrap()).unwrap();
        assert_eq!(
            manifest["settings"]["prompt"]["chat"], case["expected"]["chat"],
            "{case}"
        );
    }
}

#[test]
fn a_completion_that_leaves_no_room_is_refused_before_the_first_question() {
    let own = json!({
        "params": {"max_length": 64, "max_gen_toks": 100, "questions": 1, "benchmark": "mmlu_pro", "seeds": [1, 2]},
        "expected": {"names": ["100", "64", "63"]}
    });
    for case in of_kind("run/generation-budget").into_iter().chain([own]) {
        let (params, bench) = (&case["params"], Bench::new());
        change(
            &bench.model.join("config.json"),
            &json!({"max_position_embeddings": params["max_length"]}),
        );
        let out = bench.path("run");
        let seeds: Vec<String> = params["seeds"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect();
        let (limit, tokens) = (params["questions"].to_string(), params["max_gen_toks"].to_string());
        let mut words = bench.run_words(params["benchmark"].as_str().unwrap(), out.to_str().unwrap());
        let seeds = seeds.join(",");
        words.extend(["--limit", &limit, "--max-tokens", &tokens, "--seeds", &seeds]);
        let (code, message) = bench.refused(&words);
        assert_ne!(code, 0);
        let largest = (params["max_length"].as_u64().unwrap() - 1).to_string();
        let names = case["expected"]["names"].as_array().unwrap().iter();
        for name in names
            .map(|name| name.as_str().unwrap())
            .chain([&*largest, "--max-tokens"])
        {
            assert!(message.contains(name), "{case}: no {name} in {message}");
        }
        assert!(!out.exists(), "{case}: nothing was begun");
    }
}

#[test]
fn a_run_of_which_every_answer_fails_for_one_reason_says_so() {
    for case in of_kind("run/eta") {
        let params = &case["params"];
        let (room, tokens) = (params["max_length"].to_string(), params["max_gen_toks"].to_string());
        let reason = format!("{tokens} new tokens leave no room for a prompt in the model's {room} positions");
        let mut engine = ScriptedEngine::new(move |_, _| Reply::Failure {
            flag: "too_long",
            reason: reason.clone(),
        });
        let folder = tempfile::tempdir().unwrap();
        let rows = params["done"].as_u64().unwrap() as usize;
        let plan = runs::plan("mmlu_pro", &folder.path().join("run"), rows / 5, false);
        let mut failing = run::failing::Failing::default();
        let control = markbook::engine::Control::new(1);
        let summary = run::execute(vec![plan], &mut engine, &control, &mut |update| {
            if let Update::Landed { record, .. } = update {
                failing.hear(&record);
            }
            ControlFlow::Continue(())
        });
        let told = [failing.told().unwrap(), summary.unwrap().failed.join("")];
        for name in case["expected"]["names"].as_array().unwrap() {
            assert!(
                told.iter().all(|told| told.contains(name.as_str().unwrap())),
                "{case}: {told:?}"
            );
        }
    }
}

#[test]
fn the_program_tells_of_a_run_without_one_answer_and_ends_with_1() {
    let bench = Bench::new();
    let path = bench.model.join("tokenizer.json");
    let post = json!({
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<x>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<x>": {"id": "<x>", "ids": [999], "tokens": ["<x>"]}}
    });
    change(&path, &json!({"post_processor": post}));
    for (benchmark, rows) in [("mmlu_pro", "15/15"), ("mmlu", "3/3")] {
        let out = bench.path(benchmark);
        let mut words = bench.run_words(benchmark, out.to_str().unwrap());
        words.extend(["--limit", "3", "--max-tokens", "4", "--chat", "off"]);
        let (code, message) = bench.refused(&words);
        assert_eq!(code, 1);
        let progress = format!("{benchmark} {rows} every answer failed: ");
        let last = format!("markbook: {benchmark}: every answer failed: ");
        for words in [&*progress, &*last, "the model knows 260 tokens"] {
            assert!(message.contains(words), "no {words} in {message}");
        }
    }
}
