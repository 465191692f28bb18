//! The HTTP client of a download.

use std::fs;
use std::io::Read;
use std::time::Duration;

use bulkhead_inference::error::SourceError;
use bulkhead_inference::progress::Progress;
use serde::de::DeserializeOwned;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::cache::Cache;
use super::partial::PartialDownload;
use super::{HubModel, HubSettings};

/// How long a connection, the first byte of an answer, and each further piece may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// More hops than any mirror has.
const REDIRECTS: usize = 5;
/// Largest list of files that is read, in bytes.
const LISTING_LIMIT: u64 = 16 << 20;

/// A connection to the hub on behalf of one model.
pub struct Client<'a> {
    agent: Agent,
    settings: &'a HubSettings,
    model: &'a HubModel,
}

/// An answer after all redirects, with the file's headers of the answers before it.
struct Answer {
    response: Response<Body>,
    etag: Option<String>,
    /// Of the whole file.
    size: Option<u64>,
    /// The byte of the file that the answer begins with.
    start: u64,
}

impl<'a> Client<'a> {
    pub fn new(settings: &'a HubSettings, model: &'a HubModel) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Followed by hand: the first answer has the file's digest, and the token is for the first host only.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(PATIENCE))
            .user_agent(concat!("bulkhead/", env!("CARGO_PKG_VERSION")));
        #[cfg(feature = "https")]
        let config = {
            let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            config.tls_config(
                ureq::tls::TlsConfig::builder()
                    .root_certs(ureq::tls::RootCerts::PlatformVerifier)
                    .unversioned_rustls_crypto_provider(provider)
                    .build(),
            )
        };
        Self { agent: config.build().into(), settings, model }
    }

    /// Fetches the list of the model's files at its revision.
    pub fn listing<T: DeserializeOwned>(&self) -> Result<T, SourceError> {
        let HubModel { id, revision } = self.model;
        let revision = revision.replace('/', "%2F");
        let url = format!("{}/api/models/{id}/revision/{revision}", self.settings.endpoint);
        let mut answer = self.get(&url, 0)?;
        let mut text = Vec::new();
        let reader = answer.response.body_mut().as_reader();
        reader
            .take(LISTING_LIMIT)
            .read_to_end(&mut text)
            .map_err(|source| self.model.fault(format!("the list of files broke off: {source}")))?;
        serde_json::from_slice(&text)
            .map_err(|fault| self.model.fault(format!("the list of files is malformed: {fault}")))
    }

    /// Fetches one file into the cache.
    pub fn fetch(
        &self,
        cache: &Cache,
        commit: &str,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<(), SourceError> {
        let url = format!("{}/{}/resolve/{commit}/{name}", self.settings.endpoint, self.model.id);
        let answer = self.get(&url, 0)?;
        // The entity tag names the blob: the SHA-256 of large files, git's digest of small ones.
        let is_digest = |etag: &String| {
            matches!(etag.len(), 40 | 64) && etag.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let etag = answer
            .etag
            .filter(is_digest)
            .ok_or_else(|| self.model.fault(format!("`{name}` has no digest")))?;
        let blob = cache.blob(&etag);
        if blob.is_file() {
            return cache.link(commit, name, &blob);
        }
        let digest = (etag.len() == 64).then_some(etag.as_str());
        let (path, size) = (cache.blob(&format!("{etag}.bulkhead.incomplete")), answer.size);
        let file = PartialDownload { model: self.model, name, path, size, digest };
        let start = file.resumable();
        progress.start(&format!("download {name}"), size);
        let resumed = if start > 0 { Some(self.get(&url, start)?) } else { None };
        let fetched = match resumed.filter(|answer| answer.start == start) {
            Some(rest) => file.append(rest.response, start, progress),
            None => file.append(answer.response, 0, progress),
        };
        progress.finish();
        fetched?;
        fs::rename(&file.path, &blob).map_err(|source| SourceError::write(&blob, source))?;
        cache.link(commit, name, &blob)
    }

    /// Asks for a file, from a byte on if the server can.
    fn get(&self, url: &str, start: u64) -> Result<Answer, SourceError> {
        let mut url = url.to_owned();
        let (mut etag, mut size) = (None, None);
        for _ in 0..=REDIRECTS {
            let mut request = self.agent.get(&url).header("Accept-Encoding", "identity");
            if let Some(token) = self.settings.token.as_ref().filter(|_| self.is_own(&url)) {
                request = request.header("Authorization", format!("Bearer {token}"));
            }
            if start > 0 {
                request = request.header("Range", format!("bytes={start}-"));
            }
            let response = request
                .call()
                .map_err(|fault| self.model.fault(format!("{}: {fault}", without_query(&url))))?;
            let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
            let status = response.status().as_u16();
            let tag = header("x-linked-etag").or_else(|| header("etag"));
            etag = etag.or_else(|| tag.map(|tag| tag.trim_start_matches("W/").trim_matches('"').to_owned()));
            size = size.or_else(|| header("x-linked-size").and_then(|size| size.parse().ok()));
            match status {
                200 => {
                    size = size.or_else(|| header("content-length").and_then(|size| size.parse().ok()));
                    return Ok(Answer { response, etag, size, start: 0 });
                }
                206 if start > 0 => {
                    let range = header("content-range").and_then(|range| range.strip_prefix("bytes "));
                    let first = range.and_then(|range| range.split('-').next()?.parse().ok());
                    let start = first.ok_or_else(|| self.model.fault("a part of a file has no range"))?;
                    return Ok(Answer { response, etag, size, start });
                }
                301 | 302 | 303 | 307 | 308 => {
                    let place =
                        header("location").ok_or_else(|| self.model.fault("a redirect leads nowhere"))?;
                    url = self.follow(&url, place)?;
                }
                _ => return Err(self.refusal(status, &url)),
            }
        }
        Err(self.model.fault(format!("more than {REDIRECTS} redirects")))
    }

    /// Returns whether the token may be sent there.
    fn is_own(&self, url: &str) -> bool {
        url.strip_prefix(&self.settings.endpoint).is_some_and(|rest| rest.starts_with('/'))
    }

    fn follow(&self, from: &str, place: &str) -> Result<String, SourceError> {
        let (scheme, rest) = from.split_once("://").unwrap_or(("https", from));
        let host = rest.split('/').next().unwrap_or_default();
        let to = if place.starts_with("//") {
            format!("{scheme}:{place}")
        } else if place.starts_with('/') {
            format!("{scheme}://{host}{place}")
        } else {
            place.to_owned()
        };
        let safe = to.starts_with("https://") || (scheme == "http" && to.starts_with("http://"));
        if safe { Ok(to) } else { Err(self.model.fault("a redirect leads away from https")) }
    }

    fn refusal(&self, status: u16, url: &str) -> SourceError {
        let hint = match (status, &self.settings.token) {
            (401 | 403, None) => "it may need a token: set HF_TOKEN",
            (401 | 403, Some(_)) => "the token gives no access to it",
            (404, _) => "there is no such model, revision or file",
            (429, _) => "too many requests; try again later",
            _ => "try again later",
        };
        self.model.fault(format!("{} answered {status}; {hint}", without_query(url)))
    }
}

/// Cuts an address before its query: signed addresses of storage hosts carry secrets there.
fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}
