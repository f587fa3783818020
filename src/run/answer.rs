//! From an engine's answer to a record.

use super::Plan;
use crate::benchmark::{Question, Rendered};
use crate::engine::{Completion, Finish, Scores, Told};
use crate::record::{INVALID, Record, letter};

/// A prompt that was sent and whose answers have not all come.
#[derive(Debug)]
pub(super) struct Sent {
    /// Index of its exam.
    pub exam: usize,
    /// Index of its question in the exam's data set.
    pub question: usize,
    pub rendered: Rendered,
    /// The attempts asked for, by index into the plan's seeds.
    pub attempts: Vec<usize>,
    /// How many of them have not come.
    pub left: usize,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub prompt_tokens: usize,
    /// Whether the prompt was cut to fit the model.
    pub truncated: bool,
    pub seconds: f32,
}

impl Sent {
    pub(super) fn question<'a>(&self, plan: &'a Plan) -> &'a Question {
        &plan.dataset.questions[self.question]
    }
}

pub(super) fn scored(sent: &Sent, plan: &Plan, scores: Scores, cost: Cost) -> Record {
    let mut record = blank(sent, plan, 0);
    tell(&mut record, scores.told);
    if scores.log_likelihoods.iter().any(|score| !score.is_finite()) {
        record.flags.push("nan".into());
    }
    record.continuations = Some(sent.rendered.continuations.clone());
    record.continuation_tokens = scores
        .continuation_tokens
        .map(|counts| counts.iter().map(|tokens| *tokens as i64).collect());
    record.logprobs = Some(scores.log_likelihoods);
    // Where all that is known is one bound for all, none was picked.
    let is_decided = !record.flags.iter().any(|flag| flag == "undecided");
    let best = record
        .scored_pick(plan.rule.argmax().unwrap_or_default())
        .filter(|_| is_decided);
    record.pick = best.and_then(letter).map_or_else(|| INVALID.to_owned(), String::from);
    record.greedy = scores.greedy;
    record.letter_mass = scores.mass;
    record.top_token = scores.top_token;
    record.correct = record.pick == record.answer;
    priced(record, cost)
}

pub(super) fn completed(sent: &Sent, plan: &Plan, completion: Completion, cost: Cost) -> Record {
    let mut record = blank(sent, plan, sent.attempts[completion.attempt]);
    let extraction = plan.rule.read(&completion.text);
    record.pick = extraction.pick.unwrap_or(INVALID).to_owned();
    if let Some(flag) = extraction.flag {
        record.flags.push(flag.to_owned());
    }
    record.reasoning_chars = completion.text.chars().count() as i64;
    record.reasoning = completion.text;
    record.finish = Some(completion.finish);
    record.output_tokens = Some(completion.tokens as i64);
    if plan.manifest.settings.method == super::FIRST_TOKEN {
        record.flags.push(super::FIRST_TOKEN.to_owned());
    }
    tell(&mut record, completion.told);
    record.correct = crate::extract::exact_match(&record.pick, &record.answer);
    priced(record, cost)
}

/// Takes in what a server told beside its answer.
fn tell(record: &mut Record, told: Option<Box<Told>>) {
    let Some(told) = told else { return };
    record.flags.extend(told.flags.iter().map(|flag| (*flag).to_owned()));
    record.served = Some(Box::new(told.by));
}

fn priced(mut record: Record, cost: Cost) -> Record {
    record.prompt_tokens = Some(cost.prompt_tokens as i64);
    record.seconds = cost.seconds;
    if cost.truncated {
        record.flags.push("truncated".into());
    }
    record
}

/// The attempt (an index into those that were asked for) or all of them, as failed. The reason goes into the flags, so that
/// no row is without one.
pub(super) fn failed(sent: &Sent, plan: &Plan, attempt: Option<usize>, (flag, reason): (&str, &str)) -> Vec<Record> {
    let asked = match attempt {
        Some(attempt) => sent.attempts.get(attempt..=attempt).unwrap_or_default(),
        None => &sent.attempts,
    };
    asked
        .iter()
        .map(|attempt| {
            let mut record = blank(sent, plan, *attempt);
            record.finish = Some(Finish::Error);
            record.flags.push(flag.to_owned());
            if !reason.is_empty() {
                record.flags.push(format!("reason: {}", reason.replace(',', ";")));
            }
            record
        })
        .collect()
}

