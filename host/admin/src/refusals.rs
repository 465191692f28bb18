//! Refused attempts to operate, in the audit log: few enough that nobody fills it, or hides moves of versions in it.

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

/// Lines are counted over this time.
const WINDOW: Duration = Duration::from_secs(3600);
/// Lines of one kind about one address, or about one token.
const BY_CLIENT: u32 = 10;
/// Lines of one kind about all that come without a known token.
const IN_ALL: u32 = 60;
/// Stands for those.
const EVERYBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What is wrong with an attempt. Any web page can send the first three from a browser on this machine; each has
/// an allowance of its own, so that they do not hide the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The host that it is for.
    Host,
    /// It has no token.
    NoToken,
    /// It has a token in its URL.
    TokenInUrl,
    /// Its token.
    Token,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::NoToken => "no token",
            Self::TokenInUrl => "token in url",
            Self::Token => "token",
        }
    }
}

/// An attempt that was refused.
#[derive(Debug)]
pub(super) struct Refusal<'a> {
    /// What is wrong with it.
    pub(super) kind: Kind,
    /// Where it came from.
    pub(super) client: IpAddr,
    /// The name of its token, where that is known.
    pub(super) actor: Option<&'a str>,
    /// What was asked.
    pub(super) method: &'a Method,
    /// The route's pattern.
    pub(super) route: &'a str,
    /// Why not.
    pub(super) code: &'a str,
}

/// Writes refusals into the audit log.
pub(super) struct Refusals {
    deployments: Arc<DeploymentRegistry>,
    /// Missing without random bytes; then no line is written.
    limiter: Option<RateLimiter>,
    /// Refusals since the last line that got none.
    left_out: AtomicU64,
}

impl Refusals {
    pub(super) fn new(deployments: Arc<DeploymentRegistry>) -> Self {
        Self { deployments, limiter: RateLimiter::over(WINDOW).ok(), left_out: AtomicU64::new(0) }
    }

    /// Adds a line in the background, unless there have been too many.
    pub(super) fn note(&self, refusal: &Refusal<'_>) {
        let Some(entry) = self.entry(refusal, Instant::now()) else { return };
        let deployments = Arc::clone(&self.deployments);
        tokio::spawn(async move {
            match background::run(move || deployments.record_refusal(entry)).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(error)) => tracing::error!(%error, "cannot write a refusal into the audit log"),
            }
        });
    }

    fn entry(&self, refusal: &Refusal<'_>, now: Instant) -> Option<AuditEntry> {
        if !self.has_room(refusal, now) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let Refusal { client, actor, method, route, code, .. } = refusal;
        let method = method_label(method.as_str());
        let mut reason = format!("{method} {route} from {client}: {code}");
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            reason.push_str(&format!("; {left_out} more were refused before and are not listed"));
        }
        Some(AuditEntry::of_refusal(actor.unwrap_or("unknown"), &reason))
    }

    fn has_room(&self, refusal: &Refusal<'_>, now: Instant) -> bool {
        let Some(limiter) = &self.limiter else { return false };
        match refusal.actor {
            Some(actor) => limiter.take(&format!("of token {actor}"), EVERYBODY, BY_CLIENT, now).is_ok(),
            None => {
                let kind = refusal.kind.as_str();
                limiter.take(kind, refusal.client, BY_CLIENT, now).is_ok()
                    && limiter.take(&format!("all of {kind}"), EVERYBODY, IN_ALL, now).is_ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_rollout::LocalStore;

    use super::*;

    fn refusals() -> Refusals {
        Refusals::new(Arc::new(DeploymentRegistry::new(Arc::new(LocalStore::new("unused".into())), None)))
    }

    fn refusal<'a>(client: u32, actor: Option<&'a str>) -> Refusal<'a> {
        let client = Ipv4Addr::from_bits(0xC000_0200 + client).into();
        let (method, route) = (&Method::POST, "/v1/slots/{slot}/swap");
        Refusal { kind: Kind::Token, client, actor, method, route, code: "forbidden" }
    }

    #[test]
    fn a_line_names_client_route_and_reason() {
        let entry = refusals().entry(&refusal(1, Some("ops")), Instant::now()).unwrap();
        assert_eq!((entry.slot.as_str(), entry.actor.as_str()), ("access", "ops"));
        assert_eq!(entry.reason, "POST /v1/slots/{slot}/swap from 192.0.2.1: forbidden");
    }

    #[test]
    fn lines_are_limited_by_client_token_and_in_all() {
        let (refusals, now) = (refusals(), Instant::now());
        let lines = |client: u32, actor: Option<&str>| {
            (0..100).filter(|_| refusals.entry(&refusal(client, actor), now).is_some()).count()
        };
        assert_eq!(lines(1, None), BY_CLIENT as usize);
        let all: usize = (2..100).map(|client| lines(client, None)).sum();
        assert_eq!(all, (IN_ALL - BY_CLIENT) as usize);
        assert_eq!(lines(1, Some("ops")), BY_CLIENT as usize, "strangers do not hide a token's");
        assert_eq!(lines(2, Some("ops")), 0);
        for (kind, clients) in [(Kind::Host, 100_u32), (Kind::NoToken, 1), (Kind::TokenInUrl, 1)] {
            let attempt = |client: u32| Refusal { kind, ..refusal(client % clients, None) };
            let lines =
                (0..1000_u32).filter(|client| refusals.entry(&attempt(*client), now).is_some()).count();
            let wanted = if clients == 1 { BY_CLIENT } else { IN_ALL };
            assert_eq!(lines, wanted as usize, "{kind:?}");
        }
        let later = refusals.entry(&refusal(1, Some("ci")), now).unwrap();
        assert!(later.reason.contains("more were refused before"), "{}", later.reason);
    }
}
