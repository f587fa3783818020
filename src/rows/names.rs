//! The names that people give the columns of an own set. Case, blanks, underscores and hyphens do not count.

pub(crate) const QUESTION: &[&str] = &[
    "question",
    "questiontext",
    "questionstem",
    "query",
    "problem",
    "prompt",
    "input",
    "stem",
    "ctx",
    "text",
];

/// Best first: what says the gold in words or letters, then what says it by number.
pub(crate) const GOLD: &[&str] = &[
    "gold",
    "answer",
    "answerkey",
    "answerletter",
    "key",
    "correct",
    "correctanswer",
    "correctoption",
    "correctchoice",
    "correctletter",
    "correctlabel",
    "rightanswer",
    "groundtruth",
    "goldanswer",
    "goldlabel",
    "label",
    "target",
    "cop",
    "answerindex",
    "answeridx",
    "goldindex",
    "goldidx",
    "correctindex",
    "correctidx",
    "correctanswerindex",
    "correctanswerid",
    "labelidx",
    "goldletter",
    "groundtruthanswer",
    "groundtruthlabel",
    "trueanswer",
    "truelabel",
    "expectedanswer",
    "expected",
    "reference",
    "truth",
    "gt",
    "respuestaverdadera",
    "respuestacorrecta",
];

/// What says the gold by number where another column says it too.
pub(crate) const GOLD_INDEX: &[&str] = &[
    "answerindex",
    "answeridx",
    "goldindex",
    "goldidx",
    "correctindex",
    "correctidx",
    "correctanswerindex",
    "labelidx",
];

pub(crate) const OPTIONS: &[&str] = &[
    "options",
    "choices",
    "candidates",
    "alternatives",
    "endings",
    "answers",
    "answerchoices",
    "answeroptions",
    "multiplechoices",
    "opciones",
];

/// What goes before the letter or number of a column that holds one option.
pub(crate) const OPTION_PREFIXES: &[&str] = &["option", "choice", "answer", "ending", "alternative", "opt", "op", ""];

pub(crate) const ID: &[&str] = &["id", "questionid", "qid", "uid"];
pub(crate) const SUBJECT: &[&str] = &["subject"];
pub(crate) const CATEGORY: &[&str] = &["category", "subject", "subjectname", "topic", "domain", "discipline"];
pub(crate) const COT: &[&str] = &["cotcontent", "cot", "reasoning", "rationale", "explanation", "solution"];
pub(crate) const EXAMPLES: &[&str] = &["examples", "shots", "fewshot", "fewshots", "fewshotexamples"];
pub(crate) const SPLIT: &[&str] = &["split"];

/// What a column can be mapped to, with the names under which it is often found (for suggestions only).
pub(crate) const COLUMNS: [(&str, &[&str]); 16] = [
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
            "picked",
            "choice",
            "guess",
            "filtered_resps",
        ],
    ),
    ("answer", GOLD),
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
            "sampled",
            "answer",
        ],
    ),
    (
        "prompt",
        &[
            "input",
            "full_prompt",
            "prompt_utilizado",
            "model_input",
            "query",
            "instruction",
        ],
    ),
    ("question", &["pregunta", "question_text", "stem"]),
    ("options", OPTIONS),
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
    (
        "logprobs",
        &["loglikelihoods", "log_likelihoods", "lls", "option_logprobs"],
    ),
    (
        "correct",
        &[
            "is_correct",
            "correctness",
            "score",
            "acc",
            "exact_match",
            "is_right",
            "match",
        ],
    ),
    ("benchmark", &["dataset"]),
    ("doc_hash", &[]),
    ("prompt_hash", &[]),
];

/// Whether a column of this name is known to be one of ours.
pub(crate) fn is_known(name: &str) -> bool {
    let name = plain(name);
    let is_it = |known: &&str| plain(known) == name;
    COLUMNS
        .iter()
        .any(|(own, others)| is_it(own) || others.iter().any(|other| is_it(&other)))
        || QUESTION.contains(&name.as_str())
}

/// Whether this is a name of one of these columns of ours.
pub(crate) fn is_of(ours: &[&str], name: &str) -> bool {
    let name = plain(name);
    ours.iter().any(|ours| of_ours(ours).contains(&name))
}

/// The plain names under which one of our columns is often found, its own among them.
pub(crate) fn of_ours(ours: &str) -> Vec<String> {
    let entry = COLUMNS.iter().find(|(name, _)| *name == ours);
    let names = entry
        .into_iter()
        .flat_map(|(own, others)| std::iter::once(own).chain(others.iter()));
    names.map(|name| plain(name)).collect()
}

/// Whether a column's name speaks of what a model chose: `pred_index`, `PredictedLetter`, `model_choice_2`.
pub(crate) fn is_pick(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "pred",
        "preds",
        "predicted",
        "prediction",
        "predictions",
        "picked",
        "pick",
        "guess",
        "chosen",
        "selected",
        "parsed",
        "extracted",
    ];
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words
                .last_mut()
                .into_iter()
                .for_each(|word| word.extend(c.to_lowercase()));
        }
        was_lower = c.is_lowercase();
    }
    words.iter().any(|word| WORDS.contains(&word.as_str()))
}

/// A column's name without what does not count.
pub(crate) fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The column that bears one of these names, best name first.
pub(crate) fn find<'n>(columns: &'n [String], known: &[&str]) -> Option<&'n String> {
    known
        .iter()
        .find_map(|known| columns.iter().find(|column| plain(column) == *known))
}

/// Whether a column of this name holds questions.
pub(crate) fn is_question(name: &str) -> bool {
    QUESTION.contains(&plain(name).as_str())
}

/// Whether a column of this name holds examples.
pub(crate) fn is_examples(name: &str) -> bool {
    EXAMPLES.contains(&plain(name).as_str())
}
