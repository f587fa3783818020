//! Real files of other people, as they were published, with the counts that their README gives.

use std::path::PathBuf;

use markbook::benchmark::{DataSource, find, load};
use markbook::import::{self, Options, parse_map};
use markbook::trace::Trace;

use crate::shared;

/// A file of the second public collection, where it is there.
fn file(name: &str) -> Option<PathBuf> {
    let path = shared()?.join("data/traces/public-2").join(name);
    path.exists().then_some(path)
}

fn open(path: PathBuf, map: &str) -> anyhow::Result<Vec<Trace>> {
    let options = Options {
        map: parse_map(map)?,
        ..Options::default()
    };
    import::open(&[path], &options)
}

fn counts(trace: &Trace) -> (usize, usize, usize) {
    let rows = &trace.rows;
    (
        rows.len(),
        rows.correct.iter().filter(|correct| **correct).count(),
        (0..rows.len()).filter(|row| rows.is_invalid(*row)).count(),
    )
}

#[test]
fn a_table_with_a_column_a_model_is_a_run_for_each() {
    let Some(path) = file("redux/anatomy_models.csv") else {
        return;
    };
    let traces = open(path, "").unwrap();
    let found: Vec<(&str, (usize, usize, usize))> = traces
        .iter()
        .map(|trace| (trace.name.as_str(), counts(trace)))
        .collect();
    let expected = [
        ("anthropic_claude-3-opus-20240229", 79),
        ("openai_gpt-4o-2024-05-13", 91),
        ("openai_gpt-4-0613", 81),
        ("google_gemini-1.5-pro-preview-0409", 77),
        ("openai_gpt-4-1106-preview", 80),
        ("meta_llama-3-70b", 78),
        ("writer_palmyra-x-v3", 72),
        ("google_text-unicorn@001", 72),
        ("mistralai_mixtral-8x22b", 72),
        ("google_gemini-1.5-flash-preview-0514", 83),
    ];
    assert_eq!(found, expected.map(|(name, right)| (name, (100, right, 0))));
}

#[test]
fn mended_keys_of_an_own_set_are_told() {
    let Some(path) = file("redux/mmlu_virology.csv") else {
        return;
    };
    let dataset = load(find("custom").unwrap(), &DataSource::File(path), "test").unwrap();
    let flagged = dataset
        .questions
        .iter()
        .filter(|question| question.flags.contains(&"gold_conflict"));
    assert_eq!((dataset.questions.len(), flagged.count()), (100, 34));
    let note = dataset
        .notes
        .iter()
        .find(|note| note.contains("correct_answer"))
        .unwrap();
    assert!(
        note.contains("holds a key in 41 of 100 rows") && note.contains("another option in 34, several in 4"),
        "{note}"
    );
}

#[test]
fn a_list_whose_answer_is_the_output_opens_as_it_is_and_by_a_map() {
    let Some(path) = file("simple-evals-ru/mmlu_30.jsonl") else {
        return;
    };
    for map in [
        "",
        "pick=pred,reasoning=answer,prompt=instruction,question_id=id,correct=is_correct",
    ] {
        assert_eq!(counts(&open(path.clone(), map).unwrap()[0]), (100, 53, 2), "{map}");
    }
}

#[test]
fn lists_of_the_authors_form_keep_their_counts_and_a_broken_set_names_its_cell() {
    for (name, expected) in [
        ("tiger-es/history_result_haiku.json", (83, 42, 4)),
        ("tiger-es/history_result_small.json", (4, 0, 3)),
        ("tiger-2026/computer_science_result.json.zst", (410, 350, 1)),
    ] {
        let Some(path) = file(name) else { return };
        assert_eq!(counts(&open(path, "").unwrap()[0]), expected, "{name}");
    }
    let custom = find("custom").unwrap();
    let set = |name: &str| load(custom, &DataSource::File(file(name).unwrap()), "test");
    assert_eq!(set("tiger-es/questions_lettered.csv").unwrap().questions.len(), 83);
    let error = format!("{:#}", set("tiger-es/questions_broken.csv").unwrap_err());
    assert!(
        error.contains("column options, row 0: one text instead of a list"),
        "{error}"
    );
}
