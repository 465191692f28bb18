//! Runs a fuzz target over its samples and thousands of altered ones, the same in every run. Test programs include
//! this file.

use std::fs;
use std::path::Path;

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

/// Runs `body` over each file in `folder`, and over so many altered forms of each.
pub fn run<T>(folder: &Path, body: fn(&[u8]) -> T, rounds: usize) {
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

/// Declares a test of each target, and one that finds every target tested.
macro_rules! sampled {
    ($folder:expr, $targets:expr; $($name:ident: $rounds:expr),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                let body = $targets.iter().find(|(target, _)| *target == stringify!($name)).unwrap().1;
                altered::run(&$folder.join(stringify!($name)), body, $rounds);
            }
        )*

        #[test]
        fn every_target_is_tested() {
            assert_eq!([$(stringify!($name)),*], $targets.map(|(name, _)| name));
        }
    };
}

pub(crate) use sampled;
