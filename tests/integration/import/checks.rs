//! What `check` finds: each fault put into a sound trace is told by its kind, with its rows, and the sound one tells nothing.

use markbook::benchmark::hash::{doc_hash, hash_text};
use markbook::benchmark::{self, DataSource, Dataset};
use markbook::check::{KINDS, Problem, check, check_light};
use markbook::record::{INVALID, Record, letter};
use markbook::trace::Trace;
use serde_json::json;

use super::{folder, open, open_one};

const QUESTIONS: i64 = 30;
const ATTEMPTS: i64 = 3;

/// The answer to a question at an attempt, sound in every way.
fn record(id: i64, attempt: i64) -> Record {
    let gold = letter(id as usize % 4).unwrap().to_string();
    let pick = letter((id * 7 + attempt) as usize % 4).unwrap().to_string();
    let prompt = format!("Question {id}?");
    let reasoning = format!("Thought {attempt} on {id}: the answer is ({pick}).");
    let doc = json!({"question_id": id, "question": format!("What is {id}?")});
    Record {
        question_id: id,
        attempt,
        seed: Some(42 + attempt),
        category: "law".to_owned(),
        subject: "law".to_owned(),
        benchmark: "mine".to_owned(),
        prompt_hash: hash_text(&prompt),
        prompt,
        reasoning_chars: reasoning.chars().count() as i64,
        reasoning,
        correct: pick == gold,
        pick,
        target_hash: hash_text(&gold),
        answer: gold,
        doc_hash: doc_hash(&doc),
        doc: Some(doc.to_string()),
        question: format!("What is {id}?"),
        options: (0..4).map(|at| format!("{at} of {id}")).collect(),
        ..Record::default()
    }
}

fn sound() -> Vec<Record> {
    (0..QUESTIONS)
        .flat_map(|id| (0..ATTEMPTS).map(move |attempt| record(id, attempt)))
        .collect()
}

fn trace(records: Vec<Record>) -> Trace {
    Trace::from_records("one", "test", records)
}

fn found(records: Vec<Record>) -> Vec<Problem> {
    check(&[trace(records)], &[]).unwrap()
}

fn kinds(problems: &[Problem]) -> Vec<&'static str> {
    problems.iter().map(|problem| problem.kind).collect()
}

/// The only problem there is, after a change to a sound trace.
fn only(change: impl FnOnce(&mut Vec<Record>)) -> Problem {
    let mut records = sound();
    change(&mut records);
    let mut problems = found(records);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

#[test]
fn a_sound_trace_tells_nothing() {
    assert_eq!(found(sound()), []);
    let mut other = sound();
    for record in &mut other {
        record.reasoning.insert_str(0, "Another: ");
    }
    assert_eq!(check(&[trace(sound()), trace(other)], &[]).unwrap(), []);
}

#[test]
fn attempts_with_one_text_on_most_questions_are_told() {
    let same = |share: i64| {
        move |records: &mut Vec<Record>| {
            for id in 0..QUESTIONS * share / 10 {
                let first = records[(id * ATTEMPTS) as usize].clone();
                let twin = &mut records[(id * ATTEMPTS + 1) as usize];
                (twin.reasoning, twin.pick, twin.correct) = (first.reasoning, first.pick, first.correct);
                twin.reasoning_chars = first.reasoning_chars;
            }
        }
    };
    let problem = only(same(6));
    assert_eq!(problem.kind, "identical_attempts");
    assert!(
        problem
            .detail
            .contains("attempts 0 and 1 gave the same text on 18 of 30 questions")
            && problem.detail.contains("the seed never reached the sampler"),
        "{}",
        problem.detail
    );
    let mut records = sound();
    same(3)(&mut records);
    assert_eq!(found(records), [], "a few equal texts are chance");
    let problem = only(|records| {
        for record in records.iter_mut() {
            let pick = letter(record.question_id as usize % 3).unwrap();
            let text = format!("On {}: the answer is ({pick}).", record.question_id);
            (record.reasoning_chars, record.reasoning) = (text.len() as i64, text);
            record.pick = pick.to_string();
            record.correct = record.answer == record.pick;
        }
    });
    assert_eq!(problem.kind, "identical_attempts");
    assert!(
        problem
            .detail
            .contains("all 3 attempts gave the same text on every question"),
        "{}",
        problem.detail
    );
}

#[test]
fn rows_twice_and_attempts_that_are_missing_are_told() {
    let problem = only(|records| {
        let twice = [records[0].clone(), records[7].clone()];
        records.extend(twice);
    });
    assert_eq!((problem.kind, problem.rows), ("duplicated_rows", 2));
    assert!(
        problem
            .detail
            .contains("2 rows (question 0, 2) repeat a question and attempt"),
        "{}",
        problem.detail
    );
    let problem = only(|records| {
        records.remove(5);
        records.remove(0);
    });
    assert_eq!((problem.kind, problem.rows), ("missing_attempts", 2));
    assert!(
        problem.detail.contains("2 of 30 questions have fewer than 3 attempts"),
        "{}",
        problem.detail
    );
}

#[test]
fn picks_that_no_rule_gives_are_told_with_what_fills_the_unreadable_rows() {
    let unreadable = |records: &mut Vec<Record>, letters: &dyn Fn(usize) -> &'static str| {
        for (at, record) in records.iter_mut().enumerate().take(24) {
            record.reasoning = format!("no letter {at} here, i am lost");
            record.reasoning_chars = record.reasoning.chars().count() as i64;
            record.pick = letters(at).to_owned();
            record.correct = record.pick == record.answer;
        }
    };
    let problem = only(|records| unreadable(records, &|_| "D"));
    assert_eq!((problem.kind, problem.rows), ("underivable_picks", 24));
    assert!(
        problem.detail.ends_with("all 24 unreadable rows store D"),
        "{}",
        problem.detail
    );
    let problem = only(|records| unreadable(records, &|at| ["A", "B", "C"][at % 3]));
    assert!(
        problem
            .detail
            .contains("24 unreadable rows store a letter (A 8, B 8, C 8), as if drawn"),
        "{}",
        problem.detail
    );
    let problem = only(|records| {
        let record = &mut records[4];
        record.pick = if record.pick == "A" { "B" } else { "A" }.to_owned();
        record.correct = record.pick == record.answer;
    });
    assert_eq!(
        (problem.kind, problem.rows, problem.examples),
        ("underivable_picks", 1, vec![4])
    );
    let mut records = sound();
    unreadable(&mut records, &|_| INVALID);
    assert_eq!(
        found(records),
        [],
        "unreadable rows without a pick are as they should be"
    );
}

