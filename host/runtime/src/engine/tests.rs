//! Tests of the choice of the allocator.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use bulkhead_config::{HostSpec, Sources};

use super::*;

/// Limits that need more address space than exists.
const ENDLESS: Limits = Limits { max_concurrent: 1_000_000, memory_bytes: 4 << 30, ..Limits::DEFAULT };

/// Returns the default settings.
pub(crate) fn sandbox() -> Sandbox {
    let sources = Sources { root: true, ..Sources::default() };
    bulkhead_config::load(sources, &HostSpec::default()).unwrap().config.sandbox
}

fn engine(allocator: Allocator, limits: &Limits) -> Result<Engine, EngineError> {
    Engine::new(&Sandbox { allocator, ..sandbox() }, [limits])
}

#[test]
fn default_limits_are_pooled() {
    assert!(engine(Allocator::Auto, &Limits::DEFAULT).unwrap().pool_metrics().is_some());
}

#[test]
fn auto_falls_back_to_on_demand() {
    assert!(engine(Allocator::Auto, &ENDLESS).unwrap().pool_metrics().is_none());
}

#[test]
fn pooling_without_address_space_names_keys() {
    let error = engine(Allocator::Pooling, &ENDLESS).err().unwrap().to_string();
    assert!(error.contains("lower slots.*.max_concurrent, sandbox.memories or sandbox.tables"), "{error}");
    assert!(error.contains("or set sandbox.allocator"), "{error}");
}

#[test]
fn memories_are_reserved_unlike_core_instances() {
    let pooled = |sandbox: Sandbox| {
        Engine::new(&Sandbox { allocator: Allocator::Pooling, ..sandbox }, [&Limits::DEFAULT]).is_ok()
    };
    assert!(pooled(Sandbox { core_instances: 10_000, ..sandbox() }));
    assert!(!pooled(Sandbox { memories: 1_000_000, ..sandbox() }));
}

#[test]
#[cfg(feature = "compiler")]
fn compiled_code_is_mapped() {
    for allocator in [Allocator::Pooling, Allocator::OnDemand] {
        engine(allocator, &Limits::DEFAULT).unwrap().check_code().unwrap();
    }
}

#[test]
fn on_demand_has_no_pool() {
    assert!(engine(Allocator::OnDemand, &Limits::DEFAULT).unwrap().pool_metrics().is_none());
}

/// Hashes the settings that decide whether one engine runs code of another.
#[cfg(feature = "compiler")]
fn compatibility(engine: &wasmtime::Engine) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

#[test]
#[cfg(feature = "compiler")]
fn compiling_engine_matches_each_allocator() {
    let engines = [
        engine(Allocator::Pooling, &Limits::DEFAULT).unwrap(),
        engine(Allocator::OnDemand, &Limits::DEFAULT).unwrap(),
        engine(Allocator::Auto, &ENDLESS).unwrap(),
    ];
    let hashes = engines.each_ref().map(|engine| compatibility(engine.wasmtime()));
    for (engine, hash) in engines.iter().zip(hashes) {
        for parallel in [false, true] {
            let compiling = engine.code_settings().compiling(parallel, None).unwrap();
            assert_eq!(compatibility(&compiling), hash, "{engine:?}");
        }
    }
    assert_ne!(hashes[0], hashes[1], "the fallback's code has bounds checks of its own");
}

#[test]
#[cfg(feature = "compiler")]
fn on_demand_host_with_keys_takes_packs() {
    let keyed = |allocator, limits| {
        Engine::new(&Sandbox { allocator, pack_keys: vec!["a key".to_owned()], ..sandbox() }, [limits])
            .unwrap()
    };
    let packed = engine(Allocator::Pooling, &Limits::DEFAULT).unwrap().code_settings();
    let on_demand = keyed(Allocator::OnDemand, &Limits::DEFAULT);
    assert_eq!(on_demand.code_settings(), packed);
    assert_eq!(compatibility(on_demand.wasmtime()), compatibility(&packed.compiling(false, None).unwrap()));
    // One without address space for a pool has none for what packs expect.
    assert_ne!(keyed(Allocator::Auto, &ENDLESS).code_settings(), packed);
}
