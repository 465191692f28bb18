//! Every fuzz target over its samples and thousands of altered ones, the same in every run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../../tests/fuzz/src/lib.rs"]
mod fuzz;

use std::fs;
use std::path::Path;

/// Altered files of each sample.
const ROUNDS: usize = 1500;

/// A generator of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    /// A file with one to four changes, most of them near the front, where the structure is.
    fn alter(&mut self, sample: &[u8], other: &[u8]) -> Vec<u8> {
        const WORDS: [&[u8]; 12] = [
            b"0",
            b"-1",
            b"4294967296",
            b"18446744073709551615",
            b"1e999",
            b"null",
            b"\"\"",
            b"[]",
            b"{}",
            b"true",
            b"\\ud800",
            b"\xff\xff\xff\xff\xff\xff\xff\x7f",
        ];
        let mut bytes = sample.to_vec();
        for _ in 0..=self.below(4) {
            let reach = if self.below(3) > 0 { bytes.len().min(600) } else { bytes.len() };
            let at = self.below(reach);
            let end = bytes.len().min(at + 1 + self.below(12));
            match self.below(8) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = self.below(256) as u8,
                2 => drop(bytes.splice(at..end, [])),
                3 => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
                4 => drop(bytes.splice(at..end, WORDS[self.below(WORDS.len())].iter().copied())),
                5 => bytes.truncate(at),
                6 => {
                    let from = self.below(other.len());
                    let part = other[from..other.len().min(from + 40)].to_vec();
                    drop(bytes.splice(at..end, part));
                }
                // A number becomes another one, so that what depends on it is reached.
                _ => {
                    let digit = bytes[at..].iter().position(u8::is_ascii_digit);
                    if let Some(digit) = digit {
                        bytes[at + digit] = b'0' + self.below(10) as u8;
                    }
                }
            }
        }
        bytes
    }
}

fn run(name: &str, rounds: usize) {
    let body = fuzz::TARGETS.iter().find(|(target, _)| *target == name).unwrap().1;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/samples").join(name);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let samples: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!samples.is_empty());
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for sample in &samples {
        body(sample);
        for _ in 0..rounds {
            let other = &samples[numbers.below(samples.len())];
            body(&numbers.alter(sample, other));
        }
    }
}

#[test]
fn tokenizer_json() {
    run("tokenizer_json", ROUNDS / 5);
}

#[test]
fn safetensors() {
    run("safetensors", ROUNDS);
}

#[test]
fn model2vec_folder() {
    run("model2vec_folder", ROUNDS);
}

#[test]
fn linear_head() {
    run("linear_head", ROUNDS);
}

#[test]
fn tensor_shape() {
    run("tensor_shape", ROUNDS);
}

/// The samples are what the targets are meant to take, not refused at the door.
#[test]
fn every_sample_is_taken() {
    use bulkhead_inference::{head::Head, tensors::Tensors, tokenizer::Tokenizer};
    let samples = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/samples").join(name);
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    assert!(samples("tokenizer_json").iter().all(|path| Tokenizer::open(path).is_ok()));
    assert!(samples("safetensors").iter().any(|path| Tensors::open(path).is_ok()));
    assert!(samples("linear_head").iter().all(|path| Head::load(path).is_ok()));
}
