//! `wasi:clocks`, and `wasi:io/poll` for waiting, from wasmtime-wasi.

use wasmtime::{
    bail,
    component::{HasData, HasSelf, Resource, ResourceTable},
};
use wasmtime_wasi::{
    clocks::{WasiClocks, WasiClocksCtxView},
    p2::bindings::clocks::{monotonic_clock, wall_clock},
};
use wasmtime_wasi_io::{bindings::wasi::io::poll, poll::DynPollable};

use super::{Access::Read, Capabilities, Capability, Interface, StoreData};

/// Most pollables of one `poll`. The host looks at each without yielding and charges the guest one tick for all, and a
/// guest may name one pollable many times.
const POLLED: usize = 1000;

fn view(guest: &mut StoreData) -> WasiClocksCtxView<'_> {
    let capabilities = &mut guest.capabilities;
    WasiClocksCtxView { ctx: capabilities.clocks.get_or_insert_default(), table: &mut capabilities.table }
}

/// `wasi:clocks` and `wasi:io/poll`.
#[derive(Clone, Copy, Debug)]
pub struct ClocksCapability;

impl Capability for ClocksCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[WALL_CLOCK, MONOTONIC_CLOCK, POLL]
    }
}

/// The time of day.
const WALL_CLOCK: Interface = Interface {
    name: "wasi:clocks/wall-clock",
    version: "0.2.12",
    is_general: true,
    functions: &[("now", Read), ("resolution", Read)],
    add_to_linker: |instance| {
        wall_clock::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| {
            &mut guest.capabilities
        })
    },
};

/// The host's clock counts nanoseconds.
const RESOLUTION: wall_clock::Datetime = wall_clock::Datetime { seconds: 0, nanoseconds: 1 };

impl wall_clock::Host for Capabilities {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        let now = self.resources.clock.unix();
        Ok(wall_clock::Datetime { seconds: now.as_secs(), nanoseconds: now.subsec_nanos() })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(RESOLUTION)
    }
}

/// Elapsed time.
const MONOTONIC_CLOCK: Interface = Interface {
    name: "wasi:clocks/monotonic-clock",
    version: "0.2.12",
    is_general: true,
    functions: &[
        ("now", Read),
        ("resolution", Read),
        ("subscribe-instant", Read),
        ("subscribe-duration", Read),
    ],
    add_to_linker: |instance| monotonic_clock::add_to_linker_instance::<_, WasiClocks>(instance, view),
};

/// Waiting, which the deadline of the call ends. Runtimes of languages import it whether their programs wait or not.
const POLL: Interface = Interface {
    name: "wasi:io/poll",
    version: "0.2.12",
    is_general: true,
    functions: &[("[method]pollable.ready", Read), ("[method]pollable.block", Read), ("poll", Read)],
    add_to_linker: |instance| {
        poll::add_to_linker_instance::<_, CappedPoll>(instance, |guest| {
            Pollables(&mut guest.capabilities.table)
        })
    },
};

struct CappedPoll;

impl HasData for CappedPoll {
    type Data<'a> = Pollables<'a>;
}

struct Pollables<'a>(&'a mut ResourceTable);

impl poll::Host for Pollables<'_> {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        if pollables.len() > POLLED {
            bail!("{} pollables in one call, over the limit of {POLLED}", pollables.len());
        }
        <ResourceTable as poll::Host>::poll(self.0, pollables).await
    }
}

impl poll::HostPollable for Pollables<'_> {
    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        <ResourceTable as poll::HostPollable>::ready(self.0, pollable).await
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        <ResourceTable as poll::HostPollable>::block(self.0, pollable).await
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        <ResourceTable as poll::HostPollable>::drop(self.0, pollable)
    }
}
