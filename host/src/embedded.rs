//! First-party components, built from source and carried by the binary.

use crate::config::slots::SlotName;

/// The component of a slot, where this binary carries one.
pub const fn component(slot: SlotName) -> Option<&'static [u8]> {
    match slot {
        SlotName::Captcha => Some(include_bytes!(env!("BULKHEAD_COMPONENT_CAPTCHA"))),
        SlotName::Triage => Some(include_bytes!(env!("BULKHEAD_COMPONENT_TRIAGE"))),
        SlotName::Status => Some(include_bytes!(env!("BULKHEAD_COMPONENT_STATUS"))),
        SlotName::Answer => Some(include_bytes!(env!("BULKHEAD_COMPONENT_ANSWER"))),
    }
}
