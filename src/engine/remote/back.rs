//! Servers that went away, and answers that came from another server or model than before.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::ask::Model;
use super::fault::Fault;
use super::handshake;
use super::pump::{Came, Flight, Pump};
use crate::engine::{Event, ServedBy, Watcher};

/// A server that was away was asked: the model as it is to be asked now, and what changed, where anything did.
pub type Back = Result<(Model, Option<String>), Fault>;

/// Seconds until a server that is away is asked again.
const PAUSES: [u64; 3] = [1, 2, 5];

impl<'a> Pump<'a> {
    /// Asks servers that are away whether they are back, each when its time has come.
    pub(super) fn look_for(&mut self, flights: &mut Vec<Flight<'a>>) {
        let now = Instant::now();
        for (at, replica) in self.replicas.iter_mut().enumerate() {
            let Some(away) = replica.away.as_mut().filter(|away| !away.is_asking && away.next <= now) else {
                continue;
            };
            away.is_asking = true;
            away.asked += 1;
            let (mut model, served) = (Model::clone(&replica.model), self.served);
            flights.push(Box::pin(async move {
                let asked = handshake::again(&mut model, served).await;
                Came::Back(at, asked.map(|changed| (model, changed)))
            }));
        }
    }

    /// Takes in what a server said that was away.
    pub(super) fn came_back(&mut self, at: usize, back: Back, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        let replica = &mut self.replicas[at];
        let host = replica.model.client.address.host();
        let (model, changed) = match back {
            Ok(back) => back,
            Err(Fault::Ends(sentence)) if !sentence.contains("cannot be reached") => bail!("{sentence}. {SAVED}"),
            Err(_) => {
                if let Some(away) = &mut replica.away {
                    let pause = PAUSES[(away.asked as usize - 1).min(PAUSES.len() - 1)];
                    away.next = Instant::now() + Duration::from_secs(pause);
                    away.is_asking = false;
                }
                return Ok(ControlFlow::Continue(()));
            }
        };
        if let Some(changed) = changed {
            let told = format!("{host} is back as another: {changed}");
            if !self.served.accepts_drift {
                bail!("{told}. {SAVED} with the same server and model, --accept-drift with this one");
            }
            self.drifted = true;
            replica.model = Rc::new(model);
            replica.away = None;
            return Ok(watch(Event::Noted { note: told }));
        }
        replica.model = Rc::new(model);
        replica.away = None;
        Ok(watch(Event::Waiting {
            reason: format!("{host} is back"),
        }))
    }

    /// Whether an answer may be kept: one that a server of one's own gave after it changed may not, until it was looked at
    /// again.
    pub(super) fn is_known(&mut self, at: usize, by: &ServedBy, watch: &mut Watcher) -> bool {
        let Some(changed) = self.replicas[at].recognise(by) else {
            return true;
        };
        let is_hosted = self.served.kind.facts().is_hosted;
        let _ = watch(Event::Noted { note: changed.clone() });
        if is_hosted || self.served.accepts_drift {
            self.drifted = true;
            return true;
        }
        self.leave(at, format!("{changed}; it is tried again"));
        false
    }

    /// A server is away: what is bound to it goes to the others.
    pub(super) fn leave(&mut self, at: usize, cause: String) {
        self.replicas[at].leave(cause, Instant::now());
        self.order.free(at);
    }

    /// Tells servers that are away; ends the run where all are, for too long.
    pub(super) fn tell_away(&mut self, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        let all = self.replicas.iter().all(|replica| replica.away.is_some());
        for replica in &mut self.replicas {
            let Some(away) = &mut replica.away else { continue };
            let since = away.since.elapsed();
            if all && since > self.wait_server {
                bail!("{} for {} minutes. {SAVED}", away.cause, since.as_secs().div_ceil(60));
            }
            let next = away.next.saturating_duration_since(Instant::now()).as_secs();
            let reason = format!(
                "{}; away for {} s, asking again in {next} s",
                away.cause,
                since.as_secs()
            );
            // Once between two questions whether it is back.
            let is_news = away.told.replace(away.asked) != Some(away.asked);
            if is_news && watch(Event::Waiting { reason }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// How a run that ends early is gone on with.
pub const SAVED: &str = "What was answered is saved; --resume goes on";
