//! The reference harness's fingerprints: sha256 over texts, and over rows written as Python's `json.dumps` writes them.

use crate::text::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use crate::json::{Layout, python_float, python_json};

/// sha256 of the UTF-8 bytes, as lower-case hex.
pub fn hash_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The harness's `doc_hash`: sha256 of `json.dumps(doc, indent=2, ensure_ascii=False)`, key order kept.
pub fn doc_hash(doc: &Value) -> String {
    hash_text(&python_json(doc, Layout::Indented(2)))
}

/// The harness's `task_hashes` entry: one hash over the three hashes of each sample, in logged order.
pub fn task_hash<'a>(samples: impl IntoIterator<Item = [&'a str; 3]>) -> String {
    let mut digest = Sha256::new();
    for hash in samples.into_iter().flatten() {
        digest.update(hash.as_bytes());
    }
    hex(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_hash_runs_over_the_three_hashes_of_each_sample() {
        assert_eq!(task_hash([["a", "b", "c"], ["d", "e", "f"]]), hash_text("abcdef"));
    }
}
