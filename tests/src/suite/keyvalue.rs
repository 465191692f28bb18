//! Key-value stores in a real PostgreSQL: hosts that share it, and a server that stops.

use std::{sync::Arc, time::Duration};

use bulkhead::{
    clock::HostClock,
    config::{ConfigFile, HostSpec, Sources, load, tables::TableSpec},
};
use bulkhead_keyvalue::{Change, KeyValue, KeyValueError, KeyValueSettings};
use bulkhead_tests::servers::postgres::Postgres;
use tokio::{task::JoinSet, time::Instant};

/// Opens the stores as a host does that has this database.
async fn open(postgres: &Postgres) -> Arc<KeyValue> {
    let text = format!(
        "[keyvalue]\ndatabase = \"{}\"\n[keyvalue.stores.links]\nkeys = 20\nttl_seconds = 3600\n\
         [keyvalue.stores.brief]\nttl_seconds = 1\n",
        postgres.url()
    );
    let file = Some(ConfigFile { name: "bulkhead.toml".to_owned(), text });
    let spec = HostSpec { tables: vec![TableSpec::of::<KeyValueSettings>()], ..HostSpec::default() };
    let loaded = load(Sources { file, root: true, ..Sources::default() }, &spec).unwrap();
    let settings: &KeyValueSettings = loaded.config.table().unwrap();
    let data = "/nonexistent".as_ref();
    KeyValue::open(settings, data, HostClock::system(), &Default::default()).await.unwrap()
}

fn set(key: &str, value: &str) -> Change {
    Change::Set(vec![(key.to_owned(), value.as_bytes().to_vec())])
}

async fn get(stores: &KeyValue, store: &str, key: &str) -> Option<Vec<u8>> {
    stores.values(store, &[key.to_owned()]).await.unwrap().remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn increments_of_several_hosts_add_up() {
    let postgres = Postgres::start();
    // Even where the database's default would let a transaction miss another that was committed while it waited.
    postgres.sql("ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'");
    let hosts = [open(&postgres).await, open(&postgres).await, open(&postgres).await];
    let mut calls = JoinSet::new();
    for number in 0..60 {
        let host = Arc::clone(&hosts[number % hosts.len()]);
        let increment = Change::Increment { key: "hits".to_owned(), delta: 1 };
        calls.spawn(async move { host.write("links", &increment).await.unwrap() });
    }
    let mut sums = calls.join_all().await;
    sums.sort_unstable();
    assert_eq!(sums, Vec::from_iter(1..=60));
    assert_eq!(get(&hosts[0], "links", "hits").await.as_deref(), Some(&b"60"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn quota_holds_across_hosts() {
    let postgres = Postgres::start();
    let hosts = [open(&postgres).await, open(&postgres).await];
    let mut calls = JoinSet::new();
    for number in 0..50 {
        let host = Arc::clone(&hosts[number % hosts.len()]);
        calls.spawn(async move { host.write("links", &set(&number.to_string(), "value")).await });
    }
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 20, "{answers:?}");
    assert_eq!(hosts[0].page("links", None).await.unwrap().keys.len(), 20);
    assert_eq!(postgres.sql("SELECT keys FROM bulkhead_keyvalue_store WHERE store = 'links'"), "20");
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_value_is_gone_and_deleted() {
    let postgres = Postgres::start();
    let stores = open(&postgres).await;
    stores.write("brief", &set("a", "1")).await.unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while get(&stores, "brief", "a").await.is_some() {
        assert!(Instant::now() < until, "it never expires");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(stores.sweep().await, Ok(1));
    assert_eq!(postgres.sql("SELECT keys, bytes FROM bulkhead_keyvalue_store WHERE store = 'brief'"), "0|0");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_server_is_an_outage_until_back() {
    let mut postgres = Postgres::start();
    let stores = open(&postgres).await;
    stores.write("links", &set("a", "1")).await.unwrap();
    stores.probe().await.unwrap();
    postgres.stop();
    assert_eq!(stores.write("links", &set("a", "2")).await, Err(KeyValueError::Unavailable));
    stores.ping().await.unwrap_err();
    stores.probe().await.unwrap_err();
    postgres.restart();
    let until = Instant::now() + Duration::from_secs(30);
    while stores.write("links", &set("a", "3")).await.is_err() {
        assert!(Instant::now() < until, "it never recovers");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(get(&stores, "links", "a").await.as_deref(), Some(&b"3"[..]));
    stores.probe().await.unwrap();
}
