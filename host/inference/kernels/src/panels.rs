//! The layout of weights: panels of sixteen output channels, the same for every instruction set.
//!
//! - int8: `[n / 16][k / 4][16][4]` signed bytes: four neighbours of the inner dimension side by side, as
//!   `vpdpbusd`, `sdot` and AMX tiles take them.
//! - f32: `[n / 16][k][16]`.
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::ops::Range;

use super::isa::{LANES, Lanes};

/// Rows that an activation buffer is padded to: AMX reads whole tiles.
pub const ROW_PAD: usize = 32;

/// Rounds `n` up to whole panels.
#[must_use]
pub const fn pad_lanes(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// Pads the inner length of an int8 product: whole quads up to one AMX tile (64), else whole tiles.
#[must_use]
pub const fn pad_inner(k: usize) -> usize {
    if k <= 64 { k.next_multiple_of(4) } else { k.next_multiple_of(64) }
}

/// Int8 weights `[n, k]` in panels; the weight of channel c is `data * scale[c]`.
#[derive(Clone, Copy)]
pub struct PanelsI8<'a> {
    /// `[n / 16]` panels `[k / 4][16][4]`.
    pub data: &'a [i8],
    /// Bytes from panel to panel: 16 k, or more if the panels hold more of the inner dimension.
    pub stride: usize,
    /// Inner length, padded by `pad_inner`; padding weights are zero.
    pub k: usize,
    /// `[n]`, n padded to whole panels, as the next two.
    pub scale: &'a [f32],
    /// `[n]`: the sum of a channel's integers, which undoes the activations' zero point.
    pub sum: &'a [f32],
    /// `[n]`.
    pub bias: &'a [f32],
}

/// f32 weights `[n, k]` in panels.
#[derive(Clone, Copy)]
pub struct PanelsF32<'a> {
    /// `[n / 16][k][16]`.
    pub data: &'a [f32],
    /// Inner length.
    pub k: usize,
    /// `[n]`, n padded to whole panels.
    pub bias: &'a [f32],
}

/// Rows of activations as unsigned bytes: the value is `(byte - zero[r]) * scale[r]`.
#[derive(Clone, Copy)]
pub struct RowsI8<'a> {
    /// `[rows padded to ROW_PAD][stride]`.
    pub bytes: &'a [u8],
    /// Bytes from row to row; at least the padded inner length.
    pub stride: usize,
    /// `[rows]`; its length is the number of rows.
    pub scale: &'a [f32],
    /// `[rows]`.
    pub zero: &'a [f32],
}

/// Room for rows of activations as bytes; see `RowsI8`.
pub struct BytesMut<'a> {
    /// `[rows padded to ROW_PAD][stride]`.
    pub bytes: &'a mut [u8],
    /// Bytes from row to row: the padded inner length.
    pub stride: usize,
    /// `[rows]`, as `zero`.
    pub scale: &'a mut [f32],
    /// `[rows]`.
    pub zero: &'a mut [f32],
}

impl BytesMut<'_> {
    /// Asserts room for rows of `length`.
    pub(super) fn check(&self, rows: usize, length: usize) {
        assert!(self.scale.len() == rows && self.zero.len() == rows);
        assert!(length <= self.stride && self.bytes.len() >= rows * self.stride);
    }
}

/// Quantises one output channel (weights of length `k`, symmetric) into its place in the panels; returns the
/// scale.
///
/// # Panics
///
/// If `data` is shorter than the panels of `channel` and `padded`.
pub fn pack_channel_i8(weights: &[f32], channel: usize, padded: usize, data: &mut [i8]) -> f32 {
    let highest = weights.iter().fold(0.0_f32, |high, w| high.max(w.abs()));
    let inverse = if highest > 0.0 { 127.0 / highest } else { 0.0 };
    for (k, weight) in weights.iter().enumerate() {
        data[place_i8(channel, k, padded)] = nearest_i8(weight * inverse);
    }
    highest / 127.0
}

/// Returns the nearest integer (ties to even) of a value in -127..=127. Adding and taking away 1.5 * 2^23 is faster
/// than `round_ties_even`, which is a library call on the base instruction set.
#[must_use]
pub fn nearest_i8(x: f32) -> i8 {
    ((x + 12_582_912.0) - 12_582_912.0) as i8
}

/// Returns the sum of a packed channel's integers over part of the inner dimension.
///
/// # Panics
///
/// As `pack_channel_i8`.
pub fn channel_sum(data: &[i8], channel: usize, padded: usize, inner: Range<usize>) -> f32 {
    inner.map(|k| i32::from(data[place_i8(channel, k, padded)])).sum::<i32>() as f32
}

fn place_i8(channel: usize, k: usize, padded: usize) -> usize {
    channel / LANES * LANES * padded + k / 4 * LANES * 4 + channel % LANES * 4 + k % 4
}

/// Puts one output channel (weights of length `k`) into its place in the panels.
///
/// # Panics
///
/// If `data` is shorter than the panels of `channel` and `k`.
pub fn pack_channel_f32(weights: &[f32], channel: usize, k: usize, data: &mut [f32]) {
    let start = channel / LANES * LANES * k + channel % LANES;
    for (index, weight) in weights.iter().enumerate() {
        data[start + index * LANES] = *weight;
    }
}

/// Quantises a row of `length` (a multiple of 16) to unsigned bytes with a scale and a zero point of its own,
/// and fills up to `padded` with zeros. Returns scale and zero point.
///
/// # Safety
///
/// As for `Lanes`: `from` holds `length` f32, `to` has room for `padded` bytes.
#[inline(always)]
pub(super) unsafe fn quantise_row<L: Lanes>(
    from: *const f32,
    length: usize,
    to: *mut u8,
    padded: usize,
) -> (f32, f32) {
    // SAFETY: all offsets stay below `length` and `padded`.
    unsafe {
        let mut high = L::splat(0.0);
        let mut low = L::splat(0.0);
        let mut at = 0;
        while at < length {
            let x = L::load(from.add(at));
            high = L::max(high, x);
            low = L::min(low, x);
            at += LANES;
        }
        let (high, low) = (L::highest(high), L::lowest(low));
        quantise_row_within::<L>(from, length, to, padded, low, high)
    }
}

/// Does the same as `quantise_row`, for a row whose least and greatest value (with zero among them) are known.
///
/// # Safety
///
/// As for `quantise_row`.
#[inline(always)]
pub(super) unsafe fn quantise_row_within<L: Lanes>(
    from: *const f32,
    length: usize,
    to: *mut u8,
    padded: usize,
    low: f32,
    high: f32,
) -> (f32, f32) {
    let range = high - low;
    let inverse = if range > 0.0 { 255.0 / range } else { 0.0 };
    let zero = (-low * inverse).round_ties_even();
    // SAFETY: all offsets stay below `length` and `padded`.
    unsafe {
        let (factor, shift) = (L::splat(inverse), L::splat(zero));
        let mut at = 0;
        while at < length {
            L::to_u8(L::fma(L::load(from.add(at)), factor, shift), to.add(at));
            at += LANES;
        }
        to.add(length).write_bytes(0, padded - length);
    }
    (range / 255.0, zero)
}
