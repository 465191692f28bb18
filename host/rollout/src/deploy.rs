//! The operations that operators have on a slot, whatever its world: what each needs, returns and refuses.

mod change;
mod diff;
mod error;
mod view;

use std::{sync::Arc, time::Duration};

use bulkhead_config::slots::{SlotId, SlotSettings as Settings};
use bulkhead_runtime::capabilities::LogLine;
use bulkhead_runtime::compile::ComponentDigest;
use futures_util::future::BoxFuture;

use crate::{Proof, SharedView, Stage, VersionId, VersionRecord};

pub use self::{
    change::{Change, Expected},
    diff::VersionDiff,
    error::DeployError,
    view::{Pushed, ShadowView, SlotView, VersionView},
};

/// The name of the embedded component, which is part of the binary, and the source of its versions.
pub const EMBEDDED: &str = "embedded";

/// The bytes of a component.
#[derive(Clone, Debug)]
pub struct Exported {
    /// Its digest.
    pub component: ComponentDigest,
    /// The bytes.
    pub wasm: Arc<[u8]>,
}

/// Receives each stage of a push.
pub type StageReporter = Arc<dyn Fn(Stage) + Send + Sync>;

/// What operators can do with a slot, whatever its world.
pub trait Deploy: Send + Sync + 'static {
    /// Returns the slot's id.
    fn slot(&self) -> SlotId;

    /// Returns what the slot does now.
    fn view(&self) -> SlotView;

    /// Returns how the slot compares with the shared state, if hosts share it.
    fn shared(&self) -> Option<SharedView>;

    /// Returns the findings of the candidate in shadow, if there is one.
    fn shadow(&self) -> Option<ShadowView>;

    /// Returns every remembered version, the oldest first.
    fn history(&self) -> Vec<VersionRecord>;

    /// Compares two remembered versions.
    fn diff(self: Arc<Self>, a: String, b: String) -> BoxFuture<'static, Result<VersionDiff, DeployError>>;

    /// Compiles the version that a rollback returns to, unless the cache has it.
    fn precompile(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Prepares the version that other settings lead to; nothing changes until it is applied.
    fn dry_run(
        self: Arc<Self>,
        settings: Settings,
    ) -> BoxFuture<'static, Result<Box<dyn PreparedChange>, DeployError>>;

    /// Returns the settings of versions that are created now.
    fn settings(&self) -> Arc<Settings>;

    /// Returns how long a call of any of its versions may take at most, with the wait for a permit.
    fn longest_call(&self) -> Duration;

    /// Returns why no version answers.
    fn empty_reason(&self) -> Option<String>;

    /// Returns why another version than the last one has answered since the start, if one does.
    fn fallback_reason(&self) -> Option<String>;

    /// Returns why the configured file is unusable while a stored copy of it answers.
    fn file_fault(&self) -> Option<String>;

    /// Returns why the current state is not on disk, if it is not.
    fn unsaved_reason(&self) -> Option<String>;

    /// Returns why a version answers in place of the active one, if one does.
    fn uncompiled_reason(&self) -> Option<String>;

    /// Loads the version that a rollback returns to after a start, if the active one is still monitored.
    fn hold_predecessor(&self);

    /// Returns the last `limit` lines of the slot's log, the oldest first.
    fn logs(&self, limit: usize) -> Vec<LogLine>;

    /// Prepares a component up to its self-test and reports each stage that it passes, or its refusal.
    fn push(
        self: Arc<Self>,
        wasm: Arc<[u8]>,
        source: String,
        proof: Proof,
        actor: String,
        report: StageReporter,
    ) -> BoxFuture<'static, Result<Pushed, DeployError>>;

    /// Returns the bytes of a remembered version or of the embedded component.
    fn export(self: Arc<Self>, name: String) -> BoxFuture<'static, Result<Exported, DeployError>>;

    /// Changes which versions answer.
    fn change(
        self: Arc<Self>,
        change: Change,
        expected: Expected,
    ) -> BoxFuture<'static, Result<SlotView, DeployError>>;

    /// Ends the changes and background tasks of a slot that is removed, once its state is on disk as far as the disk accepts
    /// it. Later changes are refused.
    fn stop(self: Arc<Self>) -> BoxFuture<'static, ()>;
}

/// A change that has been prepared and can be applied; if it is dropped, nothing happens.
pub trait PreparedChange: Send {
    /// Returns the generation for which it was prepared.
    fn generation(&self) -> u64;

    /// Returns the version that will answer; `None` if the current one stays.
    fn version(&self) -> Option<VersionId>;

    /// Returns a problem that does not prevent the change: the slot's file is unusable.
    fn warning(&self) -> Option<String>;

    /// Applies the change.
    fn apply(self: Box<Self>, expected: Expected) -> BoxFuture<'static, Result<(), DeployError>>;
}
