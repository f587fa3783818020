//! Rotary position embedding: the frequencies of each kind of scaling, and the cosine and sine of a position.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

/// How one kind of layer turns its queries and keys: dimension `i` together with `i + dims / 2`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Leading dimensions of a head that take part.
    pub dims: usize,
    /// Angle per position of each of the `dims / 2` pairs.
    pub frequencies: Vec<f32>,
    /// Factor on cosine and sine (longrope), else 1.
    pub magnitude: f32,
    /// Longest sequence these frequencies are right for, where that is less than the model's context (longrope).
    pub longest: Option<usize>,
}

/// More dimensions than a head of any model has.
pub const LARGEST_HEAD: usize = 4096;

impl Rope {
    /// Plain frequencies: theta^(-2i/dims).
    pub fn plain(theta: f64, dims: usize) -> Rope {
        Rope {
            dims,
            frequencies: plain_frequencies(theta, dims),
            magnitude: 1.0,
            longest: None,
        }
    }

    /// Divides each frequency by its factor (`rope_freqs.weight` of a GGUF file).
    pub fn divide(&mut self, factors: &[f32]) -> Result<()> {
        let pairs = self.frequencies.len();
        ensure!(
            factors.len() == pairs,
            "rope has {pairs} frequencies, but there are {} factors",
            factors.len()
        );
        self.frequencies
            .iter_mut()
            .zip(factors)
            .for_each(|(frequency, factor)| *frequency /= factor);
        Ok(())
    }

    /// Writes cosine and sine of every pair at `position`.
    pub fn write(&self, position: usize, cos: &mut [f32], sin: &mut [f32]) {
        for (pair, frequency) in self.frequencies.iter().enumerate() {
            // The angle is rounded to f32 as the reference rounds it; its cosine is then exact to the last bit or so.
            let angle = f64::from(position as f32 * frequency);
            cos[pair] = angle.cos() as f32 * self.magnitude;
            sin[pair] = angle.sin() as f32 * self.magnitude;
        }
    }
}

fn plain_frequencies(theta: f64, dims: usize) -> Vec<f32> {
    (0..dims / 2)
        .map(|pair| (1.0 / theta.powf((2 * pair) as f64 / dims as f64)) as f32)
        .collect()
}

/// What a configuration says about rope, whichever form it was written in.
#[derive(Debug, Clone)]
pub struct RopeSpec<'a> {
    pub theta: f64,
    /// `rope_scaling`, or the entry of `rope_parameters`.
    pub scaling: Option<&'a Map<String, Value>>,
    pub head_dim: usize,
    /// Share of the head's dimensions that turn.
    pub partial: f64,
    pub max_positions: usize,
    /// The configuration's own `original_max_position_embeddings` beside the scaling.
    pub original_positions: Option<usize>,
}

