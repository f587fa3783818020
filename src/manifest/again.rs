//! A further sitting of some rows, as the manifest of the run tells it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One further sitting, as the manifest of the run tells it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Again {
    /// When it was begun; local time with offset, RFC 3339.
    pub started: String,
    pub rows: usize,
    /// Of them, by why.
    pub kinds: BTreeMap<String, usize>,
    /// Longest completion in tokens, at first and in this sitting.
    pub max_tokens: Option<(usize, usize)>,
    /// Right rows of the whole run before it, and with it.
    pub correct: (usize, usize),
    /// Rows of the whole run.
    pub of: usize,
    /// Rows whose pick is another one.
    pub changed: usize,
    /// The file with the answers before it.
    pub before: String,
}

impl Again {
    /// Before and after, in words.
    pub fn in_words(&self) -> String {
        let percent = |correct: usize| 100.0 * correct as f64 / self.of.max(1) as f64;
        let kinds: Vec<String> = self.kinds.iter().map(|(name, rows)| format!("{name} {rows}")).collect();
        let limits = match self.max_tokens {
            Some((before, now)) if before != now => format!(", two limits: {before} → {now} tokens"),
            _ => String::new(),
        };
        format!(
            "{} of {} rows answered again ({}{limits}); accuracy before {:.1}, after {:.1}; {} picks changed; the first \
             answers are in {}",
            self.rows,
            self.of,
            kinds.join(", "),
            percent(self.correct.0),
            percent(self.correct.1),
            self.changed,
            self.before
        )
    }
}
