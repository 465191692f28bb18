//! Key-value stores: the host's are opened here, and every slot, also one of another service, gets those that it lists.

use std::sync::Arc;

use bulkhead_config::{Config, slots::SlotSettings};
use bulkhead_keyvalue::{KeyValue, KeyValueMetrics, KeyValueSettings, SlotKeyValue};
use bulkhead_os::clock::HostClock;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_service::{Close, ServiceContext, WatchedDatabase};
use futures_util::future::{BoxFuture, LocalBoxFuture};

/// Opens the stores of the configuration, if it has any.
pub(crate) async fn open(context: &ServiceContext) -> anyhow::Result<()> {
    let settings: &KeyValueSettings = context.config.table()?;
    if settings.has_stores() {
        let (data, damaged_files) = (&context.config.data_dir, context.health.damaged_files());
        let stores = KeyValue::open(settings, data, HostClock::system(), damaged_files).await?;
        context.health.watch("key-value stores", Box::new(OpenStores(Arc::clone(&stores))));
        context.extensions.insert(stores);
    }
    Ok(())
}

/// Refuses a slot that lists a store which the configuration does not have.
pub(crate) fn check(config: &Config, slot: &SlotSettings) -> anyhow::Result<()> {
    if slot.keyvalue.is_empty() {
        return Ok(());
    }
    let settings: &KeyValueSettings = config.table()?;
    let is_unknown = |name: &&String| !settings.names().any(|known| known == name.as_str());
    if let Some(unknown) = slot.keyvalue.iter().find(is_unknown) {
        let key = slot.key("keyvalue");
        anyhow::bail!(
            "{key} names the store {unknown}, which does not exist; add [keyvalue.stores.{unknown}]"
        );
    }
    Ok(())
}

/// Adds to a slot's resources the stores that its guests may open.
pub(crate) fn provide(
    context: &ServiceContext,
    slot: &SlotSettings,
    resources: &mut SlotResources,
) -> anyhow::Result<()> {
    if slot.keyvalue.is_empty() {
        return Ok(());
    }
    check(&context.config, slot)?;
    // Where a component is only checked, no store is open.
    if let Some(stores) = context.extensions.get::<KeyValue>() {
        let metrics = context.metrics.set::<KeyValueMetrics>()?.slot(slot.id());
        resources.insert(Arc::new(SlotKeyValue::new(&stores, slot, metrics)?));
    }
    Ok(())
}

/// The stores of a host, which it watches, and closes with the services.
#[derive(Debug)]
pub(crate) struct OpenStores(pub(crate) Arc<KeyValue>);

impl Close for OpenStores {
    fn close(self: Box<Self>) -> LocalBoxFuture<'static, ()> {
        Box::pin(async move { self.0.close().await })
    }
}

impl WatchedDatabase for OpenStores {
    fn has_been_reached(&self) -> bool {
        self.0.is_reached()
    }

    fn ping(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.0.ping())
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.0.probe())
    }

    fn clock_fault(&self) -> Option<String> {
        None
    }

    fn disk_fault(&self) -> Option<&'static str> {
        self.0.disk_fault()
    }

    fn outage_mode(&self) -> Option<&'static str> {
        Some("writes to key-value stores fail, and reads if it does not answer")
    }
}
