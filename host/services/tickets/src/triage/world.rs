//! The bindings of the triage world.

use bulkhead_runtime::capabilities::StoreData;
use bulkhead_runtime::slots::World;
use wasmtime::{Store, component::InstancePre};

#[allow(missing_docs)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../../wit/triage",
        world: "bulkhead:triage/triage",
        exports: { default: async },
        with: {
            "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
            "wasi:logging": bulkhead_runtime::capabilities::bindings::wasi::logging,
            "bulkhead:host": bulkhead_runtime::capabilities::bindings::bulkhead::host,
            "wasi:nn": bulkhead_models::nn::bindings::wasi::nn,
        },
    });
}

pub use self::bindings::{
    Triage as TriageWorld, TriagePre,
    exports::bulkhead::triage::tickets::{
        Action, ActionKind, Candidate, Classifier, Decision, Error, Guarding, PromptVersion, Settings,
        Strategy, Value,
    },
};

impl World for TriageWorld {
    const NAME: &'static str = "bulkhead:triage/triage@0.1.0";
    const EXPORTS: &'static [&'static str] = &["bulkhead:triage/tickets@0.1.0", "self-test"];
    type Linked = TriagePre<StoreData>;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        TriagePre::new(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await
    }

    async fn self_test(&self, store: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        self.call_self_test(store).await
    }
}
