//! A protocol v2 solution and the question whether it solves its challenge.

use crate::challenge::Parameters;
use crate::error::Error;
use crate::host::Host;
use crate::json::Members;
use crate::signing::{self, lower_hex};

/// How the counter enters the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterMode {
    /// Four bytes, big-endian: what issuers sign and widgets solve unless told otherwise.
    Uint32,
    /// Decimal digits.
    String,
}

/// What a widget hands in beside the challenge.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution<'a> {
    /// The counter that leads to the key.
    pub counter: u32,
    /// The key in hex, as received.
    pub derived_key: &'a str,
    /// Milliseconds that the client says it worked; may be fractional.
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

    /// The derived key's bytes when its text could be a solution: lower-case hex of the signed
    /// length that starts with the signed prefix. Costs nothing, so it comes before any derivation.
    /// An empty prefix or key would ask for no work and is solved by nothing.
    pub fn plausible_key(&self, parameters: &Parameters) -> Option<Vec<u8>> {
        let prefix = parameters.key_prefix.as_str();
        if prefix.is_empty() || !self.derived_key.starts_with(prefix) {
            return None;
        }
        lower_hex(self.derived_key).filter(|key| key.len() == parameters.work.key_length as usize)
    }
}

/// Deterministic mode: whether `key` is the one whose HMAC was signed into the challenge. The
/// counter plays no part.
pub fn is_signed_key(
    host: &dyn Host,
    key_signing_key: &str,
    key_signature: &str,
    key: &[u8],
) -> Result<bool, Error> {
    signing::is_signed(host, key_signing_key, None, key, key_signature)
}

/// Whether deriving from `counter` gives `key`: one full derivation.
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

/// The password for one counter: the nonce, then the counter.
pub fn password(nonce: &[u8], counter: u32, mode: CounterMode) -> Vec<u8> {
    match mode {
        CounterMode::Uint32 => [nonce, &counter.to_be_bytes()].concat(),
        CounterMode::String => [nonce, counter.to_string().as_bytes()].concat(),
    }
}

/// Compares without stopping at the first difference.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}
