//! Builds the embedding service from its configuration.

use std::sync::Arc;

use axum::Router;

use super::Parts;
use crate::{
    http::embedding::{self, EmbeddingState},
    services::embedding::{EmbeddingService, models_dir},
};

/// Loads the models and gives back the service's routes.
pub(super) async fn build(parts: &Parts<'_>) -> anyhow::Result<Router> {
    let settings = parts.config.embedding.clone();
    let folder = models_dir(parts.config);
    let metrics = Arc::clone(&parts.metrics);
    let start = move || EmbeddingService::start(&settings, &folder, metrics);
    let service = tokio::task::spawn_blocking(start).await??;
    for model in service.models() {
        let about = model.model.description();
        let (dims, dtype) = (about.dims, about.dtype.as_str());
        tracing::info!(model = model.id, path = model.path_name, dims, dtype, "model ready");
    }
    for missing in service.missing() {
        tracing::warn!(model = missing.id, remedy = missing.remedy, "model not loaded");
    }
    let settings = &parts.config.embedding;
    let state = EmbeddingState::new(service, settings, &parts.config.server, Arc::clone(&parts.metrics));
    let access = if state.keys.is_empty() { "open to everybody" } else { "guarded by keys" };
    tracing::info!(service = embedding::error::SERVICE, access, "service on");
    let state = Arc::new(state);
    let waiting = Arc::downgrade(&state);
    parts.metrics.before_scrape(move |metrics| {
        let texts = waiting.upgrade().map_or(0, |state| state.service.stats().waiting_texts);
        metrics.embedding.waiting.set(texts as f64);
    });
    Ok(embedding::router(state))
}
