//! Serves files of pages that are part of the binary, stored as text or compressed with gzip, and pages made from them.

use std::{io::Read as _, sync::OnceLock};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::{error::HostError, layers::compression};

/// Content type of pages.
pub const HTML: &str = "text/html; charset=utf-8";
/// Content type of style sheets.
pub const STYLE: &str = "text/css; charset=utf-8";
/// Content type of scripts.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Content type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// Hex digits of an entity tag.
const TAG_DIGITS: usize = 32;

/// A file with its content type.
#[derive(Debug)]
pub struct Asset {
    /// Its path below that of its page, or a name for messages.
    pub name: &'static str,
    kind: &'static str,
    content: Bytes,
    is_gzip: bool,
    /// An entity tag that changes with the content. Weak, because it identifies the compressed form and the plain one.
    tag: OnceLock<Option<HeaderValue>>,
    /// The plain form of compressed content, once a client has asked for it; none where it cannot be decompressed.
    plain: OnceLock<Option<Bytes>>,
}

impl Asset {
    /// Makes a file that is stored as text.
    pub const fn text(name: &'static str, kind: &'static str, content: &'static str) -> Self {
        Self::new(name, kind, Bytes::from_static(content.as_bytes()), false)
    }

    /// Makes a file of a text that is put together at the start.
    pub fn made(name: &'static str, kind: &'static str, content: String) -> Self {
        Self::new(name, kind, Bytes::from(content), false)
    }

    /// Makes a file that is stored compressed.
    pub(crate) const fn gzip(name: &'static str, kind: &'static str, content: &'static [u8]) -> Self {
        Self::new(name, kind, Bytes::from_static(content), true)
    }

    const fn new(name: &'static str, kind: &'static str, content: Bytes, is_gzip: bool) -> Self {
        Self { name, kind, content, is_gzip, tag: OnceLock::new(), plain: OnceLock::new() }
    }

    /// Returns the file, or 304 where the client has it. Clients ask every time, because the files of one build belong
    /// together. `policy` is the content security policy.
    pub fn answer(&self, asked: &HeaderMap, policy: &'static str) -> Response {
        let mut response = match self.is_known(asked) {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => self.whole(asked),
        };
        let headers = response.headers_mut();
        let fixed: [(HeaderName, &str); 5] = [
            (header::CACHE_CONTROL, "no-cache"),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ];
        headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
        headers.extend(self.tag().map(|tag| (header::ETAG, tag.clone())));
        if self.is_gzip {
            headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        response
    }

    fn whole(&self, asked: &HeaderMap) -> Response {
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if !self.is_gzip {
            return ([kind], self.content.clone()).into_response();
        }
        if compression::accepts_gzip(asked) {
            let coding = (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            return ([kind, coding], self.content.clone()).into_response();
        }
        match self.plain() {
            Some(plain) => ([kind], plain).into_response(),
            None => HostError::INTERNAL.into_response(),
        }
    }

    /// Returns the plain form of compressed content.
    fn plain(&self) -> Option<Bytes> {
        let decompress = || {
            let mut plain = Vec::new();
            GzDecoder::new(self.content.as_ref()).read_to_end(&mut plain).ok()?;
            Some(Bytes::from(plain))
        };
        self.plain.get_or_init(decompress).clone()
    }

    fn tag(&self) -> Option<&HeaderValue> {
        let tag = || {
            let digest = hex::encode(Sha256::digest(&self.content));
            HeaderValue::from_str(&format!("W/\"{}\"", digest.get(..TAG_DIGITS)?)).ok()
        };
        self.tag.get_or_init(tag).as_ref()
    }

    /// Returns whether `If-None-Match` names the file (RFC 9110, section 13.1.2).
    fn is_known(&self, asked: &HeaderMap) -> bool {
        let lines = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
        let mut known = lines.flat_map(|line| line.split(',')).map(|tag| opaque(tag.trim()));
        let own = self.tag().and_then(|tag| tag.to_str().ok()).map(opaque);
        known.any(|known| known == "*" || own == Some(known))
    }
}

/// Returns an entity tag without the prefix of weak ones.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::io::Write as _;

    use axum::body::to_bytes;
    use bulkhead_steps::{Shape, assert_linear, repeated};
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    const WORDS: &str = "The same words, the same words, the same words.";

    fn compressed() -> Asset {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(WORDS.as_bytes()).unwrap();
        Asset::gzip("a.txt", TEXT, encoder.finish().unwrap().leak())
    }

    fn asking(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    async fn body(response: Response) -> Vec<u8> {
        to_bytes(response.into_body(), 1000).await.unwrap().to_vec()
    }

    #[tokio::test]
    async fn clients_without_gzip_get_plain_file() {
        let file = compressed();
        for accepted in ["br", "gzip;q=0", "identity"] {
            let response = file.answer(&asking(header::ACCEPT_ENCODING, accepted), "default-src 'none'");
            assert!(!response.headers().contains_key(header::CONTENT_ENCODING), "{accepted}");
            assert_eq!(response.headers()[header::VARY], "accept-encoding");
            assert_eq!(body(response).await, WORDS.as_bytes(), "{accepted}");
        }
        let response = file.answer(&asking(header::ACCEPT_ENCODING, "br, gzip"), "default-src 'none'");
        assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
        assert_eq!(response.headers()[header::CONTENT_SECURITY_POLICY], "default-src 'none'");
        assert_eq!(body(response).await, file.content);
    }

    #[tokio::test]
    async fn known_file_is_not_sent_again() {
        let (file, other) = (Asset::text("a", TEXT, "a"), Asset::text("b", TEXT, "b"));
        let response = file.answer(&HeaderMap::new(), "");
        assert_eq!(response.status(), StatusCode::OK);
        let tag = response.headers()[header::ETAG].to_str().unwrap().to_owned();
        assert_ne!(tag, other.answer(&HeaderMap::new(), "").headers()[header::ETAG].to_str().unwrap());
        let strong = tag.strip_prefix("W/").unwrap();
        for known in [tag.clone(), strong.to_owned(), format!("\"x\", {tag}"), "*".to_owned()] {
            let response = file.answer(&asking(header::IF_NONE_MATCH, &known), "");
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(body(response).await, b"");
        }
    }

    #[test]
    fn known_tags_steps_grow_with_header() {
        let with = |unit: &str, bytes| {
            HeaderMap::from_iter([(header::IF_NONE_MATCH, repeated("", unit, "", bytes).parse().unwrap())])
        };
        let shapes: [Shape<'_, HeaderMap>; 3] = [
            ("tags", &|bytes| with("W/\"a\",", bytes)),
            ("commas", &|bytes| with(",", bytes)),
            ("spaces", &|bytes| with(" ", bytes)),
        ];
        let test = concat!(module_path!(), "::known_tags_steps_grow_with_header");
        let file = Asset::text("a", TEXT, "a");
        assert_linear(test, 1 << 20, &shapes, |headers| file.answer(headers, ""));
    }
}
