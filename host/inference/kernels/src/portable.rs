//! The kernel in plain Rust, for any processor; the others are tested against it.
#![allow(unsafe_code, clippy::indexing_slicing)]

use super::isa::LANES;
use super::isa::{Isa, Lanes, TileF32, TileI8};
use super::operations::operations;

operations!(OPERATIONS, Portable);
#[cfg(test)]
operations!(FUSED_OPERATIONS, PlainLanes<true>);

/// Adding and taking away 1.5 * 2^23 leaves the nearest integer, ties to even, where SSE2 has no instruction.
const ROUND: f32 = 12_582_912.0;

/// Rounds each product before it is added. With `FUSED` it does not, as the instruction sets do not: too slow without
/// the instruction, but what the others are held to, bit by bit.
pub(super) struct PlainLanes<const FUSED: bool>;
pub(super) type Portable = PlainLanes<false>;

/// One array operation, lane by lane.
macro_rules! lanes {
    ($a:ident $(, $b:ident)* => $result:expr) => {{
        let mut out = $a;
        let mut lane = 0;
        while lane < LANES {
            let $a = $a[lane];
            $(let $b = $b[lane];)*
            out[lane] = $result;
            lane += 1;
        }
        out
    }};
}

// SAFETY, for the whole: plain arrays; pointers are good for sixteen lanes by the trait's promise.
impl<const FUSED: bool> Lanes for PlainLanes<FUSED> {
    type V = [f32; LANES];

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        unsafe { from.cast::<Self::V>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(x: Self::V, to: *mut f32) {
        unsafe { to.cast::<Self::V>().write_unaligned(x) }
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        lanes!(a, b => a + b)
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        lanes!(a, b => a - b)
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        lanes!(a, b => a * b)
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        lanes!(a, b => a / b)
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        if FUSED { lanes!(a, b, c => a.mul_add(b, c)) } else { lanes!(a, b, c => a * b + c) }
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        lanes!(a, b => if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        lanes!(a, b => if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn round(x: Self::V) -> Self::V {
        lanes!(x => (x + ROUND) - ROUND)
    }
    #[inline(always)]
    unsafe fn keep(mut x: Self::V, count: usize, fill: f32) -> Self::V {
        x[count..].fill(fill);
        x
    }
    #[inline(always)]
    unsafe fn scale2(x: Self::V, n: Self::V) -> Self::V {
        lanes!(x, n => x * f32::from_bits(((n as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    unsafe fn from_i32(from: *const i32) -> Self::V {
        let x = unsafe { from.cast::<[i32; LANES]>().read_unaligned() };
        x.map(|x| x as f32)
    }
    #[inline(always)]
    unsafe fn to_u8(x: Self::V, to: *mut u8) {
        let bytes = x.map(|x| ((x + ROUND) - ROUND) as u8);
        unsafe { to.cast::<[u8; LANES]>().write_unaligned(bytes) }
    }
    #[inline(always)]
    unsafe fn to_i8(x: Self::V, to: *mut i8) {
        let bytes = x.map(|x| ((x + ROUND) - ROUND) as i8);
        unsafe { to.cast::<[i8; LANES]>().write_unaligned(bytes) }
    }
    #[inline(always)]
    unsafe fn quads(x: [Self::V; 4], to: *mut i8) {
        for (index, x) in x.into_iter().enumerate() {
            for (lane, x) in x.into_iter().enumerate() {
                unsafe { to.add(lane * 4 + index).write(((x + ROUND) - ROUND) as i8) }
            }
        }
    }
    #[inline(always)]
    unsafe fn sum(mut x: Self::V) -> f32 {
        let mut half = LANES / 2;
        while half > 0 {
            let (low, high) = x.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
            half /= 2;
        }
        x[0]
    }
    #[inline(always)]
    unsafe fn highest(x: Self::V) -> f32 {
        x.into_iter().fold(f32::MIN, |high, x| if x > high { x } else { high })
    }
    #[inline(always)]
    unsafe fn lowest(x: Self::V) -> f32 {
        x.into_iter().fold(f32::MAX, |low, x| if x < low { x } else { low })
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, stride: usize, rows: usize, to: *mut f32) {
        for r in 0..LANES {
            for c in 0..LANES {
                let x = if r < rows { unsafe { from.add(r * stride + c).read() } } else { 0.0 };
                unsafe { to.add(c * LANES + r).write(x) };
            }
        }
    }
}

impl<const FUSED: bool> Isa for PlainLanes<FUSED> {
    type L = Self;
    const I8_ROWS: usize = 4;
    const I8_PANELS: usize = 1;
    const F32_ROWS: usize = 4;
    const F32_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn tile_i8(tile: TileI8, acc: *mut i32) {
        let mut sums = [[0_i32; LANES]; 4];
        // SAFETY: rows, panels and k stay inside the operands by the trait's promise.
        unsafe {
            for quad in (0..tile.k).step_by(4) {
                let b = tile.b.add(quad * LANES).cast::<[[i8; 4]; LANES]>().read_unaligned();
                for (r, sums) in sums.iter_mut().enumerate().take(tile.rows) {
                    let a = tile.a.add(r * tile.a_stride + quad).cast::<[u8; 4]>().read_unaligned();
                    let a = a.map(i32::from);
                    for (sum, b) in sums.iter_mut().zip(b) {
                        let b = b.map(i32::from);
                        *sum += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
                    }
                }
            }
            acc.cast::<[[i32; LANES]; 4]>().write(sums);
        }
    }

    #[inline(always)]
    unsafe fn tile_f32(tile: TileF32, acc: *mut f32) {
        let mut sums = [[0_f32; LANES]; 4];
        // SAFETY: as above.
        unsafe {
            for k in 0..tile.k {
                let b = tile.b.add(k * LANES).cast::<[f32; LANES]>().read_unaligned();
                for (r, sums) in sums.iter_mut().enumerate().take(tile.rows) {
                    let a = tile.a.add(r * tile.a_stride + k).read();
                    for (sum, b) in sums.iter_mut().zip(b) {
                        *sum = if FUSED { a.mul_add(b, *sum) } else { a * b + *sum };
                    }
                }
            }
            acc.cast::<[[f32; LANES]; 4]>().write(sums);
        }
    }
}
