//! Whole behaviour, in one binary.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // clippy knows test functions, not the helpers that they share

mod browsing;
mod catalogue;
mod chats;
mod comparing;
mod exporting;
mod extraction;
mod figures;
mod floors;
mod golden_stats;
mod handing_on;
mod harness_files;
mod harness_kinds;
mod home;
mod hostile;
mod hub;
mod import;
mod live;
mod memory;
mod own_sets;
mod program;
mod prompts;
mod reports;
mod run_cases;
mod runs;
mod safety;
mod scoring;
mod screen_cases;
mod screens;
mod served;
mod shared;
mod sitting;
mod studies;
mod tiny;
mod tokens;
mod untrusted;

use shared::{cases, shared, shared_path};
