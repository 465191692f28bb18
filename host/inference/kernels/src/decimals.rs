//! Sixteen numbers as decimal text at once: the shortest fractions that read back as the same f32.
//!
//! A number below 1 is `m 2^-s` with a mantissa m of 24 bits. With n digits behind the point it is `m 5^n / 2^(s - n)`,
//! and that product is exact in 64 bits, so the interval of the numbers that read back as this one is exact too. The
//! interval is as wide as the distance to the next f32; with the least n at which `10^-n` is not wider, some number of
//! n digits lies in it, and at most one of fewer: that one is taken if there is one, else the nearest of n digits.
//! (After Giulietti's Schubfach, 2020, whose approximations these few exponents do not need.)
#![allow(unsafe_code, clippy::indexing_slicing)]

/// Numbers that are written at once.
pub const BLOCK: usize = 16;

/// Most digits behind the point.
const DIGITS: u32 = 12;
/// Exponent of the least numbers of that many digits, as f32 stores it.
const LEAST: u32 = 127 - 16;
/// Exponents from there to that of the greatest numbers below 1.
const EXPONENTS: usize = 16;
const MANTISSA_BITS: u32 = 23;

/// Texts of [`BLOCK`] numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The first and the last eight bytes of each text, first byte lowest; the bytes after the text are arbitrary.
    pub bytes: [[u64; BLOCK]; 2],
    /// Bytes of each text, 15 at most; 0 for a number that has to be written otherwise.
    pub lengths: [u64; BLOCK],
}

/// For each exponent: `5^n`, the bits to the right of the n-digit number in twice the exact product, and the factor
/// that makes it one of [`DIGITS`] digits.
struct Scales {
    five: [u64; EXPONENTS],
    shift: [u64; EXPONENTS],
    ten: [u64; EXPONENTS],
}

const SCALES: Scales = scales();

const fn scales() -> Scales {
    let mut scales = Scales { five: [1; EXPONENTS], shift: [0; EXPONENTS], ten: [1; EXPONENTS] };
    let mut index = 0;
    while index < EXPONENTS {
        // The distance of neighbours is 2^-bits.
        let bits = MANTISSA_BITS + 127 - (LEAST + index as u32);
        let mut digits = 0;
        while 10_u64.pow(digits) < 1 << bits {
            digits += 1;
        }
        scales.five[index] = 5_u64.pow(digits);
        scales.shift[index] = (bits - digits + 1) as u64;
        scales.ten[index] = 10_u64.pow(DIGITS - digits);
        index += 1;
    }
    scales
}

/// Eight zeros in ASCII.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Writes the numbers that lie between 2^-16 and 1, both signs, and are no power of two.
pub fn write(numbers: &[f32; BLOCK], texts: &mut Texts) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512cd")
    {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { write_avx512(numbers, texts) };
    }
    write_portable(numbers, texts);
}

/// Writes eight numbers an instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512bw,avx512vl")]
fn write_avx512(numbers: &[f32; BLOCK], texts: &mut Texts) {
    write_portable(numbers, texts);
}

/// Writes without a branch, so that the compiler can write several at once.
#[inline(always)]
fn write_portable(numbers: &[f32; BLOCK], texts: &mut Texts) {
    let [first, last] = &mut texts.bytes;
    for (((number, first), last), length) in numbers.iter().zip(first).zip(last).zip(&mut texts.lengths) {
        (*first, *last, *length) = one(number.to_bits());
    }
}

#[inline(always)]
fn one(bits: u32) -> (u64, u64, u64) {
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let exponent = (bits >> MANTISSA_BITS & 0xff).wrapping_sub(LEAST);
    let fits = exponent < EXPONENTS as u32 && mantissa != 0;
    let index = exponent as usize % EXPONENTS;
    let (five, shift, ten) = (SCALES.five[index], SCALES.shift[index], SCALES.ten[index]);

    let exact = product(u64::from(mantissa | 1 << MANTISSA_BITS) * 2, five);
    let near = (exact + (1 << (shift - 1))) >> shift;
    let round = tenth((exact >> shift) + 5) * 10;
    // Half a distance to either side reads back as this number; at the very ends, where its last bit is zero.
    let short = (round << shift).abs_diff(exact) + u64::from(mantissa & 1) <= five;
    let number = product(if short { round } else { near }, ten);

    let high = hundreds_of_millions(number);
    let low = number - high * 100_000_000;
    let (high, low) = (eight_digits(high) >> 32, eight_digits(low));
    // "0.", the first six digits; the other six.
    let (first, last) = (high << 16 | low << 48, low >> 16);
    let used = if last == 0 {
        8 - u64::from(first.leading_zeros()) / 8
    } else {
        16 - u64::from(last.leading_zeros()) / 8
    };
    let (first, last) = (first | (ZEROS & !0xffff | 0x2e30), last | ZEROS);
    match bits >> 31 {
        0 => (first, last, if fits { used } else { 0 }),
        _ => (first << 8 | 0x2d, last << 8 | first >> 56, if fits { used + 1 } else { 0 }),
    }
}

