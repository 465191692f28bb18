//! Authenticates callers of the back-end endpoints, on top of the site credentials: not at all, by API key, or by JWT.

mod jwks;
mod jwt;

use std::path::PathBuf;

use axum::http::{HeaderMap, StatusCode};
use bulkhead_config::secret::Secret;
use bulkhead_http::bearer;
use bulkhead_os::clock::HostClock;
use bulkhead_runtime::api_keys::{ApiKeys, token_hash};
use thiserror::Error;

use self::jwt::JwtCheck;
use super::error::CaptchaApiError;
use crate::config::Auth;

/// Why the guard cannot be set up.
#[derive(Debug, Error)]
pub enum AuthError {
    /// The key set's file cannot be read.
    #[error("cannot read the key set `{}`: {source}; check captcha.jwt.key_set_file", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The key set is malformed, or has no usable key.
    #[error("the key set has no key that can check a signature: {0}; check captcha.jwt")]
    KeySet(String),
    /// The key set cannot be fetched.
    #[error("cannot fetch the key set: {0}; check captcha.jwt.key_set_url")]
    Fetch(#[from] reqwest::Error),
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuthRefusal {
    /// The call has no bearer token.
    Missing,
    /// The token is not valid.
    Invalid,
    /// The token is genuine and has expired.
    Expired,
    /// The token is genuine and not valid yet.
    Early,
    /// The keys that tokens are checked with are unavailable.
    Unavailable,
}

/// Authenticates callers.
pub struct Guard(GuardMode);

enum GuardMode {
    Open,
    ApiKeys(ApiKeys),
    Jwt(JwtCheck),
}

impl Guard {
    /// Returns a guard for a configuration. Reads a key set in a file now, and fetches one from a URL at the first
    /// call.
    pub fn new(auth: &Auth, clock: &HostClock) -> Result<Self, AuthError> {
        Ok(Self(match auth {
            Auth::None => GuardMode::Open,
            Auth::ApiKey(keys) => GuardMode::ApiKeys(ApiKeys::new(keys.iter().map(Secret::expose))),
            Auth::Jwt(settings) => GuardMode::Jwt(JwtCheck::new(settings, clock)?),
        }))
    }

    /// Checks whether it admits everyone, for as long as the host runs: another mode needs a restart.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.0, GuardMode::Open)
    }

    /// Replaces the API keys by those of `auth`, if the guard checks API keys; another mode needs a restart.
    pub(crate) fn replace_keys(&self, auth: &Auth) {
        if let (GuardMode::ApiKeys(keys), Auth::ApiKey(wanted)) = (&self.0, auth) {
            keys.replace(wanted.iter().map(|key| token_hash(key.expose())));
        }
    }

    /// Checks the `Authorization` of a request.
    pub async fn admit(&self, headers: &HeaderMap) -> Result<(), CaptchaApiError> {
        self.check(headers).await.map_err(CaptchaApiError::from)
    }

    /// Checks whether the `Authorization` of a request identifies its sender; false without an authentication mode.
    pub(crate) async fn authenticates(&self, headers: &HeaderMap) -> bool {
        !self.is_open() && self.check(headers).await.is_ok()
    }

    async fn check(&self, headers: &HeaderMap) -> Result<(), AuthRefusal> {
        match &self.0 {
            GuardMode::Open => Ok(()),
            GuardMode::ApiKeys(keys) => match keys.holds(bearer(headers)?) {
                true => Ok(()),
                false => Err(AuthRefusal::Invalid),
            },
            GuardMode::Jwt(check) => check.admit(bearer(headers)?).await,
        }
    }
}

impl From<AuthRefusal> for CaptchaApiError {
    fn from(denied: AuthRefusal) -> Self {
        const INVALID: &str = r#"Bearer error="invalid_token""#;
        let (message, challenge) = match denied {
            AuthRefusal::Unavailable => {
                let message = "the keys that tokens are checked with cannot be fetched";
                return Self::unavailable("auth-unavailable", message).retry_after(jwks::RETRY_SECONDS);
            }
            AuthRefusal::Missing => ("a bearer token is required", "Bearer"),
            AuthRefusal::Invalid => ("the bearer token is not accepted", INVALID),
            AuthRefusal::Expired => ("the bearer token has expired by the clock of this host", INVALID),
            AuthRefusal::Early => ("the bearer token is not valid yet by the clock of this host", INVALID),
        };
        let error = Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
        Self { authenticate: Some(challenge), ..error }
    }
}

/// Returns the bearer token of a request.
fn bearer(headers: &HeaderMap) -> Result<&str, AuthRefusal> {
    bearer::token(headers).ok_or(AuthRefusal::Missing)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::{HeaderValue, header};

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        let values = values.iter().map(|value| HeaderValue::from_static(value));
        values.map(|value| (header::AUTHORIZATION, value)).collect()
    }

    #[tokio::test]
    async fn every_configured_key_is_accepted() {
        let keys = vec![Secret::new("first"), Secret::new("second")];
        let guard = Guard::new(&Auth::ApiKey(keys), &HostClock::system()).unwrap();
        for value in ["Bearer first", "bearer second", "BEARER  first"] {
            assert_eq!(guard.check(&headers(&[value])).await, Ok(()), "{value}");
        }
        for value in ["Bearer third", "Bearer firs", "Bearer firstsecond", "Bearer First"] {
            assert_eq!(guard.check(&headers(&[value])).await, Err(AuthRefusal::Invalid), "{value}");
        }
        for values in [vec![], vec!["first"], vec!["Basic first"], vec!["Bearer "], vec!["Bearer"]] {
            assert_eq!(guard.check(&headers(&values)).await, Err(AuthRefusal::Missing), "{values:?}");
        }
        assert!(guard.authenticates(&headers(&["Bearer second"])).await);
        assert!(!guard.authenticates(&headers(&["Bearer third"])).await);
        let twice = headers(&["Bearer first", "Bearer first"]);
        assert_eq!(guard.check(&twice).await, Err(AuthRefusal::Missing));
    }

    #[tokio::test]
    async fn replaced_keys_apply_to_next_call() {
        let guard = Guard::new(&Auth::ApiKey(vec![Secret::new("first")]), &HostClock::system()).unwrap();
        guard.replace_keys(&Auth::ApiKey(vec![Secret::new("second")]));
        assert_eq!(guard.check(&headers(&["Bearer first"])).await, Err(AuthRefusal::Invalid));
        assert_eq!(guard.check(&headers(&["Bearer second"])).await, Ok(()));
        // Another mode needs a restart, and so do its keys.
        guard.replace_keys(&Auth::None);
        assert_eq!(guard.check(&headers(&["Bearer second"])).await, Ok(()));
        assert_eq!(guard.check(&HeaderMap::new()).await, Err(AuthRefusal::Missing));
    }

    #[tokio::test]
    async fn every_call_passes_without_a_mode() {
        let guard = Guard::new(&Auth::None, &HostClock::system()).unwrap();
        assert_eq!(guard.check(&HeaderMap::new()).await, Ok(()));
        assert!(!guard.authenticates(&headers(&["Bearer first"])).await);
    }

    #[test]
    fn refusal_has_an_authentication_challenge() {
        let error = CaptchaApiError::from(AuthRefusal::Missing);
        assert_eq!((error.status.as_u16(), error.authenticate), (401, Some("Bearer")));
        let error = CaptchaApiError::from(AuthRefusal::Invalid);
        assert_eq!(error.authenticate, Some(r#"Bearer error="invalid_token""#));
        assert_eq!(CaptchaApiError::from(AuthRefusal::Unavailable).status, 503);
    }
}
