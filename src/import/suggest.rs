//! How an unknown table could be mapped: which of its columns look like which of ours.

use super::json::Object;

/// What a column can be mapped to, with the names under which it is often found (for suggestions only).
pub(crate) const COLUMNS: [(&str, &[&str]); 15] = [
    (
        "pick",
        &[
            "extracted_prediction",
            "extracted_answer",
            "extracted",
            "pred",
            "prediction",
            "predicted_answer",
            "predicted",
            "model_answer",
            "parsed_answer",
            "model_pred",
            "model_prediction",
            "llm_answer",
            "final_answer",
            "answer_pred",
            "pred_answer",
            "respuesta_extraida",
            "model_choice",
            "filtered_resps",
        ],
    ),
    (
        "answer",
        &[
            "gold",
            "correct_answer",
            "ground_truth",
            "label",
            "target",
            "true_answer",
            "gold_answer",
            "answer_key",
            "reference",
            "correct_option",
            "expected",
            "respuesta_verdadera",
            "answerKey",
            "truth",
            "gt",
        ],
    ),
    (
        "reasoning",
        &[
            "output",
            "response",
            "completion",
            "generated_text",
            "model_outputs",
            "model_output",
            "generation",
            "raw_output",
            "raw_response",
            "model_response",
            "llm_response",
            "llm_raw_response",
            "raw_model_output",
            "eval_response",
            "respuesta_llm",
            "outputs",
            "resps",
            "text",
            "cot",
            "rationale",
            "prediction",
        ],
    ),
    (
        "prompt",
        &["input", "full_prompt", "prompt_utilizado", "model_input", "query"],
    ),
    ("question", &["pregunta", "question_text", "stem"]),
    ("options", &["choices", "candidates", "opciones"]),
    (
        "category",
        &["subject", "domain", "topic", "task", "subset", "categoria"],
    ),
    ("subject", &[]),
    (
        "question_id",
        &["id", "qid", "idx", "index", "doc_id", "sample_id", "uid"],
    ),
    ("attempt", &["run", "repeat", "epoch", "trial", "sample"]),
    ("seed", &[]),
    ("correct", &["is_correct", "score", "acc", "exact_match"]),
    ("benchmark", &["dataset"]),
    ("doc_hash", &[]),
    ("prompt_hash", &[]),
];

/// A row's column names for a message; a table without a header has its first row's texts there.
pub(crate) fn listed(row: &Object) -> String {
    let columns: Vec<&str> = row.keys().collect();
    let shown = columns
        .iter()
        .take(40)
        .map(|name| name.chars().take(50).collect::<String>().replace(char::is_control, " "));
    let more = if columns.len() > 40 { ", ..." } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// Names are the same whatever their case and whether `_`, `-` or a blank parts their words.
fn plain(name: &str) -> String {
    let name = name.rsplit('.').next().unwrap_or(name);
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The columns of a row and, by their path, the fields of the objects in it.
fn paths(row: &Object) -> Vec<String> {
    let mut found: Vec<String> = row.keys().map(str::to_owned).collect();
    let mut level: Vec<(String, Object)> = row.fields().map(|(key, raw)| (key.to_owned(), raw.object())).collect();
    for _ in 0..3 {
        let mut deeper = Vec::new();
        for (path, object) in level {
            for (key, raw) in object.fields().take(40) {
                let path = format!("{path}.{key}");
                deeper.push((path.clone(), raw.object()));
                found.push(path);
            }
        }
        level = deeper;
    }
    found
}

/// Whether a row has a question with its options, and nothing that a model said.
pub(crate) fn is_question_set(row: &Object) -> bool {
    let columns: Vec<String> = row.keys().map(plain).collect();
    let has = |ours: &str| {
        let names = COLUMNS.iter().find(|(name, _)| *name == ours);
        names.is_some_and(|(ours, theirs)| {
            std::iter::once(ours)
                .chain(theirs.iter())
                .any(|name| columns.contains(&plain(name)))
        })
    };
    let has_options =
        has("options") || (columns.iter().any(|name| name == "a") && columns.iter().any(|name| name == "b"));
    let has_question = has("question") || columns.iter().any(|name| name == "input");
    has_question && has_options && has("answer") && !has("pick") && !has("reasoning")
}

/// What is unknown about a table, with a map to begin with.
pub(crate) fn help(row: &Object) -> String {
    let listed = listed(row);
    let columns = paths(row);
    let mut taken: Vec<&str> = Vec::new();
    let mut pairs = Vec::new();
    for (ours, theirs) in &COLUMNS {
        let own = columns.iter().find(|column| *column == ours);
        let alike = std::iter::once(ours)
            .chain(theirs.iter())
            .find_map(|name| columns.iter().find(|column| plain(column) == plain(name)));
        if let Some(column) = own.or(alike).filter(|column| !taken.contains(&column.as_str())) {
            taken.push(column);
            if own.is_none() {
                pairs.push(format!("{ours}={column}"));
            }
        }
    }
    let is_found = |name: &str| taken.contains(&name) || pairs.iter().any(|pair| pair.starts_with(&format!("{name}=")));
    if !is_found("pick") && !is_found("reasoning") {
        return format!(
            "rows of an unknown kind, no column looks like a pick or an output; columns: {listed}. If one is, --map pick=COLUMN,answer=COLUMN,reasoning=COLUMN"
        );
    }
    if pairs.is_empty() || !is_found("answer") {
        return format!(
            "rows of an unknown kind, no column is the answer; columns: {listed}. Say which is which, e.g. --map {}",
            pairs
                .into_iter()
                .chain(["answer=COLUMN".to_owned()])
                .collect::<Vec<_>>()
                .join(",")
        );
    }
    format!(
        "rows of an unknown kind; columns: {listed}. Say which is which, e.g. --map {}",
        pairs.join(",")
    )
}
