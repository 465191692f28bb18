//! The embedding service as a host starts it, from its configuration.

use std::{path::PathBuf, sync::Arc};

use axum::Router;
use bulkhead_config::{
    Config, ServiceSpec,
    alias::Aliases,
    slots::SlotSettings,
    tables::{MissingTable, TableSpec},
};
use bulkhead_inference::engine::BatchObserver;
use bulkhead_models::{
    Inference, SlotModelAccess, config::EmbeddingSettings, embeddings::EmbeddingsCapability,
    metrics::InferenceMetrics, models_dir, nn::NnCapability, rerank::RerankCapability,
};
use bulkhead_rollout::LiveKeys;
use bulkhead_runtime::capabilities::{CapabilitySet, SlotResources};
use bulkhead_service::{
    CommandSpec, FlagsSpec, MachineFinding, MetricRegistrar, PageEntry, PageForm, PageGuide, Service,
    ServiceContext, ServiceFuture, Started,
};

use crate::{
    EmbeddingService,
    alias::ALIASES,
    command::Command,
    flags::Flags,
    http::{self, EmbeddingState},
    metrics::{EmbeddingMetrics, TeiMetrics},
    models,
    spec::{NAME, SPEC},
};

const METRICS: &[MetricRegistrar] = &[
    MetricRegistrar::of::<InferenceMetrics>(),
    MetricRegistrar::of::<EmbeddingMetrics>(),
    MetricRegistrar::of::<TeiMetrics>(),
];

/// The embedding service in the list of services. It owns the models, which guests of other services use too.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingPlugin;

impl Service for EmbeddingPlugin {
    fn spec(&self) -> ServiceSpec {
        SPEC
    }

    fn metrics(&self) -> &'static [MetricRegistrar] {
        METRICS
    }

    fn tables(&self) -> &'static [TableSpec] {
        const { &[TableSpec::of::<EmbeddingSettings>()] }
    }

    fn aliases(&self) -> Aliases {
        ALIASES
    }

    fn commands(&self) -> &'static [CommandSpec] {
        const { &[CommandSpec::of::<Command>()] }
    }

    fn bundled_folders(&self, config: &Config) -> Result<Vec<(&'static str, PathBuf)>, MissingTable> {
        Ok(vec![("models", models_dir(config)?)])
    }

    fn serve_flags(&self) -> &'static [FlagsSpec] {
        const { &[FlagsSpec::of::<Flags>()] }
    }

    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        capabilities.with(NnCapability).with(EmbeddingsCapability).with(RerankCapability)
    }

    fn examine(&self, config: &Config) -> Vec<MachineFinding> {
        models::examine(config)
    }

    fn page_entry(&self, _config: &Config) -> PageEntry {
        PageEntry {
            docs: Some("docs"),
            about: "Vectors of texts",
            form: Some(PageForm {
                html: include_str!("page/form.html"),
                script: include_str!("page/form.js"),
            }),
            guide: Some(PageGuide { title: "Embedding", text: include_str!("../README.md") }),
            ..PageEntry::default()
        }
    }

    fn load<'a>(&'a self, context: &'a ServiceContext) -> ServiceFuture<'a, ()> {
        Box::pin(async move {
            if let Some(inference) = models::load(context).await? {
                context.extensions.insert(inference);
            }
            Ok(())
        })
    }

    fn provide(
        &self,
        context: &ServiceContext,
        settings: &SlotSettings,
        resources: &mut SlotResources,
    ) -> anyhow::Result<()> {
        let metrics = context.metrics.set::<InferenceMetrics>()?.slot(settings.id());
        resources.insert(Arc::new(SlotModelAccess::new(settings, context.extensions.get(), metrics)));
        Ok(())
    }

    fn start<'a>(&'a self, context: &'a ServiceContext) -> ServiceFuture<'a, Started> {
        Box::pin(async move {
            match context.extensions.get::<Inference>() {
                Some(inference) => Ok(Started::with_router(build(context, inference).await?)),
                None => Ok(Started::default()),
            }
        })
    }
}

/// Starts the service and returns its routes.
async fn build(context: &ServiceContext, inference: Arc<Inference>) -> anyhow::Result<Router> {
    let settings: &EmbeddingSettings = context.config.table()?;
    let service = EmbeddingService::new(inference, settings.request_timeout, settings.work_time);
    let state = EmbeddingState::new(
        service,
        settings,
        &context.config.server,
        &context.config.services.get(NAME).path_prefix,
        Arc::clone(&context.metrics),
        (context.metrics.set()?, context.metrics.set()?),
    );
    let (waiting, tei_metrics) = (Arc::downgrade(&state.service.inference), Arc::clone(&state.tei_metrics));
    context.metrics.before_scrape(move |_| {
        let texts = waiting.upgrade().map_or(0, |inference| inference.stats().waiting_texts);
        tei_metrics.waiting.set(texts as f64);
    });
    let tei_metrics = Arc::clone(&state.tei_metrics);
    let observer: BatchObserver =
        Arc::new(move |texts: usize, tokens: usize| tei_metrics.record_batch(texts, tokens));
    state.service.inference.observe_batches(&observer);
    let access = if state.callers.need_key() { "guarded by keys" } else { "open to everybody" };
    tracing::info!(service = http::error::SERVICE, access, "the service runs");
    let (callers, inference) = (state.callers.clone(), Arc::downgrade(&state.service.inference));
    let reload = move |config: &Config| {
        let Ok(embedding) = config.table::<EmbeddingSettings>() else { return };
        callers.replace(embedding);
        if let Some(inference) = inference.upgrade() {
            inference.set_shares(embedding.shares);
        }
    };
    let live_keys = LiveKeys {
        keys: &["embedding.api_keys", "embedding.keys", "embedding.shares"],
        restart_keys: &["services.embedding.enabled"],
    };
    context.reloader.subscribe(live_keys, Box::new(reload)).await;
    Ok(http::router(Arc::new(state)))
}
