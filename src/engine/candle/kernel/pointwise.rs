//! Functions of single rows: norms, rotary positions, gated activations.

use super::simd::{self, Kernel, Simd};

/// Calls `whole` for each whole vector of numbers (its first index) and `rest` for what is left, if anything.
macro_rules! vectors {
    ($len:expr, $lanes:expr, |$at:ident| $whole:expr, $rest:expr) => {
        let whole = $len / $lanes * $lanes;
        for $at in (0..whole).step_by($lanes) {
            $whole;
        }
        if whole < $len {
            let $at = whole;
            $rest;
        }
    };
}

/// Root-mean-square norm of rows of `dim` numbers: `x / sqrt(mean(x^2) + eps)`, times `weight` (or `1 + weight` with `add_one`).
///
/// # Panics
/// If the weight has not `dim` numbers.
pub fn rms_norm(x: &[f32], dim: usize, weight: Option<&[f32]>, add_one: bool, eps: f32, out: &mut [f32]) {
    if dim > 0 {
        simd::dispatch(RmsNorm {
            x: Some(x),
            rows: out,
            dim,
            weight: weight.map(|weight| &weight[..dim]),
            bias: if add_one { 1.0 } else { 0.0 },
            eps,
        });
    }
}

/// [`rms_norm`] where it stands.
pub fn rms_norm_in_place(x: &mut [f32], dim: usize, weight: Option<&[f32]>, add_one: bool, eps: f32) {
    if dim > 0 {
        simd::dispatch(RmsNorm {
            x: None,
            rows: x,
            dim,
            weight: weight.map(|weight| &weight[..dim]),
            bias: if add_one { 1.0 } else { 0.0 },
            eps,
        });
    }
}

struct RmsNorm<'a> {
    /// What is normed into `rows`; nothing: they themselves.
    x: Option<&'a [f32]>,
    rows: &'a mut [f32],
    dim: usize,
    weight: Option<&'a [f32]>,
    /// What is added to the weight.
    bias: f32,
    eps: f32,
}

impl Kernel for RmsNorm<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let rows = std::mem::take(&mut self.rows);
        match self.x {
            Some(x) => {
                for (x, out) in x.chunks_exact(self.dim).zip(rows.chunks_exact_mut(self.dim)) {
                    let factor = self.factor(simd, x);
                    vectors!(
                        self.dim,
                        S::LANES,
                        |at| simd.store(self.normed(simd, simd.load(&x[at..]), factor, at), &mut out[at..]),
                        simd.store_part(self.normed(simd, simd.load_part(&x[at..]), factor, at), &mut out[at..])
                    );
                }
            }
            None => {
                for row in rows.chunks_exact_mut(self.dim) {
                    let factor = self.factor(simd, row);
                    vectors!(
                        self.dim,
                        S::LANES,
                        |at| simd.store(self.normed(simd, simd.load(&row[at..]), factor, at), &mut row[at..]),
                        simd.store_part(
                            self.normed(simd, simd.load_part(&row[at..]), factor, at),
                            &mut row[at..]
                        )
                    );
                }
            }
        }
    }
}

impl RmsNorm<'_> {
    /// One over the root of the mean square.
    #[inline(always)]
    fn factor<S: Simd>(&self, simd: S, row: &[f32]) -> S::F {
        let mut squares = simd.splat(0.0);
        vectors!(
            row.len(),
            S::LANES,
            |at| {
                let x = simd.load(&row[at..]);
                squares = simd.fma(x, x, squares);
            },
            {
                let x = simd.load_part(&row[at..]);
                squares = simd.fma(x, x, squares);
            }
        );
        simd.splat((simd.sum(squares) / self.dim as f32 + self.eps).sqrt().recip())
    }

    /// The numbers from `at` on times the factor and the weight.
    #[inline(always)]
    fn normed<S: Simd>(&self, simd: S, x: S::F, factor: S::F, at: usize) -> S::F {
        let normed = simd.mul(x, factor);
        match self.weight {
            None => normed,
            Some(weight) => {
                let weight = &weight[at..];
                let weight = if weight.len() < S::LANES {
                    simd.load_part(weight)
                } else {
                    simd.load(weight)
                };
                simd.mul(normed, simd.add(weight, simd.splat(self.bias)))
            }
        }
    }
}

