//! Tests of routes that change while they are served.

#![allow(clippy::unwrap_used)]

use axum::routing::get;
use bulkhead_config::{ConfigFile, HostSpec, ServiceSpec, Sources, load};
use bulkhead_http::{accept, layers::Layers, lifecycle::Lifecycle, listen};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;

const SERVICE: &str = "things";
const CONFIG: &str = "data_dir = \"/data\"\n[services.things]\npath_prefix = \"/things\"\n";

/// Routes that are served on an ephemeral port.
struct Served {
    routes: Routes,
    lifecycle: Lifecycle,
    shared: SocketAddr,
}

impl Served {
    fn start() -> Self {
        Self::open(false)
    }

    fn open(is_starting: bool) -> Self {
        let services = vec![ServiceSpec { name: SERVICE, slots: &[] }];
        let spec = HostSpec { services, ..HostSpec::default() };
        let file = Some(ConfigFile { name: "test.toml".into(), text: CONFIG.into() });
        let config = load(Sources { file, ..Sources::default() }, &spec).unwrap().config;
        let (routes, lifecycle) = (Routes::new(config.services), Lifecycle::new());
        let settings = ListenerSettings {
            shared_layer: None,
            layers: Layers::new(&config.server, Arc::new(())),
            connections: accept::ConnectionSettings::new(&config.server, Arc::new(())),
            certificates: None,
            stopping: lifecycle.stopping(),
            is_starting,
        };
        let reserved = listen::reserve(SHARED_SETTING, "127.0.0.1:0".parse().unwrap()).unwrap();
        let shared = routes.open(reserved, settings).unwrap();
        Self { routes, lifecycle, shared }
    }

    async fn stop(self) {
        self.lifecycle.stop();
        self.routes.stop().await;
        assert_eq!(status(self.shared, "/").await, None);
        let after = self.routes.set(SERVICE, "", at_service("/a")).await;
        assert!(matches!(after, Err(RoutesError::Stopping)), "{after:?}");
    }
}

fn answering(path: &str) -> Router {
    Router::new().route(path, get(async || ""))
}

fn at_service(path: &str) -> Vec<(ServedAt, Router)> {
    vec![(ServedAt::Service, answering(path))]
}

fn at(address: SocketAddr, path: &str) -> Vec<(ServedAt, Router)> {
    vec![(ServedAt::Address { address, setting: "things.more.listen".into() }, answering(path))]
}

/// Returns the status of a GET, or `None` if nothing listens.
async fn status(address: SocketAddr, path: &str) -> Option<u16> {
    let mut socket = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().ok()
}

#[tokio::test]
async fn entries_are_set_and_removed_alone() {
    let served = Served::start();
    let (routes, shared) = (&served.routes, served.shared);
    routes.set(SERVICE, "", at_service("/a")).await.unwrap();
    routes.set(SERVICE, "more", at_service("/b")).await.unwrap();
    let both = (status(shared, "/things/a").await, status(shared, "/things/b").await);
    assert_eq!(both, (Some(200), Some(200)));
    routes.set(SERVICE, "more", at_service("/c")).await.unwrap();
    assert_eq!(status(shared, "/things/b").await, Some(404));
    assert_eq!(status(shared, "/things/c").await, Some(200));
    routes.remove(SERVICE, "more").await.unwrap();
    routes.remove(SERVICE, "unknown").await.unwrap();
    let both = (status(shared, "/things/a").await, status(shared, "/things/c").await);
    assert_eq!(both, (Some(200), Some(404)));
    served.stop().await;
}

#[tokio::test]
async fn conflicting_route_changes_nothing() {
    let served = Served::start();
    served.routes.set(SERVICE, "", at_service("/a")).await.unwrap();
    let mut both = at_service("/b");
    both.extend(at_service("/a"));
    let conflict = served.routes.set(SERVICE, "more", both).await.unwrap_err().to_string();
    assert!(conflict.starts_with("the routes of things do not fit"), "{conflict}");
    assert!(conflict.contains("/a"), "{conflict}");
    assert_eq!(status(served.shared, "/things/a").await, Some(200));
    assert_eq!(status(served.shared, "/things/b").await, Some(404));
    served.stop().await;
}

