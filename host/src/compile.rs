//! From WebAssembly bytes to machine code: bounded, off the request path, cached.

mod cache;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use wasmtime::component::Component;

use self::cache::Cache;
pub use self::cache::CacheError;
use crate::{background, engine::Engine, keys::MasterKey, telemetry::Metrics};

/// Why a component has no machine code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The compiler refuses it.
    #[error("the component does not compile: {0:#}")]
    Refused(wasmtime::Error),
    /// The worker is gone, which happens when the host stops.
    #[error("the compile worker has stopped")]
    Stopped,
}

/// The sha256 of a component's bytes: its name everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ComponentDigest([u8; 32]);

impl ComponentDigest {
    /// The digest of `wasm`.
    pub fn of(wasm: &[u8]) -> Self {
        Self(Sha256::digest(wasm).into())
    }

    /// The raw 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for ComponentDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sha256:{}", hex::encode(self.0))
    }
}

impl std::fmt::Debug for ComponentDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Compiles components, a bounded number at once.
#[derive(Debug)]
pub struct Compiler {
    engine: Arc<Engine>,
    workers: Semaphore,
    cache: Option<Arc<Cache>>,
    metrics: Arc<Metrics>,
}

/// Where compiled code is kept between starts.
#[derive(Debug)]
pub struct CacheSettings {
    /// Folder of the host's own; made when missing.
    pub folder: std::path::PathBuf,
    /// Keys the authentication of every file.
    pub key: MasterKey,
}

impl Compiler {
    /// A compiler with `workers` places and, when asked for and to be had, a cache.
    pub fn new(
        engine: Arc<Engine>,
        workers: usize,
        cache: Option<CacheSettings>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let cache = cache.and_then(|settings| match Cache::open(settings, &engine) {
            Ok(cache) => Some(Arc::new(cache)),
            Err(error) => {
                metrics.compile_cache("fault");
                tracing::warn!(%error, "compiled code is not cached, every start compiles");
                None
            }
        });
        Self { engine, workers: Semaphore::new(workers), cache, metrics }
    }

    /// Machine code for `wasm`, from the cache where it is there and whole.
    ///
    /// # Errors
    /// When the compiler refuses the component.
    pub async fn compile(&self, wasm: Arc<[u8]>) -> Result<Component, CompileError> {
        let _place = self.workers.acquire().await.map_err(|_| CompileError::Stopped)?;
        let engine = Arc::clone(&self.engine);
        let cache = self.cache.clone();
        let metrics = Arc::clone(&self.metrics);
        background::run(move || compile(&engine, cache.as_deref(), &metrics, &wasm))
            .await
            .map_err(|_| CompileError::Stopped)?
    }
}

fn compile(
    engine: &Engine,
    cache: Option<&Cache>,
    metrics: &Metrics,
    wasm: &[u8],
) -> Result<Component, CompileError> {
    let digest = ComponentDigest::of(wasm);
    if let Some(cache) = cache {
        match cache.load(engine, digest) {
            Ok(Some(component)) => {
                metrics.compile_cache("hit");
                return Ok(component);
            }
            Ok(None) => metrics.compile_cache("miss"),
            Err(error) => {
                metrics.compile_cache("fault");
                tracing::warn!(%digest, %error, "compiled code in the cache is not usable, compiling again");
            }
        }
    }
    let started = std::time::Instant::now();
    let component = Component::from_binary(engine.wasmtime(), wasm).map_err(CompileError::Refused)?;
    metrics.compiled(started.elapsed());
    if let Some(cache) = cache
        && let Err(error) = cache.store(&component, digest)
    {
        metrics.compile_cache("fault");
        tracing::warn!(%digest, %error, "compiled code cannot be cached, going on without");
    }
    Ok(component)
}