#[test]
fn gold_and_options_that_differ_between_rows_of_a_question_are_told() {
    let problem = only(|records| {
        let record = &mut records[4];
        record.answer = if record.answer == "A" { "B" } else { "A" }.to_owned();
        record.target_hash = hash_text(&record.answer);
        record.correct = record.pick == record.answer;
    });
    assert_eq!((problem.kind, problem.rows), ("gold_differs", 1));
    let problem = only(|records| records[4].options.push("a fifth".to_owned()));
    assert_eq!((problem.kind, problem.rows), ("options_changed", 1));
}

#[test]
fn golds_and_options_that_differ_between_traces_are_told() {
    let mut other = sound();
    for record in &mut other {
        record.reasoning.insert_str(0, "Another: ");
        if record.question_id == 3 {
            record.answer = "A".to_owned();
            record.target_hash = hash_text("A");
            record.correct = record.pick == "A";
        }
        if record.question_id == 5 {
            record.options[0] = "changed".to_owned();
            let doc = json!({"question_id": 5, "question": "What is 5?", "more": 1});
            (record.doc_hash, record.doc) = (doc_hash(&doc), Some(doc.to_string()));
        }
    }
    let problems = check(&[trace(sound()), trace(other)], &[]).unwrap();
    assert_eq!(kinds(&problems), ["gold_differs", "options_changed"], "{problems:?}");
    assert!(
        problems[0].detail.contains("question 3")
            && problems[1]
                .detail
                .contains("(question 5) have other options (not comparable)")
    );
}

#[test]
fn a_run_that_is_there_twice_is_told() {
    let problems = check(&[trace(sound()), trace(sound())], &[]).unwrap();
    assert_eq!(kinds(&problems), ["identical_runs"]);
    assert!(
        problems[0].detail.contains("the same text on 90 of 90"),
        "{}",
        problems[0].detail
    );
}

#[test]
fn an_answer_against_its_index_is_told() {
    let row = |id: usize, index: usize| {
        json!({"question_id": id, "question": "q", "options": ["a", "b", "c"], "answer": "B", "answer_index": index, "category": "law",
               "pred": "B", "model_outputs": format!("{id}: the answer is (B)")})
    };
    let lists = folder(&[
        ("bad.json", &json!([row(1, 1), row(2, 2)]).to_string()),
        ("good.json", &json!([row(1, 1), row(2, 1)]).to_string()),
    ]);
    let problems = |name: &str| check(&[open_one(&lists.path().join(name))], &[]).unwrap();
    let bad = problems("bad.json");
    let conflict = bad.iter().find(|problem| problem.kind == "gold_conflict").unwrap();
    assert!(
        conflict
            .detail
            .contains("1 row (question 2) have an answer and an answer_index"),
        "{}",
        conflict.detail
    );
    assert!(!kinds(&problems("good.json")).contains(&"gold_conflict"));
}

