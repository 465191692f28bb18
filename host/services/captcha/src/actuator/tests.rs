//! Tests of the endpoints over their router.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod metrics;

use std::path::PathBuf;

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use bulkhead_http::forwarded::Client;
use http_body_util::BodyExt as _;
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::config::management::ShowDetails;

struct FakeHealth {
    readiness: HealthStatus,
    database: HealthStatus,
}

impl HealthSource for FakeHealth {
    fn liveness(&self) -> HealthStatus {
        HealthStatus::Up
    }

    fn readiness(&self) -> HealthStatus {
        self.readiness
    }

    fn components(&self) -> Vec<HealthComponent> {
        let details = Map::from_iter([("database".to_owned(), json!("SQLite"))]);
        vec![HealthComponent { name: "db", status: self.database, details }]
    }
}

const HEALTHY: FakeHealth = FakeHealth { readiness: HealthStatus::Up, database: HealthStatus::Up };

fn state(health: FakeHealth, show_details: ShowDetails) -> ActuatorState {
    let authorized: Authorized = Arc::new(|headers| {
        let good = headers.get(header::AUTHORIZATION).is_some_and(|value| value == "Bearer good");
        Box::pin(async move { good })
    });
    ActuatorState {
        metrics: Arc::new(Metrics::new(PathBuf::from("/"), []).unwrap()),
        management: Management {
            exposed: Endpoint::IDS.into_iter().map(|(_, endpoint)| endpoint).collect(),
            base_path: "/actuator".into(),
            show_details,
            listen: None,
        },
        health: Arc::new(health),
        authorized,
        application: Application { name: "bulkhead", version: "1.2.3", description: "A host" },
    }
}

fn healthy_state() -> ActuatorState {
    state(HEALTHY, ShowDetails::Never)
}

struct ActuatorReply {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl ActuatorReply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn content_type(&self) -> &str {
        self.headers[header::CONTENT_TYPE].to_str().unwrap()
    }
}

async fn send(state: &ActuatorState, request: Request<Body>) -> ActuatorReply {
    let router = router(state.clone()).merge(probes(state.clone()));
    let response = router.oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    // Conformance fact 20: exactly this value in every answer.
    let caching: Vec<_> = parts.headers.get_all(header::CACHE_CONTROL).iter().collect();
    assert_eq!(caching, ["no-cache, no-store, must-revalidate"]);
    let body = String::from_utf8(body.to_vec()).unwrap();
    ActuatorReply { status: parts.status, headers: parts.headers, body }
}

async fn get_as(state: &ActuatorState, path: &str, accept: &str) -> ActuatorReply {
    let request = Request::get(path).header(header::ACCEPT, accept).header(header::HOST, "h:1");
    send(state, request.body(Body::empty()).unwrap()).await
}

async fn get(state: &ActuatorState, path: &str) -> ActuatorReply {
    get_as(state, path, "*/*").await
}

const V3: &str = "application/vnd.spring-boot.actuator.v3+json";
const V2: &str = "application/vnd.spring-boot.actuator.v2+json";

