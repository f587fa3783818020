//! Text to tokens and back: a tokenizer.json, or the tokenizer that a GGUF file's metadata describes; which tokens begin
//! and end a text; the chat template.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use candle_core::quantized::gguf_file::Value as GgufValue;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{AddedToken, PreTokenizerWrapper, SplitDelimiterBehavior};

use super::config::{Config, token_ids};
use super::gguf::Metadata;
use crate::engine::ChatTemplate;
use crate::text::hex;

/// How special tokens are added around a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Adding {
    /// As the tokenizer's own post-processor does it.
    Own,
    /// A beginning-of-sequence token in front.
    Bos,
    Nothing,
}

/// A model's tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    adding: Adding,
    bos: Option<(u32, String)>,
    eos_text: Option<String>,
    /// Tokens that end a completion.
    pub eos: Vec<u32>,
    pub template: Option<String>,
    pub sha256: String,
}

/// Ends of a chat turn; where a model has one of them as a special token, a completion ends there.
const TURN_ENDS: [&str; 6] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<turn|>",
    "<|end|>",
];

/// Splitting of text before byte-pair encoding, by the names llama.cpp gives.
const QWEN2_WORDS: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3_WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

impl Tokenizer {
    /// Reads tokenizer.json of a model folder, with what tokenizer_config.json, generation_config.json and
    /// chat_template.jinja say.
    pub fn from_folder(folder: &Path, config: &Config) -> Result<Tokenizer> {
        let path = folder.join("tokenizer.json");
        let bytes = std::fs::read(&path)
            .with_context(|| format!("{} is not readable: a model needs its tokenizer", path.display()))?;
        let broken = |error| anyhow!("{} is not a tokenizer: {error}", path.display());
        let mut inner = tokenizers::Tokenizer::from_bytes(&bytes).map_err(broken)?;
        // What the file says of batches is not about single texts.
        inner.with_truncation(None).map_err(broken)?.with_padding(None);
        let settings = read_json(&folder.join("tokenizer_config.json"))?;
        let generation = read_json(&folder.join("generation_config.json"))?;
        let token = |key: &str| token_text(settings.get(key));
        let bos_text = token("bos_token").or_else(|| config.bos.and_then(|id| inner.id_to_token(id)));
        let bos = bos_text.and_then(|text| inner.token_to_id(&text).map(|id| (id, text)));
        let eos_text = token("eos_token").or_else(|| config.eos.first().and_then(|id| inner.id_to_token(*id)));
        let mut eos = config.eos.clone();
        eos.extend(token_ids(generation.get("eos_token_id")));
        eos.extend(eos_text.as_ref().and_then(|text| inner.token_to_id(text)));
        let template = match std::fs::read_to_string(folder.join("chat_template.jinja")) {
            Ok(template) => Some(template),
            Err(_) => chat_template(settings.get("chat_template")),
        };
        let adding = adding_of(&settings, bos.is_some());
        let sha256 = hex(&Sha256::digest(&bytes));
        Ok(Tokenizer {
            inner,
            adding,
            bos,
            eos_text,
            eos,
            template,
            sha256,
        }
        .with_turn_ends())
    }

