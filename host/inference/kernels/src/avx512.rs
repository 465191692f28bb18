//! AVX-512 F, BW, DQ, VL and VNNI: tiles of 8 rows by 48 channels.
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::arch::x86_64::*;

use super::avx2::sum_of_eight;
use super::isa::LANES;
use super::isa::{Isa, Lanes, TileF32, TileI8};
use super::operations::operations;

operations!(OPERATIONS, Avx512, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]);

pub(super) struct Avx512;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// SAFETY, for the whole: the processor has the features and pointers are good for their lanes, by the trait's
// promise.
impl Lanes for Avx512 {
    type V = __m512;

    #[inline(always)]
    unsafe fn splat(x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(x: __m512, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, x) }
    }
    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn round(x: __m512) -> __m512 {
        unsafe { _mm512_roundscale_ps::<NEAREST>(x) }
    }
    #[inline(always)]
    unsafe fn keep(x: __m512, count: usize, fill: f32) -> __m512 {
        unsafe { _mm512_mask_mov_ps(_mm512_set1_ps(fill), ((1_u32 << count) - 1) as __mmask16, x) }
    }
    #[inline(always)]
    unsafe fn scale2(x: __m512, n: __m512) -> __m512 {
        unsafe { _mm512_scalef_ps(x, n) }
    }
    #[inline(always)]
    unsafe fn from_i32(from: *const i32) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(_mm512_loadu_si512(from.cast())) }
    }
    #[inline(always)]
    unsafe fn to_u8(x: __m512, to: *mut u8) {
        unsafe {
            let whole = _mm512_cvtps_epi32(_mm512_max_ps(x, _mm512_setzero_ps()));
            _mm_storeu_si128(to.cast(), _mm512_cvtusepi32_epi8(whole));
        }
    }
    #[inline(always)]
    unsafe fn to_i8(x: __m512, to: *mut i8) {
        unsafe { _mm_storeu_si128(to.cast(), _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x))) }
    }
    #[inline(always)]
    unsafe fn quads(x: [__m512; 4], to: *mut i8) {
        unsafe {
            let byte = _mm512_set1_epi32(0xff);
            let whole = x.map(|x| _mm512_cvtps_epi32(x));
            let low = _mm512_and_si512(whole[0], byte);
            let second = _mm512_slli_epi32::<8>(_mm512_and_si512(whole[1], byte));
            let third = _mm512_slli_epi32::<16>(_mm512_and_si512(whole[2], byte));
            let high = _mm512_slli_epi32::<24>(whole[3]);
            let all = _mm512_or_si512(_mm512_or_si512(low, second), _mm512_or_si512(third, high));
            _mm512_storeu_si512(to.cast(), all);
        }
    }
    #[inline(always)]
    unsafe fn sum(x: __m512) -> f32 {
        unsafe { sum_of_eight(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x))) }
    }
    #[inline(always)]
    unsafe fn highest(x: __m512) -> f32 {
        unsafe { _mm512_reduce_max_ps(x) }
    }
    #[inline(always)]
    unsafe fn lowest(x: __m512) -> f32 {
        unsafe { _mm512_reduce_min_ps(x) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, stride: usize, rows: usize, to: *mut f32) {
        unsafe {
            let mut x = [_mm512_setzero_ps(); LANES];
            for (r, x) in x.iter_mut().enumerate() {
                if r < rows {
                    *x = _mm512_loadu_ps(from.add(r * stride));
                }
            }
            // Squares of four by shuffles inside 128-bit lanes, then the lanes themselves.
            let mut y = [_mm512_setzero_ps(); LANES];
            let mut i = 0;
            while i < LANES {
                let a = _mm512_unpacklo_ps(x[i], x[i + 1]);
                let b = _mm512_unpackhi_ps(x[i], x[i + 1]);
                let c = _mm512_unpacklo_ps(x[i + 2], x[i + 3]);
                let d = _mm512_unpackhi_ps(x[i + 2], x[i + 3]);
                y[i] = _mm512_shuffle_ps::<0x44>(a, c);
                y[i + 1] = _mm512_shuffle_ps::<0xee>(a, c);
                y[i + 2] = _mm512_shuffle_ps::<0x44>(b, d);
                y[i + 3] = _mm512_shuffle_ps::<0xee>(b, d);
                i += 4;
            }
            let mut i = 0;
            while i < 4 {
                let a = _mm512_shuffle_f32x4::<0x88>(y[i], y[i + 4]);
                let b = _mm512_shuffle_f32x4::<0xdd>(y[i], y[i + 4]);
                let c = _mm512_shuffle_f32x4::<0x88>(y[i + 8], y[i + 12]);
                let d = _mm512_shuffle_f32x4::<0xdd>(y[i + 8], y[i + 12]);
                _mm512_storeu_ps(to.add(i * LANES), _mm512_shuffle_f32x4::<0x88>(a, c));
                _mm512_storeu_ps(to.add((i + 4) * LANES), _mm512_shuffle_f32x4::<0x88>(b, d));
                _mm512_storeu_ps(to.add((i + 8) * LANES), _mm512_shuffle_f32x4::<0xdd>(a, c));
                _mm512_storeu_ps(to.add((i + 12) * LANES), _mm512_shuffle_f32x4::<0xdd>(b, d));
                i += 1;
            }
        }
    }
}

