//! The bindings of the world.

use bulkhead_runtime::{capabilities::StoreData, invoke::ShadowDiff, slots::World};
use wasmtime::{Store, component::InstancePre};

pub mod bindings {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "bulkhead:adder/adder",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

pub use self::bindings::{Adder, AdderPre};

/// What a component has answered.
#[derive(Clone, Copy, Debug)]
pub struct Sum(pub u32);

impl ShadowDiff for Sum {
    fn fields(&self) -> Vec<(String, String)> {
        vec![("sum".into(), self.0.to_string())]
    }
}

impl World for Adder {
    const NAME: &'static str = "bulkhead:adder/adder@0.1.0";
    const EXPORTS: &'static [&'static str] = &["add", "self-test"];
    type Linked = AdderPre<StoreData>;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        AdderPre::new(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await
    }

    async fn self_test(&self, store: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        self.call_self_test(store).await
    }
}
