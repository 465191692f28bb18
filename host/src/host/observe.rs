//! Joins what HTTP and the engine see to the metrics.

use std::sync::{Arc, Weak};

use crate::{
    engine::Engine,
    http::{
        accept::{ConnectionObserver, Fault},
        access_log::{Exchange, RequestObserver},
    },
    telemetry::{
        Metrics,
        metrics::{Answered, PoolKind},
    },
};

/// Status counted for a client that left before its answer; nginx's number.
const CLIENT_GONE: u16 = 499;

/// Counts connections and requests of the public listeners.
#[derive(Clone, Debug)]
pub(super) struct Observer(pub(super) Arc<Metrics>);

impl Observer {
    /// Counts the faults of the operators' listener, whose connections are not the public's.
    pub(super) fn without_gauge(&self) -> FaultObserver {
        FaultObserver(Arc::clone(&self.0))
    }
}

impl ConnectionObserver for Observer {
    fn opened(&self) {
        self.0.http.connections.inc();
    }

    fn closed(&self) {
        self.0.http.connections.dec();
    }

    fn fault(&self, fault: Fault) {
        self.0.http.connection_error(fault.as_str());
    }
}

impl RequestObserver for Observer {
    fn begin(&self) -> Box<dyn Send> {
        Box::new(self.0.http.begin())
    }

    fn end(&self, exchange: &Exchange<'_>) {
        self.0.http.answered(&Answered {
            service: exchange.served.service,
            route: exchange.route,
            method: exchange.method,
            status: exchange.status.map_or(CLIENT_GONE, |status| status.as_u16()),
            error: exchange.served.error,
            elapsed: exchange.elapsed,
        });
    }
}

/// Counts faults only.
#[derive(Clone, Debug)]
pub(super) struct FaultObserver(Arc<Metrics>);

impl ConnectionObserver for FaultObserver {
    fn fault(&self, fault: Fault) {
        self.0.http.connection_error(fault.as_str());
    }
}

/// Has every scrape read what of the instance pool is in use.
pub(super) fn engine(metrics: &Metrics, engine: &Arc<Engine>) {
    let engine: Weak<Engine> = Arc::downgrade(engine);
    metrics.before_scrape(move |metrics| {
        let Some(pool) = engine.upgrade().and_then(|engine| engine.pool_metrics()) else { return };
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
