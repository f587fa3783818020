//! Memory of this process, where the platform tells.

use serde::Serialize;

use crate::engine::candle::CandleEngine;

/// What a measurement needed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Memory {
    /// The weights as they are computed with.
    pub weights_bytes: u64,
    /// Most keys and values held at any time.
    pub kv_bytes: u64,
    /// Most anonymous memory seen, weights and keys and values included; files mapped into memory are not.
    pub peak_anonymous_bytes: Option<u64>,
    /// `peak_anonymous_bytes` over the sum of the first two.
    pub peak_over_need: Option<f64>,
    /// Most memory seen of files mapped into the process, the weights' own file among them.
    pub peak_file_bytes: Option<u64>,
    /// Most memory ever resident, mapped files included.
    pub peak_resident_bytes: Option<u64>,
}

/// Watches the process's memory: the system keeps no peak of the anonymous part, so it is looked at again and again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauge {
    peak_anonymous: Option<u64>,
    peak_file: Option<u64>,
    kv: u64,
}

impl Gauge {
    /// Looks once.
    pub fn look(&mut self) {
        self.peak_anonymous = self.peak_anonymous.max(status_bytes("RssAnon:"));
        self.peak_file = self.peak_file.max(status_bytes("RssFile:"));
    }

    /// Takes in what the engine's last run held.
    pub fn add_run(&mut self, engine: &CandleEngine) {
        self.kv = self.kv.max(engine.last.kv_bytes);
        self.look();
    }

    pub fn read(&self, engine: &CandleEngine) -> Memory {
        let weights = engine.model.weight_bytes();
        let need = (weights + self.kv) as f64;
        Memory {
            weights_bytes: weights,
            kv_bytes: self.kv,
            peak_anonymous_bytes: self.peak_anonymous,
            peak_over_need: self.peak_anonymous.map(|peak| peak as f64 / need),
            peak_file_bytes: self.peak_file,
            peak_resident_bytes: status_bytes("VmHWM:"),
        }
    }
}

/// A figure of this process's status, which Linux gives in KiB.
fn status_bytes(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
