//! Tests of which files load, and which are evicted.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::{os::unix::fs::PermissionsExt as _, sync::Arc};

use tempfile::TempDir;

use super::*;
use crate::{
    compile::tests::{EMPTY, engine},
    keys::MasterKey,
};

struct Fixture {
    folder: TempDir,
    engine: Arc<Engine>,
    cache: Cache,
}

/// Returns a cache that holds the smallest component.
fn fixture() -> Fixture {
    let folder = TempDir::new().unwrap();
    let engine = engine();
    let cache = open(&folder, &engine, "key");
    cache.store(&code(&engine), digest()).unwrap();
    Fixture { folder, engine, cache }
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

impl Fixture {
    fn path(&self) -> PathBuf {
        self.cache.path(digest())
    }

    fn assert_not_authentic(&self, why: &str) {
        let loaded = self.cache.load(digest());
        assert!(matches!(loaded, Err(CacheError::NotAuthentic(_))), "{why}: {loaded:?}");
    }
}

#[test]
fn stored_code_loads_again() {
    let fixture = fixture();
    assert!(fixture.cache.load(digest()).unwrap().is_some());
    assert!(open(&fixture.folder, &fixture.engine, "key").load(digest()).unwrap().is_some());
    assert_eq!(fs::metadata(fixture.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn other_component_is_a_miss() {
    let fixture = fixture();
    assert!(fixture.cache.load(ComponentDigest::of(b"another")).unwrap().is_none());
}

#[test]
fn changed_byte_is_refused() {
    let fixture = fixture();
    let good = fs::read(fixture.path()).unwrap();
    for at in [0, TAG_BYTES - 1, TAG_BYTES, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        *bad.get_mut(at).unwrap() ^= 1;
        fs::write(fixture.path(), bad).unwrap();
        fixture.assert_not_authentic(&format!("byte {at}"));
    }
}

#[test]
fn shorter_or_longer_file_is_refused() {
    let fixture = fixture();
    let good = fs::read(fixture.path()).unwrap();
    for length in [0, 1, TAG_BYTES - 1, TAG_BYTES, good.len() - 1] {
        fs::write(fixture.path(), good.get(..length).unwrap()).unwrap();
        fixture.assert_not_authentic(&format!("cut to {length}"));
    }
    fs::write(fixture.path(), [good.as_slice(), b"\0"].concat()).unwrap();
    fixture.assert_not_authentic("longer");
}

#[test]
fn code_with_another_key_is_refused() {
    let fixture = fixture();
    let other = open(&fixture.folder, &fixture.engine, "another key");
    let loaded = other.load(digest());
    assert!(matches!(loaded, Err(CacheError::NotAuthentic(_))), "{loaded:?}");
}

#[test]
fn foreign_component_or_engine_code_is_refused() {
    let mut fixture = fixture();
    let another = ComponentDigest::of(b"another");
    fs::copy(fixture.path(), fixture.cache.path(another)).unwrap();
    let loaded = fixture.cache.load(another);
    assert!(matches!(loaded, Err(CacheError::NotAuthentic(_))), "{loaded:?}");

    let made_for_this_engine = fixture.path();
    fixture.cache.engine = fixture.cache.engine.wrapping_add(1);
    assert_ne!(made_for_this_engine, fixture.path(), "each engine has a file of its own");
    fs::copy(made_for_this_engine, fixture.path()).unwrap();
    fixture.assert_not_authentic("made for another engine");
}

/// Stores more code, with ages by the order of the digests; the first is the one of the fixture.
fn store_more(fixture: &Fixture, count: u64) -> Vec<ComponentDigest> {
    let mut digests = vec![digest()];
    for number in 1..=count {
        let digest = ComponentDigest::of(&number.to_le_bytes());
        fixture.cache.store(&code(&fixture.engine), digest).unwrap();
        digests.push(digest);
    }
    for (age, digest) in digests.iter().enumerate() {
        let used = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(age as u64);
        File::open(fixture.cache.path(*digest)).unwrap().set_modified(used).unwrap();
    }
    digests
}

impl Fixture {
    /// Limits the cache to a number of files.
    fn limit_to(&mut self, files: u64) {
        self.cache.bytes = files * fs::metadata(self.path()).unwrap().len();
    }

    fn has(&self, digests: &[ComponentDigest]) -> Vec<bool> {
        digests.iter().map(|digest| self.cache.has(*digest)).collect()
    }
}

#[test]
fn least_recently_used_files_are_evicted() {
    let mut fixture = fixture();
    fixture.limit_to(2);
    let digests = store_more(&fixture, 3);
    assert!(fixture.cache.load(digests[0]).unwrap().is_some(), "used last from now on");
    fixture.cache.start_eviction().unwrap();
    assert_eq!(fixture.has(&digests), [true, false, false, true]);
    fixture.cache.store(&code(&fixture.engine), digests[1]).unwrap();
    assert_eq!(fixture.has(&digests), [true, true, false, false]);
}

#[test]
fn retained_code_is_never_evicted() {
    let mut fixture = fixture();
    fixture.limit_to(1);
    let digests = store_more(&fixture, 3);
    fixture.cache.retain(SlotId::new("captcha"), vec![digests[0], digests[2]]);
    fixture.cache.start_eviction().unwrap();
    assert_eq!(fixture.has(&digests), [true, false, true, false]);
    fixture.cache.retain(SlotId::new("status"), vec![digests[0]]);
    fixture.cache.retain(SlotId::new("captcha"), Vec::new());
    fixture.cache.start_eviction().unwrap();
    assert_eq!(fixture.has(&digests), [true, false, false, false]);
}

#[test]
fn nothing_is_evicted_before_eviction_starts() {
    let fixture = fixture();
    let digests = store_more(&fixture, 3);
    assert_eq!(fixture.has(&digests), [true; 4]);
}
