//! Gives the host's metrics their values: faults of connections, and at every scrape the engine's pool and memory.

use std::sync::{Arc, Weak};

use bulkhead_http::accept::{ConnectionFault, ConnectionObserver};
use bulkhead_runtime::engine::Engine;
use bulkhead_telemetry::{
    Metrics,
    metrics::{PoolKind, WasmMemory},
};

/// Counts only the faults of the operators' connections; the metrics of connections are those of public listeners.
#[derive(Clone, Debug)]
pub(super) struct FaultObserver(pub(super) Arc<Metrics>);

impl ConnectionObserver for FaultObserver {
    fn fault(&self, fault: ConnectionFault) {
        self.0.fault(fault);
    }
}

/// Lists the faults with which a connection may end, so that each is counted from zero.
pub(super) fn connections(metrics: &Metrics) {
    metrics.http.expect_connection_errors(&ConnectionFault::ALL.map(ConnectionFault::as_str));
}

/// Has every scrape read how much of the instance pool and of the memory is in use.
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