    /// Builds the tokenizer that a GGUF file describes. Unknown kinds are refused, never guessed.
    pub fn from_gguf(metadata: &Metadata) -> Result<Tokenizer> {
        let path = &metadata.path;
        let model = metadata
            .text("tokenizer.ggml.model")
            .with_context(|| missing(path, "tokenizer.ggml.model"))?;
        if model != "gpt2" {
            bail!(
                "{path}: unsupported tokenizer model {model:?}; known: gpt2. A tokenizer.json beside the file is used instead"
            );
        }
        let words = metadata
            .text("tokenizer.ggml.pre")
            .with_context(|| missing(path, "tokenizer.ggml.pre"))?;
        let tokens = texts(metadata, "tokenizer.ggml.tokens")?;
        let merges = texts(metadata, "tokenizer.ggml.merges")?;
        let types = metadata.get("tokenizer.ggml.token_type");
        let mut inner = byte_pair_tokenizer(words, &tokens, &merges).with_context(|| path.clone())?;
        add_special_tokens(&mut inner, &tokens, types)?;
        let text_of = |id: usize| tokens.get(id).map(|text| (id as u32, (*text).to_string()));
        let special = |key: &str| metadata.count_of(&format!("tokenizer.ggml.{key}")).and_then(text_of);
        let bos = special("bos_token_id");
        let eos = special("eos_token_id");
        // llama.cpp adds one for Llama 3's kind unless the file says otherwise.
        let adds_bos = metadata
            .flag("tokenizer.ggml.add_bos_token")
            .unwrap_or(words == "llama-bpe");
        let mut hasher = Sha256::new();
        for part in [model, words]
            .into_iter()
            .chain(tokens.iter().copied())
            .chain(merges.iter().copied())
        {
            hasher.update(part.as_bytes());
            hasher.update([0]);
        }
        let tokenizer = Tokenizer {
            inner,
            adding: if adds_bos && bos.is_some() {
                Adding::Bos
            } else {
                Adding::Nothing
            },
            eos: [eos.as_ref().map(|eos| eos.0), special("eot_token_id").map(|eot| eot.0)]
                .into_iter()
                .flatten()
                .collect(),
            eos_text: eos.map(|eos| eos.1),
            bos,
            template: metadata.text("tokenizer.chat_template").map(Into::into),
            sha256: hex(&hasher.finalize()),
        };
        Ok(tokenizer.with_turn_ends())
    }

    /// Reads the tokenizer.json beside a GGUF file; the file's own metadata tells what settings files there do not.
    pub fn beside_gguf(folder: &Path, metadata: &Metadata, config: &Config) -> Result<Tokenizer> {
        let mut config = config.clone();
        let id = |key: &str| metadata.count_of(&format!("tokenizer.ggml.{key}")).map(|id| id as u32);
        config.bos = id("bos_token_id");
        config.eos = ["eos_token_id", "eot_token_id"].into_iter().filter_map(id).collect();
        let mut tokenizer = Tokenizer::from_folder(folder, &config)?;
        if tokenizer.template.is_none() {
            tokenizer.template = metadata.text("tokenizer.chat_template").map(Into::into);
        }
        Ok(tokenizer)
    }

    fn with_turn_ends(mut self) -> Tokenizer {
        let special = self.inner.get_added_tokens_decoder();
        let is_turn_end = |token: &AddedToken| token.special && TURN_ENDS.contains(&token.content.as_str());
        self.eos.extend(
            special
                .iter()
                .filter(|(_, token)| is_turn_end(token))
                .map(|(id, _)| *id),
        );
        self.eos.sort_unstable();
        self.eos.dedup();
        self
    }

    /// Tokens of a text. Special tokens are added as the model's settings say, if asked for, but never a second
    /// beginning-of-sequence token.
    pub fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>> {
        let begins_with_bos = self
            .bos
            .as_ref()
            .is_some_and(|(_, bos)| !bos.is_empty() && text.starts_with(bos.as_str()));
        let adding = if add_special_tokens && !begins_with_bos {
            self.adding
        } else {
            Adding::Nothing
        };
        let encoding = self.inner.encode_fast(text, adding == Adding::Own);
        let encoding = encoding.map_err(|error| anyhow!("the text cannot be tokenized: {error}"))?;
        let bos = self.bos.as_ref().filter(|_| adding == Adding::Bos).map(|(id, _)| *id);
        Ok(bos.into_iter().chain(encoding.get_ids().iter().copied()).collect())
    }

    /// Text of tokens, special ones left out.
    pub fn decode(&self, tokens: &[u32]) -> String {
        self.inner.decode(tokens, true).unwrap_or_default()
    }

    /// Text of one token, special ones by their name.
    pub fn token_text(&self, token: u32) -> String {
        self.inner.decode(&[token], false).unwrap_or_default()
    }

