//! Tests of every kernel against plain Rust with the same rounding, and the definitions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod activations;

use super::attention::{AttentionScratch, Heads};
use super::panels::{
    BytesMut, PanelsF32, PanelsI8, ROW_PAD, RowsI8, channel_sum, pack_channel_f32, pack_channel_i8,
    pad_inner, pad_lanes,
};
use super::rows::Norm;
use super::{Activation, Finish, Kernel, LANES, Operations};

/// Returns all kernels of this processor.
fn available() -> impl Iterator<Item = (Kernel, &'static Operations)> {
    Kernel::available().into_iter().map(|kernel| (kernel, kernel.operations().unwrap()))
}

/// Returns plain Rust that rounds as the instruction sets do.
fn reference() -> &'static Operations {
    &super::portable::FUSED_OPERATIONS
}

/// Returns pseudo-random numbers in -1..1.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729 + i * i) % 2003) as f32 / 1001.5 - 1.0).collect()
}

fn close(kernel: Kernel, what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(1.0_f32, |size, x| size.max(x.abs()));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let apart = (found - expected).abs();
        assert!(apart <= tolerance * size, "{kernel} {what} at {at}: {found}, not {expected}");
    }
}

/// Compares with the reference: each bit, but of the portable kernel, which rounds more often.
fn same(kernel: Kernel, what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    if kernel == Kernel::Portable {
        return close(kernel, what, found, expected, tolerance);
    }
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_same = found.to_bits() == expected.to_bits();
        assert!(is_same, "{kernel} {what} at {at}: {found:?}, not {expected:?}");
    }
}

/// Rows as bytes.
#[derive(Clone, PartialEq, Debug)]
struct Bytes {
    bytes: Vec<u8>,
    scale: Vec<f32>,
    zero: Vec<f32>,
}

fn quantise(operations: &Operations, x: &[f32], rows: usize, length: usize) -> Bytes {
    let stride = pad_inner(length);
    let padded = rows.next_multiple_of(ROW_PAD);
    let mut to = Bytes { bytes: vec![7; padded * stride], scale: vec![9.0; rows], zero: vec![9.0; rows] };
    let room = BytesMut { bytes: &mut to.bytes, stride, scale: &mut to.scale, zero: &mut to.zero };
    operations.quantise(x, length, room);
    to
}

/// Weights in panels.
struct Weights {
    k: usize,
    data: Vec<i8>,
    floats: Vec<f32>,
    scale: Vec<f32>,
    sum: Vec<f32>,
    bias: Vec<f32>,
}

impl Weights {
    fn new(n: usize, k: usize) -> Self {
        let (wide, padded) = (pad_lanes(n), pad_inner(k));
        let mut data = vec![0; wide * padded];
        let mut floats = vec![0.0; wide * k];
        let (mut scale, mut sum, mut bias) = (vec![0.0; wide], vec![0.0; wide], vec![0.0; wide]);
        for (channel, weights) in numbers(n * k, 3).chunks(k).enumerate() {
            scale[channel] = pack_channel_i8(weights, channel, padded, &mut data);
            sum[channel] = channel_sum(&data, channel, padded, 0..padded);
            pack_channel_f32(weights, channel, k, &mut floats);
            bias[channel] = channel as f32 / 7.0;
        }
        Self { k, data, floats, scale, sum, bias }
    }

    fn i8(&self) -> PanelsI8<'_> {
        let k = pad_inner(self.k);
        let (scale, sum, bias) = (&self.scale, &self.sum, &self.bias);
        PanelsI8 { data: &self.data, stride: LANES * k, k, scale, sum, bias }
    }

    fn f32(&self) -> PanelsF32<'_> {
        PanelsF32 { data: &self.floats, k: self.k, bias: &self.bias }
    }
}

#[test]
fn names_are_parsed_and_one_is_detected() {
    for kernel in Kernel::ALL {
        assert_eq!(kernel.name().parse::<Kernel>().unwrap(), kernel);
    }
    let fault = "sse9".parse::<Kernel>().unwrap_err().to_string();
    assert!(fault.contains("sse9") && fault.contains("portable"), "{fault}");
    assert_eq!(Kernel::available().first(), Some(&Kernel::detect()));
    assert_eq!(Kernel::available().last(), Some(&Kernel::Portable));
}

/// Writes which kernels the tests ran, and which they could not, where `just test` prints it at its end.
fn report(ran: &[Kernel]) -> String {
    let names = |has_run: bool| {
        let kernels = Kernel::ALL.into_iter().filter(|kernel| ran.contains(kernel) == has_run);
        kernels.map(Kernel::name).collect::<Vec<_>>().join(", ")
    };
    let text = format!("kernels tested: {}; this machine lacks: {}\n", names(true), names(false));
    let program = std::env::current_exe().unwrap();
    std::fs::write(program.ancestors().nth(2).unwrap().join("kernels.txt"), &text).unwrap();
    text
}

