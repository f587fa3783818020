//! Prompts, hashes and questions against the reference harness's own values.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use markbook::benchmark::hash::{hash_text, task_hash};
use markbook::benchmark::{
    ChatShots, DataSource, Dataset, Listing, PromptPlan, Prompter, Role, Slice, SystemTurn, find, load, render, select,
    write_prompts,
};
use markbook::engine::ChatTemplate;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::shared;

/// The chat template of SmolLM2, as far as its prompts go.
const SMOLLM2: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn smollm2() -> ChatTemplate {
    ChatTemplate {
        source: SMOLLM2.into(),
        bos_token: Some("<|im_start|>".into()),
        eos_token: Some("<|im_end|>".into()),
        ..ChatTemplate::default()
    }
}

fn plan(benchmark: &str, style: &str, shots: usize) -> PromptPlan {
    PromptPlan::plain(find(benchmark).unwrap().style(style).unwrap(), shots)
}

fn published(shared: &Path, benchmark: &str) -> Dataset {
    load(
        find(benchmark).unwrap(),
        &DataSource::Folder(shared.join("data")),
        "test",
    )
    .unwrap()
}

fn json_file(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn json_lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The harness's `task_hashes`, made from what the `prompts` command prints.
fn task_hashes(dataset: &Dataset, plan: &PromptPlan) -> BTreeMap<String, String> {
    let mut printed = Vec::new();
    write_prompts(&mut printed, dataset, plan, Listing::Hashes).unwrap();
    let lines: Vec<Value> = String::from_utf8(printed)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let mut tasks: BTreeMap<String, Vec<[String; 3]>> = BTreeMap::new();
    for line in &lines {
        let task = format!(
            "{}_{}",
            text(line, "benchmark"),
            text(line, "subject").replace(' ', "_")
        );
        let samples = tasks.entry(task).or_default();
        assert_eq!(line["doc_id"], json!(samples.len()));
        samples.push([
            text(line, "doc_hash"),
            text(line, "prompt_hash"),
            text(line, "target_hash"),
        ]);
    }
    tasks
        .into_iter()
        .map(|(task, samples)| {
            let samples = samples
                .iter()
                .map(|[doc, prompt, target]| [doc.as_str(), prompt.as_str(), target.as_str()]);
            (task, task_hash(samples))
        })
        .collect()
}

fn assert_golden(hashes: &BTreeMap<String, String>, golden: &Value) {
    let golden = golden["task_hashes"].as_object().unwrap();
    assert_eq!(hashes.len(), golden.len());
    for (task, hash) in golden {
        assert_eq!(hashes[task], hash.as_str().unwrap(), "{task}");
    }
}

#[test]
fn all_57_subjects_of_mmlu_have_the_harness_hashes() {
    let Some(shared) = shared() else { return };
    let dataset = published(&shared, "mmlu");
    for shots in [0, 5] {
        let golden = json_file(&shared.join(format!("golden/lm_eval_mmlu/full_hashes_{shots}shot_alwaysA.json")));
        assert_golden(&task_hashes(&dataset, &plan("mmlu", "lm_eval", shots)), &golden);
    }
}

#[test]
fn all_14_categories_of_mmlu_pro_have_the_harness_hashes_in_five_modes() {
    let Some(shared) = shared() else { return };
    let dataset = published(&shared, "mmlu_pro");
    let modes = [
        ("0shot", 0, None),
        ("5shot", 5, None),
        ("0shot_chat", 0, Some(ChatShots::Turn)),
        ("5shot_chat", 5, Some(ChatShots::Turn)),
        ("5shot_chat_multiturn", 5, Some(ChatShots::Turns)),
    ];
    for (mode, shots, chat) in modes {
        let mut plan = plan("mmlu_pro", "lm_eval", shots);
        plan.chat = chat.map(|_| smollm2());
        plan.chat_shots = chat.unwrap_or_default();
        let golden = json_file(&shared.join(format!("golden/lm_eval_mmlu_pro/full_hashes_{mode}.json")));
        assert_golden(&task_hashes(&dataset, &plan), &golden);
    }
}

#[test]
fn golden_prompts_are_equal_to_the_byte() {
    let Some(shared) = shared() else { return };
    let cases = [
        ("mmlu", "lm_eval_mmlu/0shot_f32", 0),
        ("mmlu", "lm_eval_mmlu/5shot_f32", 5),
        ("mmlu_pro", "lm_eval_mmlu_pro/prompts_0shot", 0),
        ("mmlu_pro", "lm_eval_mmlu_pro/prompts_5shot", 5),
    ];
    for (benchmark, file, shots) in cases {
        let dataset = published(&shared, benchmark);
        let plan = plan(benchmark, "lm_eval", shots);
        let prompter = Prompter::new(&dataset, &plan).unwrap();
        for golden in json_lines(&shared.join("golden").join(format!("{file}.jsonl"))) {
            let question = dataset
                .questions
                .iter()
                .find(|question| {
                    json!(question.subject) == golden["subject"] && json!(question.doc_id) == golden["doc_id"]
                })
                .unwrap();
            let rendered = prompter.render(question).unwrap();
            assert_eq!(json!(rendered.prompt), golden["prompt"]);
            assert_eq!(
                json!(rendered.target),
                json!(golden["target"].to_string().trim_matches('"'))
            );
            assert_eq!(json!(rendered.doc_hash), golden["doc_hash"]);
            assert_eq!(json!(rendered.target_hash), golden["target_hash"]);
            if golden.get("continuations").is_some() {
                assert_eq!(json!(rendered.continuations), golden["continuations"]);
            }
        }
    }
}

#[test]
fn the_published_sets_read_as_checked() {
    let Some(shared) = shared() else { return };
    let dataset = published(&shared, "mmlu_pro");
    let plan = plan("mmlu_pro", "lm_eval", 0);
    let prompter = Prompter::new(&dataset, &plan).unwrap();
    let rendered: Vec<_> = dataset
        .questions
        .iter()
        .map(|question| prompter.render(question).unwrap())
        .collect();
    let joined =
        |hash: &dyn Fn(usize) -> String| hash_text(&(0..rendered.len()).map(hash).collect::<Vec<_>>().join("\n"));
    assert_eq!(
        joined(&|index| rendered[index].prompt_hash.clone()),
        "486c9745edb26bd55f6d6cdb076099654f0c297308aed6faa67558e2060beb66"
    );
    assert_eq!(
        joined(&|index| rendered[index].doc_hash.clone()),
        "007344cb0257eaf033cc622c3ec653b542b5fab2909d10990a157cafbbae69c2"
    );
    assert_eq!(
        rendered
            .iter()
            .map(|rendered| rendered.prompt.chars().count())
            .sum::<usize>(),
        10_698_617
    );
    let washed: Vec<_> = dataset
        .washed
        .iter()
        .map(|found| (found.rule.name(), found.dropped))
        .collect();
    assert_eq!(washed, [("gold_conflict", false)], "question 3983 contradicts itself");
    let conflicting = dataset
        .questions
        .iter()
        .find(|question| !question.flags.is_empty())
        .unwrap();
    assert_eq!((conflicting.id, conflicting.answer.as_str()), (3983, "C"));

    let splits = [
        (
            "test",
            "4f696e71d86f687e355a80da5533e010ab51d4572ee980827d82ea6bde090791",
        ),
        (
            "validation",
            "2e213bc5315cf3f0d49a3636ac6fc4a9ac685596167a843bb36b34f536ec3394",
        ),
        (
            "dev",
            "e71644ca5f82956ab75dcb3cf51cc96653f8ce4b0311c841676957ad61affa40",
        ),
    ];
    for (split, expected) in splits {
        let folder = DataSource::Folder(shared.join("data/mmlu"));
        let dataset = load(find("mmlu").unwrap(), &folder, split).unwrap();
        let lines: Vec<_> = dataset
            .questions
            .iter()
            .map(|q| json!([q.question, q.subject, q.options, q.gold]).to_string())
            .collect();
        assert_eq!(hash_text(&lines.join("\n")), expected, "{split}");
        assert!(dataset.washed.is_empty(), "{:?}", dataset.washed);
    }
}

/// A set of one question and its examples, as the case files give them.
fn case_dataset(case: &Value, benchmark: &str) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let (key, subject, examples) = match benchmark {
        "mmlu" => ("subject", &case["subject"], "dev.jsonl"),
        _ => ("category", &case["category"], "validation.jsonl"),
    };
    let row = |doc: &Value, id: usize| {
        let mut row = doc.clone();
        row[key] = subject.clone();
        if benchmark == "mmlu_pro" {
            row["question_id"] = json!(id);
        }
        format!("{row}\n")
    };
    let shots: String = case["shots"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(id, shot)| row(shot, id))
        .collect();
    fs::write(folder.path().join("test.jsonl"), row(&case["doc"], 100)).unwrap();
    fs::write(folder.path().join(examples), shots).unwrap();
    load(
        find(benchmark).unwrap(),
        &DataSource::Folder(folder.path().into()),
        "test",
    )
    .unwrap()
}

