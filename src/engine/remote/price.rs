//! What answers cost, where a price is known.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::record::Usage;

/// USD a million tokens. None is built in: prices go stale.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Of a prompt.
    pub input: f64,
    /// Of a prompt's tokens that were in the server's cache.
    pub cached: f64,
    /// Of a completion, thinking included.
    pub output: f64,
}

impl Price {
    /// USD of an answer.
    pub fn of(self, usage: Usage) -> f64 {
        let cached = usage.cached.unwrap_or(0);
        let fresh = usage.prompt.unwrap_or(0).saturating_sub(cached);
        let sum = fresh as f64 * self.input + cached as f64 * self.cached;
        (sum + usage.completion.unwrap_or(0) as f64 * self.output) / 1e6
    }
}

impl FromStr for Price {
    type Err = anyhow::Error;

    /// `in=2,out=8,cached=0.5`, or `2,8`; without a price of its own what is cached costs as the rest.
    fn from_str(text: &str) -> Result<Price> {
        let form = "a price is written in=USD,out=USD[,cached=USD], each of a million tokens";
        let (mut input, mut cached, mut output) = (None, None, None);
        for (at, part) in text.split(',').enumerate() {
            let (name, number) = part.split_once('=').unwrap_or((["in", "out", ""][at.min(2)], part));
            let number: f64 = number.trim().parse().ok().context(form)?;
            ensure!(number.is_finite() && number >= 0.0, "{form}");
            *(match name.trim() {
                "in" => &mut input,
                "cached" => &mut cached,
                "out" => &mut output,
                _ => bail!("{form}"),
            }) = Some(number);
        }
        let (input, output) = input.zip(output).context(form)?;
        Ok(Price {
            input,
            cached: cached.unwrap_or(input),
            output,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_exact_to_the_cent_and_what_is_cached_costs_its_own() {
        let price: Price = "in=2,cached=0.5,out=8".parse().unwrap();
        let usage = Usage {
            prompt: Some(1_500_000),
            cached: Some(500_000),
            completion: Some(250_000),
            reasoning: Some(100_000),
        };
        assert_eq!(price.of(usage), 2.0 + 0.25 + 2.0);
        assert_eq!("2,8".parse::<Price>().unwrap().cached, 2.0);
        for wrong in ["2", "in=2", "in=x,out=1", "in=1,out=-1", "up=1,out=2", "1,2,3"] {
            assert!(wrong.parse::<Price>().is_err(), "{wrong}");
        }
    }
}
