//! The status world's bindings.

use wasmtime::{Store, component::InstancePre};

use crate::{capabilities::Guest, slots::World};

#[allow(missing_docs)]
mod bindings {
    wasmtime::component::bindgen!({
        path: ["../wit/deps/logging", "../wit/deps/config", "../wit/host", "../wit/status"],
        world: "bulkhead:status/status",
        exports: { default: async },
        with: {
            "wasi:logging": crate::capabilities::bindings::wasi::logging,
            "bulkhead:host": crate::capabilities::bindings::bulkhead::host,
        },
    });
}

pub use self::bindings::{
    Status, StatusPre,
    exports::bulkhead::status::reports::{
        Error, Family, Kind, Level, Options, Report, Sample, Verdict, Wire,
    },
};

impl World for Status {
    const NAME: &'static str = "bulkhead:status/status@0.1.0";
    const EXPORTS: &'static [&'static str] = &["bulkhead:status/reports@0.1.0", "self-test"];
    type Linked = StatusPre<Guest>;

    fn link(linked: InstancePre<Guest>) -> wasmtime::Result<Self::Linked> {
        StatusPre::new(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<Guest>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await
    }

    async fn self_test(&self, store: &mut Store<Guest>) -> wasmtime::Result<Result<(), String>> {
        self.call_self_test(store).await
    }
}
