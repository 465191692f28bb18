//! Health checks of the ledger, and the host's health for the actuator endpoints.

use std::sync::Arc;

use bulkhead_ledger::Ledger;
use bulkhead_service::{Close, DatabaseState, HostHealth, WatchedDatabase};
use futures_util::future::{BoxFuture, LocalBoxFuture};
use serde_json::{Map, json};

use crate::actuator::{HealthComponent, HealthSource, HealthStatus};

/// The ledger's name in health reports.
pub(super) const LEDGER: &str = "captcha ledger";

/// The open ledger, which the host watches and closes.
#[derive(Debug)]
pub(super) struct OpenLedger(pub(super) Ledger);

impl WatchedDatabase for OpenLedger {
    fn has_been_reached(&self) -> bool {
        self.0.has_been_reached()
    }

    fn ping(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move { self.0.ping().await.map_err(|error| error.to_string()) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move { self.0.probe().await.map_err(|error| error.to_string()) })
    }

    fn clock_fault(&self) -> Option<String> {
        self.0.clock_fault()
    }

    fn disk_fault(&self) -> Option<&'static str> {
        self.0.disk_fault()
    }

    fn outage_mode(&self) -> Option<&'static str> {
        self.0.is_lenient().then_some(
            "payloads are accepted without it, so that one may be accepted twice (captcha.on_ledger_failure = \
             \"allow\")",
        )
    }
}

impl Close for OpenLedger {
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move {
            if let Err(error) = self.0.close().await {
                tracing::error!(%error, "the ledger did not close cleanly");
            }
        })
    }
}

/// The host's health in the terms of the actuator endpoints.
pub(super) struct ActuatorHealth(pub(super) Arc<HostHealth>);

impl HealthSource for ActuatorHealth {
    fn liveness(&self) -> HealthStatus {
        HealthStatus::Up
    }

    fn readiness(&self) -> HealthStatus {
        if self.0.report().is_ready() { HealthStatus::Up } else { HealthStatus::OutOfService }
    }

    fn components(&self) -> Vec<HealthComponent> {
        // The service that this one replaces has no other database.
        let databases = self.0.databases().into_iter().filter(|database| database.name == LEDGER);
        let component = |DatabaseState { name, answers }| {
            let details = Map::from_iter([("database".to_owned(), json!(name))]);
            HealthComponent {
                name: "db",
                status: if answers { HealthStatus::Up } else { HealthStatus::Down },
                details,
            }
        };
        databases.map(component).collect()
    }
}