#[test]
fn each_hash_that_does_not_reproduce_is_told_by_name() {
    for (name, change) in [
        (
            "doc_hash",
            (|record| record.doc_hash = hash_text("other")) as fn(&mut Record),
        ),
        ("prompt_hash", |record| record.prompt.push('!')),
        ("target_hash", |record| record.target_hash = hash_text("other")),
    ] {
        let problem = only(|records| records.iter_mut().take(4).for_each(change));
        assert_eq!((problem.kind, problem.rows), ("hash_differs", 4), "{name}");
        assert!(
            problem
                .detail
                .contains(&format!("store a {name} that their text does not give")),
            "{}",
            problem.detail
        );
    }
    let problems = found(
        sound()
            .into_iter()
            .map(|record| Record {
                doc_hash: "h1".to_owned(),
                target_hash: String::new(),
                ..record
            })
            .collect(),
    );
    assert_eq!(problems, [], "what is no hash is not judged");
}

#[test]
fn picks_beyond_the_options_and_one_letter_throughout_are_told() {
    let problem = only(|records| {
        let record = &mut records[0];
        record.reasoning = "So the answer is (H).".to_owned();
        record.reasoning_chars = 21;
        (record.pick, record.correct) = ("H".to_owned(), false);
    });
    assert_eq!((problem.kind, problem.rows), ("pick_beyond_options", 1));
    let all_c = |records: &mut Vec<Record>, is_one: &dyn Fn(&Record) -> bool| {
        for record in records.iter_mut().filter(|record| is_one(record)) {
            record.reasoning = format!("{} {}: the answer is (C).", record.question_id, record.attempt);
            record.reasoning_chars = record.reasoning.chars().count() as i64;
            record.pick = "C".to_owned();
            record.correct = record.answer == "C";
        }
    };
    let problem = only(|records| all_c(records, &|_| true));
    assert_eq!(
        (problem.kind, problem.detail.as_str()),
        ("one_letter", "every one of 90 picks is C")
    );
    let problem = only(|records| all_c(records, &|record| record.attempt == 1));
    assert_eq!(problem.detail, "every one of 30 picks of attempt 1 is C");
    let mut few = sound();
    few.truncate(12);
    all_c(&mut few, &|_| true);
    assert_eq!(found(few), [], "a dozen picks may be alike");
}

#[test]
fn a_stored_score_that_pick_and_answer_do_not_give_is_told() {
    let problem = only(|records| records[3].correct = !records[3].correct);
    assert_eq!(
        (problem.kind, problem.rows, problem.examples),
        ("correct_differs", 1, vec![3])
    );
    assert_eq!(kinds(&check_light(&trace(sound()))), [] as [&str; 0]);
    let mut records = sound();
    records[3].correct = !records[3].correct;
    assert_eq!(
        kinds(&check_light(&trace(records))),
        ["correct_differs"],
        "the badge needs no texts"
    );
}

/// A table with all picks of a question in a row, made of a trace.
fn closed_table(records: &[Record], change: impl Fn(i64, &mut serde_json::Value)) -> String {
    let mut lines = String::new();
    for id in 0..QUESTIONS {
        let own: Vec<&Record> = records.iter().filter(|record| record.question_id == id).collect();
        let picks: Vec<&str> = own.iter().map(|record| record.pick.as_str()).collect();
        let mut row = json!({"question_id": id, "benchmark": "mine", "category": "law", "answer": own[0].answer, "picks": picks, "k": picks.len(),
            "correct_count": own.iter().filter(|record| record.correct).count(),
            "invalid_count": own.iter().filter(|record| record.is_invalid()).count()});
        change(id, &mut row);
        lines.push_str(&format!("{row}\n"));
    }
    lines
}

