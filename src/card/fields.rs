//! The fields of a card as one list.

use serde_json::{Value, json};

use super::NONE;
use super::field::{Field, Kind, Part, Source};
use super::foreign::Told;
use crate::engine::{Description, Sampling};
use crate::extract::Rule;
use crate::manifest::Manifest;

/// The value, or that it does not apply.
fn or_none<T: Into<Value>>(value: Option<T>) -> Value {
    value.map_or(NONE.into(), Into::into)
}

/// `none` of a cloze run, else the value.
fn sampled(run: &Manifest, value: impl Fn(&Sampling) -> Value) -> Value {
    run.settings.sampling.as_ref().map_or(NONE.into(), value)
}

/// `none` without a chat template, else the value.
fn of_chat(run: &Manifest, value: Value) -> Value {
    if run.settings.prompt.chat { value } else { NONE.into() }
}

/// Of a model in this process, or of a served one.
fn engine(run: &Manifest, local: Value, served: fn(&crate::engine::remote::Served) -> Value) -> Value {
    match &run.settings.engine {
        Description::Remote(served_model) => served(served_model),
        _ => local,
    }
}

fn of_local(run: &Manifest, value: fn(&crate::engine::Local) -> Value) -> Value {
    run.settings.engine.local().map_or(Value::Null, value)
}

fn known(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}

/// The rule that the shown picks were read by, where another than the stored one was asked for.
fn rescored(source: &Source) -> Option<Rule> {
    Rule::parse(source.trace.rule.as_deref()?).ok()
}

fn rows_cut(source: &Source) -> usize {
    let flags = &source.trace.rows.flags;
    let is_cut = |row: &usize| flags.get(*row).split(',').any(|flag| flag == "truncated");
    source.slice.iter().filter(is_cut).count()
}

/// `none` where no row of a run of ours was cut: it then moves nothing.
fn uncut(source: &Source) -> Value {
    let is_ours = matches!(source.told, Told::Ours(_));
    if is_ours && rows_cut(source) == 0 {
        NONE.into()
    } else {
        Value::Null
    }
}

fn seeds(source: &Source) -> Value {
    let rows = &source.trace.rows;
    let seeds = source.distinct(|row| rows.seed(row));
    match seeds.as_slice() {
        _ if source.is_cloze() => NONE.into(),
        [] | [None, ..] => Value::Null,
        seeds => json!(seeds),
    }
}

const P: Option<Part> = Some(Part::Procedure);
const S: Option<Part> = Some(Part::Slice);
const M: Option<Part> = Some(Part::Model);
const E: Option<Part> = Some(Part::Environment);

