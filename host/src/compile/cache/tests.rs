//! Which files are taken back, and which never are.

#![allow(clippy::unwrap_used)]

use std::{os::unix::fs::PermissionsExt as _, sync::Arc};

use tempfile::TempDir;

use super::*;
use crate::{
    compile::Compiler,
    config::slots::Limits,
    engine::tests::sandbox,
    keys::MasterKey,
    telemetry::{Metrics, exposition::Format},
};

/// The smallest component there is.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

fn engine() -> Arc<Engine> {
    Arc::new(Engine::new(&sandbox(), [&Limits::DEFAULT]).unwrap())
}

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
    let component = Component::from_binary(engine.wasmtime(), EMPTY).unwrap();
    cache.store(&component, digest()).unwrap();
    Kept { folder, engine, cache }
}

fn open(folder: &TempDir, engine: &Engine, key: &str) -> Cache {
    let settings = CacheSettings { folder: folder.path().join("compiled"), key: MasterKey::new(key) };
    Cache::open(settings, engine).unwrap()
}

fn digest() -> ComponentDigest {
    ComponentDigest::of(EMPTY)
}

impl Kept {
    fn path(&self) -> PathBuf {
        self.cache.path(digest())
    }

    fn assert_not_ours(&self, why: &str) {
        let loaded = self.cache.load(&self.engine, digest());
        assert!(matches!(loaded, Err(CacheError::NotOurs(_))), "{why}: {loaded:?}");
    }
}

#[test]
fn what_was_kept_is_taken_back() {
    let kept = kept();
    assert!(kept.cache.load(&kept.engine, digest()).unwrap().is_some());
    assert!(open(&kept.folder, &kept.engine, "key").load(&kept.engine, digest()).unwrap().is_some());
    assert_eq!(fs::metadata(kept.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_was_not_kept_is_a_miss() {
    let kept = kept();
    assert!(kept.cache.load(&kept.engine, ComponentDigest::of(b"another")).unwrap().is_none());
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
    let loaded = other.load(&kept.engine, digest());
    assert!(matches!(loaded, Err(CacheError::NotOurs(_))), "{loaded:?}");
}

#[test]
fn code_of_another_component_or_engine_is_refused() {
    let mut kept = kept();
    let another = ComponentDigest::of(b"another");
    fs::copy(kept.path(), kept.cache.path(another)).unwrap();
    let loaded = kept.cache.load(&kept.engine, another);
    assert!(matches!(loaded, Err(CacheError::NotOurs(_))), "{loaded:?}");

    let made_for_ours = kept.path();
    kept.cache.engine = kept.cache.engine.wrapping_add(1);
    assert_ne!(made_for_ours, kept.path(), "each engine has a file of its own");
    fs::copy(made_for_ours, kept.path()).unwrap();
    kept.assert_not_ours("made for another engine");
}

#[test]
fn the_oldest_files_go() {
    let kept = kept();
    let component = Component::from_binary(kept.engine.wasmtime(), EMPTY).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH;
    fs::File::options().append(true).open(kept.path()).unwrap().set_modified(old).unwrap();
    for number in 0..FILES {
        kept.cache.store(&component, ComponentDigest::of(&number.to_le_bytes())).unwrap();
    }
    assert!(kept.cache.load(&kept.engine, digest()).unwrap().is_none());
    assert_eq!(fs::read_dir(&kept.cache.folder).unwrap().count(), FILES);
}

/// A damaged file costs a compilation and a warning, and is replaced.
#[tokio::test]
async fn a_fault_is_compiled_around() {
    let kept = kept();
    fs::write(kept.path(), "not code").unwrap();
    let metrics = Arc::new(Metrics::new(kept.folder.path().to_owned()).unwrap());
    let key = MasterKey::new("key");
    let settings = CacheSettings { folder: kept.folder.path().join("compiled"), key };
    let engine = Arc::clone(&kept.engine);
    let compiler = Compiler::new(engine, 1, Some(settings), Arc::clone(&metrics));
    compiler.compile(EMPTY.into()).await.unwrap();
    compiler.compile(EMPTY.into()).await.unwrap();
    let text = Format::Text.encode(&metrics.gather()).unwrap();
    for (result, count) in [("fault", 1), ("hit", 1), ("miss", 0)] {
        let line = format!("bulkhead_compile_cache_total{{result=\"{result}\"}} {count}\n");
        assert!(text.contains(&line), "{line}{text}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_had_is_gone_without() {
    let (folder, engine) = (TempDir::new().unwrap(), engine());
    fs::write(folder.path().join("compiled"), "a file").unwrap();
    let metrics = Arc::new(Metrics::new(folder.path().to_owned()).unwrap());
    let settings = CacheSettings { folder: folder.path().join("compiled"), key: MasterKey::new("key") };
    let compiler = Compiler::new(engine, 1, Some(settings), Arc::clone(&metrics));
    compiler.compile(EMPTY.into()).await.unwrap();
    let text = Format::Text.encode(&metrics.gather()).unwrap();
    assert!(text.contains("bulkhead_compile_cache_total{result=\"fault\"} 1\n"), "{text}");
}
