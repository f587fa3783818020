//! Running totals of an engine, told a few times a second.

use serde::{Deserialize, Serialize};

use crate::text::thousands;

/// Lanes that a pulse tells apart; those beyond are in the totals only.
pub const PULSE_LANES: usize = 4;

/// Running totals of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Pulse {
    /// Prompt tokens really computed (a shared prefix counts once).
    pub tokens_in: u64,
    /// Prompt tokens answered for (a shared prefix counts for each prompt).
    pub tokens_in_logical: u64,
    pub tokens_out: u64,
    /// Sequences in the running decode batch.
    pub in_flight: usize,
    /// CPU seconds of the process spent in the model so far, where the platform tells.
    pub model_cpu_s: f64,
    /// What of it belongs to each lane.
    pub lanes: [LanePulse; PULSE_LANES],
    /// What the servers do, where they compute.
    pub remote: Option<Remote>,
}

/// Servers that a pulse tells apart; those beyond are in the totals only.
pub const PULSE_REPLICAS: usize = 8;

/// Running totals of the requests to servers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Remote {
    /// Most requests under way at once, as the servers take them by now.
    pub limit: usize,
    /// Requests that wait for their next try.
    pub waiting: usize,
    pub requests: u64,
    /// Requests sent again because a try failed.
    pub retries: u64,
    /// Refusals for being too busy (429 and the like); no tries.
    pub busy: u64,
    /// Answers that broke off.
    pub cuts: u64,
    /// Answers that became an `error` row.
    pub errors: u64,
    /// Prompt tokens that the servers had in their cache.
    pub cached: u64,
    pub reasoning: u64,
    /// Seconds to the first token: the middle of the last ones, where any streamed.
    pub first_token_s: Option<f32>,
    /// USD so far, where a price or the servers tell.
    pub usd: Option<f64>,
    pub replicas: [ReplicaPulse; PULSE_REPLICAS],
}

/// What the requests to servers came to, over all sittings of a run: for its manifest.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteTotals {
    pub requests: u64,
    pub retries: u64,
    pub busy: u64,
    pub cuts: u64,
    pub errors: u64,
    pub tokens_cached: u64,
    pub tokens_reasoning: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

impl RemoteTotals {
    /// With those of a further sitting. Both exams of a run share their requests, so that each tells all of them.
    #[must_use]
    pub fn with(self, remote: &Remote) -> RemoteTotals {
        RemoteTotals {
            requests: self.requests + remote.requests,
            retries: self.retries + remote.retries,
            busy: self.busy + remote.busy,
            cuts: self.cuts + remote.cuts,
            errors: self.errors + remote.errors,
            tokens_cached: self.tokens_cached + remote.cached,
            tokens_reasoning: self.tokens_reasoning + remote.reasoning,
            usd: self.usd.map_or(remote.usd, |usd| Some(usd + remote.usd.unwrap_or(0.0))),
        }
    }
}

/// Running totals of one server, in the order of the addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplicaPulse {
    /// 0 where there is no such server.
    pub limit: usize,
    pub in_flight: usize,
    pub tokens_out: u64,
    pub busy: u64,
    pub is_away: bool,
}

/// Running totals of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LanePulse {
    /// Prompt tokens really computed.
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Its sequences in the running decode batch.
    pub in_flight: usize,
}

