//! Deployment of component versions to slots: push, swap, canary, shadow, promote and roll back.
//!
//! A version is a component together with the settings of its slot. [`SlotState`] records which versions answer,
//! which answered before, and why. The host replaces the state in the data folder as a whole before it switches the
//! calls, so that a host that is killed starts with either the old or the new versions. Every move is appended to
//! the audit log first. Only a rollback takes effect before it is on disk, because calls fail meanwhile and the
//! code that it returns to is already loaded.

mod built_in;
mod changes;
mod commit;
mod compare;
mod configured;
mod deploy;
mod deployment;
mod deployment_registry;
mod dry_run;
mod folder_watch;
mod pending_write;
mod precompile;
mod predecessor;
mod push;
pub mod registry;
mod reload;
mod restore;
mod rollback_criteria;
mod rollback_monitor;
mod shared;
pub mod signature;
mod signature_check;
mod state;
mod uncompiled;

#[cfg(test)]
mod tests;

pub use self::{
    configured::read_configured,
    deploy::{
        Change, Deploy, DeployError, EMBEDDED, Expected, Exported, PreparedChange, Pushed, ShadowView,
        SlotView, StageReporter, VersionDiff, VersionView,
    },
    deployment::Deployment,
    deployment_registry::DeploymentRegistry,
    reload::{
        ConfigSource, ConfigurationView, LiveKeys, ReloadError, Reloaded, Reloader, Reversioned, Tokens,
    },
    shared::{SharedState, SharedStoreError, SharedView},
    signature::Proof,
    state::{
        ACCESS, AuditEntry, CONFIGURATION, Candidate, LocalStore, LocalStoreError, Move, SlotState, Stage,
        VersionRecord,
    },
};
pub use bulkhead_runtime::slots::VersionId;

/// Actor of automatic moves.
const HOST: &str = "host";
