//! What the host's metrics are given to count: faults of connections, and at every scrape what only the engine knows.

use std::sync::{Arc, Weak};

use crate::{
    engine::Engine,
    http::accept::{ConnectionObserver, Fault},
    telemetry::{
        Metrics,
        metrics::{PoolKind, WasmMemory},
    },
};

/// Counts the operators' connections by their faults only: they are not the public's.
#[derive(Clone, Debug)]
pub(super) struct FaultObserver(pub(super) Arc<Metrics>);

impl ConnectionObserver for FaultObserver {
    fn fault(&self, fault: Fault) {
        self.0.fault(fault);
    }
}

/// Has the faults that a connection may end with counted from zero.
pub(super) fn connections(metrics: &Metrics) {
    metrics.http.expect_connection_errors(&Fault::ALL.map(Fault::as_str));
}

/// Has every scrape read what of the instance pool is in use.
pub(super) fn engine(metrics: &Metrics, engine: &Arc<Engine>) {
    let engine: Weak<Engine> = Arc::downgrade(engine);
    metrics.before_scrape(move |metrics| {
        let Some(engine) = engine.upgrade() else { return };
        metrics.set_wasm_memory(WasmMemory { used: engine.memory_in_use() as u64, ..WasmMemory::default() });
        let Some(pool) = engine.pool_metrics() else { return };
        for (kind, in_use) in [
            (PoolKind::ComponentInstances, pool.component_instances()),
            (PoolKind::CoreInstances, pool.core_instances()),
            (PoolKind::Memories, pool.memories() as u64),
            (PoolKind::Tables, pool.tables() as u64),
            (PoolKind::Stacks, pool.stacks() as u64),
        ] {
            metrics.set_pool_slots(kind, in_use);
        }
    });
}
