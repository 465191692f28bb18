//! AVX2 and FMA, with and without the 256-bit VNNI encoding: tiles of 6 rows by 16 channels.
#![allow(unsafe_code, clippy::indexing_slicing)]

use std::arch::x86_64::*;

use super::isa::LANES;
use super::isa::{Isa, Lanes, TileF32, TileI8};
use super::operations::operations;
use super::portable::Portable;

operations!(OPERATIONS, Avx2, #[target_feature(enable = "avx2,fma")]);
operations!(VNNI_OPERATIONS, AvxVnni, #[target_feature(enable = "avx2,fma,avxvnni")]);

pub(super) struct Avx2;
pub(super) struct AvxVnni;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Both halves through one intrinsic.
macro_rules! halves {
    ($function:ident($($x:ident),*)) => {
        unsafe { [$function($($x[0]),*), $function($($x[1]),*)] }
    };
}

// SAFETY, for the whole: the processor has the features and pointers are good for their lanes, by the trait's
// promise.
impl Lanes for Avx2 {
    type V = [__m256; 2];

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        unsafe { [_mm256_set1_ps(x); 2] }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
    }
    #[inline(always)]
    unsafe fn store(x: Self::V, to: *mut f32) {
        unsafe {
            _mm256_storeu_ps(to, x[0]);
            _mm256_storeu_ps(to.add(8), x[1]);
        }
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_add_ps(a, b))
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_sub_ps(a, b))
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_mul_ps(a, b))
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_div_ps(a, b))
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        halves!(_mm256_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_max_ps(a, b))
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_min_ps(a, b))
    }
    #[inline(always)]
    unsafe fn round(x: Self::V) -> Self::V {
        unsafe { x.map(|x| _mm256_round_ps::<NEAREST>(x)) }
    }
    #[inline(always)]
    unsafe fn keep(x: Self::V, count: usize, fill: f32) -> Self::V {
        unsafe {
            let (count, fill) = (_mm256_set1_epi32(count as i32), _mm256_set1_ps(fill));
            let low = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let high = _mm256_add_epi32(low, _mm256_set1_epi32(8));
            let keep =
                |lanes, x| _mm256_blendv_ps(fill, x, _mm256_castsi256_ps(_mm256_cmpgt_epi32(count, lanes)));
            [keep(low, x[0]), keep(high, x[1])]
        }
    }
    #[inline(always)]
    unsafe fn scale2(x: Self::V, n: Self::V) -> Self::V {
        unsafe {
            let power = n.map(|n| {
                let biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
            });
            Self::mul(x, power)
        }
    }
    #[inline(always)]
    unsafe fn from_i32(from: *const i32) -> Self::V {
        unsafe {
            [
                _mm256_cvtepi32_ps(_mm256_loadu_si256(from.cast())),
                _mm256_cvtepi32_ps(_mm256_loadu_si256(from.add(8).cast())),
            ]
        }
    }
    #[inline(always)]
    unsafe fn to_u8(x: Self::V, to: *mut u8) {
        unsafe {
            let [low, high] = x.map(|x| _mm256_cvtps_epi32(x));
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high));
            let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(words, words));
            _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(bytes));
        }
    }
    #[inline(always)]
    unsafe fn to_i8(x: Self::V, to: *mut i8) {
        unsafe {
            let [low, high] = x.map(|x| _mm256_cvtps_epi32(x));
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high));
            let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(words, words));
            _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(bytes));
        }
    }
    #[inline(always)]
    unsafe fn quads(x: [Self::V; 4], to: *mut i8) {
        unsafe {
            let byte = _mm256_set1_epi32(0xff);
            for half in 0..2 {
                let whole = x.map(|x| _mm256_cvtps_epi32(x[half]));
                let low = _mm256_and_si256(whole[0], byte);
                let second = _mm256_slli_epi32::<8>(_mm256_and_si256(whole[1], byte));
                let third = _mm256_slli_epi32::<16>(_mm256_and_si256(whole[2], byte));
                let high = _mm256_slli_epi32::<24>(whole[3]);
                let all = _mm256_or_si256(_mm256_or_si256(low, second), _mm256_or_si256(third, high));
                _mm256_storeu_si256(to.add(half * 32).cast(), all);
            }
        }
    }
    #[inline(always)]
    unsafe fn sum(x: Self::V) -> f32 {
        unsafe { sum_of_eight(_mm256_add_ps(x[0], x[1])) }
    }
    #[inline(always)]
    unsafe fn highest(x: Self::V) -> f32 {
        unsafe { Portable::highest(lanes(x)) }
    }
    #[inline(always)]
    unsafe fn lowest(x: Self::V) -> f32 {
        unsafe { Portable::lowest(lanes(x)) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, stride: usize, rows: usize, to: *mut f32) {
        unsafe { Portable::transpose(from, stride, rows, to) }
    }
}

