//! `bulkhead:host/keys`: HMAC and HKDF by key name; guests never see the secrets.

use bulkhead_telemetry::quoted;
use wasmtime::component::HasSelf;

use super::{
    Access::Read,
    Capabilities, Capability, Interface,
    bindings::bulkhead::host::keys::{self, Error, Signature},
};
use crate::keys::{HmacHash, Key, NamedKeys};

/// `bulkhead:host/keys`.
#[derive(Clone, Copy, Debug)]
pub struct KeysCapability;

impl Capability for KeysCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[KEYS]
    }
}

/// Signing and deriving.
const KEYS: Interface = Interface {
    name: "bulkhead:host/keys",
    version: "0.1.1",
    is_general: false,
    functions: &[("hmac-sign", Read), ("hmac-verify", Read), ("derive", Read)],
    add_to_linker: |instance| {
        keys::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

impl From<keys::Hash> for HmacHash {
    fn from(hash: keys::Hash) -> Self {
        match hash {
            keys::Hash::Sha256 => Self::Sha256,
            keys::Hash::Sha384 => Self::Sha384,
            keys::Hash::Sha512 => Self::Sha512,
        }
    }
}

impl Capabilities {
    fn keys(&self, name: &str) -> Result<NamedKeys, Error> {
        self.resources.keys.accepted(name).ok_or_else(|| unknown(self, name))
    }

    /// Runs `act` with the key that signs under `name`.
    fn with_key<T>(&self, name: &str, act: impl FnOnce(&Key) -> Result<T, Error>) -> Result<T, Error> {
        let keys = self.keys(name)?;
        keys.first().ok_or_else(|| unknown(self, name)).and_then(act)
    }
}

fn unknown(capabilities: &Capabilities, name: &str) -> Error {
    let (slot, name) = (capabilities.resources.slot.as_str(), quoted(name));
    Error::UnknownKey(format!("slot {slot} has no key called \"{name}\""))
}

impl keys::Host for Capabilities {
    fn hmac_sign(
        &mut self,
        name: String,
        hash: keys::Hash,
        data: Vec<u8>,
    ) -> wasmtime::Result<Result<Signature, Error>> {
        Ok(self.with_key(&name, |key| {
            Ok(Signature { key_id: key.id().to_owned(), tag: key.hmac(hash.into(), &data) })
        }))
    }

    fn hmac_verify(
        &mut self,
        name: String,
        key_id: Option<String>,
        hash: keys::Hash,
        data: Vec<u8>,
        tag: Vec<u8>,
    ) -> wasmtime::Result<Result<bool, Error>> {
        let accepted = match self.keys(&name) {
            Ok(accepted) => accepted,
            Err(error) => return Ok(Err(error)),
        };
        let mut candidates = accepted.iter().filter(|key| key_id.as_deref().is_none_or(|id| id == key.id()));
        Ok(Ok(candidates.any(|key| key.verifies(hash.into(), &data, &tag))))
    }

    fn derive(
        &mut self,
        name: String,
        info: Vec<u8>,
        length: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        let too_long =
            || Error::Invalid(format!("{length} bytes requested, at most {} can be derived", 255 * 32));
        if length > 255 * 32 {
            return Ok(Err(too_long()));
        }
        Ok(self.with_key(&name, |key| key.derive_for_guest(&info, length as usize).ok_or_else(too_long)))
    }
}
