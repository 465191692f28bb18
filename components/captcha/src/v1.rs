//! Protocol v1: find the number whose hash, after a salt, is the challenge.
//!
//! Only the challenge is signed; salt and number are bound through the hash of their
//! concatenation. That is sound only if the boundary between the two is certain (CVE-2025-68113):
//! the salt must end in `&`, and the number must be a JSON integer.

use std::time::Duration;

use crate::algorithm::Hash;
use crate::binding::Bound;
use crate::canonical;
use crate::error::Error;
use crate::expiry::{expiry, is_past};
use crate::host::Host;
use crate::json::{Members, Object, Value};
use crate::policy::{Client, Site};
use crate::signing::{self, lower_hex};
use crate::solution::equal;
use crate::spending::Spending;
use crate::verdict::{Reason, Verdict};

/// Random bytes at the start of a salt.
pub const SALT_LENGTH: usize = 12;

/// Issues a challenge whose number is between 1 and `cost`, as JSON.
pub fn issue(host: &dyn Host, site: &Site, cost: u32, mut bound: Bound) -> Result<String, Error> {
    let hash = issuing_hash(site)?;
    let salt = hex::encode(host.random(SALT_LENGTH));
    let number = number(host, cost);
    let expires = expiry(site, host.now()).to_string();
    let mut text = String::new();
    let key = site.signing_key.as_str();
    let (challenge, signature) = if site.compat {
        text = format!("{salt}?expires={expires}&");
        let challenge = digest(hash, &text, number);
        let signature = hex::encode(host.sign(key, hash, challenge.as_bytes())?.tag);
        (challenge, signature)
    } else {
        let cost = cost.to_string();
        signing::sign_naming_key(host, key, hash, String::new(), |key_id| {
            bound.key_id = Some(key_id.to_owned());
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("expires", &expires).append_pair("max", &cost);
            query.extend_pairs(bound.members());
            text = format!("{salt}?{}&", query.finish());
            digest(hash, &text, number)
        })?
    };
    let members = [
        ("algorithm", hash.name().into()),
        ("challenge", challenge.into()),
        ("maxnumber", cost.into()),
        ("salt", text.into()),
        ("signature", signature.into()),
    ];
    let members = members.map(|(name, value): (&str, Value)| (name.to_owned(), value));
    Ok(canonical::value(&Value::Object(Object::from(members))))
}

fn issuing_hash(site: &Site) -> Result<Hash, Error> {
    if site.compat {
        return Ok(Hash::Sha256);
    }
    Hash::from_name(&site.algorithm).ok_or_else(|| {
        let Site { algorithm, key, .. } = site;
        Error::Internal(format!("algorithm {algorithm:?} of site {key} is not part of protocol v1"))
    })
}

/// Returns a number from 1 to `max`, uniform but for a bias below 2^-32.
fn number(host: &dyn Host, max: u32) -> u32 {
    let random = host.random(8).into_iter().fold(0, |number, byte| number << 8 | u64::from(byte));
    let below = (u128::from(random) * u128::from(max)) >> 64;
    (below as u32).saturating_add(1)
}

fn digest(hash: Hash, salt: &str, number: u32) -> String {
    hex::encode(hash.digest(format!("{salt}{number}").as_bytes()))
}

/// Judges a v1 payload and spends its challenge once if it is valid.
pub fn verify(
    host: &dyn Host,
    site: &Site,
    client: &Client,
    payload: Members<'_>,
    action: Option<&str>,
) -> Result<Verdict, Error> {
    let payload = Payload::read(payload)?;
    let now = host.now();
    let salt = match genuine(host, site, &payload, now)? {
        Ok(salt) => salt,
        Err(reason) => return Ok(Verdict::rejected(reason)),
    };
    let rejected = match salt.bound.refusal(site, client, action) {
        Some(reason) => Some(reason),
        None => Spending::new(host, site, payload.signature, salt.expires_at, now).claim()?,
    };
    Ok(Verdict {
        rejected,
        cost: salt.max,
        reported_time_ms: payload.took,
        expires_at: salt.expires_at.map(|seconds| seconds as u64),
        action: salt.bound.action,
    })
}

/// Spends all that is left of a v1 payload's challenge; returns false if it is foreign, expired, not solved or
/// already used up.
pub fn invalidate(host: &dyn Host, site: &Site, payload: Members<'_>) -> Result<bool, Error> {
    let payload = Payload::read(payload)?;
    let now = host.now();
    match genuine(host, site, &payload, now)? {
        Ok(salt) if salt.bound.is_of(site) => {
            Spending::new(host, site, payload.signature, salt.expires_at, now).claim_all()
        }
        _ => Ok(false),
    }
}

struct Payload<'a> {
    algorithm: &'a str,
    challenge: &'a str,
    number: u32,
    salt: &'a str,
    signature: &'a str,
    took: Option<f64>,
}

impl<'a> Payload<'a> {
    fn read(members: Members<'a>) -> Result<Self, Error> {
        let text = |name| members.string(name)?.ok_or_else(|| members.missing(name));
        Ok(Self {
            algorithm: text("algorithm")?,
            challenge: text("challenge")?,
            number: members.integer("number")?.ok_or_else(|| members.missing("number"))?,
            salt: text("salt")?,
            signature: text("signature")?,
            took: members.number("took")?.filter(|&milliseconds| milliseconds >= 0.0),
        })
    }
}

/// The content of a salt.
struct Salt {
    expires_at: Option<f64>,
    max: Option<u32>,
    bound: Bound,
}

impl Salt {
    /// Reads the query of a salt; `None` if `&` does not close it.
    fn read(salt: &str) -> Option<Self> {
        let salt = salt.strip_suffix('&')?;
        let query = salt.split_once('?').map_or("", |(_, query)| query);
        let text = |name: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let expires = text("expires").or_else(|| text("expire"));
        Some(Self {
            // A value that is not a number counts as expired.
            expires_at: expires.map(|text| text.parse::<u64>().unwrap_or(0) as f64),
            max: text("max").and_then(|text| text.parse().ok()),
            bound: Bound::read(text),
        })
    }
}

/// Opens a payload: expiry, signature, work. Until the number fits, the salt is only the client's claim, so that
/// failures are remembered for the site's timeout and not for the salt's.
fn genuine(
    host: &dyn Host,
    site: &Site,
    payload: &Payload<'_>,
    now: Duration,
) -> Result<Result<Salt, Reason>, Error> {
    let hash = Hash::from_name(payload.algorithm);
    let allowed = |hash: &Hash| *hash != Hash::Sha1 || site.algorithm == Hash::Sha1.name();
    let (Some(hash), Some(salt)) = (hash.filter(allowed), Salt::read(payload.salt)) else {
        return Ok(Err(Reason::BadSignature));
    };
    if is_past(salt.expires_at, now) {
        return Ok(Err(Reason::Expired));
    }
    let Some(tag) = lower_hex(payload.signature) else {
        return Ok(Err(Reason::BadSignature));
    };
    let key_id = salt.bound.key_id.as_deref();
    if !host.is_signed(&site.signing_key, key_id, hash, payload.challenge.as_bytes(), &tag)? {
        return Ok(Err(Reason::BadSignature));
    }
    let digest = digest(hash, payload.salt, payload.number);
    if equal(digest.as_bytes(), payload.challenge.as_bytes()) {
        return Ok(Ok(salt));
    }
    Spending::new(host, site, payload.signature, None, now).fail().map(Err)
}
