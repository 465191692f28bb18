//! What operators are told about the configuration.

use serde::Serialize;

use crate::deploy::{Move, VersionId};

/// What came of reading the configuration anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reloaded {
    /// The configuration's revision.
    pub revision: VersionId,
    /// Keys that have changed and count now.
    pub live: Vec<String>,
    /// Keys that have changed and count once the host is restarted.
    pub restart: Vec<String>,
    /// Slots whose component answers under other settings now.
    pub versions: Vec<Reversioned>,
    /// What is amiss though nothing was refused: components' files that are of no use.
    pub warnings: Vec<String>,
}

/// A slot that has another version by its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reversioned {
    /// Which.
    pub slot: &'static str,
    /// The version that answers; a rollback goes back to the one before, and its settings.
    pub version: VersionId,
}

/// The configuration that counts.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigurationView {
    /// Its revision.
    pub revision: VersionId,
    /// How often it has been read anew or undone since the host's start.
    pub generation: u64,
    /// Since when, by whom and why; the stage is `active`.
    #[serde(flatten)]
    pub last: Move,
    /// The revision that an undo goes back to.
    pub previous: Option<VersionId>,
    /// Keys whose values wait for a restart.
    pub restart: Vec<String>,
    /// The last attempt to read it anew, where that has failed.
    pub refused: Option<Move>,
}