/// Compares the reference with the definition in integers, and the kernels with it.
#[test]
fn int8_products_agree() {
    let mut ran = Vec::new();
    for rows in [1, 2, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 49] {
        for (n, k) in [(16, 16), (48, 64), (80, 36), (33, 128), (112, 192)] {
            let length = pad_lanes(k);
            let weights = Weights::new(n, length);
            let x = numbers(rows * length, rows);
            let bytes = quantise(reference(), &x, rows, length);
            let panels = weights.i8();
            let a = RowsI8 { bytes: &bytes.bytes, stride: panels.k, scale: &bytes.scale, zero: &bytes.zero };
            let ld = pad_lanes(n) + 16;
            let before = numbers(rows * ld, 5);
            for finish in [Finish::Store, Finish::Add, Finish::Activate(Activation::Gelu)] {
                let mut expected = before.clone();
                reference().linear_i8(&a, &panels, &mut expected, ld, finish);
                if finish == Finish::Store {
                    let defined = defined_i8(&a, &panels, &before, ld);
                    close(Kernel::Portable, "definition", &expected, &defined, 1e-5);
                }
                for (kernel, operations) in available() {
                    let mut found = before.clone();
                    operations.linear_i8(&a, &panels, &mut found, ld, finish);
                    same(kernel, &format!("int8 {rows}x{n}x{k} {finish:?}"), &found, &expected, 1e-5);
                    ran.push(kernel);
                }
            }
        }
    }
    let reported = report(&ran);
    let lacking = reported.split_once("lacks: ").unwrap().1;
    assert!(
        Kernel::available()
            .iter()
            .all(|kernel| !lacking.trim_end().split(", ").any(|one| one == kernel.name()))
    );
}

fn defined_i8(a: &RowsI8<'_>, w: &PanelsI8<'_>, before: &[f32], ld: usize) -> Vec<f32> {
    let mut out = before.to_vec();
    for r in 0..a.scale.len() {
        for c in 0..w.scale.len() {
            let sum: i64 = (0..w.k)
                .map(|k| {
                    let at = c / LANES * LANES * w.k + k / 4 * 64 + c % LANES * 4 + k % 4;
                    (i64::from(a.bytes[r * a.stride + k]) - a.zero[r] as i64) * i64::from(w.data[at])
                })
                .sum();
            out[r * ld + c] = sum as f32 * w.scale[c] * a.scale[r] + w.bias[c];
        }
    }
    out
}

#[test]
fn f32_products_agree() {
    for rows in [1, 3, 6, 7, 8, 9, 14, 17, 33] {
        for (n, k) in [(16, 1), (48, 16), (80, 37), (33, 200)] {
            let weights = Weights::new(n, k);
            let x = numbers(rows * k, rows);
            let ld = pad_lanes(n);
            for finish in [Finish::Store, Finish::Add, Finish::Activate(Activation::Relu)] {
                let mut expected = numbers(rows * ld, 5);
                let before = expected.clone();
                reference().linear_f32(&x, rows, &weights.f32(), &mut expected, ld, finish);
                for (kernel, operations) in available() {
                    let mut found = before.clone();
                    operations.linear_f32(&x, rows, &weights.f32(), &mut found, ld, finish);
                    same(kernel, &format!("f32 {rows}x{n}x{k} {finish:?}"), &found, &expected, 1e-5);
                }
            }
        }
    }
}

#[test]
fn rows_quantise_alike() {
    for length in [16, 48, 64, 80, 400] {
        let mut x = numbers(5 * length, length);
        x[length..2 * length].fill(0.0);
        x[2 * length..3 * length].iter_mut().for_each(|x| *x = x.abs() * 1e6);
        x[3 * length..4 * length].iter_mut().for_each(|x| *x = -x.abs() * 1e-6);
        let expected = quantise(reference(), &x, 5, length);
        let stride = pad_inner(length);
        for (r, row) in x.chunks(length).enumerate() {
            let bytes = &expected.bytes[r * stride..(r + 1) * stride];
            for (x, byte) in row.iter().zip(bytes) {
                let back = (f32::from(*byte) - expected.zero[r]) * expected.scale[r];
                assert!((back - x).abs() <= expected.scale[r] * 1.01, "{back} for {x}");
            }
            assert!(bytes[length..].iter().all(|byte| *byte == 0));
        }
        for (kernel, operations) in available() {
            let found = quantise(operations, &x, 5, length);
            same(kernel, "scale", &found.scale, &expected.scale, 1e-6);
            same(kernel, "zero", &found.zero, &expected.zero, 1e-6);
            // A product that is rounded may fall on the other side of a half.
            let most = u8::from(kernel == Kernel::Portable);
            for (found, expected) in found.bytes.iter().zip(&expected.bytes) {
                assert!(found.abs_diff(*expected) <= most, "{kernel}: {found} not {expected}");
            }
        }
    }
}

