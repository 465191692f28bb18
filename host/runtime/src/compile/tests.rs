//! Tests of which requests wait for a compilation.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bulkhead_config::slots::Limits;
use bulkhead_telemetry::exposition::Format;
use tempfile::TempDir;

use super::*;
use crate::engine::tests::sandbox;

/// The smallest component.
pub(super) const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";
/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn engine() -> Arc<Engine> {
    Arc::new(Engine::new(&sandbox(), [&Limits::DEFAULT]).unwrap())
}

/// Counts compilations and blocks them until it is opened.
#[derive(Debug)]
pub(super) struct Gate {
    begun: AtomicUsize,
    open: Semaphore,
}

impl Gate {
    pub(super) async fn pass(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.open.acquire().await.unwrap().forget();
    }
}

/// Returns a component like [`EMPTY`] with another digest.
fn other(number: u8) -> Arc<[u8]> {
    [EMPTY, &[0, 3, 1, b'n', number]].concat().into()
}

/// Returns a component that is not small.
fn large() -> Arc<[u8]> {
    // A section of 1 MiB.
    [EMPTY, &[0, 0x80, 0x80, 0x40, 1, b'n'], &vec![0; (1 << 20) - 2]].concat().into()
}

/// A compiler whose compilations wait at a gate.
struct Gated {
    compiler: Arc<Compiler>,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
    folder: TempDir,
}

impl Gated {
    fn new(compile_workers: usize) -> Self {
        Self::under(&Sandbox { compile_workers, ..sandbox() })
    }

    fn under(sandbox: &Sandbox) -> Self {
        let (folder, engine) = (TempDir::new().unwrap(), engine());
        let metrics = Arc::new(Metrics::new(folder.path().to_owned(), []).unwrap());
        let gate = Arc::new(Gate { begun: AtomicUsize::new(0), open: Semaphore::new(0) });
        let backend = CompileBackend::Gated(Arc::clone(&engine), Arc::clone(&gate));
        let cache = CacheSettings {
            folder: folder.path().join("compiled"),
            key: MasterKey::new("key"),
            bytes: 1 << 30,
        };
        let compiler = Compiler::with_backend(engine, sandbox, Some(cache), Arc::clone(&metrics), backend);
        Self { compiler: Arc::new(compiler), gate, metrics, folder }
    }

    fn compile(&self, wasm: Arc<[u8]>) -> tokio::task::JoinHandle<Result<Component, CompileError>> {
        let compiler = Arc::clone(&self.compiler);
        let digest = ComponentDigest::of(&wasm);
        tokio::spawn(async move { compiler.compile(wasm, digest).await })
    }

    async fn begun(&self, count: usize) {
        let begun = async {
            while self.gate.begun.load(Ordering::SeqCst) < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, begun).await.unwrap();
    }

    fn lookups(&self, result: &str) -> String {
        let text = Format::Text.encode(&self.metrics.gather()).unwrap();
        let name = format!("bulkhead_compile_cache_total{{result=\"{result}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&name)).unwrap().to_owned()
    }
}

#[tokio::test]
async fn cached_code_loads_while_permits_are_held() {
    let gated = Gated::new(1);
    gated.gate.open.add_permits(1);
    gated.compile(EMPTY.into()).await.unwrap().unwrap();
    let (held, waiting) = (gated.compile(other(1)), gated.compile(other(2)));
    gated.begun(2).await;
    tokio::time::timeout(PATIENCE, gated.compile(EMPTY.into())).await.unwrap().unwrap().unwrap();
    assert!(!held.is_finished() && !waiting.is_finished());
    gated.gate.open.add_permits(2);
    held.await.unwrap().unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(gated.gate.begun.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn requests_for_one_component_share_a_compilation() {
    let gated = Gated::new(2);
    let requests = [gated.compile(EMPTY.into()), gated.compile(EMPTY.into())];
    gated.begun(1).await;
    gated.gate.open.add_permits(2);
    for request in requests {
        request.await.unwrap().unwrap();
    }
    assert_eq!(gated.gate.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn small_component_waits_for_no_large_one() {
    let gated = Gated::new(1);
    let large = gated.compile(large());
    gated.begun(1).await;
    let small = gated.compile(EMPTY.into());
    gated.begun(2).await;
    assert!(!large.is_finished());
    gated.gate.open.add_permits(2);
    for compiled in [large, small] {
        compiled.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn small_component_waits_with_little_memory() {
    for (memory, free) in [(None, 1), (Some(256 << 20), 0)] {
        let gated = Gated::under(&Sandbox { compile_workers: 1, memory, ..sandbox() });
        let large = gated.compile(large());
        gated.begun(1).await;
        assert_eq!(gated.compiler.small_permits.available_permits(), free, "{memory:?}");
        gated.gate.open.add_permits(1);
        large.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn cancelled_compilation_continues_for_waiting_request() {
    let gated = Gated::new(1);
    let cancelled = gated.compile(EMPTY.into());
    gated.begun(1).await;
    let waiting = gated.compile(EMPTY.into());
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    gated.begun(2).await;
    gated.gate.open.add_permits(1);
    waiting.await.unwrap().unwrap();
}

/// A damaged file costs a compilation and a warning, and is replaced.
#[tokio::test]
async fn damaged_file_is_recompiled_and_replaced() {
    let gated = Gated::new(1);
    gated.gate.open.add_permits(2);
    gated.compile(EMPTY.into()).await.unwrap().unwrap();
    let folder = gated.folder.path().join("compiled");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, "not code").unwrap();
    gated.compile(EMPTY.into()).await.unwrap().unwrap();
    gated.compile(EMPTY.into()).await.unwrap().unwrap();
    assert_eq!([gated.lookups("fault"), gated.lookups("hit"), gated.lookups("miss")], ["1"; 3]);
    assert_eq!(gated.gate.begun.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn unusable_folder_disables_cache() {
    let gated = Gated::new(1);
    let folder = gated.folder.path().join("taken");
    fs::write(&folder, "a file").unwrap();
    let settings = CacheSettings { folder, key: MasterKey::new("key"), bytes: 1 << 30 };
    let compiler = Compiler::new(engine(), &sandbox(), Some(settings), Arc::clone(&gated.metrics));
    assert!(compiler.cache.is_none());
    assert!(!compiler.lacks(ComponentDigest::of(EMPTY)).await, "there is no cache to fill");
    assert_eq!(gated.lookups("fault"), "1");
}

#[test]
fn digest_round_trips_as_text() {
    let digest = ComponentDigest::of(EMPTY);
    assert_eq!(ComponentDigest::parse(&digest.to_string()), Some(digest));
    for text in ["", "sha256:", "sha256:00", &digest.to_string().replace("sha256", "sha512")] {
        assert_eq!(ComponentDigest::parse(text), None);
    }
}