/// A record with all that is known before the answer.
fn blank(sent: &Sent, plan: &Plan, attempt: usize) -> Record {
    let question = sent.question(plan);
    Record {
        question_id: question.id,
        attempt: attempt as i64,
        category: question.category.clone(),
        prompt: sent.rendered.prompt.clone(),
        pick: INVALID.to_owned(),
        answer: question.answer.clone(),
        doc_hash: sent.rendered.doc_hash.clone(),
        prompt_hash: sent.rendered.prompt_hash.clone(),
        benchmark: plan.dataset.name.clone(),
        subject: question.subject.clone(),
        question: question.question.clone(),
        options: question.options.clone(),
        doc: Some(question.doc.clone()),
        target_hash: sent.rendered.target_hash.clone(),
        doc_id: Some(question.number(plan.prompt.style) as i64),
        seed: plan.method.seed(attempt),
        flags: question.flags.iter().map(|flag| (*flag).to_owned()).collect(),
        ..Record::default()
    }
}

/// Tells which records are answers of a plan: of one of its questions as it is asked, an attempt that is planned, and its
/// seed.
pub(super) fn belongs(plan: &Plan) -> impl Fn(&Record) -> bool {
    let questions: std::collections::HashMap<i64, &Question> = plan
        .dataset
        .questions
        .iter()
        .map(|question| (question.id, question))
        .collect();
    move |record| {
        let attempt = usize::try_from(record.attempt).unwrap_or(usize::MAX);
        let is_asked = questions
            .get(&record.question_id)
            .is_some_and(|question| question.question == record.question && question.answer == record.answer);
        is_asked
            && record.benchmark == plan.dataset.name
            && attempt < plan.method.attempts()
            && plan.wants(record.question_id, attempt)
            && record.seed == plan.method.seed(attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    fn sent(plan: &Plan) -> Sent {
        let prompter = crate::benchmark::Prompter::new(&plan.dataset, &plan.prompt).unwrap();
        Sent {
            exam: 0,
            question: 1,
            rendered: prompter.render(&plan.dataset.questions[1]).unwrap(),
            attempts: (0..plan.method.attempts()).collect(),
            left: plan.method.attempts(),
        }
    }

    const COST: Cost = Cost {
        prompt_tokens: 7,
        truncated: true,
        seconds: 0.5,
    };

    #[test]
    fn scores_that_are_no_numbers_are_kept_and_flagged() {
        let plan = plan("mmlu", std::path::Path::new("run"), 2);
        for (odd, pick) in [(f32::NAN, "B"), (f32::INFINITY, "B"), (f32::NEG_INFINITY, "A")] {
            let scores = Scores {
                log_likelihoods: vec![-1.0, odd, -2.0, -3.0],
                greedy: Some(vec![false; 4]),
                continuation_tokens: Some(vec![1; 4]),
                ..Scores::default()
            };
            let record = scored(&sent(&plan), &plan, scores, COST);
            assert_eq!(
                (record.flags.as_slice(), record.pick.as_str()),
                (&["nan".to_owned(), "truncated".into()][..], pick)
            );
            let kept = record.logprobs.unwrap();
            assert!(kept[1].to_bits() == odd.to_bits() && kept[0] == -1.0, "{kept:?}");
        }
    }

    #[test]
    fn an_answer_belongs_to_a_run_by_question_attempt_and_seed() {
        let plan = plan("mmlu_pro", std::path::Path::new("run"), 2);
        let records = failed(&sent(&plan), &plan, None, ("error", "gone, all of it"));
        assert_eq!(records.len(), 5);
        assert!(records[0].flags.contains(&"reason: gone; all of it".to_owned()));
        let is_own = belongs(&plan);
        assert!(records.iter().all(&is_own));
        let change = |change: &dyn Fn(&mut Record)| {
            let mut record = records[2].clone();
            change(&mut record);
            record
        };
        for stranger in [
            change(&|record| record.question_id = 90_000),
            change(&|record| record.attempt = 5),
            change(&|record| record.attempt = -1),
            change(&|record| record.seed = Some(7)),
            change(&|record| record.benchmark = "mmlu".into()),
            change(&|record| record.question.push('?')),
        ] {
            assert!(!is_own(&stranger), "{stranger:?}");
        }
    }
}
