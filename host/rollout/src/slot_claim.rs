//! Claims of slot ids by services that add slots while the host runs.

use std::{collections::BTreeMap, sync::Arc};

use bulkhead_config::{
    slot_id::{MAX_SLOTS, RESERVED},
    slots::SlotId,
};
use bulkhead_telemetry::Metrics;
use tokio::sync::watch;

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
pub(super) struct AddedSlots(Arc<watch::Sender<ClaimedIds>>);

/// The claimed ids, each with the numbers of its claims, the slot's that has it now last: an id that is free may be claimed
/// again at once, and a slot may take the place of one whose calls have not ended.
#[derive(Debug, Default)]
struct ClaimedIds {
    claims: BTreeMap<SlotId, Vec<u64>>,
    last: u64,
}

/// The claim to the id of a slot that is added while the host runs. The slot's resources hold it. With the last of them,
/// after the slot's last call, the id is free and the slot's series are removed, unless a successor has both.
#[derive(Debug)]
pub struct SlotClaim {
    id: SlotId,
    number: u64,
    added: Arc<watch::Sender<ClaimedIds>>,
    metrics: Arc<Metrics>,
}

impl Drop for SlotClaim {
    fn drop(&mut self) {
        self.added.send_modify(|ids| {
            let Some(numbers) = ids.claims.get_mut(&self.id) else { return };
            numbers.retain(|number| *number != self.number);
            if numbers.is_empty() {
                // Under the lock, so that a slot that claims the id next keeps its series.
                self.metrics.remove_slot(self.id);
                ids.claims.remove(&self.id);
            }
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
        self.claim_as(id, configured, metrics, |ids| !ids.claims.contains_key(&id))
    }

    /// Claims an id beside those of the `configured` slots, also one that an added slot has.
    pub(super) fn claim_successor(
        &self,
        id: SlotId,
        configured: &[SlotId],
        metrics: &Arc<Metrics>,
    ) -> Result<SlotClaim, SlotClaimError> {
        self.claim_as(id, configured, metrics, |_| true)
    }

    fn claim_as(
        &self,
        id: SlotId,
        configured: &[SlotId],
        metrics: &Arc<Metrics>,
        may_have: impl FnOnce(&ClaimedIds) -> bool,
    ) -> Result<SlotClaim, SlotClaimError> {
        let mut result = Err(SlotClaimError::Taken(id));
        self.0.send_if_modified(|ids| {
            if configured.contains(&id) || !may_have(ids) {
                return false;
            }
            result = ids.add(id, configured.len());
            result.is_ok()
        });
        let (added, metrics) = (Arc::clone(&self.0), Arc::clone(metrics));
        result.map(|number| SlotClaim { id, number, added, metrics })
    }

    /// Returns whether a service has added a slot with this id.
    pub(super) fn contains(&self, id: SlotId) -> bool {
        self.0.borrow().claims.contains_key(&id)
    }

    /// Returns a future that completes once the slots that have this id now are freed.
    pub(super) fn freed(&self, id: SlotId) -> impl Future<Output = ()> + Send + use<> {
        let mut added = self.0.subscribe();
        let claims = added.borrow().claims.get(&id).cloned().unwrap_or_default();
        async move {
            let is_freed = |ids: &ClaimedIds| {
                let now = ids.claims.get(&id).map_or::<&[u64], _>(&[], Vec::as_slice);
                !claims.iter().any(|number| now.contains(number))
            };
            // The error means that the host is gone.
            let _ = added.wait_for(is_freed).await.map(drop);
        }
    }
}

impl ClaimedIds {
    /// Adds a claim to an id beside so many `configured` ones, and returns its number.
    fn add(&mut self, id: SlotId, configured: usize) -> Result<u64, SlotClaimError> {
        if RESERVED.contains(&id.as_str()) {
            return Err(SlotClaimError::Reserved(id));
        }
        if !self.claims.contains_key(&id) && configured + self.claims.len() >= MAX_SLOTS {
            return Err(SlotClaimError::TooMany);
        }
        self.last += 1;
        self.claims.entry(id).or_default().push(self.last);
        Ok(self.last)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{ACCESS, CONFIGURATION};

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

    #[tokio::test]
    async fn freed_slot_is_not_its_successor() {
        let (added, metrics) = (AddedSlots::default(), metrics());
        let freed = {
            let _claim = added.claim(ID, &[], &metrics).unwrap();
            added.freed(ID)
        };
        let _claim = added.claim(ID, &[], &metrics).unwrap();
        freed.await;
        assert!(added.contains(ID));
    }

    #[tokio::test]
    async fn successor_keeps_id_and_series() {
        let (added, metrics) = (AddedSlots::default(), metrics());
        let first = added.claim(ID, &[], &metrics).unwrap();
        metrics.add_slot(ID);
        let freed = added.freed(ID);
        let second = added.claim_successor(ID, &[], &metrics).unwrap();
        assert_eq!(added.claim_successor(ID, &[ID], &metrics).unwrap_err(), SlotClaimError::Taken(ID));
        drop(first);
        freed.await;
        assert!(added.contains(ID));
        assert_eq!(metrics.slots().len(), 1);
        drop(second);
        assert!(!added.contains(ID));
        assert_eq!(metrics.slots().len(), 0);
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
