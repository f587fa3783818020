//! A completion's text as it grows: tokens become text as soon as whole characters are there, and stop texts are found
//! without reading everything again.

use super::tokenizer::Tokenizer;

/// More tokens than any character has bytes: what is still broken then stays so.
const LONGEST_CHARACTER: usize = 8;

/// The text of one completion, growing token by token.
#[derive(Debug, Default)]
pub struct GrowingText {
    pub tokens: Vec<u32>,
    /// Text of `tokens[..read]`.
    text: String,
    /// Start of the tokens that give the last ones their context.
    context: usize,
    read: usize,
    /// Bytes already told.
    told: usize,
    /// Where the first stop text begins.
    stop: Option<usize>,
}

impl GrowingText {
    /// Adds a token; says whether a stop text is complete.
    pub fn push(&mut self, token: u32, tokenizer: &Tokenizer, stops: &[String]) -> bool {
        self.tokens.push(token);
        let before = tokenizer.decode(&self.tokens[self.context..self.read]);
        let after = tokenizer.decode(&self.tokens[self.context..]);
        let is_broken = after.ends_with('\u{fffd}') && self.tokens.len() - self.read < LONGEST_CHARACTER;
        // A stop text may be complete although a half character follows it.
        let visible = if is_broken {
            after.trim_end_matches('\u{fffd}')
        } else {
            &after
        };
        let new = visible.get(before.len()..).unwrap_or_default();
        let searched = self.text.len();
        self.text.push_str(new);
        self.find_stop(searched, stops);
        if is_broken {
            self.text.truncate(searched);
        } else {
            (self.context, self.read) = (self.read, self.tokens.len());
        }
        self.stop.is_some()
    }

    fn find_stop(&mut self, searched: usize, stops: &[String]) {
        for stop in stops.iter().filter(|stop| !stop.is_empty()) {
            let mut from = searched.saturating_sub(stop.len() - 1);
            while !self.text.is_char_boundary(from) {
                from -= 1;
            }
            if let Some(at) = self.text[from..].find(stop.as_str()) {
                self.stop = Some(self.stop.map_or(from + at, |earlier| earlier.min(from + at)));
            }
        }
    }

    /// Text that came since the last time, without what might yet turn out to be a stop text.
    pub fn news(&mut self, stops: &[String]) -> String {
        let mut end = self.stop.unwrap_or(self.text.len());
        let longest = stops.iter().map(String::len).max().unwrap_or(0);
        for held in (1..=longest.min(end)).rev() {
            let start = end - held;
            if self.text.is_char_boundary(start) && stops.iter().any(|stop| stop.starts_with(&self.text[start..end])) {
                end = start;
                break;
            }
        }
        let news = self.text.get(self.told..end).unwrap_or_default().to_string();
        self.told = self.told.max(end);
        news
    }

    /// The whole text, decoded at once, cut at the first stop text.
    pub fn finish(&self, tokenizer: &Tokenizer, stops: &[String]) -> String {
        let mut text = tokenizer.decode(&self.tokens);
        let first = stops
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| text.find(stop.as_str()))
            .min();
        if let Some(at) = first {
            text.truncate(at);
        }
        text
    }
}
