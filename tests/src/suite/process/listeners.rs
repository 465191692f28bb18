//! Where services are served: listeners of their own, prefixes, and nowhere.

use std::collections::BTreeSet;

use bulkhead::services::list;
use bulkhead_tests::child::{Bulkhead, Launch};
use serde_json::Value;
use tempfile::TempDir;

use super::{SITE, envelope};

async fn challenge(host: &Bulkhead, url: String) -> (u16, Value) {
    let answer = host.client().post(url).json(&envelope()).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn service_has_its_listener_and_prefix() {
    let folder = TempDir::new().unwrap();
    let own = "[services.captcha]\nlisten = \"127.0.0.2:0\"\npath_prefix = \"/own/place\"\n";
    let host = Launch::serve_with(folder.path(), &format!("{SITE}{own}")).ready().await;
    let listener = host.listener("services.captcha.listen");
    assert!(listener.starts_with("http://127.0.0.2:"), "{listener}");
    let (status, body) = challenge(&host, format!("{listener}/own/place/api/v1/captcha/challenge")).await;
    assert_eq!(status, 200, "{body}");
    let (status, body) = challenge(&host, format!("{listener}/own/place/api/v1/captcha/nothing")).await;
    assert_eq!((status, &body["path"]), (404, &"/own/place/api/v1/captcha/nothing".into()));
    for elsewhere in [
        format!("{listener}/api/v1/captcha/challenge"),
        host.url("/api/v1/captcha/challenge"),
        host.url("/own/place/api/v1/captcha/challenge"),
    ] {
        let (status, body) = challenge(&host, elsewhere).await;
        assert_eq!((status, &body["error"]), (404, &"not_found".into()));
    }
    let route = r#"route="/own/place/api/v1/captcha/challenge""#;
    let metrics = host.client().get(host.admin_url("/metrics")).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains(route), "the prefix is part of the template");
    host.stop().await;
}

#[tokio::test]
async fn management_port_moves_the_actuator() {
    let folder = TempDir::new().unwrap();
    let own = "[management.server]\nport = 0\naddress = \"127.0.0.2\"\n";
    let host = Launch::serve_with(folder.path(), &format!("{SITE}{own}")).ready().await;
    let management = host.listener("management.server.port");
    assert!(management.starts_with("http://127.0.0.2:"), "{management}");
    for path in ["/actuator", "/actuator/health", "/actuator/prometheus"] {
        assert_eq!(host.status(&format!("{management}{path}")).await, 200, "{path}");
        assert_eq!(host.status(&host.url(path)).await, 404, "{path}");
    }
    assert_eq!(challenge(&host, host.url("/api/v1/captcha/challenge")).await.0, 200);
    assert_eq!(challenge(&host, format!("{management}/api/v1/captcha/challenge")).await.0, 404);
    host.stop().await;
}

/// A signal drains every listener, not only the shared one.
#[tokio::test]
async fn all_listeners_close_together() {
    let folder = TempDir::new().unwrap();
    let own = "[services.captcha]\nlisten = \"127.0.0.2:0\"\n[management.server]\nport = 0\naddress = \"127.0.0.3\"\n";
    let host = Launch::serve_with(folder.path(), &format!("{SITE}{own}")).ready().await;
    let keys = ["server.listen", "services.captcha.listen", "management.server.port"];
    let addresses = keys.map(|key| host.listener(key).trim_start_matches("http://").to_owned());
    for address in &addresses {
        tokio::net::TcpStream::connect(address).await.unwrap();
    }
    host.stop().await;
    for address in &addresses {
        assert!(tokio::net::TcpStream::connect(address).await.is_err(), "{address}");
    }
}

#[tokio::test]
async fn shared_listener_opens_before_services_start() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), SITE).ready().await;
    let log = host.log();
    let first = |message: &str| log.iter().position(|line| line["message"] == message).unwrap();
    assert!(first("listening") < first("the service runs"), "{}", host.text());
    host.stop().await;
}

#[tokio::test]
async fn a_service_that_is_off_costs_nothing() {
    let folder = TempDir::new().unwrap();
    let with_slots: BTreeSet<&str> = list::spec().slots().map(|slot| slot.service).collect();
    let off: String = with_slots.iter().map(|name| format!("services.{name}.enabled = false\n")).collect();
    let host = Launch::serve_with(folder.path(), &off).ready().await;
    for path in ["/api/v1/captcha/challenge", "/actuator/health", "/terminvereinbarung/api/2/status/"] {
        let (status, body) = challenge(&host, host.url(path)).await;
        assert_eq!((status, &body["error"]), (404, &"not_found".into()), "{path}");
    }
    assert_eq!(host.status(&host.admin_url("/health/ready")).await, 200);
    for result in ["hit", "miss", "fault"] {
        let looked = host.metric(&format!("bulkhead_compile_cache_total{{result=\"{result}\"}}")).await;
        assert_eq!(looked, 0.0, "nothing is compiled");
    }
    host.stop().await;
    let data = folder.path().join("data");
    assert!(data.exists());
    assert!(!data.join("captcha.sqlite").exists());
    assert!(!data.join("secrets/captcha.key").exists());
}