#[test]
fn prompt_cases_hold() {
    let Some(shared) = shared() else { return };
    let mut seen = 0;
    for case in json_lines(&shared.join("cases/prompts.jsonl")) {
        let id = case["id"].as_str().unwrap();
        let (benchmark, style) = match case["rule"][0].as_str().unwrap() {
            "prompt_mmlu_pro_v3.1" => ("mmlu_pro", "lm_eval"),
            "prompt_mmlu_pro_v2.1" => ("mmlu_pro", "lm_eval_2.1"),
            "prompt_tiger_local" => ("mmlu_pro", "tiger"),
            "prompt_mmlu" => ("mmlu", "lm_eval"),
            _ => continue,
        };
        let dataset = case_dataset(&case, benchmark);
        let mut plan = plan(benchmark, style, case["shots"].as_array().unwrap().len());
        plan.chat = (case["chat"] == true).then(smollm2);
        plan.chat_shots = if case["multiturn"] == true {
            ChatShots::Turns
        } else {
            ChatShots::Turn
        };
        let prompter = Prompter::new(&dataset, &plan).unwrap();
        let rendered = prompter.render(&dataset.questions[0]).unwrap();
        let messages = prompter.messages(&dataset.questions[0]);
        for (key, expected) in case["expected"].as_object().unwrap() {
            let found = match key.as_str() {
                "prompt" => json!(rendered.prompt),
                "continuations" => json!(rendered.continuations),
                "roles" => messages.iter().map(|message| message.role.name()).collect(),
                "system" => json!(messages[0].content),
                "assistant_1" => {
                    json!(
                        messages
                            .iter()
                            .find(|message| message.role == Role::Assistant)
                            .unwrap()
                            .content
                    )
                }
                other => panic!("{id}: no check for {other}"),
            };
            assert_eq!(&found, expected, "{id} {key}");
        }
        seen += 1;
    }
    assert_eq!(seen, 11);
}