impl RopeSpec<'_> {
    /// The frequencies, for a kind of scaling among `allowed`.
    pub fn build(&self, allowed: &[&str]) -> Result<Rope> {
        let kind = self.kind()?;
        if !allowed.contains(&kind) {
            bail!(
                "unsupported rope type {kind:?}; this family is proved with: {}",
                allowed.join(", ")
            );
        }
        ensure!(
            self.head_dim <= LARGEST_HEAD,
            "a head has {} dimensions (head_dim, or hidden_size over num_attention_heads); at most {LARGEST_HEAD} are read",
            self.head_dim
        );
        ensure!(
            self.theta > 1.0 && self.theta.is_finite(),
            "rope_theta {} is out of range",
            self.theta
        );
        ensure!(
            self.partial > 0.0 && self.partial <= 1.0,
            "partial_rotary_factor {} is not in (0, 1]",
            self.partial
        );
        let dims = (self.head_dim as f64 * self.partial) as usize;
        ensure!(
            dims >= 2 && dims.is_multiple_of(2),
            "rope over {dims} dimensions of a head is not possible"
        );
        let mut rope = Rope::plain(self.theta, dims);
        match kind {
            "default" => {}
            "linear" => {
                let factor = self.number("factor")?;
                rope.frequencies
                    .iter_mut()
                    .for_each(|frequency| *frequency = (f64::from(*frequency) / factor) as f32);
            }
            "llama3" => self.scale_as_llama3(&mut rope)?,
            "longrope" => self.scale_as_longrope(&mut rope)?,
            "proportional" => rope = self.proportional(),
            other => bail!("unsupported rope type {other:?}"),
        }
        Ok(rope)
    }

    fn kind(&self) -> Result<&str> {
        let Some(scaling) = self.scaling else {
            return Ok("default");
        };
        match scaling.get("rope_type").or_else(|| scaling.get("type")) {
            // The first name of longrope, in early Phi-3 files.
            Some(Value::String(kind)) if kind == "su" => Ok("longrope"),
            Some(Value::String(kind)) => Ok(kind),
            Some(other) => bail!("the rope type is {other}, not a name"),
            None if scaling.contains_key("factor") => bail!("rope scaling names no type"),
            None => Ok("default"),
        }
    }

    fn number(&self, key: &str) -> Result<f64> {
        let value = self
            .scaling
            .and_then(|scaling| scaling.get(key))
            .and_then(Value::as_f64);
        let value = value.with_context(|| format!("rope scaling lacks {key}"))?;
        ensure!(value > 0.0 && value.is_finite(), "rope scaling has {key} {value}");
        Ok(value)
    }

    /// Long waves are slowed by `factor`, short ones kept, with a slope between.
    fn scale_as_llama3(&self, rope: &mut Rope) -> Result<()> {
        let (factor, low, high) = (
            self.number("factor")?,
            self.number("low_freq_factor")?,
            self.number("high_freq_factor")?,
        );
        let original = self.number("original_max_position_embeddings")?;
        for frequency in &mut rope.frequencies {
            let f = f64::from(*frequency);
            let wave = 2.0 * std::f64::consts::PI / f;
            let scaled = if wave < original / high {
                f
            } else if wave > original / low {
                f / factor
            } else {
                let smooth = (original / wave - low) / (high - low);
                (1.0 - smooth) * f / factor + smooth * f
            };
            *frequency = scaled as f32;
        }
        Ok(())
    }

    /// Divides by the short factors, which hold up to the original length; longer sequences would need the long ones,
    /// and cached keys would go stale where a sequence crosses over, so the context ends there.
    fn scale_as_longrope(&self, rope: &mut Rope) -> Result<()> {
        let original = match self.original_positions {
            Some(positions) => positions as f64,
            None => self.number("original_max_position_embeddings")?,
        };
        let factors = self
            .scaling
            .and_then(|scaling| scaling.get("short_factor"))
            .and_then(Value::as_array);
        let factors = factors.context("rope scaling lacks short_factor")?;
        let factors: Option<Vec<f32>> = factors.iter().map(|factor| factor.as_f64().map(|f| f as f32)).collect();
        rope.divide(&factors.context("short_factor holds something that is not a number")?)?;
        let stretch = self.max_positions as f64 / original;
        rope.magnitude = match self
            .scaling
            .and_then(|scaling| scaling.get("attention_factor"))
            .and_then(Value::as_f64)
        {
            Some(given) => given as f32,
            None if stretch > 1.0 => (1.0 + stretch.ln() / original.ln()).sqrt() as f32,
            None => 1.0,
        };
        rope.longest = Some(original as usize);
        Ok(())
    }

    /// Exponents over the whole head; the pairs beyond the partial share stand still.
    fn proportional(&self) -> Rope {
        let mut rope = Rope::plain(self.theta, self.head_dim);
        let turning = (self.partial * self.head_dim as f64 / 2.0) as usize;
        rope.frequencies
            .iter_mut()
            .skip(turning)
            .for_each(|frequency| *frequency = 0.0);
        rope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(scaling: &Value) -> Result<Rope> {
        RopeSpec {
            theta: 10_000.0,
            scaling: scaling.as_object(),
            head_dim: 8,
            partial: 1.0,
            max_positions: 512,
            original_positions: None,
        }
        .build(&["default", "linear"])
    }

    #[test]
    fn an_unknown_kind_of_scaling_is_refused_with_the_known_ones() {
        let error = spec(&serde_json::json!({"rope_type": "yarn", "factor": 4.0}))
            .unwrap_err()
            .to_string();
        assert!(error.contains("yarn") && error.contains("default, linear"), "{error}");
        assert!(spec(&serde_json::json!({"factor": 4.0})).is_err());
    }

    #[test]
    fn linear_scaling_slows_every_pair() {
        let plain = spec(&Value::Null).unwrap();
        let slow = spec(&serde_json::json!({"type": "linear", "factor": 4.0})).unwrap();
        for (a, b) in plain.frequencies.iter().zip(&slow.frequencies) {
            assert!((a / b - 4.0).abs() < 1e-5);
        }
    }
}
