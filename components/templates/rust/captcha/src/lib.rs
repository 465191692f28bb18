//! A captcha component: proof-of-work challenges of the ALTCHA protocol, version 2, and their verification.
//!
//! The price of a challenge is the policy of `price`: change it. The host keeps the keys and the ledger, and does the work.

use bulkhead_guest::Log;
use serde_json::{Value, json};

use bindings::bulkhead::captcha::{ledger, pow};
use bindings::bulkhead::host::keys;
use bindings::exports::bulkhead::captcha::challenges::{
    Client, Difficulty, Error, Guest, Issued, Reason, Site, Verdict,
};
use bindings::wasi::clocks::wall_clock;

/// Bindings generated from the WIT.
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "bulkhead:captcha/captcha", generate_all });

    use super::Component;
    export!(Component);
}

const LOG: Log = Log::new(env!("CARGO_PKG_NAME"));
const KEY_BYTES: u32 = 32;
const PREFIX_BYTES: usize = 16;
const RETRY_SECONDS: u32 = 5;

struct Component;

/// Returns the cost of a challenge: the last step of the site's ladder that the client has reached.
fn price(site: &Site, client: &Client, visits: u64) -> u32 {
    if client.allow_listed {
        return 1;
    }
    let ladder = match &site.difficulty {
        Difficulty::Ladder(ladder) | Difficulty::Auto((ladder, _)) => ladder,
    };
    let reached = ladder.iter().rfind(|step| u64::from(step.min_visits) <= visits);
    reached.map_or(1, |step| step.cost)
}

fn work(cost: u32) -> pow::Parameters {
    let algorithm = pow::Algorithm::Sha256;
    pow::Parameters { algorithm, cost, memory_cost: 0, parallelism: 1, key_length: KEY_BYTES }
}

/// A challenge that was solved, as the client returns it.
struct Solved {
    cost: u32,
    expires_at: u32,
    nonce: String,
    salt: String,
    key_prefix: String,
    action: Option<String>,
    signature: String,
    counter: u32,
    time: Option<f64>,
}

impl Solved {
    fn parse(payload: &str) -> Result<Self, Error> {
        let malformed = || Error::Malformed("the payload is not a solved challenge".to_owned());
        let payload: Value = serde_json::from_str(payload).map_err(|_| malformed())?;
        Self::read(&payload["challenge"], &payload["solution"]).ok_or_else(malformed)
    }

    fn read(challenge: &Value, solution: &Value) -> Option<Self> {
        let parameters = &challenge["parameters"];
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let hex = |value: &Value| value.as_str().filter(|text| decode(text).is_some()).map(str::to_owned);
        let key_prefix = hex(&parameters["keyPrefix"])?;
        // An empty prefix would ask for no work.
        if key_prefix.len() != 2 * PREFIX_BYTES {
            return None;
        }
        Some(Self {
            cost: number(&parameters["cost"])?,
            expires_at: number(&parameters["expiresAt"])?,
            nonce: hex(&parameters["nonce"])?,
            salt: hex(&parameters["salt"])?,
            key_prefix,
            action: parameters["action"].as_str().map(str::to_owned),
            signature: hex(&challenge["signature"])?,
            counter: number(&solution["counter"])?,
            time: solution["time"].as_f64(),
        })
    }

    /// Returns the text over which a challenge is signed.
    fn signed(&self, site: &Site) -> String {
        let Self { cost, expires_at, nonce, salt, key_prefix, action, .. } = self;
        let action = action.as_deref().unwrap_or_default();
        format!("{}|{cost}|{expires_at}|{nonce}|{salt}|{key_prefix}|{action}", site.key)
    }

    fn is_signed(&self, site: &Site) -> Result<bool, Error> {
        let tag = decode(&self.signature).unwrap_or_default();
        let text = self.signed(site);
        Ok(keys::hmac_verify(&site.signing_key, None, keys::Hash::Sha256, text.as_bytes(), &tag)?)
    }

    fn is_solved(&self) -> Result<bool, Error> {
        let mut password = decode(&self.nonce).unwrap_or_default();
        password.extend(self.counter.to_be_bytes());
        let salt = decode(&self.salt).unwrap_or_default();
        let key = pow::derive(work(self.cost), &password, &salt)?;
        Ok(encode(&key).starts_with(&self.key_prefix))
    }

    fn verdict(&self, rejected: Option<Reason>) -> Verdict {
        Verdict {
            rejected,
            cost: Some(self.cost),
            reported_time_ms: self.time,
            expires_at: Some(self.expires_at.into()),
            action: self.action.clone(),
        }
    }
}

