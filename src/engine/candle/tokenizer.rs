//! Text to tokens and back: a tokenizer.json, or the tokenizer that a GGUF file's metadata describes; which tokens begin
//! and end a text; the chat template.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

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
use super::open::read_settings;
use crate::engine::ChatTemplate;
use crate::guard::guarded;
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
    /// The file it was read from.
    path: String,
    adding: Adding,
    bos: Option<(u32, String)>,
    eos_text: Option<String>,
    /// Special tokens beside those two, by the name that chat templates give them.
    others: BTreeMap<String, String>,
    /// Why its crate could not decode.
    failure: OnceLock<String>,
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

/// The sha256 of texts, each ended by a zero.
fn digest_of(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update([0]);
    }
    hex(&hasher.finalize())
}

impl Tokenizer {
    /// Reads tokenizer.json of a model folder, with what tokenizer_config.json, generation_config.json and
    /// chat_template.jinja say.
    pub fn from_folder(folder: &Path, config: &Config) -> Result<Tokenizer> {
        let path = folder.join("tokenizer.json");
        let bytes = read_settings(&path)
            .with_context(|| format!("{} is not readable: a model needs its tokenizer", path.display()))?;
        let broken = |error| anyhow!("{} is not a tokenizer: {error}", path.display());
        let inner = guarded(Breakdown(&path.display().to_string()), || {
            let mut inner = tokenizers::Tokenizer::from_bytes(&bytes).map_err(broken)?;
            // What the file says of batches is not about single texts.
            inner.with_truncation(None).map_err(broken)?.with_padding(None);
            Ok(inner)
        })?;
        let settings = read_json(&folder.join("tokenizer_config.json"))?;
        let map = read_json(&folder.join("special_tokens_map.json")).unwrap_or_default();
        let generation = read_json(&folder.join("generation_config.json"))?;
        // Where the settings speak of a token, a null says that there is none.
        let token = |key: &str| settings.get(key).or_else(|| map.get(key)).map(token_text);
        let by_id = |id: Option<u32>| id.and_then(|id| inner.id_to_token(id));
        let bos_text = token("bos_token").unwrap_or_else(|| by_id(config.bos));
        let bos = bos_text.and_then(|text| inner.token_to_id(&text).map(|id| (id, text)));
        let eos_text = token("eos_token").unwrap_or_else(|| by_id(config.eos.first().copied()));
        let others = OTHERS
            .into_iter()
            .filter_map(|(key, _)| Some((key.to_owned(), token(key)??)));
        let mut eos = config.eos.clone();
        eos.extend(token_ids(generation.get("eos_token_id")));
        eos.extend(eos_text.as_ref().and_then(|text| inner.token_to_id(text)));
        let template = match read_settings(&folder.join("chat_template.jinja")).map(String::from_utf8) {
            Ok(Ok(template)) => Some(template),
            _ => chat_template(settings.get("chat_template")),
        };
        Tokenizer {
            path: path.display().to_string(),
            adding: adding_of(&settings, bos.is_some()),
            others: others.collect(),
            sha256: hex(&Sha256::digest(&bytes)),
            failure: OnceLock::new(),
            inner,
            bos,
            eos_text,
            eos,
            template,
        }
        .with_turn_ends()
        .tried()
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
        let inner = guarded(Breakdown(path), || {
            let mut inner = byte_pair_tokenizer(words, &tokens, &merges).with_context(|| path.clone())?;
            add_special_tokens(&mut inner, &tokens, types)?;
            Ok(inner)
        })?;
        let text_of = |id: usize| tokens.get(id).map(|text| (id as u32, (*text).to_string()));
        let special = |key: &str| metadata.count_of(&format!("tokenizer.ggml.{key}")).and_then(text_of);
        let others = OTHERS
            .into_iter()
            .filter_map(|(name, key)| Some((name.to_owned(), special(key)?.1)));
        let bos = special("bos_token_id");
        let eos = special("eos_token_id");
        // llama.cpp adds one for Llama 3's kind unless the file says otherwise.
        let adds_bos = metadata
            .flag("tokenizer.ggml.add_bos_token")
            .unwrap_or(words == "llama-bpe");
        let told = [&[model, words], &tokens[..], &merges[..]].concat();
        Tokenizer {
            path: path.clone(),
            others: others.collect(),
            failure: OnceLock::new(),
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
            sha256: digest_of(&told),
        }
        .with_turn_ends()
        .tried()
    }

