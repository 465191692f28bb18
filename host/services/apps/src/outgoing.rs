//! Outgoing requests of apps, which go to the origins of `apps.NAME.outgoing` and nowhere else.

use std::{env, sync::Arc};

use axum::http::{Request, Response};
use bulkhead_outgoing::{OutgoingClient, OutgoingError, OutgoingMetrics, OutgoingNetwork, RequestTimeouts};
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_service::ServiceContext;
use http_body_util::BodyExt as _;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use crate::{config::AppSettings, spec::IS_RUN};

/// What the clients of all apps share.
#[derive(Debug)]
pub(crate) struct AppClients {
    network: OutgoingNetwork,
    metrics: Arc<OutgoingMetrics>,
    /// Whether flags of `run` allow requests, and no configuration.
    has_flags: bool,
}

/// That flags of `run` allow an app's requests: a value in its slot's resources.
#[derive(Clone, Copy, Debug)]
struct AllowedByFlags;

impl AppClients {
    pub(crate) fn new(context: &ServiceContext) -> anyhow::Result<Self> {
        let (network, has_flags) = (OutgoingNetwork::default(), env::var_os(IS_RUN).is_some());
        Ok(Self { network, metrics: context.metrics.set()?, has_flags })
    }

    /// Adds the client of an app to its slot's resources. Without origins it refuses every request.
    pub(crate) fn provide(&self, app: &AppSettings, resources: &mut SlotResources) {
        let (origins, limits) = (app.outgoing.clone(), app.outgoing_limits.clone());
        let (network, metrics) = (self.network.clone(), self.metrics.slot(app.id()));
        let client = OutgoingClient::new(app.slot.key("outgoing"), origins, limits, network, metrics);
        resources.insert(Arc::new(client));
        if self.has_flags {
            resources.insert(Arc::new(AllowedByFlags));
        }
    }
}

/// Sends a request of a slot's guest. The slot's log says why one failed.
///
/// # Errors
/// The code that the guest gets. The response's body ends with one, too, where it is incomplete.
pub(crate) async fn send(
    resources: Arc<SlotResources>,
    request: Request<WasiBody>,
    options: Option<RequestOptions>,
) -> Result<Response<WasiBody>, Error> {
    let Some(client) = resources.get::<OutgoingClient>() else { return Err(Error::HttpRequestDenied) };
    let timeouts = options.map(|options| RequestTimeouts {
        connect: options.connect_timeout,
        first_byte: options.first_byte_timeout,
        between_bytes: options.between_bytes_timeout,
    });
    let sent = client.send(request, timeouts.unwrap_or_default()).await;
    match sent {
        Ok(response) => {
            Ok(response.map(|body| body.map_err(move |error| logged(&resources, &error)).boxed_unsync()))
        }
        Err(error) => Err(logged(&resources, &error)),
    }
}

/// Writes an error to the slot's log, within its budget, and returns what the guest gets.
fn logged(resources: &SlotResources, error: &OutgoingError) -> Error {
    let why = explained(error, resources.get::<AllowedByFlags>().is_some());
    let text = format!("an outgoing request failed: {why}");
    if resources.admits_warning("outgoing", &text) {
        tracing::warn!(slot = resources.slot.as_str(), "{text}");
    }
    code(error)
}

/// Returns the text of an error. Where flags allow requests, it names the flag in place of a key.
fn explained(error: &OutgoingError, has_flags: bool) -> String {
    match error {
        OutgoingError::HttpRequestDenied { origin, .. } if has_flags => {
            format!("{origin} may not be called; allow it with --allow {origin}")
        }
        OutgoingError::DestinationIpProhibited { host, address, .. } if has_flags => format!(
            "{host} leads to {address}, which may not be called; only --allow with the address in place of the name \
             allows it"
        ),
        error => error.to_string(),
    }
}

/// Returns the code of an error; its text is for the log.
fn code(error: &OutgoingError) -> Error {
    match error {
        // The interface has no code for a header that is refused.
        OutgoingError::HttpRequestDenied { .. } | OutgoingError::HttpRequestHeaderRefused(_) => {
            Error::HttpRequestDenied
        }
        OutgoingError::DestinationIpProhibited { .. } => Error::DestinationIpProhibited,
        OutgoingError::HttpRequestUriInvalid(_) => Error::HttpRequestUriInvalid,
        OutgoingError::HttpRequestMethodInvalid => Error::HttpRequestMethodInvalid,
        OutgoingError::ConnectionLimitReached { .. } => Error::ConnectionLimitReached,
        OutgoingError::DnsError(_) => Error::DnsError { rcode: None, info_code: None },
        OutgoingError::DnsTimeout(_) => Error::DnsTimeout,
        OutgoingError::ConnectionRefused(_) => Error::ConnectionRefused,
        OutgoingError::ConnectionTimeout(_) => Error::ConnectionTimeout,
        OutgoingError::DestinationUnavailable(_) => Error::DestinationUnavailable,
        OutgoingError::TlsCertificateError(_) | OutgoingError::TlsCertificateDates(_) => {
            Error::TlsCertificateError
        }
        OutgoingError::TlsProtocolError(_) => Error::TlsProtocolError,
        OutgoingError::ConfigurationError(_) => Error::ConfigurationError,
        OutgoingError::HttpRequestBodySize { bytes, .. } => Error::HttpRequestBodySize(Some(*bytes)),
        OutgoingError::ConnectionReadTimeout => Error::ConnectionReadTimeout,
        OutgoingError::HttpResponseTimeout => Error::HttpResponseTimeout,
        OutgoingError::HttpResponseHeaderSectionSize => Error::HttpResponseHeaderSectionSize(None),
        OutgoingError::HttpResponseBodySize { bytes, .. } => Error::HttpResponseBodySize(Some(*bytes)),
        OutgoingError::HttpResponseIncomplete => Error::HttpResponseIncomplete,
        OutgoingError::ConnectionTerminated => Error::ConnectionTerminated,
        OutgoingError::HttpUpgradeFailed => Error::HttpUpgradeFailed,
        OutgoingError::HttpRequestBodyBroken | OutgoingError::HttpProtocolError => Error::HttpProtocolError,
    }
}
