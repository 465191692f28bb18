//! `wasi:random`, from wasmtime-wasi, with a cap on the bytes of one call.

use wasmtime::{bail, component::HasData};
use wasmtime_wasi::{
    p2::bindings::random::{insecure, insecure_seed, random},
    random::{WasiRandom, WasiRandomCtx},
};

use super::{Access::Read, Capability, Interface, StoreData};

/// Most bytes of one call. The host creates them without yielding and without charging the guest, so that more would be
/// processor time and memory beyond the guest's limits. A guest may make several calls.
const BYTES: u64 = 64 << 10;

fn view(guest: &mut StoreData) -> &mut WasiRandomCtx {
    guest.capabilities.random.get_or_insert_default()
}

/// `wasi:random`.
#[derive(Clone, Copy, Debug)]
pub struct RandomCapability;

impl Capability for RandomCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[RANDOM, INSECURE, INSECURE_SEED]
    }
}

/// Cryptographically secure random bytes.
const RANDOM: Interface = Interface {
    name: "wasi:random/random",
    version: "0.2.12",
    is_general: true,
    functions: &[("get-random-bytes", Read), ("get-random-u64", Read)],
    add_to_linker: |instance| {
        random::add_to_linker_instance::<_, CappedRandom>(instance, |guest| Random(view(guest)))
    },
};

/// Random bytes without a security guarantee.
const INSECURE: Interface = Interface {
    name: "wasi:random/insecure",
    version: "0.2.12",
    is_general: true,
    functions: &[("get-insecure-random-bytes", Read), ("get-insecure-random-u64", Read)],
    add_to_linker: |instance| {
        insecure::add_to_linker_instance::<_, CappedRandom>(instance, |guest| Random(view(guest)))
    },
};

/// A seed for hash tables.
const INSECURE_SEED: Interface = Interface {
    name: "wasi:random/insecure-seed",
    version: "0.2.12",
    is_general: true,
    functions: &[("insecure-seed", Read)],
    add_to_linker: |instance| insecure_seed::add_to_linker_instance::<_, WasiRandom>(instance, view),
};

struct CappedRandom;

impl HasData for CappedRandom {
    type Data<'a> = Random<'a>;
}

struct Random<'a>(&'a mut WasiRandomCtx);

fn check(length: u64) -> wasmtime::Result<()> {
    if length > BYTES {
        bail!("{length} random bytes requested in one call, over the limit of {BYTES}");
    }
    Ok(())
}

impl random::Host for Random<'_> {
    fn get_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        check(length)?;
        self.0.get_random_bytes(length)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.0.get_random_u64()
    }
}

impl insecure::Host for Random<'_> {
    fn get_insecure_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        check(length)?;
        self.0.get_insecure_random_bytes(length)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.0.get_insecure_random_u64()
    }
}