/// All fields, in the order in which they are shown.
pub const ALL: &[Field] = &[
    Field::new("benchmark", P, Kind::Moves, |run| known(&run.settings.benchmark)).rows(|source| {
        let first = source.slice.iter().next();
        let name = first.map_or("", |row| source.trace.rows.benchmark.get(row));
        known(name.strip_prefix("leaderboard_").unwrap_or(name))
    }),
    Field::new("task_version", P, Kind::Moves, |run| {
        match run.settings.task_version.as_str() {
            "" => NONE.into(),
            version => version.into(),
        }
    })
    .harness(|told| told.version()),
    Field::new("method", P, Kind::Moves, |run| known(&run.settings.method)).rows(|source| {
        match source.slice.is_empty() {
            true => Value::Null,
            false => if source.is_cloze() { "cloze" } else { "generate" }.into(),
        }
    }),
    Field::new("prompt.style", P, Kind::Label, |run| known(&run.settings.prompt.style)),
    Field::new("prompt.template", P, Kind::Moves, |run| {
        known(&run.settings.prompt.template)
    }),
    Field::new("prompt.shots", P, Kind::Moves, |run| run.settings.prompt.shots.into()).harness(|told| told.shots()),
    Field::new("prompt.chat", P, Kind::Moves, |run| {
        if run.settings.prompt.chat { "on" } else { "off" }.into()
    })
    .harness(|told| told.chat()),
    Field::new("prompt.chat_shots", P, Kind::Moves, |run| {
        match run.settings.prompt.shots {
            0 => NONE.into(),
            _ => or_none(run.settings.prompt.chat_shots.clone()),
        }
    })
    .harness(|told| told.chat_shots()),
    Field::new("prompt.examples", P, Kind::Moves, |run| {
        match run.settings.prompt.shots {
            0 => NONE.into(),
            _ => json!(run.settings.prompt.examples),
        }
    })
    .harness(|told| if told.shots() == 0 { NONE.into() } else { Value::Null }),
    Field::new("prompt.system", P, Kind::Moves, |run| {
        or_none(run.settings.prompt.system.clone())
    })
    .harness(|told| told.system()),
    Field::new("prompt.system_kept", P, Kind::Moves, |run| {
        of_chat(run, json!(run.settings.prompt.system_kept))
    })
    .harness(|told| told.of_chat()),
    Field::new("prompt.template_options", P, Kind::Moves, |run| {
        of_chat(run, json!(run.settings.prompt.template_options))
    })
    .harness(|told| told.of_chat()),
    Field::new("prompt.bos", P, Kind::Moves, |run| json!(run.settings.prompt.bos)),
    Field::new("rule", P, Kind::Label, |run| known(&run.settings.rule))
        .harness(|told| told.rule().0)
        .rows(|source| rescored(source).map_or(Value::Null, |rule| rule.name().into())),
    Field::new("rule_sha256", P, Kind::Moves, |run| json!(run.settings.rule_sha256))
        .harness(|told| told.rule().1)
        .rows(|source| rescored(source).map_or(Value::Null, |rule| rule.sha256().into())),
    Field::new("unreadable", P, Kind::Moves, |run| json!(run.settings.unreadable)).harness(|_| "wrong".into()),
    // Figures of foreign rows are counted here, over their rows.
    Field::new("average", P, Kind::Moves, |run| json!(run.settings.average)).rows(|source| match source.told {
        Told::Ours(_) => Value::Null,
        _ => "rows".into(),
    }),
    Field::new("sampling.temperature", P, Kind::Moves, |run| {
        sampled(run, |sampling| sampling.temperature.into())
    })
    .harness(|told| told.temperature())
    .inspect(|log| log["eval"]["model_generate_config"]["temperature"].clone()),
    Field::new("sampling.top_p", P, Kind::Moves, |run| {
        sampled(run, |sampling| sampling.top_p.into())
    })
    .harness(|told| told.drawn("top_p"))
    .inspect(|log| log["eval"]["model_generate_config"]["top_p"].clone()),
    Field::new("sampling.top_k", P, Kind::Moves, |run| {
        sampled(run, |sampling| sampling.top_k.into())
    })
    .harness(|told| told.drawn("top_k"))
    .inspect(|log| log["eval"]["model_generate_config"]["top_k"].clone()),
    Field::new("sampling.max_tokens", P, Kind::Moves, |run| {
        sampled(run, |sampling| sampling.max_tokens.into())
    })
    .harness(|told| told.generation("max_gen_toks"))
    .inspect(|log| log["eval"]["model_generate_config"]["max_tokens"].clone()),
    Field::new("sampling.stops", P, Kind::Moves, |run| {
        sampled(run, |sampling| json!(sampling.stops))
    })
    .harness(|told| told.generation("until"))
    .inspect(|log| log["eval"]["model_generate_config"]["stop_seqs"].clone()),
    Field::new("context.length", P, Kind::Moves, |run| {
        json!(run.settings.engine.context())
    })
    .rows(uncut),
    Field::new("context.cut", P, Kind::Moves, |run| {
        engine(run, "the prompt's beginning".into(), |_| Value::Null)
    })
    .rows(uncut),
    Field::new("harness.parity", P, Kind::Moves, |run| json!(run.settings.parity)).harness(|told| told.parity()),
    Field::new("slice", S, Kind::Moves, |_| Value::Null).rows(|source| known(&source.proof.slice)),
    Field::new("data.source", S, Kind::Moves, |run| known(&run.settings.data.source))
        .harness(|told| told.config("dataset_path"))
        .inspect(|log| log["eval"]["dataset"]["name"].clone()),
    Field::new("data.revision", S, Kind::Moves, |run| json!(run.settings.data.revision)),
    Field::new("data.split", S, Kind::Moves, |run| known(&run.settings.data.split))
        .harness(|told| told.config("test_split")),
    Field::new("data.subjects", S, Kind::Moves, |run| {
        match run.settings.data.subjects.as_slice() {
            [] => "all".into(),
            subjects => json!(subjects),
        }
    }),
    Field::new("data.per_subject", S, Kind::Moves, |run| {
        or_none(run.settings.data.per_subject)
    }),
    Field::new("data.sample_seed", S, Kind::Moves, |run| {
        or_none(run.settings.data.sample_seed)
    }),
    Field::new("data.limit", S, Kind::Moves, |run| or_none(run.settings.data.limit))
        .harness(|told| told.limit())
        .inspect(|log| log["eval"]["config"]["limit"].clone()),
    Field::new("data.gold_base", S, Kind::Moves, |run| {
        or_none(run.settings.data.gold_base)
    }),
    Field::new("data.fingerprint", S, Kind::Moves, |run| {
        known(&run.settings.data.fingerprint)
    }),
    Field::new("data.wash", S, Kind::Moves, |run| json!(run.settings.data.wash)),
    Field::new("data.washed", S, Kind::Moves, |run| {
        run.settings.data.washed.len().into()
    }),
    Field::new("data.slice_by", None, Kind::Irrelevant, |_| Value::Null).rows(|source| {
        if source.proof.is_by_hash {
            "doc_hash"
        } else {
            "question number"
        }
        .into()
    }),
    Field::new("proof.prompts", None, Kind::Irrelevant, |_| Value::Null).rows(|source| known(&source.proof.prompts)),
    Field::new("model.name", None, Kind::Irrelevant, |run| {
        known(&run.settings.model.name)
    })
    .rows(|source| {
        let is_ours = matches!(source.told, Told::Ours(_));
        if is_ours {
            Value::Null
        } else {
            known(&source.trace.name)
        }
    }),
    Field::new("model.id", M, Kind::Moves, |run| known(&run.settings.model.id))
        .harness(|told| told.model())
        .inspect(|log| log["eval"]["model"].clone())
        .rows(|source| match source.told {
            Told::Nothing => source.trace.model().map_or(Value::Null, Value::from),
            _ => Value::Null,
        }),
    Field::new("model.revision", M, Kind::Moves, |run| {
        json!(run.settings.model.revision)
    })
    .harness(|told| told.revision()),
    Field::new("model.architecture", M, Kind::Moves, |run| {
        of_local(run, |local| known(&local.architecture))
    }),
    Field::new("model.format", M, Kind::Moves, |run| {
        let local = of_local(run, |local| json!(local.format));
        engine(run, local, |served| json!(served.quantization))
    }),
    Field::new("engine.weights_sha256", M, Kind::Moves, |run| {
        of_local(run, |local| json!(local.weights_sha256))
    }),
    Field::new("engine.tokenizer_sha256", M, Kind::Moves, |run| {
        of_local(run, |local| json!(local.tokenizer_sha256))
    }),
    Field::new("prompt.chat_template_sha256", M, Kind::Moves, |run| {
        of_chat(run, json!(run.settings.prompt.chat_template_sha256))
    })
    .harness(|told| told.chat_template()),
    Field::new("seeds", E, Kind::Jitters, |run| match run.settings.seeds.as_slice() {
        [] | [None] => NONE.into(),
        seeds => json!(seeds),
    })
    .rows(|source| match source.told {
        Told::Ours(_) => Value::Null,
        _ => seeds(source),
    }),
    Field::new("sampling.stream", E, Kind::Jitters, |run| {
        let is_drawn = sampled(run, |sampling| (sampling.temperature > 0.0).into()) == true;
        let local = if is_drawn {
            json!(run.settings.stream)
        } else {
            NONE.into()
        };
        engine(run, local, |_| Value::Null)
    }),
    Field::new("engine.engine", E, Kind::Jitters, |run| {
        let local = json!(run.settings.engine)["engine"].clone();
        engine(run, local, |served| served.kind.facts().name.into())
    })
    .harness(|told| told.at("/config/model"))
    .inspect(|log| {
        log["eval"]["model"]
            .as_str()
            .and_then(|model| model.split_once('/'))
            .map_or(Value::Null, |at| at.0.into())
    }),
    Field::new("engine.dtype", E, Kind::Jitters, |run| {
        let local = of_local(run, |local| known(&local.dtype));
        engine(run, local, |served| json!(served.quantization))
    })
    .harness(|told| told.dtype()),
    Field::new("engine.kernel", E, Kind::Jitters, |run| {
        of_local(run, |local| known(&local.kernel))
    }),
    Field::new("engine.rounding", E, Kind::Jitters, |run| match &run.rounding {
        Some(rounding) => rounding.mean.into(),
        None => of_local(
            run,
            |local| if local.dtype == "f32" { NONE.into() } else { Value::Null },
        ),
    }),
    Field::new("engine.version", E, Kind::Jitters, |run| {
        engine(run, NONE.into(), |served| {
            let told: Vec<&str> = [&served.version, &served.fingerprint]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect();
            if told.is_empty() {
                Value::Null
            } else {
                told.join(" ").into()
            }
        })
    })
    .harness(|told| told.at("/transformers_version"))
    .inspect(|log| log["eval"]["packages"]["inspect_ai"].clone()),
    Field::new("engine.batch", E, Kind::Jitters, |run| {
        engine(run, NONE.into(), |served| json!(served.slots))
    })
    .harness(|told| told.at("/config/batch_size")),
    Field::new("server.model", E, Kind::Jitters, |run| {
        engine(run, NONE.into(), |served| known(&served.model))
    }),
    Field::new("machine.device", E, Kind::Jitters, |run| {
        let machine = run.machine.as_ref();
        json!(machine.and_then(|machine| machine.gpu.as_ref().or(machine.cpu.as_ref())))
    })
    .harness(|told| told.at("/config/device")),
    Field::new("machine.cpu", E, Kind::Jitters, |run| {
        json!(run.machine.as_ref().and_then(|machine| machine.cpu.clone()))
    }),
    Field::new("machine.features", E, Kind::Jitters, |run| {
        json!(run.machine.as_ref().map(|machine| &machine.features))
    }),
    Field::new("machine.cores", E, Kind::Jitters, |run| {
        json!(run.machine.as_ref().and_then(|machine| machine.cores))
    }),
    Field::new("machine.gpu", E, Kind::Jitters, |run| {
        run.machine
            .as_ref()
            .map_or(Value::Null, |machine| or_none(machine.gpu.clone()))
    }),
    Field::new("machine.driver", E, Kind::Jitters, |run| {
        run.machine
            .as_ref()
            .map_or(Value::Null, |machine| or_none(machine.driver.clone()))
    }),
    Field::new("machine.os", E, Kind::Jitters, |run| {
        json!(run.machine.as_ref().map(|machine| &machine.os))
    }),
    Field::new("harness.name", E, Kind::Jitters, |_| "markbook".into())
        .harness(|_| "lm-evaluation-harness".into())
        .inspect(|_| "inspect_ai".into()),
    Field::new("harness.version", E, Kind::Jitters, |run| known(&run.markbook))
        .harness(|told| told.at("/lm_eval_version"))
        .inspect(|log| log["eval"]["packages"]["inspect_ai"].clone()),
    Field::new("harness.build", E, Kind::Jitters, |run| {
        let build = run.build.as_ref();
        build.map_or(Value::Null, |build| {
            let parts: Vec<&str> = build.commit.iter().chain(&build.features).map(String::as_str).collect();
            if build.commit.is_none() {
                Value::Null
            } else {
                parts.join(" ").into()
            }
        })
    })
    .harness(|told| told.at("/git_hash")),
    Field::new("context.rows_cut", None, Kind::Irrelevant, |_| Value::Null).rows(|source| match source.told {
        Told::Ours(_) => rows_cut(source).into(),
        _ => Value::Null,
    }),
    Field::new("counts.rows", None, Kind::Irrelevant, |_| Value::Null).rows(|source| source.slice.len().into()),
    Field::new("counts.questions", None, Kind::Irrelevant, |_| Value::Null)
        .rows(|source| source.distinct(|row| source.trace.rows.question_key(row)).len().into()),
    Field::new("counts.attempts", None, Kind::Irrelevant, |_| Value::Null)
        .rows(|source| source.distinct(|row| source.trace.rows.attempt[row]).len().into()),
    Field::new("counts.planned", None, Kind::Irrelevant, |run| run.rows.into()),
    Field::new("run.started", None, Kind::Irrelevant, |run| known(&run.started))
        .harness(|told| told.date())
        .inspect(|log| log["eval"]["created"].clone()),
    Field::new("run.ended", None, Kind::Irrelevant, |run| json!(run.ended)),
    Field::new("run.threads", None, Kind::Irrelevant, |run| run.timing.threads.into()),
    Field::new("run.wall_s", None, Kind::Irrelevant, |run| run.timing.wall_s.into()),
    Field::new("run.notes", None, Kind::Irrelevant, |run| json!(run.notes)),
    Field::new("run.kind", None, Kind::Irrelevant, |_| Value::Null).rows(|source| source.trace.kind.clone().into()),
];
