//! Tests of packed weights and their cache.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tempfile::{TempDir, tempdir};

use super::layout::HEADER;
use crate::encoder::tests::toy::Toy;
use crate::encoder::{Dtype, Encoder, EncoderOptions, Scratch};
use crate::error::EmbedError;
use crate::pooling::Pooling;

/// A model folder and a cache folder.
struct Bench {
    model: TempDir,
    cache: TempDir,
    dtype: Dtype,
}

impl Bench {
    fn new(dtype: Dtype) -> Self {
        let model = tempdir().unwrap();
        Toy::default().write(model.path());
        Self { model, cache: tempdir().unwrap(), dtype }
    }

    fn open(&self, cache: Option<&Path>) -> Encoder {
        let options = EncoderOptions { dtype: self.dtype, kernel: None, cache: cache.map(Path::to_path_buf) };
        Encoder::open(self.model.path(), &options).unwrap()
    }

    /// Checks that the vectors through the cache are those without it.
    fn check(&self) {
        let [cached, fresh] = [Some(self.cache.path()), None].map(|cache| vector(&self.open(cache)));
        assert_eq!(cached, fresh);
    }

    /// Returns the one file of the cache.
    fn file(&self) -> PathBuf {
        let files: Vec<PathBuf> =
            fs::read_dir(self.cache.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    /// Puts another file in its place: a reader that has mapped the old one expects it to stay unchanged.
    fn replace(&self, bytes: &[u8]) {
        let (file, other) = (self.file(), self.model.path().join("other"));
        fs::write(&other, bytes).unwrap();
        fs::rename(other, file).unwrap();
    }

    /// Spoils the file, and expects it whole again after the next start.
    fn spoil(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let whole = fs::read(self.file()).unwrap();
        let mut bytes = whole.clone();
        change(&mut bytes);
        self.replace(&bytes);
        self.check();
        assert!(fs::read(self.file()).unwrap() == whole, "the file was not packed again");
    }
}

fn vector(encoder: &Encoder) -> Vec<f32> {
    let mut out = vec![0.0; encoder.dims()];
    encoder.embed(&[1, 2, 3, 4], &[0, 4], Pooling::Mean, &mut Scratch::new(), &mut out).unwrap();
    out
}

#[test]
fn a_second_start_reads_the_file() {
    for dtype in [Dtype::Int8, Dtype::Float32] {
        let bench = Bench::new(dtype);
        bench.check();
        let written = fs::metadata(bench.file()).unwrap().modified().unwrap();
        // A changed byte of the image shows that it is the file that is used.
        let mut bytes = fs::read(bench.file()).unwrap();
        let first = vector(&bench.open(Some(bench.cache.path())));
        bytes[HEADER..].fill(0);
        // Its digest is that of the new image, or it would soon be found out.
        let digest = Sha256::digest(&bytes[HEADER..]);
        bytes[120..152].copy_from_slice(&digest);
        bench.replace(&bytes);
        let second = vector(&bench.open(Some(bench.cache.path())));
        assert_ne!(first, second);
        assert!(second.iter().all(|x| x.is_finite()));
        assert!(fs::metadata(bench.file()).unwrap().modified().unwrap() >= written);
    }
}

#[test]
fn a_faulty_file_is_packed_again() {
    let bench = Bench::new(Dtype::Int8);
    bench.check();
    let length = fs::metadata(bench.file()).unwrap().len() as usize;
    for cut in [0, 1, 11, 100, HEADER - 1, HEADER, HEADER + 1, length / 2, length - 1] {
        bench.spoil(|bytes| bytes.truncate(cut));
    }
    bench.spoil(|bytes| bytes.push(0));
    // Magic, version, layout, stamp, length of the image.
    for at in [0, 8, 16, 47, 80, 112] {
        bench.spoil(|bytes| bytes[at] ^= 1);
    }
}

#[test]
fn damaged_image_is_packed_again() {
    let bench = Bench::new(Dtype::Int8);
    bench.check();
    let whole = fs::read(bench.file()).unwrap();
    let mut damaged = whole.clone();
    damaged[HEADER + 200] ^= 1;
    bench.replace(&damaged);
    let encoder = bench.open(Some(bench.cache.path()));
    let patience = Instant::now() + Duration::from_secs(60);
    let fault = loop {
        let mut out = vec![0.0; encoder.dims()];
        match encoder.embed(&[1], &[0, 1], Pooling::Mean, &mut Scratch::new(), &mut out) {
            Err(fault) => break fault,
            Ok(()) => assert!(Instant::now() < patience, "the damage was not found"),
        }
        std::thread::yield_now();
    };
    assert_eq!(fault, EmbedError::Damaged);
    while bench.cache.path().read_dir().unwrap().count() > 0 {
        assert!(Instant::now() < patience, "the damaged file was not removed");
        std::thread::yield_now();
    }
    bench.check();
    assert!(fs::read(bench.file()).unwrap() == whole);
}

#[test]
#[cfg(unix)]
fn cache_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let bench = Bench::new(Dtype::Int8);
    bench.check();
    assert_eq!(fs::metadata(bench.file()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn other_weights_are_packed_again() {
    let bench = Bench::new(Dtype::Int8);
    let first = vector(&bench.open(Some(bench.cache.path())));
    // The same shape and length, other values and another time.
    Toy { seed: 2, ..Toy::default() }.write(bench.model.path());
    set_time(&bench.model.path().join("model.safetensors"), 1_000);
    bench.check();
    assert_ne!(first, vector(&bench.open(Some(bench.cache.path()))));
}

/// Copying tools keep length and modification time, so that they prove nothing.
#[test]
#[cfg(unix)]
fn other_weights_with_equal_stamp_are_repacked() {
    let weights = |bench: &Bench| bench.model.path().join("model.safetensors");
    for renamed in [true, false] {
        let bench = Bench::new(Dtype::Int8);
        set_time(&weights(&bench), 1_000);
        let first = vector(&bench.open(Some(bench.cache.path())));
        let other = tempdir().unwrap();
        Toy { seed: 2, ..Toy::default() }.write(other.path());
        let other = other.path().join("model.safetensors");
        assert_eq!(fs::metadata(&other).unwrap().len(), fs::metadata(weights(&bench)).unwrap().len());
        if renamed {
            let copied = bench.model.path().join("new");
            fs::copy(&other, &copied).unwrap();
            set_time(&copied, 1_000);
            fs::rename(&copied, weights(&bench)).unwrap();
        } else {
            // A file system's clock may tick every ten milliseconds only.
            std::thread::sleep(std::time::Duration::from_millis(50));
            fs::copy(&other, weights(&bench)).unwrap();
            set_time(&weights(&bench), 1_000);
        }
        bench.check();
        assert_ne!(first, vector(&bench.open(Some(bench.cache.path()))), "renamed: {renamed}");
    }
}

/// A copied folder has other inodes and times: it is digested once, and trusted from then on.
#[test]
#[cfg(unix)]
fn a_copied_model_keeps_its_packed_weights() {
    let bench = Bench::new(Dtype::Int8);
    bench.check();
    let image = fs::read(bench.file()).unwrap();
    let (path, copied) = (bench.model.path().join("model.safetensors"), bench.model.path().join("copy"));
    fs::copy(&path, &copied).unwrap();
    fs::rename(&copied, &path).unwrap();
    bench.check();
    let renewed = fs::read(bench.file()).unwrap();
    assert_eq!(image[HEADER..], renewed[HEADER..]);
    assert_ne!(image[..HEADER], renewed[..HEADER], "the header notes the new stamp");
    bench.check();
    assert!(fs::read(bench.file()).unwrap() == renewed);
}

#[test]
fn same_weights_with_new_time_are_kept() {
    let bench = Bench::new(Dtype::Int8);
    bench.check();
    let before = fs::read(bench.file()).unwrap();
    set_time(&bench.model.path().join("model.safetensors"), 1_000);
    bench.check();
    let after = fs::read(bench.file()).unwrap();
    assert_eq!(before[HEADER..], after[HEADER..]);
    assert_ne!(before[..HEADER], after[..HEADER], "the header notes the new time");
    bench.check();
}

#[test]
fn element_types_have_separate_files() {
    let mut bench = Bench::new(Dtype::Int8);
    bench.check();
    bench.dtype = Dtype::Float32;
    bench.check();
    assert_eq!(fs::read_dir(bench.cache.path()).unwrap().count(), 2);
}

#[test]
fn unwritable_cache_does_not_stop_start() {
    let bench = Bench::new(Dtype::Int8);
    // A file where the folder should be.
    let blocked = bench.cache.path().join("file");
    fs::write(&blocked, "").unwrap();
    let encoder = bench.open(Some(&blocked.join("folder")));
    assert_eq!(vector(&encoder), vector(&bench.open(None)));
}

#[test]
fn failed_write_leaves_no_file() {
    let bench = Bench::new(Dtype::Int8);
    let toy = Toy { poison: Some(f32::INFINITY), ..Toy::default() };
    toy.write(bench.model.path());
    let options =
        EncoderOptions { cache: Some(bench.cache.path().to_path_buf()), ..EncoderOptions::default() };
    assert!(Encoder::open(bench.model.path(), &options).is_err());
    assert_eq!(fs::read_dir(bench.cache.path()).unwrap().count(), 0);
}

#[test]
fn digest_is_of_the_weights() {
    use sha2::{Digest, Sha256};
    let bench = Bench::new(Dtype::Int8);
    let bytes = fs::read(bench.model.path().join("model.safetensors")).unwrap();
    let expected: [u8; 32] = Sha256::digest(&bytes).into();
    for _ in 0..2 {
        assert_eq!(bench.open(Some(bench.cache.path())).weights_sha256(), expected);
    }
    assert_eq!(bench.open(None).weights_sha256(), expected);
}

/// Sets a file's modification time, in seconds after 1970.
fn set_time(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
