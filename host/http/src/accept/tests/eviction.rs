//! Tests of connections that are evicted when the listener is full.

use super::*;

#[tokio::test]
async fn full_listener_evicts_idle_and_headless_connections() {
    let host = Host::keeping(FOR_EVER, FOR_EVER, PATIENT, 1);
    let mut kept = host.connect().await;
    kept.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    until(&mut kept, "hello").await;
    let mut silent = host.connect().await;
    assert_eq!(rest(&mut kept).await, "", "closed for the silent one");
    let mut half = host.connect().await;
    half.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-half: ").await.unwrap();
    assert_eq!(rest(&mut silent).await, "");
    let asked = timeout(PATIENT, host.send(head("GET", "/", ""))).await;
    assert!(asked.unwrap().ends_with("hello"));
    // Closed with half a head unread, which may be a reset.
    let _ = timeout(PATIENT, half.read_to_end(&mut Vec::new())).await.expect("the connection ends");
    assert_eq!(host.stop().await, [ConnectionFault::Evicted; 3]);
}

#[tokio::test]
async fn full_listener_evicts_stalled_connections() {
    let host = Host::keeping(FOR_EVER, FOR_EVER, PATIENT, 1);
    let mut bodiless = host.connect().await;
    bodiless.write_all(head("POST", "/whole", "content-length: 9\r\n").as_bytes()).await.unwrap();
    let mut deaf = host.connect().await;
    assert_eq!(rest(&mut bodiless).await, "", "closed for the deaf one");
    let asks = "GET / HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1000);
    // Ends only when the host hangs up, since the client reads no answers.
    let deafness = tokio::spawn(async move { while deaf.write_all(asks.as_bytes()).await.is_ok() {} });
    let asked = tokio::time::timeout(PATIENT, host.send(head("GET", "/", ""))).await;
    assert!(asked.unwrap().ends_with("hello"));
    deafness.await.unwrap();
    assert_eq!(host.stop().await, [ConnectionFault::Evicted; 2]);
}

#[tokio::test]
async fn hanging_handshake_is_evicted() {
    let folder = tempfile::tempdir().unwrap();
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = Tls { cert: folder.path().join("cert.pem"), key: folder.path().join("key.pem") };
    std::fs::write(&files.cert, issued.cert.pem()).unwrap();
    std::fs::write(&files.key, issued.signing_key.serialize_pem()).unwrap();
    let certificates = Certificates::load(&files).unwrap();
    let host = Host::serving(Some(certificates), [FOR_EVER, FOR_EVER, PATIENT], 1);
    let mut silent = host.connect().await;
    let next = host.connect().await;
    assert_eq!(timeout(PATIENT, rest(&mut silent)).await.unwrap(), "");
    drop(next);
    assert_eq!(host.stop().await, [ConnectionFault::Evicted, ConnectionFault::Handshake]);
}

#[tokio::test]
async fn evicted_http2_connection_gets_goaway() {
    let host = Host::keeping(FOR_EVER, FOR_EVER, PATIENT, 1);
    let io = TokioIo::new(host.connect().await);
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get("http://x/").body(String::new()).unwrap();
    let response = client.send_request(request).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "hello");
    assert!(host.send(head("GET", "/", "")).await.ends_with("hello"));
    // GOAWAY without an error, so that a client asks again elsewhere.
    timeout(PATIENT, connection).await.expect("the connection ends").unwrap().unwrap();
    assert_eq!(host.stop().await, [ConnectionFault::Evicted]);
}
