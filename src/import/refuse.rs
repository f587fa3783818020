//! Files that lie beside traces and hold no answers: what they are, in one line.

use super::head::Head;
use super::json::{Object, Raw};
use super::suggest;

/// What a JSON file is that holds no rows of a known kind.
pub(crate) fn json_without_answers(head: &Head) -> Option<String> {
    if let Some(document) = &head.document
        && let Some(what) = document_without_answers(document)
    {
        return Some(what);
    }
    let row = head.rows.first()?;
    if row.has("request_type") && row.has("request") && row.has("doc_id") {
        return Some("the requests of an OLMES run, no answers: open its predictions".to_owned());
    }
    if row.has("exact_match_sum") || row.has("doc_hash_reproduced") {
        return Some("counts that are expected of traces, no trace".to_owned());
    }
    suggest::is_question_set(row).then(|| "questions without answers of a model".to_owned())
}

fn document_without_answers(document: &Object) -> Option<String> {
    let has = |key: &str| document.has(key);
    if has("lm_eval_first") || has("lm_picks") || has("tiger_chain") || has("exact_match_sum") {
        return Some("counts that are expected of a trace, no trace".to_owned());
    }
    if is_results(document) && !has("samples") {
        let tasks = document.object("results").keys().count();
        return Some(format!(
            "results of lm-eval ({tasks} tasks), without samples: open its samples_*.jsonl"
        ));
    }
    if has("adapter_spec") && !has("request_states") {
        return Some("a HELM run's settings, without requests".to_owned());
    }
    let is_tally = |raw: Raw| {
        let fields = raw.object();
        fields.has("acc") || (fields.has("corr") && fields.has("wrong"))
    };
    if !document.is_empty() && document.fields().all(|(_, raw)| is_tally(raw)) {
        return Some("a summary (accuracy per category), no answers".to_owned());
    }
    None
}

/// Whether a document is a results file of lm-eval, with samples in it or without.
pub(crate) fn is_results(document: &Object) -> bool {
    let has = |key: &str| document.has(key);
    let results = document.object("results");
    let is_of_promptfoo = has("evalId") || results.has("results") || results.has("table");
    has("results") && (has("config") || has("configs") || has("versions")) && !is_of_promptfoo
}

/// What bytes are that are neither JSON nor a table.
pub(crate) fn other(bytes: &[u8]) -> String {
    const MAGICS: [(&[u8], &str); 14] = [
        (b"\xff\xfe", "text in UTF-16: write it as UTF-8"),
        (b"\xfe\xff", "text in UTF-16: write it as UTF-8"),
        (
            b"version https://git-lfs",
            "a pointer of Git LFS, not the file itself: git lfs pull fetches it",
        ),
        (b"/annex/objects/", "a pointer of git-annex, not the file itself"),
        (b"\xfd7zXZ", "packed with xz: unpack it first"),
        (b"BZh", "packed with bzip2: unpack it first"),
        (b"7z\xbc\xaf", "a 7z archive: unpack it first"),
        (b"%PDF", "a PDF"),
        (b"\x89PNG", "an image"),
        (b"SQLite format 3", "an SQLite database"),
        (b"ARROW1", "an Arrow file: write it as parquet"),
        (b"GGUF", "weights of a model"),
        (b"\x7fELF", "a program"),
        (b"\x80\x04", "a Python pickle"),
    ];
    if let Some((_, what)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (*what).to_owned();
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return "a tar archive: unpack it first".to_owned();
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return "empty".to_owned();
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    if text.contains('\0') {
        return "binary data of no known kind".to_owned();
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    if lines.next().is_some_and(|line| line.starts_with('|'))
        && lines
            .next()
            .is_some_and(|line| line.starts_with("|-") || line.starts_with("|:"))
    {
        return "a text table of results, no answers".to_owned();
    }
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    if lines.next().is_none() && first.len() < 4096 && first.split([',', '\t', ';']).count() > 2 {
        return "a table of one line, a header without rows".to_owned();
    }
    "text that is neither JSON nor a table".to_owned()
}
