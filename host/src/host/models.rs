//! Loads the models that the embedding service or a slot uses.

use std::sync::Arc;

use super::{Parts, heads};
use crate::{
    config::slots::Slot,
    inference::{Inference, models_dir},
    services::list::name,
};

/// The models and their threads; none where the embedding service is off and no slot that is in use wants one.
pub(super) async fn load(parts: &Parts<'_>) -> anyhow::Result<Option<Arc<Inference>>> {
    let config = parts.config;
    let wants_models = |slot: &Slot| {
        let names = slot.models.as_ref();
        config.services.uses(&slot.spec) && names.map_or(slot.spec.uses_models, |names| !names.is_empty())
    };
    if !config.services.get(name::EMBEDDING).enabled && !config.slots.each().any(wants_models) {
        return Ok(None);
    }
    let (config, rules) = (config.clone(), parts.rules.clone());
    let metrics = Arc::clone(&parts.inference_metrics);
    let start = move || {
        let mut inference = Inference::start(config.table()?, &models_dir(&config)?, metrics)?;
        if let Some(rules) = rules.filter(|_| config.services.get(name::TICKETS).enabled) {
            heads::teach(&config, &rules, &mut inference)?;
        }
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
    let (waiting, figures) = (Arc::downgrade(&inference), Arc::clone(&parts.inference_metrics));
    parts.metrics.before_scrape(move |_| {
        let texts = waiting.upgrade().map_or(0, |inference| inference.stats().waiting_texts);
        figures.waiting.set(texts as f64);
    });
    Ok(Some(inference))
}
