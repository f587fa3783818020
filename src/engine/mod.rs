//! Who answers: requests in, numbers or text out, in any order.
//!
//! An engine speaks strings, seeds and numbers; it knows no benchmark, record or screen.

mod candle;
mod description;
mod open;
mod pulse;
pub mod remote;
pub mod scripted;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

pub use candle::bench;
pub use candle::{Device, Dtype, Options};
pub use description::{Description, Local};
pub use open::{Opened, Spec, Status, chat_template, open};
pub use pulse::{LanePulse, PULSE_LANES, PULSE_REPLICAS, Pulse, Remote, RemoteTotals, ReplicaPulse};

pub use crate::record::{Finish, ServedBy};

/// How completions are drawn: temperature, then top-k, renormalise, then top-p, as the reference servers do it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// 0 is greedy: the likeliest token, the lowest id on a tie.
    pub temperature: f64,
    /// Share of probability kept, after top-k, in (0, 1]; 1 keeps all.
    pub top_p: f64,
    /// Number of likeliest tokens kept; 0 keeps all.
    pub top_k: usize,
    /// Upper bound of generated tokens.
    pub max_tokens: usize,
    /// Texts that end a completion; they are cut off, with all that follows.
    pub stops: Vec<String>,
}

/// Version of the random stream that [`Ask::Sample`] speaks of; a change of the numbers it gives makes it one more.
pub const STREAM: u32 = 1;

/// What is asked of the engine about one prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// Log-likelihood of each continuation after the prompt, encoded together with it as the reference harness does
    /// (`_encode_pair`: trailing white space of the prompt moves to the continuation).
    Score { continuations: Vec<String> },
    /// One completion a seed. The random stream of a token is keyed by (seed, `stream`, position), so an answer does
    /// not depend on batch, order or resume point.
    Sample {
        sampling: Sampling,
        seeds: Vec<i64>,
        stream: u64,
    },
}

/// What is put to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    Text(String),
    /// A chat of which the engine's other side makes a text.
    Chat(Vec<Turn>),
}

/// One turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

impl Prompt {
    /// The text; of a chat what its turns say, one after the other.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Prompt::Text(text) => text.into(),
            Prompt::Chat(turns) => {
                let said: Vec<&str> = turns.iter().map(|turn| turn.content.as_str()).collect();
                said.join("\n\n").into()
            }
        }
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Prompt {
        Prompt::Text(text)
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Prompt {
        Prompt::Text(text.to_owned())
    }
}

/// One prompt to be answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The caller's own number; comes back with each answer.
    pub id: usize,
    /// Which exam it belongs to: an index into [`Control::lanes`]. Compute is shared between lanes.
    pub lane: usize,
    pub prompt: Prompt,
    /// Whether a beginning-of-sequence token may be added as the tokenizer's own settings say (never a second one where
    /// the prompt already begins with its text).
    pub add_special_tokens: bool,
    pub ask: Ask,
}

/// The scores of one prompt's continuations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores {
    /// Sum of token log-probabilities (natural log) of each continuation, in the order asked.
    pub log_likelihoods: Vec<f32>,
    /// Whether every token of the continuation was the likeliest one; none where the engine cannot tell.
    pub greedy: Option<Vec<bool>>,
    /// Token count of each continuation; none where the engine cannot tell.
    pub continuation_tokens: Option<Vec<usize>>,
    /// Share of all probability, right after the prompt, that fell on the first tokens of the continuations
    /// (each different first token counted once); none where the engine cannot tell.
    pub mass: Option<f32>,
    /// The text of the token the model liked best right after the prompt; none where the engine cannot tell.
    pub top_token: Option<String>,
    /// What a server told beside them.
    pub told: Option<Box<Told>>,
}

/// What a server told beside an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Told {
    pub by: ServedBy,
    /// Short words for the row (`bounded`, `cut_thinking`, ...).
    pub flags: Vec<&'static str>,
}

/// One finished completion.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Index into the request's `seeds`.
    pub attempt: usize,
    /// The text, stop text and end-of-sequence cut off; other white space stays.
    pub text: String,
    pub finish: Finish,
    /// Generated tokens, the ending one included.
    pub tokens: usize,
    /// What a server told beside it.
    pub told: Option<Box<Told>>,
}

/// What an engine tells while it works. Times are seconds spent on this answer's share of the work.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Scored {
        id: usize,
        scores: Scores,
        prompt_tokens: usize,
        truncated: bool,
        seconds: f32,
    },
    /// Text that came since the last event of this (id, attempt); told at most a few times a second.
    Progress {
        id: usize,
        attempt: usize,
        tokens: usize,
        text: String,
    },
    Completed {
        id: usize,
        completion: Completion,
        prompt_tokens: usize,
        truncated: bool,
        seconds: f32,
    },
    /// This request cannot be answered: one of its attempts, or all that are missing. The others go on. `flag` is a short
    /// word for the row (`too_long`, `error`).
    Failed {
        id: usize,
        /// Index into the request's seeds; none: all that are missing.
        attempt: Option<usize>,
        flag: &'static str,
        reason: String,
    },
    /// Nothing is answered for the time being, for this reason (a server that is gone, or asks to wait).
    Waiting { reason: String },
    /// Something that a reader of the run should know later too.
    Noted { note: String },
    /// Told a few times a second and after each pass; counts since the start of `run`.
    Pulse(Pulse),
}

