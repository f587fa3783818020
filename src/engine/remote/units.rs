//! One answer: asked for, scored or written, and what it came to.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use super::Rung;
use super::ask::{Letter, Model};
use super::fault::Fault;
use super::order::Unit;
use super::pump::Desk;
use super::stream::Written;
use crate::engine::{Ask, Event, Scores, Told};

/// How scores are had.
#[derive(Debug, Clone, Copy)]
pub struct Scoring<'a> {
    pub rung: Option<Rung>,
    pub letters: &'a BTreeMap<String, Vec<u32>>,
}

/// What became of a unit.
pub enum Answered {
    /// Scores, and the tokens of the prompt.
    Scored(Scores, usize),
    Written(Written),
    Failed(Fault),
}

pub struct Finished {
    pub unit: Unit,
    /// Index of the server.
    pub replica: usize,
    pub answered: Answered,
    pub seconds: f32,
}

impl Answered {
    /// What the server told beside it.
    pub fn told(&mut self) -> Option<&mut Told> {
        match self {
            Answered::Scored(scores, _) => scores.told.as_deref_mut(),
            Answered::Written(written) => written.completion.told.as_deref_mut(),
            Answered::Failed(_) => None,
        }
    }

    /// Tokens of the prompt and of the completion, and seconds to the first token.
    pub fn cost(&self) -> (usize, usize, Option<f32>) {
        match self {
            Answered::Scored(_, prompt_tokens) => (*prompt_tokens, 0, None),
            Answered::Written(written) => {
                let told = written.completion.told.as_ref();
                let first_s = told.and_then(|told| told.by.first_token_s);
                (
                    written.prompt_tokens.unwrap_or_default(),
                    written.completion.tokens,
                    first_s,
                )
            }
            Answered::Failed(_) => (0, 0, None),
        }
    }

    /// As the watcher hears it.
    pub fn event(self, id: usize, seconds: f32) -> Event {
        let truncated = false;
        match self {
            Answered::Scored(scores, prompt_tokens) => Event::Scored {
                id,
                scores,
                prompt_tokens,
                truncated,
                seconds,
            },
            Answered::Written(written) => Event::Completed {
                id,
                prompt_tokens: written.prompt_tokens.unwrap_or_default(),
                completion: written.completion,
                truncated,
                seconds,
            },
            Answered::Failed(fault) => Event::Failed {
                id,
                attempt: None,
                flag: "error",
                reason: fault.cause().to_owned(),
            },
        }
    }
}

/// One unit's answer.
pub async fn answer(model: &Model, (unit, replica): (Unit, usize), scoring: Scoring<'_>, desk: &Desk) -> Finished {
    let begun = Instant::now();
    let request = Rc::clone(&unit.request);
    let answered = match &request.ask {
        Ask::Score { continuations } => match score(model, &request.prompt.text(), continuations, scoring).await {
            Ok((scores, tokens)) => Answered::Scored(scores, tokens),
            Err(fault) => Answered::Failed(fault),
        },
        Ask::Sample { sampling, seeds, .. } => {
            let mut progress = |text: &str, tokens: usize| {
                let mut pieces = desk.pieces.borrow_mut();
                let piece = pieces.entry((request.id, unit.attempt)).or_default();
                piece.text.push_str(text);
                (piece.tokens, piece.lane, piece.replica) = (tokens, request.lane, replica);
                if tokens == 1 {
                    desk.begun.borrow_mut().push((replica, Rc::clone(&request)));
                    desk.bell.notify_one();
                }
                desk.stops.take((request.id, unit.attempt))
            };
            let seed = seeds.get(unit.attempt).copied().unwrap_or_default();
            let written = model.write(&request.prompt, sampling, (unit.attempt, seed), &mut progress);
            written.await.map_or_else(Answered::Failed, Answered::Written)
        }
    };
    Finished {
        unit,
        replica,
        answered,
        seconds: begun.elapsed().as_secs_f32(),
    }
}

/// The scores of a request's continuations, by the way that the handshake found; texts of several tokens by echo.
async fn score(
    model: &Model,
    prompt: &str,
    continuations: &[String],
    scoring: Scoring<'_>,
) -> Result<(Scores, usize), Fault> {
    let refused = |reason: &str| Fault::Refused {
        flag: "error",
        reason: reason.to_owned(),
    };
    let rung = scoring
        .rung
        .ok_or_else(|| refused("the server gives no log-probabilities"))?;
    let known = continuations
        .iter()
        .map(|text| Some((text.clone(), scoring.letters.get(text)?.clone())));
    if let Some(known) = known.collect::<Option<Vec<Letter>>>() {
        return model.score(rung, prompt, &known).await;
    }
    if rung == Rung::Partial {
        return Err(refused("only letters can be scored by the likeliest tokens"));
    }
    let told = model.tokens(prompt).await?;
    let bare = told.ok_or_else(|| refused("the server does not tell tokens"))?;
    let mut parted = Vec::new();
    for text in continuations {
        let whole = model.tokens(&format!("{prompt}{text}")).await?.unwrap_or_default();
        let own = whole.get(bare.len()..).unwrap_or_default().to_vec();
        parted.push((text.clone(), own));
    }
    model.score(Rung::Echo, prompt, &parted).await
}
