//! What surrounds the payload: envelope, selection, caching, headers.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{BASE, TOKEN, golden};

const TOKENED: (&str, &str) = ("x-token", TOKEN);

#[tokio::test]
async fn the_envelope_is_the_old_server_s() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "identifier = \"zms\"\nversion = \"2.25.00\"").await;
    for path in ["/status/", "/status"] {
        let answer = service.get(path).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
        let body = answer.json();
        // The client's host without its port.
        assert_eq!(body["$schema"], format!("http://127.0.0.1{BASE}/"));
        assert_eq!(body["data"]["$schema"], "https://schema.berlin.de/queuemanagement/status.json");
        let meta = body["meta"].as_object().unwrap();
        assert_eq!(meta.keys().collect::<Vec<_>>(), ["$schema", "error", "generated", "server"]);
        assert_eq!(meta["$schema"], "https://schema.berlin.de/queuemanagement/metaresult.json");
        assert_eq!((&meta["error"], &meta["server"]), (&json!(false), &json!("zms (2.25.00)")));
        let generated = meta["generated"].as_str().unwrap();
        assert!(generated.len() == 25 && (generated.ends_with("+01:00") || generated.ends_with("+02:00")));
        // Members in their order, and nothing beyond ASCII.
        let order = [
            "\"$schema\":\"http:",
            "\"meta\"",
            "\"data\"",
            "\"database\"",
            "\"processes\"",
            "\"mail\"",
            "\"sources\"",
            "\"useraccounts\"",
            "\"version\"",
        ];
        let places: Vec<_> = order.iter().map(|member| answer.text.find(member).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert!(answer.text.is_ascii() && answer.text.contains(r"B\u00fcrgerb\u00fcro"), "{}", answer.text);
    }
    service.stop().await;
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    for (path, headers, status) in [
        ("/status/", &[TOKENED][..], 200),
        ("/status/", &[], 401),
        ("/status/deadlock/", &[TOKENED], 404),
        ("/status/metrics", &[TOKENED], 200),
        ("/healthcheck/", &[], 500),
    ] {
        let answer = service.send(path, headers).await;
        assert_eq!(answer.status, status, "{path}");
        for (name, value) in [
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("x-xss-protection", "1; mode=block"),
            ("strict-transport-security", "max-age=31536000; includeSubDomains"),
            ("content-security-policy", "default-src 'self'"),
            ("referrer-policy", "strict-origin-when-cross-origin"),
            ("permissions-policy", "geolocation=(), microphone=(), camera=()"),
            ("x-permitted-cross-domain-policies", "none"),
            ("cache-control", "max-age=0"),
        ] {
            assert_eq!(answer.header(name), value, "{path}");
            assert_eq!(answer.headers.get_all(name).iter().count(), 1, "{path} {name}");
        }
    }
    service.stop().await;
}

#[tokio::test]
async fn unknown_paths_and_methods_have_the_envelope() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    for path in ["/status/locktimeout/", "/status/%ff", "/appointment/1/", "/"] {
        service.get(path).await.assert_refusal(404, None);
    }
    let url = service.host.url(&format!("{BASE}/status/"));
    let response = service.host.client().post(url).header(TOKENED.0, TOKENED.1).send().await.unwrap();
    assert_eq!(response.status(), 405);
    assert!(response.headers()["allow"].to_str().unwrap().contains("GET"));
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["meta"]["exception"], r"Slim\Exception\HttpMethodNotAllowedException");
    service.stop().await;
}

#[tokio::test]
async fn selection_and_compression_change_the_answer() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let schema = "https://schema.berlin.de/queuemanagement/status.json";
    let selected = service.data("?gql={mail{queueCount}+processes{confirmed,nothing}+nothing}").await;
    let expected = json!({ "$schema": schema, "mail": { "queueCount": 2 }, "processes": { "confirmed": 2 } });
    assert_eq!(selected, expected);
    for gql in ["mail", "{mail", "{}", "{mail}}"] {
        let answer = service.get(&format!("/status/?gql={gql}")).await;
        answer.assert_refusal(400, Some(r"BO\Zmsclient\GraphQL\GraphQLException"));
    }
    let whole = service.data("").await;
    let compressed = service.data("?compress=1").await;
    assert_eq!(whole["database"]["clusterStatus"], "OFF");
    assert!(compressed["database"].get("clusterStatus").is_none());
    assert!(compressed["processes"].get("missed").is_none());
    assert_eq!(compressed["processes"]["confirmed"], 2);
    let header = service.send("/status/", &[TOKENED, ("x-jsoncompresslevel", "1")]).await;
    assert_eq!(header.json()["data"], compressed);
    service.stop().await;
}

#[tokio::test]
async fn known_answer_is_not_sent_again() {
    let folder = TempDir::new().unwrap();
    let refresh = "[status.refresh]\ndatabase_seconds = 3600\nmail_seconds = 3600\nsources_seconds = 3600\nsessions_seconds = 3600\nprocesses_seconds = 3600\nslots_seconds = 3600\n";
    let service = golden(folder.path(), &format!("max_stale_seconds = 3600\n{refresh}")).await;
    let first = service.get("/status/").await;
    let (etag, modified) = (first.header("etag").to_owned(), first.header("last-modified").to_owned());
    assert!(etag.starts_with("W/\""), "{etag}");
    assert!(first.header("age").parse::<u64>().unwrap() < 60);
    let before = service.attempts("processes").await;
    for header in [("if-none-match", etag.as_str()), ("if-modified-since", modified.as_str())] {
        let again = service.send("/status/", &[TOKENED, header]).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{header:?}");
        assert_eq!(again.header("etag"), etag);
    }
    assert_eq!(service.attempts("processes").await, before, "it costs no SQL");
    for (path, header) in [
        ("/status/?includeProcessStats=0", ("if-none-match", etag.as_str())),
        ("/status/?compress=1", ("if-none-match", &etag)),
        ("/status/?gql={version}", ("if-none-match", &etag)),
        ("/status/", ("if-none-match", "\"other\"")),
    ] {
        assert_eq!(service.send(path, &[TOKENED, header]).await.status, 200, "{path}");
    }
    let stranger = service.send("/status/", &[("if-none-match", &etag)]).await;
    assert_eq!(stranger.status, 401, "a tag is not a token");
    service.stop().await;
}

#[tokio::test]
async fn the_base_path_can_be_moved() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "base_path = \"/api\"").await;
    assert_eq!(service.get("/status/").await.status, 404);
    let url = service.host.url("/api/status/");
    let answer = service.host.client().get(url).header(TOKENED.0, TOKENED.1).send().await.unwrap();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["$schema"], "http://127.0.0.1/api/");
    service.stop().await;
}
