//! `wasi:config/store`: the slot's `[slots.NAME.config]` table.

use wasmtime::component::HasSelf;

use super::{Access::Read, Capabilities, Capability, Interface, bindings::wasi::config::store};

/// `wasi:config`.
#[derive(Clone, Copy, Debug)]
pub struct ConfigCapability;

impl Capability for ConfigCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[STORE]
    }
}

/// The slot's own configuration.
const STORE: Interface = Interface {
    name: "wasi:config/store",
    version: "0.2.0-rc.1",
    is_general: true,
    functions: &[("get", Read), ("get-all", Read)],
    add_to_linker: |instance| {
        store::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

impl store::Host for Capabilities {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, store::Error>> {
        Ok(Ok(self.settings.config.get(&key).cloned()))
    }

    fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, store::Error>> {
        Ok(Ok(self.settings.config.clone().into_iter().collect()))
    }
}