/// `x += branch * scale`, number by number.
pub fn add_scaled(x: &mut [f32], branch: &[f32], scale: f32) {
    simd::dispatch(AddScaled { x, branch, scale });
}

struct AddScaled<'a> {
    x: &'a mut [f32],
    branch: &'a [f32],
    scale: f32,
}

impl Kernel for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let AddScaled { x, branch, scale } = self;
        let (len, scale) = (x.len().min(branch.len()), simd.splat(scale));
        vectors!(
            len,
            S::LANES,
            |at| {
                let sum = simd.add(simd.load(&x[at..]), simd.mul(simd.load(&branch[at..]), scale));
                simd.store(sum, &mut x[at..]);
            },
            {
                let (x, branch) = (&mut x[at..len], &branch[at..len]);
                let sum = simd.add(simd.load_part(x), simd.mul(simd.load_part(branch), scale));
                simd.store_part(sum, x);
            }
        );
    }
}

/// Rotates all heads of one token in halves: within the first `rotary_dim` dimensions of each head, `x[i]` turns with
/// `x[i + rotary_dim / 2]`. `cos` and `sin` have `rotary_dim / 2` numbers.
///
/// # Panics
/// If `rotary_dim` is more than `head_dim`, or `cos` or `sin` are shorter than half of it.
pub fn rope(x: &mut [f32], cos: &[f32], sin: &[f32], head_dim: usize, rotary_dim: usize) {
    let half = rotary_dim / 2;
    if half > 0 {
        simd::dispatch(Rope {
            x,
            cos: &cos[..half],
            sin: &sin[..half],
            head_dim,
        });
    }
}

struct Rope<'a> {
    x: &'a mut [f32],
    cos: &'a [f32],
    sin: &'a [f32],
    head_dim: usize,
}

impl Kernel for Rope<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (cos, sin, half) = (self.cos, self.sin, self.cos.len());
        for head in self.x.chunks_exact_mut(self.head_dim) {
            let (first, second) = head.split_at_mut(half);
            let second = &mut second[..half];
            vectors!(
                half,
                S::LANES,
                |at| {
                    let (a, b) = (simd.load(&first[at..]), simd.load(&second[at..]));
                    let (cos, sin) = (simd.load(&cos[at..]), simd.load(&sin[at..]));
                    simd.store(simd.sub(simd.mul(a, cos), simd.mul(b, sin)), &mut first[at..]);
                    simd.store(simd.fma(a, sin, simd.mul(b, cos)), &mut second[at..]);
                },
                {
                    let (a, b) = (simd.load_part(&first[at..]), simd.load_part(&second[at..]));
                    let (cos, sin) = (simd.load_part(&cos[at..]), simd.load_part(&sin[at..]));
                    simd.store_part(simd.sub(simd.mul(a, cos), simd.mul(b, sin)), &mut first[at..]);
                    simd.store_part(simd.fma(a, sin, simd.mul(b, cos)), &mut second[at..]);
                }
            );
        }
    }
}

/// `silu(gate) * up` of rows [gate, up] of `hidden` numbers each; `out` has rows of `hidden`.
pub fn silu_mul(gate_up: &[f32], hidden: usize, out: &mut [f32]) {
    gate_rows(Activation::Silu, gate_up, hidden, out);
}

/// `gelu(gate) * up`, the tanh form, of rows [gate, up] of `hidden` numbers each; `out` has rows of `hidden`.
pub fn gelu_tanh_mul(gate_up: &[f32], hidden: usize, out: &mut [f32]) {
    gate_rows(Activation::GeluTanh, gate_up, hidden, out);
}

/// `gelu(gate) * up`, the tanh form, number by number.
pub fn gelu_tanh_times(gate: &[f32], up: &[f32], out: &mut [f32]) {
    simd::dispatch(Gated {
        activation: Activation::GeluTanh,
        gate,
        up,
        out,
    });
}

