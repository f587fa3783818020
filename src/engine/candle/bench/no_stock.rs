//! In place of candle-transformers' own models, in a build without them.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Peer;
use crate::engine::Request;
use crate::engine::candle::CandleEngine;

pub(super) fn measure(_: &mut CandleEngine, _: &[Request], _: Duration) -> Result<Peer> {
    check_built()?;
    bail!("there is no stock model")
}

/// Says how to get the stock models, where this build lacks them.
pub fn check_built() -> Result<()> {
    bail!(
        "--stock: this build lacks candle-transformers' own models; `cargo install --path . --features stock` has them"
    )
}
