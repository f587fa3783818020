//! A task's `configs` entry: the harness's keys, in its order, as far as a run knows them.

use serde_json::{Map, Value, json};

use super::Task;
use super::setting::Setting;
use crate::benchmark::style::{Method, Part, Scored, Style};
use crate::benchmark::{Benchmark, Form};
use crate::record::letter;

pub(super) fn config(task: &Task, setting: &Setting) -> Value {
    let mut config = Map::new();
    config.insert("task".into(), task.name.as_str().into());
    if setting.has_alias() {
        config.insert("task_alias".into(), task.alias.as_str().into());
    }
    config.insert("dataset_path".into(), setting.at("/settings/data/source"));
    config.insert("dataset_name".into(), task.subject.as_str().into());
    config.insert("test_split".into(), setting.at("/settings/data/split"));
    let texts = setting
        .known
        .zip(setting.style)
        .map(|(known, style)| Texts::of(known, style, task));
    if let Some(known) = setting.known {
        config.insert("fewshot_split".into(), known.example_splits.first().copied().into());
    }
    match &texts {
        Some(texts) => {
            config.insert("doc_to_text".into(), texts.text.as_str().into());
            config.insert("doc_to_target".into(), texts.target.into());
            config.insert("unsafe_code".into(), false.into());
            if let Some(choice) = &texts.choice {
                config.insert("doc_to_choice".into(), choice.clone());
            }
        }
        None => {
            config.insert("doc_to_text".into(), setting.at("/settings/prompt/template"));
            config.insert("doc_to_target".into(), "answer".into());
        }
    }
    if let Some(style) = setting.style {
        config.insert("description".into(), style.describe(&task.subject).into());
        config.insert("target_delimiter".into(), style.delimiter.into());
        config.insert("fewshot_delimiter".into(), style.separator.into());
        config.insert("fewshot_config".into(), examples(setting, texts.as_ref(), style));
    }
    config.insert("num_fewshot".into(), setting.at("/settings/prompt/shots"));
    let metrics: Vec<Value> = setting
        .metrics()
        .iter()
        .map(|metric| {
            let mut entry = json!({ "metric": metric, "aggregation": "mean", "higher_is_better": true });
            if let (false, Some(entry)) = (setting.is_cloze, entry.as_object_mut()) {
                entry.insert("ignore_case".into(), true.into());
                entry.insert("ignore_punctuation".into(), true.into());
            }
            entry
        })
        .collect();
    config.insert("metric_list".into(), metrics.into());
    let kind = if setting.is_cloze {
        "multiple_choice"
    } else {
        "generate_until"
    };
    config.insert("output_type".into(), kind.into());
    if !setting.is_cloze {
        config.insert("generation_kwargs".into(), setting.generation());
    }
    config.insert("repeats".into(), 1.into());
    if !setting.is_cloze {
        config.insert(
            "filter_list".into(),
            json!([{ "name": setting.filter(), "rule": setting.at("/settings/rule") }]),
        );
    }
    config.insert("should_decontaminate".into(), false.into());
    config.insert(
        "metadata".into(),
        json!({ "version": setting.version(), "fingerprint": setting.at("/settings/data/fingerprint") }),
    );
    config.into()
}

fn examples(setting: &Setting, texts: Option<&Texts>, style: &Style) -> Value {
    json!({
        "sampler": "first_n",
        "split": setting.known.and_then(|known| known.example_splits.first().copied()),
        "process_docs": null,
        "fewshot_indices": null,
        "samples": null,
        "doc_to_text": texts.map(|texts| texts.text.as_str()),
        "doc_to_choice": texts.and_then(|texts| texts.choice.clone()),
        "doc_to_target": texts.map(|texts| texts.target),
        "gen_prefix": null,
        "fewshot_delimiter": style.separator,
        "target_delimiter": style.delimiter,
    })
}

/// A style as the harness's templates would say it.
struct Texts {
    text: String,
    target: &'static str,
    choice: Option<Value>,
}

impl Texts {
    fn of(known: &Benchmark, style: &Style, task: &Task) -> Texts {
        let column = if known.form == Form::Mmlu { "choices" } else { "options" };
        let count = task
            .records
            .iter()
            .map(|record| record.options.len())
            .max()
            .unwrap_or(0);
        let strip = |part| if style.stripped.contains(&part) { ".strip()" } else { "" };
        let options: String = (0..count.min(style.most_options))
            .map(|index| {
                let letter = letter(index).map(String::from).unwrap_or_default();
                let option = format!("{{{{{column}[{index}]{}}}}}", strip(Part::Options));
                style.option.replace("{letter}", &letter).replace("{option}", &option)
            })
            .collect();
        let question = format!("{{{{question{}}}}}", strip(Part::Question));
        let text = style
            .block
            .replace("{question}", &question)
            .replace("{options}", &options);
        let letters: Vec<String> = (0..count).filter_map(letter).map(String::from).collect();
        Texts {
            text,
            target: match (&style.method, known.form) {
                (Method::Generate { .. }, Form::Mmlu) => "{{['A', 'B', 'C', 'D'][answer]}}",
                (Method::Cloze { scored: Scored::Text }, Form::Mmlu) => "{{answer}}",
                _ => "answer",
            },
            choice: match style.method {
                Method::Generate { .. } => None,
                Method::Cloze { scored: Scored::Letter } => Some(json!(letters)),
                Method::Cloze { scored: Scored::Text } => Some(format!("{{{{{column}}}}}").into()),
            },
        }
    }
}
