//! What of `/actuator` is there, and where: Spring's settings for exposure, base path and port.

use std::net::{Ipv4Addr, TcpListener};

use bulkhead_tests::TestHost;

use super::{Answer, JAVA, Service};

const IDS: [&str; 5] = ["health", "info", "metrics", "scrape", "prometheus"];

async fn exposed(service: &Service) -> Vec<&'static str> {
    let mut found = Vec::new();
    for id in IDS {
        let answer = service.get(&format!("/actuator/{id}"), "*/*").await;
        match answer.status.as_u16() {
            200 => found.push(id),
            status => {
                let body = answer.json();
                assert_eq!((status, body["status"].as_u64()), (404, Some(404)), "{id}");
                assert_eq!(
                    (&body["error"], &body["path"]),
                    (&"Not Found".into(), &format!("/actuator/{id}").into())
                );
            }
        }
    }
    found
}

#[tokio::test]
async fn includes_are_what_is_not_excluded() {
    for (settings, expected) in [
        ("", &IDS[..]),
        ("include = \"health,prometheus\"", &["health", "prometheus"]),
        ("include = \"*\"\nexclude = [\"metrics\", \"info\"]", &["health", "scrape", "prometheus"]),
        ("include = [\"health\", \"metrics\"]\nexclude = \"metrics\"", &["health"]),
        ("exclude = \"*\"", &[]),
    ] {
        let config = format!("{JAVA}\n[management.endpoints.web.exposure]\n{settings}\n");
        let service = Service::start(&config).await;
        assert_eq!(exposed(&service).await, expected, "{settings}");
        let index = service.get("/actuator", "*/*").await;
        assert_eq!(index.status.as_u16(), if expected.is_empty() { 404 } else { 200 }, "{settings}");
        if !expected.is_empty() {
            let body = index.json();
            let links = body["_links"].as_object().unwrap();
            assert!(IDS.iter().all(|id| links.contains_key(*id) == expected.contains(id)), "{settings}");
        }
        service.stop().await;
    }
}

#[tokio::test]
async fn unexposed_endpoint_has_nothing_below_it() {
    let config = format!("{JAVA}\n[management.endpoints.web.exposure]\ninclude = \"info\"\n");
    let service = Service::start(&config).await;
    for path in ["health/liveness", "health/db", "metrics/captcha.events", "env", "shutdown", "sbom"] {
        assert_eq!(service.get(&format!("/actuator/{path}"), "*/*").await.status, 404, "{path}");
    }
    service.stop().await;
}

#[tokio::test]
async fn variables_of_java_service_set_exposure() {
    let builder = TestHost::builder().config(JAVA);
    let builder = builder.env("MANAGEMENT_ENDPOINTS_WEB_EXPOSURE_INCLUDE", "health,metrics");
    let builder = builder.env("MANAGEMENT_ENDPOINT_HEALTH_SHOWDETAILS", "always");
    let service = Service(builder.start().await);
    assert_eq!(exposed(&service).await, ["health", "metrics"]);
    assert!(service.get("/actuator/health", "*/*").await.json()["components"].is_object());
    service.stop().await;
}

#[tokio::test]
async fn the_base_path_moves_everything() {
    let config = format!("{JAVA}\n[management.endpoints.web]\nbase-path = \"/ops\"\n");
    let service = Service::start(&config).await;
    assert_eq!(service.get("/ops/health/readiness", "*/*").await.status, 200);
    let index = service.get("/ops", "*/*").await.json();
    assert_eq!(index["_links"]["info"]["href"], service.0.url("/ops/info"));
    assert_eq!(service.get("/actuator/health", "*/*").await.status, 404);
    service.stop().await;
}

/// A host whose operational endpoints have a port of their own, which may be lost to somebody else in
/// between.
async fn with_own_port() -> (Service, u16) {
    for _ in 0..10 {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let config = format!("{JAVA}\n[management.server]\nport = {port}\n");
        match TestHost::builder().config(&config).try_start().await {
            Ok(host) => return (Service(host), port),
            Err(reason) => assert!(reason.contains("Address already in use"), "{reason}"),
        }
    }
    panic!("no port stays free");
}

#[tokio::test]
async fn own_port_leaves_the_public_one() {
    let (service, port) = with_own_port().await;
    for path in ["/actuator", "/actuator/health", "/actuator/metrics", "/actuator/prometheus"] {
        assert_eq!(service.get(path, "*/*").await.status, 404, "{path} is not public");
        let url = format!("http://127.0.0.1:{port}{path}");
        assert_eq!(Answer::of(service.0.client().get(url)).await.status, 200, "{path}");
    }
    let url = format!("http://127.0.0.1:{port}/api/v1/captcha/challenge");
    assert_eq!(Answer::of(service.0.client().post(url)).await.status, 404, "nothing else is there");
    service.stop().await;
}

#[tokio::test]
async fn port_minus_one_switches_it_off() {
    let service = Service::start(&format!("{JAVA}\n[management.server]\nport = -1\n")).await;
    assert_eq!(exposed(&service).await, [""; 0]);
    assert_eq!(service.get("/actuator", "*/*").await.status, 404);
    service.stop().await;
}
