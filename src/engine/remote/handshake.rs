//! What a server really does, tried before the first question: nothing that its kind promises is believed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ask::{Letter, Model};
use super::fault::{Fault, short};
use super::kinds::Kind;
use super::{Cloze, Rung, Served};
use crate::engine::{ChatTemplate, Prompt, Sampling, Scores, Turn};

/// Whether a seed decides an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seeds {
    /// The same seed gives the same answer, alone and beside others; another seed another one.
    Honoured,
    /// So alone, but not beside other requests.
    HonouredAlone,
    /// Seeds reach the sampler, but arithmetic differs from request to request.
    UntilRounding,
    /// The same seed gives different answers: attempts are draws of their own that cannot be repeated.
    #[default]
    NotHonoured,
    /// Every seed gives the same answer: several attempts would be one.
    Fixed,
}

impl Seeds {
    /// In words, for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Seeds::Honoured => "seeds are honoured",
            Seeds::HonouredAlone => {
                "seeds are honoured by one request at a time, not under load (--in-flight 1 repeats)"
            }
            Seeds::UntilRounding => "seeds reach the sampler, but the same seed does not repeat to the end",
            Seeds::NotHonoured => "seeds are ignored: attempts are draws of their own and cannot be repeated",
            Seeds::Fixed => "every seed gives the same answer",
        }
    }
}

/// Two prompts on which ways of scoring are tried and compared.
const PROMPTS: [&str; 2] = [
    "Which of these is a colour?\nA. seven\nB. green\nC. slowly\nD. under\nAnswer:",
    "The following are multiple choice questions (with answers) about the sea.\n\nWhat do fish breathe with?\nA. lungs\nB. leaves\nC. gills\nD. fur\nAnswer:",
];

/// The prompt that seeds are tried on.
const OPEN: &str = "Once upon a time there was a";

/// The same of a chat.
const OPEN_CHAT: &str = "Write the beginning of a story about a harbour, in your own words.";

/// Tokens of a trial.
const TRIAL_TOKENS: usize = 32;

/// Characters that two texts share at their beginning, where seeds reach the sampler but arithmetic differs.
const SHARED_START: usize = 24;

/// Likeliest tokens that OpenAI's completions tell at most.
const FEWEST: usize = 5;

/// How far two ways of scoring may lie apart, in natural logs.
const APART: f32 = 0.05;

/// The letters that cloze exams score.
const LETTERS: [&str; 10] = [" A", " B", " C", " D", " E", " F", " G", " H", " I", " J"];

/// Tries a server, step by step; `tell` hears each step in words.
///
/// # Errors
/// Where no exam at all is possible.
pub async fn shake(
    model: &mut Model,
    (asked, cloze): (&str, Cloze),
    (is_chat, samples_alone): (bool, bool),
    tell: &mut dyn FnMut(String),
) -> Result<Served, Fault> {
    let mut served = Served {
        url: model.client.address.shown(),
        asked: asked.to_owned(),
        ..Served::default()
    };
    tell(format!("asking {} what it serves", model.client.address.host()));
    name(model, &mut served).await?;
    identity(model, &mut served).await;
    served.kind = model.kind;
    served.unmet.clone_from(&model.without);
    served.is_chat = is_chat || !model.kind.facts().has_text;
    served.reads_first_token = cloze == Cloze::Chat;
    match cloze {
        Cloze::Off => served.no_scores = Some("--cloze off".to_owned()),
        Cloze::Chat => served.no_scores = Some("--cloze chat".to_owned()),
        Cloze::Exact | Cloze::Partial if served.is_chat => {
            served.no_scores = Some("a chat tells nothing of the letters after a plain prompt".to_owned());
        }
        Cloze::Exact | Cloze::Partial => {
            tell("trying how it can score letters".to_owned());
            scoring(model, &mut served, cloze).await?;
        }
    }
    tell("trying whether seeds, top_k and stop texts reach its sampler".to_owned());
    sampling(model, &mut served, samples_alone).await?;
    Ok(served)
}

