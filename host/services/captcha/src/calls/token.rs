//! Widget results: server-signed ALTCHA payloads of a verification, each of which is accepted once.
//!
//! Format (ALTCHA's server signature): `{algorithm, id, signature, verificationData, verified}` with
//! `signature = hex(HMAC-SHA-256(key, SHA-256(verificationData)))`; only `verificationData` is trusted.

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bulkhead_runtime::keys::{HmacHash, Key};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{RejectionReason, site::ServedSite};

/// Shortest lifetime of a result, seconds: a form is sent soon after its captcha.
const MIN_LIFETIME_SECONDS: u64 = 300;
/// The only supported hash.
const ALGORITHM: &str = "SHA-256";

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidgetResult {
    /// A random id.
    pub id: String,
    /// When the solution was accepted, Unix seconds.
    pub time: u64,
    /// When it expires, Unix seconds.
    pub expires_at: u64,
    /// Action signed into the challenge.
    pub action: Option<String>,
    /// Host name of the page, from its origin.
    pub hostname: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SignedPayload<'a> {
    #[serde(borrow)]
    algorithm: Cow<'a, str>,
    #[serde(borrow)]
    signature: Cow<'a, str>,
    #[serde(borrow, rename = "verificationData")]
    verification_data: Cow<'a, str>,
}

impl WidgetResult {
    /// Returns a new result at `now` (Unix seconds). It lives as long as a challenge, which is how long the widget
    /// shows itself as verified.
    pub fn new(now: u64, timeout: u32, action: Option<String>, hostname: Option<String>) -> Self {
        let id = uuid::Uuid::new_v4().simple().to_string();
        Self {
            id,
            time: now,
            expires_at: now.saturating_add(MIN_LIFETIME_SECONDS.max(timeout.into())),
            action,
            hostname,
        }
    }

    /// Signs the result with `key` for `site`. Returns base64, as in the widget's form field.
    pub fn sign(&self, site: &str, key: &Key) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("expire", &self.expires_at.to_string());
        form.append_pair("id", &self.id);
        form.append_pair("siteKey", site);
        form.append_pair("time", &self.time.to_string());
        form.append_pair("verified", "true");
        for (name, value) in [("action", &self.action), ("hostname", &self.hostname)] {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        let data = form.finish();
        let payload = serde_json::json!({
            "algorithm": ALGORITHM,
            "id": self.id,
            "signature": hex::encode(tag(key, &data)),
            "verificationData": data,
            "verified": true,
        });
        BASE64_STANDARD.encode(payload.to_string())
    }

    /// Reads the result from `payload` (JSON text) and checks that one of the site's keys signed it for this site and
    /// that it has not expired.
    ///
    /// # Errors
    /// Returns why the result is rejected; an unreadable payload counts as a bad signature.
    pub fn check(site: &ServedSite, payload: &str, now: u64) -> Result<Self, RejectionReason> {
        let payload: SignedPayload<'_> =
            serde_json::from_str(payload).map_err(|_| RejectionReason::BadSignature)?;
        let data = form_urlencoded::parse(payload.verification_data.as_bytes()).collect::<BTreeMap<_, _>>();
        let text = |name: &str| data.get(name).map(|value| value.to_string());
        // Each site has its own keys, so that the signature of another site's result is never valid here.
        if text("siteKey").is_some_and(|key| key != site.key) {
            return Err(RejectionReason::WrongSite);
        }
        let signature = hex::decode(&*payload.signature).map_err(|_| RejectionReason::BadSignature)?;
        let digest = Sha256::digest(payload.verification_data.as_bytes());
        let signed = |key: &Key| key.verifies(HmacHash::Sha256, &digest, &signature);
        if payload.algorithm != ALGORITHM || !site.token_keys.iter().any(signed) {
            return Err(RejectionReason::BadSignature);
        }
        let number = |name: &str| data.get(name).and_then(|value| value.parse::<u64>().ok());
        let (Some(id), Some(time), Some(expires_at), Some(_)) =
            (text("id"), number("time"), number("expire"), text("siteKey"))
        else {
            return Err(RejectionReason::BadSignature);
        };
        if expires_at < now {
            return Err(RejectionReason::Expired);
        }
        Ok(Self { id, time, expires_at, action: text("action"), hostname: text("hostname") })
    }

    /// Returns its id in the ledger.
    pub fn ledger_id(&self) -> String {
        hex::encode(Sha256::digest(&self.id))
    }
}

/// Computes the signature of a result's data.
fn tag(key: &Key, data: &str) -> Vec<u8> {
    key.hmac(HmacHash::Sha256, &Sha256::digest(data))
}

/// Checks whether a payload claims to be a widget result.
pub fn is_widget_result(payload: &str) -> bool {
    #[derive(Deserialize)]
    struct PayloadKind<'a> {
        #[serde(borrow, rename = "verificationData")]
        _data: Option<&'a serde_json::value::RawValue>,
    }
    payload.contains("verificationData")
        && serde_json::from_str::<PayloadKind<'_>>(payload).is_ok_and(|kind| kind._data.is_some())
}
