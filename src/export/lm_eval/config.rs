//! A task's `configs` entry: the harness's keys, in its order, as far as a run knows them.

use serde_json::{Map, Value, json};

use super::setting::Setting;
use super::task::Task;
use crate::benchmark::style::{Method, Part, Scored, Style};
use crate::benchmark::{Benchmark, Form};
use crate::record::letter;

pub(super) fn config(task: &Task, setting: &Setting) -> Value {
    let mut config = Map::new();
    config.insert("task".into(), task.name.as_str().into());
    if setting.kind.has_alias {
        config.insert("task_alias".into(), task.alias.as_str().into());
    }
    data(task, setting, &mut config);
    let texts = setting
        .known
        .zip(setting.style)
        .map(|(known, style)| Texts::of(known, style, task));
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
            config.insert("doc_to_text".into(), setting.told(|settings| &settings.prompt.template));
            config.insert("doc_to_target".into(), "answer".into());
        }
    }
    if let Some(style) = setting.style {
        config.insert("description".into(), style.describe(&task.subject).into());
        config.insert("target_delimiter".into(), style.delimiter.into());
        config.insert("fewshot_delimiter".into(), style.separator.into());
        config.insert("fewshot_config".into(), examples(task, setting, texts.as_ref(), style));
    }
    config.insert("num_fewshot".into(), setting.told(|settings| settings.prompt.shots));
    if setting.kind.lists_metrics {
        config.insert("metric_list".into(), metric_list(setting));
    }
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
        let rule = setting.told(|settings| &settings.rule);
        config.insert("filter_list".into(), setting.kind.filter_list(&rule));
    }
    config.insert("should_decontaminate".into(), false.into());
    config.insert("metadata".into(), metadata(setting));
    config.into()
}

fn metadata(setting: &Setting) -> Value {
    let source = format!(
        "markbook, style {}, questions sha256 {}",
        setting.style.map_or("unknown", |style| style.name),
        setting.run.map_or("unknown", |run| &run.settings.data.fingerprint)
    );
    json!({ "version": setting.version(), "config_source": source })
}

/// Where the questions come from.
fn data(task: &Task, setting: &Setting, config: &mut Map<String, Value>) {
    let source = setting.told(|settings| &settings.data.source);
    config.insert("dataset_path".into(), source.clone());
    if setting.kind.is_configured {
        config.insert("dataset_name".into(), task.subject.as_str().into());
    }
    let split = setting.told(|settings| &settings.data.split);
    let examples = setting.known.and_then(|known| known.example_splits.first().copied());
    let is_local = setting.told(|settings| &settings.data.revision).is_null() && source != "embedded";
    if let (true, Some(split)) = (is_local, split.as_str()) {
        let files = [examples, Some(split)].into_iter().flatten();
        let files: Map<String, Value> = files.map(|split| (split.to_owned(), source.clone())).collect();
        config.insert("dataset_kwargs".into(), json!({ "data_files": files }));
    }
    config.insert("test_split".into(), split);
    if examples.is_some() {
        config.insert("fewshot_split".into(), examples.into());
    }
    if let Some(process) = process_docs(task, setting) {
        config.insert("process_docs".into(), process.into());
    }
}

fn process_docs(task: &Task, setting: &Setting) -> Option<String> {
    let process = setting.kind.process_docs?;
    Some(process.replace("{subject}", &task.subject))
}

fn metric_list(setting: &Setting) -> Value {
    let entry = |metric: &&str| {
        let mut entry = Map::new();
        entry.insert("metric".into(), (*metric).into());
        entry.insert("aggregation".into(), "mean".into());
        entry.insert("higher_is_better".into(), true.into());
        let ignored = setting.kind.ignores.iter().filter(|_| !setting.is_cloze);
        entry.extend(ignored.map(|ignored| ((*ignored).to_owned(), true.into())));
        Value::Object(entry)
    };
    setting.metrics().iter().map(entry).collect()
}

fn examples(task: &Task, setting: &Setting, texts: Option<&Texts>, style: &Style) -> Value {
    json!({
        "sampler": "first_n",
        "split": setting.known.and_then(|known| known.example_splits.first().copied()),
        "process_docs": process_docs(task, setting),
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
        let strip = |part| if style.stripped.contains(&part) { ".strip()" } else { "" };
        let options: String = (0..task.options.min(style.most_options))
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
        let letters: Vec<String> = (0..task.options).filter_map(letter).map(String::from).collect();
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
