//! Builds the parts of the host that all slots share from the configuration.

use std::sync::Arc;

use bulkhead_config::{Config, slots::Limits};
use bulkhead_runtime::{
    capabilities::CapabilitySet,
    compile::{CacheSettings, Compiler},
    engine::Engine,
    keys::MasterKey,
    slots::SlotContext,
};
use bulkhead_service::ServiceList;
use bulkhead_telemetry::Metrics;

use super::{HOST_KEY, SECRETS_DIR};

/// Folder of compiled code, in the data folder.
const COMPILED: &str = "compiled";

/// Returns the engine, the compiler and the limits for the slots of `config` and for those that services may add, with the
/// capabilities of the host.
///
/// # Errors
/// Fails if the engine cannot be created, or the secret that authenticates compiled code cannot be used.
pub(super) fn new(
    services: ServiceList,
    config: &Config,
    metrics: &Arc<Metrics>,
    capabilities: CapabilitySet,
) -> anyhow::Result<SlotContext> {
    let used = config.slots.each().filter(|slot| config.services.uses(&slot.spec));
    let is_on = |name| config.services.get(name).enabled;
    let on = services.iter().filter(|service| is_on(service.spec().name));
    let reserved: Vec<Limits> = on.flat_map(|service| service.reserved_limits(config)).collect();
    let limits = used.map(|slot| &slot.limits);
    let engine = Arc::new(Engine::with_room(&config.sandbox, limits, &reserved)?);
    let key = || MasterKey::load_or_generate(&config.data_dir.join(SECRETS_DIR).join(HOST_KEY));
    let cache = config.sandbox.cache.then(key).transpose()?;
    let (folder, bytes) = (config.data_dir.join(COMPILED), config.sandbox.cache_bytes);
    let cache = cache.map(|key| CacheSettings { folder, key, bytes });
    let compiler = Arc::new(Compiler::new(Arc::clone(&engine), &config.sandbox, cache, Arc::clone(metrics)));
    let sandbox = Arc::new(config.sandbox.clone());
    Ok(SlotContext { engine, compiler, sandbox, capabilities })
}
