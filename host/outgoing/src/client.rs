//! Sends the outgoing requests of a slot.

use std::{error::Error, fmt, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, StatusCode, Uri, Version,
    header::HOST,
    uri::{Parts as UriParts, PathAndQuery},
};
use http_body::Body;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};

use super::{
    call::Call,
    config::{OutgoingLimits, OutgoingOrigin},
    connection::{IdleConnections, OutgoingNetwork, Route, SentBody, UpstreamConnection},
    destination::Destination,
    error::OutgoingError,
    headers,
    lookup::{LookupError, resolve},
    metrics::SlotOutgoingMetrics,
    received_body::{ReceivedBody, Reception},
};

/// Addresses of a name that are tried.
const ATTEMPTS: usize = 4;
/// Methods that are not sent: for tunnels, and those that a server answers with the header fields that it got, the host's
/// among them.
const REFUSED_METHODS: [&str; 3] = ["CONNECT", "TRACE", "TRACK"];

/// Time-outs that a guest sets for a request. Those of the slot are the longest.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestTimeouts {
    /// Longest wait for a connection.
    pub connect: Option<Duration>,
    /// Longest wait for the head of the response.
    pub first_byte: Option<Duration>,
    /// Longest pause of the response.
    pub between_bytes: Option<Duration>,
}

/// The client of a slot: its origins, its limits and its open connections. Clones share all.
#[derive(Clone)]
pub struct OutgoingClient(Arc<Shared>);

struct Shared {
    /// The key that lists the origins, for errors.
    key: Arc<str>,
    origins: Vec<OutgoingOrigin>,
    limits: OutgoingLimits,
    network: OutgoingNetwork,
    metrics: SlotOutgoingMetrics,
    calls: Arc<Semaphore>,
    idle: Arc<IdleConnections>,
}

impl fmt::Debug for OutgoingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingClient").field("key", &self.0.key).finish_non_exhaustive()
    }
}

impl OutgoingClient {
    /// Makes the client of a slot; `key` is the configuration's key that lists its origins, such as `apps.shop.outgoing`.
    pub fn new(
        key: impl Into<Arc<str>>,
        origins: Vec<OutgoingOrigin>,
        limits: OutgoingLimits,
        network: OutgoingNetwork,
        metrics: SlotOutgoingMetrics,
    ) -> Self {
        let calls = Arc::new(Semaphore::new(limits.calls));
        let idle = Arc::new(IdleConnections::new(limits.calls));
        Self(Arc::new(Shared { key: key.into(), origins, limits, network, metrics, calls, idle }))
    }

    /// Sends a request with an absolute URI, and returns the response once its head has arrived. Redirects are not followed.
    ///
    /// # Errors
    /// See [`OutgoingError`]. The response's body ends with one, too, where it is incomplete.
    pub async fn send<B>(
        &self,
        request: Request<B>,
        timeouts: RequestTimeouts,
    ) -> Result<Response<ReceivedBody>, OutgoingError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let call = Arc::new(Call::begin(self.0.metrics.clone()));
        let sent = Exchange { slot: &self.0, call: &call, limits: self.0.limits.shortened(timeouts) };
        sent.run(request).await.map_err(|error| call.fail(error))
    }
}

impl OutgoingLimits {
    /// Returns the limits with the shorter of each time-out.
    fn shortened(&self, timeouts: RequestTimeouts) -> Self {
        let shorter = |own: Duration, asked: Option<Duration>| asked.map_or(own, |asked| asked.min(own));
        Self {
            connect: shorter(self.connect, timeouts.connect),
            first_byte: shorter(self.first_byte, timeouts.first_byte),
            between_bytes: shorter(self.between_bytes, timeouts.between_bytes),
            ..self.clone()
        }
    }
}

/// One request and its response.
struct Exchange<'c> {
    slot: &'c Shared,
    call: &'c Arc<Call>,
    limits: OutgoingLimits,
}

