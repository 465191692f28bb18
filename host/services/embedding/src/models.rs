//! Loads the models that the embedding service or a slot uses.

use std::sync::Arc;

use bulkhead_config::slots::Slot;
use bulkhead_models::{Additions, Inference, metrics::InferenceMetrics, models_dir};
use bulkhead_service::Context;

use super::spec::NAME;

/// The models and their threads; none where the embedding service is off and no slot that is in use wants one.
pub(super) async fn load(context: &Context) -> anyhow::Result<Option<Arc<Inference>>> {
    let config = &context.config;
    let wants_models = |slot: &Slot| {
        let names = slot.models.as_ref();
        config.services.uses(&slot.spec) && names.map_or(slot.spec.uses_models, |names| !names.is_empty())
    };
    if !config.services.get(NAME).enabled && !config.slots.each().any(wants_models) {
        return Ok(None);
    }
    let (config, additions) = (config.clone(), context.extensions.get_or_default::<Additions>());
    let figures = context.metrics.set::<InferenceMetrics>()?;
    let metrics = Arc::clone(&figures);
    let start = move || {
        let mut inference = Inference::start(config.table()?, &models_dir(&config)?, metrics)?;
        additions.make(&mut inference).map_err(anyhow::Error::from_boxed)?;
        anyhow::Ok(Arc::new(inference))
    };
    let inference = tokio::task::spawn_blocking(start).await??;
    for model in inference.models() {
        let about = model.model.description();
        let (dims, dtype) = (about.dims, about.dtype.as_str());
        tracing::info!(model = model.id, path = model.path_name, dims, dtype, "model ready");
    }
    for missing in inference.missing() {
        tracing::warn!(model = missing.id, remedy = missing.remedy, "model not loaded");
    }
    let waiting = Arc::downgrade(&inference);
    context.metrics.before_scrape(move |_| {
        let texts = waiting.upgrade().map_or(0, |inference| inference.stats().waiting_texts);
        figures.waiting.set(texts as f64);
    });
    Ok(Some(inference))
}
