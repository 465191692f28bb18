//! The errors of outgoing requests, named after the error codes of `wasi:http`.

use std::{net::IpAddr, sync::Arc};

use super::metrics::OutgoingOutcome;

/// Why a request got no response, or a body ended before its end.
///
/// The texts are for the log: a guest gets the error code of the same name. No text contains a header's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutgoingError {
    /// No entry of the slot's list has this origin.
    #[error("{origin} may not be called; add \"{origin}\" to {key}")]
    HttpRequestDenied {
        /// The origin of the request.
        origin: String,
        /// The key that would allow it.
        key: Arc<str>,
    },
    /// The name leads to an address that is not public.
    #[error("{host} leads to {address}, which may not be called; {fix}")]
    DestinationIpProhibited {
        /// The name.
        host: String,
        /// The address, or one of several.
        address: IpAddr,
        /// What would allow it.
        fix: String,
    },
    /// The URI is not one that can be requested.
    #[error("the URI of the request is invalid: {0}")]
    HttpRequestUriInvalid(&'static str),
    /// The method is not sent.
    #[error("requests with the method CONNECT, TRACE or TRACK are not sent")]
    HttpRequestMethodInvalid,
    /// A header field is not sent.
    #[error("the header {0} belongs to a connection and may not be set by a guest, nor be repeated")]
    HttpRequestHeaderRefused(String),
    /// Too many calls run.
    #[error("no call ended in time, and {calls} run already; raise {key}_limits.calls")]
    ConnectionLimitReached {
        /// Calls at once.
        calls: usize,
        /// The key of the origins.
        key: Arc<str>,
    },
    /// The look-up of the name failed.
    #[error("the address of {0} cannot be looked up")]
    DnsError(String),
    /// The look-up of the name took too long.
    #[error("the look-up of {0} does not end in time")]
    DnsTimeout(String),
    /// The server refuses connections.
    #[error("{0} refuses the connection")]
    ConnectionRefused(String),
    /// The connection was not opened in time.
    #[error("{0} does not accept the connection in time")]
    ConnectionTimeout(String),
    /// The server cannot be reached.
    #[error("{0} cannot be reached")]
    DestinationUnavailable(String),
    /// The server's certificate is not trusted.
    #[error("the certificate of {0} is not trusted; check its name and the system's authorities")]
    TlsCertificateError(String),
    /// The server's certificate has expired or is not valid yet.
    #[error(
        "the certificate of {0} has expired or is not valid yet by the clock of this host; renew it, or set the clock"
    )]
    TlsCertificateDates(String),
    /// The server does not speak TLS as it should.
    #[error("TLS with {0} failed")]
    TlsProtocolError(String),
    /// The host cannot use TLS.
    #[error("TLS cannot be used: {0}")]
    ConfigurationError(String),
    /// The body of the request is too large.
    #[error("the request has more than {bytes} bytes; raise {key}_limits.request_bytes")]
    HttpRequestBodySize {
        /// Most bytes.
        bytes: u64,
        /// The key of the origins.
        key: Arc<str>,
    },
    /// The guest did not finish the body of the request.
    #[error("the body of the request ended with an error")]
    HttpRequestBodyBroken,
    /// The head of the response did not arrive in time.
    #[error("the server does not answer in time")]
    ConnectionReadTimeout,
    /// The body of the response stopped for too long.
    #[error("the response stopped for too long")]
    HttpResponseTimeout,
    /// The head of the response is too large.
    #[error("the head of the response is too large")]
    HttpResponseHeaderSectionSize,
    /// The body of the response is too large.
    #[error("the response has more than {bytes} bytes; raise {key}_limits.response_bytes")]
    HttpResponseBodySize {
        /// Most bytes.
        bytes: u64,
        /// The key of the origins.
        key: Arc<str>,
    },
    /// The connection ended before the response did.
    #[error("the response is incomplete")]
    HttpResponseIncomplete,
    /// The connection ended before a response began.
    #[error("the server closed the connection")]
    ConnectionTerminated,
    /// The server switched to another protocol.
    #[error("the server switched protocols without a request")]
    HttpUpgradeFailed,
    /// What the server sent is not HTTP.
    #[error("the server does not speak HTTP as it should")]
    HttpProtocolError,
}

impl OutgoingError {
    /// Returns the outcome that it is counted as.
    pub const fn outcome(&self) -> OutgoingOutcome {
        match self {
            Self::HttpRequestDenied { .. } => OutgoingOutcome::Denied,
            Self::DestinationIpProhibited { .. } => OutgoingOutcome::AddressRefused,
            Self::HttpRequestUriInvalid(_)
            | Self::HttpRequestMethodInvalid
            | Self::HttpRequestHeaderRefused(_)
            | Self::HttpRequestBodyBroken => OutgoingOutcome::InvalidRequest,
            Self::ConnectionLimitReached { .. } => OutgoingOutcome::Overloaded,
            Self::DnsError(_) | Self::DnsTimeout(_) => OutgoingOutcome::Lookup,
            Self::ConnectionRefused(_) | Self::ConnectionTimeout(_) | Self::DestinationUnavailable(_) => {
                OutgoingOutcome::Connect
            }
            Self::TlsCertificateError(_)
            | Self::TlsCertificateDates(_)
            | Self::TlsProtocolError(_)
            | Self::ConfigurationError(_) => OutgoingOutcome::Tls,
            Self::HttpRequestBodySize { .. } | Self::HttpResponseBodySize { .. } => OutgoingOutcome::TooLarge,
            Self::ConnectionReadTimeout | Self::HttpResponseTimeout => OutgoingOutcome::Timeout,
            Self::HttpResponseHeaderSectionSize
            | Self::HttpResponseIncomplete
            | Self::ConnectionTerminated
            | Self::HttpUpgradeFailed
            | Self::HttpProtocolError => OutgoingOutcome::BadAnswer,
        }
    }

    /// Returns the error of a connection in use.
    pub(crate) fn of(error: &hyper::Error, has_begun: bool) -> Self {
        if error.is_parse_too_large() {
            Self::HttpResponseHeaderSectionSize
        } else if error.is_parse() {
            Self::HttpProtocolError
        } else if error.is_user() || error.is_body_write_aborted() {
            Self::HttpRequestBodyBroken
        } else if has_begun || error.is_incomplete_message() {
            Self::HttpResponseIncomplete
        } else {
            Self::ConnectionTerminated
        }
    }
}
