//! A folder whose new files become candidates.
//!
//! Only what is moved into the folder is taken (`mv`, or a program's rename): such a file is whole, while one that is
//! written there may be half of one at any moment. The kernel tells the two apart, so nothing is guessed. A link that is
//! replaced is a move, too, whether it is a file of the folder, lies between such a file and what it holds (`..data` of
//! Kubernetes' volumes), or leads to the folder (git-sync). File systems that do not report renames (network mounts
//! written to by others) cannot be watched.

mod events;
mod files;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use self::{
    events::{News, listen},
    files::{Which, component, fits, is_linked, look, settled},
};
use super::{Change, Deployment, Expected, HOST, VersionId};
use crate::{
    background,
    compile::ComponentDigest,
    config::{slots::Slot, watch::Watch},
    slots::{Weight, World},
    telemetry::one_line,
};

/// Why a folder's file is tried.
const REASON: &str = "moved into the watched folder";
/// What a component's file must be called.
const NAMES: &str = "components are called NAME.wasm, of letters, digits, `.`, `_` and `-`";

/// Components of a folder by name, as they were seen last.
type Seen = BTreeMap<String, ComponentDigest>;

/// Where a slot's new components are looked for, and what becomes of them.
fn watch(settings: &Slot) -> Watch {
    settings.watch.clone()
}

impl<W: World> Deployment<W> {
    /// Takes what is moved into the slot's folder, where it has one, for as long as the deployment lives.
    pub(super) fn watch_folder(&self) {
        let slot = self.slot.name().as_str();
        let Some(folder) = watch(&self.slot.settings()).folder else { return };
        let mut told = match listen(&folder) {
            Ok(told) => told,
            Err(error) => {
                tracing::error!(slot, folder = %folder.display(), %error, "the folder is not watched; restart to try again");
                return;
            }
        };
        let deployment = self.weak();
        self.spawn(async move {
            let mut seen = Seen::new();
            if let Some(deployment) = deployment.upgrade() {
                let which = if is_linked(&folder) { Which::All } else { Which::Links };
                seen = deployment.look(&folder, which).await.unwrap_or_default();
                // What came while the host was down.
                deployment.take_settled(&folder).await;
            }
            while let Some(news) = told.recv().await {
                let Some(deployment) = deployment.upgrade() else { return };
                match news {
                    Ok(news) => deployment.take_news(&folder, news, &mut seen).await,
                    Err(error) => {
                        tracing::error!(slot, %error, "the folder is watched no more; restart to watch it again");
                        return;
                    }
                }
            }
        });
    }

    async fn take_news(&self, folder: &Path, news: News, seen: &mut Seen) {
        let slot = self.slot.name().as_str();
        for (name, why) in news.ignored {
            tracing::warn!(slot, name, "not taken from the folder: {why}");
        }
        for name in &news.moved_in {
            self.take_file(folder, name, false).await;
        }
        if news.links || news.elsewhere {
            let which = if news.elsewhere { Which::All } else { Which::Links };
            self.take_replaced(folder, which, seen).await;
        }
        if news.again {
            tracing::info!(slot, folder = %folder.display(), "the folder is there and is watched");
            self.take_settled(folder).await;
        }
        if news.lost {
            tracing::warn!(
                slot,
                "too much was moved into the folder at once; move in again what was not taken"
            );
        }
        if news.gone {
            tracing::error!(
                slot,
                folder = %folder.display(),
                "the watched folder is not there; make it, and it is watched"
            );
        }
    }

    /// Takes the newest of what lies in the folder, where its component is not known yet.
    async fn take_settled(&self, folder: &Path) {
        let (slot, path) = (self.slot.name().as_str(), folder.to_owned());
        let Ok(Ok(found)) = background::run(move || settled(&path)).await else { return };
        for (name, why) in found.ignored {
            tracing::info!(slot, name, "not taken from the folder at the start: {why}");
        }
        if let Some(name) = found.newest {
            self.take_file(folder, &name, true).await;
        }
    }

    async fn look(&self, folder: &Path, which: Which) -> io::Result<Seen> {
        let (path, cap) = (folder.to_owned(), self.slot.yard.sandbox.component_bytes);
        background::run(move || look(&path, which, cap)).await.map_err(io::Error::other)?
    }

    /// Takes the components that a replaced link has brought: those that are not what was seen under their names, and
    /// those that nobody knows.
    async fn take_replaced(&self, folder: &Path, which: Which, seen: &mut Seen) {
        let now = match self.look(folder, which).await {
            Ok(now) => now,
            Err(error) => {
                tracing::warn!(slot = self.slot.name().as_str(), %error, "the folder cannot be read");
                return;
            }
        };
        for (name, digest) in &now {
            self.take_file(folder, name, seen.get(name) == Some(digest)).await;
        }
        if which == Which::All {
            seen.clear();
        }
        seen.extend(now);
    }

    /// Makes a file a candidate, or says in the log why not. With `unknown` only if its component is not known yet.
    async fn take_file(&self, folder: &Path, name: &str, unknown: bool) {
        let slot = self.slot.name().as_str();
        if Path::new(name).extension() == Some(OsStr::new("minisig")) {
            return;
        }
        if !fits(name) {
            tracing::warn!(slot, name, "not taken from the folder: {NAMES}");
            return;
        }
        match self.try_file(folder.to_owned(), name.to_owned(), unknown).await {
            Ok(Some(version)) => {
                tracing::info!(slot, name, version = version.as_str(), "the folder's file is a candidate");
            }
            Ok(None) if unknown => {}
            Ok(None) => tracing::info!(slot, name, "the folder's file is active or the candidate already"),
            Err(reason) => {
                let reason = one_line(&reason);
                tracing::warn!(slot, name, reason, "the folder's file is not a candidate");
            }
        }
    }

    async fn try_file(
        &self,
        folder: PathBuf,
        name: String,
        unknown: bool,
    ) -> Result<Option<VersionId>, String> {
        let (cap, source) =
            (self.slot.yard.sandbox.component_bytes, folder.join(&name).display().to_string());
        let read = background::run(move || component(&folder, &name, cap));
        let (wasm, proof) =
            read.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let component = ComponentDigest::of(&wasm).to_string();
        let is_known = self.book().versions.iter().any(|record| record.component == component);
        if unknown && is_known || self.book().is_wanted(&component) {
            return Ok(None);
        }
        let taken = self.take_up(wasm, &source, proof, HOST, &|_| {}).await;
        let taken = taken.map_err(|error| error.to_string())?.record;
        let weight = Weight::new(watch(&self.slot.settings()).weight).unwrap_or_default();
        let change = Change::Canary(Some(taken.id.to_string()), weight);
        let expected = Expected {
            generation: self.book().generation,
            actor: HOST.to_owned(),
            reason: REASON.to_owned(),
        };
        self.apply(&change, &expected).await.map_err(|error| error.to_string())?;
        self.slot.metrics.rollout(change.as_str());
        Ok(Some(taken.id))
    }
}
