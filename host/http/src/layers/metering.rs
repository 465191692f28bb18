//! Records connections and requests in the host's metrics.

use bulkhead_telemetry::{
    metrics::{Answered, Metrics},
    series::InProgress,
};

use super::access_log::{Exchange, RequestObserver};
use crate::accept::{ConnectionFault, ConnectionObserver};

impl ConnectionObserver for Metrics {
    fn opened(&self) {
        self.http.connections.inc();
    }

    fn closed(&self) {
        self.http.connections.dec();
    }

    fn fault(&self, fault: ConnectionFault) {
        self.http.connection_error(fault.as_str());
    }
}

impl RequestObserver for Metrics {
    fn begin(&self) -> Option<InProgress> {
        Some(self.http.begin())
    }

    fn end(&self, exchange: &Exchange<'_>) {
        // A request whose client has gone has no answer to count.
        let Some(status) = exchange.status else { return };
        self.http.answered(&Answered {
            service: exchange.served.service,
            route: exchange.route,
            method: exchange.method,
            status: status.as_u16(),
            error: exchange.served.error,
            elapsed: exchange.elapsed,
        });
    }
}