fn gate_rows(activation: Activation, gate_up: &[f32], hidden: usize, out: &mut [f32]) {
    if hidden > 0 {
        for (row, out) in gate_up.chunks_exact(2 * hidden).zip(out.chunks_exact_mut(hidden)) {
            let (gate, up) = row.split_at(hidden);
            simd::dispatch(Gated {
                activation,
                gate,
                up,
                out,
            });
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Activation {
    Silu,
    GeluTanh,
}

struct Gated<'a> {
    activation: Activation,
    gate: &'a [f32],
    up: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for Gated<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Gated {
            activation,
            gate,
            up,
            out,
        } = self;
        let len = out.len().min(gate.len()).min(up.len());
        vectors!(
            len,
            S::LANES,
            |at| {
                let active = activation.apply(simd, simd.load(&gate[at..]));
                simd.store(simd.mul(active, simd.load(&up[at..])), &mut out[at..]);
            },
            {
                let active = activation.apply(simd, simd.load_part(&gate[at..len]));
                simd.store_part(simd.mul(active, simd.load_part(&up[at..len])), &mut out[at..len]);
            }
        );
    }
}

impl Activation {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, x: S::F) -> S::F {
        match self {
            Activation::Silu => silu(simd, x),
            Activation::GeluTanh => gelu_tanh(simd, x),
        }
    }
}

/// x / (1 + e^-x)
#[inline(always)]
fn silu<S: Simd>(simd: S, x: S::F) -> S::F {
    let exp = simd::exp(simd, simd.sub(simd.splat(0.0), x));
    simd.div(x, simd.add(simd.splat(1.0), exp))
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
#[inline(always)]
fn gelu_tanh<S: Simd>(simd: S, x: S::F) -> S::F {
    let cubic = simd.fma(simd.mul(simd.mul(x, x), x), simd.splat(0.044_715), x);
    let tanh = simd::tanh(simd, simd.mul(simd.splat(0.797_884_6), cubic));
    let half = simd.mul(simd.splat(0.5), x);
    simd.fma(half, tanh, half)
}

/// `cap * tanh(x / cap)` where it stands (Gemma's cap on logits).
pub fn softcap(x: &mut [f32], cap: f32) {
    simd::dispatch(Softcap { x, cap });
}

struct Softcap<'a> {
    x: &'a mut [f32],
    cap: f32,
}

