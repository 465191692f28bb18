//! Tests of a slot's resources, and resources for tests of other modules.

#![allow(clippy::unwrap_used)]

use bulkhead_config::{HostSpec, ServiceSpec, Sources, load, slots::Limits, slots::SlotSpec};

use super::*;

const SPEC: SlotSpec = SlotSpec {
    id: SlotId::new("slot"),
    service: "service",
    limits: &Limits::DEFAULT,
    grants: &[],
    uses_models: false,
    component: None,
};

/// Returns the resources of a slot called `slot`.
pub fn resources() -> SlotResources {
    let services = vec![ServiceSpec { name: SPEC.service, slots: &[SPEC] }];
    let spec = HostSpec { services, ..HostSpec::default() };
    let config = load(Sources { root: true, ..Sources::default() }, &spec).unwrap().config;
    let metrics = Arc::new(Metrics::new("/".into(), []).unwrap());
    SlotResources::new(config.slots.get(SPEC.id).unwrap(), metrics)
}

#[test]
fn value_is_found_by_its_type() {
    let mut resources = resources();
    assert_eq!(resources.get::<u32>(), None);
    resources.insert(Arc::new(7_u32));
    resources.insert(Arc::new("text".to_owned()));
    assert_eq!(resources.get::<u32>(), Some(&7));
    assert_eq!(resources.get::<String>().map(String::as_str), Some("text"));
    resources.insert(Arc::new(8_u32));
    assert_eq!(resources.get::<u32>(), Some(&8));
}
