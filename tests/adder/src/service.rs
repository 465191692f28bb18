//! The service as a host starts it.

use std::sync::Arc;

use bulkhead_config::{
    Config, ServiceSpec,
    slots::{Limits, SlotId},
    tables::TableSpec,
};
use bulkhead_runtime::{
    capabilities::CapabilitySet,
    compile::ComponentDigest,
    slots::{AuthorFiles, EmbeddedFile, Slot, SlotWorld},
};
use bulkhead_service::{
    MetricRegistrar, Service, ServiceContext, ServiceFuture, Started, check_component, not_owned,
};

use crate::{
    added::{self, Adders},
    capability::{Counter, CounterCapability},
    config::Settings,
    http::{self, AdderState},
    metrics::AdderMetrics,
    spec::{ADDER, FIRST, SPEC},
    world::Adder,
};

/// The package of the service, for authors of components. It has no templates.
const WIT: EmbeddedFile = EmbeddedFile { path: "adder/adder.wit", bytes: include_bytes!("../wit/adder.wit") };

/// The service in the list of services.
pub struct AdderPlugin;

impl Service for AdderPlugin {
    fn spec(&self) -> ServiceSpec {
        SPEC
    }

    fn tables(&self) -> &'static [TableSpec] {
        const { &[TableSpec::of::<Settings>()] }
    }

    fn worlds(&self) -> &'static [SlotWorld] {
        const { &[SlotWorld::of::<Adder>(ADDER)] }
    }

    fn author_files(&self) -> AuthorFiles {
        AuthorFiles { wit: &[WIT], ..AuthorFiles::NONE }
    }

    fn metrics(&self) -> &'static [MetricRegistrar] {
        const { &[MetricRegistrar::of::<AdderMetrics>()] }
    }

    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        capabilities.with(CounterCapability)
    }

    fn reserved_limits(&self, _config: &Config) -> Vec<Limits> {
        // One slot at a time is added to the first.
        vec![Limits::DEFAULT]
    }

    fn start<'a>(&'a self, context: &'a ServiceContext) -> ServiceFuture<'a, Started> {
        Box::pin(async move {
            let counter = Arc::new(Counter::default());
            let slot = empty_slot(context, Arc::clone(&counter))?;
            context.deploy(&slot).await;
            let settings: &Settings = context.config.table()?;
            let (metrics, largest) = (context.metrics.set::<AdderMetrics>()?, settings.largest);
            let adders =
                Adders { context: context.clone(), first: FIRST, metrics: Arc::clone(&metrics), largest };
            let router = http::router(AdderState { slot, counter, metrics, largest });
            Ok(Started::with_router(router.merge(added::router(adders))))
        })
    }

    fn check<'a>(
        &'a self,
        context: &'a ServiceContext,
        slot: SlotId,
        wasm: Arc<[u8]>,
    ) -> ServiceFuture<'a, ComponentDigest> {
        Box::pin(async move {
            if slot != ADDER {
                return Err(not_owned(slot));
            }
            let slot = empty_slot(context, Arc::default())?;
            Ok(check_component(&slot, wasm, "check").await?.digest)
        })
    }
}

/// Returns the slot without a component.
fn empty_slot(context: &ServiceContext, counter: Arc<Counter>) -> anyhow::Result<Arc<Slot<Adder>>> {
    let settings = context.slot(ADDER)?;
    let mut resources = context.resources(settings)?;
    resources.insert(counter);
    let metrics = resources.metrics.slot(ADDER);
    Ok(Arc::new(Slot::new(context.slot_context.clone(), settings.clone(), resources, metrics)))
}
