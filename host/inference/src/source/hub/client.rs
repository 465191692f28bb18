//! The few requests that a download needs.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use ureq::http::Response;
use ureq::{Agent, Body};

use super::cache::Cache;
use super::{HubModel, HubSettings};
use crate::error::SourceError;
use crate::progress::Progress;

/// How long a connection, the first byte of an answer, and each further piece may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// More hops than any mirror has.
const REDIRECTS: usize = 5;
/// Largest list of files that is read, in bytes.
const LISTING_LIMIT: u64 = 16 << 20;
/// Largest file that is fetched, in bytes.
const FILE_LIMIT: u64 = 8 << 30;
/// Bytes copied at a time.
const STEP: usize = 256 << 10;

/// A connection to the hub on behalf of one model.
pub struct Client<'a> {
    agent: Agent,
    settings: &'a HubSettings,
    model: &'a HubModel,
}

/// An answer after all redirects, with what the answers before it said of the file.
struct Answer {
    response: Response<Body>,
    etag: Option<String>,
    size: Option<u64>,
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

    /// The model's files at its revision.
    pub fn listing<T: DeserializeOwned>(&self) -> Result<T, SourceError> {
        let HubModel { id, revision } = self.model;
        let revision = revision.replace('/', "%2F");
        let url = format!("{}/api/models/{id}/revision/{revision}", self.settings.endpoint);
        let mut answer = self.get(&url)?;
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
        let answer = self.get(&url)?;
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
        let unfinished = cache.blob(&format!("{etag}.{}.incomplete", std::process::id()));
        progress.start(&format!("download {name}"), answer.size);
        let copied = self.copy(answer.response, name, &unfinished, progress);
        progress.finish();
        let checked = copied.and_then(|(size, digest)| {
            if answer.size.is_some_and(|expected| expected != size) {
                let reason = format!("`{name}` broke off after {size} of {} bytes", answer.size.unwrap_or(0));
                return Err(self.model.fault(reason));
            }
            if etag.len() == 64 && digest != etag {
                return Err(SourceError::Digest {
                    path: unfinished.clone(),
                    expected: etag.clone(),
                    found: digest,
                });
            }
            fs::rename(&unfinished, &blob).map_err(|source| SourceError::write(&blob, source))
        });
        if checked.is_err() {
            // The error tells what went wrong; a file that is not there needs no removing.
            let _ = fs::remove_file(&unfinished);
        }
        checked?;
        cache.link(commit, name, &blob)
    }

    fn copy(
        &self,
        response: Response<Body>,
        name: &str,
        path: &Path,
        progress: &mut dyn Progress,
    ) -> Result<(u64, String), SourceError> {
        let failed = |source| SourceError::write(path, source);
        let mut out = File::create(path).map_err(failed)?;
        let mut body = response.into_body().into_with_config().limit(FILE_LIMIT).reader();
        let (mut size, mut digest, mut buffer) = (0, Sha256::new(), vec![0; STEP]);
        loop {
            let count = body.read(&mut buffer).map_err(|source| {
                self.model.fault(format!("`{name}` broke off after {size} bytes: {source}"))
            })?;
            let bytes = buffer.get(..count).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            out.write_all(bytes).map_err(failed)?;
            digest.update(bytes);
            size += count as u64;
            progress.advance(count as u64);
        }
        out.sync_all().map_err(failed)?;
        Ok((size, hex::encode(digest.finalize())))
    }

    fn get(&self, url: &str) -> Result<Answer, SourceError> {
        let mut url = url.to_owned();
        let (mut etag, mut size) = (None, None);
        for _ in 0..=REDIRECTS {
            let mut request = self.agent.get(&url).header("Accept-Encoding", "identity");
            if let Some(token) = self.settings.token.as_ref().filter(|_| self.is_own(&url)) {
                request = request.header("Authorization", format!("Bearer {token}"));
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
                    return Ok(Answer { response, etag, size });
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

    /// Whether the token may be sent there.
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

/// Signed addresses of storage hosts carry secrets behind the question mark.
fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}
