//! What a manifest says of an engine: whatever of it moves a score.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// An engine, by its kind. In `run.json` the kind stands beside its fields as `engine`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "engine", rename_all = "lowercase")]
pub enum Description {
    /// The decoder of this program.
    Candle(Local),
    /// Canned answers.
    Scripted(Local),
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
}

impl Default for Description {
    fn default() -> Description {
        Description::Unknown(Local::default())
    }
}

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Description, D::Error> {
        let value = Value::deserialize(deserializer)?;
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
    fn local(&self) -> &Local {
        match self {
            Description::Candle(local) | Description::Scripted(local) | Description::Unknown(local) => local,
        }
    }

    fn local_mut(&mut self) -> &mut Local {
        match self {
            Description::Candle(local) | Description::Scripted(local) | Description::Unknown(local) => local,
        }
    }

    /// For titles: what it computes in.
    pub fn title(&self) -> &str {
        &self.local().dtype
    }

    /// What it computes in, why, and by which code, in words.
    pub fn in_words(&self) -> String {
        let Local {
            dtype,
            dtype_reason,
            kernel,
            ..
        } = self.local();
        format!("computed in {dtype} ({dtype_reason}) by {kernel}")
    }

    /// What it computes in and why, in words.
    pub fn number_format(&self) -> String {
        format!("{}: {}", self.local().dtype, self.local().dtype_reason)
    }

    /// Longest sequence in tokens, where it is known.
    pub fn context(&self) -> Option<usize> {
        Some(self.local().context).filter(|context| *context > 0)
    }

    pub fn threads(&self) -> usize {
        self.local().threads
    }

    pub fn load_cpu_s(&self) -> f64 {
        self.local().load_cpu_s
    }

    /// The same, without what moves no answer: that may change between the sittings of a run.
    #[must_use]
    pub fn of_answers(&self) -> Description {
        let mut same = self.clone();
        *same.local_mut() = Local {
            dtype_reason: String::new(),
            kernel: String::new(),
            threads: 0,
            load_cpu_s: 0.0,
            ..self.local().clone()
        };
        same
    }

    /// Takes in the description of earlier sittings: another kernel is named before this one.
    pub fn join(&mut self, earlier: &Description) {
        let before = &earlier.local().kernel;
        let now = &mut self.local_mut().kernel;
        if before != now && !before.is_empty() {
            *now = format!("{before}, then {now}");
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