/// Returns the product of two numbers of 32 bits; the compiler takes the quicker instruction where it can see that
/// they are.
#[inline(always)]
fn product(a: u64, b: u64) -> u64 {
    (a & 0xffff_ffff) * (b & 0xffff_ffff)
}

/// Returns a tenth of a number of 32 bits. Divisions are products and shifts here: processors have none for vectors.
#[inline(always)]
fn tenth(number: u64) -> u64 {
    product(number, 0xcccc_cccd) >> 35
}

/// Returns how often 10^8 = 2^8 390625 goes into a number below 10^12.
#[inline(always)]
fn hundreds_of_millions(number: u64) -> u64 {
    product(number >> 8, 2_882_303_762) >> 50
}

/// Returns the digits of a number below 10^8, first digit lowest, as the numbers 0 to 9.
#[inline(always)]
fn eight_digits(number: u64) -> u64 {
    // Two groups of four digits, then four of two, then eight of one.
    let group = product(number, 109_951_163) >> 40;
    let groups = group | (number - group * 10_000) << 32;
    let group = ((groups * 10_486) >> 20) & 0x7f_0000_007f;
    let groups = group | (groups - group * 100) << 16;
    let group = ((groups * 103) >> 10) & 0x000f_000f_000f_000f;
    group | (groups - group * 10) << 8
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn both(numbers: &[f32; BLOCK]) -> [Texts; 2] {
        let mut texts = [Texts::default(); 2];
        write(numbers, &mut texts[0]);
        write_portable(numbers, &mut texts[1]);
        texts
    }

    #[test]
    fn divisions_are_exact() {
        for number in (0..1 << 32).step_by(65_521).chain((1 << 32) - 50..1 << 32) {
            assert_eq!(tenth(number), number / 10);
        }
        for quotient in 0..10_000 {
            for number in [quotient * 100_000_000, quotient * 100_000_000 + 99_999_999] {
                assert_eq!(hundreds_of_millions(number), quotient);
            }
        }
    }

    /// Each text reads back as its number and is as short as the shortest; where two are, that is all there is to say.
    #[test]
    fn texts_are_the_shortest_that_read_back() {
        let (least, end) = (LEAST << MANTISSA_BITS, 127 << MANTISSA_BITS);
        let mut buffer = zmij::Buffer::new();
        for first in (least..end).step_by(BLOCK * 641) {
            let numbers = std::array::from_fn(|index| {
                f32::from_bits((first + index as u32) | ((index as u32 & 1) << 31))
            });
            let [texts, portable] = both(&numbers);
            assert_eq!(texts, portable);
            for (index, number) in numbers.into_iter().enumerate() {
                let length = texts.lengths[index] as usize;
                if number.to_bits().trailing_zeros() >= MANTISSA_BITS {
                    assert_eq!(length, 0, "{number}");
                    continue;
                }
                let text =
                    [texts.bytes[0][index].to_le_bytes(), texts.bytes[1][index].to_le_bytes()].concat();
                let text = std::str::from_utf8(&text[..length]).unwrap();
                assert_eq!(text.parse::<f32>().unwrap().to_bits(), number.to_bits(), "{text}");
                let shortest = buffer.format_finite(number);
                if !shortest.contains('e') {
                    assert_eq!(text.len(), shortest.len(), "{text} for {shortest}");
                }
            }
        }
    }

    #[test]
    fn other_numbers_are_left() {
        let numbers = [0.0, -0.0, 1.0, -0.5, 1.5, 1e-5, 1e-40, f32::MAX, f32::NAN, f32::INFINITY];
        let mut block = [0.1; BLOCK];
        block[..numbers.len()].copy_from_slice(&numbers);
        for texts in both(&block) {
            assert!(texts.lengths[..numbers.len()].iter().all(|length| *length == 0));
            assert!(texts.lengths[numbers.len()..].iter().all(|length| *length == 3));
        }
    }
}
