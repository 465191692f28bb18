//! Tests of stores in a file of SQLite.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use bulkhead_config::{
    HostSpec,
    slots::{ComponentSource, Limits, SlotId, SlotSettings, SlotSpec},
    tables::TableSpec,
};
use bulkhead_os::{clock::HostClock, damaged_files::DamagedFiles};
use bulkhead_telemetry::MetricSet as _;
use prometheus::Registry;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{
    Change, KeyPage, KeyValue, KeyValueDatabase, KeyValueError, KeyValueMetrics, KeyValueSettings,
    SlotKeyValue, StoreBucket, StoreSettings, metrics::Operation, slot::OpenFailure,
};

const MINUTE: Duration = Duration::from_secs(60);

fn store(keys: u64, bytes: u64, ttl: Option<Duration>) -> StoreSettings {
    StoreSettings { keys, bytes, value_bytes: 100, ttl }
}

/// Stores for tests: `links`, a `small` one, and one that is `brief`.
fn settings() -> KeyValueSettings {
    let stores = BTreeMap::from([
        ("links".to_owned(), store(10_000, 1 << 20, None)),
        ("small".to_owned(), store(10, 100, None)),
        ("brief".to_owned(), store(2, 1 << 20, Some(MINUTE))),
    ]);
    KeyValueSettings { database: KeyValueDatabase::DataFolder, stores }
}

async fn open(folder: &Path, clock: HostClock) -> Arc<KeyValue> {
    KeyValue::open(&settings(), folder, clock, &DamagedFiles::default()).await.unwrap()
}

async fn opened() -> (TempDir, Arc<KeyValue>) {
    let folder = tempfile::tempdir().unwrap();
    let stores = open(folder.path(), HostClock::system()).await;
    (folder, stores)
}

fn slot(stores: &Arc<KeyValue>, allowed: &[&str]) -> Result<SlotKeyValue, KeyValueError> {
    let spec = SlotSpec {
        id: SlotId::new("shop"),
        service: "apps",
        limits: &Limits::DEFAULT,
        grants: &[],
        uses_models: false,
        component: None,
    };
    let mut slot = SlotSettings::new(spec, ComponentSource::Embedded);
    slot.keyvalue = allowed.iter().map(|name| (*name).to_owned()).collect();
    let metrics = KeyValueMetrics::register(&Registry::new()).unwrap().slot(slot.id());
    SlotKeyValue::new(stores, &slot, metrics)
}

/// Returns a bucket of the store `links`, with the folder that it is in.
pub(crate) async fn bucket() -> (TempDir, StoreBucket) {
    let (folder, stores) = opened().await;
    (folder, slot(&stores, &["links"]).unwrap().open("links").unwrap())
}

pub(crate) fn set(key: &str, value: &str) -> Change {
    Change::Set(vec![(key.to_owned(), value.as_bytes().to_vec())])
}

fn increment(key: &str, delta: u64) -> Change {
    Change::Increment { key: key.to_owned(), delta }
}

async fn get(stores: &KeyValue, store: &str, key: &str) -> Option<String> {
    let values = stores.values(store, &[key.to_owned()]).await.unwrap();
    values[0].clone().map(|value| String::from_utf8(value).unwrap())
}

