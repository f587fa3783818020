//! What a manifest says of an engine: whatever of it moves a score.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::remote::Served;

/// An engine, by its kind. In `run.json` the kind stands beside its fields as `engine`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "engine", rename_all = "lowercase")]
pub enum Description {
    /// The decoder of this program.
    Candle(Local),
    /// Canned answers.
    Scripted(Local),
    /// A server.
    Remote(Box<Served>),
    /// Of a manifest that names no engine, or one that this version does not know.
    #[serde(rename = "")]
    Unknown(Local),
}

/// A model in this process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Local {
    /// The architecture's name, e.g. `llama`.
    pub architecture: String,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Why that one, in words.
    pub dtype_reason: String,
    /// Which code computed, e.g. `packed f32 avx512`; where sittings differ, one after the other.
    pub kernel: String,
    pub device: String,
    pub threads: usize,
    /// Longest sequence in tokens.
    pub context: usize,
    pub weights_sha256: Option<String>,
    pub tokenizer_sha256: Option<String>,
    pub load_cpu_s: f64,
    /// How the weights are stored: `safetensors`, or `gguf` with its quantization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

impl Default for Description {
    fn default() -> Description {
        Description::Unknown(Local::default())
    }
}

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Description, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.get("engine").and_then(Value::as_str) == Some("remote") {
            let served = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
            return Ok(Description::Remote(served));
        }
        let kind = match value.get("engine").and_then(Value::as_str) {
            Some("candle") => Description::Candle,
            Some("scripted") => Description::Scripted,
            _ => Description::Unknown,
        };
        serde_json::from_value(value)
            .map(kind)
            .map_err(serde::de::Error::custom)
    }
}

impl Description {
    /// The model in this process, where it is one.
    pub fn local(&self) -> Option<&Local> {
        match self {
            Description::Candle(local) | Description::Scripted(local) | Description::Unknown(local) => Some(local),
            Description::Remote(_) => None,
        }
    }

    /// For titles: what it computes in, or which server it is.
    pub fn title(&self) -> String {
        match self {
            Description::Candle(local) | Description::Scripted(local) | Description::Unknown(local) => {
                local.dtype.clone()
            }
            Description::Remote(served) => served.title(),
        }
    }

    /// What computed, in words: the number format, why, and by which code; or what the server was found to do.
    pub fn in_words(&self) -> String {
        match self {
            Description::Candle(local) | Description::Scripted(local) | Description::Unknown(local) => {
                format!(
                    "computed in {} ({}) by {}",
                    local.dtype, local.dtype_reason, local.kernel
                )
            }
            Description::Remote(served) => format!("answered by {}", served.findings().join("; ")),
        }
    }

    /// What is worth knowing before the first question, a line each.
    pub fn findings(&self) -> Vec<String> {
        match self {
            Description::Candle(local) | Description::Scripted(local) | Description::Unknown(local) => {
                vec![format!("{}: {}", local.dtype, local.dtype_reason)]
            }
            Description::Remote(served) => served.findings(),
        }
    }

    /// The server, where it is one.
    pub fn served(&self) -> Option<&Served> {
        match self {
            Description::Remote(served) => Some(served),
            _ => None,
        }
    }

    /// Why it cannot score continuations; none where it can.
    pub fn no_scores(&self) -> Option<String> {
        let served = self.served()?;
        let why = served
            .no_scores
            .clone()
            .unwrap_or_else(|| "it gives no log-probabilities".to_owned());
        served.cloze.is_none().then(|| format!("{}: {why}", served.title()))
    }

    /// Longest sequence in tokens, where it is known.
    pub fn context(&self) -> Option<usize> {
        match self {
            Description::Remote(served) => served.context,
            _ => self.local().map(|local| local.context).filter(|context| *context > 0),
        }
    }

    /// Threads of this process that computed; 0 where others did.
    pub fn threads(&self) -> usize {
        self.local().map_or(0, |local| local.threads)
    }

    pub fn load_cpu_s(&self) -> f64 {
        self.local().map_or(0.0, |local| local.load_cpu_s)
    }

    /// The same, without what moves no answer: that may change between the sittings of a run.
    #[must_use]
    pub fn of_answers(&self) -> Description {
        let mut same = self.clone();
        match &mut same {
            Description::Candle(local) | Description::Scripted(local) | Description::Unknown(local) => {
                local.dtype_reason = String::new();
                local.kernel = String::new();
                local.threads = 0;
                local.load_cpu_s = 0.0;
            }
            Description::Remote(served) => **served = served.of_answers(),
        }
        same
    }

    /// Whether another server or model than that of earlier sittings may go on with a run.
    pub fn accepts_drift(&self) -> bool {
        self.served().is_some_and(|served| served.accepts_drift)
    }

    /// Takes in the description of earlier sittings: another kernel is named before this one, another server kept.
    pub fn join(&mut self, earlier: &Description) {
        if let (Description::Remote(now), Description::Remote(before)) = (&mut *self, earlier) {
            now.earlier.clone_from(&before.earlier);
            if before.identity().changed(&now.identity()).is_some() {
                now.earlier.push(before.identity());
            }
        }
        let before = earlier.local().map_or("", |local| &local.kernel);
        if let Description::Candle(Local { kernel, .. }) | Description::Scripted(Local { kernel, .. }) = self
            && before != kernel
            && !before.is_empty()
        {
            *kernel = format!("{before}, then {kernel}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_description_is_read_as_its_kind_and_written_as_it_was() {
        let stored = json!({"engine": "candle", "architecture": "llama", "dtype": "bf16", "dtype_reason": "it was asked for",
            "kernel": "packed bf16 avx512", "device": "cpu", "threads": 2, "context": 2048, "weights_sha256": "w",
            "tokenizer_sha256": null, "load_cpu_s": 1.5});
        let read: Description = serde_json::from_value(stored.clone()).unwrap();
        assert!(matches!(&read, Description::Candle(local) if local.context == 2048));
        assert_eq!(serde_json::to_value(&read).unwrap(), stored);
    }

    #[test]
    fn a_server_is_read_back_as_it_was_written() {
        let served = Served {
            model: "m".into(),
            version: Some("1.0".into()),
            cloze: Some(super::super::remote::Rung::Ids),
            ..Served::default()
        };
        let remote = Description::Remote(Box::new(served));
        let read: Description = serde_json::from_value(serde_json::to_value(&remote).unwrap()).unwrap();
        assert_eq!(read, remote);
    }

    #[test]
    fn a_description_without_a_known_engine_is_kept() {
        for stored in [json!({}), json!({"engine": "steam", "dtype": "f16"})] {
            let read: Description = serde_json::from_value(stored).unwrap();
            assert!(matches!(read, Description::Unknown(_)));
            assert_eq!(read.context(), None);
        }
    }

    #[test]
    fn another_kernel_is_named_after_the_earlier_one_and_moves_no_answer() {
        let with = |kernel: &str, threads| {
            Description::Candle(Local {
                kernel: kernel.into(),
                threads,
                ..Local::default()
            })
        };
        let (earlier, mut now) = (with("avx2", 2), with("avx512", 8));
        assert_eq!(earlier.of_answers(), now.of_answers());
        now.join(&earlier);
        assert!(now.in_words().ends_with("by avx2, then avx512"), "{}", now.in_words());
    }
}
