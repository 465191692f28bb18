//! Checks bearer JWTs (RFC 7519): signature, `exp`, `nbf`, and issuer and audience where configured.

use bulkhead_os::clock::HostClock;
use jsonwebtoken::{Header, Validation, decode, decode_header};
use serde::Deserialize;

use super::{
    AuthError, AuthRefusal,
    jwks::{KeySource, PublicKey},
};
use crate::config::Jwt;

/// Tolerated difference between the clocks of issuer and host, seconds.
const LEEWAY_SECONDS: f64 = 60.0;

/// The claims that limit a token's validity, Unix seconds.
#[derive(Deserialize)]
struct ValidityClaims {
    exp: f64,
    nbf: Option<f64>,
}

impl ValidityClaims {
    fn check_at(&self, now: f64) -> Result<(), AuthRefusal> {
        if self.nbf.is_some_and(|nbf| nbf > now + LEEWAY_SECONDS) {
            return Err(AuthRefusal::Early);
        }
        // Also where it is not a number.
        if self.exp >= now - LEEWAY_SECONDS { Ok(()) } else { Err(AuthRefusal::Expired) }
    }
}

/// Checks tokens.
pub struct JwtCheck {
    source: KeySource,
    issuer: Option<String>,
    audiences: Vec<String>,
    clock: HostClock,
}

impl JwtCheck {
    /// Returns the check for a configuration; `clock` gives the time.
    pub fn new(settings: &Jwt, clock: &HostClock) -> Result<Self, AuthError> {
        Ok(Self {
            source: KeySource::new(&settings.key_set, clock)?,
            clock: clock.clone(),
            issuer: settings.issuer.clone(),
            audiences: settings.audiences.clone(),
        })
    }

    /// Checks a token. A token of an unknown key triggers a refresh of the key set.
    pub async fn admit(&self, token: &str) -> Result<(), AuthRefusal> {
        let header = decode_header(token).map_err(|_| AuthRefusal::Invalid)?;
        // RFC 7515, section 4.1.11: critical extensions must be understood, and none is supported.
        if header.crit.is_some() {
            return Err(AuthRefusal::Invalid);
        }
        let fits = |key: &&PublicKey| key.fits(header.alg, header.kid.as_deref());
        let mut keys = self.source.keys().await.ok_or(AuthRefusal::Unavailable)?;
        if !keys.iter().any(|key| fits(&key)) {
            keys = self.source.refreshed().await.ok_or(AuthRefusal::Unavailable)?;
        }
        let validation = self.validation(&header);
        let now = self.clock.unix().as_secs_f64();
        let signed = |key: &PublicKey| decode::<ValidityClaims>(token, &key.key, &validation).ok();
        let token = keys.iter().filter(fits).find_map(signed).ok_or(AuthRefusal::Invalid)?;
        token.claims.check_at(now)
    }

    fn validation(&self, header: &Header) -> Validation {
        let mut validation = Validation::new(header.alg);
        // Checked with the host's clock instead.
        validation.validate_exp = false;
        let mut required = vec!["exp"];
        if let Some(issuer) = &self.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        if self.audiences.is_empty() {
            validation.validate_aud = false;
        } else {
            validation.set_audience(&self.audiences);
            required.push("aud");
        }
        validation.set_required_spec_claims(&required);
        validation
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::sync::Arc;

    use jsonwebtoken::{Algorithm, EncodingKey, encode, get_current_timestamp, jwk::Jwk};
    use serde_json::{Value, json};

    use super::{super::jwks, *};

    /// Generates an Ed25519 private key in PKCS#8 (RFC 8410) from 32 random bytes.
    fn new_key() -> EncodingKey {
        let mut der = hex::decode("302e020100300506032b657004220420").unwrap();
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).unwrap();
        der.extend(seed);
        EncodingKey::from_ed_der(&der)
    }

    fn check(key: &EncodingKey) -> (JwtCheck, String) {
        let mut jwk = Jwk::from_encoding_key(key, Algorithm::EdDSA).unwrap();
        jwk.common.key_id = Some("k1".into());
        let set = json!({ "keys": [jwk] }).to_string();
        let keys = Arc::new(jwks::parse(set.as_bytes()).unwrap());
        let check = JwtCheck {
            source: KeySource::Fixed(keys),
            issuer: Some("https://issuer.example".into()),
            audiences: vec!["captcha".into(), "other".into()],
            clock: HostClock::system(),
        };
        (check, set)
    }

