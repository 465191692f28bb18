//! Reads a request's body within limits of size and time.

use std::{
    borrow::Cow, error::Error as StdError, fmt, future::poll_fn, pin::pin, task::Poll, time::Duration,
};

use axum::{
    Json,
    body::{Body, Bytes},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_ENCODING, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use bytes::{Buf as _, BytesMut};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::time::{error::Elapsed, timeout};

/// A byte order mark in UTF-8, which some clients put before their text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Largest buffer that is allocated for a declared Content-Length, bytes.
const TRUSTED_LENGTH: u64 = 64 * 1024;

/// Limits of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyLimits {
    /// Most bytes.
    pub bytes: usize,
    /// Most time from the first wait to the last byte.
    pub time: Duration,
    /// The key of the configuration that sets `bytes`; `None` where none does.
    pub key: Option<&'static str>,
}

impl BodyLimits {
    const fn too_large(self) -> BodyError {
        BodyError::TooLarge { bytes: self.bytes, key: self.key }
    }
}

/// A body that could not be read. Displays as its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// More bytes than allowed. The rest is not read.
    TooLarge {
        /// The most that are allowed.
        bytes: usize,
        /// The key of the configuration that sets them, if one does.
        key: Option<&'static str>,
    },
    /// It did not arrive in time.
    Timeout,
    /// The client went away; no one reads the answer.
    Gone,
    /// The framing of the body is broken.
    Invalid,
    /// It is not declared as JSON.
    UnsupportedMediaType,
    /// It is compressed, or its text is not declared as UTF-8.
    UnsupportedEncoding,
}

/// What a client sees of a [`BodyError`]; services put the parts into their own shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyAnswer {
    /// The status.
    pub status: StatusCode,
    /// A code for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: Cow<'static, str>,
}

impl BodyError {
    /// Returns the answer to a client.
    pub fn answer(self) -> BodyAnswer {
        let (status, code, message) = match self {
            Self::TooLarge { bytes, key } => {
                let remedy = match key {
                    Some(key) => format!("; send less, or raise {key}"),
                    None => ", which no key of the configuration raises".to_owned(),
                };
                let message = format!("the request body has more than {bytes} bytes{remedy}");
                return BodyAnswer {
                    status: StatusCode::PAYLOAD_TOO_LARGE,
                    code: "body-too-large",
                    message: message.into(),
                };
            }
            Self::Timeout => {
                (StatusCode::REQUEST_TIMEOUT, "body-timeout", "the request body did not arrive in time")
            }
            Self::Gone => (StatusCode::BAD_REQUEST, "body-incomplete", "the request body is incomplete"),
            Self::Invalid => (StatusCode::BAD_REQUEST, "body-malformed", "the request body is malformed"),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "the content type must be application/json",
            ),
            Self::UnsupportedEncoding => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-encoding",
                "the request body must be UTF-8 text without a content encoding",
            ),
        };
        BodyAnswer { status, code, message: message.into() }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.answer().message)
    }
}

impl StdError for BodyError {}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        let answer = self.answer();
        let body = json!({ "error": answer.code, "message": answer.message });
        (answer.status, Json(body)).into_response()
    }
}

/// Reads a body that must be declared as `application/json` or `application/*+json`. Does not check that it is JSON.
///
/// # Errors
/// See [`BodyError`].
pub async fn read_json(headers: &HeaderMap, body: Body, limits: BodyLimits) -> Result<Bytes, BodyError> {
    if !is_json(headers) {
        return Err(BodyError::UnsupportedMediaType);
    }
    read_text(headers, body, limits).await
}

