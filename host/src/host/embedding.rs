//! Builds the embedding service from its configuration.

use std::sync::Arc;

use axum::Router;

use super::Parts;
use crate::{
    config::Config,
    deploy::{LiveKeys, Reloader},
    inference::{Inference, config::Embedding},
    keys::token_hash,
    services::{
        embedding::{
            EmbeddingService,
            http::{self, EmbeddingState},
        },
        list::name,
    },
};

/// The service's routes.
pub(super) async fn build(
    parts: &Parts<'_>,
    inference: &Arc<Inference>,
    reloader: &Reloader,
) -> anyhow::Result<Router> {
    let settings: &Embedding = parts.config.table()?;
    let service = EmbeddingService::new(Arc::clone(inference), settings.request_timeout);
    let state = EmbeddingState::new(
        service,
        settings,
        &parts.config.server,
        &parts.config.services.get(name::EMBEDDING).path_prefix,
        Arc::clone(&parts.metrics),
        parts.metrics.set()?,
    );
    let access = if state.keys.is_empty() { "open to everybody" } else { "guarded by keys" };
    tracing::info!(service = http::error::SERVICE, access, "service on");
    let keys = state.keys.clone();
    let follow = move |config: &Config| {
        if let Ok(embedding) = config.table::<Embedding>() {
            keys.replace(embedding.api_keys.iter().map(|key| token_hash(key.expose())));
        }
    };
    let followed = LiveKeys { keys: &["embedding.api_keys"], restart_keys: &["services.embedding.enabled"] };
    reloader.subscribe(followed, Box::new(follow)).await;
    Ok(http::router(Arc::new(state)))
}
