//! The example's world, as a host of its author's would have it.

use bulkhead::{capabilities::StoreData, slots::World};
use wasmtime::{Store, component::InstancePre};

mod bindings {
    wasmtime::component::bindgen!({
        path: ["../wit/deps/nn", "../wit/host", "../components/embed-probe/wit"],
        world: "example:embed-probe/embed-probe",
        exports: { default: async },
        with: {
            "wasi:nn": ::bulkhead::inference::nn::bindings::wasi::nn,
            "bulkhead:host": ::bulkhead::capabilities::bindings::bulkhead::host,
        },
    });
}

pub use self::bindings::{
    EmbedProbe, EmbedProbePre,
    exports::example::embed_probe::probe::{Guest as Exports, Input, Kind},
};

/// A tensor as the example is asked to hand it over.
pub fn input(name: &str, dimensions: &[u32], kind: Kind, data: &[u8]) -> Input {
    Input { name: name.to_owned(), dimensions: dimensions.to_vec(), kind, data: data.to_vec() }
}

impl EmbedProbe {
    pub fn exports(&self) -> &Exports {
        self.example_embed_probe_probe()
    }
}

impl World for EmbedProbe {
    const NAME: &'static str = "example:embed-probe/embed-probe@0.1.0";
    const EXPORTS: &'static [&'static str] = &["example:embed-probe/probe@0.1.0", "self-test"];
    type Linked = EmbedProbePre<StoreData>;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        EmbedProbePre::new(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await
    }

    async fn self_test(&self, store: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        self.call_self_test(store).await
    }
}