/// Reads a body that must not be declared as compressed, or as text in another encoding than UTF-8. A byte order
/// mark at its start is left out.
///
/// # Errors
/// See [`BodyError`].
pub async fn read_text(headers: &HeaderMap, body: Body, limits: BodyLimits) -> Result<Bytes, BodyError> {
    if !is_plain_utf8(headers) {
        return Err(BodyError::UnsupportedEncoding);
    }
    let mut bytes = read(body, limits).await?;
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.advance(BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

fn is_plain_utf8(headers: &HeaderMap) -> bool {
    let encodings = headers.get_all(CONTENT_ENCODING).iter();
    let plain =
        encodings.map(HeaderValue::as_bytes).all(|encoding| encoding.eq_ignore_ascii_case(b"identity"));
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut charsets = declared.split(';').skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    // ASCII is UTF-8 too.
    plain
        && charsets
            .all(|name| ["utf-8", "utf8", "us-ascii"].iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Returns whether the body is declared, once, as `application/json` or `application/*+json`.
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut declared = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (declared.next(), declared.next()) else {
        return false;
    };
    let Ok(value) = value.to_str() else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim();
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    // `application/+json` names no type.
    let suffix =
        subtype.len().checked_sub("+json".len()).filter(|at| *at > 0).and_then(|at| subtype.get(at..));
    let has_suffix = suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+json"));
    kind.eq_ignore_ascii_case("application") && (subtype.eq_ignore_ascii_case("json") || has_suffix)
}

/// Reads a body. One whose declared length is too large is refused unread, so that a client that
/// waits for `100 Continue` never sends it.
///
/// # Errors
/// See [`BodyError`].
pub async fn read(body: Body, limits: BodyLimits) -> Result<Bytes, BodyError> {
    let declared = body.size_hint().lower();
    if declared > limits.bytes as u64 {
        return Err(limits.too_large());
    }
    in_time(limits.time, collect(body, declared, limits)).await.unwrap_or(Err(BodyError::Timeout))
}

/// Waits for `limit` at most. The first wait ends at once and has no timer: a body that has come with its head is there when
/// the task of its connection runs again.
async fn in_time<T>(limit: Duration, read: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut read = pin!(read);
    let mut has_waited = false;
    let early = poll_fn(|context| match read.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if has_waited => Poll::Ready(None),
        Poll::Pending => {
            has_waited = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    match early.await {
        Some(done) => Ok(done),
        None => timeout(limit, read).await,
    }
}

async fn collect(mut body: Body, declared: u64, limits: BodyLimits) -> Result<Bytes, BodyError> {
    let mut whole = BytesMut::with_capacity(declared.min(TRUSTED_LENGTH) as usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|error| classify(&error))?.into_data() else {
            continue;
        };
        if data.len() > limits.bytes - whole.len() {
            return Err(limits.too_large());
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

fn classify(error: &axum::Error) -> BodyError {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            let gone = error.is_incomplete_message() || error.is_closed() || error.is_canceled();
            return if gone { BodyError::Gone } else { BodyError::Invalid };
        }
        cause = error.source();
    }
    BodyError::Invalid
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use axum::http::HeaderValue;
    use bulkhead_steps::{Shape, assert_linear, repeated};
    use futures_util::stream;

    use super::*;

    const LIMITS: BodyLimits = BodyLimits { bytes: 8, time: Duration::from_secs(5), key: Some("a.b") };

    fn chunks(chunks: &[&'static str]) -> Body {
        let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, std::io::Error>(*chunk)).collect();
        Body::from_stream(stream::iter(chunks))
    }

    #[tokio::test]
    async fn body_is_read_up_to_the_limit() {
        assert_eq!(read(Body::from("12345678"), LIMITS).await.unwrap(), "12345678");
        assert_eq!(read(chunks(&["1234", "", "5678"]), LIMITS).await.unwrap(), "12345678");
        assert_eq!(read(Body::empty(), LIMITS).await.unwrap(), "");
    }

    #[tokio::test]
    async fn one_byte_more_is_too_large() {
        assert_eq!(read(Body::from("123456789"), LIMITS).await, Err(LIMITS.too_large()));
        assert_eq!(read(chunks(&["12345678", "9"]), LIMITS).await, Err(LIMITS.too_large()));
    }

    #[test]
    fn body_on_second_poll_needs_no_timer() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let soon = stream::once(async {
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>("{}")
        });
        assert_eq!(runtime.block_on(read(Body::from_stream(soon), LIMITS)).unwrap(), "{}");
    }

    #[tokio::test]
    async fn missing_body_times_out() {
        let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let limits = BodyLimits { time: Duration::from_millis(10), ..LIMITS };
        assert_eq!(read(never, limits).await, Err(BodyError::Timeout));
    }

    #[tokio::test]
    async fn body_of_another_type_is_rejected() {
        let mut headers = HeaderMap::new();
        let refused = read_json(&headers, Body::from("{}"), LIMITS).await;
        assert_eq!(refused, Err(BodyError::UnsupportedMediaType));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        assert_eq!(read_json(&headers, Body::from("{}"), LIMITS).await.unwrap(), "{}");
    }

    #[tokio::test]
    async fn one_byte_order_mark_is_skipped() {
        let headers: HeaderMap =
            [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        for (body, text) in [
            ("\u{feff}{}", "{}"),
            ("\u{feff}", ""),
            ("\u{feff}\u{feff}1", "\u{feff}1"),
            ("{}\u{feff}", "{}\u{feff}"),
        ] {
            assert_eq!(read_json(&headers, Body::from(body), LIMITS).await.unwrap(), text, "{body:?}");
            assert_eq!(read(Body::from(body), LIMITS).await.unwrap(), body, "raw bytes stay as they are");
        }
    }

    #[test]
    fn only_json_media_types_are_json() {
        let declared = |kinds: &[&'static str]| {
            let kinds = kinds.iter().map(|kind| (CONTENT_TYPE, HeaderValue::from_static(kind)));
            is_json(&kinds.collect())
        };
        for good in ["application/json", "Application/JSON; charset=utf-8", "application/ld+json"] {
            assert!(declared(&[good]), "{good}");
        }
        for bad in ["text/json", "application/jsonp", "application/+json", "text/plain", ""] {
            assert!(!declared(&[bad]), "{bad}");
        }
        assert!(!declared(&[]));
        let ambiguous = ["application/json", "text/plain"];
        assert!(!declared(&ambiguous));
    }

    #[test]
    fn media_type_steps_grow_with_header() {
        let with = |head: &str, unit: &str, bytes| {
            HeaderMap::from_iter([(CONTENT_TYPE, repeated(head, unit, "", bytes).parse().unwrap())])
        };
        let shapes: [Shape<'_, HeaderMap>; 4] = [
            ("subtype", &|bytes| with("application/", "+json", bytes)),
            ("spaces", &|bytes| with("", " ", bytes)),
            ("parameters", &|bytes| with("application/json", ";charset=utf-8", bytes)),
            ("quotes", &|bytes| with("application/json;charset=", "\"", bytes)),
        ];
        let test = concat!(module_path!(), "::media_type_steps_grow_with_header");
        assert_linear(test, 1 << 20, &shapes, |headers| (is_json(headers), is_plain_utf8(headers)));
    }

    #[tokio::test]
    async fn only_plain_utf8_is_read() {
        let read = async |name, value: &'static str| {
            let mut headers: HeaderMap =
                [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
            headers.insert(name, HeaderValue::from_static(value));
            read_json(&headers, Body::from("{}"), LIMITS).await
        };
        for charset in ["application/json; charset=UTF-8", "application/json;charset=\"utf-8\"; v=1"] {
            assert_eq!(read(CONTENT_TYPE, charset).await.unwrap(), "{}");
        }
        assert_eq!(read(CONTENT_ENCODING, "identity").await.unwrap(), "{}");
        for (name, value) in [
            (CONTENT_TYPE, "application/json; charset=iso-8859-1"),
            (CONTENT_TYPE, "application/json; charset=utf-16"),
            (CONTENT_ENCODING, "gzip"),
            (CONTENT_ENCODING, "identity, br"),
        ] {
            assert_eq!(read(name, value).await, Err(BodyError::UnsupportedEncoding), "{value}");
        }
    }

    #[test]
    fn each_error_has_its_status() {
        use BodyError::*;
        let errors = [LIMITS.too_large(), Timeout, Gone, Invalid, UnsupportedMediaType, UnsupportedEncoding];
        let statuses = errors.map(|error| error.answer().status.as_u16());
        assert_eq!(statuses, [413, 408, 400, 400, 415, 415]);
    }

    #[test]
    fn too_large_names_limit_and_key() {
        let of = |key| BodyLimits { key, ..LIMITS }.too_large().to_string();
        assert_eq!(of(Some("a.b")), "the request body has more than 8 bytes; send less, or raise a.b");
        assert!(of(None).ends_with("8 bytes, which no key of the configuration raises"));
    }
}
