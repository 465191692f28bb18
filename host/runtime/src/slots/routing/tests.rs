//! Tests of the traffic split and of the fallback to the predecessor.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{
    rollout::Rollout,
    signatures::Signatures,
    slots::{ComponentSource, Limits, SlotSettings as Settings, SlotSpec},
    watch::Watch,
};
use wasmtime::{Store, component::InstancePre};

use super::*;
use crate::{capabilities::StoreData, compile::ComponentDigest, slots::CallResult};

fn taken(percent: u8, calls: u32, key: impl Fn(u32) -> Option<Vec<u8>>) -> u32 {
    let (split, weight) = (TrafficSplit::default(), Weight::new(percent).unwrap());
    let takes = |call: &u32| split.selects_candidate(weight, SlotId::new("captcha"), key(*call).as_deref());
    u32::try_from((0..calls).filter(takes).count()).unwrap()
}

#[test]
fn split_without_key_is_even() {
    for (percent, most_off) in [(0, 0), (1, 2), (10, 2), (50, 2), (99, 2), (100, 0)] {
        let expected = u32::from(percent) * 10;
        let taken = taken(percent, 1000, |_| None);
        assert!(taken.abs_diff(expected) <= most_off, "{percent} percent took {taken} of 1000");
    }
}

#[test]
fn split_by_key_follows_weight() {
    let taken = taken(10, 10_000, |call| Some(call.to_be_bytes().to_vec()));
    // Ten standard deviations.
    assert!(taken.abs_diff(1000) < 300, "{taken}");
}

#[test]
fn split_keeps_keys_as_weight_grows() {
    let split = TrafficSplit::default();
    for call in 0..1000_u32 {
        let key = call.to_be_bytes();
        let takes = |percent| {
            split.selects_candidate(Weight::new(percent).unwrap(), SlotId::new("captcha"), Some(&key))
        };
        let shares: Vec<bool> = [0, 10, 25, 50, 100].map(takes).into();
        assert!(shares.is_sorted(), "{shares:?}");
        assert_eq!(takes(25), takes(25));
    }
}

/// Hosts of different builds must split alike, so the hash is stable.
#[test]
fn bucket_of_key_is_stable() {
    let bucket = |slot, key: &str| TrafficSplit::default().bucket(slot, Some(key.as_bytes()));
    assert_eq!(bucket(SlotId::new("captcha"), "key"), KNOWN);
    assert_ne!(bucket(SlotId::new("triage"), "key"), KNOWN, "slots split independently");
}

/// From `printf 'captcha\0key' | sha256sum`: the first 8 bytes, times 10000, over 2^64.
const KNOWN: u64 = 4055;

#[test]
fn weight_above_100_is_rejected() {
    assert_eq!(Weight::new(101), None);
    assert_eq!(Weight::new(100).map(Weight::percent), Some(100));
}

/// A world whose components are never run.
struct Unrun;

impl World for Unrun {
    const NAME: &'static str = "test:test/unrun";
    const EXPORTS: &'static [&'static str] = &[];
    type Linked = Arc<()>;

    fn link(_: InstancePre<StoreData>) -> wasmtime::Result<Self::Linked> {
        Ok(Arc::default())
    }

    async fn instantiate(_: &Self::Linked, _: &mut Store<StoreData>) -> wasmtime::Result<Self> {
        Ok(Self)
    }

    async fn self_test(&self, _: &mut Store<StoreData>) -> wasmtime::Result<Result<(), String>> {
        Ok(Ok(()))
    }
}

fn version() -> Arc<Version<Unrun>> {
    let spec = SlotSpec {
        id: SlotId::new("captcha"),
        service: "captcha",
        limits: &Limits::DEFAULT,
        grants: &[],
        uses_models: false,
        component: None,
    };
    let settings = Settings {
        spec,
        table: "slots",
        component: ComponentSource::Embedded,
        limits: Limits::DEFAULT,
        grants: Vec::new(),
        models: None,
        keyvalue: Vec::new(),
        reuse: false,
        rollout: Rollout { circuit_failures: 3, ..Rollout::DEFAULT },
        signatures: Signatures::DEFAULT,
        watch: Watch::DEFAULT,
        config: std::collections::BTreeMap::new(),
    };
    Arc::new(Version::new(ComponentDigest::of(b""), "test", Arc::default(), settings.into()))
}

fn trap(version: &Version<Unrun>, times: usize) {
    for _ in 0..times {
        version.circuit.record(CallResult::Trapped, Instant::now);
    }
}

fn stable(versions: &RoutedVersions<Unrun>) -> Option<u64> {
    versions.stable().ok().map(|version| version.serial)
}

#[test]
fn open_circuit_sends_calls_to_predecessor() {
    let (active, before) = (version(), version());
    let versions = RoutedVersions::new(Arc::clone(&active), None, Some(Arc::clone(&before)));
    trap(&active, 2);
    assert_eq!(stable(&versions), Some(active.serial), "below the threshold nothing changes");
    trap(&active, 1);
    assert_eq!(stable(&versions), Some(before.serial));
    assert!(versions.has_fallen_back());
}

#[test]
fn open_circuit_without_predecessor_refuses_calls() {
    let active = version();
    let versions = RoutedVersions::new(Arc::clone(&active), None, None);
    trap(&active, 3);
    assert_eq!((stable(&versions), versions.fall_back()), (None, false));
}

#[test]
fn late_answer_keeps_predecessor_active() {
    let (active, before) = (version(), version());
    let versions = RoutedVersions::new(Arc::clone(&active), None, Some(Arc::clone(&before)));
    trap(&active, 3);
    assert!(versions.fall_back());
    active.circuit.record(CallResult::Answered, Instant::now);
    assert_eq!(stable(&versions), Some(before.serial));
}

#[test]
fn two_open_circuits_refuse_calls() {
    let (active, before) = (version(), version());
    let versions = RoutedVersions::new(Arc::clone(&active), None, Some(Arc::clone(&before)));
    trap(&active, 3);
    trap(&before, 3);
    assert_eq!(stable(&versions), None);
}

#[test]
fn suspended_candidate_takes_no_calls() {
    let weight = Trial::Canary(Weight::new(100).unwrap());
    let versions = RoutedVersions::new(version(), Some((version(), weight)), None);
    assert!(versions.canary().is_some());
    versions.candidate_suspended.store(true, Ordering::Release);
    assert!(versions.canary().is_none());
}

#[tokio::test]
async fn fresh_copy_outlives_its_version() {
    let original = version();
    trap(&original, 3);
    let (copy, freed) = (original.fresh_copy(), original.freed());
    assert!(Arc::ptr_eq(&copy.linked, &original.linked) && !copy.circuit.is_open());
    assert_ne!(copy.serial, original.serial);
    drop(original);
    freed.await;
    assert_eq!(copy.tally.counts().calls, 0);
}

#[test]
fn slot_without_version_says_why() {
    let refusal = |routing: Routing<Unrun>| routing.versions(SlotId::new("captcha")).err().unwrap();
    let (starting, empty) = (refusal(Routing::Starting), refusal(Routing::Empty("it was refused")));
    assert_eq!((starting.retry_after_seconds(), empty.retry_after_seconds()), (Some(1), None));
    assert_eq!(starting.to_string(), "slot captcha is starting: its component is not ready yet");
    assert_eq!(empty.to_string(), "slot captcha is empty: it was refused");
}