    /// Encodes and decodes a few words, so that what its crate panics at is told before anything is asked.
    fn tried(self) -> Result<Tokenizer> {
        match self.encode("What is 1 + 1? Æ\n", true) {
            Ok(tokens) => _ = self.decode(&tokens),
            Err(error) if error.to_string() == Breakdown(&self.path).to_string() => return Err(error),
            // A small vocabulary may lack these words.
            Err(_) => {}
        }
        self.failure().map_or(Ok(self), Err)
    }

    /// Reads the tokenizer.json beside a GGUF file; the file's own metadata tells what settings files there do not.
    pub fn beside_gguf(folder: &Path, metadata: &Metadata, config: &Config) -> Result<Tokenizer> {
        let mut config = config.clone();
        let id = |key: &str| {
            metadata
                .count_of(&format!("tokenizer.ggml.{key}"))
                .and_then(|id| u32::try_from(id).ok())
        };
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
        let encoding = guarded(Breakdown(&self.path), || {
            let encoding = self.inner.encode_fast(text, adding == Adding::Own);
            encoding.map_err(|error| anyhow!("the text cannot be tokenized: {error}"))
        })?;
        let bos = self.bos.as_ref().filter(|_| adding == Adding::Bos).map(|(id, _)| *id);
        Ok(bos.into_iter().chain(encoding.get_ids().iter().copied()).collect())
    }

    /// Text of tokens, special ones left out; see [`Tokenizer::failure`].
    pub fn decode(&self, tokens: &[u32]) -> String {
        self.decode_as(tokens, true)
    }

    /// Text of one token, special ones by their name.
    pub fn token_text(&self, token: u32) -> String {
        self.decode_as(&[token], false)
    }

    fn decode_as(&self, tokens: &[u32], skips_special: bool) -> String {
        let text = guarded(Breakdown(&self.path), || {
            let text = self.inner.decode(tokens, skips_special);
            text.map_err(|error| anyhow!("{} cannot decode: {error}", self.path))
        });
        text.unwrap_or_else(|error| {
            self.failure.get_or_init(|| error.to_string());
            String::new()
        })
    }

    /// Why some text could not be decoded, if that happened.
    pub fn failure(&self) -> Option<anyhow::Error> {
        self.failure.get().map(|reason| anyhow!("{reason}"))
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
            tokens: self.others.clone(),
            thinks: None,
        })
    }
}

/// Special tokens that chat templates may name, by their keys in tokenizer_config.json and in GGUF metadata.
const OTHERS: [(&str, &str); 5] = [
    ("unk_token", "unknown_token_id"),
    ("sep_token", "seperator_token_id"),
    ("pad_token", "padding_token_id"),
    ("cls_token", "cls_token_id"),
    ("mask_token", "mask_token_id"),
];

/// What is told where the crate of tokenizers panics.
struct Breakdown<'a>(&'a str);

impl fmt::Display for Breakdown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not a usable tokenizer: the tokenizer library breaks down over it",
            self.0
        )
    }
}

fn missing(path: &str, key: &str) -> String {
    format!("{path} lacks the metadata key {key} (a tokenizer.json beside it would be used instead)")
}

/// A JSON object in a file; an empty one where there is no file.
fn read_json(path: &Path) -> Result<Value> {
    if !path.is_file() {
        return Ok(Value::Null);
    }
    let bytes = read_settings(path)?;
    serde_json::from_slice(&bytes).with_context(|| format!("{} is not JSON", path.display()))
}

/// A special token given as text or as an object with its text.
fn token_text(value: &Value) -> Option<String> {
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
            token_text(&serde_json::json!({"content": "<s>"})).as_deref(),
            Some("<s>")
        );
    }
}