#[tokio::test]
async fn probes_have_short_paths() {
    let mut state =
        state(FakeHealth { readiness: HealthStatus::OutOfService, ..HEALTHY }, ShowDetails::Never);
    let livez = get(&state, "/livez").await;
    assert_eq!(
        (livez.status, livez.content_type(), livez.json()),
        (StatusCode::OK, V3, json!({ "status": "UP" }))
    );
    let readyz = get(&state, "/readyz").await;
    let out = json!({ "status": "OUT_OF_SERVICE" });
    assert_eq!((readyz.status, readyz.json()), (StatusCode::SERVICE_UNAVAILABLE, out));
    let post = send(&state, Request::post("/livez").body(Body::empty()).unwrap()).await;
    assert_eq!(post.status, StatusCode::METHOD_NOT_ALLOWED);
    state.management.exposed.remove(&Endpoint::Health);
    let router = probes(state);
    let hidden = router.oneshot(Request::get("/livez").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(hidden.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn links_list_exposed_endpoints() {
    let mut state = healthy_state();
    state.management.exposed = [Endpoint::Health, Endpoint::Metrics].into();
    let reply = get(&state, "/actuator").await;
    let link =
        |path: &str, templated: bool| json!({ "href": format!("/actuator{path}"), "templated": templated });
    let expected = json!({ "_links": {
        "self": link("", false),
        "health": link("/health", false),
        "health-path": link("/health/{*path}", true),
        "metrics": link("/metrics", false),
        "metrics-requiredMetricName": link("/metrics/{requiredMetricName}", true),
    }});
    assert_eq!((reply.status, reply.json()), (StatusCode::OK, expected));
}

#[tokio::test]
async fn links_use_the_clients_host() {
    let self_link = async |client: Option<Client>| {
        let mut request =
            Request::get("/actuator").header(header::HOST, "inside:1").body(Body::empty()).unwrap();
        if let Some(client) = client {
            request.extensions_mut().insert(client);
        }
        send(&healthy_state(), request).await.json()["_links"]["self"]["href"].clone()
    };
    let client = |host: Option<&str>| Client {
        address: [192, 0, 2, 1].into(),
        scheme: "https",
        host: host.map(str::to_owned),
    };
    assert_eq!(self_link(Some(client(Some("www.example.org")))).await, "https://www.example.org/actuator");
    assert_eq!(self_link(Some(client(None))).await, "/actuator");
    assert_eq!(self_link(None).await, "/actuator");
}

#[tokio::test]
async fn unexposed_endpoints_answer_404() {
    let mut state = healthy_state();
    state.management.exposed = [Endpoint::Health].into();
    for path in ["/actuator/info", "/actuator/metrics/x", "/actuator/env", "/actuator/", "/actuator/a/b"] {
        let reply = get(&state, path).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        let body = reply.json();
        let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["code", "error", "message", "path", "status", "timestamp"]);
        assert_eq!((&body["status"], &body["path"]), (&json!(404), &json!(path)));
        assert_eq!(body["error"], "Not Found");
    }
    assert_eq!(get(&state, "/actuator/health").await.status, StatusCode::OK);
}

#[tokio::test]
async fn base_path_moves_and_may_be_root() {
    let mut state = healthy_state();
    state.management.base_path = "/manage/".into();
    assert_eq!(get(&state, "/manage/health").await.status, StatusCode::OK);
    assert_eq!(get(&state, "/manage/nothing").await.status, StatusCode::NOT_FOUND);
    state.management.base_path = "/".into();
    assert_eq!(get(&state, "/health").await.status, StatusCode::OK);
}

#[tokio::test]
async fn merged_router_keeps_other_paths() {
    let app = Router::new().route("/x", axum::routing::get(|| async { "x" })).merge(router(healthy_state()));
    let request = Request::get("/x").body(Body::empty()).unwrap();
    let response = app.oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.headers().get(header::CACHE_CONTROL).is_none());
}

#[tokio::test]
async fn other_methods_answer_405() {
    let state = healthy_state();
    for path in ["/actuator", "/actuator/health", "/actuator/metrics/x", "/actuator/scrape"] {
        for method in [Method::POST, Method::DELETE, Method::OPTIONS] {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            let reply = send(&state, request).await;
            assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
            let allowed: Vec<_> = reply.headers.get_all(header::ALLOW).iter().collect();
            assert_eq!(allowed, ["GET, HEAD"]);
            assert_eq!(reply.json()["code"], "method_not_allowed");
        }
    }
    let head = Request::head("/actuator/health").body(Body::empty()).unwrap();
    let reply = send(&state, head).await;
    assert_eq!((reply.status, reply.body.as_str()), (StatusCode::OK, ""));
    assert_eq!(reply.content_type(), V3);
}

#[tokio::test]
async fn media_types_are_negotiated() {
    let state = healthy_state();
    let cases = [("*/*", V3), (V2, V2), ("application/json", "application/json"), ("", V3)];
    for (accept, content_type) in cases {
        assert_eq!(get_as(&state, "/actuator/health", accept).await.content_type(), content_type);
    }
    for path in ["/actuator", "/actuator/health", "/actuator/info", "/actuator/metrics", "/actuator/scrape"] {
        let reply = get_as(&state, path, "image/png").await;
        assert_eq!(reply.status, StatusCode::NOT_ACCEPTABLE, "{path}");
        assert_eq!(reply.json()["code"], "not_acceptable");
    }
}

#[tokio::test]
async fn info_names_the_application() {
    let body = get(&healthy_state(), "/actuator/info").await.json();
    let application = json!({ "name": "bulkhead", "version": "1.2.3", "description": "A host" });
    assert_eq!(body, json!({ "application": application }));
}

#[tokio::test]
async fn health_hides_components_without_details() {
    let state = healthy_state();
    let reply = get(&state, "/actuator/health").await;
    let expected = json!({ "groups": ["liveness", "readiness"], "status": "UP" });
    assert_eq!((reply.status, reply.json()), (StatusCode::OK, expected));
    for probe in ["liveness", "readiness"] {
        let reply = get(&state, &format!("/actuator/health/{probe}")).await;
        assert_eq!((reply.status, reply.json()), (StatusCode::OK, json!({ "status": "UP" })));
    }
    for component in ["db", "%ff"] {
        let reply = get(&state, &format!("/actuator/health/{component}")).await;
        assert_eq!((reply.status, reply.body.as_str()), (StatusCode::NOT_FOUND, ""));
    }
}

#[tokio::test]
async fn health_shows_components_with_details() {
    let state = state(HEALTHY, ShowDetails::Always);
    let body = get(&state, "/actuator/health").await.json();
    let components = body["components"].as_object().unwrap();
    let names: Vec<&str> = components.keys().map(String::as_str).collect();
    assert_eq!(names, ["db", "diskSpace", "livenessState", "ping", "readinessState"]);
    assert_eq!(components["ping"], json!({ "status": "UP" }));
    let database = json!({ "status": "UP", "details": { "database": "SQLite" } });
    assert_eq!(components["db"], database);
    assert_eq!(components["diskSpace"]["details"]["threshold"], 10_485_760);
    assert_eq!(get(&state, "/actuator/health/db").await.json(), database);
    assert_eq!(get(&state, "/actuator/health/other").await.status, StatusCode::NOT_FOUND);
    let probe = get(&state, "/actuator/health/liveness").await.json();
    assert_eq!(probe, json!({ "status": "UP", "components": { "livenessState": { "status": "UP" } } }));
}

#[tokio::test]
async fn details_are_shown_to_authorized_callers() {
    let state = state(HEALTHY, ShowDetails::WhenAuthorized);
    for (token, shown) in [("Bearer good", true), ("Bearer bad", false)] {
        let request = Request::get("/actuator/health").header(header::AUTHORIZATION, token);
        let reply = send(&state, request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.json().get("components").is_some(), shown);
    }
}

#[tokio::test]
async fn worst_component_decides_the_status() {
    let drained = state(FakeHealth { readiness: HealthStatus::OutOfService, ..HEALTHY }, ShowDetails::Never);
    for path in ["/actuator/health", "/actuator/health/readiness"] {
        let reply = get(&drained, path).await;
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reply.json()["status"], "OUT_OF_SERVICE");
    }
    assert_eq!(get(&drained, "/actuator/health/liveness").await.status, StatusCode::OK);

    let broken = FakeHealth { readiness: HealthStatus::OutOfService, database: HealthStatus::Down };
    let broken = state(broken, ShowDetails::Always);
    assert_eq!(get(&broken, "/actuator/health").await.json()["status"], "DOWN");
    let database = get(&broken, "/actuator/health/db").await;
    assert_eq!(database.status, StatusCode::SERVICE_UNAVAILABLE);

    let unknown = state(FakeHealth { database: HealthStatus::Unknown, ..HEALTHY }, ShowDetails::Always);
    assert_eq!(get(&unknown, "/actuator/health").await.json()["status"], "UP");
    assert_eq!(get(&unknown, "/actuator/health/db").await.status, StatusCode::OK);
}
