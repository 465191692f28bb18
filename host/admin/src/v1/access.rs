//! Authenticates requests by bearer token and checks the token's scope.

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::{
    Extension, Json,
    extract::{Request, State},
    http::HeaderMap,
    middleware::Next,
    response::{IntoResponse, Response},
};
use bulkhead_config::tokens::Scope;
use bulkhead_http::{accept::PeerAddr, bearer, rate_limit::RateLimiter};
use bulkhead_rollout::Tokens;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::{AdminApiError, Api, pattern};
use crate::refusals::{RefusalKind, RefusalLog, RefusedAttempt};

/// Wrong tokens per minute and client that are answered with 401; further ones are answered with 429. This limits the
/// answers, not the guesses: every token is compared, so that a valid one always works, and tokens are too long to
/// guess.
const WRONG_TOKENS: u32 = 10;
/// Names of query parameters that hold tokens in other APIs.
const TOKEN_PARAMETERS: [&str; 5] = ["token", "access_token", "api_key", "apikey", "authorization"];

/// The name of a request's token, for the audit log, and its scope. An extension of every request that reaches a
/// handler.
#[derive(Clone, Debug)]
pub(super) struct Actor(pub(super) String, pub(super) Scope);

/// Checks the tokens of requests.
pub(super) struct Authorizer {
    tokens: Arc<Tokens>,
    limiter: Option<RateLimiter>,
    refusals: Arc<RefusalLog>,
}

impl Authorizer {
    pub(super) fn new(tokens: Arc<Tokens>, refusals: Arc<RefusalLog>) -> Self {
        // Without random bytes, addresses cannot be hashed: then every wrong token is over the limit.
        Self { tokens, limiter: RateLimiter::new().ok(), refusals }
    }

    /// Returns whose token a request has, if the token includes `scope`.
    fn authorize(&self, headers: &HeaderMap, client: IpAddr, scope: Scope) -> Result<Actor, AdminApiError> {
        if self.tokens.load().is_empty() {
            return Err(AdminApiError::no_tokens());
        }
        let given = bearer::token(headers).ok_or_else(AdminApiError::unauthorized)?;
        match self.find(given) {
            Some(Actor(name, has)) if has < scope => Err(AdminApiError::forbidden(&name, has, scope)),
            Some(actor) => Ok(actor),
            None => {
                let allowance = self
                    .limiter
                    .as_ref()
                    .map(|limiter| limiter.take("v1", client, WRONG_TOKENS, Instant::now()));
                match allowance {
                    Some(Ok(())) => Err(AdminApiError::unknown_token()),
                    Some(Err(seconds)) => Err(AdminApiError::too_many(seconds)),
                    None => Err(AdminApiError::too_many(1)),
                }
            }
        }
    }

    /// Answers with `error`, and records the refusal in the log and the audit log.
    fn refuse(&self, request: &Request, kind: RefusalKind, error: AdminApiError) -> Response {
        let (client, route) = (client(request), pattern(request));
        let (code, actor, method) = (error.code(), error.actor(), request.method());
        tracing::warn!(%client, route, code, actor, "an operator's call was refused");
        self.refusals.record(&RefusedAttempt { kind, client, actor, method, route: &route, code });
        error.into_response()
    }

    /// Finds the token with this text. Compares every token in constant time.
    fn find(&self, given: &str) -> Option<Actor> {
        let given: [u8; 32] = Sha256::digest(given).into();
        let (tokens, mut found) = (self.tokens.load(), u64::MAX);
        for (at, token) in (0_u64..).zip(tokens.values()) {
            found.conditional_assign(&at, token.hash.ct_eq(&given));
        }
        let (name, token) = tokens.iter().nth(usize::try_from(found).ok()?)?;
        Some(Actor(name.clone(), token.scope))
    }
}

/// Returns name and scope of the request's token, by which the console offers actions.
pub(super) async fn token(Extension(Actor(name, scope)): Extension<Actor>) -> Json<Value> {
    Json(json!({ "name": name, "scope": scope.as_str() }))
}

/// Middleware: passes requests whose token includes the route's scope.
pub(super) async fn admit(
    State((api, scope)): State<(Arc<Api>, Scope)>,
    mut request: Request,
    next: Next,
) -> Response {
    match api.authorizer.authorize(request.headers(), client(&request), scope) {
        Ok(actor) => {
            request.extensions_mut().insert(actor);
            next.run(request).await
        }
        Err(error) => {
            let has_token = bearer::token(request.headers()).is_some();
            api.authorizer.refuse(
                &request,
                if has_token { RefusalKind::Token } else { RefusalKind::NoToken },
                error,
            )
        }
    }
}

