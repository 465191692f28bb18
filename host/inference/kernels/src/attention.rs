//! Self-attention of one text: `softmax(Q K^T) V` per head, on the tiles of the matrix products.
//!
//! Queries, keys and values are side by side in each row: `[tokens][3][heads][dim]`, dim padded to whole vectors;
//! queries come scaled by `log2(e) / sqrt(head dim)` (folded into the weights), so that the exponential is one of
//! base two.
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::ops::Range;

use super::isa::{Isa, LANES, Lanes};
use super::panels::{PanelsF32, PanelsI8, ROW_PAD, RowsI8, pad_inner, quantise_row};
use super::product::{Finish, linear_f32, linear_i8};
use super::rows::{softmax_f32, softmax_u8};

/// Texts of up to this many tokens are attended to in f32 even when the weights are int8: quantising keys and
/// values costs more there than it saves. It depends on the text alone, so a vector still does not depend on
/// its batch.
const SHORT: usize = 32;
/// Query rows whose scores are held at a time; they stay in L1 with the bytes made from them.
const BLOCK: usize = 32;

/// Shape of the attention of one text.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Number of heads.
    pub heads: usize,
    /// Dimensions of a head, padded to whole vectors.
    pub dim: usize,
    /// Whether long texts are attended to in int8.
    pub int8: bool,
}

/// Room for the attention of one text; grows to the longest text seen.
#[derive(Default)]
pub struct AttentionScratch {
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
    zeros: Vec<f32>,
    query_bytes: Vec<u8>,
    query_scale: Vec<f32>,
    query_zero: Vec<f32>,
    key_bytes: Vec<i8>,
    key_scale: Vec<f32>,
    key_sum: Vec<f32>,
    value_bytes: Vec<i8>,
    value_scale: Vec<f32>,
    score_bytes: Vec<u8>,
}

/// Grows the buffer and never shrinks it: scratch is reused for every text.
pub(super) fn grow<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
}

/// Computes `context[token][head][dim]` for the tokens of one text from number `start` on, as many as `context`
/// holds; `qkv` is `[tokens][3][heads][dim]`.
///
/// # Safety
///
/// The processor has the instruction set. Bounds are asserted.
#[inline(always)]
pub(super) unsafe fn attention<I: Isa>(
    qkv: &[f32],
    start: usize,
    heads: Heads,
    scratch: &mut AttentionScratch,
    context: &mut [f32],
) {
    let width = heads.heads * heads.dim;
    assert!(width > 0 && heads.dim.is_multiple_of(LANES));
    let (tokens, queries) = (qkv.len() / (3 * width), context.len() / width);
    assert!(tokens > 0 && qkv.len() == tokens * 3 * width && context.len() == queries * width);
    assert!(start + queries <= tokens);
    let queries = start..start + queries;
    grow(&mut scratch.zeros, tokens.next_multiple_of(LANES).max(heads.dim).max(BLOCK));
    grow(&mut scratch.scores, BLOCK * tokens.next_multiple_of(LANES));
    for head in 0..heads.heads {
        // SAFETY: the caller's promise; bounds are asserted above.
        unsafe {
            if heads.int8 && tokens > SHORT {
                head_i8::<I>(qkv, head, &queries, heads, scratch, context);
            } else {
                head_f32::<I>(qkv, head, &queries, heads, scratch, context);
            }
        }
    }
}