#[test]
fn normalisation_agrees_and_hands_out_bytes() {
    for length in [1, 4, 16, 36, 384] {
        let stride = pad_lanes(length);
        let mut x = numbers(3 * stride, 1);
        x.iter_mut().enumerate().filter(|(at, _)| at % stride >= length).for_each(|(_, x)| *x = 0.0);
        let mut gamma = numbers(stride, 2);
        let mut beta = numbers(stride, 3);
        gamma[length..].fill(0.0);
        beta[length..].fill(0.0);
        let norm = Norm { length, gamma: &gamma, beta: &beta, epsilon: 1e-5 };
        let mut expected = x.clone();
        reference().layer_norm(&mut expected, stride, &norm, None);
        for (r, row) in x.chunks(stride).enumerate() {
            let mean = row.iter().sum::<f32>() / length as f32;
            let variance = row[..length].iter().map(|x| (x - mean).powi(2)).sum::<f32>() / length as f32;
            let defined: Vec<f32> = (0..stride)
                .map(|i| (row[i] - mean) / (variance + 1e-5).sqrt() * gamma[i] + beta[i])
                .collect();
            close(Kernel::Portable, "norm", &expected[r * stride..(r + 1) * stride], &defined, 1e-5);
        }
        for (kernel, operations) in available() {
            let mut found = x.clone();
            let inner = pad_inner(stride);
            let mut bytes = Bytes { bytes: vec![1; 3 * inner], scale: vec![0.0; 3], zero: vec![0.0; 3] };
            let room = BytesMut {
                bytes: &mut bytes.bytes,
                stride: inner,
                scale: &mut bytes.scale,
                zero: &mut bytes.zero,
            };
            operations.layer_norm(&mut found, stride, &norm, Some(room));
            same(kernel, "norm", &found, &expected, 1e-5);
            let apart = quantise(operations, &found, 3, stride);
            assert_eq!(bytes.bytes, apart.bytes[..3 * inner], "{kernel}: bytes of the normalisation");
            assert_eq!((bytes.scale, bytes.zero), (apart.scale, apart.zero));
        }
    }
}

/// Long and short texts, f32 and int8, against the definition in f64 and the reference.
#[test]
fn attention_agrees() {
    for (heads, dim) in [(2, 16), (1, 32), (3, 64), (1, 80)] {
        for tokens in [1, 7, 16, 31, 32, 33, 48, 63, 64, 65, 100, 128, 200] {
            let width = heads * dim;
            let qkv: Vec<f32> = numbers(tokens * 3 * width, tokens).iter().map(|x| x * 1.5).collect();
            let expected = defined_attention(&qkv, heads, dim);
            for (int8, tolerance) in [(false, 1e-5), (true, 0.1)] {
                let shape = Heads { heads, dim, int8 };
                let mut plain = vec![9.0; tokens * width];
                reference().attention(&qkv, 0, shape, &mut AttentionScratch::default(), &mut plain);
                for (kernel, operations) in available() {
                    let mut found = vec![9.0; tokens * width];
                    operations.attention(&qkv, 0, shape, &mut AttentionScratch::default(), &mut found);
                    let what = format!("attention {heads}x{dim} over {tokens}, int8 {int8}");
                    close(kernel, &what, &found, &expected, tolerance);
                    same(kernel, &what, &found, &plain, 2.0 * tolerance);
                    // Some of the tokens only: the same, to the last bit.
                    let (start, end) = (tokens / 3, tokens - tokens / 4);
                    let mut some = vec![9.0; (end - start) * width];
                    operations.attention(&qkv, start, shape, &mut AttentionScratch::default(), &mut some);
                    assert_eq!(some, found[start * width..end * width], "{kernel} {what}");
                }
            }
        }
    }
}

fn defined_attention(qkv: &[f32], heads: usize, dim: usize) -> Vec<f32> {
    let width = heads * dim;
    let rows: Vec<&[f32]> = qkv.chunks(3 * width).collect();
    let mut out = Vec::new();
    for query in &rows {
        for head in 0..heads {
            let span = head * dim..(head + 1) * dim;
            let weights: Vec<f64> = rows
                .iter()
                .map(|key| {
                    let key = &key[width..2 * width];
                    let dot: f64 = span.clone().map(|i| f64::from(query[i]) * f64::from(key[i])).sum();
                    dot.exp2()
                })
                .collect();
            let total: f64 = weights.iter().sum();
            for i in span {
                let sum: f64 =
                    weights.iter().zip(&rows).map(|(w, row)| w * f64::from(row[2 * width + i])).sum();
                out.push((sum / total) as f32);
            }
        }
    }
    out
}

#[test]
#[should_panic(expected = "assertion")]
fn a_product_asserts_its_bounds() {
    let weights = Weights::new(16, 16);
    let mut out = vec![0.0; 16];
    Kernel::detect().operations().unwrap().linear_f32(
        &[0.0; 16],
        2,
        &weights.f32(),
        &mut out,
        16,
        Finish::Store,
    );
}
