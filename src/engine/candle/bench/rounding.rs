//! How far a narrow format's log-likelihoods lie from f32's: measured over cloze questions, kept for later runs of the same weights
//! by the same code.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::engine::candle::{CandleEngine, streamed};
use crate::engine::{Control, Description, Engine, Event, Local, Request, Rounding, Scores};
use crate::extract::argmax::ArgMax;
use crate::hub;

/// Hears what share is done; can stop it.
pub type Tick<'a> = dyn FnMut(f64) -> ControlFlow<()> + 'a;

/// Whether the engine computes in less than f32.
pub(super) fn applies(engine: &CandleEngine) -> bool {
    engine.description.dtype != "f32"
}

/// Scores the requests in the engine's own number format and in f32, and compares. `source` says where the questions came
/// from.
///
/// # Errors
/// When the file cannot be read again, nothing could be scored, or `tick` breaks.
pub(super) fn measure(
    engine: &mut CandleEngine,
    requests: &[Request],
    source: &str,
    tick: &mut Tick,
) -> Result<Rounding> {
    let own = own_scores(engine, requests, &mut |share| tick(share / 3.0))?;
    // A layer read from the file serves all prompts at once, and all of them are in memory: so some thousands of tokens
    // at a time.
    let path = engine.path.clone();
    let mut wide = Vec::with_capacity(requests.len());
    for part in requests.chunks(QUESTIONS_AT_ONCE) {
        let before = wide.len() as f64;
        let mut layer = |done: usize, of: usize| {
            let questions = before + part.len() as f64 * done as f64 / of as f64;
            tick((1.0 + 2.0 * questions / requests.len() as f64) / 3.0)
        };
        wide.extend(streamed::scores(engine, &path, part, &mut layer)?);
    }
    let pairs: Vec<(Scores, Scores)> = own
        .into_iter()
        .zip(wide)
        .filter_map(|(own, wide)| own.zip(wide))
        .collect();
    compare(&pairs)
        .map(|rounding| Rounding {
            dtype: engine.description.dtype.clone(),
            kernel: engine.description.kernel.clone(),
            source: source.to_owned(),
            ..rounding
        })
        .context("no question could be scored, so nothing can be said of the rounding")
}

/// Questions whose tokens go through a layer together.
const QUESTIONS_AT_ONCE: usize = 64;

pub(super) fn own_scores(
    engine: &mut CandleEngine,
    requests: &[Request],
    tick: &mut Tick,
) -> Result<Vec<Option<Scores>>> {
    let mut scores: Vec<Option<Scores>> = vec![None; requests.len()];
    let (mut heard, mut stopped) = (0usize, false);
    let numbered = requests.iter().enumerate().map(|(id, request)| Request {
        id,
        lane: 0,
        ..request.clone()
    });
    engine.run(numbered.collect(), &Control::new(1), &mut |event| {
        if let Event::Scored { id, scores: found, .. } = event {
            scores[id] = Some(found);
            heard += 1;
        }
        let flow = tick(heard as f64 / requests.len().max(1) as f64);
        stopped |= flow.is_break();
        flow
    })?;
    if stopped {
        bail!("the comparison with f32 was stopped");
    }
    Ok(scores)
}

/// The differences of scores in a narrow format and in f32; none without any.
fn compare(pairs: &[(Scores, Scores)]) -> Option<Rounding> {
    let mut rounding = Rounding {
        questions: pairs.len(),
        ..Rounding::default()
    };
    let mut sum = 0.0;
    for (own, wide) in pairs {
        for (own, wide) in own.log_likelihoods.iter().zip(&wide.log_likelihoods) {
            let difference = (f64::from(*own) - f64::from(*wide)).abs();
            sum += difference;
            rounding.largest = rounding.largest.max(difference);
            rounding.continuations += 1;
        }
        let pick = |scores: &Scores| ArgMax::Sum.pick(&scores.log_likelihoods, &[], &[]);
        rounding.changed_picks += usize::from(pick(own) != pick(wide));
    }
    rounding.mean = sum / rounding.continuations as f64;
    (rounding.continuations > 0).then_some(rounding)
}

/// What is kept between runs.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// Another version may round elsewhere.
    markbook: String,
    rounding: Rounding,
}

/// The file that keeps the figure of these weights by this code.
fn file(model: &Local) -> Result<PathBuf> {
    let weights = model
        .weights_sha256
        .as_ref()
        .context("the weights have no fingerprint")?;
    let kernel: String = model
        .kernel
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let name = format!("{}-{kernel}.json", &weights[..weights.len().min(16)]);
    Ok(hub::home()?.join("cache").join("rounding").join(name))
}

/// The figure that `bench` measured before, if any.
pub fn known(engine: &Description) -> Option<Rounding> {
    let Description::Candle(model) = engine else {
        return None;
    };
    let text = std::fs::read_to_string(file(model).ok()?).ok()?;
    let kept: Kept = serde_json::from_str(&text).ok()?;
    (kept.markbook == env!("CARGO_PKG_VERSION")).then_some(kept.rounding)
}

/// Keeps a figure for later runs, unless one over more questions is there.
pub(super) fn keep(engine: &CandleEngine, rounding: &Rounding) -> Result<()> {
    if known(&engine.describe()).is_some_and(|before| before.questions > rounding.questions) {
        return Ok(());
    }
    let path = file(&engine.description)?;
    let kept = Kept {
        markbook: env!("CARGO_PKG_VERSION").to_owned(),
        rounding: rounding.clone(),
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    crate::files::write_aside(&path, &serde_json::to_vec_pretty(&kept)?)
}

/// As many of the requests as these tokens are enough for, one at least, `most` at most.
pub(super) fn affordable(
    engine: &CandleEngine,
    requests: Vec<Request>,
    tokens: usize,
    most: usize,
) -> Result<Vec<Request>> {
    let mut left = tokens;
    let mut kept = Vec::new();
    for request in requests.into_iter().take(most) {
        let needed = engine.tokenizer.encode(&request.prompt.text(), true)?.len();
        if needed > left && !kept.is_empty() {
            break;
        }
        left = left.saturating_sub(needed);
        kept.push(request);
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(log_likelihoods: &[f32]) -> Scores {
        Scores {
            log_likelihoods: log_likelihoods.to_vec(),
            ..Scores::default()
        }
    }

    #[test]
    fn differences_are_counted_for_each_continuation_and_picks_for_each_question() {
        let pairs = [
            (scores(&[-1.0, -2.0]), scores(&[-1.25, -2.0])),
            (scores(&[-1.0, -2.0, -3.0]), scores(&[-2.0, -1.75, -3.0])),
        ];
        let rounding = compare(&pairs).unwrap();
        assert_eq!(
            (rounding.questions, rounding.continuations, rounding.changed_picks),
            (2, 5, 1)
        );
        assert_eq!((rounding.largest, rounding.mean), (1.0, 1.5 / 5.0));
        assert!(compare(&[]).is_none());
    }
}
