//! Judges payloads: detects their protocol, and runs protocol v2's checks in order.

use crate::challenge::{self, Challenge, Parameters};
use crate::error::Error;
use crate::host::Host;
use crate::json::{self, Members, Object, Value};
use crate::policy::{Client, Site};
use crate::solution::{self, CounterMode, Solution};
use crate::spending::Spending;
use crate::verdict::{Reason, Verdict};
use crate::{server_signature, v1};

/// Judges `payload`, the JSON text of a solved challenge, and spends it once if it is valid. `action`, if given, must
/// be the one signed into the challenge.
pub fn verify(
    host: &dyn Host,
    site: &Site,
    client: &Client,
    payload: &str,
    action: Option<&str>,
) -> Result<Verdict, Error> {
    let payload = object(payload)?;
    match Shape::of(&payload) {
        Shape::V2(members) => v2(host, site, client, members, action),
        Shape::V1(members) if site.accepts_v1() => v1::verify(host, site, client, members, action),
        Shape::V1(_) => Err(v1_is_off()),
        Shape::Server(members) => server_signature::verify(host, site, members, action),
    }
}

/// Spends all that is left of the payload's challenge without checking the solution. Returns false if it is foreign,
/// expired or already used up. (In protocol v1 the number is checked, because only with it are expiry and site
/// signed.)
pub fn invalidate(host: &dyn Host, site: &Site, payload: &str) -> Result<bool, Error> {
    let payload = object(payload)?;
    match Shape::of(&payload) {
        Shape::V2(members) => match genuine(host, site, members)? {
            Ok(opened) if opened.parameters.bound.is_of(site) => opened.spending.claim_all(),
            _ => Ok(false),
        },
        Shape::V1(members) if site.accepts_v1() => v1::invalidate(host, site, members),
        Shape::V1(_) => Err(v1_is_off()),
        Shape::Server(members) => server_signature::invalidate(host, site, members),
    }
}

fn object(payload: &str) -> Result<Object, Error> {
    match json::parse(payload)? {
        Value::Object(object) => Ok(object),
        _ => Err(Error::Malformed("payload must be an object".to_owned())),
    }
}

fn v1_is_off() -> Error {
    Error::Malformed("payload is of protocol v1, which this site does not accept".to_owned())
}

enum Shape<'a> {
    V1(Members<'a>),
    V2(Members<'a>),
    Server(Members<'a>),
}

impl<'a> Shape<'a> {
    fn of(payload: &'a Object) -> Self {
        let members = Members::new("payload", payload);
        match members.get("challenge") {
            Some(Value::Object(_)) => Self::V2(members),
            _ if members.get("verificationData").is_some() => Self::Server(members),
            Some(Value::String(_)) => Self::V1(members),
            _ => Self::V2(members),
        }
    }
}

struct Opened<'a> {
    parameters: Parameters,
    spending: Spending<'a>,
}

/// Opens a v2 challenge: shape, expiry, signature.
fn genuine<'a>(
    host: &'a dyn Host,
    site: &'a Site,
    payload: Members<'_>,
) -> Result<Result<Opened<'a>, Reason>, Error> {
    let challenge = payload.members("challenge", "challenge")?;
    let challenge = Challenge::read(challenge.ok_or_else(|| payload.missing("challenge"))?)?;
    let Some(members) = challenge.parameters else {
        return Ok(Err(Reason::BadSignature));
    };
    let Some(parameters) = Parameters::read(members)? else {
        return Ok(Err(Reason::BadSignature));
    };
    let now = host.now();
    if parameters.is_expired(now) {
        return Ok(Err(Reason::Expired));
    }
    let key_id = parameters.bound.key_id.as_deref();
    let signature = challenge.signature;
    if !challenge::is_signed(host, &site.signing_key, key_id, members.object(), signature)? {
        return Ok(Err(Reason::BadSignature));
    }
    let spending = Spending::new(host, site, signature, parameters.expires_at, now);
    Ok(Ok(Opened { parameters, spending }))
}

fn v2(
    host: &dyn Host,
    site: &Site,
    client: &Client,
    payload: Members<'_>,
    action: Option<&str>,
) -> Result<Verdict, Error> {
    let members = payload.members("solution", "solution")?;
    let solution = Solution::read(members.ok_or_else(|| payload.missing("solution"))?)?;
    let opened = match genuine(host, site, payload)? {
        Ok(opened) => opened,
        Err(reason) => return Ok(Verdict::rejected(reason)),
    };
    let rejected = match opened.parameters.bound.refusal(site, client, action) {
        Some(reason) => Some(reason),
        None => judge(host, site, &opened, &solution)?,
    };
    let parameters = opened.parameters;
    Ok(Verdict {
        rejected,
        cost: Some(parameters.work.cost),
        reported_time_ms: solution.time,
        expires_at: parameters.expires_at.map(|seconds| seconds as u64),
        action: parameters.bound.action,
    })
}

/// Judges the solution of a genuine challenge and spends the challenge if it is right.
fn judge(
    host: &dyn Host,
    site: &Site,
    opened: &Opened<'_>,
    solution: &Solution<'_>,
) -> Result<Option<Reason>, Error> {
    let Opened { parameters, spending } = opened;
    let Some(key) = solution.plausible_key(parameters) else {
        return spending.fail().map(Some);
    };
    let signature = parameters.key_signature.as_deref().filter(|_| !site.key_signing_key.is_empty());
    let right = match signature {
        Some(signature) => solution::is_signed_key(host, &site.key_signing_key, signature, &key)?,
        None if parameters.work.is_quick() => {
            let right =
                solution::is_derived_key(host, parameters, CounterMode::Uint32, solution.counter, &key)?;
            // The claim of a right solution says whether it can still succeed.
            if !right && let Some(reason) = spending.exhausted()? {
                return Ok(Some(reason));
            }
            right
        }
        None => {
            // A derivation is expensive: first make sure that it can still succeed.
            if let Some(reason) = spending.exhausted()? {
                return Ok(Some(reason));
            }
            solution::is_derived_key(host, parameters, CounterMode::Uint32, solution.counter, &key)?
        }
    };
    if right { spending.claim() } else { spending.fail().map(Some) }
}
