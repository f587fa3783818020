//! The prompts of a slice as JSON lines, in the order and numbering of the reference harness.

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

use super::{Dataset, Examples, PromptPlan, Prompter, Question};

/// How much of each prompt is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    Hashes,
    /// Hashes, and the texts themselves.
    Prompts,
}

#[derive(Serialize)]
struct Line<'a> {
    benchmark: &'a str,
    subject: &'a str,
    doc_id: usize,
    doc_hash: &'a str,
    prompt_hash: &'a str,
    target_hash: &'a str,
    #[serde(flatten)]
    texts: Option<Texts<'a>>,
}

#[derive(Serialize)]
struct Texts<'a> {
    question_id: i64,
    target: &'a str,
    prompt: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    continuations: &'a [String],
}

/// One line a question: task by task, then as they stand in the file.
pub fn write_prompts(out: &mut dyn Write, dataset: &Dataset, plan: &PromptPlan, listing: Listing) -> Result<()> {
    let prompter = Prompter::new(dataset, plan)?;
    let mut questions: Vec<&Question> = dataset.questions.iter().collect();
    if plan.style.examples == Examples::OfSubject {
        questions.sort_by(|a, b| a.subject.cmp(&b.subject).then(a.doc_id.cmp(&b.doc_id)));
    }
    for question in questions {
        let rendered = prompter.render(question)?;
        let texts = Texts {
            question_id: question.id,
            target: &rendered.target,
            prompt: &rendered.prompt,
            continuations: &rendered.continuations,
        };
        let line = Line {
            benchmark: &dataset.name,
            subject: &question.subject,
            doc_id: question.number(plan.style),
            doc_hash: &rendered.doc_hash,
            prompt_hash: &rendered.prompt_hash,
            target_hash: &rendered.target_hash,
            texts: (listing == Listing::Prompts).then_some(texts),
        };
        let line = serde_json::to_string(&line).context("a prompt as JSON")?;
        writeln!(out, "{line}").context("cannot write the prompts")?;
    }
    Ok(())
}
