//! The keys of a config.json, with errors that name them.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::Config;
use crate::engine::candle::rope::{Rope, RopeSpec};

/// A configuration's keys, with errors that name them. A key that is null counts as absent.
pub(super) struct Keys<'a> {
    pub(super) map: &'a Map<String, Value>,
}

/// Which kinds of layers a family's rope differs by.
pub(super) const FULL: &str = "full_attention";
pub(super) const SLIDING: &str = "sliding_attention";

impl<'a> Keys<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str> {
        self.get(key)
            .and_then(Value::as_str)
            .with_context(|| format!("it lacks {key}"))
    }

    pub(super) fn count_opt(&self, key: &str) -> Result<Option<usize>> {
        self.get(key)
            .map(|value| {
                let count = value.as_u64().and_then(|n| u32::try_from(n).ok());
                count
                    .map(|n| n as usize)
                    .with_context(|| format!("{key} is {value}, not a count of at most 32 bits"))
            })
            .transpose()
    }

    pub(super) fn count(&self, key: &str) -> Result<usize> {
        self.count_opt(key)?.with_context(|| format!("it lacks {key}"))
    }

    pub(super) fn number_opt(&self, key: &str) -> Result<Option<f64>> {
        self.get(key)
            .map(|value| {
                value
                    .as_f64()
                    .with_context(|| format!("{key} is {value}, not a number"))
            })
            .transpose()
    }

    pub(super) fn number(&self, key: &str) -> Result<f64> {
        self.number_opt(key)?.with_context(|| format!("it lacks {key}"))
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_bool()
                .with_context(|| format!("{key} is {value}, not true or false")),
        }
    }

    /// Refuses a key that is set to anything but "off".
    pub(super) fn refuse(&self, key: &str) -> Result<()> {
        match self.get(key) {
            None | Some(Value::Bool(false)) => Ok(()),
            Some(value) => bail!("{key} {value} is not supported"),
        }
    }

    /// The rope of one kind of layer, from either form of config.json.
    pub(super) fn rope(&self, kind: &str, head_dim: usize, allowed: &[&str]) -> Result<Rope> {
        let parameters = self.get("rope_parameters").and_then(Value::as_object);
        let own = parameters.map(|all| all.get(kind).and_then(Value::as_object).unwrap_or(all));
        let theta = match own {
            Some(own) => own
                .get("rope_theta")
                .and_then(Value::as_f64)
                .with_context(|| format!("rope_parameters lacks rope_theta for {kind}"))?,
            None => self.number_opt("rope_theta")?.unwrap_or(10_000.0),
        };
        let partial = match own
            .and_then(|own| own.get("partial_rotary_factor"))
            .and_then(Value::as_f64)
        {
            Some(partial) => partial,
            None => self.number_opt("partial_rotary_factor")?.unwrap_or(1.0),
        };
        let scaling = own.or_else(|| self.get("rope_scaling").and_then(Value::as_object));
        let original_positions = self.count_opt("original_max_position_embeddings")?;
        let max_positions = self.count_opt("max_position_embeddings")?.unwrap_or(131_072);
        RopeSpec {
            theta,
            scaling,
            head_dim,
            partial,
            max_positions,
            original_positions,
        }
        .build(allowed)
    }

    /// Each layer's kind, where the configuration lists them.
    pub(super) fn layer_types(&self, layers: usize) -> Result<Option<Vec<bool>>> {
        let Some(list) = self.get("layer_types") else {
            return Ok(None);
        };
        let list = list.as_array().context("layer_types is not a list")?;
        ensure!(
            list.len() == layers,
            "layer_types names {} layers of {layers}",
            list.len()
        );
        let is_sliding = |kind: &Value| match kind.as_str() {
            Some(SLIDING) => Ok(true),
            Some(FULL) => Ok(false),
            _ => bail!("unsupported layer type {kind}; known: {FULL}, {SLIDING}"),
        };
        list.iter().map(is_sliding).collect::<Result<_>>().map(Some)
    }

    pub(super) fn set_windows(
        &self,
        config: &mut Config,
        window: Option<usize>,
        by_pattern: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let listed = self.layer_types(config.layers.len())?;
        for (index, layer) in config.layers.iter_mut().enumerate() {
            let sliding = listed
                .as_ref()
                .map_or_else(|| by_pattern(index), |listed| listed[index]);
            layer.window = if sliding { window } else { None };
        }
        Ok(())
    }

    pub(super) fn plain_rope(&self, config: &mut Config, allowed: &[&str]) -> Result<()> {
        config.ropes = vec![self.rope(FULL, config.layers[0].head_dim, allowed)?];
        Ok(())
    }

    /// The older form: `rope_theta` with `rope_scaling` beside it.
    pub(super) fn rope_scaled(&self, head_dim: usize, default_theta: f64) -> Result<Rope> {
        RopeSpec {
            theta: self.number_opt("rope_theta")?.unwrap_or(default_theta),
            scaling: self.get("rope_scaling").and_then(Value::as_object),
            head_dim,
            partial: 1.0,
            max_positions: self.count_opt("max_position_embeddings")?.unwrap_or(131_072),
            original_positions: None,
        }
        .build(&["default", "linear"])
    }
}