#[tokio::test]
async fn rest_gets_what_no_route_takes() {
    let served = Served::start();
    let (routes, shared) = (&served.routes, served.shared);
    let rest = || {
        let router = Router::new().fallback(async || axum::http::StatusCode::IM_A_TEAPOT);
        vec![(ServedAt::Rest { listener: None }, router)]
    };
    routes.set(SERVICE, "rest", rest()).await.unwrap();
    assert_eq!(status(shared, "/things/a").await, Some(418));
    routes.set(SERVICE, "", at_service("/a")).await.unwrap();
    let both = (status(shared, "/things/a").await, status(shared, "/things/b").await);
    assert_eq!(both, (Some(200), Some(418)));
    let conflict = routes.set(SERVICE, "more", rest()).await.unwrap_err().to_string();
    assert!(conflict.contains("another router takes the rest"), "{conflict}");
    routes.remove(SERVICE, "rest").await.unwrap();
    assert_eq!(status(shared, "/things/b").await, Some(404));
    served.stop().await;
}

#[tokio::test]
async fn unknown_paths_are_503_during_the_start() {
    let served = Served::open(true);
    let (routes, shared) = (&served.routes, served.shared);
    assert_eq!(status(shared, "/things/a").await, Some(503));
    routes.set(SERVICE, "", at_service("/a")).await.unwrap();
    let both = (status(shared, "/things/a").await, status(shared, "/things/b").await);
    assert_eq!(both, (Some(200), Some(503)));
    routes.end_start().await.unwrap();
    let both = (status(shared, "/things/a").await, status(shared, "/things/b").await);
    assert_eq!(both, (Some(200), Some(404)));
    served.stop().await;
}

#[tokio::test]
async fn listener_is_open_while_it_has_routes() {
    let served = Served::start();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    let taken = served.routes.set(SERVICE, "more", at(address, "/a")).await.unwrap_err().to_string();
    assert!(taken.contains("`things.more.listen`"), "{taken}");
    drop(free);
    for _ in 0..3 {
        served.routes.set(SERVICE, "more", at(address, "/a")).await.unwrap();
        served.routes.set(SERVICE, "other", at(address, "/b")).await.unwrap();
        assert_eq!(status(served.shared, "/a").await, Some(404));
        served.routes.remove(SERVICE, "more").await.unwrap();
        assert_eq!((status(address, "/a").await, status(address, "/b").await), (Some(404), Some(200)));
        served.routes.remove(SERVICE, "other").await.unwrap();
        assert_eq!(status(address, "/b").await, None);
    }
    served.stop().await;
}

#[tokio::test]
async fn removed_routes_drop_their_state() {
    let served = Served::start();
    let state = Arc::new(());
    let router = answering("/a").layer(axum::Extension(Arc::clone(&state)));
    served.routes.set(SERVICE, "", vec![(ServedAt::Service, router)]).await.unwrap();
    assert_eq!(status(served.shared, "/things/a").await, Some(200));
    assert!(Arc::strong_count(&state) > 1);
    served.routes.remove(SERVICE, "").await.unwrap();
    assert_eq!(Arc::strong_count(&state), 1);
    served.stop().await;
}

/// Returns the address for all of a port that is free, and two that overlap it.
async fn overlapping_addresses() -> [SocketAddr; 3] {
    let port = TcpListener::bind("0.0.0.0:0").await.unwrap().local_addr().unwrap().port();
    ["0.0.0.0", "127.0.0.1", "127.0.0.2"].map(|ip| SocketAddr::new(ip.parse().unwrap(), port))
}

#[tokio::test]
async fn listener_moves_between_overlapping_addresses() {
    let served = Served::start();
    let [every, first, second] = overlapping_addresses().await;
    for (address, second_answers) in [(every, Some(200)), (first, None), (every, Some(200))] {
        served.routes.set(SERVICE, "more", at(address, "/a")).await.unwrap();
        let both = (status(first, "/a").await, status(second, "/a").await);
        assert_eq!(both, (Some(200), second_answers), "{address}");
    }
    served.stop().await;
}

#[tokio::test]
async fn failed_move_opens_the_listener_again() {
    let served = Served::start();
    let [every, first, second] = overlapping_addresses().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    served.routes.set(SERVICE, "more", at(every, "/a")).await.unwrap();
    let mut moved = at(first, "/b");
    moved.extend(at(taken.local_addr().unwrap(), "/b"));
    let refused = served.routes.set(SERVICE, "more", moved).await;
    assert!(matches!(refused, Err(RoutesError::Listen(_))), "{refused:?}");
    let both = (status(second, "/a").await, status(first, "/b").await);
    assert_eq!(both, (Some(200), Some(404)));
    served.stop().await;
}
