//! The watched folder, whose new files become candidates.
//!
//! Only files that are moved into the folder are used (`mv` or a rename), because they are complete, while a file
//! that is written in place may be incomplete at any moment. The kernel reports the two differently. A replaced
//! link counts as a move, too, whether it is a file of the folder, lies between such a file and its content
//! (`..data` of Kubernetes' volumes), or leads to the folder (git-sync). File systems that do not report renames
//! (network mounts that others write to) cannot be watched.

mod events;
mod files;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use bulkhead_config::{slots::SlotSettings, watch::Watch};
use bulkhead_runtime::background;
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{Weight, World};
use bulkhead_telemetry::one_line;
use tokio::time::{Instant, sleep_until};

use self::{
    events::{FolderEvents, listen},
    files::{
        FileSelection, FolderScan, Unsettled, find_newest, is_linked, is_valid_name, read_component_file,
        scan,
    },
};
use super::Deployment;
use crate::{Change, Expected, HOST, VersionId};

/// Reason of a trial of a folder's file.
const REASON: &str = "moved into the watched folder";
/// The rule for names of component files.
const NAME_RULE: &str = "components are called NAME.wasm with letters, digits, `.`, `_` and `-`";

/// Shortest pause before files that may be incomplete are read again.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// What is known of a watched folder.
#[derive(Debug, Default)]
struct FolderState {
    /// Components by name as they were last seen.
    seen: BTreeMap<String, ComponentDigest>,
    /// Logged reasons why names are ignored.
    ignored: BTreeMap<String, String>,
    /// Files that existed at the start and may be incomplete, and when they are read again.
    unsettled: Option<(Instant, Vec<String>)>,
}

impl FolderState {
    /// Records why a name is ignored; returns whether that is not logged yet.
    fn ignore(&mut self, name: &str, reason: &str) -> bool {
        self.ignored.insert(name.to_owned(), reason.to_owned()).is_none_or(|logged| logged != reason)
    }

    fn wait_for(&mut self, unsettled: Option<Unsettled>) {
        self.unsettled =
            unsettled.map(|Unsettled { names, wait }| (Instant::now() + wait.max(MIN_WAIT), names));
    }
}

/// Returns the slot's settings of the watched folder.
fn watch_settings(settings: &SlotSettings) -> Watch {
    settings.watch.clone()
}

impl<W: World> Deployment<W> {
    /// Watches the slot's folder, if it has one, for as long as the deployment lives.
    pub(super) fn watch_folder(&self) {
        let slot = self.slot.name().as_str();
        let Some(folder) = watch_settings(&self.slot.settings()).folder else { return };
        let mut receiver = match listen(&folder) {
            Ok(receiver) => receiver,
            Err(error) => {
                tracing::error!(slot, folder = %folder.display(), %error, "the folder is not watched; restart to try again");
                return;
            }
        };
        let deployment = self.weak();
        self.spawn(async move {
            let mut known = FolderState::default();
            if let Some(deployment) = deployment.upgrade() {
                // Files may have been added while the host was stopped.
                deployment.ingest_existing(&folder, &mut known).await;
            }
            loop {
                let settling = known.unsettled.as_ref().map(|(at, _)| *at);
                let events = tokio::select! {
                    events = receiver.recv() => Some(events),
                    () = sleep_until(settling.unwrap_or_else(Instant::now)), if settling.is_some() => None,
                };
                let Some(deployment) = deployment.upgrade() else { return };
                match events {
                    None => deployment.ingest_settled(&folder, &mut known).await,
                    Some(None) => return,
                    Some(Some(Ok(events))) => deployment.handle_events(&folder, events, &mut known).await,
                    Some(Some(Err(error))) => {
                        tracing::error!(slot, %error, "the folder is no longer watched; restart to watch it again");
                        return;
                    }
                }
            }
        });
    }

    async fn handle_events(&self, folder: &Path, events: FolderEvents, known: &mut FolderState) {
        let slot = self.slot.name().as_str();
        for (name, why) in events.ignored {
            self.ignore(known, &name, why);
        }
        for name in &events.moved_in {
            known.ignored.remove(name);
            self.ingest_file(folder, name, false).await;
        }
        if events.links_changed || events.retargeted {
            let selection = if events.retargeted { FileSelection::All } else { FileSelection::Links };
            self.ingest_replaced(folder, selection, known).await;
        }
        if events.recreated {
            tracing::info!(slot, folder = %folder.display(), "the folder exists again and is watched");
            self.ingest_existing(folder, known).await;
        }
        if events.overflowed {
            tracing::warn!(
                slot,
                "too many files were moved into the folder at once; move those in again that are missing"
            );
        }
        if events.removed {
            tracing::error!(
                slot,
                folder = %folder.display(),
                "the watched folder is missing; create it and it is watched again"
            );
        }
    }

    /// Logs once why a name is ignored.
    fn ignore(&self, known: &mut FolderState, name: &str, why: &str) {
        if known.ignore(name, why) {
            tracing::warn!(slot = self.slot.name().as_str(), name, "the file is ignored: {why}");
        }
    }

