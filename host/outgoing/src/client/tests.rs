//! Tests against servers on this machine.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bounds;
mod servers;
mod tls;

use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bulkhead_config::slots::SlotId;
use bulkhead_telemetry::MetricSet as _;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use prometheus::Registry;

use self::servers::{Answer, Server};
use super::*;
use crate::{
    config::tests::origins,
    lookup::NameLookup,
    metrics::{OutgoingMetrics, OutgoingOutcome},
};

/// Where the servers listen.
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Answers with the addresses of a name in turn, and with the last one from then on.
#[derive(Default)]
struct Names {
    addresses: Mutex<BTreeMap<String, Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Names {
    fn of(name: &str, addresses: &[&str]) -> Arc<Self> {
        let mut addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        addresses.reverse();
        let addresses = Mutex::new(BTreeMap::from([(name.to_owned(), addresses)]));
        Arc::new(Self { addresses, asked: AtomicUsize::new(0) })
    }
}

impl NameLookup for Names {
    fn lookup(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut known = self.addresses.lock().unwrap();
        let found = known.get_mut(host).and_then(|found| match found.len() {
            0 | 1 => found.last().copied(),
            _ => found.pop(),
        });
        let found = found.map(|address| SocketAddr::new(address, port));
        Box::pin(async move {
            found.map(|found| vec![found]).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        })
    }
}

fn metrics() -> SlotOutgoingMetrics {
    OutgoingMetrics::register(&Registry::new()).unwrap().slot(SlotId::new("shop"))
}

/// Makes a client of this list of origins.
fn client(list: &str, names: Arc<Names>, limits: OutgoingLimits) -> OutgoingClient {
    let network = OutgoingNetwork::new(names);
    OutgoingClient::new("apps.shop.outgoing", origins(list), limits, network, metrics())
}

/// Makes a client that may call this server.
fn client_of(server: &Server, limits: OutgoingLimits) -> OutgoingClient {
    client(&format!("['{}']", server.origin()), Arc::default(), limits)
}

fn get(uri: &str) -> Request<Full<Bytes>> {
    Request::get(uri).body(Full::default()).unwrap()
}

async fn send(
    client: &OutgoingClient,
    request: Request<Full<Bytes>>,
) -> Result<Response<ReceivedBody>, OutgoingError> {
    client.send(request, RequestTimeouts::default()).await
}

async fn text(response: Response<ReceivedBody>) -> Result<String, OutgoingError> {
    let body = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn request_goes_only_to_listed_origins() {
    let server = Server::start(Answer::Text("hello")).await;
    let client = client_of(&server, OutgoingLimits::default());
    let response = send(&client, get(&server.uri("/a?b=c"))).await.unwrap();
    assert_eq!(text(response).await.unwrap(), "hello");
    assert!(server.heads().first().unwrap().starts_with("GET /a?b=c HTTP/1.1\r\n"), "{:?}", server.heads());
    let refused = send(&client, get("http://127.0.0.1:9/")).await.unwrap_err();
    let expected = "http://127.0.0.1:9 may not be called; add \"http://127.0.0.1:9\" to apps.shop.outgoing";
    assert_eq!(refused.to_string(), expected);
    assert_eq!(client.0.metrics.ended(OutgoingOutcome::Denied), 1);
}

#[tokio::test]
async fn redirect_is_an_answer() {
    for target in ["http://169.254.169.254/latest", "http://127.0.0.1:9/"] {
        let server = Server::start(Answer::Redirect(target)).await;
        let client = client_of(&server, OutgoingLimits::default());
        let response = send(&client, get(&server.uri("/"))).await.unwrap();
        assert_eq!((response.status(), server.heads().len()), (StatusCode::FOUND, 1));
        let refused = send(&client, get(target)).await.unwrap_err();
        assert_eq!(refused.outcome(), OutgoingOutcome::Denied);
    }
}

#[tokio::test]
async fn name_to_special_address_is_refused() {
    for address in
        ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "fd00:ec2::254", "0.0.0.0"]
    {
        let list = "[{ origin = 'http://shop.example', private = true }]";
        let client = client(list, Names::of("shop.example", &[address]), OutgoingLimits::default());
        let refused = send(&client, get("http://shop.example/")).await.unwrap_err();
        assert_eq!(refused.outcome(), OutgoingOutcome::AddressRefused, "{refused}");
    }
    let names = Names::of("shop.example", &["10.0.0.1"]);
    let client = client("['http://shop.example']", names, OutgoingLimits::default());
    let refused = send(&client, get("http://shop.example/")).await.unwrap_err();
    assert!(
        refused.to_string().ends_with("give its entry in apps.shop.outgoing private = true"),
        "{refused}"
    );
}

#[tokio::test]
async fn name_whose_address_changes_is_refused() {
    let server = Server::start(Answer::Text("hello")).await;
    let port = server.address().port();
    let list = format!("[{{ origin = 'http://shop.example:{port}', private = true }}]");
    let names = Names::of("shop.example", &["127.0.0.1", "169.254.169.254"]);
    let client = client(&list, Arc::clone(&names), OutgoingLimits::default());
    let uri = format!("http://shop.example:{port}/");
    let response = send(&client, get(&uri)).await.unwrap();
    assert_eq!(text(response).await.unwrap(), "hello");
    assert_eq!(names.asked.load(Ordering::SeqCst), 1, "the connection goes to the address that was checked");
    let refused = send(&client, get(&uri)).await.unwrap_err();
    assert_eq!(refused.outcome(), OutgoingOutcome::AddressRefused, "{refused}");
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn injected_header_replaces_the_guests() {
    let server = Server::start(Answer::Text("hello")).await;
    let list =
        format!("[{{ origin = '{}', headers = {{ authorization = 'Bearer host' }} }}]", server.origin());
    let client = client(&list, Arc::default(), OutgoingLimits::default());
    let request = Request::get(server.uri("/"))
        .header("authorization", "Bearer guest")
        .header("authorization", "Bearer guest-2")
        .header("host", "elsewhere.example")
        .body(Full::default())
        .unwrap();
    let response = send(&client, request).await.unwrap();
    assert!(!response.headers().contains_key("connection"));
    let heads = server.heads();
    let head = heads.first().unwrap().to_ascii_lowercase();
    assert!(head.contains("authorization: bearer host\r\n") && !head.contains("guest"), "{head}");
    assert!(head.contains(&format!("host: {}\r\n", server.address())), "{head}");
}

#[tokio::test]
async fn request_with_connection_fields_is_refused() {
    let server = Server::start(Answer::Text("hello")).await;
    let client = client_of(&server, OutgoingLimits::default());
    let upgrade = Request::get(server.uri("/")).header("upgrade", "websocket").body(Full::default()).unwrap();
    let refused = send(&client, upgrade).await.unwrap_err();
    assert_eq!(refused.outcome(), OutgoingOutcome::InvalidRequest);
    assert!(server.heads().is_empty());
}

#[tokio::test]
async fn methods_that_show_headers_are_refused() {
    let server = Server::start(Answer::Text("hello")).await;
    let client = client_of(&server, OutgoingLimits::default());
    for method in ["TRACE", "trace", "Track", "connect"] {
        let request = Request::builder().method(method).uri(server.uri("/")).body(Full::default()).unwrap();
        let refused = send(&client, request).await.unwrap_err();
        assert!(matches!(refused, OutgoingError::HttpRequestMethodInvalid), "{method}");
    }
    assert!(server.heads().is_empty());
}

#[tokio::test]
async fn connection_is_kept_for_another_request() {
    let server = Server::start(Answer::Text("hello")).await;
    let client = client_of(&server, OutgoingLimits::default());
    for _ in 0..3 {
        let response = send(&client, get(&server.uri("/"))).await.unwrap();
        assert_eq!(text(response).await.unwrap(), "hello");
    }
    assert_eq!((server.heads().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn closed_connection_is_replaced() {
    let server = Server::start(Answer::Close("hello")).await;
    let client = client_of(&server, OutgoingLimits::default());
    for _ in 0..3 {
        let response = send(&client, get(&server.uri("/"))).await.unwrap();
        assert_eq!(text(response).await.unwrap(), "hello");
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn name_without_address_is_reported() {
    let client = client("['http://none.example']", Arc::default(), OutgoingLimits::default());
    let refused = send(&client, get("http://none.example/")).await.unwrap_err();
    assert_eq!(refused, OutgoingError::DnsError("none.example".to_owned()));
}

#[tokio::test]
async fn server_that_is_away_is_reported() {
    let gone = Server::start(Answer::Text("")).await;
    let (origin, uri) = (gone.origin(), gone.uri("/"));
    gone.stop().await;
    let client = client(&format!("['{origin}']"), Arc::default(), OutgoingLimits::default());
    let refused = send(&client, get(&uri)).await.unwrap_err();
    assert_eq!(refused, OutgoingError::ConnectionRefused(origin));
}