#[inline(always)]
unsafe fn lanes(x: [__m256; 2]) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    // SAFETY: sixteen lanes have room.
    unsafe { Avx2::store(x, out.as_mut_ptr()) };
    out
}

/// Adds eight lanes up in the order of `Lanes::sum`.
#[inline(always)]
pub(super) unsafe fn sum_of_eight(x: __m256) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// Calls a tile function compiled for the tile's rows.
macro_rules! by_rows {
    ($function:ident, $tile:ident, $acc:ident, $($rows:literal)*) => {
        match $tile.rows {
            $($rows => $function::<$rows>($tile, $acc),)*
            _ => unreachable!("the product keeps to the tile's greatest shape"),
        }
    };
}

impl Isa for Avx2 {
    type L = Self;
    const I8_ROWS: usize = 2;
    const I8_PANELS: usize = 1;
    const F32_ROWS: usize = 6;
    const F32_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn tile_i8(tile: TileI8, acc: *mut i32) {
        unsafe { by_rows!(i8_tile, tile, acc, 1 2) }
    }
    #[inline(always)]
    unsafe fn tile_f32(tile: TileF32, acc: *mut f32) {
        unsafe { by_rows!(f32_tile, tile, acc, 1 2 3 4 5 6) }
    }
}

impl Isa for AvxVnni {
    type L = Avx2;
    const I8_ROWS: usize = 6;
    const I8_PANELS: usize = 1;
    const F32_ROWS: usize = 6;
    const F32_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn tile_i8(tile: TileI8, acc: *mut i32) {
        unsafe { by_rows!(vnni_tile, tile, acc, 1 2 3 4 5 6) }
    }
    #[inline(always)]
    unsafe fn tile_f32(tile: TileF32, acc: *mut f32) {
        unsafe { by_rows!(f32_tile, tile, acc, 1 2 3 4 5 6) }
    }
}

/// Multiplies through 16-bit products: `vpmaddubsw` would saturate at full-range bytes.
#[target_feature(enable = "avx2")]
unsafe fn i8_tile<const R: usize>(tile: TileI8, acc: *mut i32) {
    unsafe {
        // Four channels each, two partial sums a channel.
        let mut sums = [[_mm256_setzero_si256(); 4]; R];
        for k in (0..tile.k).step_by(4) {
            let b = tile.b.add(k * LANES);
            let mut weights = [_mm256_setzero_si256(); 4];
            for (part, weights) in weights.iter_mut().enumerate() {
                *weights = _mm256_cvtepi8_epi16(_mm_loadu_si128(b.add(part * 16).cast()));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let quad = tile.a.add(r * tile.a_stride + k).cast::<i32>().read_unaligned();
                let quad = _mm256_cvtepu8_epi16(_mm_set1_epi32(quad));
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(quad, weights));
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for half in 0..2 {
                let both = _mm256_hadd_epi32(sums[half * 2], sums[half * 2 + 1]);
                let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(both);
                _mm256_storeu_si256(acc.add(r * LANES + half * 8).cast(), ordered);
            }
        }
    }
}

#[target_feature(enable = "avx2,avxvnni")]
unsafe fn vnni_tile<const R: usize>(tile: TileI8, acc: *mut i32) {
    unsafe {
        let mut sums = [[_mm256_setzero_si256(); 2]; R];
        for k in (0..tile.k).step_by(4) {
            let b = tile.b.add(k * LANES);
            let weights = [_mm256_loadu_si256(b.cast()), _mm256_loadu_si256(b.add(32).cast())];
            for (r, sums) in sums.iter_mut().enumerate() {
                let quad =
                    _mm256_set1_epi32(tile.a.add(r * tile.a_stride + k).cast::<i32>().read_unaligned());
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm256_dpbusd_avx_epi32(*sum, quad, weights);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (half, sum) in sums.iter().enumerate() {
                _mm256_storeu_si256(acc.add(r * LANES + half * 8).cast(), *sum);
            }
        }
    }
}

/// Uses 12 accumulators, 2 vectors of weights and one broadcast: 15 of 16 registers.
#[target_feature(enable = "avx2,fma")]
unsafe fn f32_tile<const R: usize>(tile: TileF32, acc: *mut f32) {
    unsafe {
        let mut sums = [[_mm256_setzero_ps(); 2]; R];
        for k in 0..tile.k {
            let b = tile.b.add(k * LANES);
            let weights = [_mm256_loadu_ps(b), _mm256_loadu_ps(b.add(8))];
            for (r, sums) in sums.iter_mut().enumerate() {
                let x = _mm256_set1_ps(tile.a.add(r * tile.a_stride + k).read());
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    *sum = _mm256_fmadd_ps(x, weights, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (half, sum) in sums.iter().enumerate() {
                _mm256_storeu_ps(acc.add(r * LANES + half * 8), *sum);
            }
        }
    }
}
