//! Deployment of component versions to slots: push, swap, canary, shadow, promote and roll back.
//!
//! A version is a component together with the settings of its slot. [`SlotState`] records which versions answer,
//! which answered before, and why. The host replaces the state in the data folder as a whole before it switches the
//! calls, so that a host that is killed starts with either the old or the new versions. Every move is appended to
//! the audit log first. Only a rollback takes effect before it is on disk, because calls fail meanwhile and the
//! code that it returns to is already loaded.
//!
//! Its modules, each of which uses only those below it:
//!
//! ```text
//! reload                the configuration of every slot while the host runs
//! deployment_registry   the slots of a host
//! slot_claim            ids of slots that services add while the host runs
//! deployment            one slot: each operation has a file of its own
//! deploy                what operators ask of a slot, the answers and the errors
//! shared, signature     the state that several hosts share; signatures of components
//! state                 versions, their moves, and the data folder
//! ```

mod deploy;
mod deployment;
mod deployment_registry;
mod reload;
mod shared;
pub mod signature;
mod slot_claim;
mod state;

#[cfg(test)]
mod tests;

pub use self::{
    deploy::{
        Change, Deploy, DeployError, EMBEDDED, Expected, Exported, PreparedChange, Pushed, ShadowView,
        SlotView, StageReporter, VersionDiff, VersionView,
    },
    deployment::{Deployment, read_configured},
    deployment_registry::DeploymentRegistry,
    reload::{
        Ceiling, ConfigSource, ConfigurationView, LiveKeys, ReloadError, Reloaded, Reloader, Reversioned,
        Tokens,
    },
    shared::{SharedState, SharedStoreError, SharedView},
    signature::Proof,
    slot_claim::{SlotClaim, SlotClaimError},
    state::{
        ACCESS, AuditEntry, CONFIGURATION, Candidate, LocalStore, LocalStoreError, Move, SignedBytes,
        SlotState, Stage, VersionRecord,
    },
};
pub use bulkhead_runtime::slots::VersionId;

/// Actor of automatic moves.
const HOST: &str = "host";