#[tokio::test]
async fn value_is_there_until_deleted() {
    let (folder, stores) = opened().await;
    assert_eq!(get(&stores, "links", "a").await, None);
    stores.write("links", &set("a", "1")).await.unwrap();
    stores.write("links", &set("a", "2")).await.unwrap();
    assert_eq!(get(&stores, "links", "a").await.as_deref(), Some("2"));
    assert_eq!(get(&stores, "small", "a").await, None, "stores are separate");
    stores.close().await;
    let stores = open(folder.path(), HostClock::system()).await;
    assert!(stores.exists("links", "a").await.unwrap());
    let delete = Change::Delete(vec!["a".to_owned(), "b".to_owned()]);
    stores.write("links", &delete).await.unwrap();
    assert!(!stores.exists("links", "a").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn increments_of_many_callers_add_up() {
    let (_folder, stores) = opened().await;
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let stores = Arc::clone(&stores);
        calls.spawn(async move { stores.write("links", &increment("hits", 2)).await.unwrap() });
    }
    let mut sums = calls.join_all().await;
    sums.sort_unstable();
    assert_eq!(sums, Vec::from_iter((1..=50).map(|count| count * 2)));
    assert_eq!(get(&stores, "links", "hits").await.as_deref(), Some("100"));
}

#[tokio::test]
async fn value_other_than_counter_is_refused() {
    let (_folder, stores) = opened().await;
    stores.write("links", &set("a", "one")).await.unwrap();
    let refused = stores.write("links", &increment("a", 1)).await.unwrap_err();
    assert_eq!(refused.to_string(), "the value is not a number in decimal digits");
    stores.write("links", &set("a", &u64::MAX.to_string())).await.unwrap();
    let refused = stores.write("links", &increment("a", 1)).await.unwrap_err();
    assert_eq!(refused.to_string(), "the sum has more than 64 bits");
    assert_eq!(get(&stores, "links", "a").await, Some(u64::MAX.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_stops_at_the_quota() {
    let (_folder, stores) = opened().await;
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let stores = Arc::clone(&stores);
        calls.spawn(async move { stores.write("small", &set(&format!("{number}"), "v")).await });
    }
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 10);
    let refused = answers.into_iter().find_map(Result::err).unwrap();
    assert_eq!(refused.to_string(), "the store is full: it may hold 10 keys");
    let page = stores.page("small", None).await.unwrap();
    assert_eq!((page.keys.len(), page.cursor), (10, None));
    stores.write("small", &Change::Delete(page.keys)).await.unwrap();
    stores.write("small", &set("again", "v")).await.unwrap();
}

#[tokio::test]
async fn bytes_of_replaced_values_are_free() {
    let (_folder, stores) = opened().await;
    let value = "x".repeat(99);
    for _ in 0..3 {
        stores.write("small", &set("a", &value)).await.unwrap();
    }
    let refused = stores.write("small", &set("b", "")).await.unwrap_err();
    assert_eq!(refused.to_string(), "the store is full: it may hold 100 bytes");
    stores.write("small", &set("a", "")).await.unwrap();
    stores.write("small", &set("b", "")).await.unwrap();
}

#[tokio::test]
async fn batch_over_the_quota_changes_nothing() {
    let (_folder, stores) = opened().await;
    stores.write("small", &set("a", "1")).await.unwrap();
    let pairs = (0..10).map(|number| (format!("{number}"), b"2".to_vec()));
    let pairs = std::iter::once(("a".to_owned(), b"2".to_vec())).chain(pairs).collect();
    stores.write("small", &Change::Set(pairs)).await.unwrap_err();
    assert_eq!(get(&stores, "small", "a").await.as_deref(), Some("1"));
    assert_eq!(stores.page("small", None).await.unwrap().keys, ["a"]);
}

#[tokio::test]
async fn sizes_beyond_limits_are_refused() {
    let (_folder, stores) = opened().await;
    let many = Change::Delete(vec!["a".to_owned(); 1001]);
    for (change, text) in [
        (set("", "1"), "a key must have 1 to 1024 bytes, this one has 0"),
        (set(&"k".repeat(1025), "1"), "a key must have 1 to 1024 bytes, this one has 1025"),
        (set("a", &"x".repeat(101)), "a value may have 100 bytes, this one has 101"),
        (many, "a batch may have 1000 keys, this one has 1001"),
    ] {
        assert_eq!(stores.write("links", &change).await.unwrap_err().to_string(), text);
    }
    let cursor = stores.page("links", Some(u64::MAX)).await.unwrap_err();
    assert_eq!(cursor.to_string(), "the cursor is not one of a page");
}

#[tokio::test]
async fn expired_values_are_gone_and_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, control) = HostClock::movable();
    let stores = open(folder.path(), clock).await;
    stores.write("brief", &set("a", "1")).await.unwrap();
    stores.write("brief", &increment("n", 7)).await.unwrap();
    stores.write("brief", &set("b", "1")).await.unwrap_err();
    control.advance(MINUTE);
    assert_eq!(get(&stores, "brief", "a").await, None);
    assert_eq!(stores.page("brief", None).await.unwrap(), KeyPage { keys: Vec::new(), cursor: None });
    assert_eq!(stores.write("brief", &increment("n", 1)).await, Ok(1));
    stores.write("brief", &set("b", "1")).await.unwrap();
    control.advance(MINUTE);
    assert_eq!(stores.sweep().await, Ok(2));
    assert_eq!(stores.sweep().await, Ok(0));
}

