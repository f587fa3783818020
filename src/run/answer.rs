//! From an engine's answer to a record.

use super::{Method, Sent, Sitting};
use crate::engine::{Completion, Finish, Scores};
use crate::record::{INVALID, Record, letter};

/// Prompt tokens, whether the prompt was cut, seconds.
type Cost = (usize, bool, f32);

pub(super) fn scored(sent: &Sent, sittings: &[Sitting], scores: Scores, (tokens, truncated, seconds): Cost) -> Record {
    let mut record = blank(sent, sittings, 0);
    if scores.log_likelihoods.iter().any(|score| score.is_nan()) {
        record.flags.push("nan".into());
    }
    record.continuations = Some(sent.rendered.continuations.clone());
    record.continuation_tokens = scores
        .continuation_tokens
        .map(|counts| counts.iter().map(|tokens| *tokens as i64).collect());
    record.logprobs = Some(scores.log_likelihoods);
    let rule = sittings[sent.sitting].plan.rule.argmax().unwrap_or_default();
    let best = record.scored_pick(rule);
    record.pick = best.and_then(letter).map_or_else(|| INVALID.to_owned(), String::from);
    record.greedy = scores.greedy;
    record.letter_mass = scores.mass;
    record.top_token = scores.top_token;
    record.prompt_tokens = Some(tokens as i64);
    record.seconds = seconds;
    if truncated {
        record.flags.push("truncated".into());
    }
    record.correct = record.pick == record.answer;
    record
}

pub(super) fn completed(
    sent: &Sent,
    sittings: &[Sitting],
    completion: Completion,
    (tokens, truncated, seconds): Cost,
) -> Record {
    let mut record = blank(sent, sittings, sent.attempts[completion.attempt]);
    let rule = &sittings[sent.sitting].plan.rule;
    let extraction = rule.read(&completion.text);
    record.pick = extraction.pick.unwrap_or(INVALID).to_owned();
    if let Some(flag) = extraction.flag {
        record.flags.push(flag.to_owned());
    }
    if truncated {
        record.flags.push("truncated".into());
    }
    record.reasoning_chars = completion.text.chars().count() as i64;
    record.reasoning = completion.text;
    record.finish = Some(completion.finish);
    record.prompt_tokens = Some(tokens as i64);
    record.output_tokens = Some(completion.tokens as i64);
    record.seconds = seconds;
    record.correct = crate::extract::exact_match(&record.pick, &record.answer);
    record
}

/// Every attempt that was asked for, as failed. The reason goes into the flags, so that no row is without one.
pub(super) fn failed(sent: &Sent, sittings: &[Sitting], flag: &str, reason: &str) -> Vec<Record> {
    sent.attempts
        .iter()
        .map(|attempt| {
            let mut record = blank(sent, sittings, *attempt);
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
fn blank(sent: &Sent, sittings: &[Sitting], attempt: usize) -> Record {
    let plan = &sittings[sent.sitting].plan;
    let question = sent.question(sittings);
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
        seed: match &plan.method {
            Method::Cloze => None,
            Method::Generate { seeds, .. } => seeds[attempt],
        },
        flags: question.flags.iter().map(|flag| (*flag).to_owned()).collect(),
        ..Record::default()
    }
}
