//! markbook: run language models through MMLU and MMLU-Pro, and read every answer they gave.
//!
//! This page is for who carries on: the road of a question, who may use whom, what runs beside what, what lies on disk, and
//! where to go to add something.
//!
//! # The road of a question
//!
//! Text goes down one road; everything else looks at what it left behind.
//!
//! ```text
//! benchmark ─▶ prompt ─▶ engine ─▶ extract ─▶ record ─▶ store ─▶ stats · compare · filter · export · tui
//! import (other tools' traces) ──────────────────────────▲
//! ```
//!
//! 1. [`benchmark`] reads a set into questions, puts each into words by a style, to the byte, and takes the harness's hashes.
//! 2. [`run`] asks an engine for the answers that are missing, lane by lane (a lane is an exam), each prompt made when its
//!    turn has come.
//! 3. [`engine`] answers in any order: our own decoder over candle's tensors, a server (`remote`), or canned answers
//!    (`scripted`). [`engine::open`] is the only door; nothing outside knows candle or HTTP.
//! 4. [`extract`] reads the letter by a rule and says where it stood; scored letters are compared by `argmax`.
//! 5. [`record`] is one answer; [`store`] keeps it in a run folder's journal at once, and as parquet when all are there.
//! 6. A [`trace`] is what looks at answers share: light columns in memory ([`trace::Rows`]), texts on demand
//!    ([`trace::Texts`]). [`import`] gives the same view of other tools' files, so nothing above can tell them apart.
//! 7. [`stats`] counts (nothing else does), [`filter`] selects, [`diagnose`] says why a row is unreadable, [`compare`] pairs two
//!    runs, [`check`] looks for what is wrong, [`export`] writes a slice, [`tui`] and [`cli`] show it.
//! 8. A [`card`] says all that moved a number, hashed in four parts; the [`catalogue`] is an index of runs and traces by their
//!    cards, and a [`leaderboard`] ranks those of one measurement.
//!
//! # Floors
//!
//! A module may use any lower floor, and no other module of its own (`tests/integration/floors.rs` holds it to that).
//!
//! ```text
//! 12  cli
//! 11  tui
//! 10  leaderboard report
//! 9  baseline bench catalogue charts check export published release
//! 8  card filter import rescore run study suspects
//! 7  benchmark compare diagnose joined labels store
//! 6  notes parquet stats
//! 5  trace
//! 4  manifest
//! 3  engine
//! 2  hub jinja record
//! 1  extract figure files table
//! 0  guard json stop text
//! ```
//!
//! # What runs beside what
//!
//! - The screen's loop (`tui`): one `Event` in, state changed, an effect out; then one frame is drawn. It never waits.
//! - The worker (`tui::worker`): selects, sorts, searches, counts and fetches texts; answers come back as events.
//! - The engine's thread (`cli::sit`): `run::execute`, a plain function. It tells `Update`s over a channel and asks after each
//!   whether to go on; `--plain` hears the same ones without a thread.
//! - A server's requests are futures on a runtime of that thread; computing threads belong to the decoder alone.
//! - The hub's transfers and the watcher of signals (`stop`) have threads of their own, and a run that begins is
//!   entered into the catalogue on one (`cli::entering`). Nothing else starts one.
//!
//! # What lies on disk
//!
//! - A run folder: `run.json` ([`manifest::Manifest`], whatever moves a score), `journal.jsonl` while it runs (one finished answer
//!   a line), `records.parquet` when done (written aside, renamed; the journal goes last). Column names are the README's;
//!   fields are added, never renamed, and old manifests are read.
//! - The data directory (`$MARKBOOK_HOME`, else the platform's): `runs/`, `models/`, `remembered.json` (what was opened lately,
//!   the commands of runs, the last view), `filters.json` (filters with names), `notes/` (marks and notes by a trace's
//!   fingerprint), `cache/` (indices of large files, diagnoses, roundings). Each cache file carries a layout, the program that
//!   wrote it, the identity of what it was made from and a sum over its bytes ([`files`]); what does not fit is made anew, so
//!   there is nothing to migrate and all of `cache/` may be deleted.
//! - `catalogue.db` there ([`catalogue`]): SQLite, made anew from run folders at any time; a change of its tables is one more
//!   text in `catalogue/schema.rs`.
//!
//! # To add …
//!
//! | a … | go to |
//! |---|---|
//! | prompt style | one entry of `STYLES` in `benchmark/mmlu.rs`, `mmlu_pro.rs` or `custom.rs`; a README row |
//! | extraction rule | one entry of `ALL` in `extract/named.rs`; a README row |
//! | benchmark | `benchmark/NAME.rs`, one line in `benchmark::ALL` |
//! | format to open | `import/NAME.rs` (`sniff` and a `Layout`), one line in `import/formats.rs`, a README row |
//! | format to write | `export/NAME.rs`, one line in `export::ALL` |
//! | filter word | `WORDS` and `Test` in `filter/mod.rs`, its reading in `filter/parse.rs`, what it holds of in `filter/select.rs` |
//! | key | one row of `tui/keymap/table.rs`: help, key line and README follow from it |
//! | screen | a type under `tui/` with an `impl Screen`, its column `On` in `tui/keymap/`, the place that pushes it |
//! | card field | one entry of `ALL` in `card/fields.rs`: where the manifest, the harness, Inspect or the rows tell it |
//! | record column | a line of `columns!` in `record.rs`, its value in `run/answer.rs`; the README row that the test of the table prints |
//! | statistic | `stats/sum.rs`, so that every place that shows it has the same digits |
//! | model family | `FAMILIES` in `engine/candle/config/mod.rs`, its function in `families.rs`; switches in `decoder.rs` where its block differs; a tiny reference model proves it (`bench --check-models`) |
//! | kind of server | one entry of `ALL` in `engine/remote/kinds.rs`; what the handshake cannot find out by itself in `handshake.rs` |
//! | tab on the first line | one entry of `TABS` in `tui/app/tabs.rs` |
//! | engine | a module of `engine/` with an `impl Engine`, a variant of `engine::Spec`, one of `engine::Description` |

pub mod baseline;
pub mod bench;
pub mod benchmark;
pub mod card;
pub mod catalogue;
pub mod charts;
pub mod check;
pub mod cli;
pub mod compare;
pub mod diagnose;
pub mod engine;
pub mod export;
pub mod extract;
pub mod figure;
pub mod files;
pub mod filter;
pub mod guard;
pub mod hub;
pub mod import;
pub mod jinja;
pub mod joined;
pub mod json;
pub mod labels;
pub mod leaderboard;
pub mod manifest;
pub mod notes;
pub mod parquet;
pub mod published;
pub mod record;
pub mod release;
pub mod report;
pub mod rescore;
mod rows;
pub mod run;
pub mod stats;
pub mod stop;
pub mod store;
pub mod study;
pub mod suspects;
pub mod table;
pub mod text;
pub mod trace;
pub mod tui;

#[cfg(test)]
#[path = "../tests/integration/shared.rs"]
#[allow(dead_code)] // the tests inside the crate use a part of it
mod shared;
