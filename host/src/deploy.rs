//! How versions come to answer: pushed, swapped in, tried on a share of the calls, promoted, rolled back.
//!
//! A version is a component under the settings of its slot. What answers, what answered before and why is a slot's
//! [`Book`]; it is kept in the data folder and replaced whole, before the calls are switched, so that a host that is
//! killed comes back with the old versions or the new ones. Every move stands in an append-only audit log first. A
//! rollback alone counts before it is on disk: its calls fail, and the code that it goes back to is loaded.

mod audit;
mod book;
mod built_in;
mod changes;
mod commit;
mod configured;
mod deployment;
mod diff;
mod error;
mod folder;
mod precompile;
mod predecessor;
mod push;
mod record;
mod rehearsal;
mod reload;
mod restore;
mod roster;
mod shared;
pub mod signature;
mod uncompiled;
mod unwritten;
mod vault;
mod verdict;
mod view;
mod vouch;
mod watch;

#[cfg(test)]
mod tests;

pub use self::{
    audit::{ACCESS, CONFIGURATION, Entry},
    book::{Book, Candidate},
    built_in::{EMBEDDED, Exported},
    changes::{Change, Expected},
    configured::read_configured,
    deployment::Deployment,
    diff::VersionDiff,
    error::DeployError,
    record::{Move, Record, Stage},
    rehearsal::Rehearsed,
    reload::{ConfigurationView, Followed, ReloadError, Reloaded, Reloader, Reversioned, Source, Tokens},
    roster::{Deploy, Report, Roster},
    shared::{DepotError, Shared, SharedView},
    signature::Proof,
    vault::{Vault, VaultError},
    view::{Pushed, ShadowView, SlotView, VersionView},
};

pub use crate::slots::VersionId;

/// Who makes automatic moves.
const HOST: &str = "host";
