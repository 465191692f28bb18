//! The host's parts, put together as the host itself does, with what a bench or a test leaves out: no admin listener, no
//! compiled-code cache.

use std::sync::Arc;

use crate::host::load;
use bulkhead::{
    capabilities::SlotResources,
    compile::Compiler,
    config::{
        Config,
        slots::{SlotId, SlotSettings},
    },
    engine::Engine,
    http::{
        accept::{self, ConnectionSettings},
        layers::{self, Layers},
        lifecycle::Lifecycle,
        listen,
    },
    inference::{SlotModelAccess, metrics::InferenceMetrics},
    pow::Pow,
    services::list,
    slots::SlotContext,
    telemetry::Metrics,
};
use tempfile::TempDir;

/// What a service is built from.
pub struct Parts {
    pub config: Config,
    pub metrics: Arc<Metrics>,
    pub context: SlotContext,
    pub folder: TempDir,
    pow: Arc<Pow>,
}

impl Parts {
    pub fn new(config: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let flags = vec![("data_dir".to_owned(), folder.path().display().to_string())];
        let config = load(config, Vec::new(), flags).unwrap();
        let metrics = Arc::new(Metrics::new(config.data_dir.clone(), config.slots.ids()).unwrap());
        list::register_metrics(&metrics).unwrap();
        let limits = config.slots.each().map(|slot| &slot.limits);
        let engine = Arc::new(Engine::new(&config.sandbox, limits).unwrap());
        let compiler = Compiler::new(Arc::clone(&engine), &config.sandbox, None, Arc::clone(&metrics));
        let sandbox = Arc::new(config.sandbox.clone());
        let pow = Arc::new(Pow::start(config.sandbox.pow_threads, config.sandbox.pow_queue).unwrap());
        let context =
            SlotContext { engine, compiler: Arc::new(compiler), sandbox, capabilities: list::capabilities() };
        Self { metrics, context, folder, pow, config }
    }

    /// The settings of a slot.
    pub fn slot(&self, id: SlotId) -> &SlotSettings {
        self.config.slots.get(id).unwrap()
    }

    /// What a slot's calls share, with proof-of-work threads and without models.
    pub fn resources(&self, slot: SlotId) -> SlotResources {
        let (settings, figures) = (self.slot(slot), self.metrics.set::<InferenceMetrics>().unwrap());
        let mut resources = SlotResources::new(settings, Arc::clone(&self.metrics));
        resources.insert(Arc::clone(&self.pow));
        resources.insert(Arc::new(SlotModelAccess::new(settings, None, figures.slot(slot))));
        resources
    }

    /// Serves `router` behind the host's own layers and accept loop, for ever; says where first.
    pub async fn serve(&self, router: axum::Router) {
        let server = &self.config.server;
        let router = layers::with_layers(router, Layers::new(server, self.metrics.clone()));
        let bound = listen::bind("server.listen", ([127, 0, 0, 1], 0).into(), None).unwrap();
        println!("{}", bound.local_addr());
        let settings = ConnectionSettings::new(server, self.metrics.clone());
        let lifecycle = Lifecycle::new();
        accept::serve(bound, router, settings, lifecycle.stopping()).await;
    }
}
