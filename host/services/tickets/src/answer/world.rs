//! The bindings of the answer world.

use bulkhead_runtime::capabilities::StoreData;
use bulkhead_runtime::slots::World;
use wasmtime::{Store, component::InstancePre};

#[allow(missing_docs)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../../wit/answer",
        world: "bulkhead:answer/answer",
        exports: { default: async },
        with: {
            "wasi:logging": bulkhead_runtime::capabilities::bindings::wasi::logging,
            "bulkhead:host": bulkhead_runtime::capabilities::bindings::bulkhead::host,
            "bulkhead:answer/search": crate::capabilities::search::bindings::bulkhead::answer::search,
            "bulkhead:answer/items": crate::capabilities::search::bindings::bulkhead::answer::items,
        },
    });
}

pub use self::bindings::{
    Answer as AnswerWorld, AnswerPre,
    exports::bulkhead::answer::answers::{
        Document, Error, Guarding, Outcome, PromptVersion, Reply, Request, Settings, Strategy,
    },
};

impl World for AnswerWorld {
    const NAME: &'static str = "bulkhead:answer/answer@0.1.1";
    const EXPORTS: &'static [&'static str] = &["bulkhead:answer/answers@0.1.1", "self-test"];
    type Linked = AnswerPre<StoreData>;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        AnswerPre::new(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await
    }

    async fn self_test(&self, store: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        self.call_self_test(store).await
    }
}
