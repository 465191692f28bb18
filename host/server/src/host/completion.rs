//! Completes the start of a host that serves already: waits for its slots, and makes rollbacks ready.

use std::sync::Arc;

use bulkhead_http::lifecycle::Lifecycle;
use bulkhead_rollout::DeploymentRegistry;
use bulkhead_runtime::{background, compile::Compiler};
use bulkhead_service::ServiceContext;
use tokio::task::JoinSet;

/// Declares the host ready once the slots that are `starting` have their versions, and makes rollbacks ready then. Ends
/// early when the host stops. `admin` is the base URL of the operators' listener.
pub(super) fn complete(
    context: &ServiceContext,
    lifecycle: &Lifecycle,
    mut starting: JoinSet<()>,
    admin: &str,
) -> impl Future<Output = ()> + use<> {
    let (deployments, compiler) =
        (Arc::clone(&context.deployments), Arc::clone(&context.slot_context.compiler));
    let (metrics, health) = (Arc::clone(&context.metrics), Arc::clone(&context.health));
    let (lifecycle, mut stopping, admin) = (lifecycle.clone(), lifecycle.stopping(), admin.to_owned());
    async move {
        let completed = async {
            while starting.join_next().await.is_some() {}
            deployments.mark_complete();
            metrics.ready();
            lifecycle.ready();
            let version = env!("CARGO_PKG_VERSION");
            if health.report().is_ready() {
                tracing::info!(admin, version, "ready");
            } else {
                tracing::warn!(admin, version, "serving, but not ready; /health/ready says why");
            }
            precompile(&compiler, &deployments).await;
        };
        tokio::select! {
            () = completed => {}
            () = stopping.wait() => {}
        }
        // What starts still must not use parts of the host that are closed next.
        starting.shutdown().await;
    }
}

/// Compiles the versions that rollbacks return to, after all versions that answer, and loads those of slots that are
/// still monitored.
async fn precompile(compiler: &Compiler, deployments: &DeploymentRegistry) {
    let store = Arc::clone(deployments.store());
    let recovered = move || {
        store.recover();
        // The space in which a rollback is written on a full disk.
        store.ensure_reserve()
    };
    let _ = background::run(recovered).await;
    compiler.start_eviction().await;
    for slot in deployments.all() {
        Arc::clone(&slot).precompile().await;
        slot.hold_predecessor();
    }
}