    /// The token that stands for an empty context: beginning of sequence, else end.
    pub fn empty_context(&self) -> Option<u32> {
        self.bos
            .as_ref()
            .map(|(id, _)| *id)
            .or_else(|| self.eos.first().copied())
    }

    pub fn chat_template(&self) -> Option<ChatTemplate> {
        let bos_token = self.bos.as_ref().map(|(_, text)| text.clone());
        let eos_token = self.eos_text.clone();
        self.template.clone().map(|source| ChatTemplate {
            source,
            bos_token,
            eos_token,
        })
    }
}

fn missing(path: &str, key: &str) -> String {
    format!("{path} lacks the metadata key {key} (a tokenizer.json beside it would be used instead)")
}

/// A JSON object in a file; an empty one where there is no file.
fn read_json(path: &Path) -> Result<Value> {
    match std::fs::read(path) {
        Err(_) => Ok(Value::Null),
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", path.display())),
    }
}

/// A special token given as text or as an object with its text.
fn token_text(value: Option<&Value>) -> Option<String> {
    let value = value?;
    value
        .as_str()
        .or_else(|| value.get("content").and_then(Value::as_str))
        .map(Into::into)
}

/// A chat template given as text, or as a list of named ones, of which the default is taken.
fn chat_template(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(template) => Some(template.clone()),
        Value::Array(named) => {
            let is_default = |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some("default");
            let chosen = named.iter().find(is_default).or_else(|| named.first())?;
            chosen.get("template").and_then(Value::as_str).map(Into::into)
        }
        _ => None,
    }
}

/// The reference library's Llama and Gemma classes put their own flag above what tokenizer.json says; others go by the
/// latter.
fn adding_of(settings: &Value, has_bos: bool) -> Adding {
    let class = settings
        .get("tokenizer_class")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let flagged = ["Llama", "Gemma", "CodeLlama"].into_iter().any(|family| {
        class
            .strip_prefix(family)
            .is_some_and(|rest| rest == "Tokenizer" || rest == "TokenizerFast")
    });
    match (flagged, settings.get("add_bos_token").and_then(Value::as_bool)) {
        (true, Some(false)) => Adding::Nothing,
        (true, Some(true)) if has_bos => Adding::Bos,
        _ => Adding::Own,
    }
}

fn texts<'a>(metadata: &'a Metadata, key: &str) -> Result<Vec<&'a str>> {
    let Some(GgufValue::Array(values)) = metadata.get(key) else {
        bail!(missing(&metadata.path, key))
    };
    let text = |value: &'a GgufValue| match value {
        GgufValue::String(text) => Ok(text.as_str()),
        _ => Err(anyhow!("{}: {key} holds something that is not text", metadata.path)),
    };
    values.iter().map(text).collect()
}

fn byte_pair_tokenizer(words: &str, tokens: &[&str], merges: &[&str]) -> Result<tokenizers::Tokenizer> {
    let split = |regex: &str| -> Result<PreTokenizerWrapper> {
        let pattern = SplitPattern::Regex(regex.into());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
        Ok(split
            .map_err(|error| anyhow!("the word pattern is not usable: {error}"))?
            .into())
    };
    let bytes = |regex: bool| PreTokenizerWrapper::from(ByteLevel::new(false, regex, regex));
    let pre_tokenizers = match words {
        "smollm" | "starcoder" | "refact" | "command-r" => vec![Digits::new(true).into(), bytes(true)],
        "qwen2" => vec![split(QWEN2_WORDS)?, bytes(false)],
        "llama-bpe" => vec![split(LLAMA3_WORDS)?, bytes(false)],
        other => bail!(
            "unsupported pre-tokenizer {other:?}; known: smollm, starcoder, refact, command-r, qwen2, llama-bpe. A \
             tokenizer.json beside the file is used instead"
        ),
    };
    let vocab: Vec<(String, u32)> = tokens
        .iter()
        .enumerate()
        .map(|(id, token)| ((*token).to_string(), id as u32))
        .collect();
    let pair = |merge: &&str| {
        let (left, right) = merge
            .split_once(' ')
            .with_context(|| format!("the merge {merge:?} is no pair"))?;
        Ok((left.to_string(), right.to_string()))
    };
    let merges = merges.iter().map(pair).collect::<Result<Vec<_>>>()?;
    let model = BPE::builder()
        .vocab_and_merges(vocab.into_iter().collect::<tokenizers::models::bpe::Vocab>(), merges)
        .ignore_merges(words == "llama-bpe")
        .build()
        .map_err(|error| anyhow!("the vocabulary and merges do not fit together: {error}"))?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(Sequence::new(pre_tokenizers)));
    tokenizer.with_decoder(Some(ByteLevel::new(false, true, true)));
    if words == "qwen2" {
        let normalized = tokenizer.with_normalizer(Some(NFC));
        normalized.map_err(|error| anyhow!("the normalizer is not usable: {error}"))?;
    }
    Ok(tokenizer)
}