/// The model's name, as the server lists it.
async fn name(model: &mut Model, served: &mut Served) -> Result<(), Fault> {
    let list = model.client.get(model.client.address.v1("models")).await;
    let list = match list {
        Ok(list) => list,
        Err(Fault::Ends(said)) if said.contains("knows no model or path") => {
            return Err(Fault::Ends(format!(
                "no OpenAI-compatible server at {}",
                model.client.address.shown()
            )));
        }
        Err(fault) => return Err(fault),
    };
    let entries = list.get("data").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let names: Vec<String> = entries.iter().filter_map(|entry| text(entry, "id")).collect();
    let known = entries
        .iter()
        .find(|entry| text(entry, "id").as_deref() == Some(&served.asked));
    let entry = match (known, entries.as_slice()) {
        (Some(entry), _) => entry,
        (None, [only]) if served.asked.is_empty() || model.kind == Kind::LlamaServer => only,
        _ => {
            let what = if served.asked.is_empty() {
                "name the model".to_owned()
            } else {
                format!("there is no model {:?}", served.asked)
            };
            return Err(Fault::Ends(format!(
                "{}: {what}; {} serves: {}",
                model.client.address.host(),
                model.kind.facts().title,
                if names.is_empty() {
                    "nothing".to_owned()
                } else {
                    names.join(", ")
                }
            )));
        }
    };
    model.name = text(entry, "id").unwrap_or_default();
    model.client.model.clone_from(&model.name);
    served.model = if model.kind == Kind::LlamaServer || text(entry, "owned_by").as_deref() == Some("llamacpp") {
        file_name(&model.name)
    } else {
        model.name.clone()
    };
    served.root = text(entry, "root").map(|root| file_name(&root));
    served.context = entry
        .get("max_model_len")
        .and_then(Value::as_u64)
        .map(|tokens| tokens as usize);
    served.quantization = entry.pointer("/meta/ftype").and_then(Value::as_str).map(str::to_owned);
    if model.kind == Kind::Api {
        model.kind = match text(entry, "owned_by").as_deref() {
            Some("vllm") => Kind::Vllm,
            Some("llamacpp") => Kind::LlamaServer,
            Some("sglang") => Kind::Sglang,
            _ => Kind::Api,
        };
    }
    Ok(())
}

/// Version, context and what else the server tells of itself; what it does not tell stays unknown.
async fn identity(model: &mut Model, served: &mut Served) {
    let client = model.client.clone();
    let ask = async |endpoint: &str| client.get(client.address.at(endpoint)).await.ok();
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
    match model.kind {
        Kind::LlamaServer => {
            let Some(props) = ask("props").await else { return };
            let context = props
                .pointer("/default_generation_settings/n_ctx")
                .and_then(Value::as_u64);
            served.context = context.map(|tokens| tokens as usize).or(served.context);
            served.slots = props
                .get("total_slots")
                .and_then(Value::as_u64)
                .map(|slots| slots as usize);
            served.version = text(&props, "/build_info");
            served.quantization = text(&props, "/model_ftype").or(served.quantization.take());
            served.root = text(&props, "/model_path").map(|path| file_name(&path));
            served.chat_template = text(&props, "/chat_template").map(|source| ChatTemplate {
                source,
                bos_token: text(&props, "/bos_token"),
                eos_token: text(&props, "/eos_token"),
                ..ChatTemplate::default()
            });
            let adds_bos = model.adds_bos().await.ok().flatten().unwrap_or(false);
            model.bos = text(&props, "/bos_token").filter(|bos| adds_bos && !bos.is_empty());
        }
        Kind::Sglang => {
            for endpoint in ["server_info", "get_server_info"] {
                let Some(info) = ask(endpoint).await else { continue };
                served.version = text(&info, "/version");
                let context = info.get("max_total_num_tokens").or(info.get("context_length"));
                served.context = served
                    .context
                    .or(context.and_then(Value::as_u64).map(|tokens| tokens as usize));
                return;
            }
        }
        Kind::Tgi => {
            let Some(info) = ask("info").await else { return };
            served.version = text(&info, "/version");
            served.root = text(&info, "/model_id");
            served.quantization = text(&info, "/model_dtype");
            let context = info.get("max_total_tokens").and_then(Value::as_u64);
            served.context = context.map(|tokens| tokens as usize);
        }
        _ => {
            let Some(version) = ask("version").await else { return };
            served.version = text(&version, "/version");
        }
    }
}

