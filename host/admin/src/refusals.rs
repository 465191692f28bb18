//! Refused requests in the audit log, rate-limited so that no client can fill it or hide the moves of versions.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::Method;
use bulkhead_http::rate_limit::RateLimiter;
use bulkhead_rollout::{AuditEntry, DeploymentRegistry};
use bulkhead_runtime::background;
use bulkhead_telemetry::metrics::method_label;

/// The window of the rate limits.
const WINDOW: Duration = Duration::from_secs(3600);
/// Most lines of one kind about one address, or about one token.
const PER_CLIENT: u32 = 10;
/// Most lines of one kind about all requests without a known token.
const ALL_CLIENTS_LIMIT: u32 = 60;
/// The address under which all clients are counted together.
const ALL_CLIENTS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The kind of a refusal. Any web page can cause the first three from a browser on this machine; each kind has its own
/// limit, so that they do not hide the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// The request is for a host that is not allowed.
    Host,
    /// The request has no token.
    NoToken,
    /// The request has a token in its URL.
    TokenInUrl,
    /// The token is unknown, or its scope does not include the request.
    Token,
}

impl RefusalKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::NoToken => "no token",
            Self::TokenInUrl => "token in url",
            Self::Token => "token",
        }
    }
}

/// A request that was refused.
#[derive(Debug)]
pub(super) struct RefusedAttempt<'a> {
    /// Why it was refused.
    pub(super) kind: RefusalKind,
    /// The address that it came from.
    pub(super) client: IpAddr,
    /// The name of its token, if it is a known one.
    pub(super) actor: Option<&'a str>,
    /// Its method.
    pub(super) method: &'a Method,
    /// The pattern of its route.
    pub(super) route: &'a str,
    /// The error code of the answer.
    pub(super) code: &'a str,
}

/// Writes refusals to the audit log.
pub(super) struct RefusalLog {
    deployments: Arc<DeploymentRegistry>,
    /// `None` when the system gave no random bytes; then no line is written.
    limiter: Option<RateLimiter>,
    /// Refusals over the limit since the last line.
    suppressed: AtomicU64,
}

impl RefusalLog {
    pub(super) fn new(deployments: Arc<DeploymentRegistry>) -> Self {
        Self { deployments, limiter: RateLimiter::over(WINDOW).ok(), suppressed: AtomicU64::new(0) }
    }

    /// Writes a line in the background, unless it is over the limit.
    pub(super) fn record(&self, refusal: &RefusedAttempt<'_>) {
        let Some(entry) = self.entry(refusal, Instant::now()) else { return };
        let deployments = Arc::clone(&self.deployments);
        tokio::spawn(async move {
            match background::run(move || deployments.record_refusal(entry)).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(error)) => tracing::error!(%error, "cannot write a refusal into the audit log"),
            }
        });
    }

    /// Returns the line for a refusal, unless it is over the limit.
    fn entry(&self, refusal: &RefusedAttempt<'_>, now: Instant) -> Option<AuditEntry> {
        if !self.has_room(refusal, now) {
            self.suppressed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let RefusedAttempt { client, actor, method, route, code, .. } = refusal;
        let method = method_label(method.as_str());
        let mut reason = format!("{method} {route} from {client}: {code}");
        let suppressed = self.suppressed.swap(0, Ordering::Relaxed);
        if suppressed > 0 {
            reason.push_str(&format!("; {suppressed} more were refused before and are not listed"));
        }
        Some(AuditEntry::of_refusal(actor.unwrap_or("unknown"), &reason))
    }

    fn has_room(&self, refusal: &RefusedAttempt<'_>, now: Instant) -> bool {
        let Some(limiter) = &self.limiter else { return false };
        match refusal.actor {
            Some(actor) => limiter.take(&format!("of token {actor}"), ALL_CLIENTS, PER_CLIENT, now).is_ok(),
            None => {
                let kind = refusal.kind.as_str();
                limiter.take(kind, refusal.client, PER_CLIENT, now).is_ok()
                    && limiter.take(&format!("all of {kind}"), ALL_CLIENTS, ALL_CLIENTS_LIMIT, now).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_rollout::LocalStore;

    use super::*;

    fn refusals() -> RefusalLog {
        RefusalLog::new(Arc::new(DeploymentRegistry::new(Arc::new(LocalStore::new("unused".into())), None)))
    }

    fn refusal<'a>(client: u32, actor: Option<&'a str>) -> RefusedAttempt<'a> {
        let client = Ipv4Addr::from_bits(0xC000_0200 + client).into();
        let (method, route) = (&Method::POST, "/v1/slots/{slot}/swap");
        RefusedAttempt { kind: RefusalKind::Token, client, actor, method, route, code: "forbidden" }
    }

    #[test]
    fn line_names_client_route_and_reason() {
        let entry = refusals().entry(&refusal(1, Some("ops")), Instant::now()).unwrap();
        assert_eq!((entry.slot.as_str(), entry.actor.as_str()), ("access", "ops"));
        assert_eq!(entry.reason, "POST /v1/slots/{slot}/swap from 192.0.2.1: forbidden");
    }

    #[test]
    fn lines_are_limited_per_client_and_token() {
        let (refusals, now) = (refusals(), Instant::now());
        let lines = |client: u32, actor: Option<&str>| {
            (0..100).filter(|_| refusals.entry(&refusal(client, actor), now).is_some()).count()
        };
        assert_eq!(lines(1, None), PER_CLIENT as usize);
        let all: usize = (2..100).map(|client| lines(client, None)).sum();
        assert_eq!(all, (ALL_CLIENTS_LIMIT - PER_CLIENT) as usize);
        assert_eq!(
            lines(1, Some("ops")),
            PER_CLIENT as usize,
            "unknown clients do not use up a token's limit"
        );
        assert_eq!(lines(2, Some("ops")), 0);
        for (kind, clients) in
            [(RefusalKind::Host, 100_u32), (RefusalKind::NoToken, 1), (RefusalKind::TokenInUrl, 1)]
        {
            let attempt = |client: u32| RefusedAttempt { kind, ..refusal(client % clients, None) };
            let lines =
                (0..1000_u32).filter(|client| refusals.entry(&attempt(*client), now).is_some()).count();
            let expected = if clients == 1 { PER_CLIENT } else { ALL_CLIENTS_LIMIT };
            assert_eq!(lines, expected as usize, "{kind:?}");
        }
        let later = refusals.entry(&refusal(1, Some("ci")), now).unwrap();
        assert!(later.reason.contains("more were refused before"), "{}", later.reason);
    }
}
