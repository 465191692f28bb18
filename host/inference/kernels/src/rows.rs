//! Operations on rows: activation functions, softmax, layer normalisation.
#![allow(unsafe_code, clippy::indexing_slicing)]

use super::isa::{LANES, Lanes};
use super::panels::{BytesMut, quantise_row, quantise_row_within};

/// Minimax polynomial of `2^f` for |f| at most 1/2; relative error 7.5e-8.
const EXP2: [f32; 6] = [1.0, 0.693_146_94, 0.240_221_2, 0.055_507_135, 0.009_675_542, 0.001_327_646_1];
/// The same to 7.5e-5, for probabilities that end in eight bits.
const EXP2_COARSE: [f32; 4] = [0.999_928, 0.693_261, 0.242_611_14, 0.055_171_57];
/// Abramowitz and Stegun 7.1.26: `erf x = 1 - (a1 t + .. + a5 t^5) e^(-x^2)`, `t = 1 / (1 + p x)`; error 1.5e-7.
const ERF_P: f32 = 0.327_591_1;
const ERF: [f32; 5] = [0.254_829_6, -0.284_496_72, 1.421_413_8, -1.453_152_1, 1.061_405_4];
/// `(Phi(x) - 1/2) / x` in powers of x^2 for |x| up to `PHI_END`, Phi being the normal distribution's; x Phi(x) is off
/// by less than 1e-4. For values that end in eight bits.
const PHI_COARSE: [f32; 8] = [
    0.398_465_93,
    -0.065_528_22,
    0.009_298_218,
    -0.000_950_652_35,
    6.688_986e-5,
    -3.037_865_8e-6,
    7.941_087e-8,
    -9.017_152e-10,
];
const PHI_END: f32 = 4.2;
/// `log2(255)`.
const LOG2_255: f32 = 7.994_353_3;

/// The activation function of the feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / 2 * (1 + erf(x / sqrt 2))`, to about 1e-6; to 1e-4 in an int8 product.
    Gelu,
    /// GELU by its tanh formula.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
    /// `x / (1 + e^-x)`.
    Silu,
}

/// Scale and shift of a layer normalisation.
#[derive(Clone, Copy)]
pub struct Norm<'a> {
    /// Elements of a row that count.
    pub length: usize,
    /// Scale: `[padded length]`, zeros at the end.
    pub gamma: &'a [f32],
    /// Shift, as `gamma`.
    pub beta: &'a [f32],
    /// What is added to the variance.
    pub epsilon: f32,
}

/// Evaluates a polynomial.
///
/// # Safety
///
/// As for `Lanes`, here and below.
#[inline(always)]
unsafe fn polynomial<L: Lanes>(x: L::V, coefficients: &[f32]) -> L::V {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = L::splat(0.0);
        let mut first = true;
        for coefficient in coefficients.iter().rev() {
            let c = L::splat(*coefficient);
            sum = if first { c } else { L::fma(sum, x, c) };
            first = false;
        }
        sum
    }
}

/// Least power of two: far from nothing that counts, and what it is multiplied by leaves it a normal number, as
/// others cost a hundred cycles each.
const LEAST_POWER: f32 = -100.0;

/// Returns `2^x` for x up to 127; below [`LEAST_POWER`] the result is that of it.
#[inline(always)]
unsafe fn exp2<L: Lanes>(x: L::V, coefficients: &[f32]) -> L::V {
    // SAFETY: the caller's promise.
    unsafe {
        let x = L::max(x, L::splat(LEAST_POWER));
        let whole = L::round(x);
        L::scale2(polynomial::<L>(L::sub(x, whole), coefficients), whole)
    }
}