/// Whether a server that was away, or whose answers changed, is what it was: what differs, in words, where anything does.
pub async fn again(model: &mut Model, known: &Served) -> Result<Option<String>, Fault> {
    let mut now = Served {
        asked: known.asked.clone(),
        cloze: known.cloze,
        ..Served::default()
    };
    name(model, &mut now).await?;
    identity(model, &mut now).await;
    now.kind = model.kind;
    if let Some(changed) = known.identity().changed(&now.identity()) {
        return Ok(Some(changed));
    }
    let Some(rung) = known.cloze else { return Ok(None) };
    let scores = try_rung(model, rung, &first_four(&known.letters)).await?;
    let apart = apart(&known.known_scores, &flat(&scores));
    Ok((apart > APART).then(|| format!("it scores a known prompt {apart:.3} from before")))
}

/// The best way of scoring that works, and how far the next one lies from it; a bound where that is wanted and nothing
/// exact works.
async fn scoring(model: &mut Model, served: &mut Served, cloze: Cloze) -> Result<(), Fault> {
    let letters = letters(model).await?;
    let has_ids = letters.is_some();
    let letters = letters.unwrap_or_else(|| LETTERS.map(|letter| (letter.to_owned(), Vec::new())).into());
    served.letters = letters.into_iter().collect();
    let four = first_four(&served.letters);
    let mut found: Vec<(Rung, Vec<f32>)> = Vec::new();
    let mut problems = Vec::new();
    if !has_ids {
        problems.push("its tokenizer does not tell the letters' tokens".to_owned());
    }
    let exact: &[Rung] = if has_ids {
        &[Rung::Ids, Rung::Forced, Rung::Echo]
    } else {
        &[]
    };
    let bounded = (cloze == Cloze::Partial).then_some(Rung::Partial);
    for rung in exact.iter().copied().chain(bounded) {
        if found.len() == 2 || rung == Rung::Partial && !found.is_empty() {
            break;
        }
        match try_rung(model, rung, &four).await {
            Ok(scores) => found.push((rung, flat(&scores))),
            Err(fault @ (Fault::Gone { .. } | Fault::Busy { .. })) => return Err(fault),
            Err(_) if rung == Rung::Partial && model.top > FEWEST => {
                model.top = FEWEST;
                found.push((rung, flat(&try_rung(model, rung, &four).await?)));
            }
            Err(fault) => problems.push(format!("{}: {}", rung.name(), fault.cause())),
        }
    }
    match found.as_slice() {
        [] => served.no_scores = Some(short(&problems.join("; "))),
        [(rung, scores)] => {
            served.cloze = Some(*rung);
            served.top = (*rung == Rung::Partial).then_some(model.top);
            served.known_scores.clone_from(scores);
        }
        [(rung, best), (_, next), ..] => {
            let apart = apart(best, next);
            served.between_methods = Some(f64::from(apart));
            if apart > APART {
                served.no_scores = Some(format!("two ways of scoring differ by {apart:.3} on one prompt"));
            } else {
                served.cloze = Some(*rung);
                served.known_scores.clone_from(best);
            }
        }
    }
    Ok(())
}

fn first_four(letters: &BTreeMap<String, Vec<u32>>) -> Vec<Letter> {
    letters
        .iter()
        .take(4)
        .map(|(text, ids)| (text.clone(), ids.clone()))
        .collect()
}

/// The letters and their tokens, where each is one token that does not merge with the end of a prompt.
async fn letters(model: &Model) -> Result<Option<Vec<Letter>>, Fault> {
    let tokens = async |text: &str| match model.tokens(text).await {
        Err(Fault::Ends(_) | Fault::Refused { .. } | Fault::Retry { .. }) => Ok(None),
        other => other,
    };
    let Some(bare) = tokens(PROMPTS[0]).await? else {
        return Ok(None);
    };
    let mut letters = Vec::new();
    for letter in LETTERS {
        let Some(whole) = tokens(&format!("{}{letter}", PROMPTS[0])).await? else {
            return Ok(None);
        };
        match whole.strip_prefix(bare.as_slice()) {
            Some([id]) => letters.push((letter.to_owned(), vec![*id])),
            _ => return Ok(None),
        }
    }
    Ok(Some(letters))
}

