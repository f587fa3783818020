use super::super::{Threads, random, simd};
use super::{AttentionShape, Job, KeyValues, attend_all};

const SHAPE: AttentionShape = AttentionShape {
    heads: 6,
    kv_heads: 2,
    head_dim: 64,
    scale: 0.125,
    window: None,
    softcap: None,
};

/// Causal attention of one sequence.
fn attend(queries: &[f32], start: usize, segments: &[KeyValues], shape: &AttentionShape, out: &mut [f32]) {
    let mut jobs = [Job {
        queries,
        start,
        segments: segments.to_vec(),
        out,
    }];
    attend_all(&mut jobs, shape, &Threads::new(1));
}

/// A sequence: queries of all its positions, keys and values.
struct Sequence {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

fn sequence(shape: &AttentionShape, len: usize, seed: u64) -> Sequence {
    let spread = |x: Vec<f32>| x.iter().map(|x| x * 3.0).collect();
    Sequence {
        queries: spread(random(len * shape.heads * shape.head_dim, seed)),
        keys: random(len * shape.width(), seed + 1),
        values: random(len * shape.width(), seed + 2),
    }
}

impl Sequence {
    /// Its keys and values cut at these positions.
    fn segments(&self, shape: &AttentionShape, cuts: &[usize]) -> Vec<KeyValues<'_>> {
        let len = self.keys.len() / shape.width();
        let ends = cuts.iter().copied().chain([len]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        starts
            .zip(ends)
            .map(|(start, end)| {
                let range = start * shape.width()..end * shape.width();
                KeyValues {
                    keys: &self.keys[range.clone()],
                    values: &self.values[range],
                }
            })
            .collect()
    }

    fn queries(&self, shape: &AttentionShape, from: usize, to: usize) -> &[f32] {
        &self.queries[from * shape.heads * shape.head_dim..to * shape.heads * shape.head_dim]
    }

    /// The result of positions `from..`, in one chunk.
    fn attend(&self, shape: &AttentionShape, from: usize, cuts: &[usize]) -> Vec<f32> {
        let queries = self.queries(shape, from, self.keys.len() / shape.width());
        let mut out = vec![0.0; queries.len()];
        attend(queries, from, &self.segments(shape, cuts), shape, &mut out);
        out
    }

