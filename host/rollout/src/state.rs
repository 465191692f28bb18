//! The state of a slot: its versions and their moves, which of them answer, and the data folder that keeps all that.

mod audit;
mod local_store;
mod record;
mod slot_state;

pub use self::{
    audit::{ACCESS, AuditEntry, CONFIGURATION},
    local_store::{LocalStore, LocalStoreError, SignedBytes},
    record::{Move, Stage, VersionRecord},
    slot_state::{Candidate, SlotState},
};

pub(super) use self::local_store::{Blob, StagedComponent};
