//! Compiles components to machine code: cached, once for concurrent requests, and a bounded number at a time.

mod backend;
mod cache;
#[cfg(feature = "compiler")]
mod child;
mod code;
mod pack;
#[cfg(feature = "compiler")]
mod process;
#[cfg(all(test, feature = "compiler"))]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Instant,
};

use bulkhead_config::{
    sandbox::{PARALLEL_MEMORY, Sandbox},
    slots::SlotId,
};
use bulkhead_telemetry::Metrics;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use wasmtime::component::Component;

use self::{backend::CompileBackend, cache::Cache, code::MachineCode, pack::Pack};
use crate::{background, engine::Engine, keys::MasterKey};

pub use self::{
    cache::CacheError,
    pack::{PackError, check_code},
};
#[cfg(feature = "compiler")]
pub use self::{
    child::compile_if_asked,
    pack::{PackSigner, PackSignerError, compile_pack},
};

/// The error of a component that was not compiled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// The compiler refuses the component.
    #[error("the component does not compile: {0}")]
    Refused(Arc<str>),
    /// It is compiled already, and its code may not run.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// This program has no compiler.
    #[error("this program is built without a compiler; give a component that is compiled for it, a pack")]
    NoCompiler,
    /// The compilation exceeds its processor time.
    #[error(
        "compiling the component takes more than {0} s of processor time; \
         make it smaller or raise sandbox.compile_cpu_seconds"
    )]
    CpuSeconds(u64),
    /// The compilation exceeds its memory.
    #[error(
        "compiling the component takes more than {0} bytes of memory; \
         make it smaller or raise sandbox.compile_memory_bytes"
    )]
    MemoryBytes(u64),
    /// The compiler process returns more bytes than code for this component can have.
    #[error("compiling the component produces more than {0} bytes of code; make it smaller")]
    CodeBytes(u64),
    /// The compiler process failed.
    #[error("the process that compiles the component failed: {0}")]
    Process(Arc<str>),
    /// The worker has stopped, because the host stops.
    #[error("the compile worker has stopped")]
    Stopped,
}

impl CompileError {
    /// Returns whether the component is refused for good. After any other error, a retry may succeed.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Pack(_) | Self::NoCompiler)
    }
}

/// The SHA-256 of a component's bytes, by which it is identified.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ComponentDigest([u8; 32]);

impl ComponentDigest {
    /// Returns the digest of `wasm`.
    pub fn of(wasm: &[u8]) -> Self {
        Self(Sha256::digest(wasm).into())
    }

    /// Parses the text that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text.strip_prefix("sha256:")?, &mut digest).ok()?;
        Some(Self(digest))
    }

    /// Returns the raw 32 bytes.
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

/// Most bytes of a component that does not wait until larger ones are compiled.
const SMALL_BYTES: usize = 512 << 10;

/// The shared result of concurrent requests for one component (single flight).
type Flight = tokio::sync::Mutex<Option<Result<Component, CompileError>>>;

/// Compiles components, a bounded number at a time. Code in the cache is loaded without a permit.
#[derive(Debug)]
pub struct Compiler {
    engine: Arc<Engine>,
    backend: CompileBackend,
    permits: Arc<Semaphore>,
    /// Permits of small components; with little memory the same.
    small_permits: Arc<Semaphore>,
    cache: Option<Arc<Cache>>,
    /// Public keys that sign packs.
    pack_keys: Arc<[String]>,
    /// Packs that are part of this program.
    built_in: HashSet<ComponentDigest>,
    metrics: Arc<Metrics>,
    in_flight: Mutex<HashMap<ComponentDigest, Weak<Flight>>>,
}

/// The settings of the cache of compiled code.
#[derive(Debug)]
pub struct CacheSettings {
    /// A folder that only this host uses; created when missing.
    pub folder: std::path::PathBuf,
    /// The key that authenticates every file.
    pub key: MasterKey,
    /// Most bytes of all files together. Code that a slot needs is kept even above it.
    pub bytes: u64,
}

impl Compiler {
    /// Returns a compiler with `sandbox.compile_workers` permits for small components and as many for others, with little
    /// memory for both together, and with a cache where `cache` is set and its folder is usable.
    pub fn new(
        engine: Arc<Engine>,
        sandbox: &Sandbox,
        cache: Option<CacheSettings>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let backend = CompileBackend::new(&engine, sandbox);
        Self::with_backend(engine, sandbox, cache, metrics, backend)
    }

    fn with_backend(
        engine: Arc<Engine>,
        sandbox: &Sandbox,
        cache: Option<CacheSettings>,
        metrics: Arc<Metrics>,
        backend: CompileBackend,
    ) -> Self {
        // Without a compiler there is nothing to keep.
        let cache = cache.filter(|_| cfg!(feature = "compiler")).and_then(|settings| {
            match Cache::open(settings, &engine) {
                Ok(cache) => Some(Arc::new(cache)),
                Err(error) => {
                    metrics.compile_cache("fault");
                    tracing::warn!(%error, "compiled code is not cached, every start compiles");
                    None
                }
            }
        });
        let permits = Arc::new(Semaphore::new(sandbox.compile_workers));
        let small_permits = match sandbox.memory {
            Some(memory) if memory < PARALLEL_MEMORY => Arc::clone(&permits),
            _ => Arc::new(Semaphore::new(sandbox.compile_workers)),
        };
        let (pack_keys, built_in) = (sandbox.pack_keys.as_slice().into(), HashSet::new());
        let in_flight = Mutex::default();
        Self { engine, backend, permits, small_permits, cache, pack_keys, built_in, metrics, in_flight }
    }