    /// Tries the newest file in the folder if its component is unknown.
    async fn ingest_existing(&self, folder: &Path, known: &mut FolderState) {
        let selection = if is_linked(folder) { FileSelection::All } else { FileSelection::Links };
        let Ok(FolderScan { seen, ignored }) = self.scan(folder, selection).await else { return };
        for (name, why) in &ignored {
            self.ignore(known, name, why);
        }
        known.seen = seen;
        self.ingest_newest(folder, selection, known, move |name| !ignored.contains_key(name)).await;
    }

    /// Checks again the files that may have been incomplete.
    async fn ingest_settled(&self, folder: &Path, known: &mut FolderState) {
        let Some((_, names)) = known.unsettled.take() else { return };
        self.ingest_newest(folder, FileSelection::Links, known, move |name| {
            names.iter().any(|known| known == name)
        })
        .await;
    }

    async fn ingest_newest(
        &self,
        folder: &Path,
        selection: FileSelection,
        known: &mut FolderState,
        wanted: impl Fn(&str) -> bool + Send + 'static,
    ) {
        let path = folder.to_owned();
        let Ok(Ok(found)) = background::run(move || find_newest(&path, selection, wanted)).await else {
            return;
        };
        for (name, why) in found.ignored {
            self.ignore(known, &name, why);
        }
        known.wait_for(found.unsettled);
        if let Some(name) = found.newest {
            known.ignored.remove(&name);
            self.ingest_file(folder, &name, true).await;
        }
    }

    async fn scan(&self, folder: &Path, selection: FileSelection) -> io::Result<FolderScan> {
        let (path, cap) = (folder.to_owned(), self.slot.context.sandbox.component_bytes);
        background::run(move || scan(&path, selection, cap)).await.map_err(io::Error::other)?
    }

    /// Tries the components that a replaced link leads to, if they have changed or are unknown.
    async fn ingest_replaced(&self, folder: &Path, selection: FileSelection, known: &mut FolderState) {
        let FolderScan { seen: now, ignored } = match self.scan(folder, selection).await {
            Ok(looked) => looked,
            Err(error) => {
                tracing::warn!(slot = self.slot.name().as_str(), %error, "the folder cannot be read");
                return;
            }
        };
        for (name, why) in &ignored {
            self.ignore(known, name, why);
        }
        for (name, digest) in &now {
            known.ignored.remove(name);
            self.ingest_file(folder, name, known.seen.get(name) == Some(digest)).await;
        }
        if selection == FileSelection::All {
            known.seen.clear();
        }
        known.seen.extend(now);
    }

    /// Makes a file a candidate, or logs why not; with `only_unknown` only if its component is unknown.
    async fn ingest_file(&self, folder: &Path, name: &str, only_unknown: bool) {
        let slot = self.slot.name().as_str();
        if Path::new(name).extension() == Some(OsStr::new("minisig")) {
            return;
        }
        if !is_valid_name(name) {
            tracing::warn!(slot, name, "the file is ignored: {NAME_RULE}");
            return;
        }
        match self.start_canary(folder.to_owned(), name.to_owned(), only_unknown).await {
            Ok(Some(version)) => {
                tracing::info!(slot, name, version = version.as_str(), "the folder's file is a candidate");
            }
            Ok(None) if only_unknown => {}
            Ok(None) => tracing::info!(slot, name, "the folder's file is active or the candidate already"),
            Err(reason) => {
                let reason = one_line(&reason);
                tracing::warn!(slot, name, reason, "the folder's file is not a candidate");
            }
        }
    }

    async fn start_canary(
        &self,
        folder: PathBuf,
        name: String,
        only_unknown: bool,
    ) -> Result<Option<VersionId>, String> {
        let (cap, source) =
            (self.slot.context.sandbox.component_bytes, folder.join(&name).display().to_string());
        let read = background::run(move || read_component_file(&folder, &name, cap));
        let (wasm, proof) =
            read.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let component = ComponentDigest::of(&wasm).to_string();
        let is_known = self.state().versions.iter().any(|record| record.component == component);
        if only_unknown && is_known || self.state().serves_component(&component) {
            return Ok(None);
        }
        let taken = self.ingest(wasm, &source, proof, HOST, &|_| {}).await;
        let taken = taken.map_err(|error| error.to_string())?.record;
        let watch = watch_settings(&self.slot.settings());
        let weight = Weight::new(watch.weight).unwrap_or_default();
        let change = Change::Canary(Some(taken.id.to_string()), weight);
        let expected = Expected {
            generation: self.state().generation,
            actor: HOST.to_owned(),
            reason: REASON.to_owned(),
        };
        self.apply(&change, &expected).await.map_err(|error| error.to_string())?;
        self.slot.metrics.rollout(change.as_str());
        Ok(Some(taken.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_logged_once() {
        let mut known = FolderState::default();
        let mut logged = |reason| known.ignore("a.wasm", reason);
        assert_eq!(["one", "one", "other", "other"].map(&mut logged), [true, false, true, false]);
    }
}