/// Token types 3 (control) and 4 (user-defined) are matched whole in a text.
fn add_special_tokens(inner: &mut tokenizers::Tokenizer, tokens: &[&str], types: Option<&GgufValue>) -> Result<()> {
    let Some(GgufValue::Array(types)) = types else {
        return Ok(());
    };
    ensure!(
        types.len() == tokens.len(),
        "{} token types for {} tokens",
        types.len(),
        tokens.len()
    );
    let of_type = |wanted: i32| {
        let is_wanted = move |kind: &GgufValue| match kind {
            GgufValue::I32(kind) => *kind == wanted,
            GgufValue::U32(kind) => i64::from(*kind) == i64::from(wanted),
            _ => false,
        };
        tokens
            .iter()
            .zip(types)
            .filter(move |(text, kind)| !text.is_empty() && is_wanted(kind))
            .map(|(text, _)| *text)
    };
    let control: Vec<AddedToken> = of_type(3)
        .map(|text| AddedToken::from(text, true).normalized(false))
        .collect();
    let defined: Vec<AddedToken> = of_type(4)
        .map(|text| AddedToken::from(text, false).normalized(false))
        .collect();
    inner
        .add_special_tokens(control)
        .map_err(|error| anyhow!("special tokens are not usable: {error}"))?;
    inner
        .add_tokens(defined)
        .map_err(|error| anyhow!("added tokens are not usable: {error}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(class: &str, add_bos: Option<bool>) -> Value {
        serde_json::json!({"tokenizer_class": class, "add_bos_token": add_bos})
    }

    #[test]
    fn only_classes_that_heed_their_own_flag_do() {
        assert_eq!(
            adding_of(&settings("LlamaTokenizerFast", Some(false)), true),
            Adding::Nothing
        );
        assert_eq!(adding_of(&settings("GemmaTokenizer", Some(true)), true), Adding::Bos);
        assert_eq!(
            adding_of(&settings("PreTrainedTokenizerFast", Some(false)), true),
            Adding::Own
        );
        assert_eq!(adding_of(&settings("Qwen2Tokenizer", Some(false)), false), Adding::Own);
    }

    #[test]
    fn a_word_splitter_that_is_not_known_is_refused_with_the_known_ones() {
        let error = format!("{:#}", byte_pair_tokenizer("tekken", &["a"], &[]).unwrap_err());
        assert!(
            error.contains("tekken") && error.contains("smollm") && error.contains("llama-bpe"),
            "{error}"
        );
    }

    #[test]
    fn the_default_of_several_chat_templates_is_taken() {
        let named = serde_json::json!([{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]);
        assert_eq!(chat_template(Some(&named)).as_deref(), Some("d"));
        assert_eq!(
            token_text(Some(&serde_json::json!({"content": "<s>"}))).as_deref(),
            Some("<s>")
        );
    }
}
