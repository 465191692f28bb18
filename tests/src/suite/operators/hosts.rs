//! Several hosts on one PostgreSQL keep to the same versions.

mod apart;
mod damaged;
mod refusing;

use std::sync::Arc;

use bulkhead_tests::{host::eventually, servers::postgres::Postgres};
use futures_util::future::join;

use super::*;

/// A host on the database at `url`.
fn hosting(url: &str) -> Builder {
    hosting_a().env("BULKHEAD_CAPTCHA__DATABASE", url).env("BULKHEAD_SHARING__POLL_MS", "200")
}

fn component(letter: char) -> Vec<u8> {
    answering(letter, "").component()
}

/// Waits until every host answers with `expected`, all in one generation that each has heard of and applied.
async fn converge(hosts: &[&TestHost], expected: char) {
    eventually(&format!("every host answers {expected}"), async || {
        let mut generations = Vec::new();
        for host in hosts {
            let slot = operator(host).slot().await;
            let shared = &slot["shared"];
            let follows = shared["desired"] == shared["applied"] && shared["behind"].is_null();
            if !follows || letter_or_none(host).await != Some(expected) {
                return false;
            }
            generations.push(slot["generation"].clone());
        }
        generations.iter().all(|generation| *generation == generations[0])
    })
    .await;
}

/// The letter, where there is one.
async fn letter_or_none(host: &TestHost) -> Option<char> {
    let body: Value = ask(host, 1).await.json().await.ok()?;
    body["challenge"]["letter"].as_str()?.chars().next()
}

