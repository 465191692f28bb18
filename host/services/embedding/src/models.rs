//! Loads the models that the embedding service and the slots use.

use std::sync::Arc;

use bulkhead_config::slots::Slot as SlotSettings;
use bulkhead_models::{Inference, LoadHooks, metrics::InferenceMetrics, models_dir};
use bulkhead_service::ServiceContext;

use super::spec::NAME;

/// Loads the models and starts their threads. Returns `None` where the embedding service is off and no active slot uses
/// models.
pub(super) async fn load(context: &ServiceContext) -> anyhow::Result<Option<Arc<Inference>>> {
    let config = &context.config;
    let uses_models = |slot: &SlotSettings| {
        let names = slot.models.as_ref();
        config.services.uses(&slot.spec) && names.map_or(slot.spec.uses_models, |names| !names.is_empty())
    };
    if !config.services.get(NAME).enabled && !config.slots.each().any(uses_models) {
        return Ok(None);
    }
    let (config, load_hooks) = (config.clone(), context.extensions.get_or_default::<LoadHooks>());
    let figures = context.metrics.set::<InferenceMetrics>()?;
    let metrics = Arc::clone(&figures);
    let start = move || {
        let mut inference = Inference::start(config.table()?, &models_dir(&config)?, metrics)?;
        load_hooks.run(&mut inference).map_err(anyhow::Error::from_boxed)?;
        anyhow::Ok(Arc::new(inference))
    };
    let inference = tokio::task::spawn_blocking(start).await??;
    for model in inference.models() {
        let about = model.model.description();
        let (path, dims, dtype, from) = (model.path_name(), about.dims, about.dtype.as_str(), &about.source);
        let (quantization, source) = (from.quantization, from.source.as_str());
        let revision = from.revision.as_deref().unwrap_or("none");
        tracing::info!(model = model.id, path, dims, dtype, quantization, source, revision, "model ready");
    }
    for missing in inference.missing() {
        tracing::warn!(model = missing.id, remedy = missing.remedy, "model not loaded");
    }
    let waiting = Arc::downgrade(&inference);
    context.metrics.before_scrape(move |_| {
        let stats = waiting.upgrade().map(|inference| inference.stats());
        figures.set_waiting(&stats.unwrap_or_default());
    });
    Ok(Some(inference))
}