#[test]
fn counts_join_with_a_closed_answer_table_by_question() {
    let mut records = sound();
    records[4].pick = INVALID.to_owned();
    records[4].correct = false;
    records[4].reasoning = "lost".to_owned();
    let against = |table: &str| {
        let files = folder(&[("closed.jsonl", table)]);
        let table = open_one(&files.path().join("closed.jsonl"));
        check(&[table, trace(records.clone())], &[]).unwrap()
    };
    assert_eq!(against(&closed_table(&records, |_, _| {})), []);
    // A count that its own picks do not give.
    let problems = against(&closed_table(&records, |id, row| {
        if id == 2 {
            row["correct_count"] = json!(9);
        }
    }));
    assert_eq!(kinds(&problems), ["counts_differ"], "{problems:?}");
    assert!(problems[0].detail.contains("question 2") && problems[0].rows == 3);
    // Picks, and so counts, that are not the trace's.
    let problems = against(&closed_table(&records, |id, row| {
        if id == 1 {
            row["picks"][1] = row["answer"].clone();
            let right = row["picks"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|pick| **pick == row["answer"])
                .count();
            row["correct_count"] = json!(right);
            row["invalid_count"] = json!(0);
        }
    }));
    assert_eq!(kinds(&problems), ["picks_differ", "counts_differ"], "{problems:?}");
    assert!(
        problems[1]
            .detail
            .contains("1 question (1) have another correct_count or invalid_count"),
        "{}",
        problems[1].detail
    );
    // The same picks in another order have the same counts.
    let problems = against(&closed_table(&records, |id, row| {
        if id == 1 {
            row["picks"].as_array_mut().unwrap().reverse();
        }
    }));
    assert_eq!(kinds(&problems), ["picks_differ"], "{problems:?}");
}

fn embedded(name: &str) -> Dataset {
    let source = DataSource::parse("embedded").unwrap();
    benchmark::load(benchmark::find(name).unwrap(), &source, "test").unwrap()
}

/// One right answer a question of a set, as a run of ours has it.
fn of_set(dataset: &Dataset) -> Vec<Record> {
    let record = |question: &benchmark::Question| {
        let reasoning = format!("On {}: the answer is ({}).", question.id, question.answer);
        Record {
            question_id: question.id,
            benchmark: dataset.name.clone(),
            category: question.category.clone(),
            subject: question.subject.clone(),
            question: question.question.clone(),
            options: question.options.clone(),
            pick: question.answer.clone(),
            answer: question.answer.clone(),
            correct: true,
            reasoning_chars: reasoning.chars().count() as i64,
            reasoning,
            doc: Some(question.doc.clone()),
            doc_hash: question.doc_hash.clone(),
            ..Record::default()
        }
    };
    dataset.questions.iter().map(record).collect()
}

fn against(records: Vec<Record>, dataset: &Dataset) -> Vec<Problem> {
    check(&[trace(records)], &[dataset]).unwrap()
}

#[test]
fn a_trace_is_held_against_its_question_set() {
    let set = embedded("mmlu_pro");
    assert_eq!(against(of_set(&set), &set), []);
    // Another gold, as an older release has it.
    let mut records = of_set(&set);
    for record in &mut records[..2] {
        record.answer = if record.answer == "A" { "B" } else { "A" }.to_owned();
        record.pick.clone_from(&record.answer);
        record.reasoning = format!("{}: the answer is ({}).", record.question_id, record.pick);
    }
    let problems = against(records, &set);
    assert_eq!(
        (kinds(&problems), problems[0].rows),
        (vec!["gold_differs_from_data"], 2),
        "{problems:?}"
    );
    assert!(
        problems[0].detail.ends_with("have another gold than embedded"),
        "{}",
        problems[0].detail
    );
    // Another text and other options: their own row's hash is another one.
    let mut records = of_set(&set);
    for (at, record) in records.iter_mut().take(3).enumerate() {
        if at == 0 {
            record.question.push('?');
        } else {
            record.options[0] = format!("other {at}");
        }
        let doc = json!({"question": record.question, "options": record.options});
        (record.doc_hash, record.doc) = (doc_hash(&doc), Some(doc.to_string()));
    }
    let problems = against(records, &set);
    assert_eq!(
        kinds(&problems),
        ["options_changed", "question_changed"],
        "{problems:?}"
    );
    assert_eq!((problems[0].rows, problems[1].rows), (2, 1));
    // Questions that are missing.
    let mut records = of_set(&set);
    records.truncate(records.len() - 5);
    let problems = against(records, &set);
    assert_eq!((kinds(&problems), problems[0].rows), (vec!["missing_questions"], 5));
    assert!(
        problems[0].detail.contains("5 of 78 questions are not in this trace"),
        "{}",
        problems[0].detail
    );
    // A stored hash that is not the set's, over the same question.
    let mut records = of_set(&set);
    for record in &mut records {
        record.doc = None;
    }
    records[7].doc_hash = hash_text("other");
    let problems = against(records, &set);
    assert_eq!(
        (kinds(&problems), problems[0].rows),
        (vec!["hash_differs"], 1),
        "{problems:?}"
    );
    assert!(
        problems[0]
            .detail
            .contains("store a doc_hash that is not their row's in embedded"),
        "{}",
        problems[0].detail
    );
}

