//! `wasi:random`, from wasmtime-wasi.

use wasmtime_wasi::{
    p2::bindings::random::{insecure, insecure_seed, random},
    random::{WasiRandom, WasiRandomCtx},
};

use super::{Access::Read, EVERY_SLOT, Guest, Interface};

fn view(guest: &mut Guest) -> &mut WasiRandomCtx {
    guest.capabilities.random.get_or_insert_default()
}

/// Random bytes fit for secrets.
pub const RANDOM: Interface = Interface {
    name: "wasi:random/random",
    version: "0.2.12",
    granted_to: EVERY_SLOT,
    functions: &[("get-random-bytes", Read), ("get-random-u64", Read)],
    add_to_linker: |linker| random::add_to_linker::<_, WasiRandom>(linker, view),
};

/// Random bytes for anything else.
pub const INSECURE: Interface = Interface {
    name: "wasi:random/insecure",
    version: "0.2.12",
    granted_to: EVERY_SLOT,
    functions: &[("get-insecure-random-bytes", Read), ("get-insecure-random-u64", Read)],
    add_to_linker: |linker| insecure::add_to_linker::<_, WasiRandom>(linker, view),
};

/// A seed for hash tables.
pub const INSECURE_SEED: Interface = Interface {
    name: "wasi:random/insecure-seed",
    version: "0.2.12",
    granted_to: EVERY_SLOT,
    functions: &[("insecure-seed", Read)],
    add_to_linker: |linker| insecure_seed::add_to_linker::<_, WasiRandom>(linker, view),
};