impl Pulse {
    /// What the servers do, part by part, the most needful first; empty where none computes. `left` rows have not come,
    /// `landed` have since the run was begun or resumed.
    pub fn of_servers(&self, (left, landed): (usize, usize), out_per_s: Option<f64>) -> Vec<String> {
        let Some(remote) = &self.remote else { return Vec::new() };
        let queued = left.saturating_sub(self.in_flight + remote.waiting);
        let in_flight = format!("in flight {} of {}", thousands(self.in_flight), thousands(remote.limit));
        let mut parts = vec![in_flight, format!("queued {}", thousands(queued))];
        let mut add = |part: Option<String>| parts.extend(part);
        let count = |number: u64, words: &str| (number > 0).then(|| format!("{words} {}", thousands(number as usize)));
        add(count(remote.waiting as u64, "waiting to retry"));
        add(out_per_s.map(|rate| format!("{} tok/s out", thousands(rate as usize))));
        add(count(remote.busy, "429:"));
        add(count(remote.cuts, "cut"));
        add(count(remote.errors, "errors"));
        add(remote.usd.map(|usd| {
            let total = usd + usd / landed.max(1) as f64 * left as f64;
            format!("${usd:.2} of ~${total:.2}")
        }));
        add(count(remote.retries, "again"));
        let cached = 100.0 * remote.cached as f64 / self.tokens_in.max(1) as f64;
        add((remote.cached > 0).then(|| format!("{cached:.0} % cached")));
        add(count(remote.reasoning, "thinking tokens"));
        add(remote
            .first_token_s
            .map(|seconds| format!("first token {seconds:.1} s")));
        parts
    }

    /// Each server's own line, where there are several: `2: in flight 60 of 64 · 1,204 tokens out · 429: 1`.
    pub fn by_server(&self) -> Vec<String> {
        let replicas = self.remote.map(|remote| remote.replicas).unwrap_or_default();
        let known = replicas.iter().enumerate().filter(|(_, replica)| replica.limit > 0);
        let lines = known.map(|(at, replica)| {
            let state = if replica.is_away { "away, asked again · " } else { "" };
            let busy = if replica.busy > 0 {
                format!(" · 429: {}", replica.busy)
            } else {
                String::new()
            };
            format!(
                "{}: {state}in flight {} of {} · {} tokens out{busy}",
                at + 1,
                replica.in_flight,
                replica.limit,
                thousands(replica.tokens_out as usize)
            )
        });
        let lines: Vec<String> = lines.collect();
        if lines.len() > 1 { lines } else { Vec::new() }
    }

    /// Counts prompt tokens computed for a lane.
    pub fn count_in(&mut self, lane: usize, tokens: u64) {
        self.tokens_in += tokens;
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.tokens_in += tokens;
        }
    }

    /// Counts tokens generated for a lane.
    pub fn count_out(&mut self, lane: usize, tokens: u64) {
        self.tokens_out += tokens;
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.tokens_out += tokens;
        }
    }

    /// Takes in the lanes of the sequences that are under way.
    pub fn set_in_flight(&mut self, lanes: impl IntoIterator<Item = usize>) {
        self.in_flight = 0;
        self.lanes.iter_mut().for_each(|lane| lane.in_flight = 0);
        for lane in lanes {
            self.in_flight += 1;
            if let Some(lane) = self.lanes.get_mut(lane) {
                lane.in_flight += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_servers_leaves_out_what_is_nothing() {
        let mut pulse = Pulse::default();
        assert!(pulse.of_servers((10, 0), None).is_empty() && pulse.by_server().is_empty());
        pulse.in_flight = 118;
        pulse.tokens_in = 1000;
        let mut remote = Remote {
            limit: 128,
            usd: Some(1.84),
            cached: 710,
            ..Remote::default()
        };
        remote.replicas[0].limit = 64;
        pulse.remote = Some(remote);
        let line = pulse.of_servers((9_530, 3_334), Some(2_140.4)).join(" · ");
        assert_eq!(
            line,
            "in flight 118 of 128 · queued 9,412 · 2,140 tok/s out · $1.84 of ~$7.10 · 71 % cached"
        );
        assert!(pulse.by_server().is_empty(), "one server has no line of its own");
    }

    #[test]
    fn a_run_s_totals_grow_with_each_sitting() {
        let remote = Remote {
            requests: 5,
            usd: Some(0.5),
            ..Remote::default()
        };
        let totals = RemoteTotals::default().with(&remote).with(&remote);
        assert_eq!((totals.requests, totals.usd), (10, Some(1.0)));
        assert_eq!(totals.with(&Remote::default()).usd, Some(1.0));
    }
}
