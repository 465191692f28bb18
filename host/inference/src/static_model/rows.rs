//! A table of row vectors, read in place in its file, with any element type and alignment.

use safetensors::Dtype;

use crate::error::LoadError;
use crate::tensors::{TensorLocation, Tensors};

/// How many tokens ahead rows are asked from memory. A table of 30 MB is not in the cache, and a row is done
/// with before the next one has come.
pub(super) const AHEAD: usize = 6;

/// Adds `weight` times a row's elements to the output; both are of the same length.
type Kernel = fn(row: &[u8], weight: f32, out: &mut [f32]);

/// A table of `[count, dims]` elements.
pub(super) struct Rows {
    tensors: Tensors,
    location: TensorLocation,
    dtype: Dtype,
    count: usize,
    dims: usize,
    /// Bytes of a row.
    stride: usize,
    kernel: Kernel,
}

impl Rows {
    pub(super) fn new(tensors: Tensors, name: &str) -> Result<Self, LoadError> {
        let malformed =
            |reason: String| LoadError::malformed(tensors.path(), format!("tensor `{name}` {reason}"));
        let missing = || malformed("is missing".to_owned());
        let tensor = tensors.get(name).ok_or_else(missing)?;
        let location = tensors.locate(name).ok_or_else(missing)?;
        let &[count, dims] = tensor.shape else {
            return Err(malformed(format!("has shape {:?}, not two dimensions", tensor.shape)));
        };
        if count == 0 || dims == 0 {
            return Err(malformed(format!("has shape {:?}: it is empty", tensor.shape)));
        }
        let dtype = tensor.dtype;
        let (size, kernel) = kernel(dtype)
            .ok_or_else(|| malformed(format!("is of {dtype:?}, not F64, F32, F16, BF16 or I8")))?;
        if !holds_finite(dtype, tensor.bytes) {
            return Err(malformed("has values that are not finite".to_owned()));
        }
        let stride = dims * size;
        Ok(Self { tensors, location, dtype, count, dims, stride, kernel })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Adds `weight` times a row to `out` (`[dims]`); `None` if there is no such row.
    pub(super) fn add(&self, row: usize, weight: f32, out: &mut [f32]) -> Option<()> {
        (self.kernel)(self.row(row)?, weight, out);
        Some(())
    }

    fn row(&self, row: usize) -> Option<&[u8]> {
        let from = row.checked_mul(self.stride)?;
        self.tensors.slice(&self.location).get(from..from.checked_add(self.stride)?)
    }

    /// Asks for a row's first KiB; the rest follows by the processor's own prefetching.
    #[allow(unsafe_code)]
    pub(super) fn prefetch(&self, row: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(bytes) = self.row(row) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            for line in bytes.chunks(64).take(16) {
                // SAFETY: a prefetch reads nothing that the program sees; the address is that of a live slice.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = row;
    }
}

/// Returns whether all numbers are finite, without a branch for each.
pub(super) fn are_finite(numbers: &[f32]) -> bool {
    all(numbers, |number| number.is_finite())
}

/// Returns whether all elements of a table become finite numbers of 32 bits. One pass at memory speed.
fn holds_finite(dtype: Dtype, bytes: &[u8]) -> bool {
    match dtype {
        Dtype::F64 => all(bytes.as_chunks().0, |bytes| (f64::from_le_bytes(*bytes) as f32).is_finite()),
        Dtype::F32 => all(bytes.as_chunks().0, |bytes| f32::from_le_bytes(*bytes).is_finite()),
        // All bits of the exponent are set in infinities and in what is not a number.
        Dtype::F16 => all(bytes.as_chunks().0, |bytes| u16::from_le_bytes(*bytes) & 0x7c00 != 0x7c00),
        Dtype::BF16 => all(bytes.as_chunks().0, |bytes| u16::from_le_bytes(*bytes) & 0x7f80 != 0x7f80),
        _ => true,
    }
}

/// Returns whether a condition holds for all; looks at whole blocks, which the compiler does at once.
#[inline(always)]
fn all<T>(elements: &[T], holds: impl Fn(&T) -> bool) -> bool {
    elements.chunks(1024).all(|block| block.iter().fold(true, |so_far, element| so_far & holds(element)))
}

/// Returns the bytes of an element, and the function that adds a row of such elements.
fn kernel(dtype: Dtype) -> Option<(usize, Kernel)> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
        return Some(match dtype {
            Dtype::F64 => (8, avx2::f64),
            Dtype::F32 => (4, avx2::f32),
            Dtype::F16 => (2, avx2::f16),
            Dtype::BF16 => (2, avx2::bf16),
            Dtype::I8 => (1, avx2::i8),
            _ => return None,
        });
    }
    portable(dtype)
}