/// Applies an activation function to sixteen values.
#[inline(always)]
pub(super) unsafe fn activate<L: Lanes>(x: L::V, activation: Activation) -> L::V {
    // SAFETY: the caller's promise.
    unsafe {
        match activation {
            Activation::Relu => L::max(x, L::splat(0.0)),
            Activation::Silu => {
                let power = L::min(L::mul(x, L::splat(-std::f32::consts::LOG2_E)), L::splat(126.0));
                L::div(x, L::add(L::splat(1.0), exp2::<L>(power, &EXP2)))
            }
            Activation::Gelu => {
                // Phi(x) = 1 - q for x over 0, q else, with q = polynomial(t) e^(-x^2/2) / 2 at |x|/sqrt 2.
                let size = L::max(x, L::sub(L::splat(0.0), x));
                let z = L::mul(size, L::splat(std::f32::consts::FRAC_1_SQRT_2));
                let t = L::div(L::splat(1.0), L::fma(z, L::splat(ERF_P), L::splat(1.0)));
                let tail = L::mul(polynomial::<L>(t, &ERF), t);
                let power = L::mul(L::mul(z, z), L::splat(-std::f32::consts::LOG2_E));
                let q = L::mul(L::mul(tail, exp2::<L>(power, &EXP2)), L::splat(0.5));
                // x Phi(x) = max(x, 0) - |x| q, for either sign.
                L::sub(L::max(x, L::splat(0.0)), L::mul(size, q))
            }
            Activation::GeluTanh => {
                // x / (1 + e^(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3).
                let cube = L::mul(L::mul(x, x), x);
                let u = L::fma(cube, L::splat(0.044_715), x);
                let factor = -2.0 * 0.797_884_6 * std::f32::consts::LOG2_E;
                let power = L::min(L::mul(u, L::splat(factor)), L::splat(126.0));
                L::div(x, L::add(L::splat(1.0), exp2::<L>(power, &EXP2)))
            }
        }
    }
}

/// Does the same as `activate`, for values that end in eight bits.
#[inline(always)]
pub(super) unsafe fn activate_coarse<L: Lanes>(x: L::V, activation: Activation) -> L::V {
    // SAFETY: the caller's promise.
    unsafe {
        match activation {
            Activation::Gelu => {
                let near = L::max(L::min(x, L::splat(PHI_END)), L::splat(-PHI_END));
                let odd = polynomial::<L>(L::mul(near, near), &PHI_COARSE);
                L::mul(x, L::fma(near, odd, L::splat(0.5)))
            }
            other => activate::<L>(x, other),
        }
    }
}

/// A score that no exponential survives, so that padding counts as nothing.
const NOTHING: f32 = f32::MIN / 4.0;

/// Computes the softmax of `2^score` over the first `keys` of a padded row, in place; the padding becomes next to
/// nothing.
#[inline(always)]
pub(super) unsafe fn softmax_f32<L: Lanes>(row: *mut f32, keys: usize) {
    // SAFETY: the row is padded to whole vectors.
    unsafe {
        let highest = L::splat(highest::<L>(row, keys));
        let mut sum = L::splat(0.0);
        let mut at = 0;
        while at < keys {
            let x = exp2::<L>(L::sub(part::<L>(row, at, keys), highest), &EXP2);
            L::store(x, row.add(at));
            sum = L::add(sum, x);
            at += LANES;
        }
        let factor = L::splat(1.0 / L::sum(sum));
        let mut at = 0;
        while at < keys {
            L::store(L::mul(L::load(row.add(at)), factor), row.add(at));
            at += LANES;
        }
    }
}

/// Computes the softmax of `2^score` to bytes: the greatest becomes 255, all from `keys` to `inner` zero. Returns the
/// scale that makes the bytes sum to one. The row is padded to whole vectors.
#[inline(always)]
pub(super) unsafe fn softmax_u8<L: Lanes>(row: *const f32, keys: usize, to: *mut u8, inner: usize) -> f32 {
    // SAFETY: the caller's promise; `to` has room for `inner` bytes padded to whole vectors.
    unsafe {
        // One addition, where 255 times the power would be a product more.
        let shift = L::splat(LOG2_255 - highest::<L>(row, keys));
        let mut sum = L::splat(0.0);
        let mut at = 0;
        while at < keys {
            let x = L::round(exp2::<L>(L::add(part::<L>(row, at, keys), shift), &EXP2_COARSE));
            L::to_u8(x, to.add(at));
            sum = L::add(sum, x);
            at += LANES;
        }
        if inner > at {
            to.add(at).write_bytes(0, inner - at);
        }
        1.0 / L::sum(sum)
    }
}

/// Loads sixteen scores and masks those beyond `keys`.
#[inline(always)]
unsafe fn part<L: Lanes>(row: *const f32, at: usize, keys: usize) -> L::V {
    // SAFETY: the row is padded to whole vectors.
    unsafe {
        let x = L::load(row.add(at));
        if keys - at < LANES { L::keep(x, keys - at, NOTHING) } else { x }
    }
}

