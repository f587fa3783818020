//! `drop`: from one exam to another.

use markbook::compare::{Descent, above_chance};
use markbook::record::Record;
use markbook::trace::Trace;

use super::{golden, near};

fn row(benchmark: &str, id: i64, question: &str, options: &[&str], (answer, pick): (&str, &str)) -> Record {
    Record {
        question_id: id,
        benchmark: benchmark.into(),
        question: question.into(),
        options: options.iter().map(ToString::to_string).collect(),
        answer: answer.into(),
        pick: pick.into(),
        correct: answer == pick,
        ..Record::default()
    }
}

#[test]
fn the_fall_is_told_over_all_questions_and_paired_over_those_that_both_ask() {
    let four = ["w", "x", "y", "z"];
    let ten = ["a", "b", "c", "x", "d", "e", "f", "g", "h", "i"];
    let mmlu = vec![
        row("mmlu", 0, "Both?", &four, ("B", "B")),
        // The same text in another subject, with another option right.
        row("mmlu", 1, "Both?", &four, ("C", "A")),
        row("mmlu", 2, "Mended?", &four, ("A", "A")),
        row("mmlu", 3, "Only here?", &four, ("A", "B")),
    ];
    let pro = vec![
        row("mmlu_pro", 70, " Both? ", &ten, ("D", "A")),
        row("mmlu_pro", 71, "Mended?", &ten, ("D", "D")),
        row("mmlu_pro", 72, "New?", &ten, ("A", "[invalid]")),
    ];
    let descent = Descent::of(
        &Trace::from_records("a", "t", mmlu),
        &Trace::from_records("b", "t", pro),
    )
    .unwrap();
    let same = &descent.same;
    assert_eq!(
        (same.questions, same.same_gold, same.other_gold, same.only_b),
        (2, 1, 1, 1)
    );
    assert_eq!(
        (same.paired, same.accuracy_a, same.accuracy_b),
        (1, Some(1.0), Some(0.0))
    );
    assert_eq!((same.a_only, same.b_only), (1.0, 0.0));
    assert!((descent.a.chance - 0.25).abs() < 1e-12 && (descent.b.chance - 0.1).abs() < 1e-12);
    assert!((descent.difference.unwrap() - (0.5 - 1.0 / 3.0)).abs() < 1e-12);
}

#[test]
fn what_lies_above_chance_is_the_golden_value() {
    let Some(told) = golden("unpaired.json") else { return };
    for case in told["cases"].as_array().unwrap() {
        let number = |name: &str| case[name].as_f64().unwrap();
        for side in ["1", "2"] {
            let accuracy = number(&format!("x{side}")) / number(&format!("n{side}"));
            near(
                above_chance(accuracy, number(&format!("chance_{side}"))),
                &case[format!("above_chance_{side}")],
            );
        }
    }
}
