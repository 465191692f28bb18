//! Tests of operations in live and shadow calls.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bulkhead_runtime::capabilities::Recording;

use super::*;
use crate::tests::{bucket, set};

fn increment(delta: u64) -> Change {
    Change::Increment { key: "hits".to_owned(), delta }
}

async fn get(shadow: &ShadowMode, bucket: &StoreBucket, key: &str) -> Option<Vec<u8>> {
    read(shadow, bucket, key.to_owned()).await.unwrap()
}

fn pair() -> (ShadowMode, ShadowMode) {
    let recording = Arc::new(Recording::new(1 << 20));
    (ShadowMode::Record(Arc::clone(&recording)), ShadowMode::Replay(recording))
}

#[tokio::test]
async fn shadow_call_writes_to_an_overlay() {
    let (_folder, bucket) = bucket().await;
    let (live, shadowing) = (ShadowMode::Off, pair().1);
    write(&live, &bucket, set("a", "live")).await.unwrap();
    write(&live, &bucket, increment(7)).await.unwrap();
    write(&shadowing, &bucket, set("a", "shadowing")).await.unwrap();
    write(&shadowing, &bucket, Change::Delete(vec!["b".to_owned()])).await.unwrap();
    assert_eq!(write(&shadowing, &bucket, increment(1)).await.unwrap(), 8);
    assert_eq!(write(&shadowing, &bucket, increment(1)).await.unwrap(), 9);
    assert_eq!(get(&shadowing, &bucket, "a").await.as_deref(), Some(&b"shadowing"[..]));
    assert!(!exists(&shadowing, &bucket, "b".to_owned()).await.unwrap());
    let keys = vec!["hits".to_owned(), "a".to_owned(), "none".to_owned()];
    let pairs = read_many(&shadowing, &bucket, keys.clone()).await.unwrap();
    let values: Vec<_> = pairs.into_iter().map(|pair| pair.map(|(_, value)| value)).collect();
    assert_eq!(values, [Some(b"9".to_vec()), Some(b"shadowing".to_vec()), None]);
    assert_eq!(get(&live, &bucket, "a").await.as_deref(), Some(&b"live"[..]));
    assert_eq!(get(&live, &bucket, "hits").await.as_deref(), Some(&b"7"[..]));
    assert_eq!(get(&pair().1, &bucket, "a").await.as_deref(), Some(&b"live"[..]), "it ends with its call");
}

#[tokio::test]
async fn shadow_is_answered_as_the_live_call() {
    let (_folder, bucket) = bucket().await;
    let (live, shadow) = pair();
    assert_eq!(write(&live, &bucket, increment(1)).await.unwrap(), 1);
    assert_eq!(get(&live, &bucket, "a").await, None);
    write(&ShadowMode::Off, &bucket, set("a", "later")).await.unwrap();
    write(&ShadowMode::Off, &bucket, increment(10)).await.unwrap();
    assert_eq!(write(&shadow, &bucket, increment(1)).await.unwrap(), 1);
    assert_eq!(get(&shadow, &bucket, "hits").await.as_deref(), Some(&b"1"[..]));
    assert_eq!(get(&shadow, &bucket, "a").await, None);
    assert_eq!(get(&ShadowMode::Off, &bucket, "hits").await.as_deref(), Some(&b"11"[..]));
}

#[tokio::test]
async fn shadow_call_has_limits_of_a_write() {
    let (_folder, bucket) = bucket().await;
    let shadowing = pair().1;
    let refused = write(&shadowing, &bucket, set("", "1")).await.unwrap_err();
    assert!(matches!(refused, Error::Other(text) if text.starts_with("a key must have")));
    let value = "x".repeat(100);
    let mut writes = 0;
    let refused = loop {
        match write(&shadowing, &bucket, set(&format!("key-{writes}"), &value)).await {
            Ok(_) => writes += 1,
            Err(error) => break error,
        }
        assert!(writes < 100_000);
    };
    assert!(matches!(refused, Error::Other(text) if text.starts_with("a shadow call")));
}