#[inline(always)]
unsafe fn highest<L: Lanes>(row: *const f32, keys: usize) -> f32 {
    // SAFETY: the row is padded to whole vectors.
    unsafe {
        let mut high = part::<L>(row, 0, keys);
        let mut at = LANES;
        while at < keys {
            high = L::max(high, part::<L>(row, at, keys));
            at += LANES;
        }
        L::highest(high)
    }
}

/// Normalises the first `length` of each padded row in place: `(x - mean) / sqrt(var + eps) * gamma + beta`. Gamma
/// and beta are padded with zeros, and so becomes the row. The rows also go to `bytes`, if asked.
#[inline(always)]
pub(super) unsafe fn layer_norm<L: Lanes>(
    x: &mut [f32],
    stride: usize,
    norm: &Norm<'_>,
    mut bytes: Option<BytesMut<'_>>,
) {
    let Norm { length, gamma, beta, epsilon } = *norm;
    assert!(length > 0 && length.next_multiple_of(LANES) == stride && x.len().is_multiple_of(stride));
    assert!(gamma.len() == stride && beta.len() == stride);
    if let Some(bytes) = &bytes {
        bytes.check(x.len() / stride, stride);
    }
    for (r, row) in x.chunks_exact_mut(stride).enumerate() {
        // SAFETY: row, gamma and beta hold `stride` elements, and `bytes` was checked.
        unsafe {
            let row = row.as_mut_ptr();
            let (low, high) = layer_norm_row::<L>(row, stride, length, gamma, beta, epsilon);
            if let Some(bytes) = &mut bytes {
                let to = bytes.bytes.as_mut_ptr().add(r * bytes.stride);
                (bytes.scale[r], bytes.zero[r]) =
                    quantise_row_within::<L>(row, stride, to, bytes.stride, low, high);
            }
        }
    }
}

/// Returns the least and the greatest value of the result, with zero among them.
#[inline(always)]
unsafe fn layer_norm_row<L: Lanes>(
    row: *mut f32,
    padded: usize,
    length: usize,
    gamma: &[f32],
    beta: &[f32],
    epsilon: f32,
) -> (f32, f32) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sum = L::splat(0.0);
        let mut at = 0;
        while at < padded {
            sum = L::add(sum, L::load(row.add(at)));
            at += LANES;
        }
        let mean_of_row = L::sum(sum) / length as f32;
        let mean = L::splat(mean_of_row);
        let mut squares = L::splat(0.0);
        let mut at = 0;
        while at < padded {
            let d = L::sub(L::load(row.add(at)), mean);
            squares = L::fma(d, d, squares);
            at += LANES;
        }
        // The padding (zeros) added mean^2 each.
        let excess = (padded - length) as f32 * mean_of_row * mean_of_row;
        let variance = ((L::sum(squares) - excess) / length as f32).max(0.0);
        let factor = L::splat(1.0 / (variance + epsilon).sqrt());
        let mut low = L::splat(0.0);
        let mut high = L::splat(0.0);
        let mut at = 0;
        while at < padded {
            let y = L::mul(L::sub(L::load(row.add(at)), mean), factor);
            let y = L::fma(y, L::load(gamma.as_ptr().add(at)), L::load(beta.as_ptr().add(at)));
            L::store(y, row.add(at));
            low = L::min(low, y);
            high = L::max(high, y);
            at += LANES;
        }
        (L::lowest(low), L::highest(high))
    }
}

/// Quantises rows `[rows][length]` to bytes.
#[inline(always)]
pub(super) unsafe fn quantise<L: Lanes>(x: &[f32], length: usize, bytes: BytesMut<'_>) {
    let rows = bytes.scale.len();
    assert!(length.is_multiple_of(LANES) && x.len() >= rows * length);
    bytes.check(rows, length);
    for (r, (scale, zero)) in bytes.scale.iter_mut().zip(bytes.zero).enumerate() {
        // SAFETY: row r lies inside both, by the assertions.
        let quantised = unsafe {
            let to = bytes.bytes.as_mut_ptr().add(r * bytes.stride);
            quantise_row::<L>(x.as_ptr().add(r * length), length, to, bytes.stride)
        };
        (*scale, *zero) = quantised;
    }
}