#[inline(always)]
unsafe fn head_f32<I: Isa>(
    qkv: &[f32],
    head: usize,
    asked: &Range<usize>,
    Heads { heads, dim, .. }: Heads,
    scratch: &mut AttentionScratch,
    context: &mut [f32],
) {
    let width = heads * dim;
    let stride = 3 * width;
    let tokens = qkv.len() / stride;
    let padded = tokens.next_multiple_of(LANES);
    grow(&mut scratch.keys, padded * dim);
    grow(&mut scratch.values, padded * dim);
    // SAFETY: rows below `tokens` and columns of the head lie inside `qkv`; panels were grown to their size.
    unsafe {
        let (key, value) = (qkv.as_ptr().add(width + head * dim), qkv.as_ptr().add(2 * width + head * dim));
        for first in (0..tokens).step_by(LANES) {
            for column in (0..dim).step_by(LANES) {
                I::L::transpose(
                    key.add(first * stride + column),
                    stride,
                    (tokens - first).min(LANES),
                    scratch.keys.as_mut_ptr().add((first * dim) + column * LANES),
                );
            }
        }
        for column in (0..dim).step_by(LANES) {
            let panel = scratch.values.as_mut_ptr().add(column * tokens);
            for token in 0..tokens {
                I::L::store(I::L::load(value.add(token * stride + column)), panel.add(token * LANES));
            }
        }
        let keys = PanelsF32 { data: &scratch.keys, k: dim, bias: &scratch.zeros[..padded] };
        let values = PanelsF32 { data: &scratch.values, k: tokens, bias: &scratch.zeros[..dim] };
        for first in asked.clone().step_by(BLOCK) {
            let rows = BLOCK.min(asked.end - first);
            let queries = &qkv[first * stride + head * dim..];
            linear_f32::<I>(queries, stride, rows, &keys, &mut scratch.scores, padded, Finish::Store);
            for row in scratch.scores.chunks_exact_mut(padded).take(rows) {
                softmax_f32::<I::L>(row.as_mut_ptr(), tokens);
            }
            let out = &mut context[(first - asked.start) * width + head * dim..];
            linear_f32::<I>(&scratch.scores, padded, rows, &values, out, width, Finish::Store);
        }
    }
}

#[inline(always)]
unsafe fn head_i8<I: Isa>(
    qkv: &[f32],
    head: usize,
    asked: &Range<usize>,
    Heads { heads, dim, .. }: Heads,
    scratch: &mut AttentionScratch,
    context: &mut [f32],
) {
    let width = heads * dim;
    let stride = 3 * width;
    let tokens = qkv.len() / stride;
    let padded = tokens.next_multiple_of(LANES);
    let (inner, span) = (pad_inner(dim), pad_inner(tokens));
    // A block may begin at any token, and is read in whole tiles of rows.
    grow(&mut scratch.query_bytes, (tokens + ROW_PAD) * inner);
    grow(&mut scratch.query_scale, padded);
    grow(&mut scratch.query_zero, padded);
    grow(&mut scratch.key_bytes, padded * inner);
    grow(&mut scratch.key_scale, padded);
    grow(&mut scratch.key_sum, padded);
    grow(&mut scratch.value_bytes, dim * span);
    grow(&mut scratch.value_scale, dim);
    // One vector more than the rows, for the last row's whole vectors.
    let score_stride = span.next_multiple_of(LANES);
    grow(&mut scratch.score_bytes, BLOCK * score_stride);
    // SAFETY: as in `head_f32`.
    unsafe {
        let query = qkv.as_ptr().add(head * dim);
        for token in asked.clone() {
            let to = scratch.query_bytes.as_mut_ptr().add(token * inner);
            let (scale, zero) = quantise_row::<I::L>(query.add(token * stride), dim, to, inner);
            scratch.query_scale[token] = scale;
            scratch.query_zero[token] = zero;
        }
        pack_keys::<I::L>(query.add(width), stride, tokens, dim, inner, scratch);
        pack_values::<I::L>(query.add(2 * width), stride, tokens, dim, span, scratch);
        let keys = PanelsI8 {
            data: &scratch.key_bytes,
            stride: LANES * inner,
            k: inner,
            scale: &scratch.key_scale[..padded],
            sum: &scratch.key_sum[..padded],
            bias: &scratch.zeros[..padded],
        };
        let values = PanelsI8 {
            data: &scratch.value_bytes,
            stride: LANES * span,
            k: span,
            scale: &scratch.value_scale[..dim],
            sum: &scratch.zeros[..dim],
            bias: &scratch.zeros[..dim],
        };
        for first in asked.clone().step_by(BLOCK) {
            let rows = BLOCK.min(asked.end - first);
            let queries = RowsI8 {
                bytes: &scratch.query_bytes[first * inner..],
                stride: inner,
                scale: &scratch.query_scale[first..first + rows],
                zero: &scratch.query_zero[first..first + rows],
            };
            linear_i8::<I>(&queries, &keys, &mut scratch.scores, padded, Finish::Store);
            let mut scale = [0.0; BLOCK];
            for (r, row) in scratch.scores.chunks_exact(padded).take(rows).enumerate() {
                let to = scratch.score_bytes.as_mut_ptr().add(r * score_stride);
                scale[r] = softmax_u8::<I::L>(row.as_ptr(), tokens, to, score_stride);
            }
            let weights = RowsI8 {
                bytes: &scratch.score_bytes,
                stride: score_stride,
                scale: &scale[..rows],
                zero: &scratch.zeros[..rows],
            };
            let out = &mut context[(first - asked.start) * width + head * dim..];
            linear_i8::<I>(&weights, &values, out, width, Finish::Store);
        }
    }
}

