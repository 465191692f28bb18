//! Server-signed results in the form of ALTCHA Sentinel: `{algorithm, signature, verificationData, ...}` where
//! `verificationData` is query text and `signature` is HMAC(key, hash(verificationData)). Everything outside
//! `verificationData` is unsigned and not trusted; `algorithm` only picks among sound hashes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::algorithm::Hash;
use crate::binding::Bound;
use crate::error::Error;
use crate::expiry::is_past;
use crate::host::Host;
use crate::json::Members;
use crate::policy::Site;
use crate::signing;
use crate::spending::Spending;
use crate::verdict::{Reason, Verdict};

/// The signed members of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationData {
    members: BTreeMap<String, String>,
}

impl VerificationData {
    /// Reads query text; of duplicate names the first value counts.
    pub fn read(text: &str) -> Self {
        let mut members = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            members.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self { members }
    }

    /// Returns a member's text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).map(String::as_str)
    }

    /// Returns a member's value as a finite number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Returns a member's comma-separated values.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let text = self.text(name).unwrap_or_default();
        text.split(',').filter(|item| !item.is_empty()).collect()
    }

    /// Returns whether the server verified its client.
    pub fn is_verified(&self) -> bool {
        self.text("verified") == Some("true")
    }

    /// Returns whether the result has expired at `now`; a result without `expire` never does.
    pub fn is_expired(&self, now: Duration) -> bool {
        is_past(self.number("expire"), now)
    }
}

/// Reads a signed result's members. `None`: not signed with an accepted key called `key`.
pub fn open(host: &dyn Host, key: &str, payload: Members<'_>) -> Result<Option<VerificationData>, Error> {
    let text = |name| payload.string(name)?.ok_or_else(|| payload.missing(name));
    let (algorithm, signature) = (text("algorithm")?, text("signature")?);
    let text = text("verificationData")?;
    let Some(hash) = Hash::from_name(algorithm).filter(|&hash| hash != Hash::Sha1) else {
        return Ok(None);
    };
    let signed = signing::is_signed(host, key, None, &hash.digest(text.as_bytes()), signature)?;
    Ok(signed.then(|| VerificationData::read(text)))
}

/// Judges a result that was signed with the site's signing key and names the site, and spends it: each is accepted
/// once. The client was judged when the result was signed.
pub fn verify(
    host: &dyn Host,
    site: &Site,
    payload: Members<'_>,
    action: Option<&str>,
) -> Result<Verdict, Error> {
    let Some(data) = open(host, &site.signing_key, payload)? else {
        return Ok(Verdict::rejected(Reason::BadSignature));
    };
    let bound = bound(&data);
    let rejected = if !is_alive(&data, host.now()) {
        Some(Reason::Expired)
    } else if bound.site.as_ref() != Some(&site.key) {
        Some(Reason::WrongSite)
    } else if action.is_some() && action != bound.action.as_deref() {
        Some(Reason::WrongAction)
    } else if !data.is_verified() {
        Some(Reason::WrongSolution)
    } else {
        spending(host, site, payload, &data)?.claim()?
    };
    Ok(Verdict {
        rejected,
        expires_at: data.number("expire").map(|seconds| seconds as u64),
        action: bound.action,
        ..Verdict::default()
    })
}

/// Spends a signed result without judging it; returns false if it is foreign, expired or already spent.
pub fn invalidate(host: &dyn Host, site: &Site, payload: Members<'_>) -> Result<bool, Error> {
    match open(host, &site.signing_key, payload)? {
        Some(data) if is_alive(&data, host.now()) && bound(&data).site.as_ref() == Some(&site.key) => {
            spending(host, site, payload, &data)?.claim_all()
        }
        _ => Ok(false),
    }
}

/// Returns the hash over form fields that a result covers: the values of `fields` in order, one a line, a missing
/// value as an empty line. Hex.
pub fn fields_hash(hash: Hash, fields: &[&str], form: &BTreeMap<String, String>) -> String {
    let value = |field: &&str| form.get(*field).map_or("", String::as_str);
    let values: Vec<&str> = fields.iter().map(value).collect();
    hex::encode(hash.digest(values.join("\n").as_bytes()))
}

/// Returns whether the result is accepted at `now`. A result without an expiry is not: it could be replayed once it
/// is forgotten.
fn is_alive(data: &VerificationData, now: Duration) -> bool {
    data.number("expire").is_some() && !data.is_expired(now)
}

fn bound(data: &VerificationData) -> Bound {
    Bound::read(|name| data.text(name).map(str::to_owned))
}

fn spending<'a>(
    host: &'a dyn Host,
    site: &'a Site,
    payload: Members<'_>,
    data: &VerificationData,
) -> Result<Spending<'a>, Error> {
    let signature = payload.string("signature")?.unwrap_or_default();
    Ok(Spending::new(host, site, signature, data.number("expire"), host.now()).once())
}
