//! What the programs check with which wasmtime tests its `wasi:http` 0.2, done by a program of our own.

use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpSocket},
};

use super::{
    programs::{program, server},
    *,
};

/// A host whose app may send requests to these authorities, over HTTP without TLS.
async fn serving(authorities: &[&str]) -> TestHost {
    let origins: Vec<String> = authorities.iter().map(|authority| format!("'http://{authority}'")).collect();
    let origins = origins.join(", ");
    let config = format!("{ALONE}[apps.hello]\npath_prefix = '/hello'\noutgoing = [{origins}]\n");
    TestHost::builder().config(&config).app("hello", program("app_behaviour")).start().await
}

/// Has the app send a request, which these fields describe, and returns what has come of it.
async fn sent(host: &TestHost, fields: &[(&str, &str)], body: Vec<u8>) -> String {
    let mut request = host.client().post(host.url("/hello/send")).body(body);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let (status, text) = answer(request).await;
    assert_eq!(status, 200, "{fields:?}: {text}");
    text
}

/// A server that answers one request with these bytes, and keeps the connection; its authority.
async fn server_of_bytes(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_until(&mut socket, "\r\n\r\n").await;
        socket.write_all(bytes).await.unwrap();
        // Closed now, it might be reset before the answer has been read.
        std::future::pending::<()>().await;
    });
    authority
}

