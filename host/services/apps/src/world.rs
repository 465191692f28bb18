//! The world of apps.

use bulkhead_keyvalue::KeyValueCapability;
use bulkhead_runtime::{
    capabilities::{CapabilitySet, StoreData},
    slots::{ServedWorld, World},
};
use wasmtime::{Store, component::InstancePre};
use wasmtime_wasi_http::p2::bindings::ProxyPre;

use crate::{
    capability::HttpCapability,
    instance::AppInstance,
    probe,
    spec::{GRANTS, NAME},
};

/// The world as data.
pub(crate) const SERVED: ServedWorld = ServedWorld {
    name: "wasi:http/proxy",
    exports: AppInstance::EXPORTS,
    table: NAME,
    grants: GRANTS,
    advice: "serve it with `run`, or as an app: [apps.NAME]",
};

/// Adds what this service implements of the interfaces that components import.
pub(crate) fn add_capabilities(capabilities: CapabilitySet) -> CapabilitySet {
    capabilities.with(HttpCapability).with(KeyValueCapability)
}

impl World for AppInstance {
    const NAME: &'static str = "wasi:http/proxy@0.2.12";
    const EXPORTS: &'static [&'static str] = &["wasi:http/incoming-handler@0.2.12"];
    type Linked = ProxyPre<StoreData>;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        ProxyPre::new(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await.map(Self)
    }

    async fn self_test(&self, store: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        probe::run(self, store).await
    }
}