    /// Trusts the packs among components that are part of this program.
    pub fn with_built_in<'w>(self, components: impl IntoIterator<Item = &'w [u8]>) -> Self {
        let packs = components.into_iter().filter(|wasm| Pack::find(wasm).is_some());
        Self { built_in: packs.map(ComponentDigest::of).collect(), ..self }
    }

    /// Returns machine code for `wasm`, which has this digest: its own if it is a pack, else from the cache where that has
    /// an intact copy. Concurrent requests for the same component share the result.
    ///
    /// # Errors
    /// When the component cannot be compiled, or brings code that may not run.
    pub async fn compile(&self, wasm: Arc<[u8]>, digest: ComponentDigest) -> Result<Component, CompileError> {
        let flight = self.flight(digest);
        let mut result = flight.lock().await;
        if let Some(result) = &*result {
            return result.clone();
        }
        let found = if Pack::find(&wasm).is_some() {
            self.load_pack(wasm, digest).await
        } else {
            match self.load(digest).await? {
                Some(component) => Ok(component),
                None => self.compile_uncached(wasm, digest).await,
            }
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

    /// Starts eviction, once every slot has named the components that it needs: before that, no file is known to be
    /// unused.
    pub async fn start_eviction(&self) {
        if let Some(cache) = self.cache.clone() {
            let evict = move || {
                if let Err(error) = cache.start_eviction() {
                    tracing::warn!(%error, "the cache of compiled code cannot be trimmed");
                }
            };
            // The error means that the host stops.
            let _ = in_background(evict).await;
        }
    }

    /// Returns whether eviction has started.
    pub fn evicts(&self) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.evicts())
    }

    /// Returns whether there is a cache without code of this component.
    pub async fn lacks(&self, digest: ComponentDigest) -> bool {
        self.cache.is_some() && self.is_uncached(digest).await
    }

    /// Returns whether `wasm`, which has this digest, has to be compiled: it is not a pack, and no cache has its code.
    pub(crate) async fn has_to_compile(&self, wasm: &[u8], digest: ComponentDigest) -> bool {
        let is_compiled = Pack::find(wasm).is_some();
        cfg!(feature = "compiler") && !is_compiled && self.is_uncached(digest).await
    }

    /// Returns whether there is no cache, or none with code of this component.
    async fn is_uncached(&self, digest: ComponentDigest) -> bool {
        let Some(cache) = self.cache.clone() else { return true };
        in_background(move || !cache.has(digest)).await.unwrap_or(false)
    }

    /// Returns the shared result for a component, an existing one where a request runs.
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

    /// Loads the code that a pack brings.
    async fn load_pack(&self, wasm: Arc<[u8]>, digest: ComponentDigest) -> Result<Component, CompileError> {
        let engine = Arc::clone(&self.engine);
        let keys = (!self.built_in.contains(&digest)).then(|| Arc::clone(&self.pack_keys));
        let load = move || -> Result<Component, PackError> {
            let pack = Pack::find(&wasm).ok_or(PackError::Malformed)??;
            let code = pack.open(keys.as_deref(), engine.code_settings())?;
            code.load(&engine).map_err(|error| PackError::Refused(format!("{error:#}")))
        };
        Ok(in_background(load).await??)
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
    async fn compile_uncached(
        &self,
        wasm: Arc<[u8]>,
        digest: ComponentDigest,
    ) -> Result<Component, CompileError> {
        let permits = if wasm.len() > SMALL_BYTES { &self.permits } else { &self.small_permits };
        let permit = permits.acquire().await.map_err(|_| CompileError::Stopped)?;
        let started = Instant::now();
        let code = self.backend.compile(wasm).await?;
        self.metrics.compiled(started.elapsed());
        drop(permit);
        let (engine, cache, metrics) =
            (Arc::clone(&self.engine), self.cache.clone(), Arc::clone(&self.metrics));
        let load_and_store = move || {
            // Loading also fails for code that exceeds the limits of the pooling allocator.
            let refused = |error| CompileError::Refused(format!("{error:#}").into());
            let component = code.load(&engine).map_err(refused)?;
            if let Some(cache) = cache
                && let Err(error) = cache.store(&code, digest)
            {
                metrics.compile_cache("fault");
                tracing::warn!(component = %digest, %error, "compiled code cannot be cached, continuing without");
            }
            Ok(component)
        };
        in_background(load_and_store).await?
    }
}

/// Runs `work` on a background thread.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CompileError> {
    background::run(work).await.map_err(|_| CompileError::Stopped)
}
