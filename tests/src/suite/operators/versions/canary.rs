//! A candidate answers its share of the clients, each of whom stays where it is; one that does worse is removed automatically.

use bulkhead_tests::host::eventually;

use super::super::*;

const CLIENTS: u32 = 300;

/// Which clients the candidate answers.
async fn on_candidate(host: &TestHost) -> Vec<u32> {
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        if letter(host, client).await == 'B' {
            clients.push(client);
        }
    }
    clients
}

#[tokio::test(flavor = "multi_thread")]
async fn growing_candidate_keeps_its_clients() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(answering('B', "").component()).await;
    let slot = operator.change("canary", json!({ "version": version, "weight": 30 })).await;
    assert_eq!((&slot["candidate"]["weight"], &slot["active"]["weight"]), (&json!(30), &json!(70)));
    let info = |role: &str, version: &Value| {
        let text = |name: &str| version[name].as_str().unwrap().to_owned();
        let (component, source, id) = (text("component"), text("source"), text("id"));
        format!(
            "bulkhead_version_info{{component=\"{component}\",role=\"{role}\",slot=\"captcha\",source=\"{source}\",\
             version=\"{id}\"}}"
        )
    };
    let samples = host.metrics().await;
    let named: Vec<&String> = samples
        .keys()
        .filter(|name| name.contains("version=") && name.contains("slot=\"captcha\""))
        .collect();
    let mut expected = [info("active", &slot["active"]), info("candidate", &slot["candidate"])];
    expected.sort();
    assert_eq!(named, expected.iter().collect::<Vec<_>>());
    let some = on_candidate(&host).await;
    // Of 300 clients 90, give or take eight standard deviations.
    assert!((25..=155).contains(&some.len()), "{}", some.len());
    assert_eq!(on_candidate(&host).await, some, "every client stays");

    operator.change("canary", json!({ "weight": 60 })).await;
    let more = on_candidate(&host).await;
    assert!(more.len() > some.len() && some.iter().all(|client| more.contains(client)));
    operator.change("canary", json!({ "weight": 0 })).await;
    assert!(on_candidate(&host).await.is_empty());
    operator.change("canary", json!({ "weight": 100 })).await;
    assert_eq!(on_candidate(&host).await.len(), CLIENTS as usize);

    let generation = operator.generation().await;
    let over = json!({ "weight": 101, "generation": generation });
    assert_eq!(operator.post("/canary", &over).await.0, 400);
    let slot = operator.change("promote", json!({})).await;
    assert_eq!((&slot["active"]["id"], &slot["candidate"]), (&json!(version), &Value::Null));
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_gives_up_the_candidate() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(answering('B', "").component()).await;
    let other = operator.push(answering('C', "").component()).await;
    operator.change("canary", json!({ "version": version, "weight": 50 })).await;
    let generation = operator.generation().await;
    let second = json!({ "version": other, "weight": 50, "generation": generation });
    let (status, error) = operator.post("/canary", &second).await;
    assert_eq!((status, error["error"].as_str()), (409, Some("other-candidate")), "{error}");
    operator.change("rollback", json!({})).await;
    assert!(on_candidate(&host).await.is_empty());
    eventually("its code is freed", async || operator.stage(&version).await == "retired").await;
    host.stop().await;
}

async fn automatic_rollbacks(host: &TestHost) -> f64 {
    host.metric("bulkhead_rollouts_total{change=\"automatic-rollback\",slot=\"captcha\"}").await
}

