//! The state that hosts on one PostgreSQL share.

use std::sync::Arc;

use anyhow::Context as _;

use super::Parts;
use crate::{
    config::Config,
    deploy::SharedState,
    services::captcha::config::{Captcha, Database},
    telemetry::Metrics,
};

/// The state in the captcha service's database, where that is PostgreSQL.
pub(super) fn shared(config: &Config, metrics: &Arc<Metrics>) -> anyhow::Result<Option<Arc<SharedState>>> {
    let sharing = &config.sharing;
    let captcha: &Captcha = config.table()?;
    let (Database::Postgres(url), true) = (&captcha.database, sharing.enabled) else {
        return Ok(None);
    };
    let shared = SharedState::new(url.expose(), sharing.poll, Arc::clone(metrics));
    Ok(Some(Arc::new(shared.context("cannot share what answers; check captcha.database")?)))
}

/// Begins to look at it, so that slots that start know what there is, and has every scrape say where they stand.
pub(super) async fn start(parts: &Parts<'_>) {
    let Some(shared) = parts.deployments.shared() else { return };
    shared.start().await;
    let deployments = Arc::downgrade(&parts.deployments);
    parts.metrics.before_scrape(move |metrics| {
        let Some(deployments) = deployments.upgrade() else { return };
        for slot in deployments.all() {
            if let Some(view) = slot.shared() {
                metrics.sharing.generations(slot.slot().as_str(), view.desired, view.applied);
            }
        }
    });
}
