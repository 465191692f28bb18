//! From WebAssembly bytes to machine code: cached, compiled once at a time, a bounded number at once.

mod cache;
mod child;
mod code;
mod process;
#[cfg(test)]
mod tests;
mod translator;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Instant,
};

use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use wasmtime::component::Component;

use self::{cache::Cache, code::MachineCode, translator::Translator};
pub use self::{cache::CacheError, child::compile_if_asked};
use crate::{
    background,
    config::{sandbox::Sandbox, slots::SlotId},
    engine::Engine,
    keys::MasterKey,
    telemetry::Metrics,
};

/// Why a component has no machine code.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// The compiler refuses it.
    #[error("the component does not compile: {0}")]
    Refused(Arc<str>),
    /// It takes longer than it may.
    #[error(
        "compiling the component takes more than {0} s of processor time; \
         make it smaller or raise sandbox.compile_cpu_seconds"
    )]
    CpuSeconds(u64),
    /// It takes more memory than it may.
    #[error(
        "compiling the component takes more than {0} bytes of memory; \
         make it smaller or raise sandbox.compile_memory_bytes"
    )]
    MemoryBytes(u64),
    /// The process that compiles gives more than any code of this component can be.
    #[error("compiling the component gives more than {0} bytes of code; make it smaller")]
    CodeBytes(u64),
    /// The process that compiles has failed.
    #[error("the process that compiles the component failed: {0}")]
    Process(Arc<str>),
    /// The worker is gone, which happens when the host stops.
    #[error("the compile worker has stopped")]
    Stopped,
}

impl CompileError {
    /// Whether the compiler has refused the component: anything else may pass.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// The sha256 of a component's bytes: its name everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ComponentDigest([u8; 32]);

impl ComponentDigest {
    /// The digest of `wasm`.
    pub fn of(wasm: &[u8]) -> Self {
        Self(Sha256::digest(wasm).into())
    }

    /// Reads the form that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text.strip_prefix("sha256:")?, &mut digest).ok()?;
        Some(Self(digest))
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

/// The result of loading or compiling one component, for all who wait for it.
type Flight = tokio::sync::Mutex<Option<Result<Component, CompileError>>>;

/// Compiles components, a bounded number at once. Code in the cache is loaded without waiting for any of them.
#[derive(Debug)]
pub struct Compiler {
    engine: Arc<Engine>,
    translator: Translator,
    permits: Semaphore,
    cache: Option<Arc<Cache>>,
    metrics: Arc<Metrics>,
    in_flight: Mutex<HashMap<ComponentDigest, Weak<Flight>>>,
}

/// Where compiled code is kept between starts.
#[derive(Debug)]
pub struct CacheSettings {
    /// Folder of the host's own; made when missing.
    pub folder: std::path::PathBuf,
    /// Keys the authentication of every file.
    pub key: MasterKey,
    /// Size of all files together, bytes. Code that a slot needs stays beyond it.
    pub bytes: u64,
}

impl Compiler {
    /// Returns a compiler with `sandbox.compile_workers` permits and, when asked for and to be had, a cache.
    pub fn new(
        engine: Arc<Engine>,
        sandbox: &Sandbox,
        cache: Option<CacheSettings>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let translator = Translator::new(&engine, sandbox);
        Self::with_translator(engine, sandbox, cache, metrics, translator)
    }

    fn with_translator(
        engine: Arc<Engine>,
        sandbox: &Sandbox,
        cache: Option<CacheSettings>,
        metrics: Arc<Metrics>,
        translator: Translator,
    ) -> Self {
        let cache = cache.and_then(|settings| match Cache::open(settings, &engine) {
            Ok(cache) => Some(Arc::new(cache)),
            Err(error) => {
                metrics.compile_cache("fault");
                tracing::warn!(%error, "compiled code is not cached, every start compiles");
                None
            }
        });
        let permits = Semaphore::new(sandbox.compile_workers);
        Self { engine, translator, permits, cache, metrics, in_flight: Mutex::default() }
    }