/// Packs keys as the output channels of a product: one scale a token.
#[inline(always)]
unsafe fn pack_keys<L: Lanes>(
    keys: *const f32,
    stride: usize,
    tokens: usize,
    dim: usize,
    inner: usize,
    scratch: &mut AttentionScratch,
) {
    let mut row = [0_i8; LANES];
    // SAFETY: panels were grown to `padded * inner`.
    unsafe {
        for token in 0..tokens {
            let key = keys.add(token * stride);
            let panel = scratch.key_bytes.as_mut_ptr().add(token / LANES * LANES * inner + token % LANES * 4);
            let mut size = L::splat(0.0);
            for column in (0..dim).step_by(LANES) {
                let x = L::load(key.add(column));
                size = L::max(size, L::max(x, L::sub(L::splat(0.0), x)));
            }
            let highest = L::highest(size);
            let inverse = L::splat(if highest > 0.0 { 127.0 / highest } else { 0.0 });
            let mut sum = L::splat(0.0);
            for column in (0..dim).step_by(LANES) {
                let x = L::round(L::mul(L::load(key.add(column)), inverse));
                sum = L::add(sum, x);
                L::to_i8(x, row.as_mut_ptr());
                for quad in 0..4 {
                    let from = row.as_ptr().add(quad * 4).cast::<u32>();
                    let to = panel.add((column + quad * 4) * LANES).cast::<u32>();
                    to.write_unaligned(from.read_unaligned());
                }
            }
            for quad in (dim..inner).step_by(4) {
                panel.add(quad * LANES).cast::<u32>().write_unaligned(0);
            }
            scratch.key_scale[token] = highest / 127.0;
            scratch.key_sum[token] = L::sum(sum);
        }
    }
}

/// Packs values as the inner dimension of a product: one scale a column, over the tokens of this text.
#[inline(always)]
unsafe fn pack_values<L: Lanes>(
    values: *const f32,
    stride: usize,
    tokens: usize,
    dim: usize,
    span: usize,
    scratch: &mut AttentionScratch,
) {
    // SAFETY: panels were grown to `dim * span`, and scales to `dim`.
    unsafe {
        for column in (0..dim).step_by(LANES) {
            let value = values.add(column);
            let mut size = L::splat(0.0);
            for token in 0..tokens {
                let x = L::load(value.add(token * stride));
                size = L::max(size, L::max(x, L::sub(L::splat(0.0), x)));
            }
            let tiny = L::splat(f32::MIN_POSITIVE);
            let inverse = L::div(L::splat(127.0), L::max(size, tiny));
            L::store(L::mul(size, L::splat(1.0 / 127.0)), scratch.value_scale.as_mut_ptr().add(column));
            let panel = scratch.value_bytes.as_mut_ptr().add(column * span);
            for first in (0..span).step_by(4) {
                let mut quad = [L::splat(0.0); 4];
                for (index, x) in quad.iter_mut().enumerate() {
                    if first + index < tokens {
                        *x = L::mul(L::load(value.add((first + index) * stride)), inverse);
                    }
                }
                L::quads(quad, panel.add(first * LANES));
            }
        }
    }
}
