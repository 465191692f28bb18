//! A host that is cut off from the database, or comes without it.

use bulkhead_tests::{child::Launch, servers::proxy::Proxy};

use super::*;

async fn serves_on_and_catches_up(lose: impl Fn(&Proxy)) {
    let postgres = Postgres::start();
    let proxy = Proxy::start(postgres.port()).await;
    let (one, two) =
        (hosting(&postgres.url()).start().await, hosting(&postgres.url_at(proxy.port())).start().await);
    let b = operator(&one).push(component('B')).await;
    operator(&one).swap(&b).await;
    converge(&[&one, &two], 'B').await;

    lose(&proxy);
    eventually("the host knows that it is cut off", async || {
        let (_, body) = ready(&two).await;
        let degraded = body["degraded"]
            .as_array()
            .is_some_and(|checks| checks.iter().any(|check| check["check"] == "shared state"));
        degraded && two.metric("bulkhead_shared_state_reachable").await == 0.0
    })
    .await;
    let c = operator(&one).push(component('C')).await;
    operator(&one).swap(&c).await;
    let generation = operator(&two).generation().await;
    assert_eq!((letter(&one, 1).await, letter(&two, 1).await), ('C', 'B'));
    // What is changed here now would be another state than the others'.
    let (status, error) = operator(&two).post("/rollback", &json!({ "generation": generation })).await;
    assert_eq!((status, error["error"].as_str()), (503, Some("state-unreachable")), "{error}");
    assert!(!error.to_string().contains(postgres.password()), "{error}");
    let (status, error) = operator(&two).try_push(component('D')).await;
    assert_eq!((status, error["error"].as_str()), (503, Some("state-unreachable")), "{error}");
    let rollback = Launch::bulkhead(&["component", "rollback", "captcha"])
        .env("BULKHEAD_ADMIN_URL", &two.admin_url(""))
        .env("BULKHEAD_ADMIN_TOKEN", operator::DEPLOY);
    let finished = rollback.finish().await;
    assert_eq!(finished.status.code(), Some(7), "{}", finished.stderr);
    assert_eq!(letter(&two, 1).await, 'B');

    proxy.mend();
    eventually("it is back", async || two.metric("bulkhead_shared_state_reachable").await == 1.0).await;
    converge(&[&one, &two], 'C').await;
    let d = operator(&two).push(component('D')).await;
    operator(&two).swap(&d).await;
    converge(&[&one, &two], 'D').await;
    for host in [one, two] {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn separated_host_serves_and_catches_up() {
    serves_on_and_catches_up(Proxy::cut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_with_silent_database_catches_up() {
    serves_on_and_catches_up(Proxy::silence).await;
}

/// What the host decides while it is cut off is published later, unless others have decided meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn separated_rollback_is_published_later() {
    let postgres = Postgres::start();
    for is_overtaken in [false, true] {
        postgres.sql("DROP TABLE IF EXISTS bulkhead_slot, bulkhead_component");
        let proxy = Proxy::start(postgres.port()).await;
        let (one, two) =
            (hosting(&postgres.url()).start().await, hosting(&postgres.url_at(proxy.port())).start().await);
        let bad = operator(&one).push(trapping().component()).await;
        operator(&one).swap(&bad).await;
        let active = async |host: &TestHost| operator(host).slot().await["active"]["id"] == bad.as_str();
        eventually("the other host has it", async || active(&two).await).await;
        proxy.cut();
        eventually("the wire is cut", async || two.metric("bulkhead_shared_state_reachable").await == 0.0)
            .await;
        for client in 0..40 {
            ask(&two, client).await;
        }
        eventually("it goes back by itself", async || letter_or_none(&two).await == Some('A')).await;
        assert!(active(&one).await);
        if is_overtaken {
            let c = operator(&one).push(component('C')).await;
            operator(&one).swap(&c).await;
        }
        proxy.mend();
        converge(&[&one, &two], if is_overtaken { 'C' } else { 'A' }).await;
        for host in [one, two] {
            host.stop().await;
        }
    }
}

/// What a database's driver says is for the log, and what the host says names no address and no password.
fn assert_own_words(text: &str, postgres: &Postgres) {
    assert!(text.contains("the database cannot be reached"), "{text}");
    let port = postgres.port().to_string();
    for inside in [postgres.password(), &port, "os error", "communicating", "refused"] {
        assert!(!text.contains(inside), "{inside} in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn host_starts_without_the_shared_database() {
    let mut postgres = Postgres::start();
    let host = hosting(&postgres.url()).start().await;
    let b = operator(&host).push(component('B')).await;
    operator(&host).swap(&b).await;
    let folder = host.stop().await;
    postgres.stop();

    let host = hosting(&postgres.url()).folder(folder).start().await;
    assert_eq!(letter(&host, 1).await, 'B');
    let slot = operator(&host).slot().await;
    assert_eq!(slot["shared"]["away"], "the database cannot be reached", "{slot}");
    assert!(slot["shared"]["desired"].is_null(), "{slot}");
    assert_eq!(slot["shared"]["applied"], 1);
    let (status, body) = ready(&host).await;
    assert_eq!(status, 503, "the ledger is away too: {body}");
    let text = body.to_string();
    assert!(text.contains("captcha ledger") && text.contains("shared state"), "{text}");
    assert_own_words(&text, &postgres);
    let (status, error) = operator(&host).post("/rollback", &json!({ "generation": 1 })).await;
    assert_eq!((status, error["error"].as_str()), (503, Some("state-unreachable")), "{error}");
    assert_own_words(&error.to_string(), &postgres);

    postgres.restart();
    eventually("the host has the database", async || ready(&host).await.0 == 200).await;
    converge(&[&host], 'B').await;
    operator(&host).change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}