fn portable(dtype: Dtype) -> Option<(usize, Kernel)> {
    Some(match dtype {
        Dtype::F64 => (8, f64),
        Dtype::F32 => (4, f32),
        Dtype::F16 => (2, f16),
        Dtype::BF16 => (2, bf16),
        Dtype::I8 => (1, i8),
        _ => return None,
    })
}

#[inline(always)]
fn add<const SIZE: usize>(row: &[u8], weight: f32, out: &mut [f32], read: impl Fn([u8; SIZE]) -> f32) {
    for (sum, element) in out.iter_mut().zip(row.as_chunks::<SIZE>().0) {
        *sum += read(*element) * weight;
    }
}

#[inline(always)]
fn f64(row: &[u8], weight: f32, out: &mut [f32]) {
    add(row, weight, out, |bytes| f64::from_le_bytes(bytes) as f32);
}

#[inline(always)]
fn f32(row: &[u8], weight: f32, out: &mut [f32]) {
    add(row, weight, out, f32::from_le_bytes);
}

fn f16(row: &[u8], weight: f32, out: &mut [f32]) {
    add(row, weight, out, |bytes| half::f16::from_le_bytes(bytes).to_f32());
}

#[inline(always)]
fn bf16(row: &[u8], weight: f32, out: &mut [f32]) {
    add(row, weight, out, |bytes| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16));
}

#[inline(always)]
fn i8(row: &[u8], weight: f32, out: &mut [f32]) {
    add(row, weight, out, |bytes| f32::from(i8::from_le_bytes(bytes)));
}

/// The same loops compiled for AVX2, and F16 by the instruction made for it.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_add_ps, _mm256_cvtph_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_set1_ps,
        _mm256_storeu_ps,
    };

    macro_rules! compiled_for_avx2 {
        ($($name:ident)*) => {$(
            pub(super) fn $name(row: &[u8], weight: f32, out: &mut [f32]) {
                #[target_feature(enable = "avx2")]
                fn compiled(row: &[u8], weight: f32, out: &mut [f32]) {
                    super::$name(row, weight, out);
                }
                // SAFETY: `kernel` hands this function out only where the processor has AVX2.
                unsafe { compiled(row, weight, out) }
            }
        )*};
    }
    compiled_for_avx2!(f64 f32 bf16 i8);

    pub(super) fn f16(row: &[u8], weight: f32, out: &mut [f32]) {
        #[target_feature(enable = "avx2,f16c")]
        fn compiled(row: &[u8], weight: f32, out: &mut [f32]) {
            let (rows, row_rest) = row.as_chunks::<16>();
            let (outs, out_rest) = out.as_chunks_mut::<8>();
            let weights = _mm256_set1_ps(weight);
            for (row, out) in rows.iter().zip(outs) {
                // SAFETY: both are whole chunks, of 16 bytes and of 8 floats; the instructions need no alignment.
                unsafe {
                    let elements = _mm256_cvtph_ps(_mm_loadu_si128(row.as_ptr().cast()));
                    let sum = _mm256_add_ps(_mm256_loadu_ps(out.as_ptr()), _mm256_mul_ps(elements, weights));
                    _mm256_storeu_ps(out.as_mut_ptr(), sum);
                }
            }
            super::f16(row_rest, weight, out_rest);
        }
        // SAFETY: `kernel` hands this function out only where the processor has AVX2 and F16C.
        unsafe { compiled(row, weight, out) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn every_kernel_adds_as_the_portable_one() {
        for dims in [1, 7, 8, 9, 31, 256, 257] {
            for dtype in [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::I8] {
                let (size, chosen) = kernel(dtype).unwrap();
                let (_, portable) = portable(dtype).unwrap();
                // The bytes of small numbers of every type, one byte off any alignment.
                let mut bytes = vec![0u8];
                for element in 0..dims {
                    let value = (element as f32 - 3.0) * 0.25;
                    match dtype {
                        Dtype::F64 => bytes.extend(f64::from(value).to_le_bytes()),
                        Dtype::F32 => bytes.extend(value.to_le_bytes()),
                        Dtype::F16 => bytes.extend(half::f16::from_f32(value).to_le_bytes()),
                        Dtype::BF16 => bytes.extend(half::bf16::from_f32(value).to_le_bytes()),
                        _ => bytes.push((element % 256) as u8),
                    }
                }
                assert_eq!(bytes.len(), 1 + dims * size);
                let (mut one, mut other) = (vec![0.5; dims], vec![0.5; dims]);
                chosen(&bytes[1..], 0.3, &mut one);
                portable(&bytes[1..], 0.3, &mut other);
                assert_eq!(one, other, "{dtype:?} of {dims}");
                if dtype != Dtype::I8 && dims < 100 {
                    let last = (dims as f32 - 4.0) * 0.25 * 0.3 + 0.5;
                    assert!((one[dims - 1] - last).abs() < 1e-2, "{dtype:?} of {dims}: {one:?}");
                }
            }
        }
    }
}
