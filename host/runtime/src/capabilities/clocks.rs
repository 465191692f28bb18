//! `wasi:clocks`, and `wasi:io/poll` for waiting, from wasmtime-wasi.

use wasmtime::component::HasSelf;
use wasmtime_wasi::{
    clocks::{WasiClocks, WasiClocksCtxView},
    p2::bindings::clocks::{monotonic_clock, wall_clock},
};

use super::{Access::Read, Capabilities, Capability, Interface, StoreData};

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

/// Waiting, which a component must be granted: a call keeps its permit while it waits.
const POLL: Interface = Interface {
    name: "wasi:io/poll",
    version: "0.2.12",
    is_general: false,
    functions: &[("[method]pollable.ready", Read), ("[method]pollable.block", Read), ("poll", Read)],
    add_to_linker: |instance| {
        wasmtime_wasi_io::bindings::wasi::io::poll::add_to_linker_instance::<StoreData, Polls>(
            instance,
            |guest| &mut guest.capabilities.table,
        )
    },
};

struct Polls;

impl wasmtime::component::HasData for Polls {
    type Data<'a> = &'a mut wasmtime::component::ResourceTable;
}
