//! Who may call the back-end endpoints, on top of the site credentials: anybody, holders of an API
//! key, or holders of a JWT.

mod jwks;
mod jwt;

use std::path::PathBuf;

use axum::http::{HeaderMap, StatusCode};
use bulkhead_config::secret::Secret;
use bulkhead_http::bearer;
use bulkhead_os::clock::HostClock;
use bulkhead_runtime::keys::{ApiKeys, token_hash};
use thiserror::Error;

use self::jwt::JwtCheck;
use super::error::ApiError;
use crate::config::Auth;

/// Why the guard cannot be set up.
#[derive(Debug, Error)]
pub enum AuthError {
    /// The key set's file cannot be read.
    #[error("cannot read the key set `{}`: {source}; check captcha.jwt.key_set_file", path.display())]
    Read {
        /// The configured file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The key set is none, or has no usable key.
    #[error("the key set has no key that can check a signature: {0}; check captcha.jwt")]
    KeySet(String),
    /// The key set cannot be fetched.
    #[error("cannot fetch the key set: {0}; check captcha.jwt.key_set_url")]
    Fetch(#[from] reqwest::Error),
}

/// Why a call is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denied {
    /// No bearer token.
    Missing,
    /// A token that does not hold.
    Invalid,
    /// No keys to judge by at the moment.
    Unavailable,
}

/// Lets calls in or turns them away.
pub struct Guard(Kind);

enum Kind {
    Open,
    ApiKeys(ApiKeys),
    Jwt(JwtCheck),
}

impl Guard {
    /// A guard as configured. A key set in a file is read here, one behind a URL at the first call.
    pub fn new(auth: &Auth, clock: &HostClock) -> Result<Self, AuthError> {
        Ok(Self(match auth {
            Auth::None => Kind::Open,
            Auth::ApiKey(keys) => Kind::ApiKeys(ApiKeys::new(keys.iter().map(Secret::expose))),
            Auth::Jwt(settings) => Kind::Jwt(JwtCheck::new(settings, clock)?),
        }))
    }

    /// Accepts the API keys of `auth` in place of those before, where such keys let calls in; any other mode is that of the
    /// start.
    pub fn replace_keys(&self, auth: &Auth) {
        if let (Kind::ApiKeys(keys), Auth::ApiKey(wanted)) = (&self.0, auth) {
            keys.replace(wanted.iter().map(|key| token_hash(key.expose())));
        }
    }

    /// Checks a request's `Authorization`.
    pub async fn admit(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        self.judge(headers).await.map_err(ApiError::from)
    }

    /// Whether a request's `Authorization` shows who sent it: never without an auth mode, for then nobody has a name.
    pub async fn authenticates(&self, headers: &HeaderMap) -> bool {
        !matches!(self.0, Kind::Open) && self.judge(headers).await.is_ok()
    }

    async fn judge(&self, headers: &HeaderMap) -> Result<(), Denied> {
        match &self.0 {
            Kind::Open => Ok(()),
            Kind::ApiKeys(keys) => match keys.holds(bearer(headers)?) {
                true => Ok(()),
                false => Err(Denied::Invalid),
            },
            Kind::Jwt(check) => check.admit(bearer(headers)?).await,
        }
    }
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        let (message, challenge) = match denied {
            Denied::Unavailable => {
                let message = "the keys that tokens are checked with cannot be fetched";
                return Self::unavailable("auth-unavailable", message).retry_after(jwks::RETRY_SECONDS);
            }
            Denied::Missing => ("a bearer token is required", "Bearer"),
            Denied::Invalid => ("the bearer token is not accepted", r#"Bearer error="invalid_token""#),
        };
        let error = Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
        Self { authenticate: Some(challenge), ..error }
    }
}

/// The request's bearer token.
fn bearer(headers: &HeaderMap) -> Result<&str, Denied> {
    bearer::token(headers).ok_or(Denied::Missing)
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
    async fn each_configured_key_opens() {
        let keys = vec![Secret::new("first"), Secret::new("second")];
        let guard = Guard::new(&Auth::ApiKey(keys), &HostClock::system()).unwrap();
        for value in ["Bearer first", "bearer second", "BEARER  first"] {
            assert_eq!(guard.judge(&headers(&[value])).await, Ok(()), "{value}");
        }
        for value in ["Bearer third", "Bearer firs", "Bearer firstsecond", "Bearer First"] {
            assert_eq!(guard.judge(&headers(&[value])).await, Err(Denied::Invalid), "{value}");
        }
        for values in [vec![], vec!["first"], vec!["Basic first"], vec!["Bearer "], vec!["Bearer"]] {
            assert_eq!(guard.judge(&headers(&values)).await, Err(Denied::Missing), "{values:?}");
        }
        assert!(guard.authenticates(&headers(&["Bearer second"])).await);
        assert!(!guard.authenticates(&headers(&["Bearer third"])).await);
        let twice = headers(&["Bearer first", "Bearer first"]);
        assert_eq!(guard.judge(&twice).await, Err(Denied::Missing));
    }

    #[tokio::test]
    async fn replaced_keys_count_from_the_next_call() {
        let guard = Guard::new(&Auth::ApiKey(vec![Secret::new("first")]), &HostClock::system()).unwrap();
        guard.replace_keys(&Auth::ApiKey(vec![Secret::new("second")]));
        assert_eq!(guard.judge(&headers(&["Bearer first"])).await, Err(Denied::Invalid));
        assert_eq!(guard.judge(&headers(&["Bearer second"])).await, Ok(()));
        // Another mode waits for a restart, and so do its keys.
        guard.replace_keys(&Auth::None);
        assert_eq!(guard.judge(&headers(&["Bearer second"])).await, Ok(()));
        assert_eq!(guard.judge(&HeaderMap::new()).await, Err(Denied::Missing));
    }

    #[tokio::test]
    async fn without_a_mode_all_come_in() {
        let guard = Guard::new(&Auth::None, &HostClock::system()).unwrap();
        assert_eq!(guard.judge(&HeaderMap::new()).await, Ok(()));
        assert!(!guard.authenticates(&headers(&["Bearer first"])).await);
    }

    #[test]
    fn a_refusal_says_how_to_authenticate() {
        let error = ApiError::from(Denied::Missing);
        assert_eq!((error.status.as_u16(), error.authenticate), (401, Some("Bearer")));
        let error = ApiError::from(Denied::Invalid);
        assert_eq!(error.authenticate, Some(r#"Bearer error="invalid_token""#));
        assert_eq!(ApiError::from(Denied::Unavailable).status, 503);
    }
}
