//! Attention, where positions may be rotary, or each head may have a bias by distance (MPNet, Song et al. 2020; the distances
//! are those of T5).

use std::ops::Range;

use bulkhead_heads::dot;
use bulkhead_kernels::{AttentionScratch, Heads};

use super::packed::Layer;
use super::{Encoder, rotary};

/// From this distance on the bias is the same.
const FARTHEST: f32 = 128.0;

impl Encoder {
    /// Computes the attention of some heads for the tokens of one text from number `start` on: `qkv` is
    /// `[tokens][3][heads][head]`, `context` `[queries][heads][head]`.
    pub(super) fn attend(
        &self,
        layer: &Layer,
        qkv: &[f32],
        start: usize,
        heads: Range<usize>,
        scratch: &mut AttentionScratch,
        context: &mut [f32],
    ) {
        let shape = Heads { heads: heads.len(), ..self.heads() };
        if let Some(positions) = &self.config.rotary {
            let turned = positions.turned(qkv, shape, self.config.head(), layer.is_local);
            let tokens = qkv.len() / (3 * shape.heads * shape.dim).max(1);
            return match positions.window(layer.is_local, tokens) {
                Some(window) => rotary::near(&turned, start, shape, window, context),
                None => self.operations.attention(&turned, start, shape, scratch, context),
            };
        }
        let buckets = self.config.buckets;
        let biases = self.packed.f32s(self.packed.layout().relative);
        match biases.get(heads.start * buckets..heads.end * buckets) {
            Some(biases) if buckets > 0 => biased(qkv, start, shape, biases, buckets, context),
            _ => self.operations.attention(qkv, start, shape, scratch, context),
        }
    }
}

/// Computes attention with `biases`, `[heads][buckets]`. The exponential is one of base two: queries and biases come
/// scaled for that.
fn biased(
    qkv: &[f32],
    start: usize,
    Heads { heads, dim, .. }: Heads,
    biases: &[f32],
    buckets: usize,
    context: &mut [f32],
) {
    let width = heads * dim;
    let tokens = qkv.len() / (3 * width).max(1);
    // By key less query, the smallest first.
    let distances: Vec<usize> = (1..2 * tokens).map(|at| bucket(at, tokens, buckets)).collect();
    let mut scores = vec![0.0_f32; tokens];
    for (head, bias) in biases.chunks_exact(buckets).enumerate() {
        let part = |token: usize, third: usize| {
            let from = (3 * token + third) * width + head * dim;
            qkv.get(from..from + dim).unwrap_or_default()
        };
        for (row, out) in context.chunks_exact_mut(width).enumerate() {
            let query = start + row;
            let vector = part(query, 0);
            let near = distances.get(tokens.saturating_sub(1 + query)..).unwrap_or_default();
            for (key, (score, bucket)) in scores.iter_mut().zip(near).enumerate() {
                *score = dot(vector, part(key, 1)) + bias.get(*bucket).copied().unwrap_or_default();
            }
            let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            scores.iter_mut().for_each(|score| *score = (*score - highest).exp2());
            let sum: f32 = scores.iter().sum();
            let out = out.get_mut(head * dim..(head + 1) * dim).unwrap_or_default();
            out.fill(0.0);
            for (key, score) in scores.iter().enumerate() {
                let weight = score / sum;
                out.iter_mut().zip(part(key, 2)).for_each(|(out, value)| *out += weight * value);
            }
        }
    }
}

/// Returns the bucket of the distance `at - tokens` of a key behind its query: half of the buckets are for each
/// direction, and half of those for one distance each; the others grow with the logarithm of the distance.
fn bucket(at: usize, tokens: usize, buckets: usize) -> usize {
    let half = buckets / 2;
    let exact = half / 2;
    let direction = if at > tokens { half } else { 0 };
    let distance = at.abs_diff(tokens);
    if distance < exact {
        return direction + distance;
    }
    let exact_float = exact.max(1) as f32;
    let steps = (distance as f32 / exact_float).ln() / (FARTHEST / exact_float).ln() * (half - exact) as f32;
    // The float cast saturates.
    direction + (exact + steps as usize).min(half.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn distances_share_buckets_when_far() {
        let of = |distance: isize| bucket(1000_usize.saturating_add_signed(distance), 1000, 32);
        for (distance, wanted) in [
            (0, 0),
            (-1, 1),
            (-7, 7),
            (-8, 8),
            (-11, 8),
            (-12, 9),
            (-16, 10),
            (-64, 14),
            (-127, 15),
            (-500, 15),
            (1, 17),
            (7, 23),
            (8, 24),
            (300, 31),
        ] {
            assert_eq!(of(distance), wanted, "{distance}");
        }
    }
}