    /// The result by the definition, in f64.
    fn definition(&self, shape: &AttentionShape) -> Vec<f32> {
        let AttentionShape { heads, head_dim, .. } = *shape;
        let mut out = Vec::new();
        for (position, queries) in self.queries.chunks_exact(heads * head_dim).enumerate() {
            let first = shape.window.map_or(0, |window| (position + 1).saturating_sub(window));
            for (head, query) in queries.chunks_exact(head_dim).enumerate() {
                let at = |key: usize| key * shape.width() + head / shape.group() * head_dim;
                let weights: Vec<f64> = (first..=position)
                    .map(|key| {
                        let key = &self.keys[at(key)..][..head_dim];
                        let dot: f64 = query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum();
                        let score = dot * f64::from(shape.scale);
                        shape
                            .softcap
                            .map_or(score, |cap| f64::from(cap) * (score / f64::from(cap)).tanh())
                            .exp()
                    })
                    .collect();
                let total: f64 = weights.iter().sum();
                out.extend((0..head_dim).map(|d| {
                    let keys = (first..=position).zip(&weights);
                    let sum: f64 = keys
                        .map(|(key, weight)| weight * f64::from(self.values[at(key) + d]))
                        .sum();
                    (sum / total) as f32
                }));
            }
        }
        out
    }
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn attention_is_the_definition_on_every_instruction_set() {
    let shapes = [
        SHAPE,
        AttentionShape {
            heads: 1,
            kv_heads: 1,
            head_dim: 16,
            ..SHAPE
        },
        AttentionShape {
            heads: 3,
            kv_heads: 3,
            head_dim: 24,
            window: Some(16),
            ..SHAPE
        },
        AttentionShape {
            heads: 4,
            kv_heads: 1,
            head_dim: 80,
            softcap: Some(5.0),
            ..SHAPE
        },
        AttentionShape {
            heads: 16,
            kv_heads: 1,
            head_dim: 256,
            scale: 0.0625,
            window: Some(70),
            ..SHAPE
        },
        AttentionShape {
            heads: 2,
            kv_heads: 1,
            head_dim: 18,
            window: Some(1),
            ..SHAPE
        },
        AttentionShape {
            heads: 2,
            kv_heads: 1,
            head_dim: 600,
            scale: 0.04,
            window: Some(usize::MAX),
            ..SHAPE
        },
    ];
    for shape in shapes {
        let sequence = sequence(&shape, 150, 1);
        let expected = sequence.definition(&shape);
        simd::on_each(|level| {
            let difference = largest_difference(&sequence.attend(&shape, 0, &[33]), &expected);
            assert!(difference < 3e-6, "{difference} on {level:?}: {shape:?}");
        });
    }
}

#[test]
fn where_keys_are_split_into_segments_does_not_show() {
    for window in [None, Some(16), Some(100)] {
        let shape = AttentionShape { window, ..SHAPE };
        let sequence = sequence(&shape, 200, 2);
        let whole = sequence.attend(&shape, 0, &[]);
        for cut in [0, 1, 31, 32, 33, 63, 64, 65, 128, 199, 200] {
            assert_eq!(
                sequence.attend(&shape, 0, &[cut]),
                whole,
                "cut at {cut}, window {window:?}"
            );
        }
        assert_eq!(
            sequence.attend(&shape, 0, &[0, 5, 5, 63, 66, 190]),
            whole,
            "window {window:?}"
        );
    }
}

#[test]
fn chunks_and_single_steps_give_the_bits_of_one_prefill() {
    for window in [None, Some(16), Some(100)] {
        let shape = AttentionShape { window, ..SHAPE };
        let sequence = sequence(&shape, 200, 3);
        let width = shape.heads * shape.head_dim;
        let whole = sequence.attend(&shape, 0, &[]);
        for start in [1, 7, 63, 64, 100, 199] {
            assert_eq!(
                sequence.attend(&shape, start, &[start]),
                whole[start * width..],
                "second chunk at {start}"
            );
        }
        for position in 0..200 {
            let mut out = vec![0.0; width];
            let queries = sequence.queries(&shape, position, position + 1);
            let known = sequence.segments(&shape, &[position + 1])[0];
            attend(queries, position, &[known], &shape, &mut out);
            assert_eq!(
                out,
                whole[position * width..][..width],
                "step at {position}, window {window:?}"
            );
        }
    }
}

#[test]
fn company_and_threads_do_not_show() {
    for (window, softcap) in [(None, None), (Some(40), Some(20.0))] {
        let shape = AttentionShape {
            window,
            softcap,
            ..SHAPE
        };
        let shot = sequence(&shape, 90, 4);
        let prompts = [sequence(&shape, 30, 5), sequence(&shape, 70, 6)];
        let own: Vec<Sequence> = (0..12).map(|i| sequence(&shape, 1 + 13 * i, 10 + i as u64)).collect();
        let segments = |i: usize| {
            let all = [&shot, &prompts[i % 2], &own[i]];
            let depth = [0, 1, 2][i % 3];
            all[depth..]
                .iter()
                .flat_map(|sequence| sequence.segments(&shape, &[]))
                .collect::<Vec<_>>()
        };
        let start = |i: usize| {
            let keys: usize = segments(i).iter().map(|s| s.keys.len() / shape.width()).sum();
            keys - own[i].queries.len() / (shape.heads * shape.head_dim)
        };
        let alone: Vec<Vec<f32>> = (0..12)
            .map(|i| {
                let mut out = vec![0.0; own[i].queries.len()];
                attend(&own[i].queries, start(i), &segments(i), &shape, &mut out);
                out
            })
            .collect();
        for threads in [1, 2, 3] {
            let mut outs: Vec<Vec<f32>> = own.iter().map(|own| vec![0.0; own.queries.len()]).collect();
            let mut jobs: Vec<Job> = outs
                .iter_mut()
                .enumerate()
                .map(|(i, out)| Job {
                    queries: &own[i].queries,
                    start: start(i),
                    segments: segments(i),
                    out,
                })
                .collect();
            attend_all(&mut jobs, &shape, &Threads::new(threads));
            assert_eq!(outs, alone, "{threads} threads");
        }
    }
}

#[test]
fn a_broken_number_stays_with_the_queries_that_see_it() {
    let mut sequence = sequence(&SHAPE, 70, 7);
    let whole = sequence.attend(&SHAPE, 0, &[]);
    sequence.values[66 * SHAPE.width()] = f32::NAN;
    sequence.keys[67 * SHAPE.width()] = f32::INFINITY;
    let broken = sequence.attend(&SHAPE, 0, &[]);
    let width = SHAPE.heads * SHAPE.head_dim;
    assert_eq!(broken[..66 * width], whole[..66 * width]);
    assert!(broken[66 * width].is_nan());
}