fn client(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<PeerAddr>().map(|peer| peer.0.ip().to_canonical());
    // Every connection has a peer address.
    peer.unwrap_or(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED))
}

/// Middleware: refuses tokens in URLs, which end up in logs and histories.
pub(super) async fn refuse_token_in_url(
    State(api): State<Arc<Api>>,
    request: Request,
    next: Next,
) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let named = form_urlencoded::parse(query.as_bytes())
        .any(|(name, _)| TOKEN_PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known)));
    if !named {
        return next.run(request).await;
    }
    api.authorizer.refuse(&request, RefusalKind::TokenInUrl, AdminApiError::token_in_url())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::header::AUTHORIZATION;
    use bulkhead_config::tokens::OperatorToken;
    use bulkhead_rollout::{DeploymentRegistry, LocalStore};

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn authorizer(tokens: &[(&str, Scope, &str)]) -> Authorizer {
        let token = |scope, text: &str| OperatorToken { scope, hash: Sha256::digest(text).into() };
        let tokens = tokens.iter().map(|(name, scope, text)| ((*name).to_owned(), token(*scope, text)));
        let deployments = DeploymentRegistry::new(Arc::new(LocalStore::new("unused".into())), None);
        let refusals = Arc::new(RefusalLog::new(Arc::new(deployments)));
        Authorizer::new(Arc::new(Tokens::from_pointee(tokens.collect())), refusals)
    }

    fn ask(authorizer: &Authorizer, given: Option<&str>, scope: Scope) -> Result<String, &'static str> {
        let mut headers = HeaderMap::new();
        if let Some(given) = given {
            headers.insert(AUTHORIZATION, format!("Bearer {given}").parse().unwrap());
        }
        authorizer.authorize(&headers, CLIENT, scope).map(|actor| actor.0).map_err(|error| error.code())
    }

    #[test]
    fn scope_includes_the_scopes_before_it() {
        let authorizer = authorizer(&[
            ("a", Scope::Read, "one"),
            ("b", Scope::Deploy, "two"),
            ("c", Scope::Admin, "three"),
        ]);
        for (given, name, may) in [("one", "a", 1), ("two", "b", 2), ("three", "c", 3)] {
            for (at, scope) in [Scope::Read, Scope::Deploy, Scope::Admin].into_iter().enumerate() {
                let expected = if at < may { Ok(name.to_owned()) } else { Err("forbidden") };
                assert_eq!(ask(&authorizer, Some(given), scope), expected, "{given} for {scope:?}");
            }
        }
        assert_eq!(ask(&authorizer, None, Scope::Read), Err("unauthorized"));
    }

    #[test]
    fn every_request_is_refused_without_tokens() {
        let none = authorizer(&[]);
        assert_eq!(ask(&none, Some("one"), Scope::Read), Err("no-tokens"));
        assert_eq!(ask(&none, None, Scope::Read), Err("no-tokens"));
    }

    #[test]
    fn answers_to_wrong_tokens_are_limited() {
        let authorizer = authorizer(&[("a", Scope::Read, "one")]);
        let wrong: Vec<_> =
            (0..15).map(|guess| ask(&authorizer, Some(&format!("guess-{guess}")), Scope::Read)).collect();
        let (refused, limited) = wrong.split_at(10);
        assert!(refused.iter().all(|answer| *answer == Err("unauthorized")), "{refused:?}");
        assert!(limited.iter().all(|answer| *answer == Err("rate-limited")), "{limited:?}");
        assert_eq!(ask(&authorizer, Some("one"), Scope::Read), Ok("a".to_owned()));
    }

    #[test]
    fn replaced_tokens_apply_to_next_request() {
        let before = authorizer(&[("a", Scope::Read, "one"), ("b", Scope::Read, "two")]);
        before.tokens.store(
            authorizer(&[("b", Scope::Deploy, "two"), ("c", Scope::Read, "three")]).tokens.load_full(),
        );
        assert_eq!(ask(&before, Some("one"), Scope::Read), Err("unauthorized"));
        assert_eq!(ask(&before, Some("two"), Scope::Deploy), Ok("b".to_owned()));
        assert_eq!(ask(&before, Some("three"), Scope::Read), Ok("c".to_owned()));
    }
}