#[tokio::test]
async fn pages_hold_every_key_once() {
    let (_folder, stores) = opened().await;
    let keys: Vec<String> = (0..600).map(|number| format!("key-{number:03}")).collect();
    let pairs = keys.iter().map(|key| (key.clone(), Vec::new())).collect();
    stores.write("links", &Change::Set(pairs)).await.unwrap();
    let (mut listed, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = stores.page("links", cursor).await.unwrap();
        listed.extend(page.keys);
        (cursor, pages) = (page.cursor, pages + 1);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((listed, pages), (keys, 3));
}

#[tokio::test]
async fn slot_opens_its_stores_only() {
    let (_folder, stores) = opened().await;
    let shop = slot(&stores, &["links"]).unwrap();
    assert!(shop.open("links").is_ok());
    assert_eq!(shop.open("small").unwrap_err(), OpenFailure::Denied);
    assert_eq!(shop.grant("small"), "keyvalue = [\"links\", \"small\"]");
    assert_eq!(shop.open("none").unwrap_err(), OpenFailure::NoSuchStore);
    let refused = slot(&stores, &["none"]).unwrap_err().to_string();
    assert!(refused.ends_with("which does not exist; add [keyvalue.stores.none]"), "{refused}");
}

#[tokio::test]
async fn operations_are_counted_by_outcome() {
    let (_folder, bucket) = bucket().await;
    bucket.write(&set("a", "1")).await.unwrap();
    bucket.write(&set("", "1")).await.unwrap_err();
    assert_eq!(bucket.ended(Operation::Set, "ok"), 1);
    assert_eq!(bucket.ended(Operation::Set, "refused"), 1);
}

#[tokio::test]
async fn probe_writes_to_no_store() {
    let (_folder, stores) = opened().await;
    assert!(stores.is_reached() && stores.disk_fault().is_none());
    for _ in 0..2 {
        stores.ping().await.unwrap();
        stores.probe().await.unwrap();
    }
    assert_eq!(stores.page("links", None).await.unwrap(), KeyPage { keys: Vec::new(), cursor: None });
    stores.close().await;
    stores.ping().await.unwrap_err();
    stores.probe().await.unwrap_err();
}

#[tokio::test]
async fn closed_or_damaged_file_shows_no_details() {
    let (folder, stores) = opened().await;
    stores.close().await;
    let error = stores.write("links", &set("a", "1")).await.unwrap_err();
    assert_eq!(error, KeyValueError::Unavailable);
    assert_eq!(error.to_string(), "the key-value store does not answer");
    let (file, damaged_files) = (folder.path().join("keyvalue.sqlite"), DamagedFiles::default());
    std::fs::write(&file, "no database").unwrap();
    let opened = KeyValue::open(&settings(), folder.path(), HostClock::system(), &damaged_files).await;
    opened.unwrap().write("links", &set("a", "2")).await.unwrap();
    let aside = std::fs::read(damaged_files.all().get(&file).unwrap()).unwrap();
    assert_eq!(aside, b"no database");
}

#[tokio::test]
async fn unusable_path_is_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("keyvalue.sqlite")).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let elsewhere = KeyValueDatabase::Sqlite(folder.path().join("file").join("keyvalue.sqlite"));
    for settings in [settings(), KeyValueSettings { database: elsewhere, ..settings() }] {
        let damaged_files = DamagedFiles::default();
        let opened = KeyValue::open(&settings, folder.path(), HostClock::system(), &damaged_files).await;
        let refused = opened.unwrap_err();
        assert!(refused.to_string().ends_with("check keyvalue.database"), "{refused}");
    }
}

#[test]
fn settings_are_read_and_checked() {
    let tables = vec![TableSpec::of::<KeyValueSettings>()];
    let spec = HostSpec { tables, ..HostSpec::default() };
    let loaded = bulkhead_configured::loaded(
        &spec,
        "[keyvalue.stores.links]\nkeys = 5\nttl_seconds = 60\n[keyvalue.stores.other]",
        &[],
    );
    let settings: &KeyValueSettings = loaded.config.table().unwrap();
    assert_eq!(Vec::from_iter(settings.names()), ["links", "other"]);
    assert_eq!((settings.stores["links"].keys, settings.stores["links"].ttl), (5, Some(MINUTE)));
    assert_eq!(settings.stores["other"].ttl, None);
    bulkhead_configured::each_refused(
        &spec,
        &[
            ("[keyvalue]\ndatabase = 'mysql://u:p@h/n'", "keyvalue.database: must be sqlite:PATH or"),
            ("[keyvalue.stores.Links]", "keyvalue.stores.Links: must have 1 to 64"),
            ("[keyvalue.stores.links]\nkeys = 0", "keyvalue.stores.links.keys: must be from 1"),
        ],
    );
}
