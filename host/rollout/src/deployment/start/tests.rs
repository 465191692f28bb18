//! Tests of starts that end early.

#![allow(clippy::unwrap_used, clippy::panic)]

use bulkhead_runtime::slots::SlotUnavailable;
use tempfile::TempDir;

use crate::{deployment::configured::ConfiguredResult, tests::deployment};

/// The configured component of a service that has a fault.
async fn panicking() -> ConfiguredResult {
    panic!("no spoons\nare left");
}

#[tokio::test]
async fn panic_ends_the_start_with_reason() {
    let folder = TempDir::new().unwrap();
    let deployment = deployment(folder.path(), "/nowhere".as_ref());
    let refused = deployment.start(panicking()).await.unwrap_err();
    assert!(refused.starts_with("its start has panicked: no spoons; are left; "), "{refused}");
    assert_eq!(deployment.empty_reason.lock().unwrap().as_ref(), Some(&refused));
    assert!(matches!(deployment.slot.active(), Err(SlotUnavailable::Empty { .. })));
}
