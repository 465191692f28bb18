//! `wasi:config/store`: the slot's `[slots.NAME.config]` table, and secrets that its service hands to its guests.

use std::{collections::BTreeMap, fmt};

use bulkhead_config::secret::Secret;
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

/// Secrets that the guests of a slot read by their keys, beside the slot's `config`. A value in the resources of a slot whose
/// operator hands secrets to its component.
#[derive(Default)]
pub struct ConfigSecrets(pub BTreeMap<String, Secret>);

impl fmt::Debug for ConfigSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Capabilities {
    fn secrets(&self) -> impl Iterator<Item = (&String, &Secret)> {
        self.resources.get::<ConfigSecrets>().into_iter().flat_map(|secrets| &secrets.0)
    }
}

impl store::Host for Capabilities {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, store::Error>> {
        let secret = || self.secrets().find(|(name, _)| **name == key);
        let secret = || secret().map(|(_, secret)| secret.expose().to_owned());
        Ok(Ok(self.settings.config.get(&key).cloned().or_else(secret)))
    }

    fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, store::Error>> {
        let secrets = self.secrets().map(|(name, secret)| (name.clone(), secret.expose().to_owned()));
        Ok(Ok(self.settings.config.clone().into_iter().chain(secrets).collect()))
    }
}
