//! The request that a version must answer before it may take calls.

use axum::http::{Method, uri::PathAndQuery};

/// `GET /path` or `HEAD /path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The method.
    pub method: Method,
    /// The path, with a query if there is one.
    pub target: PathAndQuery,
}

impl Probe {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("must be GET or HEAD and a path, such as GET /health, not `{text}`");
        let (method, target) = text.split_once(' ').ok_or_else(wrong)?;
        let method = match method {
            "GET" => Method::GET,
            "HEAD" => Method::HEAD,
            _ => return Err(wrong()),
        };
        let target = Some(target).filter(|target| target.starts_with('/')).ok_or_else(wrong)?;
        Ok(Self { method, target: target.parse().map_err(|_| wrong())? })
    }
}
