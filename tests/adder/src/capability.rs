//! `bulkhead:adder/counter`: a number that a slot's calls share.

use std::sync::atomic::{AtomicU64, Ordering};

use bulkhead_runtime::capabilities::{
    Access::{Read, Write},
    Capabilities, Capability, Interface,
};
use wasmtime::component::HasSelf;

use crate::world::bindings::bulkhead::adder::counter;

/// The number.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Returns how many calls have been counted.
    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn count(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// `bulkhead:adder/counter`, over the slot's [`Counter`].
pub struct CounterCapability;

impl Capability for CounterCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[COUNTER]
    }
}

const COUNTER: Interface = Interface {
    name: "bulkhead:adder/counter",
    version: "0.1.0",
    is_general: false,
    functions: &[("total", Read), ("count", Write)],
    add_to_linker: |instance| {
        counter::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

fn counter_of(capabilities: &Capabilities) -> wasmtime::Result<&Counter> {
    let counter = capabilities.resources.get::<Counter>();
    counter.ok_or_else(|| wasmtime::Error::msg("this slot's service has no counter"))
}

impl counter::Host for Capabilities {
    async fn total(&mut self) -> wasmtime::Result<u64> {
        let counter = counter_of(self)?;
        Ok(self.shadow.replay_or(self.shadow.key("total"), || counter.total()))
    }

    async fn count(&mut self) -> wasmtime::Result<u64> {
        let counter = counter_of(self)?;
        let key = self.shadow.key("count");
        // What a shadow call gets that counts more often than the live one.
        let uncounted = || 0;
        Ok(self.shadow.replay_or_write(key, uncounted, async { counter.count() }).await)
    }
}