impl Guest for Component {
    fn issue(site: Site, client: Client, action: Option<String>) -> Result<Issued, Error> {
        LOG.report_panics();
        let visits = ledger::record_visit(&site.key, &client.network, client.allow_listed)?.client + 1;
        let cost = price(&site, &client, visits);
        let minted = pow::mint(work(cost), site.counter_max)?;
        let now = u32::try_from(wall_clock::now().seconds).unwrap_or(u32::MAX);
        let key = encode(&minted.derived_key);
        let mut issued = Solved {
            cost,
            expires_at: now.saturating_add(site.timeout_seconds),
            nonce: encode(&minted.nonce),
            salt: encode(&minted.salt),
            key_prefix: key.chars().take(2 * PREFIX_BYTES).collect(),
            action,
            signature: String::new(),
            counter: 0,
            time: None,
        };
        let text = issued.signed(&site);
        issued.signature =
            encode(&keys::hmac_sign(&site.signing_key, keys::Hash::Sha256, text.as_bytes())?.tag);
        let mut parameters = json!({
            "algorithm": "SHA-256",
            "cost": cost,
            "keyLength": KEY_BYTES,
            "expiresAt": issued.expires_at,
            "nonce": issued.nonce,
            "salt": issued.salt,
            "keyPrefix": issued.key_prefix,
        });
        if let Some(action) = issued.action {
            parameters["action"] = action.into();
        }
        let challenge = json!({ "parameters": parameters, "signature": issued.signature }).to_string();
        Ok(Issued { challenge, cost, visits })
    }

    fn verify(
        site: Site,
        _client: Client,
        payload: String,
        action: Option<String>,
    ) -> Result<Verdict, Error> {
        LOG.report_panics();
        let solved = Solved::parse(&payload)?;
        let expires_at = u64::from(solved.expires_at);
        if !solved.is_signed(&site)? {
            let reported_time_ms = solved.time;
            let rejected = Some(Reason::BadSignature);
            return Ok(Verdict { rejected, cost: None, reported_time_ms, expires_at: None, action: None });
        }
        let rejected = if expires_at < wall_clock::now().seconds {
            Some(Reason::Expired)
        } else if action.is_some() && action != solved.action {
            Some(Reason::WrongAction)
        } else if !solved.is_solved()? {
            let failures = ledger::record_failure(&solved.signature, expires_at)?;
            let is_over = failures > site.max_failures;
            Some(if is_over { Reason::TooManyFailures } else { Reason::WrongSolution })
        } else if ledger::claim(&solved.signature, expires_at, site.max_verifies, false)? {
            None
        } else {
            Some(Reason::Replayed)
        };
        Ok(solved.verdict(rejected))
    }

    fn invalidate(site: Site, payload: String) -> Result<bool, Error> {
        LOG.report_panics();
        let solved = Solved::parse(&payload)?;
        if !solved.is_signed(&site)? {
            return Ok(false);
        }
        Ok(ledger::claim(&solved.signature, solved.expires_at.into(), site.max_verifies, true)?)
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        let failed = |error: Error| format!("{error:?}");
        let (key, data) = ("self-test", b"self-test");
        let tag = keys::hmac_sign(key, keys::Hash::Sha256, data).map_err(|error| failed(error.into()))?.tag;
        let is_accepted = keys::hmac_verify(key, None, keys::Hash::Sha256, data, &tag);
        if !is_accepted.map_err(|error| failed(error.into()))? {
            return Err("a signature just made is not accepted".to_owned());
        }
        pow::mint(work(1), 1).map(drop).map_err(|error| failed(error.into()))
    }
}

impl From<keys::Error> for Error {
    fn from(error: keys::Error) -> Self {
        match error {
            keys::Error::UnknownKey(text) | keys::Error::Invalid(text) => Self::Internal(text),
        }
    }
}

impl From<pow::Error> for Error {
    fn from(error: pow::Error) -> Self {
        match error {
            pow::Error::Refused(text) => Self::Internal(text),
            pow::Error::Busy(seconds) => Self::Busy(seconds),
        }
    }
}

impl From<ledger::Error> for Error {
    fn from(error: ledger::Error) -> Self {
        match error {
            ledger::Error::Unavailable(_) => Self::Busy(RETRY_SECONDS),
            ledger::Error::Invalid(text) => Self::Internal(text),
        }
    }
}

/// Returns bytes as lower-case hex.
fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of lower-case hex.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}
