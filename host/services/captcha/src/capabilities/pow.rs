//! The capability `bulkhead:captcha/pow`: derives proof-of-work keys on a thread pool.

use bulkhead_pow::{ChallengeSpec, KdfParameters, Pow, PowAlgorithm, PowError};
use bulkhead_runtime::capabilities::{Access::Read, Capabilities, Capability, Interface, SlotResources};
use wasmtime::component::HasSelf;

use self::bindings::bulkhead::captcha::pow::{self, Error};

/// Bindings of the interface.
#[allow(missing_docs)]
pub mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package bulkhead:slot;
            world offered {
                import bulkhead:captcha/pow@0.1.1;
            }
        ",
        path: "../../../wit/captcha",
        world: "bulkhead:slot/offered",
        imports: { default: async | trappable },
    });
}

/// Implements `bulkhead:captcha/pow` with the slot's [`Pow`].
#[derive(Clone, Copy, Debug)]
pub struct PowCapability;

impl Capability for PowCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[POW]
    }
}

/// The interface and its functions.
const POW: Interface = Interface {
    name: "bulkhead:captcha/pow",
    version: "0.1.1",
    is_general: false,
    functions: &[("derive", Read), ("mint", Read)],
    add_to_linker: |instance| {
        pow::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

impl From<pow::Parameters> for KdfParameters {
    fn from(parameters: pow::Parameters) -> Self {
        let pow::Parameters { algorithm, cost, memory_cost, parallelism, key_length } = parameters;
        let algorithm = match algorithm {
            pow::Algorithm::Sha256 => PowAlgorithm::Sha256,
            pow::Algorithm::Sha384 => PowAlgorithm::Sha384,
            pow::Algorithm::Sha512 => PowAlgorithm::Sha512,
            pow::Algorithm::Pbkdf2Sha256 => PowAlgorithm::Pbkdf2Sha256,
            pow::Algorithm::Pbkdf2Sha384 => PowAlgorithm::Pbkdf2Sha384,
            pow::Algorithm::Pbkdf2Sha512 => PowAlgorithm::Pbkdf2Sha512,
            pow::Algorithm::Scrypt => PowAlgorithm::Scrypt,
            pow::Algorithm::Argon2id => PowAlgorithm::Argon2id,
        };
        Self { algorithm, cost, memory_cost, parallelism, key_length }
    }
}

/// Returns the thread pool of the slot.
fn threads(resources: &SlotResources) -> Result<&Pow, Error> {
    resources
        .get()
        .ok_or_else(|| Error::Refused("this slot's service has no proof-of-work threads".to_owned()))
}

/// Returns refusals to the guest; a stopped pool ends the call.
fn answer<T>(result: Result<T, PowError>) -> wasmtime::Result<Result<T, Error>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(PowError::Refused(refused)) => Ok(Err(Error::Refused(refused.to_string()))),
        Err(PowError::Busy { retry_after }) => Ok(Err(Error::Busy(retry_after))),
        Err(stopped @ PowError::Stopped) => Err(stopped.into()),
    }
}

impl pow::Host for Capabilities {
    async fn derive(
        &mut self,
        parameters: pow::Parameters,
        password: Vec<u8>,
        salt: Vec<u8>,
    ) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        match threads(&self.resources) {
            Ok(pow) => answer(pow.derive(parameters.into(), password, salt).await),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn mint(
        &mut self,
        parameters: pow::Parameters,
        counter_max: u32,
    ) -> wasmtime::Result<Result<pow::Minted, Error>> {
        let pow = match threads(&self.resources) {
            Ok(pow) => pow,
            Err(error) => return Ok(Err(error)),
        };
        let minted = pow.mint(ChallengeSpec { parameters: parameters.into(), counter_max }).await;
        answer(minted.map(|minted| pow::Minted {
            nonce: minted.nonce,
            salt: minted.salt,
            counter: minted.counter,
            derived_key: minted.derived_key,
        }))
    }
}
