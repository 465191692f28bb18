//! The engine and the compiler, which all slots share.

use std::sync::Arc;

use super::{HOST_KEY, SECRETS};
use crate::{
    compile::{CacheSettings, Compiler},
    config::Config,
    engine::Engine,
    keys::MasterKey,
    services::capabilities,
    slots::Yard,
    telemetry::Metrics,
};

/// Folder of compiled code, in the data folder.
const COMPILED: &str = "compiled";

/// Builds both as configured, with a cache where the configuration wants one.
pub(super) fn build(config: &Config, metrics: &Arc<Metrics>) -> anyhow::Result<Yard> {
    let used = config.slots.each().filter(|slot| config.services.uses(&slot.spec));
    let limits = used.map(|slot| &slot.limits);
    let engine = Arc::new(Engine::new(&config.sandbox, limits)?);
    let key = || MasterKey::in_file(&config.data_dir.join(SECRETS).join(HOST_KEY));
    let cache = config.sandbox.cache.then(key).transpose()?;
    let (folder, bytes) = (config.data_dir.join(COMPILED), config.sandbox.cache_bytes);
    let cache = cache.map(|key| CacheSettings { folder, key, bytes });
    let compiler = Arc::new(Compiler::new(Arc::clone(&engine), &config.sandbox, cache, Arc::clone(metrics)));
    let sandbox = Arc::new(config.sandbox.clone());
    Ok(Yard { engine, compiler, sandbox, capabilities: capabilities::all() })
}
