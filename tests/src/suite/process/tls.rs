//! `server.tls`: HTTPS with both protocols, end to end.

use std::{fs, path::Path, sync::Arc};

use bulkhead_tests::child::{Bulkhead, Launch, PATIENCE};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::{
    Request, Version,
    body::Bytes,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{SITE, envelope};

struct Https {
    host: Bulkhead,
    address: String,
    certificate: CertificateDer<'static>,
    _folder: TempDir,
}

/// Writes a self-signed certificate that `change` has changed to `cert.pem`, and its key to `key.pem`.
pub(super) fn issue(folder: &Path, change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
    let mut wanted = CertificateParams::new(["localhost".to_owned()]).unwrap();
    change(&mut wanted);
    let key = KeyPair::generate().unwrap();
    let issued = wanted.self_signed(&key).unwrap();
    fs::write(folder.join("cert.pem"), issued.pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    issued.der().clone()
}

impl Https {
    async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a host whose certificate `change` has changed.
    async fn start_with(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let folder = TempDir::new().unwrap();
        let certificate = issue(folder.path(), change);
        let tls = "[server.tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n";
        let launch = Launch::serve_with(folder.path(), &format!("{tls}{SITE}")).in_folder(folder.path());
        let host = launch.ready().await;
        let url = host.listener("server.listen");
        let address = url.strip_prefix("https://").unwrap_or_else(|| panic!("{url}")).to_owned();
        Self { host, address, certificate, _folder: folder }
    }

    async fn connect(&self, protocols: &[&str]) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let versions = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let client = versions.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let mut client = client.with_no_client_auth();
        client.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let socket = TcpStream::connect(&self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(client)).connect(name, socket).await.unwrap()
    }
}

fn chosen(stream: &TlsStream<TcpStream>) -> Option<&str> {
    stream.get_ref().1.alpn_protocol().map(|name| str::from_utf8(name).unwrap())
}

#[tokio::test]
async fn both_protocols_are_offered_and_served() {
    let https = Https::start().await;

    let stream = https.connect(&["h2", "http/1.1"]).await;
    assert_eq!(chosen(&stream), Some("h2"), "the better one is chosen");
    let (mut client, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post("https://localhost/api/v1/captcha/challenge")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(envelope().to_string())))
        .unwrap();
    let answer = client.send_request(request).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(body["challenge"]["signature"].is_string(), "{body}");

    for protocols in [&["http/1.1"][..], &[]] {
        let stream = https.connect(protocols).await;
        assert_eq!(chosen(&stream), protocols.first().copied());
        let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request =
            Request::get("/actuator/health").header("host", "localhost").body(Empty::<Bytes>::new());
        let answer = client.send_request(request.unwrap()).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_11));
    }
    drop(client);
    https.host.stop().await;
}

#[tokio::test]
async fn plain_text_connections_are_counted() {
    let https = Https::start().await;
    let mut socket = TcpStream::connect(&https.address).await.unwrap();
    socket.write_all(b"GET /actuator/health HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // The connection may also be reset.
    let _ = timeout(PATIENCE, socket.read_to_end(&mut answer)).await.expect("the connection ends");
    assert!(!answer.starts_with(b"HTTP/"), "nothing is said in the clear");
    assert_eq!(https.host.metric(r#"bulkhead_connection_errors_total{kind="handshake"}"#).await, 1.0);
    https.host.stop().await;
}

#[tokio::test]
async fn expired_certificate_is_degraded() {
    let https = Https::start_with(|wanted| wanted.not_after = date_time_ymd(2001, 1, 1)).await;
    let ready = https.host.json(&https.host.admin_url("/health/ready")).await;
    let [degraded] = ready["degraded"].as_array().unwrap().as_slice() else { panic!("{ready}") };
    assert_eq!(degraded["check"], "certificate of server.tls");
    assert_eq!(degraded["reason"], "it expired at 2001-01-01T00:00:00Z: renew it");
    https.host.stop().await;
}

#[tokio::test]
async fn a_missing_certificate_ends_the_start() {
    let folder = TempDir::new().unwrap();
    let tls = "[server.tls]\ncert = \"missing.pem\"\nkey = \"missing.key\"\n";
    let finished = Launch::serve_with(folder.path(), tls).finish().await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(finished.stderr.contains("missing.pem"), "{}", finished.stderr);
}
