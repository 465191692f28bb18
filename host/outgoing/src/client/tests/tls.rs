//! Tests of TLS: which certificates it trusts.

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::*;

/// Years in which a certificate is valid now.
const VALID: [i32; 2] = [1975, 4096];

/// Starts a server for `localhost` with a certificate of these years; returns its port and the certificate.
async fn start(years: [i32; 2]) -> (u16, CertificateDer<'static>) {
    let mut wanted = CertificateParams::new(["localhost".to_owned()]).unwrap();
    [wanted.not_before, wanted.not_after] = years.map(|year| date_time_ymd(year, 1, 1));
    let key = KeyPair::generate().unwrap();
    let certificate = wanted.self_signed(&key).unwrap().der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the server leaves.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
        }
    });
    (port, certificate)
}

fn trusting(certificate: CertificateDer<'static>, list: &str) -> OutgoingClient {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let network = OutgoingNetwork::trusting(Names::of("localhost", &["127.0.0.1"]), config);
    OutgoingClient::new("apps.shop.outgoing", origins(list), OutgoingLimits::default(), network, metrics())
}

#[tokio::test]
async fn certificate_must_be_trusted_for_the_name() {
    let (port, certificate) = start(VALID).await;
    let (_, other) = start(VALID).await;
    let list =
        format!("[{{ origin = 'https://localhost:{port}', private = true }}, 'https://127.0.0.1:{port}']");
    let uri = format!("https://localhost:{port}/");
    let client = trusting(certificate, &list);
    let response = send(&client, get(&uri)).await.unwrap();
    assert_eq!(text(response).await.unwrap(), "hello");
    let untrusted = |error: OutgoingError| matches!(error, OutgoingError::TlsCertificateError(_));
    // The certificate has the name and not the address.
    assert!(untrusted(send(&client, get(&format!("https://127.0.0.1:{port}/"))).await.unwrap_err()));
    assert!(untrusted(send(&trusting(other, &list), get(&uri)).await.unwrap_err()));
}

#[tokio::test]
async fn dates_of_certificate_are_named() {
    for years in [[1975, 2000], [4000, 4096]] {
        let (port, certificate) = start(years).await;
        let client =
            trusting(certificate, &format!("[{{ origin = 'https://localhost:{port}', private = true }}]"));
        let error = send(&client, get(&format!("https://localhost:{port}/"))).await.unwrap_err();
        assert!(matches!(error, OutgoingError::TlsCertificateDates(_)), "{error}");
        assert!(error.to_string().contains("by the clock of this host"), "{error}");
    }
}
