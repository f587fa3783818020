//! markbook: run language models through MMLU and MMLU-Pro, and read every answer they gave.
//!
//! Text goes down one road; everything else looks at what it left behind.
//!
//! ```text
//! benchmark ─▶ prompt ─▶ engine ─▶ extract ─▶ record ─▶ store ─▶ stats · compare · filter · export · tui
//! import (other tools' traces) ──────────────────────────▲
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
pub mod hub;
pub mod import;
pub mod joined;
pub mod json;
pub mod notes;
pub mod parquet;
pub mod record;
pub mod rescore;
pub mod run;
pub mod stats;
pub mod store;
pub mod text;
pub mod trace;
pub mod tui;