#[test]
fn a_file_without_the_columns_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.jsonl");
    fs::write(&path, "{\"question\":\"q\",\"letters\":3}\n").unwrap();
    let error = load(find("mmlu").unwrap(), &DataSource::Folder(folder.path().into()), "test")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("test.jsonl") && error.contains("subject, choices, answer"),
        "{error}"
    );
    assert!(error.contains("(found: question, letters)"), "{error}");
    let error = load(find("custom").unwrap(), &DataSource::File(path), "test")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("lacks the column options") && error.contains("gold"),
        "{error}"
    );
}

#[test]
fn every_form_of_mmlu_reads_the_same() {
    let Some(shared) = shared() else { return };
    let mut expected = published(&shared, "mmlu");
    let slice = Slice {
        subjects: vec!["anatomy".into(), "virology".into()],
        ..Slice::default()
    };
    select(&mut expected, &slice).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let originals = folder.path().join("original");
    let lines = folder.path().join("lines");
    for split in ["test", "dev"] {
        fs::create_dir_all(originals.join(split)).unwrap();
    }
    fs::create_dir_all(&lines).unwrap();
    let mut whole = Vec::new();
    for subject in ["anatomy", "virology"] {
        let questions = expected.questions.iter().filter(|question| question.subject == subject);
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            .from_path(originals.join("test").join(format!("{subject}_test.csv")))
            .unwrap();
        for question in questions {
            let mut cells = vec![question.question.as_str()];
            cells.extend(question.options.iter().map(String::as_str));
            cells.push(&question.answer);
            writer.write_record(&cells).unwrap();
            whole.push(question.doc.clone());
        }
    }
    fs::write(lines.join("test.jsonl"), whole.join("\n")).unwrap();
    for root in [originals, lines] {
        let read = load(find("mmlu").unwrap(), &DataSource::Folder(root.clone()), "test").unwrap();
        let hashes = |dataset: &Dataset| dataset.questions.iter().map(|q| q.doc_hash.clone()).collect::<Vec<_>>();
        assert_eq!(hashes(&read), hashes(&expected), "{}", root.display());
    }
}

