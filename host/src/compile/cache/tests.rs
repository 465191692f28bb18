//! Which files are taken back, and which never are.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{os::unix::fs::PermissionsExt as _, sync::Arc};

use tempfile::TempDir;

use super::*;
use crate::{
    compile::tests::{EMPTY, engine},
    keys::MasterKey,
};

struct Kept {
    folder: TempDir,
    engine: Arc<Engine>,
    cache: Cache,
}

/// A cache that holds the smallest component.
fn kept() -> Kept {
    let folder = TempDir::new().unwrap();
    let engine = engine();
    let cache = open(&folder, &engine, "key");
    cache.store(&code(&engine), digest()).unwrap();
    Kept { folder, engine, cache }
}

fn code(engine: &Engine) -> MachineCode {
    MachineCode::new(engine.wasmtime().precompile_component(EMPTY).unwrap())
}

fn open(folder: &TempDir, engine: &Engine, key: &str) -> Cache {
    let folder = folder.path().join("compiled");
    Cache::open(CacheSettings { folder, key: MasterKey::new(key), bytes: 0 }, engine).unwrap()
}

fn digest() -> ComponentDigest {
    ComponentDigest::of(EMPTY)
}

impl Kept {
    fn path(&self) -> PathBuf {
        self.cache.path(digest())
    }

    fn assert_not_ours(&self, why: &str) {
        let loaded = self.cache.load(digest());
        assert!(matches!(loaded, Err(CacheError::NotOurs(_))), "{why}: {loaded:?}");
    }
}

#[test]
fn what_was_kept_is_taken_back() {
    let kept = kept();
    assert!(kept.cache.load(digest()).unwrap().is_some());
    assert!(open(&kept.folder, &kept.engine, "key").load(digest()).unwrap().is_some());
    assert_eq!(fs::metadata(kept.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_was_not_kept_is_a_miss() {
    let kept = kept();
    assert!(kept.cache.load(ComponentDigest::of(b"another")).unwrap().is_none());
}

#[test]
fn one_changed_byte_anywhere_is_refused() {
    let kept = kept();
    let good = fs::read(kept.path()).unwrap();
    for at in [0, TAG_BYTES - 1, TAG_BYTES, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        *bad.get_mut(at).unwrap() ^= 1;
        fs::write(kept.path(), bad).unwrap();
        kept.assert_not_ours(&format!("byte {at}"));
    }
}

#[test]
fn a_cut_or_longer_file_is_refused() {
    let kept = kept();
    let good = fs::read(kept.path()).unwrap();
    for length in [0, 1, TAG_BYTES - 1, TAG_BYTES, good.len() - 1] {
        fs::write(kept.path(), good.get(..length).unwrap()).unwrap();
        kept.assert_not_ours(&format!("cut to {length}"));
    }
    fs::write(kept.path(), [good.as_slice(), b"\0"].concat()).unwrap();
    kept.assert_not_ours("longer");
}

#[test]
fn another_host_s_code_is_refused() {
    let kept = kept();
    let other = open(&kept.folder, &kept.engine, "another key");
    let loaded = other.load(digest());
    assert!(matches!(loaded, Err(CacheError::NotOurs(_))), "{loaded:?}");
}

#[test]
fn code_of_another_component_or_engine_is_refused() {
    let mut kept = kept();
    let another = ComponentDigest::of(b"another");
    fs::copy(kept.path(), kept.cache.path(another)).unwrap();
    let loaded = kept.cache.load(another);
    assert!(matches!(loaded, Err(CacheError::NotOurs(_))), "{loaded:?}");

    let made_for_ours = kept.path();
    kept.cache.engine = kept.cache.engine.wrapping_add(1);
    assert_ne!(made_for_ours, kept.path(), "each engine has a file of its own");
    fs::copy(made_for_ours, kept.path()).unwrap();
    kept.assert_not_ours("made for another engine");
}

/// Stores code under digests that say which came first; the first is the one that was there.
fn store_more(kept: &Kept, count: u64) -> Vec<ComponentDigest> {
    let mut digests = vec![digest()];
    for number in 1..=count {
        let digest = ComponentDigest::of(&number.to_le_bytes());
        kept.cache.store(&code(&kept.engine), digest).unwrap();
        digests.push(digest);
    }
    for (age, digest) in digests.iter().enumerate() {
        let used = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age as u64);
        File::open(kept.cache.path(*digest)).unwrap().set_modified(used).unwrap();
    }
    digests
}

impl Kept {
    /// A bound of so many files.
    fn bounded(&mut self, files: u64) {
        self.cache.bytes = files * fs::metadata(self.path()).unwrap().len();
    }

    fn has(&self, digests: &[ComponentDigest]) -> Vec<bool> {
        digests.iter().map(|digest| self.cache.has(*digest)).collect()
    }
}

#[test]
fn over_the_bound_files_longest_unused_go() {
    let mut kept = kept();
    kept.bounded(2);
    let digests = store_more(&kept, 3);
    assert!(kept.cache.load(digests[0]).unwrap().is_some(), "used last from now on");
    kept.cache.start_eviction().unwrap();
    assert_eq!(kept.has(&digests), [true, false, false, true]);
    kept.cache.store(&code(&kept.engine), digests[1]).unwrap();
    assert_eq!(kept.has(&digests), [true, true, false, false]);
}

#[test]
fn code_that_a_slot_needs_is_never_evicted() {
    let mut kept = kept();
    kept.bounded(1);
    let digests = store_more(&kept, 3);
    kept.cache.retain(SlotId::new("captcha"), vec![digests[0], digests[2]]);
    kept.cache.start_eviction().unwrap();
    assert_eq!(kept.has(&digests), [true, false, true, false]);
    kept.cache.retain(SlotId::new("status"), vec![digests[0]]);
    kept.cache.retain(SlotId::new("captcha"), Vec::new());
    kept.cache.start_eviction().unwrap();
    assert_eq!(kept.has(&digests), [true, false, false, false]);
}

#[test]
fn before_slots_are_known_nothing_goes() {
    let kept = kept();
    let digests = store_more(&kept, 3);
    assert_eq!(kept.has(&digests), [true; 4]);
}
