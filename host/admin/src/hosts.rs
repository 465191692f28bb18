//! Checks the `Host` of requests to the operators' listener against DNS rebinding: a page whose name resolves to this
//! machine has the same origin for a browser and could read what needs no token, but its name is in `Host`.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{StatusCode, Version, header::HOST, uri::Authority},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use bulkhead_http::{accept::PeerAddr, error::HostError};
use bulkhead_telemetry::escape_guest;

use super::refusals::{RefusalKind, RefusalLog, RefusedAttempt};

/// The host name that every resolver maps to this machine.
const LOCALHOST: &str = "localhost";
/// Longest part of a host in the audit log, bytes.
const LOGGED_BYTES: usize = 100;

/// 421: the request is for a host that is not allowed.
const WRONG_HOST: HostError = HostError {
    status: StatusCode::MISDIRECTED_REQUEST,
    code: "wrong-host",
    message: "the operators' listener does not answer to this host name; use localhost or an IP address, or add the \
              name to admin.hosts",
};

/// The host names that requests may be for.
pub(super) struct AllowedHosts {
    /// `None` allows every name.
    names: Option<BTreeSet<String>>,
    refusals: Option<Arc<RefusalLog>>,
}

impl AllowedHosts {
    /// Returns the allowed hosts of a listener at `address`. Refused requests go into `refusals`.
    pub(super) fn new(
        address: IpAddr,
        settings: &bulkhead_config::server::Admin,
        refusals: Option<Arc<RefusalLog>>,
    ) -> Self {
        let is_checked = address.to_canonical().is_loopback() || !settings.hosts.is_empty();
        Self { names: is_checked.then(|| settings.hosts.iter().cloned().collect()), refusals }
    }

    /// Returns the host of the request if it is not allowed; empty where the request names none.
    fn refused<'r>(&self, request: &'r Request) -> Option<&'r str> {
        let names = self.names.as_ref()?;
        let fields = request.headers().get_all(HOST).iter().map(|field| field.to_str().unwrap_or_default());
        // HTTP/2 and absolute targets have an authority.
        let target = request.uri().authority().map(Authority::as_str);
        let mut requested = target.into_iter().chain(fields).peekable();
        if requested.peek().is_none() {
            // HTTP/1.0 needs none, and no browser speaks it.
            return (request.version() > Version::HTTP_10).then_some("");
        }
        requested.find(|text| !is_allowed(text, names))
    }
}

/// Checks whether an authority is an IP address, `localhost` or one of `names`.
fn is_allowed(authority: &str, names: &BTreeSet<String>) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host();
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if host.parse::<Ipv4Addr>().is_ok() || bracketed.is_some_and(|host| host.parse::<Ipv6Addr>().is_ok()) {
        return true;
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    name == LOCALHOST || names.contains(&name)
}

/// Middleware: answers 421 to requests for other hosts.
pub(super) async fn check(State(hosts): State<Arc<AllowedHosts>>, request: Request, next: Next) -> Response {
    let Some(host) = hosts.refused(&request) else { return next.run(request).await };
    let host = escape_guest(host, LOGGED_BYTES);
    let client = request.extensions().get::<PeerAddr>().map(|peer| peer.0.ip().to_canonical());
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).unwrap_or_default();
    tracing::warn!(?client, route, host, "a request for another host was refused; see admin.hosts");
    if let (Some(refusals), Some(client)) = (&hosts.refusals, client) {
        let code = format!("wrong-host `{host}`");
        let (kind, method) = (RefusalKind::Host, request.method());
        refusals.record(&RefusedAttempt { kind, client, actor: None, method, route, code: &code });
    }
    WRONG_HOST.into_response()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::body::Body;

    use super::*;

    fn hosts(address: &str, names: &[&str]) -> AllowedHosts {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let settings = bulkhead_config::server::Admin {
            tls: None,
            allow_remote: true,
            hosts: names,
            tokens: std::collections::BTreeMap::new(),
        };
        AllowedHosts::new(address.parse().unwrap(), &settings, None)
    }

    fn answers(hosts: &AllowedHosts, version: Version, target: &str, fields: &[&str]) -> bool {
        let mut request = Request::builder().version(version).uri(target);
        for field in fields {
            request = request.header(HOST, *field);
        }
        hosts.refused(&request.body(Body::empty()).unwrap()).is_none()
    }

    #[test]
    fn loopback_allows_itself_and_listed_names() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let hosts = hosts(address, &["ops.example"]);
            for good in [
                "localhost",
                "LOCALHOST:9901",
                "localhost.",
                "127.0.0.1:9901",
                "192.0.2.1",
                "[::1]:9901",
                "[2001:db8::1]",
                "Ops.Example:80",
            ] {
                assert!(answers(&hosts, Version::HTTP_11, "/", &[good]), "{good}");
                assert!(answers(&hosts, Version::HTTP_2, &format!("http://{good}/"), &[]), "{good}");
            }
            for bad in [
                "evil.example",
                "x.localhost",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "2130706433",
                "ops.example.evil",
            ] {
                assert!(!answers(&hosts, Version::HTTP_11, "/", &[bad]), "{bad}");
                assert!(!answers(&hosts, Version::HTTP_2, &format!("http://{bad}/"), &[]), "{bad}");
                assert!(
                    !answers(&hosts, Version::HTTP_11, &format!("http://{bad}/"), &["localhost"]),
                    "{bad}"
                );
                assert!(!answers(&hosts, Version::HTTP_2, "http://localhost/", &[bad]), "{bad}");
            }
            assert!(!answers(&hosts, Version::HTTP_11, "/", &[""]));
            assert!(!answers(&hosts, Version::HTTP_2, "/", &[]));
            assert!(answers(&hosts, Version::HTTP_10, "/", &[]));
        }
    }

    #[test]
    fn listed_names_restrict_other_addresses() {
        for address in ["0.0.0.0", "192.0.2.1", "::"] {
            assert!(answers(&hosts(address, &[]), Version::HTTP_11, "/", &["any.example"]));
            let listed = hosts(address, &["ops.example"]);
            assert!(answers(&listed, Version::HTTP_11, "/", &["ops.example:9901"]));
            assert!(answers(&listed, Version::HTTP_11, "/", &["192.0.2.1:9901"]));
            assert!(!answers(&listed, Version::HTTP_11, "/", &["any.example"]));
        }
    }
}
