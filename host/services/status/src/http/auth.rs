//! Authenticates callers of the status: by a token, by a session of a user, or by a user's name and password.
//!
//! A token allows the status and nothing else. A valid one takes precedence over other credentials. Passwords are compared in
//! the threads of key derivation, and failed logins are limited by client.

mod password;

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::http::{HeaderMap, header};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bulkhead_appointments::Accounts;
use bulkhead_http::{bearer, rate_limit::RateLimiter};
use bulkhead_pow::Pow;
use bulkhead_runtime::api_keys::ApiKeys;

use self::password::WorkFactor;
use super::error::StatusApiError;
use crate::config::StatusSettings;

const TOKEN: &str = "x-token";
const SESSION_HEADER: &str = "x-authkey";
const SESSION_COOKIE: &str = "X-AuthKey";
/// Failed logins per minute and client; as many may be tried at once.
const ATTEMPTS_PER_MINUTE: u32 = 10;
/// The maximum length of a session key; a real one has 32 to 40 characters.
const KEY_BYTES: usize = 256;

/// Authenticates requests by their credentials.
pub struct Authenticator {
    tokens: ApiKeys,
    accounts: Accounts,
    pow: Arc<Pow>,
    attempts: RateLimiter,
}

impl Authenticator {
    /// Creates an authenticator from the configuration.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn new(
        settings: &StatusSettings,
        accounts: Accounts,
        pow: Arc<Pow>,
    ) -> Result<Self, getrandom::Error> {
        let tokens = ApiKeys::of_hashes(settings.tokens.iter().map(|token| token.0));
        Ok(Self { tokens, accounts, pow, attempts: RateLimiter::new()? })
    }

    /// Returns the accepted tokens, which can be replaced.
    pub fn tokens(&self) -> ApiKeys {
        self.tokens.clone()
    }

    /// Admits a request, or returns the error to answer.
    pub async fn admit(&self, headers: &HeaderMap, client: IpAddr) -> Result<(), StatusApiError> {
        if has_token(headers, &self.tokens) {
            return Ok(());
        }
        if let Some((name, password)) = basic(headers) {
            return self.log_in(&name, password, client).await;
        }
        let Some(key) = session_key(headers) else {
            return Err(StatusApiError::unauthenticated());
        };
        // Not rate limited: a key of 128 bits cannot be guessed, and a proxy sends the keys of many users, expired ones too.
        match self.accounts.has_session(&key).await? {
            true => Ok(()),
            false => Err(StatusApiError::unauthenticated()),
        }
    }

    /// Checks a user's password. An attempt is charged to the rate limit beforehand, so that concurrent attempts cost as much
    /// as sequential ones, and refunded when it succeeds.
    async fn log_in(&self, name: &str, password: String, client: IpAddr) -> Result<(), StatusApiError> {
        let now = Instant::now();
        self.attempts
            .take("", client, ATTEMPTS_PER_MINUTE, now)
            .map_err(StatusApiError::too_many_attempts)?;
        let matches = self.password_matches(name, password).await;
        if !matches!(matches, Ok(false)) {
            self.attempts.refund("", client, ATTEMPTS_PER_MINUTE, Instant::now());
        }
        if matches? { Ok(()) } else { Err(StatusApiError::wrong_credentials()) }
    }

    /// Compares a password with the user's hash.
    async fn password_matches(&self, name: &str, password: String) -> Result<bool, StatusApiError> {
        let hash = self.accounts.password_hash(name).await?;
        // Costs of all users, so that an unknown user costs as much as a known one.
        let costs = self.accounts.hash_costs().await?;
        let check = move || {
            let work_factor = WorkFactor::of(costs.iter().map(String::as_str));
            password::check(&password, hash.as_deref(), work_factor)
        };
        let (matches, work) = self.pow.run(check).await?;
        tracing::debug!(
            bcrypt_rounds = work.bcrypt_rounds,
            argon2_blocks = work.argon2_blocks,
            "password checked"
        );
        Ok(matches)
    }
}