impl Exchange<'_> {
    async fn run<B>(&self, request: Request<B>) -> Result<Response<ReceivedBody>, OutgoingError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let destination = Destination::of(request.uri())?;
        let origin = OutgoingOrigin::closest(&self.slot.origins, &destination).ok_or_else(|| {
            OutgoingError::HttpRequestDenied {
                origin: destination.to_string(),
                key: Arc::clone(&self.slot.key),
            }
        })?;
        let mut request = self.prepare(request, &destination, origin)?;
        let permit = timeout(self.limits.connect, Arc::clone(&self.slot.calls).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            let (calls, key) = (self.limits.calls, Arc::clone(&self.slot.key));
            return Err(OutgoingError::ConnectionLimitReached { calls, key });
        };
        self.call.keep(permit);
        let deadline = Instant::now() + self.limits.connect;
        let addresses = self.addresses(&destination, origin, deadline).await?;
        // A connection that waited may turn out to be closed before the request is sent.
        while let Some((route, mut connection)) = self.slot.idle.take(&destination, &addresses) {
            if !connection.is_usable().await {
                continue;
            }
            match self.ask(request, route, connection).await {
                Ok(response) => return Ok(response),
                Err(Refusal { unsent: Some(unsent), .. }) => request = *unsent,
                Err(Refusal { error, .. }) => return Err(error),
            }
        }
        let (route, connection) = self.connect(&destination, &addresses, deadline).await?;
        self.ask(request, route, connection).await.map_err(|refusal| refusal.error)
    }

    /// Checks a request, and makes it one of the host.
    fn prepare<B>(
        &self,
        request: Request<B>,
        destination: &Destination,
        origin: &OutgoingOrigin,
    ) -> Result<Request<SentBody>, OutgoingError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (mut parts, body) = request.into_parts();
        // A method has one spelling, but some servers take any.
        if REFUSED_METHODS.iter().any(|name| parts.method.as_str().eq_ignore_ascii_case(name)) {
            return Err(OutgoingError::HttpRequestMethodInvalid);
        }
        if let Some(name) = headers::refused(&parts.headers) {
            return Err(OutgoingError::HttpRequestHeaderRefused(name.to_string()));
        }
        let bytes = self.limits.request_bytes;
        let too_large = OutgoingError::HttpRequestBodySize { bytes, key: Arc::clone(&self.slot.key) };
        if body.size_hint().lower() > bytes {
            return Err(too_large);
        }
        let mut uri = UriParts::default();
        let path = parts.uri.path_and_query().cloned();
        uri.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
        let invalid = OutgoingError::HttpRequestUriInvalid("its path cannot be sent");
        parts.uri = Uri::from_parts(uri).map_err(|_| invalid.clone())?;
        parts.version = Version::HTTP_11;
        let host = HeaderValue::try_from(destination.authority()).map_err(|_| invalid)?;
        parts.headers.insert(HOST, host);
        for (name, value) in origin.headers() {
            parts.headers.insert(name.clone(), value.clone());
        }
        Ok(Request::from_parts(parts, SentBody::new(body, bytes, too_large, Arc::clone(self.call))))
    }

    /// Returns the addresses that a connection may go to.
    async fn addresses(
        &self,
        destination: &Destination,
        origin: &OutgoingOrigin,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, OutgoingError> {
        if let Some(address) = destination.address() {
            return Ok(vec![SocketAddr::new(address, destination.port)]);
        }
        let host = destination.host.to_string();
        let lookup = self.slot.network.lookup();
        let found = resolve(lookup, &host, destination.port, |address| origin.admits(address));
        match timeout_at(deadline, found).await {
            Ok(Ok(mut addresses)) => {
                addresses.truncate(ATTEMPTS);
                Ok(addresses)
            }
            Ok(Err(LookupError::Refused(address))) => {
                let fix = OutgoingOrigin::fix(address, &self.slot.key);
                Err(OutgoingError::DestinationIpProhibited { host, address, fix })
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, %host, "the look-up of an outgoing request failed");
                Err(OutgoingError::DnsError(host))
            }
            Err(_) => Err(OutgoingError::DnsTimeout(host)),
        }
    }

    /// Connects to the first address that accepts; none may take all of the time that is left.
    async fn connect(
        &self,
        destination: &Destination,
        addresses: &[SocketAddr],
        deadline: Instant,
    ) -> Result<(Route, UpstreamConnection), OutgoingError> {
        let mut last = OutgoingError::DestinationUnavailable(destination.to_string());
        let mut left = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        for address in addresses {
            let share = deadline.saturating_duration_since(Instant::now()) / left.max(1);
            left = left.saturating_sub(1);
            let opened = UpstreamConnection::open(&self.slot.network, *address, destination);
            match timeout(share, opened).await {
                Ok(Ok(connection)) => {
                    let route = Route { destination: destination.clone(), address: *address };
                    return Ok((route, connection));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = OutgoingError::ConnectionTimeout(destination.to_string()),
            }
        }
        Err(last)
    }

    /// Sends a request on a connection, and waits for the head of the response.
    async fn ask(
        &self,
        request: Request<SentBody>,
        route: Route,
        mut connection: UpstreamConnection,
    ) -> Result<Response<ReceivedBody>, Refusal> {
        let answer = timeout(self.limits.first_byte, connection.requests.try_send_request(request)).await;
        let response = match answer {
            Err(_) => return Err(OutgoingError::ConnectionReadTimeout.into()),
            Ok(Err(mut failure)) => {
                tracing::debug!(error = %failure.error(), "an outgoing request got no response");
                let unsent = failure.take_message().map(Box::new);
                return Err(Refusal { error: self.call.reason(failure.error(), false), unsent });
            }
            Ok(Ok(response)) => response,
        };
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(OutgoingError::HttpUpgradeFailed.into());
        }
        let (mut parts, body) = response.into_parts();
        let bytes = self.limits.response_bytes;
        let too_large = OutgoingError::HttpResponseBodySize { bytes, key: Arc::clone(&self.slot.key) };
        if body.size_hint().lower() > bytes {
            return Err(too_large.into());
        }
        headers::remove_hop_by_hop(&mut parts.headers);
        self.call.record_answer();
        let reception = Reception { bytes, too_large, between_bytes: self.limits.between_bytes };
        let (idle, call) = (Arc::clone(&self.slot.idle), Arc::clone(self.call));
        let body = ReceivedBody::new(body, reception, (route, connection), idle, call);
        Ok(Response::from_parts(parts, body))
    }
}

/// Why a request got no response, with the request where nothing of it was sent.
struct Refusal {
    error: OutgoingError,
    unsent: Option<Box<Request<SentBody>>>,
}

impl From<OutgoingError> for Refusal {
    fn from(error: OutgoingError) -> Self {
        Self { error, unsent: None }
    }
}

#[cfg(test)]
mod tests;