/// Calls a tile function compiled for the tile's rows and panels.
macro_rules! by_shape {
    ($function:ident, $tile:ident, $acc:ident, $($rows:literal)*) => {
        match ($tile.rows, $tile.panels) {
            $(
                ($rows, 1) => $function::<$rows, 1>($tile, $acc),
                ($rows, 2) => $function::<$rows, 2>($tile, $acc),
                ($rows, 3) => $function::<$rows, 3>($tile, $acc),
            )*
            _ => unreachable!("the product keeps to the tile's greatest shape"),
        }
    };
}

impl Isa for Avx512 {
    type L = Self;
    const I8_ROWS: usize = 8;
    const I8_PANELS: usize = 3;
    const F32_ROWS: usize = 8;
    const F32_PANELS: usize = 3;

    #[inline(always)]
    unsafe fn tile_i8(tile: TileI8, acc: *mut i32) {
        unsafe { by_shape!(i8_tile, tile, acc, 1 2 3 4 5 6 7 8) }
    }
    #[inline(always)]
    unsafe fn tile_f32(tile: TileF32, acc: *mut f32) {
        unsafe { by_shape!(f32_tile, tile, acc, 1 2 3 4 5 6 7 8) }
    }
}

/// Uses 24 accumulators, 3 vectors of weights and one broadcast quad: 28 of 32 registers.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn i8_tile<const R: usize, const P: usize>(tile: TileI8, acc: *mut i32) {
    unsafe {
        let mut sums = [[_mm512_setzero_si512(); P]; R];
        let mut b = tile.b;
        let mut a = tile.a;
        for _ in 0..tile.k / 4 {
            let mut weights = [_mm512_setzero_si512(); P];
            for (p, weights) in weights.iter_mut().enumerate() {
                *weights = _mm512_loadu_si512(b.add(p * tile.b_stride).cast());
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let quad = _mm512_set1_epi32(a.add(r * tile.a_stride).cast::<i32>().read_unaligned());
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_dpbusd_epi32(*sum, quad, weights);
                }
            }
            a = a.add(4);
            b = b.add(4 * LANES);
        }
        for (r, sums) in sums.iter().enumerate() {
            for (p, sum) in sums.iter().enumerate() {
                _mm512_storeu_si512(acc.add((r * Avx512::I8_PANELS + p) * LANES).cast(), *sum);
            }
        }
    }
}

#[target_feature(enable = "avx512f")]
unsafe fn f32_tile<const R: usize, const P: usize>(tile: TileF32, acc: *mut f32) {
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); P]; R];
        let mut b = tile.b;
        let mut a = tile.a;
        for _ in 0..tile.k {
            let mut weights = [_mm512_setzero_ps(); P];
            for (p, weights) in weights.iter_mut().enumerate() {
                *weights = _mm512_loadu_ps(b.add(p * tile.b_stride));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let x = _mm512_set1_ps(a.add(r * tile.a_stride).read());
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm512_fmadd_ps(x, weights, *sum);
                }
            }
            a = a.add(1);
            b = b.add(LANES);
        }
        for (r, sums) in sums.iter().enumerate() {
            for (p, sum) in sums.iter().enumerate() {
                _mm512_storeu_ps(acc.add((r * Avx512::F32_PANELS + p) * LANES), *sum);
            }
        }
    }
}
