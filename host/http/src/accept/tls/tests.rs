//! Tests of certificates: errors, and reload while serving.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, routing::get};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;
use crate::{accept, connection_limit::ConnectionLimit, heartbeat::Heartbeat, lifecycle::Lifecycle, listen};

fn files(folder: &TempDir) -> Tls {
    let path = folder.path();
    Tls { cert: path.join("cert.pem"), key: path.join("key.pem") }
}

/// Writes a new self-signed certificate and returns it.
fn issue(folder: &TempDir) -> CertificateDer<'static> {
    issue_with(folder, |_| {})
}

/// Writes a new self-signed certificate that `change` has changed, and returns it.
fn issue_with(folder: &TempDir, change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
    let mut wanted = CertificateParams::new(["localhost".to_owned()]).unwrap();
    change(&mut wanted);
    let key = KeyPair::generate().unwrap();
    let issued = wanted.self_signed(&key).unwrap();
    fs::write(files(folder).cert, issued.pem()).unwrap();
    fs::write(files(folder).key, key.serialize_pem()).unwrap();
    issued.der().clone()
}

fn failure(files: &Tls) -> String {
    Certificates::load(files).err().unwrap().to_string()
}

#[test]
fn errors_name_the_file_at_fault() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(&folder);
    assert!(failure(&files).contains("cert.pem"));
    issue(&folder);
    Certificates::load(&files).unwrap();
    fs::write(&files.key, "not PEM").unwrap();
    let error = failure(&files);
    assert!(error.contains("key.pem") && error.contains("private key"), "{error}");
    fs::write(&files.cert, "").unwrap();
    let error = failure(&files);
    assert!(error.contains("cert.pem") && error.contains("certificate"), "{error}");
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    issue(&one);
    issue(&other);
    let mixed = Tls { cert: files(&one).cert, key: files(&other).key };
    let error = failure(&mixed);
    assert!(error.contains("cert.pem") && error.contains("key.pem"), "{error}");
}

#[test]
fn dates_of_a_chain_are_judged() {
    const DAY: Duration = Duration::from_secs(86_400);
    // 2030-01-01 and 2031-01-01.
    let [start, end] = [1_893_456_000, 1_924_992_000].map(|unix| UNIX_EPOCH + Duration::from_secs(unix));
    for is_ca in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        issue_with(&folder, |wanted| {
            [wanted.not_before, wanted.not_after] = [2030, 2031].map(|year| date_time_ymd(year, 1, 1));
            if is_ca {
                wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            }
        });
        let certificates = Certificates::load(&files(&folder)).unwrap();
        for (now, named) in [
            (
                UNIX_EPOCH,
                Some("not valid before 2030-01-01T00:00:00Z, and the clock shows 1970-01-01T00:00:00Z"),
            ),
            (start - DAY, Some("not valid before 2030-01-01T00:00:00Z")),
            (start, None),
            (end - 14 * DAY, None),
            (end - 13 * DAY, Some("expires at 2031-01-01T00:00:00Z, within 14 days")),
            (end + DAY, Some("it expired at 2031-01-01T00:00:00Z")),
        ] {
            let fault = certificates.date_fault(now);
            assert_eq!(fault.is_some(), named.is_some(), "{fault:?}");
            assert!(named.is_none_or(|named| fault.as_ref().unwrap().contains(named)), "{fault:?}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    issue(&folder);
    let certificates = Certificates::load(&files(&folder)).unwrap();
    assert_eq!(certificates.date_fault(SystemTime::now()), None);
}

async fn connect(
    address: SocketAddr,
    root: &CertificateDer<'static>,
    protocol: &str,
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let socket = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, socket).await
}

async fn ask(address: SocketAddr, root: &CertificateDer<'static>) -> io::Result<String> {
    let mut stream = connect(address, root, "http/1.1").await?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn certificate_is_replaced_while_serving() {
    let folder = tempfile::tempdir().unwrap();
    let first = issue(&folder);
    let certificates = Certificates::load(&files(&folder)).unwrap();
    let local = "127.0.0.1:0".parse().unwrap();
    let bound = listen::bind("server.listen", local, Some(Arc::clone(&certificates))).unwrap();
    let address = bound.local_addr();
    let lifecycle = Lifecycle::new();
    let settings = accept::ConnectionSettings {
        header_timeout: Duration::from_secs(30),
        keep_alive: Duration::from_secs(30),
        drain: Duration::from_secs(30),
        connections: Arc::new(ConnectionLimit::new(10, 10, [].into())),
        observer: Arc::new(()),
        heartbeat: Heartbeat::default(),
    };
    let router = Router::new().route("/", get(async || "over TLS"));
    let served = tokio::spawn(accept::serve(bound, router, settings, lifecycle.stopping()));

    assert!(ask(address, &first).await.unwrap().ends_with("over TLS"));
    let stream = connect(address, &first, "h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    drop(stream);

    let second = issue(&folder);
    certificates.reload_if_changed();
    assert!(ask(address, &first).await.is_err(), "the old certificate is still served");
    assert!(ask(address, &second).await.unwrap().ends_with("over TLS"));

    fs::write(files(&folder).key, "not PEM").unwrap();
    certificates.reload_if_changed();
    certificates.reload().unwrap_err();
    assert!(ask(address, &second).await.unwrap().ends_with("over TLS"));

    lifecycle.stop();
    served.await.unwrap();
}
