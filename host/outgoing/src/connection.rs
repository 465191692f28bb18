//! Opens connections: to an address that was checked, with TLS where the origin has it, for HTTP/1.1.

mod idle;
mod network;
mod sent_body;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use hyper::{
    client::conn::http1::{Builder, SendRequest},
    rt::{Read, Write},
};
use hyper_util::rt::TokioIo;
use rustls::{CertificateError, pki_types::ServerName};
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};
use tokio_rustls::TlsConnector;
use url::Host;

use super::{destination::Destination, error::OutgoingError};

pub use self::network::OutgoingNetwork;
pub(crate) use self::{
    idle::{IdleConnections, Route},
    sent_body::SentBody,
};

/// Longest head of a response, bytes; also the most that is buffered of a body.
const HEAD_BYTES: usize = 64 << 10;

/// How long the task of a connection may take to notice the end of a response that was read.
const READY: Duration = Duration::from_millis(100);

/// A connection to a server. Dropping it closes it.
pub(crate) struct UpstreamConnection {
    pub(crate) requests: SendRequest<SentBody>,
    task: JoinHandle<()>,
}

impl UpstreamConnection {
    /// Connects to `address` for requests to `destination`.
    pub(crate) async fn open(
        network: &OutgoingNetwork,
        address: SocketAddr,
        destination: &Destination,
    ) -> Result<Self, OutgoingError> {
        let unavailable = |error: io::Error| {
            tracing::debug!(%error, %address, "an outgoing connection was not opened");
            match error.kind() {
                io::ErrorKind::ConnectionRefused => OutgoingError::ConnectionRefused(destination.to_string()),
                io::ErrorKind::TimedOut => OutgoingError::ConnectionTimeout(destination.to_string()),
                _ => OutgoingError::DestinationUnavailable(destination.to_string()),
            }
        };
        let stream = TcpStream::connect(address).await.map_err(unavailable)?;
        stream.set_nodelay(true).map_err(unavailable)?;
        if !destination.is_tls {
            return Self::begin(TokioIo::new(stream)).await;
        }
        let connector = TlsConnector::from(network.tls().await?);
        let name = server_name(destination)?;
        let encrypted = connector.connect(name, stream).await;
        Self::begin(TokioIo::new(encrypted.map_err(|error| tls_error(&error, destination))?)).await
    }

    /// Returns whether another request may be sent, once the task of the connection is done with the last one.
    pub(crate) async fn is_usable(&mut self) -> bool {
        matches!(timeout(READY, self.requests.ready()).await, Ok(Ok(())))
    }

    async fn begin<T>(stream: T) -> Result<Self, OutgoingError>
    where
        T: Read + Write + Unpin + Send + 'static,
    {
        let mut builder = Builder::new();
        builder.max_buf_size(HEAD_BYTES).max_header_size(HEAD_BYTES);
        let (requests, connection) =
            builder.handshake(stream).await.map_err(|error| OutgoingError::of(&error, false))?;
        let task = tokio::spawn(async move {
            // The request in flight gets the error, too.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an outgoing connection ended");
            }
        });
        Ok(Self { requests, task })
    }
}

impl Drop for UpstreamConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns the name that the server's certificate must have.
fn server_name(destination: &Destination) -> Result<ServerName<'static>, OutgoingError> {
    let invalid = |_| OutgoingError::HttpRequestUriInvalid("its host cannot be the name of a certificate");
    match &destination.host {
        Host::Domain(name) => ServerName::try_from(name.clone()).map_err(invalid),
        Host::Ipv4(address) => Ok(ServerName::from(IpAddr::V4(*address))),
        Host::Ipv6(address) => Ok(ServerName::from(IpAddr::V6(*address))),
    }
}

fn tls_error(error: &io::Error, destination: &Destination) -> OutgoingError {
    tracing::debug!(%error, %destination, "TLS of an outgoing connection failed");
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        )) => OutgoingError::TlsCertificateDates(destination.to_string()),
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            OutgoingError::TlsCertificateError(destination.to_string())
        }
        _ => OutgoingError::TlsProtocolError(destination.to_string()),
    }
}
