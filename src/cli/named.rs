//! What a person names a run by, in one place for every command: a path, an id or its unique beginning, `last`, `@BASELINE`.

use anyhow::Result;

use super::args::TraceArgs;
use super::traces;
use crate::trace::Trace;

/// Opens the traces that a name stands for.
pub(super) fn open(name: &str) -> Result<Vec<Trace>> {
    traces::open_stored(&TraceArgs {
        paths: vec![name.into()],
        rule: None,
        map: Vec::new(),
        gold_base: None,
    })
}
