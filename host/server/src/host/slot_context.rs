//! Builds the parts of the host that all slots share from the configuration.

use std::sync::Arc;

use bulkhead_config::{Config, slots::Limits};
use bulkhead_runtime::{
    capabilities::CapabilitySet,
    compile::{CacheSettings, Compiler},
    engine::{Engine, EngineError},
    slots::SlotContext,
};
use bulkhead_service::ServiceList;
use bulkhead_telemetry::Metrics;

/// Returns the engine for the slots of `config` and for those that services may add.
///
/// # Errors
/// Fails if the engine cannot be created.
pub(crate) fn engine(services: ServiceList, config: &Config) -> Result<Engine, EngineError> {
    let used = config.slots.each().filter(|slot| config.services.uses(&slot.spec));
    let is_on = |name| config.services.get(name).enabled;
    let on = services.iter().filter(|service| is_on(service.spec().name));
    let reserved: Vec<Limits> = on.flat_map(|service| service.reserved_limits(config)).collect();
    Engine::with_room(&config.sandbox, used.map(|slot| &slot.limits), &reserved)
}

/// Returns the engine, the compiler with its cache and the limits for the slots of `config` and for those that services may
/// add, with the capabilities of the host.
///
/// # Errors
/// Fails if the engine cannot be created.
pub(super) fn new(
    services: ServiceList,
    config: &Config,
    metrics: &Arc<Metrics>,
    capabilities: CapabilitySet,
    cache: Option<CacheSettings>,
) -> anyhow::Result<SlotContext> {
    let engine = Arc::new(engine(services, config)?);
    let built_in = config.slots.each().filter_map(|slot| slot.spec.component);
    let compiler = Compiler::new(Arc::clone(&engine), &config.sandbox, cache, Arc::clone(metrics));
    let compiler = Arc::new(compiler.with_built_in(built_in));
    let sandbox = Arc::new(config.sandbox.clone());
    Ok(SlotContext { engine, compiler, sandbox, capabilities })
}
