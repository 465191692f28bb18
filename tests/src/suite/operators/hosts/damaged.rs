//! A row of the shared database that no host can read.

use super::{refusing::behind, *};

/// Changes the row as nobody but a person at the database does.
fn damage(postgres: &Postgres, what: &str) {
    postgres
        .sql(&format!("UPDATE bulkhead_slot SET stamp = md5(stamp || '{}'), {what}", what.replace('\'', "")));
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_row_is_named_and_deletable() {
    let postgres = Postgres::start();
    let (one, two) = (hosting(&postgres.url()).start().await, hosting(&postgres.url()).start().await);
    let b = operator(&one).push(component('B')).await;
    operator(&one).swap(&b).await;
    converge(&[&one, &two], 'B').await;
    for what in ["book = 'null'", "book = '{\"generation\":-1}'", "generation = -1"] {
        damage(&postgres, what);
        for host in [&one, &two] {
            behind(host, "the row of slot captcha in bulkhead_slot cannot be read: ").await;
            let (status, body) = ready(host).await;
            let degraded = &body["degraded"][0];
            assert_eq!((status, &degraded["check"]), (200, &json!("slot captcha")), "{what}: {body}");
            assert!(degraded["reason"].as_str().unwrap().contains("or delete it"), "{what}: {body}");
            assert_eq!(host.metric("bulkhead_shared_state_reachable").await, 1.0, "{what}");
            let generation = operator(host).generation().await;
            let refused = [
                operator(host).post("/rollback", &json!({ "generation": generation })).await,
                operator(host).try_push(component('C')).await,
            ];
            for (status, error) in refused {
                assert_eq!((status, error["error"].as_str()), (500, Some("state-unreadable")), "{error}");
                let message = error["message"].as_str().unwrap();
                assert!(message.contains("nothing has been changed: the row of slot captcha"), "{message}");
                assert!(!message.contains("SlotId") && !message.contains("reached"), "{message}");
            }
            assert_eq!(letter(host, 1).await, 'B', "{what}");
        }
        postgres.sql("DELETE FROM bulkhead_slot");
        converge(&[&one, &two], 'B').await;
    }
    operator(&two).change("rollback", json!({})).await;
    converge(&[&one, &two], 'A').await;
    for host in [one, two] {
        host.stop().await;
    }
}

/// As while the database is away.
#[tokio::test(flavor = "multi_thread")]
async fn rollback_beside_unreadable_row_is_published() {
    let postgres = Postgres::start();
    let (one, two) = (hosting(&postgres.url()).start().await, hosting(&postgres.url()).start().await);
    let bad = operator(&one).push(trapping().component()).await;
    operator(&one).swap(&bad).await;
    let active = async |host: &TestHost| operator(host).slot().await["active"]["id"] == bad.as_str();
    eventually("the other host has it", async || active(&two).await).await;
    eventually("it is the hosts' state", async || {
        operator(&two).slot().await["shared"]["behind"].is_null()
            && postgres.sql("SELECT generation FROM bulkhead_slot") == "1"
    })
    .await;
    postgres.sql("CREATE TABLE backup AS SELECT * FROM bulkhead_slot");
    damage(&postgres, "book = 'null'");
    behind(&two, "cannot be read").await;
    for client in 0..40 {
        ask(&two, client).await;
    }
    eventually("it goes back by itself", async || letter_or_none(&two).await == Some('A')).await;
    assert!(active(&one).await);
    postgres.sql(
        "UPDATE bulkhead_slot SET (stamp, generation, book) = (SELECT stamp, generation, book FROM backup)",
    );
    converge(&[&one, &two], 'A').await;
    for host in [one, two] {
        host.stop().await;
    }
}
