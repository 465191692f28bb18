//! The routes of a host from its start to its end.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use bulkhead_http::{
    accept, heartbeat::Heartbeat, layers::Layers, lifecycle::Lifecycle, listen::Reserved, tls::Certificates,
};
use bulkhead_service::{ListenerSettings, Routes, ServiceContext};
use tokio::task::JoinSet;

use super::start;
use crate::distribution::StartPage;

/// The routes of a host. Dropping it removes them, and with them what services keep for their routes: the host's own parts.
#[derive(Debug)]
pub(super) struct HostRoutes(Routes);

impl HostRoutes {
    /// Returns the owner of the routes.
    pub(super) const fn new(routes: Routes) -> Self {
        Self(routes)
    }

    /// Waits until the requests of all listeners have ended.
    pub(super) async fn stop(&self) {
        self.0.stop().await;
    }
}

impl Drop for HostRoutes {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Opens the shared listener at the address `shared`, and those of services once they have routes. Their accept loops share
/// `heartbeat`. Returns the address of the shared one, which shows `page` if the configuration asks for the demonstration.
/// One of `servers` reloads the certificate.
pub(super) fn serve(
    page: &StartPage,
    context: &ServiceContext,
    shared: Reserved,
    lifecycle: &Lifecycle,
    heartbeat: &Heartbeat,
    servers: &mut JoinSet<()>,
) -> anyhow::Result<SocketAddr> {
    let server = &context.config.server;
    let certificates = server.tls.as_ref().map(Certificates::load).transpose();
    let certificates = certificates.context("cannot serve TLS with --tls-cert and --tls-key (server.tls)")?;
    let connections = accept::ConnectionSettings::new(server, context.metrics.clone());
    let settings = ListenerSettings {
        shared_layer: start::innermost(page, context),
        layers: Layers::new(server, context.metrics.clone()),
        connections: accept::ConnectionSettings { heartbeat: heartbeat.clone(), ..connections },
        certificates: certificates.clone(),
        stopping: lifecycle.stopping(),
        is_starting: true,
    };
    let address = context.routes.open(shared, settings)?;
    if let Some(certificates) = certificates {
        context.health.watch_certificate("server.tls", Arc::clone(&certificates));
        servers.spawn(certificates.watch(lifecycle.stopping()));
    }
    Ok(address)
}