/// A listener that has as many connections as the system keeps for it, so that the next one waits.
async fn full_listener() -> (TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let (listener, mut open) = (socket.listen(1).unwrap(), Vec::new());
    let address = listener.local_addr().unwrap();
    while let Ok(connected) = tokio::time::timeout(Duration::from_secs(2), TcpStream::connect(address)).await
    {
        open.push(connected.unwrap());
        assert!(open.len() < 1000, "the listener takes every connection");
    }
    (listener, open)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_arrive_as_they_are_made() {
    let authority = server().await;
    let (host, long) = (serving(&[&authority]).await, format!("/{}", "a".repeat(6000)));
    let large = String::from_utf8(vec![b'x'; 300_000]).unwrap();
    for (fields, body, expected) in [
        (&[("x-path", "/get?some=arg&goes=here")][..], "", "GET /get?some=arg&goes=here "),
        (&[("x-method", "POST"), ("x-path", "/post")], "{\"foo\": \"bar\"}", "POST /post {\"foo\": \"bar\"}"),
        (&[("x-method", "PUT"), ("x-path", "/put")], "", "PUT /put "),
        (&[("x-method", "FETCH"), ("x-path", "/own")], "", "FETCH /own "),
        (&[("x-path", &*long)], "", &*format!("GET {long} ")),
        (&[("x-method", "POST"), ("x-path", "/large")], &*large, &*format!("POST /large {large}")),
        (&[("x-method", "POST"), ("x-path", "/"), ("x-length", "3")], "abc", "POST / abc"),
    ] {
        let fields = [fields, &[("x-authority", &*authority)]].concat();
        let answered = sent(&host, &fields, body.into()).await;
        assert!(answered == format!("200 {expected}"), "{fields:?}: {}", answered.escape_debug());
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_get_their_codes() {
    let authority = server().await;
    let host = serving(&[&authority, "nowhere.invalid"]).await;
    let (here, root) = (("x-authority", &*authority), ("x-path", "/"));
    for (fields, expected) in [
        (&[here][..], "handle: ErrorCode::HttpProtocolError"),
        (&[here, root, ("x-scheme", "ws")], "handle: ErrorCode::HttpProtocolError"),
        (&[here, root, ("x-method", "BAD METHOD")], "method"),
        (&[here, root, ("x-method", "TRACE")], "response: ErrorCode::HttpRequestMethodInvalid"),
        (&[here, root, ("x-length", "5")], "finish: ErrorCode::HttpRequestBodySize(Some(3))"),
        (&[here, root, ("x-length", "2")], "finish: ErrorCode::HttpRequestBodySize(Some(3))"),
        (&[here, root, ("x-length", "five")], "fields: HeaderError::InvalidSyntax"),
        (&[here, root, ("x-length", "3"), ("x-length", "100")], "fields: HeaderError::InvalidSyntax"),
        (&[("x-authority", "localhost:99999"), root], "response: ErrorCode::HttpRequestUriInvalid"),
        (&[("x-authority", "elsewhere.invalid"), root], "response: ErrorCode::HttpRequestDenied"),
        (&[("x-authority", "nowhere.invalid"), root], "response: ErrorCode::Dns"),
    ] {
        let has_length = fields.iter().any(|(name, _)| *name == "x-length");
        let body = if has_length { "abc" } else { "" };
        let answered = sent(&host, fields, body.into()).await;
        assert!(answered.starts_with(expected), "{fields:?}: {answered}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_servers_get_their_codes() {
    // The first frame of a server that speaks HTTP/2 only.
    let other = server_of_bytes(b"\0\0\0\x04\0\0\0\0\0").await;
    // Connections wait here, and nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_authority = silent.local_addr().unwrap().to_string();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let (full, _open) = full_listener().await;
    let full_authority = full.local_addr().unwrap().to_string();
    let host = serving(&[&other, &silent_authority, &gone, &full_authority]).await;
    for (authority, limit, expected) in [
        (&other, "x-first-byte-ms", "response: ErrorCode::HttpProtocolError"),
        (&silent_authority, "x-first-byte-ms", "response: ErrorCode::ConnectionReadTimeout"),
        (&gone, "x-first-byte-ms", "response: ErrorCode::ConnectionRefused"),
        (&full_authority, "x-connect-ms", "response: ErrorCode::ConnectionTimeout"),
    ] {
        let fields = [("x-authority", &**authority), ("x-path", "/"), (limit, "2000")];
        assert_eq!(sent(&host, &fields, Vec::new()).await, expected);
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contradicting_lengths_are_not_sent_on() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 100\r\n\
                  transfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let (authority, served) = outgoing::server_answering(answer.to_owned()).await;
    let host = serving(&[&authority]).await;
    let request = host.client().get(host.url("/hello/forwarded")).header("x-authority", &authority);
    let (status, text) = super::answer(request).await;
    assert!(status == 200 && text.starts_with("handle: ErrorCode::InternalError"), "{status}: {text}");
    assert!(served.await.unwrap().starts_with("GET / HTTP/1.1"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_messages_are_checked() {
    let host = serving(&[]).await;
    for path in ["/hello/fields", "/hello/built"] {
        assert_eq!(get(&host, path).await, (200, "sound".to_owned()), "{path}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_is_seen_without_connection_fields() {
    let host = serving(&[]).await;
    let head = "GET /hello/seen?a=b HTTP/1.1\nhost: shop.example\nkeep-alive: x\nte: trailers\n\
                connection: x-hop, close\nx-hop: 1\nx-own: 1\n\n";
    let (mut socket, mut seen) = (connected(&host, head).await, String::new());
    tokio::time::timeout(Duration::from_secs(10), socket.read_to_string(&mut seen)).await.unwrap().unwrap();
    let (_, body) = seen.split_once("\r\n\r\n").unwrap();
    let request = r#"Method::Get Some(Scheme::Http) Some("shop.example") Some("/hello/seen?a=b") "#;
    let (_, names) = body.split_once(request).unwrap_or_else(|| panic!("{body}"));
    let names: Vec<&str> = names.split_whitespace().collect();
    assert!(names.contains(&"x-own"), "{names:?}");
    for name in ["host", "keep-alive", "te", "connection", "x-hop"] {
        assert!(!names.contains(&name), "{names:?}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn write_beyond_the_room_traps() {
    let host = serving(&[]).await;
    let mut socket = connected(&host, "GET /hello/overrun HTTP/1.1\nhost: x\n\n").await;
    assert_reset(&mut socket).await;
    assert_calls(&host, "trap", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_requests_go_at_once() {
    let authority = server().await;
    let host = serving(&[&authority]).await;
    let request = host.client().get(host.url("/hello/several")).header("x-authority", &authority);
    let answered = answer(request.header("x-paths", "/a /b /c")).await;
    assert_eq!(answered, (200, "200 GET /a , 200 GET /b , 200 GET /c ".to_owned()));
    host.stop().await;
}
