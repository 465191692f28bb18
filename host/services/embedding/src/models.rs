//! Loads the models that the embedding service and the slots use.

use std::sync::Arc;

use bulkhead_config::{Config, slots::SlotSettings};
use bulkhead_models::{
    ExaminedModel, Inference, LoadHooks, ModelState, metrics::InferenceMetrics, models_dir,
};
use bulkhead_service::{MachineFinding, ServiceContext};

use super::spec::NAME;

/// Returns whether the embedding service or an active slot uses the models, also one that its service adds.
fn are_used(config: &Config) -> bool {
    let uses_models = |slot: &SlotSettings| {
        let names = slot.models.as_ref();
        config.services.uses(&slot.spec) && names.map_or(slot.spec.uses_models, |names| !names.is_empty())
    };
    config.services.get(NAME).enabled || config.slots.all().any(uses_models)
}

/// Checks the configured models, if they are used, without keeping them.
pub(super) fn examine(config: &Config) -> Vec<MachineFinding> {
    const CHECK: &str = "models";
    if !are_used(config) {
        return vec![MachineFinding::fine(CHECK, "no service that is on uses models")];
    }
    let (settings, folder) = match (config.table(), models_dir(config)) {
        (Ok(settings), Ok(folder)) => (settings, folder),
        (Err(missing), _) | (_, Err(missing)) => {
            return vec![MachineFinding::failure(CHECK, missing.to_string())];
        }
    };
    let found = |ExaminedModel { id, state }: ExaminedModel| match state {
        ModelState::Whole { weights_sha256 } => MachineFinding::fine(
            CHECK,
            format!("`{id}` is whole; its weights have the digest {weights_sha256}"),
        ),
        ModelState::Missing { remedy } => MachineFinding::warning(
            CHECK,
            format!("`{id}` is not there, and a host starts without it; {remedy}"),
        ),
        ModelState::Changed { difference } => MachineFinding::warning(
            CHECK,
            format!("`{id}` is not as it was pulled: {difference}; remove its folder and pull it again"),
        ),
        ModelState::Unusable { fault } => MachineFinding::failure(
            CHECK,
            format!(
                "`{id}` cannot be loaded: {fault}; correct or remove it, or leave it out of embedding.models"
            ),
        ),
    };
    let names = bulkhead_models::name_fault(settings, &folder);
    let names = names.map(|fault| MachineFinding::failure(CHECK, fault.to_string()));
    bulkhead_models::examine(settings, &folder).map(found).chain(names).collect()
}

/// Loads the models and starts their threads. Returns `None` where the embedding service is off and no active slot uses
/// models.
pub(super) async fn load(context: &ServiceContext) -> anyhow::Result<Option<Arc<Inference>>> {
    let config = &context.config;
    if !are_used(config) {
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
