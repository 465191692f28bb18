//! Which app gets a request, and what it sees of it.

use bulkhead_tests::child::Launch;
use tempfile::TempDir;

use super::*;

/// Shows the path that the guest sees.
fn path() -> HttpGuest {
    HttpGuest::showing("(call $path (local.get $request) (i32.const 32))")
}

fn authority() -> HttpGuest {
    HttpGuest::showing("(call $authority (local.get $request) (i32.const 32))")
}

#[tokio::test(flavor = "multi_thread")]
async fn longest_prefix_and_host_win() {
    let config = format!(
        "{ALONE}[apps.root]\npath_prefix = '/'\n[apps.shop]\npath_prefix = '/shop'\n\
         [apps.till]\npath_prefix = '/shop/till'\n[apps.town]\nhost = 'Town.example'\n"
    );
    let named = |name: &str| HttpGuest::answering(200, name).component();
    let host = TestHost::builder().config(&config);
    let host = host.app("root", named("root")).app("shop", named("shop"));
    let host = host.app("till", named("till")).app("town", named("town")).start().await;
    for (name, path, app) in [
        ("localhost", "/", "root"),
        ("localhost", "/shops", "root"),
        ("localhost", "/shop/tills", "shop"),
        ("localhost", "/shop/till/1", "till"),
        ("TOWN.example:80", "/shop", "town"),
    ] {
        let request = host.client().get(host.url(path)).header("host", name);
        assert_eq!(answer(request).await, (200, app.to_owned()), "{name}{path}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_of_services_win_under_shorter_prefix() {
    let services = "[services]\nembedding.enabled = false\ntickets.enabled = false\nstatus.enabled = false\n";
    let config = format!("{services}[apps.root]\npath_prefix = '/'\n");
    let guest = HttpGuest::answering(200, "app").component();
    let host = TestHost::builder().config(&config).app("root", guest).start().await;
    assert_eq!(get(&host, "/anything").await, (200, "app".to_owned()));
    let (status, text) = get(&host, "/actuator/health").await;
    assert!(status == 200 && text.contains("\"status\""), "{status} {text}");
    let (status, text) = get(&host, "/api/v1/captcha/challenge").await;
    assert_eq!(status, 405, "the route is the service's, whatever the method: {text}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn access_log_has_the_mount() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("hello.wasm");
    std::fs::write(&file, HttpGuest::answering(200, "hello").component()).unwrap();
    for (mount, route) in [("", "/hello"), ("host = 'localhost'\n", "localhost/hello")] {
        let app = format!("[apps.hello]\ncomponent = {file:?}\npath_prefix = '/hello'\n{mount}");
        let host = Launch::serve_with(folder.path(), &format!("{ALONE}{app}")).ready().await;
        let request = host.client().get(host.url("/hello/secret?secret")).header("host", "localhost");
        assert_eq!(answer(request).await, (200, "hello".to_owned()));
        let line = host.line("answered").await;
        assert_eq!((&line["route"], &line["status"]), (&route.into(), &200.into()));
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn target_without_path_is_refused() {
    let config = format!("{ALONE}[apps.root]\npath_prefix = '/'\n");
    let host = TestHost::builder().config(&config).app("root", path().component()).start().await;
    for method in ["GET", "OPTIONS"] {
        let mut socket = connected(&host, &format!("{method} * HTTP/1.1\nhost: x\n\n")).await;
        let answer = read_until(&mut socket, "bad-target").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prefix_is_stripped_where_asked() {
    let host = hosting(&path(), "").start().await;
    assert_eq!(get(&host, "/hello/a%2fb?c=d").await.1, "/hello/a%2fb?c=d");
    host.stop().await;
    let host = hosting(&path(), "strip_prefix = true").start().await;
    for (path, seen) in [("/hello", "/"), ("/hello?a", "/?a"), ("/hello/a%2fb//c?d=e", "/a%2fb//c?d=e")] {
        assert_eq!(get(&host, path).await.1, seen);
    }
    host.stop().await;
    let host = hosting(&HttpGuest::showing_header("x-forwarded-prefix"), "strip_prefix = true").start().await;
    let request = host.client().get(host.url("/hello/a")).header("x-forwarded-prefix", "/spoofed");
    assert_eq!(answer(request).await.1, "/hello");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn authority_is_the_clients() {
    let host = hosting(&authority(), "").start().await;
    let request = host.client().get(host.url("/hello")).header("host", "www.example.org:81");
    let request = request.header("x-forwarded-host", "spoofed.example");
    assert_eq!(answer(request).await.1, "www.example.org:81");
    host.stop().await;
    let keys = "[server]\ntrusted_proxies = ['127.0.0.1']";
    let host = hosting(&authority(), keys).start().await;
    let request = host.client().get(host.url("/hello")).header("x-forwarded-for", "192.0.2.7");
    let request = request.header("x-forwarded-host", "town.example");
    assert_eq!(answer(request).await.1, "town.example");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_fields_are_the_hosts() {
    let host = hosting(&HttpGuest::showing_header("x-forwarded-for"), "").start().await;
    let request = host.client().get(host.url("/hello")).header("x-forwarded-for", "203.0.113.9");
    assert_eq!(answer(request).await.1, "127.0.0.1");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_has_listener_of_its_own() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let config = format!("{ALONE}[apps.hello]\nlisten = '{address}'\n");
    let guest = HttpGuest::answering(200, "hello").component();
    let host = TestHost::builder().config(&config).app("hello", guest).start().await;
    let there = host.client().get(format!("http://{address}/any"));
    assert_eq!(answer(there).await, (200, "hello".to_owned()));
    assert_eq!(get(&host, "/any").await.0, 404, "it is not at the shared listener");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_below_paths_of_service_is_refused() {
    let services = "[services]\nembedding.enabled = false\ntickets.enabled = false\nstatus.enabled = false\n";
    let config = format!("{services}captcha.path_prefix = '/town'\n[apps.hello]\npath_prefix = '/town/a'\n");
    let refused = TestHost::builder().config(&config).try_start().await.err().unwrap();
    assert!(refused.contains("apps.hello.path_prefix: is inside services.captcha.path_prefix"), "{refused}");
}