#[test]
fn rows_of_mmlu_are_found_in_the_set_by_what_they_ask_and_not_by_their_number() {
    let set = embedded("mmlu");
    let mut records = of_set(&set);
    for (at, record) in records.iter_mut().rev().enumerate() {
        record.question_id = at as i64;
    }
    assert_eq!(
        against(records.clone(), &set),
        [],
        "another reader numbers the questions its own way"
    );
    let doc = json!({"question": records[3].question, "choices": ["w", "x", "y", "z"]});
    records[3].options = ["w", "x", "y", "z"].map(str::to_owned).to_vec();
    (records[3].doc_hash, records[3].doc) = (doc_hash(&doc), Some(doc.to_string()));
    records[4].question = "Who asks this?".to_owned();
    records[4].doc_hash = hash_text("unknown");
    records[4].doc = None;
    let problems = against(records, &set);
    assert_eq!(
        kinds(&problems),
        ["options_changed", "question_changed", "missing_questions"],
        "{problems:?}"
    );
    assert!(
        problems[1].detail.contains("ask a question that is not in embedded"),
        "{}",
        problems[1].detail
    );
}

#[test]
fn questions_of_mmlu_in_another_order_and_numbering_are_no_fault() {
    let set = embedded("mmlu");
    let mut shuffled: Vec<Record> = of_set(&set);
    shuffled.truncate(20);
    for (at, record) in shuffled.iter_mut().enumerate() {
        record.question_id = 100 - at as i64;
        record.options.reverse();
        let index = 3 - markbook::record::letter_index(&record.answer).unwrap();
        record.answer = letter(index).unwrap().to_string();
        record.pick.clone_from(&record.answer);
        record.reasoning = format!("{at}: the answer is ({})", record.pick);
        (record.doc, record.doc_hash) = (None, String::new());
    }
    let problems = against(shuffled.clone(), &set);
    assert_eq!(
        kinds(&problems),
        ["options_changed", "missing_questions"],
        "{problems:?}"
    );
    // Beside a trace that numbers them as the set does: the numbers agree on other questions.
    let problems = check(&[trace(shuffled), trace(of_set(&set))], &[]).unwrap();
    assert_eq!(kinds(&problems), [] as [&str; 0], "{problems:?}");
}

#[test]
fn a_pick_beyond_the_options_of_the_set_is_told_where_rows_have_none() {
    let set = embedded("mmlu_pro");
    let mut records = of_set(&set);
    for record in &mut records {
        (record.options, record.doc) = (Vec::new(), None);
    }
    assert_eq!(against(records.clone(), &set), []);
    let record = &mut records[2];
    record.pick = "Z".to_owned();
    record.correct = false;
    record.reasoning = "So it is Z.".to_owned();
    let problems = against(records, &set);
    assert_eq!(
        (kinds(&problems), problems[0].examples.clone()),
        (vec!["pick_beyond_options"], vec![2]),
        "{problems:?}"
    );
}

#[test]
fn rows_that_could_not_be_read_and_questions_that_opening_missed_are_told_again() {
    let files = folder(&[(
        "m.json",
        &json!([{"question_id": 866, "question": "q", "options": ["a", "b"], "answer": "B", "category": "law", "pred": "B",
                 "response": "the answer is (B)"}, "total"])
        .to_string(),
    )]);
    let problems = check(&open(files.path()).unwrap(), &[]).unwrap();
    assert_eq!(kinds(&problems), ["broken_rows", "missing_questions"], "{problems:?}");
    assert_eq!((problems[0].rows, problems[1].rows), (1, 1100));
}

#[test]
fn every_kind_is_explained() {
    for kind in [
        "identical_attempts",
        "identical_runs",
        "duplicated_rows",
        "missing_questions",
        "missing_attempts",
        "underivable_picks",
        "step_1_only",
        "gold_differs",
        "gold_differs_from_data",
        "gold_conflict",
        "hash_differs",
        "options_changed",
        "question_changed",
        "pick_beyond_options",
        "one_letter",
        "correct_differs",
        "counts_differ",
        "picks_differ",
        "broken_rows",
        "nan",
        "gold_beyond_options",
        "gold_text",
        "gold_base",
        "zero_spread",
        "doc_order",
        "unread_values",
    ] {
        assert!(
            KINDS.iter().any(|(known, about)| *known == kind && about.len() > 10),
            "{kind}"
        );
    }
    assert_eq!(KINDS.len(), 26);
}