/// Why the version went, by the audit log.
pub(super) async fn reason(host: &TestHost, version: &str) -> String {
    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let (_, audit) = admin.get("/v1/audit").await;
    let entries = audit["entries"].as_array().unwrap();
    let gone = |entry: &&Value| entry["version"] == version && entry["stage"] == "draining";
    let entry = entries.iter().find(gone).unwrap_or_else(|| panic!("{audit}"));
    assert_eq!(entry["actor"], "host");
    entry["reason"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn trapping_candidate_is_rolled_back_automatically() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(trapping().component()).await;
    operator.change("canary", json!({ "version": version, "weight": 50 })).await;
    let (mut failed, mut answered) = (0, 0);
    for client in 0..CLIENTS {
        match ask(&host, client).await.status().as_u16() {
            200 => answered += 1,
            500 => failed += 1,
            status => panic!("{status}"),
        }
        if automatic_rollbacks(&host).await == 1.0 {
            break;
        }
    }
    assert!(failed >= 10 && answered >= 10, "{failed} failed, {answered} were answered");
    eventually("it is rolled back", async || automatic_rollbacks(&host).await == 1.0).await;
    for client in 0..CLIENTS {
        assert_eq!(letter(&host, client).await, 'A');
    }
    let reason = reason(&host, &version).await;
    assert!(reason.starts_with("automatic rollback: 100.0 % of its "), "{reason}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn looping_version_is_rolled_back_automatically() {
    let host = hosting_a()
        .env("BULKHEAD_SLOTS__CAPTCHA__CPU_MS", "5")
        .env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__MIN_CALLS", "5")
        .start()
        .await;
    let operator = operator(&host);
    letter(&host, 1).await;
    let looping = Guest::call("(loop $again (br $again)) unreachable");
    let version = operator.push(looping.component()).await;
    operator.swap(&version).await;
    for client in 0..5 {
        assert_eq!(ask(&host, client).await.status(), 503);
    }
    eventually("it is rolled back", async || automatic_rollbacks(&host).await == 1.0).await;
    assert_eq!(letter(&host, 1).await, 'A');
    let reason = reason(&host, &version).await;
    assert!(reason.contains("100.0 % of its 5 calls failed, against 0.0 %"), "{reason}");
    host.stop().await;
}

/// Kept instances keep what a leak has taken, until it meets the limit on memory.
#[tokio::test(flavor = "multi_thread")]
async fn leaking_candidate_is_rolled_back_automatically() {
    // What the host hands over always goes to one place, so that only what is meant to leak does.
    let guest = |letter, body| answering(letter, body).with_realloc("i32.const 65536").component();
    let host = hosting_a()
        .component(guest('A', ""))
        .env("BULKHEAD_SLOTS__CAPTCHA__REUSE", "true")
        .env("BULKHEAD_SLOTS__CAPTCHA__MEMORY_BYTES", "1048576")
        .start()
        .await;
    let operator = operator(&host);
    let stable: Vec<u32> = {
        let good = operator.push(guest('B', "")).await;
        operator.change("canary", json!({ "version": good, "weight": 50 })).await;
        let tried = on_candidate(&host).await;
        operator.change("rollback", json!({})).await;
        (0..CLIENTS).filter(|client| !tried.contains(client)).collect()
    };
    let leak = "(if (i32.eq (memory.grow (i32.const 4)) (i32.const -1)) (then unreachable))";
    let version = operator.push(guest('B', leak)).await;
    operator.change("canary", json!({ "version": version, "weight": 50 })).await;
    let mut failed = 0;
    for client in 0..CLIENTS {
        if stable.contains(&client) {
            assert_eq!(letter(&host, client).await, 'A');
        } else {
            failed += u32::from(ask(&host, client).await.status() == 500);
        }
    }
    assert!(failed > 0, "it leaks");
    eventually("it is rolled back", async || automatic_rollbacks(&host).await == 1.0).await;
    assert_eq!(on_candidate(&host).await, [0; 0]);
    let reason = reason(&host, &version).await;
    assert!(reason.starts_with("automatic rollback: ") && reason.contains(" calls failed"), "{reason}");
    // The stable version keeps the instance that served all its calls, and nobody another.
    let instances = "bulkhead_pool_slots_in_use{kind=\"component_instances\"}";
    eventually("only one instance is kept", async || host.metric(instances).await == 1.0).await;
}
