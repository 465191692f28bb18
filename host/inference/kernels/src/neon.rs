//! NEON, which every 64-bit ARM processor has: tiles of 4 rows by 16 channels in f32, of 2 by 16 in int8.
//!
//! The dot-product extension's intrinsics are not stable in Rust, so int8 goes through widening products, which
//! are exact as well.

#![allow(unsafe_code, clippy::indexing_slicing)]

use std::arch::aarch64::*;

use super::isa::LANES;
use super::isa::{Isa, Lanes, TileF32, TileI8};
use super::operations::operations;
use super::portable::Portable;

operations!(OPERATIONS, Neon, #[target_feature(enable = "neon")]);

pub(super) struct Neon;

/// All four quarters through one intrinsic.
macro_rules! quarters {
    ($function:ident($($x:ident),*)) => {
        unsafe {
            [
                $function($($x[0]),*),
                $function($($x[1]),*),
                $function($($x[2]),*),
                $function($($x[3]),*),
            ]
        }
    };
}

// SAFETY, for the whole: NEON is part of the architecture's base, and pointers are good for their lanes, by the
// trait's promise.
impl Lanes for Neon {
    type V = [float32x4_t; 4];

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        unsafe { [vdupq_n_f32(x); 4] }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        unsafe { [vld1q_f32(from), vld1q_f32(from.add(4)), vld1q_f32(from.add(8)), vld1q_f32(from.add(12))] }
    }
    #[inline(always)]
    unsafe fn store(x: Self::V, to: *mut f32) {
        for (quarter, x) in x.into_iter().enumerate() {
            unsafe { vst1q_f32(to.add(quarter * 4), x) }
        }
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        quarters!(vaddq_f32(a, b))
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        quarters!(vsubq_f32(a, b))
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        quarters!(vmulq_f32(a, b))
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        quarters!(vdivq_f32(a, b))
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // The intrinsic adds to its first operand.
        quarters!(vfmaq_f32(c, a, b))
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        quarters!(vmaxq_f32(a, b))
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        quarters!(vminq_f32(a, b))
    }
    #[inline(always)]
    unsafe fn round(x: Self::V) -> Self::V {
        quarters!(vrndnq_f32(x))
    }
    #[inline(always)]
    unsafe fn keep(x: Self::V, count: usize, fill: f32) -> Self::V {
        unsafe {
            let mut lanes = lanes(x);
            lanes[count..].fill(fill);
            Self::load(lanes.as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn scale2(x: Self::V, n: Self::V) -> Self::V {
        unsafe {
            let power = n.map(|n| {
                let biased = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
                vreinterpretq_f32_s32(vshlq_n_s32::<23>(biased))
            });
            Self::mul(x, power)
        }
    }
    #[inline(always)]
    unsafe fn from_i32(from: *const i32) -> Self::V {
        unsafe { [0, 4, 8, 12].map(|at| vcvtq_f32_s32(vld1q_s32(from.add(at)))) }
    }
    #[inline(always)]
    unsafe fn to_u8(x: Self::V, to: *mut u8) {
        unsafe {
            let [a, b, c, d] = x.map(|x| vqmovun_s32(vcvtnq_s32_f32(x)));
            let (low, high) = (vqmovn_u16(vcombine_u16(a, b)), vqmovn_u16(vcombine_u16(c, d)));
            vst1q_u8(to, vcombine_u8(low, high));
        }
    }
    #[inline(always)]
    unsafe fn to_i8(x: Self::V, to: *mut i8) {
        unsafe {
            let [a, b, c, d] = x.map(|x| vqmovn_s32(vcvtnq_s32_f32(x)));
            let (low, high) = (vqmovn_s16(vcombine_s16(a, b)), vqmovn_s16(vcombine_s16(c, d)));
            vst1q_s8(to, vcombine_s8(low, high));
        }
    }
    #[inline(always)]
    unsafe fn quads(x: [Self::V; 4], to: *mut i8) {
        unsafe {
            let mut bytes = [[0_i8; LANES]; 4];
            for (x, bytes) in x.into_iter().zip(&mut bytes) {
                Self::to_i8(x, bytes.as_mut_ptr());
            }
            let [a, b, c, d] = bytes.map(|bytes| vld1q_s8(bytes.as_ptr()));
            // Stores lane by lane, the four side by side.
            vst4q_s8(to, int8x16x4_t(a, b, c, d));
        }
    }
    #[inline(always)]
    unsafe fn sum(x: Self::V) -> f32 {
        unsafe {
            let four = vaddq_f32(vaddq_f32(x[0], x[2]), vaddq_f32(x[1], x[3]));
            let two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
            vget_lane_f32::<0>(two) + vget_lane_f32::<1>(two)
        }
    }
    #[inline(always)]
    unsafe fn highest(x: Self::V) -> f32 {
        unsafe { vmaxvq_f32(vmaxq_f32(vmaxq_f32(x[0], x[1]), vmaxq_f32(x[2], x[3]))) }
    }
    #[inline(always)]
    unsafe fn lowest(x: Self::V) -> f32 {
        unsafe { vminvq_f32(vminq_f32(vminq_f32(x[0], x[1]), vminq_f32(x[2], x[3]))) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, stride: usize, rows: usize, to: *mut f32) {
        unsafe { Portable::transpose(from, stride, rows, to) }
    }
}

#[inline(always)]
unsafe fn lanes(x: [float32x4_t; 4]) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    // SAFETY: sixteen lanes have room.
    unsafe { Neon::store(x, out.as_mut_ptr()) };
    out
}

impl Isa for Neon {
    type L = Self;
    const I8_ROWS: usize = 2;
    const I8_PANELS: usize = 1;
    const F32_ROWS: usize = 4;
    const F32_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn tile_i8(tile: TileI8, acc: *mut i32) {
        unsafe { if tile.rows == 1 { i8_tile::<1>(tile, acc) } else { i8_tile::<2>(tile, acc) } }
    }
    #[inline(always)]
    unsafe fn tile_f32(tile: TileF32, acc: *mut f32) {
        unsafe {
            match tile.rows {
                1 => f32_tile::<1>(tile, acc),
                2 => f32_tile::<2>(tile, acc),
                3 => f32_tile::<3>(tile, acc),
                _ => f32_tile::<4>(tile, acc),
            }
        }
    }
}

/// Multiplies signed activations less 128, and adds the 128 back through the sum of each channel's weights.
#[target_feature(enable = "neon")]
unsafe fn i8_tile<const R: usize>(tile: TileI8, acc: *mut i32) {
    unsafe {
        // Two channels each, two partial sums a channel.
        let mut sums = [[vdupq_n_s32(0); 8]; R];
        let mut channels = [vdupq_n_s32(0); 8];
        let ones = vdup_n_s8(1);
        for k in (0..tile.k).step_by(4) {
            let mut weights = [vdup_n_s8(0); 8];
            for (pair, weights) in weights.iter_mut().enumerate() {
                *weights = vld1_s8(tile.b.add(k * LANES + pair * 8));
            }
            for (channel, weights) in channels.iter_mut().zip(weights) {
                *channel = vpadalq_s16(*channel, vmull_s8(weights, ones));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let quad = tile.a.add(r * tile.a_stride + k).cast::<u32>().read_unaligned();
                let quad = vreinterpret_s8_u32(vdup_n_u32(quad ^ 0x8080_8080));
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = vpadalq_s16(*sum, vmull_s8(weights, quad));
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for part in 0..4 {
                let products = vpaddq_s32(sums[part * 2], sums[part * 2 + 1]);
                let channels = vpaddq_s32(channels[part * 2], channels[part * 2 + 1]);
                let total = vaddq_s32(products, vshlq_n_s32::<7>(channels));
                vst1q_s32(acc.add(r * LANES + part * 4), total);
            }
        }
    }
}

/// Uses 16 accumulators, 4 vectors of weights and one broadcast: 21 of 32 registers.
#[target_feature(enable = "neon")]
unsafe fn f32_tile<const R: usize>(tile: TileF32, acc: *mut f32) {
    unsafe {
        let mut sums = [Neon::splat(0.0); R];
        for k in 0..tile.k {
            let weights = Neon::load(tile.b.add(k * LANES));
            for (r, sums) in sums.iter_mut().enumerate() {
                let x = tile.a.add(r * tile.a_stride + k).read();
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = vfmaq_n_f32(*sum, weights, x);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            Neon::store(sums, acc.add(r * LANES));
        }
    }
}
