//! A protocol v2 challenge as a client returns it.

use std::time::Duration;

use crate::algorithm::Algorithm;
use crate::binding::Bound;
use crate::error::Error;
use crate::expiry::is_past;
use crate::host::{Host, Work};
use crate::json::{Members, Object};
use crate::{canonical, signing};

/// The task of a challenge, read from its `parameters`.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// The derivation and its cost.
    pub work: Work,
    /// Start of the password, bytes.
    pub nonce: Vec<u8>,
    /// Salt of the derivation, bytes.
    pub salt: Vec<u8>,
    /// Lower-case hex that the key's hex must start with; an odd length is allowed.
    pub key_prefix: String,
    /// In deterministic mode the HMAC of the right key, hex.
    pub key_signature: Option<String>,
    /// Unix seconds; `None` for a challenge that never expires.
    pub expires_at: Option<f64>,
    /// The members that the issuer signed into `data`.
    pub bound: Bound,
}

impl Parameters {
    /// Reads `parameters`. `None`: well-formed, but no issuer would have signed them.
    pub fn read(members: Members<'_>) -> Result<Option<Self>, Error> {
        let integer = |name| members.integer(name)?.ok_or_else(|| members.missing(name));
        let hex = |name| -> Result<_, Error> {
            let text = members.string(name)?;
            Ok(text.and_then(|text| hex::decode(text).ok()))
        };
        let algorithm = members.string("algorithm")?.and_then(Algorithm::from_name);
        let (nonce, salt) = (hex("nonce")?, hex("salt")?);
        let key_prefix = members.string("keyPrefix")?;
        let key_signature = members.string("keySignature")?.map(str::to_owned);
        let expires_at = members.number("expiresAt")?.filter(|&seconds| seconds != 0.0);
        let data = members.members("data", "challenge.parameters.data")?;
        let (cost, key_length) = (integer("cost")?, integer("keyLength")?);
        let memory_cost = members.integer("memoryCost")?.unwrap_or(0);
        let parallelism = members.integer("parallelism")?.unwrap_or(1);
        let (Some(algorithm), Some(nonce), Some(salt), Some(key_prefix)) =
            (algorithm, nonce, salt, key_prefix)
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            work: Work { algorithm, cost, memory_cost, parallelism, key_length },
            nonce,
            salt,
            key_prefix: key_prefix.to_owned(),
            key_signature,
            expires_at,
            bound: data.map(Bound::from_data).unwrap_or_default(),
        }))
    }

    /// Returns whether the challenge has expired at `now`.
    pub fn is_expired(&self, now: Duration) -> bool {
        is_past(self.expires_at, now)
    }
}

/// A challenge: parameters and the signature over their canonical form.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// `parameters` as received; `None` when the member is absent or null.
    pub parameters: Option<Members<'a>>,
    /// Lower-case hex if an issuer made it.
    pub signature: &'a str,
}

impl<'a> Challenge<'a> {
    /// Reads the `challenge` member of a payload.
    pub fn read(members: Members<'a>) -> Result<Self, Error> {
        let parameters = members.members("parameters", "challenge.parameters")?;
        let signature = members.string("signature")?.ok_or_else(|| members.missing("signature"))?;
        Ok(Self { parameters, signature })
    }
}

/// Returns whether `signature` is the HMAC of `parameters` under the host's key called `key`. Members that a client
/// added, removed or changed make it invalid; null members at the top make no difference.
pub fn is_signed(
    host: &dyn Host,
    key: &str,
    key_id: Option<&str>,
    parameters: &Object,
    signature: &str,
) -> Result<bool, Error> {
    let text = canonical::parameters(parameters);
    signing::is_signed(host, key, key_id, text.as_bytes(), signature)
}
