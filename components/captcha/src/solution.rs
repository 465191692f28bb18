//! A protocol v2 solution and its check against the challenge.

use crate::challenge::Parameters;
use crate::error::Error;
use crate::host::Host;
use crate::json::Members;
use crate::signing::{self, lower_hex};

/// Encoding of the counter in the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterMode {
    /// Four bytes, big-endian: the default of issuers and widgets.
    Uint32,
    /// Decimal digits.
    String,
}

/// A widget's solution to a challenge.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution<'a> {
    /// The counter that derives the key.
    pub counter: u32,
    /// The key in hex, as received.
    pub derived_key: &'a str,
    /// Milliseconds of work that the client reports; may be fractional.
    pub time: Option<f64>,
}

impl<'a> Solution<'a> {
    /// Reads the `solution` member of a payload.
    pub fn read(members: Members<'a>) -> Result<Self, Error> {
        let derived_key = members.string("derivedKey")?;
        Ok(Self {
            counter: members.integer("counter")?.ok_or_else(|| members.missing("counter"))?,
            derived_key: derived_key.ok_or_else(|| members.missing("derivedKey"))?,
            time: members.number("time")?.filter(|&milliseconds| milliseconds >= 0.0),
        })
    }

    /// Returns the derived key's bytes if its text could be a solution: lower-case hex of the signed length that
    /// starts with the signed prefix. Costs nothing, so it comes before any derivation. An empty prefix or key would
    /// ask for no work, so nothing solves it.
    pub fn plausible_key(&self, parameters: &Parameters) -> Option<Vec<u8>> {
        let prefix = parameters.key_prefix.as_str();
        if prefix.is_empty() || !self.derived_key.starts_with(prefix) {
            return None;
        }
        lower_hex(self.derived_key).filter(|key| key.len() == parameters.work.key_length as usize)
    }
}

/// Returns whether, in deterministic mode, `key` is the one whose HMAC was signed into the challenge. The counter
/// does not matter.
pub fn is_signed_key(
    host: &dyn Host,
    key_signing_key: &str,
    key_signature: &str,
    key: &[u8],
) -> Result<bool, Error> {
    signing::is_signed(host, key_signing_key, None, key, key_signature)
}

/// Returns whether deriving from `counter` gives `key`: one full derivation.
pub fn is_derived_key(
    host: &dyn Host,
    parameters: &Parameters,
    mode: CounterMode,
    counter: u32,
    key: &[u8],
) -> Result<bool, Error> {
    let password = password(&parameters.nonce, counter, mode);
    let derived = host.derive(&parameters.work, &password, &parameters.salt)?;
    Ok(equal(&derived, key))
}

/// Returns the password for one counter: the nonce, then the counter.
pub fn password(nonce: &[u8], counter: u32, mode: CounterMode) -> Vec<u8> {
    match mode {
        CounterMode::Uint32 => [nonce, &counter.to_be_bytes()].concat(),
        CounterMode::String => [nonce, counter.to_string().as_bytes()].concat(),
    }
}

/// Compares in constant time.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}