impl Kernel for Softcap<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let cap = simd.splat(self.cap);
        for x in self.x.chunks_mut(S::LANES) {
            let tanh = simd::tanh(simd, simd.div(simd.load_part(x), cap));
            simd.store_part(simd.mul(cap, tanh), x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random;
    use super::*;

    /// Lengths that are and are not whole vectors.
    const LENGTHS: [usize; 5] = [1, 7, 16, 33, 576];

    /// Compares with what is right, within a few units in the last place.
    fn check(name: &str, numbers: &[f32], expected: impl IntoIterator<Item = f64>) {
        for (i, (&x, expected)) in numbers.iter().zip(expected).enumerate() {
            let error = (f64::from(x) - expected).abs();
            assert!(
                error <= 1e-6 * expected.abs() + 1e-7,
                "{name}: {x} is not {expected} at {i}"
            );
        }
    }

    #[test]
    fn norms_are_the_definition_with_and_without_weight() {
        simd::on_each(|level| {
            for dim in LENGTHS {
                let (x, weight) = (random(3 * dim, 1), random(dim, 2));
                for (weight, add_one) in [(None, false), (Some(&weight[..]), false), (Some(&weight[..]), true)] {
                    let mut out = vec![0.0; 3 * dim];
                    rms_norm(&x, dim, weight, add_one, 1e-5, &mut out);
                    let expected = x.chunks(dim).flat_map(|row| {
                        let mean = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / dim as f64;
                        let weight = |i| weight.map_or(1.0, |w: &[f32]| f64::from(w[i]) + f64::from(u8::from(add_one)));
                        row.iter()
                            .enumerate()
                            .map(move |(i, &x)| f64::from(x) / (mean + 1e-5).sqrt() * weight(i))
                    });
                    check(&format!("{level:?}, {dim}"), &out, expected);
                }
            }
        });
    }

    #[test]
    fn a_branch_is_added_in_its_scale() {
        simd::on_each(|level| {
            for len in LENGTHS {
                let (mut x, branch) = (random(len, 7), random(len, 8));
                let expected: Vec<f64> = x
                    .iter()
                    .zip(&branch)
                    .map(|(x, b)| f64::from(*x) + 0.25 * f64::from(*b))
                    .collect();
                add_scaled(&mut x, &branch, 0.25);
                check(&format!("{level:?}, {len}"), &x, expected);
            }
        });
    }

    #[test]
    fn rotation_keeps_dimensions_beyond_the_rotary_ones() {
        simd::on_each(|level| {
            for (head_dim, rotary_dim) in [(16, 16), (24, 12), (64, 64), (96, 24), (256, 256), (8, 0)] {
                let (x, angles) = (random(3 * head_dim, 3), random(rotary_dim / 2, 4));
                let cos: Vec<f32> = angles.iter().map(|angle| angle.cos()).collect();
                let sin: Vec<f32> = angles.iter().map(|angle| angle.sin()).collect();
                let mut out = x.clone();
                rope(&mut out, &cos, &sin, head_dim, rotary_dim);
                let (x, cos, sin, half) = (&x, &cos, &sin, rotary_dim / 2);
                let expected = (0..x.len()).map(|i| {
                    let at = |j: usize| f64::from(x[i - i % head_dim + j]);
                    match i % head_dim {
                        d if d < half => at(d) * f64::from(cos[d]) - at(d + half) * f64::from(sin[d]),
                        d if d < rotary_dim => {
                            at(d) * f64::from(cos[d - half]) + at(d - half) * f64::from(sin[d - half])
                        }
                        d => at(d),
                    }
                });
                check(&format!("{level:?}, {rotary_dim} of {head_dim}"), &out, expected);
            }
        });
    }

    #[test]
    fn gates_are_the_definition_over_their_whole_range() {
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let gelu =
            |x: f64| x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh());
        simd::on_each(|level| {
            for hidden in LENGTHS {
                let gate_up: Vec<f32> = random(4 * hidden, 5).iter().map(|x| x.powi(3) * 100.0).collect();
                let pairs = || {
                    let rows = gate_up.chunks(2 * hidden);
                    rows.flat_map(|row| (0..hidden).map(|i| (f64::from(row[i]), f64::from(row[hidden + i]))))
                };
                let mut out = vec![0.0; 2 * hidden];
                silu_mul(&gate_up, hidden, &mut out);
                check(
                    &format!("silu, {level:?}"),
                    &out,
                    pairs().map(|(gate, up)| silu(gate) * up),
                );
                gelu_tanh_mul(&gate_up, hidden, &mut out);
                for (out, (gate, up)) in out.iter().zip(pairs()) {
                    // 1 + tanh cancels where x is very negative: the error is relative to x there, as in torch.
                    let error = (f64::from(*out) - gelu(gate) * up).abs();
                    assert!(
                        error <= 3e-7 * (gate * up).abs(),
                        "gelu({gate}) * {up} is not {out} on {level:?}"
                    );
                }
                let mut capped = gate_up.clone();
                softcap(&mut capped, 30.0);
                check(
                    "softcap",
                    &capped,
                    gate_up.iter().map(|&x| 30.0 * (f64::from(x) / 30.0).tanh()),
                );
            }
        });
    }

    #[test]
    fn broken_numbers_come_out_broken() {
        simd::on_each(|level| {
            let mut out = [0.0; 3];
            silu_mul(&[f32::NAN, f32::INFINITY, -200.0, 1.0, 1.0, 1.0], 3, &mut out);
            assert!(
                out[0].is_nan() && out[1] == f32::INFINITY && out[2].abs() < 1e-30,
                "silu {out:?} on {level:?}"
            );
            gelu_tanh_times(&[f32::NAN, f32::INFINITY, -200.0], &[1.0; 3], &mut out);
            assert!(
                out[0].is_nan() && out[1] == f32::INFINITY && out[2] == 0.0,
                "gelu {out:?} on {level:?}"
            );
        });
    }
}