#[test]
fn a_slice_is_the_same_on_every_machine() {
    let Some(shared) = shared() else { return };
    let mut dataset = published(&shared, "mmlu");
    let slice = Slice {
        subjects: vec!["STEM".into(), "Human Aging".into()],
        per_subject: Some(3),
        sample_seed: Some(7),
        limit: Some(59),
    };
    select(&mut dataset, &slice).unwrap();
    let ids: Vec<_> = dataset.questions.iter().map(|question| question.id).collect();
    assert_eq!(ids.len(), 59);
    assert!(ids.is_sorted());
    assert_eq!(ids[..6], [11, 40, 69, 132, 175, 187]);
    assert_eq!(
        dataset
            .questions
            .iter()
            .filter(|question| question.subject == "machine_learning")
            .count(),
        2
    );
    let mut again = published(&shared, "mmlu");
    select(
        &mut again,
        &Slice {
            sample_seed: Some(8),
            ..slice
        },
    )
    .unwrap();
    assert_ne!(again.fingerprint, dataset.fingerprint);
}

#[test]
fn unknown_subjects_are_refused_with_the_known_ones() {
    let mut dataset = load(find("mmlu_pro").unwrap(), &DataSource::Embedded, "test").unwrap();
    let slice = Slice {
        subjects: vec!["mat".into()],
        ..Slice::default()
    };
    let error = select(&mut dataset, &slice).unwrap_err().to_string();
    assert!(
        error.contains("unknown subject \"mat\"") && error.contains("math"),
        "{error}"
    );
}

#[test]
fn more_shots_than_examples_are_refused() {
    let dataset = load(find("mmlu_pro").unwrap(), &DataSource::Embedded, "test").unwrap();
    let error = render(&dataset, &dataset.questions[0], &plan("mmlu_pro", "lm_eval", 50))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("--shots 50: "), "{error}");
}

#[test]
fn a_template_without_a_system_role_is_told_of_and_the_description_left_out() {
    let dataset = load(find("mmlu_pro").unwrap(), &DataSource::Embedded, "test").unwrap();
    let question = &dataset.questions[0];
    let mut plan = plan("mmlu_pro", "lm_eval", 0);
    let mut rendered = |source: &str| {
        plan.chat = Some(ChatTemplate {
            source: source.into(),
            ..ChatTemplate::default()
        });
        render(&dataset, question, &plan).unwrap()
    };
    let refused = rendered(
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
    );
    assert!(refused.prompt.starts_with("<user>Question:\n"));
    assert_eq!(refused.system, SystemTurn::Refused("System role not supported".into()));
    assert!(refused.system.notice().unwrap().contains("left out"));
    let ignored = rendered("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}");
    assert_eq!(ignored.system, SystemTurn::Ignored);
}

proptest! {
    #[test]
    fn rendering_never_loses_a_character_of_the_question(
        text in "\\PC*|[\\s\\S]{0,40}|[{}a-z<|>\"'\\n ]{0,60}",
        options in proptest::collection::vec("[\\s\\S]{0,12}", 2..11),
        has_chat: bool,
    ) {
        let row = json!({
            "question_id": 1, "question": text, "options": options, "answer": "A", "category": "x", "subject": "x",
            "choices": options,
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.jsonl");
        fs::write(&path, row.to_string()).unwrap();
        let benchmark = find("mmlu_pro").unwrap();
        let dataset = load(benchmark, &DataSource::File(path), "test").unwrap();
        for style in ["mmlu", "mmlu_pro", "custom"].into_iter().flat_map(|name| find(name).unwrap().styles) {
            let mut plan = PromptPlan::plain(style, 0);
            plan.chat = has_chat.then(smollm2);
            let rendered = render(&dataset, &dataset.questions[0], &plan).unwrap();
            let cut = |text: &str| text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)).to_owned();
            prop_assert!(rendered.prompt.contains(&cut(&text)), "{}: {:?}", style.name, rendered.prompt);
        }
    }
}