    fn claims(changes: Value) -> Value {
        let mut claims = json!({
            "iss": "https://issuer.example", "aud": "captcha", "exp": get_current_timestamp() + 600,
        });
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => claims.as_object_mut().unwrap().remove(name),
                value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
            };
        }
        claims
    }

    fn sign(key: &EncodingKey, kid: Option<&str>, claims: &Value) -> String {
        let header = Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::EdDSA) };
        encode(&header, claims, key).unwrap()
    }

    #[tokio::test]
    async fn valid_tokens_pass() {
        let key = new_key();
        let (check, _) = check(&key);
        for (kid, changes) in [
            (Some("k1"), json!({})),
            (None, json!({})),
            (Some("k1"), json!({"aud": ["x", "other"], "nbf": get_current_timestamp()})),
        ] {
            assert_eq!(check.admit(&sign(&key, kid, &claims(changes))).await, Ok(()));
        }
    }

    #[tokio::test]
    async fn each_claim_is_checked() {
        let key = new_key();
        let (check, _) = check(&key);
        for changes in [
            json!({"exp": null}),
            json!({"exp": "soon"}),
            json!({"nbf": "soon"}),
            json!({"iss": "https://else.example"}),
            json!({"iss": null}),
            json!({"aud": "else"}),
            json!({"aud": []}),
            json!({"aud": null}),
        ] {
            let token = sign(&key, Some("k1"), &claims(changes.clone()));
            assert_eq!(check.admit(&token).await, Err(AuthRefusal::Invalid), "{changes}");
        }
    }

    #[tokio::test]
    async fn validity_is_checked_with_host_clock() {
        let key = new_key();
        let (mut check, _) = check(&key);
        let (clock, hands) = HostClock::movable();
        check.clock = clock;
        let now = get_current_timestamp();
        let token = sign(&key, Some("k1"), &claims(json!({"nbf": now - 1, "exp": now + 600})));
        assert_eq!(check.admit(&token).await, Ok(()));
        let minute = std::time::Duration::from_secs(60);
        for (minutes, answer) in [(10, Ok(())), (12, Err(AuthRefusal::Expired))] {
            hands.set_ahead(minutes * minute);
            assert_eq!(check.admit(&token).await, answer, "{minutes} minutes later");
            hands.set_back(minutes * minute);
        }
        hands.set_back(2 * minute);
        assert_eq!(check.admit(&token).await, Err(AuthRefusal::Early), "before nbf");
        let forged = sign(&new_key(), Some("k1"), &claims(json!({"exp": now - 600})));
        assert_eq!(check.admit(&forged).await, Err(AuthRefusal::Invalid), "nothing is said of its claims");
    }

    #[tokio::test]
    async fn clock_of_1970_is_named() {
        let key = new_key();
        let (mut check, _) = check(&key);
        let (clock, hands) = HostClock::movable();
        check.clock = clock;
        let now = get_current_timestamp();
        let token = sign(&key, Some("k1"), &claims(json!({"nbf": now - 1})));
        let since_epoch = check.clock.unix();
        hands.set_back(since_epoch);
        assert_eq!(check.admit(&token).await, Err(AuthRefusal::Early));
        hands.set_ahead(since_epoch);
        assert_eq!(check.admit(&token).await, Ok(()));
    }

    #[tokio::test]
    async fn forged_tokens_are_refused() {
        let key = new_key();
        let (check, set) = check(&key);
        let good = sign(&key, Some("k1"), &claims(json!({})));
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let (header, _) = signed.split_once('.').unwrap();
        let other_claims = sign(&key, Some("k1"), &claims(json!({"sub": "x"})));
        let other_body = other_claims.split('.').nth(1).unwrap();
        let x = serde_json::from_str::<Value>(&set).unwrap()["keys"][0]["x"].as_str().unwrap().to_owned();
        let public_as_secret = EncodingKey::from_secret(x.as_bytes());
        let confused = encode(&Header::new(Algorithm::HS256), &claims(json!({})), &public_as_secret).unwrap();
        for token in [
            sign(&new_key(), Some("k1"), &claims(json!({}))),
            sign(&key, Some("k2"), &claims(json!({}))),
            format!("{header}.{other_body}.{signature}"),
            format!("{signed}."),
            format!("eyJhbGciOiJub25lIn0.{other_body}."),
            confused,
            "a.b.c".into(),
            "x".into(),
        ] {
            assert_eq!(check.admit(&token).await, Err(AuthRefusal::Invalid), "{token}");
        }
    }

    #[tokio::test]
    async fn critical_extensions_are_refused() {
        let key = new_key();
        let (check, _) = check(&key);
        let token =
            |crit| encode(&Header { crit, ..Header::new(Algorithm::EdDSA) }, &claims(json!({})), &key);
        assert_eq!(check.admit(&token(None).unwrap()).await, Ok(()));
        for crit in [vec![], vec!["exp".to_owned()], vec!["urn:example:unknown".to_owned()]] {
            let refused = check.admit(&token(Some(crit.clone())).unwrap()).await;
            assert_eq!(refused, Err(AuthRefusal::Invalid), "{crit:?}");
        }
    }

    #[tokio::test]
    async fn issuer_and_audience_are_optional() {
        let key = new_key();
        let (mut check, _) = check(&key);
        check.issuer = None;
        check.audiences.clear();
        let token = sign(&key, None, &claims(json!({"iss": null, "aud": "anyone"})));
        assert_eq!(check.admit(&token).await, Ok(()));
    }
}
