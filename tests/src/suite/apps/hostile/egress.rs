//! Hostile uses of outgoing requests and of key-value stores.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bulkhead_tests::{child::Launch, guests::OUTGOING};
use futures_util::FutureExt as _;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::*;
use crate::apps::{
    keyvalue,
    outgoing::{self, AS_ANSWERED, IS_DENIED, asking},
};

/// Outgoing requests of the app that have ended so.
async fn assert_requests(host: &TestHost, outcome: &str, expected: f64) {
    let series = format!("bulkhead_outgoing_requests_total{{outcome=\"{outcome}\",slot=\"hello\"}}");
    eventually(&format!("{expected} requests with {outcome}"), async || {
        host.metric(&series).await == expected
    })
    .await;
}

/// A server that accepts connections and says nothing; its authority, and how many it has accepted.
async fn silent_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (authority, accepted) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&accepted);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            open.push(socket);
        }
    });
    (authority, accepted)
}

/// An app that sends so many requests, waits for no response, and answers 200.
pub(super) fn flooding(authority: &str, requests: usize) -> HttpGuest {
    let length = authority.len();
    let guest = HttpGuest::handling(&format!(
        "(local.set $length (i32.const {requests}))
         (loop $again
            (local.set $at (call $new-request (call $new-fields)))
            (drop (call $by (local.get $at) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
            (drop (call $to (local.get $at) (i32.const 1) (i32.const 1024) (i32.const {length})))
            (drop (call $for (local.get $at) (i32.const 1) (i32.const 1100) (i32.const 1)))
            (call $send (local.get $at) (i32.const 0) (i32.const 0) (i32.const 128))
            (local.set $length (i32.sub (local.get $length) (i32.const 1)))
            (br_if $again (local.get $length)))
         (call $block (call $in (i64.const 2000000000)))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))"
    ));
    let guest = guest.with_imports(OUTGOING).with_imports(outgoing::IMPORTS);
    guest.with_data(1024, authority).with_data(1100, "/")
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_outgoing_calls() {
    let (authority, accepted) = silent_server().await;
    let keys = format!(
        "outgoing = ['http://{authority}']\noutgoing_limits = {{ calls = 4 }}\ncpu_ms = 10000\n\
         [sandbox]\nhandles = 10000"
    );
    let host = hosting(&flooding(&authority, 3000), &keys).start().await;
    let in_flight = "bulkhead_outgoing_in_flight{slot=\"hello\"}";
    let accepted = async || {
        eventually("all requests wait", async || host.metric(in_flight).await == 3000.0).await;
        eventually("four have a connection", async || accepted.load(Ordering::Relaxed) >= 4).await;
        // When the app ends, the place of one that is withdrawn may go to the next before that is withdrawn, too.
        accepted.load(Ordering::Relaxed)
    };
    let ((status, _), accepted) = tokio::join!(get(&host, "/hello"), accepted());
    assert_eq!((status, accepted), (200, 4));
    host.assert_at_rest().await;
    eventually("no request goes on", async || host.metric(in_flight).await == 0.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_outgoing_calls_than_handles() {
    let (authority, _) = silent_server().await;
    let keys = format!("outgoing = ['http://{authority}']\ncpu_ms = 10000");
    let host = hosting(&flooding(&authority, 3000), &keys).start().await;
    assert_eq!(get(&host, "/hello").await.0, 500);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_that_does_not_answer() {
    let (authority, _) = silent_server().await;
    let origin = format!("outgoing = ['http://{authority}']");
    let guest = asking(&authority, AS_ANSWERED);
    let host =
        hosting(&guest, &format!("{origin}\noutgoing_limits = {{ first_byte_ms = 200 }}")).start().await;
    assert_eq!(get(&host, "/hello").await.0, 400, "the app gets the error");
    assert_requests(&host, "timeout", 1.0).await;
    host.stop().await;
    let host = hosting(&guest, &format!("{origin}\ndeadline_ms = 300")).start().await;
    let (status, text) = get(&host, "/hello").await;
    assert_eq!((status, code(&text).as_str()), (504, "deadline"));
    assert_requests(&host, "cancelled", 1.0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_to_special_address_is_not_followed() {
    let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
    for location in ["169.254.169.254".to_owned(), target.local_addr().unwrap().to_string()] {
        let redirect =
            format!("HTTP/1.1 302 Found\r\nlocation: http://{location}/\r\ncontent-length: 0\r\n\r\n");
        let (authority, served) = outgoing::server_answering(redirect).await;
        let origin = format!("outgoing = ['http://{authority}']");
        let host = hosting(&asking(&authority, AS_ANSWERED), &origin).start().await;
        assert_eq!(get(&host, "/hello").await.0, 302, "the app gets the answer");
        served.await.unwrap();
        host.stop().await;
        // An app that follows it asks for an origin that is not listed.
        let host = hosting(&asking(&location, IS_DENIED), &origin).start().await;
        assert_eq!(get(&host, "/hello").await.0, 200);
        assert_requests(&host, "denied", 1.0).await;
        host.stop().await;
    }
    assert!(target.accept().now_or_never().is_none(), "nothing connects to where the server points");
}

#[tokio::test(flavor = "multi_thread")]
async fn name_whose_address_changes_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (authority, served) =
        outgoing::server_answering("HTTP/1.1 207 Multi-Status\r\ncontent-length: 0\r\n\r\n".to_owned()).await;
    let name = authority.replace("127.0.0.1", "shop.example");
    std::fs::write(path("hello.wasm"), asking(&name, AS_ANSWERED).component()).unwrap();
    std::fs::write(path("hosts"), "127.0.0.1 shop.example\n").unwrap();
    let config = format!(
        "{ALONE}[apps.hello]\npath_prefix = '/hello'\ncomponent = '{}'\n\
         outgoing = [{{ origin = 'http://{name}', private = true }}]\n",
        path("hello.wasm").display()
    );
    let host = Launch::serve_with_hosts(folder.path(), &config, &path("hosts")).ready().await;
    assert_eq!(host.status(&host.url("/hello")).await, 207);
    served.await.unwrap();
    // In place, because the host sees the file itself.
    std::fs::write(path("hosts"), "169.254.169.254 shop.example\n").unwrap();
    assert_eq!(host.status(&host.url("/hello")).await, 400, "the app gets the error");
    let refused = "bulkhead_outgoing_requests_total{outcome=\"address-refused\",slot=\"hello\"}";
    eventually("the request is counted", async || host.metric(refused).await == 1.0).await;
    host.stop().await;
}

/// An app that sets values under other keys until it may not, and answers 200 and as many as it could set.
pub(super) fn hoarding() -> HttpGuest {
    let guest = HttpGuest::handling(
        "(call $open-store (i32.const 1024) (i32.const 5) (i32.const 128))
         (if (i32.load8_u (i32.const 128)) (then unreachable))
         (local.set $at (i32.load (i32.const 132)))
         (block $end (loop $again
            (i32.store8 (i32.const 1040) (i32.add (i32.const 65) (local.get $length)))
            (call $keep (local.get $at) (i32.const 1040) (i32.const 1) (i32.const 1050) (i32.const 4)
                (i32.const 144))
            (br_if $end (i32.load8_u (i32.const 144)))
            (local.set $length (i32.add (local.get $length) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $length) (i32.const 60)))))
         (local.set $body (call $respond (local.get $out)
            (i32.add (i32.const 200) (local.get $length)) (call $new-fields)))
         (call $finish (call $open (local.get $body)) (local.get $body))",
    );
    guest.with_imports(keyvalue::IMPORTS).with_data(1024, "links").with_data(1050, "kept")
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_keys() {
    let host = hosting(&hoarding(), &format!("keyvalue = ['links']\n{}", keyvalue::STORES)).start().await;
    for _ in 0..3 {
        assert_eq!(get(&host, "/hello").await.0, 210, "the store takes ten keys");
    }
    let refused = "bulkhead_keyvalue_operations_total{operation=\"set\",outcome=\"refused\",slot=\"hello\"}";
    eventually("refusals are counted", async || host.metric(refused).await == 3.0).await;
    host.stop().await;
}