/// One exam's hold on the engine, adjustable while it works.
#[derive(Debug)]
pub struct Lane {
    pub paused: AtomicBool,
    /// Relative share of compute, 1 to 9; 5 at the start.
    pub share: AtomicU32,
}

/// What the outside may change while an engine works.
#[derive(Debug)]
pub struct Control {
    pub lanes: Vec<Lane>,
    pub stops: Stops,
}

/// Answers that are to end where they are, by request and attempt (an index into the request's seeds).
#[derive(Debug, Clone, Default)]
pub struct Stops(Arc<Mutex<BTreeSet<(usize, usize)>>>);

impl Stops {
    /// Lets an answer end at its next token; it is kept as far as it came, with [`Finish::User`].
    pub fn ask(&self, answer: (usize, usize)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(answer);
    }

    /// Whether an answer is to end; it is asked no more then.
    fn take(&self, answer: (usize, usize)) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&answer)
    }
}

impl Control {
    pub fn new(lanes: usize) -> Control {
        Control {
            stops: Stops::default(),
            lanes: (0..lanes)
                .map(|_| Lane {
                    paused: AtomicBool::new(false),
                    share: AtomicU32::new(5),
                })
                .collect(),
        }
    }

    pub fn is_paused(&self, lane: usize) -> bool {
        self.lanes[lane].paused.load(Ordering::Relaxed)
    }

    pub fn share(&self, lane: usize) -> u32 {
        self.lanes[lane].share.load(Ordering::Relaxed).max(1)
    }
}

/// The model of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Model {
    /// For titles: the last part of the id or path.
    pub name: String,
    /// Hub id, path, or `smollm2-135m`.
    pub id: String,
    /// Resolved commit, for hub models.
    pub revision: Option<String>,
}

/// How far the log-likelihoods of a model that computes in a narrow number format lie from those in f32.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Rounding {
    /// The number format that was compared with f32.
    pub dtype: String,
    /// The code that computed it.
    pub kernel: String,
    /// Where the questions came from.
    pub source: String,
    pub questions: usize,
    /// Continuations of all questions.
    pub continuations: usize,
    /// Mean absolute difference of a continuation's log-likelihood (natural log).
    pub mean: f64,
    /// Largest absolute difference.
    pub largest: f64,
    /// Questions whose likeliest continuation is another one than in f32.
    pub changed_picks: usize,
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} log-likelihoods lie {:.4} from f32's on average, {:.4} at most; {} of {} picks differ ({})",
            self.dtype, self.mean, self.largest, self.changed_picks, self.questions, self.source
        )
    }
}

/// Tells the engine whether to go on after each event.
pub type Watcher<'a> = dyn FnMut(Event) -> ControlFlow<()> + 'a;

/// The requests of a run, lane by lane and in order, each made when its turn has come: prompts of a whole exam are not held
/// beside its answers.
pub trait Requests {
    /// The next request of a lane; none where all were given. `count_tokens` is the engine's ([`Engine::count_tokens`]).
    fn next(&mut self, lane: usize, count_tokens: &dyn Fn(&str) -> Option<usize>) -> Option<Request>;
}

/// Requests that are all there, by lane.
impl Requests for Vec<VecDeque<Request>> {
    fn next(&mut self, lane: usize, _: &dyn Fn(&str) -> Option<usize>) -> Option<Request> {
        self[lane].pop_front()
    }
}

/// A model that answers.
pub trait Engine {
    fn describe(&self) -> Description;

    /// The chat template of the model, where it has one (Jinja text, with the special tokens it may name).
    fn chat_template(&self) -> Option<ChatTemplate>;

    /// Tokens of a prompt as it would be encoded; `None` where only the engine's other side knows.
    fn count_tokens(&self, _prompt: &str) -> Option<usize> {
        None
    }

    /// Answers all requests of the control's lanes, telling `watch` each answer as soon as it is there; stops at the next
    /// token when it breaks. An answer already told is final.
    ///
    /// # Errors
    /// When nothing further can be answered (out of memory, device lost). A single request that cannot be answered is
    /// told as [`Event::Failed`].
    fn answer(&mut self, requests: &mut dyn Requests, control: &Control, watch: &mut Watcher) -> Result<()>;

    /// The same for requests that are all there.
    ///
    /// # Errors
    /// As [`Engine::answer`], and where a request names a lane that there is not.
    fn run(&mut self, requests: Vec<Request>, control: &Control, watch: &mut Watcher) -> Result<()> {
        let mut lanes = vec![VecDeque::new(); control.lanes.len()];
        for request in requests {
            let (id, lane, count) = (request.id, request.lane, lanes.len());
            let Some(requests) = lanes.get_mut(lane) else {
                bail!("request {id} names lane {lane} of {count}");
            };
            requests.push_back(request);
        }
        self.answer(&mut lanes, control, watch)
    }
}

/// A model's chat template and the special tokens that it may name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ChatTemplate {
    /// Jinja text.
    pub source: String,
    pub bos_token: Option<String>,
    pub eos_token: Option<String>,
    /// The others by name: `pad_token`, `unk_token`.
    #[serde(default)]
    pub tokens: BTreeMap<String, String>,
    /// What templates of thinking models know as `enable_thinking`; none: it is not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinks: Option<bool>,
}
