//! What the rows of a trace prove of it: which questions were asked, by which prompts, and that two files hold the same.

use anyhow::Result;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::record::Record;
use crate::stats::Slice;
use crate::text::hex;
use crate::trace::{Trace, hash_prefix};

/// Rows that are read at a time.
const TOGETHER: usize = 2_048;

/// What rows prove. Hashes of nothing are empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Proof {
    /// sha256 over the sorted lines of the questions: their doc hashes, or `id:N` where any row lacks one.
    pub slice: String,
    /// Whether it is over doc hashes.
    pub is_by_hash: bool,
    /// sha256 over sorted `question prompt_hash` lines; empty where a row lacks one.
    pub prompts: String,
    /// sha256 over all that the rows say; the same for the same rows in another file or format.
    pub content: String,
    /// Question and prompt (0: unknown), as the beginnings of their hashes, sorted, each once.
    pub asked: Vec<(u64, u64)>,
}

/// What is read of a row.
struct Line {
    id: i64,
    doc_hash: String,
    prompt_hash: String,
    /// Attempt, pick, gold and body, as they go into the content's hash.
    said: String,
}

impl Line {
    fn of(record: &Record, pick: &str) -> Line {
        let body = match &record.logprobs {
            Some(logprobs) => logprobs
                .iter()
                .map(|number| format!("{:08x}", number.to_bits()))
                .collect(),
            None => hex(&Sha256::digest(record.reasoning.as_bytes())),
        };
        let prompt_hash = if is_hash(&record.prompt_hash) {
            record.prompt_hash.to_ascii_lowercase()
        } else if record.prompt.is_empty() {
            String::new()
        } else {
            hex(&Sha256::digest(record.prompt.as_bytes()))
        };
        Line {
            id: record.question_id,
            doc_hash: record.doc_hash.to_ascii_lowercase(),
            prompt_hash,
            said: format!("{}\t{pick}\t{}\t{body}", record.attempt, record.answer),
        }
    }

    fn question(&self, by_hash: bool) -> String {
        if by_hash {
            self.doc_hash.clone()
        } else {
            format!("id:{}", self.id)
        }
    }
}

impl Proof {
    /// Reads all rows of a slice.
    pub fn of(trace: &Trace, slice: Slice) -> Result<Proof> {
        let rows: Vec<usize> = slice.iter().collect();
        let mut lines = Vec::with_capacity(rows.len());
        for part in rows.chunks(TOGETHER) {
            let records = trace.texts.answers(part)?;
            let line = |record: &std::sync::Arc<Record>| Line::of(record, &record.pick);
            lines.par_extend(records.par_iter().map(line));
        }
        Ok(Proof::from_lines(&lines))
    }

    fn from_lines(lines: &[Line]) -> Proof {
        let by_hash = !lines.is_empty() && lines.iter().all(|line| is_hash(&line.doc_hash));
        // One line a question: repeated questions of a set stay apart by their numbers.
        let mut questions: Vec<(i64, String, &str)> = lines
            .iter()
            .map(|line| (line.id, line.question(by_hash), line.prompt_hash.as_str()))
            .collect();
        questions.sort_unstable();
        questions.dedup();
        let has_prompts = lines.iter().all(|line| !line.prompt_hash.is_empty());
        let prompts: Vec<String> = questions
            .iter()
            .map(|(_, question, prompt)| format!("{question} {prompt}"))
            .collect();
        questions.dedup_by(|a, b| (a.0, &a.1) == (b.0, &b.1));
        let mut asked: Vec<(u64, u64)> = lines
            .iter()
            .map(|line| (question_number(line, by_hash), hash_prefix(&line.prompt_hash)))
            .collect();
        asked.sort_unstable();
        asked.dedup();
        let said = lines
            .iter()
            .map(|line| format!("{}\t{}", line.question(by_hash), line.said));
        Proof {
            slice: sum(questions.into_iter().map(|(_, question, _)| question).collect()),
            is_by_hash: by_hash,
            prompts: if has_prompts { sum(prompts) } else { String::new() },
            content: sum(said.collect()),
            asked,
        }
    }
}

/// A question as a number: the beginning of its hash, or its id.
fn question_number(line: &Line, by_hash: bool) -> u64 {
    if by_hash {
        hash_prefix(&line.doc_hash)
    } else {
        line.id.cast_unsigned()
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// sha256 over lines sorted bytewise; of none nothing.
fn sum(mut lines: Vec<String>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    lines.par_sort_unstable();
    let mut digest = Sha256::new();
    for line in lines {
        digest.update(line.as_bytes());
        digest.update(b"\n");
    }
    hex(&digest.finalize())
}
