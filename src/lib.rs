//! markbook: run language models through MMLU and MMLU-Pro, and read every answer they gave.
//!
//! Text goes down one road; everything else looks at what it left behind.
//!
//! ```text
//! benchmark ─▶ prompt ─▶ engine ─▶ extract ─▶ record ─▶ store ─▶ stats · compare · filter · export · tui
//! import (other tools' traces) ──────────────────────────▲
//! ```
//!
//! # Floors
//!
//! A module may use any lower floor, and no other module of its own (`tests/integration/floors.rs` holds it to that).
//!
//! ```text
//! 9  cli
//! 8  tui
//! 7  bench check
//! 6  export filter import rescore run
//! 5  benchmark compare diagnose joined store
//! 4  notes parquet stats
//! 3  engine trace
//! 2  hub jinja record
//! 1  extract files
//! 0  guard json text
//! ```

pub mod bench;
pub mod benchmark;
pub mod check;
pub mod cli;
pub mod compare;
pub mod diagnose;
pub mod engine;
pub mod export;
pub mod extract;
pub mod files;
pub mod filter;
pub mod guard;
pub mod hub;
pub mod import;
pub mod jinja;
pub mod joined;
pub mod json;
pub mod notes;
pub mod parquet;
pub mod record;
pub mod rescore;
mod rows;
pub mod run;
pub mod stats;
pub mod stop;
pub mod store;
pub mod text;
pub mod trace;
pub mod tui;

#[cfg(test)]
#[path = "../tests/integration/shared.rs"]
#[allow(dead_code)] // the tests inside the crate use a part of it
mod shared;
