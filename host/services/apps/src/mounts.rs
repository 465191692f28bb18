//! Which app a request belongs to.

use std::{cell::LazyCell, future::ready, sync::Arc};

use axum::{Router, extract::Request, response::IntoResponse};
use bulkhead_http::{
    error::HostError,
    forwarded::{Client, Contradicting},
    path,
};
use tower::service_fn;

use crate::{
    config::Mount,
    http::{Serving, ServingFuture},
};

/// The apps of a listener, the most specific mount first: those for a host name before those for every one, and longer
/// prefixes before shorter ones.
#[derive(Clone, Default)]
pub(crate) struct Mounts(Vec<(Mount, Serving)>);

impl Mounts {
    /// Adds an app with what answers its requests.
    pub(crate) fn add(&mut self, mount: Mount, serving: Serving) {
        let rank = |mount: &Mount| (mount.host.is_some(), mount.path_prefix.split('/').count());
        let at = self.0.partition_point(|(known, _)| rank(known) >= rank(&mount));
        self.0.insert(at, (mount, serving));
    }

    /// Returns the app that answers a client for a path.
    fn find(&self, client: Option<&Client>, path: &str) -> Option<&Serving> {
        let host = LazyCell::new(|| client.and_then(host_name));
        let is_host = |mount: &Mount| mount.host.as_deref().is_none_or(|own| host.as_deref() == Some(own));
        let takes = |(mount, _): &&(Mount, Serving)| {
            is_host(mount) && path::after_prefix(path, &mount.path_prefix).is_some()
        };
        self.0.iter().find(takes).map(|(_, serving)| serving)
    }

    /// Returns a router that gives each request to its app, and has no route of its own.
    pub(crate) fn router(self) -> Router {
        let mounts = Arc::new(self);
        // A service, because a handler would put the future of the app into one more of its own.
        Router::new().fallback_service(service_fn(move |request| mounts.answer(request)))
    }

    fn answer(&self, request: Request) -> ServingFuture {
        let (client, path) = (request.extensions().get::<Client>(), request.uri().path());
        let found = self.find(client, path).filter(|_| path::is_plain(path));
        // Whose request it is depends on what the headers contradict each other in, so that any app may refuse it.
        let contradicts = request.extensions().get::<Contradicting>().is_some();
        let found = found.or_else(|| self.0.first().filter(|_| contradicts).map(|(_, serving)| serving));
        match found {
            Some(serving) => serving(request),
            None => Box::pin(ready(Ok(HostError::NOT_FOUND.into_response()))),
        }
    }
}

/// Returns the host name that a client asked for, without port and in lower case.
fn host_name(client: &Client) -> Option<String> {
    let authority = client.host.as_deref()?;
    let name = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    };
    Some(name.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::{
        body::{Body, to_bytes},
        http::{Request, StatusCode},
    };
    use tower::ServiceExt as _;

    use super::*;

    fn mount(host: Option<&str>, path_prefix: &str) -> Mount {
        let (host, path_prefix) = (host.map(str::to_owned), path_prefix.to_owned());
        Mount { host, path_prefix, strip_prefix: false, listen: None }
    }

    /// The apps `a` for every path, `b` and `c` for prefixes, `d` and `e` for a host name.
    fn apps() -> Router {
        let mut mounts = Mounts::default();
        for (name, host, prefix) in [
            ("a", None, ""),
            ("b", None, "/shop"),
            ("d", Some("www.example.org"), ""),
            ("c", None, "/shop/till"),
            ("e", Some("www.example.org"), "/shop"),
        ] {
            let named =
                move |_: Request<Body>| -> ServingFuture { Box::pin(ready(Ok(name.into_response()))) };
            mounts.add(mount(host, prefix), Arc::new(named));
        }
        mounts.router()
    }

    /// Returns the name of the app that answers, or the status.
    async fn answering(host: &str, path: &str) -> Result<String, StatusCode> {
        let mut request = Request::get(path).body(Body::empty()).unwrap();
        let host = Some(host.to_owned());
        request.extensions_mut().insert(Client { address: [192, 0, 2, 7].into(), scheme: "http", host });
        let response = apps().oneshot(request).await.unwrap();
        let status = response.status();
        let text = to_bytes(response.into_body(), 1000).await.unwrap();
        if status.is_success() { Ok(String::from_utf8(text.to_vec()).unwrap()) } else { Err(status) }
    }

    #[tokio::test]
    async fn longest_prefix_of_host_wins() {
        for (host, path, app) in [
            ("x", "/", "a"),
            ("x", "/shopping", "a"),
            ("x", "/shop", "b"),
            ("x", "/shop/tills", "b"),
            ("x", "/sh%6Fp/a", "b"),
            ("x", "/shop%2ftill", "a"),
            ("x", "/shop/till/1", "c"),
            ("x", "//shop", "a"),
            ("www.example.org", "/", "d"),
            ("WWW.Example.org:8080", "/shop/till", "e"),
            ("www.example.org.", "/shop", "e"),
            ("other.example.org", "/shop", "b"),
        ] {
            assert_eq!(answering(host, path).await.as_deref(), Ok(app), "{host} {path}");
        }
    }

    #[tokio::test]
    async fn dot_segments_are_not_found() {
        for path in ["/shop/../admin", "/shop/%2e%2e/admin", "/./shop", "/%ff"] {
            assert_eq!(answering("x", path).await, Err(StatusCode::NOT_FOUND), "{path}");
        }
    }

    #[test]
    fn host_name_has_no_port() {
        let name = |host: &str| {
            let host = Some(host.to_owned());
            host_name(&Client { address: [192, 0, 2, 7].into(), scheme: "http", host })
        };
        assert_eq!(name("A.example:80").as_deref(), Some("a.example"));
        assert_eq!(name("[2001:db8::1]").as_deref(), Some("[2001:db8::1]"));
        assert_eq!(name("[2001:db8::1]:80").as_deref(), Some("[2001:db8::1]"));
    }
}