/// Returns the value of a header that occurs once.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    std::str::from_utf8(value.as_bytes()).ok()
}

/// Checks whether a header has an accepted token.
fn has_token(headers: &HeaderMap, tokens: &ApiKeys) -> bool {
    let given = [only(headers, TOKEN), bearer::token(headers)];
    given.into_iter().flatten().any(|token| !token.is_empty() && tokens.holds(token))
}

/// Returns name and password of `Authorization: Basic` (RFC 7617), both empty when they cannot be decoded.
fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let (scheme, encoded) = only(headers, header::AUTHORIZATION.as_str())?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let pair = decoded.as_deref().and_then(|text| text.split_once(':'));
    Some(pair.map_or_else(Default::default, |(name, password)| (name.to_owned(), password.to_owned())))
}

/// Returns the session key from its header, else from its cookie.
fn session_key(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut keys = pairs.filter(|(name, _)| *name == SESSION_COOKIE).map(|(_, key)| key);
    let key = only(headers, SESSION_HEADER).filter(|key| !key.is_empty()).or_else(|| keys.next())?;
    (!key.is_empty() && key.len() <= KEY_BYTES).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;
    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn tokens_are_accepted_in_either_header() {
        let tokens = ApiKeys::new(["first", "second", "dritt\u{e4}"]);
        for lines in [
            &[("x-token", "first")][..],
            &[("x-token", "second"), ("authorization", "Basic eDp5")],
            &[("authorization", "Bearer first")],
            &[("x-token", "wrong"), ("authorization", "bearer second")],
            &[("x-token", "dritt\u{e4}")],
        ] {
            assert!(has_token(&headers(lines), &tokens), "{lines:?}");
        }
        for lines in [
            &[][..],
            &[("x-token", "")],
            &[("x-token", "First")],
            &[("x-token", "first"), ("x-token", "first")],
            &[("x-token", "first, first")],
            &[("authorization", "Basic first")],
        ] {
            assert!(!has_token(&headers(lines), &tokens), "{lines:?}");
        }
        assert!(!has_token(&headers(&[("x-token", "first")]), &ApiKeys::default()));
    }

    #[test]
    fn session_key_comes_from_header_or_cookie() {
        for (lines, key) in [
            (&[("x-authkey", "k")][..], Some("k")),
            (&[("cookie", "a=b; X-AuthKey=c")], Some("c")),
            (&[("cookie", "X-AuthKey=c"), ("x-authkey", "k")], Some("k")),
            (&[("cookie", "x-authkey=c")], None),
            (&[("x-authkey", "")], None),
            (&[], None),
        ] {
            assert_eq!(session_key(&headers(lines)).as_deref(), key, "{lines:?}");
        }
    }

    #[test]
    fn basic_credentials_are_decoded() {
        let read = |value: &str| basic(&headers(&[("authorization", value)]));
        let pair = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
        assert_eq!(read("Basic dXNlcjpwYTpzcw=="), pair("user", "pa:ss"));
        assert_eq!(read("basic !!"), pair("", ""));
        assert_eq!(read("Bearer dXNlcjpwYXNz"), None);
    }

    #[test]
    fn credential_steps_grow_with_headers() {
        let with = |name: &'static str, head: &str, unit: &str, bytes| {
            headers(&[(name, repeated(head, unit, "", bytes).as_str())])
        };
        let shapes: [Shape<'_, HeaderMap>; 3] = [
            ("cookies", &|bytes| with("cookie", "", "X-AuthKey;", bytes)),
            ("empty cookies", &|bytes| with("cookie", "", ";=", bytes)),
            ("basic", &|bytes| with("authorization", "Basic ", "Ojo6", bytes)),
        ];
        let test = concat!(module_path!(), "::credential_steps_grow_with_headers");
        assert_linear(test, 1 << 20, &shapes, |headers| (session_key(headers), basic(headers)));
    }
}