    /// Returns machine code for `wasm`, which has this digest, from the cache where it is there and whole. Requests for the
    /// same component meanwhile share the result.
    ///
    /// # Errors
    /// When the compiler refuses the component.
    pub async fn compile(&self, wasm: Arc<[u8]>, digest: ComponentDigest) -> Result<Component, CompileError> {
        let flight = self.flight(digest);
        let mut result = flight.lock().await;
        if let Some(result) = &*result {
            return result.clone();
        }
        let found = match self.load(digest).await? {
            Some(component) => Ok(component),
            None => self.translate(wasm, digest).await,
        };
        *result = Some(found.clone());
        found
    }

    /// Keeps the compiled code of these components in the cache, until `slot` names others.
    pub fn retain(&self, slot: SlotId, digests: Vec<ComponentDigest>) {
        if let Some(cache) = &self.cache {
            cache.retain(slot, digests);
        }
    }

    /// Lets the cache evict, once every slot has named what it needs: before that nothing is known to be spare.
    pub async fn start_eviction(&self) {
        if let Some(cache) = self.cache.clone() {
            let evict = move || {
                if let Err(error) = cache.start_eviction() {
                    tracing::warn!(%error, "the cache of compiled code cannot be trimmed");
                }
            };
            // An error means that the host stops.
            let _ = in_background(evict).await;
        }
    }

    /// Whether every slot has named what it needs.
    pub fn evicts(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.evicts())
    }

    /// Whether there is a cache and it has no code of this component.
    pub async fn lacks(&self, digest: ComponentDigest) -> bool {
        let Some(cache) = self.cache.clone() else { return false };
        in_background(move || !cache.has(digest)).await.unwrap_or(false)
    }

    fn flight(&self, digest: ComponentDigest) -> Arc<Flight> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        in_flight.retain(|_, flight| flight.strong_count() > 0);
        if let Some(flight) = in_flight.get(&digest).and_then(Weak::upgrade) {
            return flight;
        }
        let flight = Arc::new(Flight::default());
        in_flight.insert(digest, Arc::downgrade(&flight));
        flight
    }

    /// Loads code from the cache.
    async fn load(&self, digest: ComponentDigest) -> Result<Option<Component>, CompileError> {
        let Some(cache) = self.cache.clone() else { return Ok(None) };
        let (engine, metrics) = (Arc::clone(&self.engine), Arc::clone(&self.metrics));
        let load = move || {
            let code = cache.load(digest);
            let loaded = code.and_then(|code| {
                code.map(|code| code.load(&engine)).transpose().map_err(CacheError::Refused)
            });
            match loaded {
                Ok(Some(component)) => {
                    metrics.compile_cache("hit");
                    return Some(component);
                }
                Ok(None) => metrics.compile_cache("miss"),
                Err(error) => {
                    metrics.compile_cache("fault");
                    tracing::warn!(component = %digest, %error, "compiled code in the cache is not usable, compiling again");
                }
            }
            None
        };
        in_background(load).await
    }

    /// Compiles once a permit is free, and caches the code.
    async fn translate(&self, wasm: Arc<[u8]>, digest: ComponentDigest) -> Result<Component, CompileError> {
        let permit = self.permits.acquire().await.map_err(|_| CompileError::Stopped)?;
        let started = Instant::now();
        let code = self.translator.translate(wasm).await?;
        self.metrics.compiled(started.elapsed());
        drop(permit);
        let (engine, cache, metrics) =
            (Arc::clone(&self.engine), self.cache.clone(), Arc::clone(&self.metrics));
        let keep = move || {
            // What the pool has no room for is found only here.
            let refused = |error| CompileError::Refused(format!("{error:#}").into());
            let component = code.load(&engine).map_err(refused)?;
            if let Some(cache) = cache
                && let Err(error) = cache.store(&code, digest)
            {
                metrics.compile_cache("fault");
                tracing::warn!(component = %digest, %error, "compiled code cannot be cached, going on without");
            }
            Ok(component)
        };
        in_background(keep).await?
    }
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CompileError> {
    background::run(work).await.map_err(|_| CompileError::Stopped)
}
