//! Contexts, continuations and what is cut of them, on a tiny model whose every byte is a token.

use std::ops::ControlFlow;
use std::path::Path;

use markbook::benchmark::{self, DataSource, PromptPlan, Prompter};
use markbook::engine::{Ask, ChatTemplate, Control, Engine, Event, Request, Sampling, Scores};
use serde_json::{Value, json};

use crate::{cases, tiny};

/// A tiny model of so many positions; with a beginning token that its tokenizer adds.
fn model(folder: &Path, positions: usize, adds_bos: bool) -> Box<dyn Engine> {
    let path = tiny::write(folder, 5);
    let file = path.join("config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    config["max_position_embeddings"] = json!(positions);
    std::fs::write(file, config.to_string()).unwrap();
    if adds_bos {
        let settings = json!({"bos_token": "<|a|>", "eos_token": "<|end|>", "add_bos_token": true,
            "tokenizer_class": "LlamaTokenizer"});
        std::fs::write(path.join("tokenizer_config.json"), settings.to_string()).unwrap();
    }
    tiny::load(&path, 32).unwrap()
}

fn answer(engine: &mut dyn Engine, prompt: &str, ask: Ask) -> Event {
    let request = Request {
        id: 0,
        lane: 0,
        prompt: prompt.into(),
        add_special_tokens: true,
        ask,
    };
    let mut told = None;
    let watch = &mut |event: Event| {
        if !matches!(event, Event::Pulse(_) | Event::Progress { .. }) {
            told = Some(event);
        }
        ControlFlow::Continue(())
    };
    engine.run(vec![request], &Control::new(1), watch).unwrap();
    told.expect("one request has one answer")
}

/// Scores, prompt tokens, whether the prompt was cut.
fn score(engine: &mut dyn Engine, prompt: &str, continuation: &str) -> (Scores, usize, bool) {
    let ask = Ask::Score {
        continuations: vec![continuation.to_owned()],
    };
    match answer(engine, prompt, ask) {
        Event::Scored {
            scores,
            prompt_tokens,
            truncated,
            ..
        } => (scores, prompt_tokens, truncated),
        other => panic!("{other:?}"),
    }
}

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

#[test]
fn tokenization_cases_hold() {
    let mut seen = 0;
    for case in cases("prompts.jsonl") {
        let (id, params, expected) = (case["id"].as_str().unwrap(), &case["params"], &case["expected"]);
        let folder = tempfile::tempdir().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        match case["rule"][0].as_str().unwrap() {
            "encode_pair" if params["context"] == "" => {
                let mut engine = model(folder.path(), 512, false);
                let (scores, tokens, cut) = score(engine.as_mut(), "", &text(&params["choice_with_delimiter"]));
                assert!(scores.log_likelihoods[0].is_finite(), "{id}");
                assert_eq!((tokens, cut), (1, false), "{id}: the token that stands for nothing");
            }
            "encode_pair" => {
                let mut engine = model(folder.path(), 512, false);
                let continuation = match &params["choice"] {
                    Value::String(choice) => format!(" {choice}"),
                    _ => text(&params["choice_with_delimiter"]),
                };
                let given = score(engine.as_mut(), &text(&params["context"]), &continuation);
                let meant = score(
                    engine.as_mut(),
                    &text(&expected["context"]),
                    &text(&expected["continuation"]),
                );
                assert_eq!(given, meant, "{id}");
                let bytes = text(&expected["continuation"]).len();
                assert_eq!(given.0.continuation_tokens, Some(vec![bytes]), "{id}: a token a byte");
                assert_eq!(given.1, text(&expected["context"]).len(), "{id}");
            }
            "loglikelihood_sum" => {
                // The sum over tokens, and greedy only where each is the likeliest.
                let mut engine = model(folder.path(), 512, false);
                let tokens = params["token_logprobs"].as_array().unwrap().len();
                let continuation = &"XB".repeat(tokens)[..tokens];
                let mut before = "Which? Answer:".to_owned();
                let whole = score(engine.as_mut(), &before, continuation).0;
                let (mut sum, mut greedy) = (0.0, true);
                for token in continuation.chars() {
                    let one = score(engine.as_mut(), &before, &token.to_string()).0;
                    sum += one.log_likelihoods[0];
                    greedy &= one.greedy.unwrap()[0];
                    before.push(token);
                }
                assert_eq!(whole.continuation_tokens, Some(vec![tokens]), "{id}");
                assert!((whole.log_likelihoods[0] - sum).abs() < 1e-4, "{id}");
                assert_eq!(whole.greedy.unwrap()[0], greedy, "{id}");
            }
            "truncate_loglikelihood" => {
                let mut engine = model(folder.path(), count(&params["max_length"]), false);
                let context = "x".repeat(count(&params["context_tokens"]));
                let (scores, tokens, cut) = score(engine.as_mut(), &context, "A");
                assert_eq!(
                    scores.continuation_tokens,
                    Some(vec![count(&params["continuation_tokens"])]),
                    "{id}"
                );
                assert!(cut, "{id}: the row is flagged");
                assert_eq!(tokens, count(&expected["input_tokens"]), "{id}");
                assert_eq!(context.len() - tokens, count(&expected["dropped_from_left"]), "{id}");
                let kept = &context[context.len() - tokens..];
                assert_eq!(
                    score(engine.as_mut(), kept, "A").0,
                    scores,
                    "{id}: the end of the prompt is what stays"
                );
            }
            "truncate_generate" => {
                let mut engine = model(folder.path(), count(&params["max_length"]), false);
                let context = "y".repeat(count(&params["context_tokens"]));
                let sampling = Sampling {
                    temperature: 0.0,
                    top_p: 1.0,
                    top_k: 0,
                    max_tokens: count(&params["max_gen_toks"]),
                    stops: Vec::new(),
                };
                let ask = Ask::Sample {
                    sampling,
                    seeds: vec![0],
                    stream: 0,
                };
                let Event::Completed {
                    prompt_tokens,
                    truncated,
                    ..
                } = answer(engine.as_mut(), &context, ask)
                else {
                    panic!("{id}")
                };
                assert!(truncated, "{id}: the row is flagged");
                assert_eq!(prompt_tokens, count(&expected["context_budget"]), "{id}");
                assert_eq!(
                    context.len() - prompt_tokens,
                    count(&expected["dropped_from_left"]),
                    "{id}"
                );
            }
            "bos_once" => {
                let mut engine = model(folder.path(), 512, true);
                let spelled = case["text"].as_str().unwrap().replace("<|begin_of_text|>", "<|a|>");
                let bare = spelled.strip_prefix("<|a|>").unwrap();
                let (with, tokens, _) = score(engine.as_mut(), &spelled, " A");
                let (without, added, _) = score(engine.as_mut(), bare, " A");
                assert_eq!(
                    (tokens, &with),
                    (added, &without),
                    "{id}: written or added, it stands once"
                );
                let bytes = bare.len();
                assert_eq!(tokens, bytes + count(&expected["bos_count"]), "{id}");
            }
            "chat_system" => {
                let error = params["template_error"].as_str().unwrap();
                let template = ChatTemplate {
                    source: format!(
                        "{{% for m in messages %}}{{% if m.role == 'system' %}}{{{{ raise_exception('{error}') }}}}\
                         {{% endif %}}[{{{{ m.role }}}}]{{{{ m.content }}}}{{% endfor %}}[model]"
                    ),
                    ..ChatTemplate::default()
                };
                let exam = benchmark::find("mmlu_pro").unwrap();
                let dataset = benchmark::load(exam, &DataSource::Embedded, "test").unwrap();
                let plan = PromptPlan {
                    chat: Some(template),
                    ..PromptPlan::plain(exam.default_style(), 0)
                };
                let rendered = Prompter::new(&dataset, &plan)
                    .unwrap()
                    .render(&dataset.questions[0])
                    .unwrap();
                let notice = rendered.system.notice().unwrap();
                assert!(
                    notice.contains(error) && notice.contains("the description was left out"),
                    "{notice}"
                );
                assert!(rendered.prompt.starts_with("[user]"), "{id}");
            }
            _ => continue,
        }
        seen += 1;
    }
    assert!(seen == 8 || seen == 0, "{seen}");
}
