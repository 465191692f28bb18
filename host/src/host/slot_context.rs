//! Builds the parts of the host that all slots share from the configuration.

use std::sync::Arc;

use super::{HOST_KEY, SECRETS_DIR};
use crate::{
    capabilities::CapabilitySet,
    compile::{CacheSettings, Compiler},
    config::Config,
    engine::Engine,
    keys::MasterKey,
    slots::SlotContext,
    telemetry::Metrics,
};

/// Folder of compiled code, in the data folder.
const COMPILED: &str = "compiled";

/// Returns the engine, the compiler and the limits for the slots of `config`, with the capabilities of the host.
///
/// # Errors
/// Fails if the engine cannot be created, or the secret that authenticates compiled code cannot be used.
pub(super) fn new(
    config: &Config,
    metrics: &Arc<Metrics>,
    capabilities: CapabilitySet,
) -> anyhow::Result<SlotContext> {
    let used = config.slots.each().filter(|slot| config.services.uses(&slot.spec));
    let limits = used.map(|slot| &slot.limits);
    let engine = Arc::new(Engine::new(&config.sandbox, limits)?);
    let key = || MasterKey::load_or_generate(&config.data_dir.join(SECRETS_DIR).join(HOST_KEY));
    let cache = config.sandbox.cache.then(key).transpose()?;
    let (folder, bytes) = (config.data_dir.join(COMPILED), config.sandbox.cache_bytes);
    let cache = cache.map(|key| CacheSettings { folder, key, bytes });
    let compiler = Arc::new(Compiler::new(Arc::clone(&engine), &config.sandbox, cache, Arc::clone(metrics)));
    let sandbox = Arc::new(config.sandbox.clone());
    Ok(SlotContext { engine, compiler, sandbox, capabilities })
}