/// The scores of both trial prompts by one way, where they can be log-probabilities of four different tokens.
async fn try_rung(model: &Model, rung: Rung, four: &[Letter]) -> Result<[Scores; 2], Fault> {
    let mut both = Vec::new();
    for prompt in PROMPTS {
        let (scores, _) = model.score(rung, prompt, four).await?;
        let all = &scores.log_likelihoods;
        let bounded = scores
            .told
            .as_ref()
            .map(|told| told.by.bounded.as_slice())
            .unwrap_or_default();
        let known = all.iter().enumerate().filter(|(at, _)| !bounded.contains(at));
        let mass: f32 = known.map(|(_, logprob)| logprob.exp()).sum();
        if all.iter().any(|logprob| !logprob.is_finite()) || mass > 1.01 {
            return Err(Fault::retry("the numbers are no log-probabilities of one distribution"));
        }
        both.push(scores);
    }
    both.try_into().map_err(|_| Fault::retry("no scores"))
}

fn flat(scores: &[Scores; 2]) -> Vec<f32> {
    let all = scores.iter().flat_map(|scores| scores.log_likelihoods.iter().copied());
    all.collect()
}

fn apart(one: &[f32], other: &[f32]) -> f32 {
    let differences = one.iter().zip(other).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f32::max)
}

/// Seeds, `top_k` and stop texts.
async fn sampling(model: &Model, served: &mut Served, alone: bool) -> Result<(), Fault> {
    let trial = Sampling {
        temperature: 1.0,
        top_p: 1.0,
        top_k: 0,
        max_tokens: TRIAL_TOKENS,
        stops: Vec::new(),
    };
    let mut texts = Vec::new();
    for seed in [42, 42, 43, 44] {
        let written = model.write(&open(served), &trial, (0, seed), &mut |_, _| false).await?;
        served.thinks |= written.thinks;
        served.fingerprint = written.fingerprint.or(served.fingerprint.take());
        texts.push(written.completion.text);
    }
    let prompt = open(served);
    let write = async |sampling: &Sampling, seed: i64| -> Result<String, Fault> {
        let written = model.write(&prompt, sampling, (0, seed), &mut |_, _| false).await?;
        Ok(written.completion.text)
    };
    let differ = texts[0] != texts[2] || texts[2] != texts[3];
    served.seeds = match (texts[0] == texts[1], differ) {
        (true, true) => Seeds::Honoured,
        (true, false) => Seeds::Fixed,
        (false, _)
            if shared_start(&texts[0], &texts[1]) >= SHARED_START
                && shared_start(&texts[0], &texts[2]) < SHARED_START =>
        {
            Seeds::UntilRounding
        }
        (false, _) => Seeds::NotHonoured,
    };
    if served.seeds == Seeds::Honoured && !alone {
        let (a, b, c, d) = tokio::join!(
            write(&trial, 42),
            write(&trial, 43),
            write(&trial, 42),
            write(&trial, 44)
        );
        let same = a? == texts[0] && b? == texts[2] && c? == texts[0] && d? == texts[3];
        if !same {
            served.seeds = Seeds::HonouredAlone;
        }
    }
    if model.kind.facts().top_k_off.is_some() && !model.without.iter().any(|name| name == "top_k") {
        let narrow = Sampling {
            top_k: 1,
            ..trial.clone()
        };
        if write(&narrow, 42).await? != write(&narrow, 43).await? {
            served.unmet.push("top_k".to_owned());
        }
    } else if !served.unmet.iter().any(|name| name == "top_k") {
        served.unmet.push("top_k".to_owned());
    }
    if matches!(served.seeds, Seeds::NotHonoured | Seeds::Fixed) {
        served.unmet.push("seed".to_owned());
    } else {
        let stop: String = texts[0].chars().skip(8).take(3).collect();
        let stopping = Sampling {
            stops: vec![stop.clone()],
            ..trial
        };
        if !stop.is_empty() && write(&stopping, 42).await?.contains(&stop) {
            served.unmet.push("stop".to_owned());
        }
    }
    Ok(())
}

/// The open prompt, in the form that the exam's prompts have.
fn open(served: &Served) -> Prompt {
    if !served.is_chat {
        return OPEN.into();
    }
    Prompt::Chat(vec![Turn {
        role: "user".into(),
        content: OPEN_CHAT.into(),
    }])
}

fn shared_start(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count()
}

fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}