async fn ready(host: &TestHost) -> (u16, Value) {
    let answer = host.client().get(host.admin_url("/health/ready")).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn change_on_one_host_reaches_all() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let (one, two, three) =
        (hosting(&url).start().await, hosting(&url).start().await, hosting(&url).start().await);
    let hosts = [&one, &two, &three];
    converge(&hosts, 'A').await;
    let b = operator(&one).push(component('B')).await;
    operator(&one).swap(&b).await;
    assert_eq!(letter(&one, 1).await, 'B', "at once where it was done");
    converge(&hosts, 'B').await;

    let c = operator(&two).push(component('C')).await;
    operator(&two).change("canary", json!({ "version": c, "weight": 100 })).await;
    converge(&hosts, 'C').await;
    // The share is every host's, and so is the client's version.
    operator(&three).change("canary", json!({ "weight": 40 })).await;
    eventually("every host has the share", async || {
        let mut letters = Vec::new();
        for host in hosts {
            let mut own = String::new();
            for client in 0..30 {
                own.push(letter(host, client).await);
            }
            letters.push(own);
        }
        letters.iter().all(|own| *own == letters[0]) && letters[0].contains('B') && letters[0].contains('C')
    })
    .await;
    operator(&three).change("promote", json!({})).await;
    converge(&hosts, 'C').await;
    operator(&one).change("rollback", json!({})).await;
    converge(&hosts, 'B').await;

    let generation = operator(&one).generation().await;
    for host in hosts {
        let (status, body) = ready(host).await;
        let slot = &body["slots"]["captcha"];
        assert_eq!(
            (status, &slot["desired"], &slot["applied"]),
            (200, &json!(generation), &json!(generation))
        );
        for state in ["desired", "applied"] {
            let metric = format!("bulkhead_slot_generation{{slot=\"captcha\",state=\"{state}\"}}");
            assert_eq!(host.metric(&metric).await, generation as f64);
        }
        assert_eq!(host.metric("bulkhead_shared_state_reachable").await, 1.0);
        let (_, history) = operator(host).get("/v1/slots/captcha/history").await;
        let letters = history["versions"].as_array().unwrap().len();
        assert_eq!(letters, 3, "{history}");
        let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
        let (_, audit) = admin.get("/v1/audit?slot=captcha").await;
        let entries = audit["entries"].as_array().unwrap();
        let swaps =
            entries.iter().filter(|entry| entry["version"] == b.as_str() && entry["reason"] == "test");
        let actors: Vec<_> = swaps.map(|entry| entry["actor"].clone()).collect();
        assert_eq!(actors, [json!("deploy")], "one line on every host: {audit}");
    }
    for host in [one, two, three] {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_remote_operators_wins() {
    let postgres = Postgres::start();
    let hosts = [hosting(&postgres.url()).start().await, hosting(&postgres.url()).start().await];
    for round in 0..5 {
        let body =
            |letter, number: i32| answering(letter, &format!("(drop (i32.const {number}))")).component();
        let b = operator(&hosts[0]).push(body('B', round)).await;
        let c = operator(&hosts[1]).push(body('C', -1 - round)).await;
        let seen = operator(&hosts[0]).generation().await;
        let swap = |version: &str| json!({ "version": version, "generation": seen });
        let operators = [Arc::new(operator(&hosts[0])), Arc::new(operator(&hosts[1]))];
        let (b_body, c_body) = (swap(&b), swap(&c));
        let answers = join(operators[0].post("/swap", &b_body), operators[1].post("/swap", &c_body)).await;
        let answers: [(u16, Value); 2] = answers.into();
        let won = answers.iter().position(|(status, _)| *status == 200).expect("one wins");
        let (status, lost) = &answers[1 - won];
        assert_eq!((*status, lost["error"].as_str()), (409, Some("conflict")), "{lost}");
        assert_eq!(lost["slot"]["generation"], seen + 1, "{lost}");
        assert_eq!(lost["slot"]["active"]["id"], [&b, &c][won].as_str());
        converge(&[&hosts[0], &hosts[1]], ['B', 'C'][won]).await;
    }
    for host in hosts {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_pushes_to_several_hosts_count() {
    let postgres = Postgres::start();
    let hosts = [hosting(&postgres.url()).start().await, hosting(&postgres.url()).start().await];
    let operators = [operator(&hosts[0]), operator(&hosts[1])];
    let (b, c) = join(operators[0].push(component('B')), operators[1].push(component('C'))).await;
    // Each is known where the other was pushed.
    operators[0].swap(&c).await;
    converge(&[&hosts[0], &hosts[1]], 'C').await;
    operators[1].swap(&b).await;
    converge(&[&hosts[0], &hosts[1]], 'B').await;
    for host in hosts {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_host_gets_the_shared_state() {
    let postgres = Postgres::start();
    let first = hosting(&postgres.url()).start().await;
    for letter in ['B', 'C'] {
        let version = operator(&first).push(component(letter)).await;
        operator(&first).swap(&version).await;
    }
    let second = hosting(&postgres.url()).component(component('X')).start().await;
    assert_eq!(letter(&second, 1).await, 'C', "from its first call on");
    let components = || {
        let files = std::fs::read_dir(second.folder().join("data/slots/captcha")).unwrap();
        files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|it| it == "wasm")).count()
    };
    eventually("every component is in its folder", async || components() == 3).await;
    first.stop().await;
    // Without the database, from what it has.
    operator(&second).change("rollback", json!({})).await;
    assert_eq!(letter(&second, 1).await, 'B');
    operator(&second).change("rollback", json!({})).await;
    assert_eq!(letter(&second, 1).await, 'A', "the configured one of the host that began");
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn first_host_publishes_its_state() {
    let postgres = Postgres::start();
    let alone = async |letter, folder: Option<tempfile::TempDir>| {
        let host = hosting(&postgres.url()).env("BULKHEAD_SHARING__ENABLED", "false");
        let host = match folder {
            Some(folder) => host.folder(folder).start().await,
            None => host.start().await,
        };
        let version = operator(&host).push(component(letter)).await;
        let slot = operator(&host).swap(&version).await;
        assert!(slot["shared"].is_null(), "{slot}");
        host.stop().await
    };
    let first = alone('B', None).await;
    let other = alone('D', Some(alone('C', None).await)).await;
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename IN ('bulkhead_slot', 'bulkhead_component')";
    assert_eq!(postgres.sql(tables), "0", "nothing is shared where nobody asks for it");
    let first = hosting(&postgres.url()).folder(first).start().await;
    eventually("the first host's state is the beginning", async || {
        postgres.sql("SELECT count(*) FROM bulkhead_component") == "2"
    })
    .await;
    let other = hosting(&postgres.url()).folder(other).start().await;
    assert_eq!(letter(&other, 1).await, 'B', "though its own has a later generation");
    converge(&[&first, &other], 'B').await;
    for host in [first, other] {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn components_leave_database_with_last_record() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let host = hosting(&url).env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__HISTORY", "1").start().await;
    for letter in ['B', 'C', 'D', 'E'] {
        let version = operator(&host).push(component(letter)).await;
        operator(&host).swap(&version).await;
    }
    let components = postgres.sql("SELECT count(*) FROM bulkhead_component");
    let named = postgres.sql("SELECT json_array_length(book->'versions') FROM bulkhead_slot");
    assert_eq!((components.as_str(), named.as_str()), ("2", "2"));
    host.stop().await;
}

/// An automatic rollback on one host is one on all.
#[tokio::test(flavor = "multi_thread")]
async fn failing_version_is_rolled_back_on_all() {
    let postgres = Postgres::start();
    let (one, two) = (hosting(&postgres.url()).start().await, hosting(&postgres.url()).start().await);
    let version = operator(&one).push(trapping().component()).await;
    operator(&one).swap(&version).await;
    eventually("the other host has it", async || {
        operator(&two).slot().await["active"]["id"] == version.as_str()
    })
    .await;
    for client in 0..40 {
        ask(&two, client).await;
    }
    converge(&[&one, &two], 'A').await;
    let metric = "bulkhead_rollouts_total{change=\"automatic-rollback\",slot=\"captcha\"}";
    assert_eq!((one.metric(metric).await, two.metric(metric).await), (0.0, 1.0));
    for host in [one, two] {
        host.stop().await;
    }
}
