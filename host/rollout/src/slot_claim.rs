//! Claims of slot ids by services that add slots while the host runs.

use std::{collections::BTreeSet, sync::Arc};

use bulkhead_config::{slot_id::MAX_SLOTS, slots::SlotId};
use bulkhead_telemetry::Metrics;
use tokio::sync::watch;

use super::{ACCESS, CONFIGURATION};

/// The error of a slot that a service cannot add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotClaimError {
    /// Its id is in use.
    #[error("the host has a slot {0}, or a call of one that was removed has not ended; choose another id")]
    Taken(SlotId),
    /// Its id names entries of the audit log that belong to no slot.
    #[error("the name {0} is reserved; choose another id")]
    Reserved(SlotId),
    /// The host has too many slots.
    #[error("the host has {} slots, the most that it takes; remove one first", MAX_SLOTS)]
    TooMany,
}

/// The ids of slots that services have added, each until the slot is freed.
#[derive(Debug, Default)]
pub(super) struct AddedSlots(Arc<watch::Sender<BTreeSet<SlotId>>>);

/// The claim to the id of a slot that is added while the host runs. The slot's resources hold it. With the last of them,
/// after the slot's last call, the id is free and the slot's series are removed.
#[derive(Debug)]
pub struct SlotClaim {
    id: SlotId,
    added: Arc<watch::Sender<BTreeSet<SlotId>>>,
    metrics: Arc<Metrics>,
}

impl Drop for SlotClaim {
    fn drop(&mut self) {
        self.metrics.remove_slot(self.id);
        self.added.send_modify(|ids| {
            ids.remove(&self.id);
        });
    }
}

impl AddedSlots {
    /// Claims an id beside those of the `configured` slots.
    pub(super) fn claim(
        &self,
        id: SlotId,
        configured: &[SlotId],
        metrics: &Arc<Metrics>,
    ) -> Result<SlotClaim, SlotClaimError> {
        let mut result = Ok(());
        self.0.send_if_modified(|ids| {
            if [ACCESS, CONFIGURATION].contains(&id.as_str()) {
                result = Err(SlotClaimError::Reserved(id));
            } else if configured.contains(&id) || ids.contains(&id) {
                result = Err(SlotClaimError::Taken(id));
            } else if configured.len() + ids.len() >= MAX_SLOTS {
                result = Err(SlotClaimError::TooMany);
            }
            result.is_ok() && ids.insert(id)
        });
        result.map(|()| SlotClaim { id, added: Arc::clone(&self.0), metrics: Arc::clone(metrics) })
    }

    /// Returns whether a service has added a slot with this id.
    pub(super) fn contains(&self, id: SlotId) -> bool {
        self.0.borrow().contains(&id)
    }

    /// Waits until a slot is freed.
    pub(super) async fn freed(&self, id: SlotId) {
        // The sender is here, so that there is no error.
        let _ = self.0.subscribe().wait_for(|ids| !ids.contains(&id)).await.map(drop);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const ID: SlotId = SlotId::new("slot");
    const OTHER: SlotId = SlotId::new("other");

    fn metrics() -> Arc<Metrics> {
        Arc::new(Metrics::new("/".into(), []).unwrap())
    }

    #[tokio::test]
    async fn id_is_claimed_until_dropped() {
        let (added, metrics) = (AddedSlots::default(), metrics());
        assert_eq!(added.claim(OTHER, &[OTHER], &metrics).unwrap_err(), SlotClaimError::Taken(OTHER));
        let claim = added.claim(ID, &[OTHER], &metrics).unwrap();
        metrics.add_slot(ID);
        assert_eq!(added.claim(ID, &[OTHER], &metrics).unwrap_err(), SlotClaimError::Taken(ID));
        assert!(added.contains(ID));
        let drop_later = async {
            tokio::task::yield_now().await;
            drop(claim);
        };
        tokio::join!(added.freed(ID), drop_later);
        assert_eq!(metrics.slots().len(), 0);
        added.claim(ID, &[OTHER], &metrics).unwrap();
    }

    #[test]
    fn names_of_the_audit_log_are_reserved() {
        let (added, metrics) = (AddedSlots::default(), metrics());
        for name in [ACCESS, CONFIGURATION] {
            let id = SlotId::parse(name).unwrap();
            assert_eq!(added.claim(id, &[], &metrics).unwrap_err(), SlotClaimError::Reserved(id));
        }
    }

    #[test]
    fn one_slot_too_many_is_refused() {
        let (added, metrics) = (AddedSlots::default(), metrics());
        let id = |number: usize| SlotId::parse(&format!("slot-{number}")).unwrap();
        let claim = |number| added.claim(id(number), &[OTHER], &metrics);
        let claims: Vec<_> = (1..MAX_SLOTS).map(|number| claim(number).unwrap()).collect();
        assert_eq!(claim(MAX_SLOTS).unwrap_err(), SlotClaimError::TooMany);
        drop(claims);
        claim(MAX_SLOTS).unwrap();
    }
}
