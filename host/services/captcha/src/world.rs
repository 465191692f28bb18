//! The bindings of the captcha world.

use bulkhead_runtime::capabilities::StoreData;
use bulkhead_runtime::slots::World;
use wasmtime::{Store, component::InstancePre};

#[allow(missing_docs)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../../wit/captcha",
        world: "bulkhead:captcha/captcha",
        exports: { default: async },
        with: {
            "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
            "wasi:random": wasmtime_wasi::p2::bindings::random,
            "wasi:logging": bulkhead_runtime::capabilities::bindings::wasi::logging,
            "bulkhead:host": bulkhead_runtime::capabilities::bindings::bulkhead::host,
            "bulkhead:captcha/pow": crate::capabilities::pow::bindings::bulkhead::captcha::pow,
            "bulkhead:captcha/ledger": crate::capabilities::ledger::bindings::bulkhead::captcha::ledger,
        },
    });
}

pub use self::bindings::{
    Captcha, CaptchaPre,
    exports::bulkhead::captcha::challenges::{
        AutoPolicy, Binding, Client, Difficulty, Error, Issued as GuestIssued, LadderStep, Protocol, Reason,
        Site as Policy, Verdict,
    },
};

impl World for Captcha {
    const NAME: &'static str = "bulkhead:captcha/captcha@0.1.1";
    const EXPORTS: &'static [&'static str] = &["bulkhead:captcha/challenges@0.1.1", "self-test"];
    type Linked = CaptchaPre<StoreData>;

    fn link(linked: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        CaptchaPre::new(linked)
    }

    async fn instantiate(linked: &Self::Linked, store: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        linked.instantiate_async(store).await
    }

    async fn self_test(&self, store: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        self.call_self_test(store).await
    }
}
