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
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use self::{
    events::{News, listen},
    files::{Looked, Unsettled, Which, component, fits, is_linked, look, settled},
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

/// Shortest time until files are looked at again that may be half of one.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// What is known of a folder.
#[derive(Debug, Default)]
struct Known {
    /// Components by name, as they were seen last.
    seen: BTreeMap<String, ComponentDigest>,
    /// Why names are ignored, as the log says already.
    ignored: BTreeMap<String, String>,
    /// Files that lay there at the start and may be half of one, and when they are looked at again.
    unsettled: Option<(Instant, Vec<String>)>,
}

impl Known {
    /// Keeps why a name is ignored; whether the log does not say so yet.
    fn ignore(&mut self, name: &str, reason: &str) -> bool {
        self.ignored.insert(name.to_owned(), reason.to_owned()).is_none_or(|said| said != reason)
    }

    fn wait_for(&mut self, unsettled: Option<Unsettled>) {
        self.unsettled =
            unsettled.map(|Unsettled { names, wait }| (Instant::now() + wait.max(SHORTEST_WAIT), names));
    }
}

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
            let mut known = Known::default();
            if let Some(deployment) = deployment.upgrade() {
                // What came while the host was down.
                deployment.take_present(&folder, &mut known).await;
            }
            loop {
                let settling = known.unsettled.as_ref().map(|(at, _)| *at);
                let news = tokio::select! {
                    news = told.recv() => Some(news),
                    () = sleep_until(settling.unwrap_or_else(Instant::now)), if settling.is_some() => None,
                };
                let Some(deployment) = deployment.upgrade() else { return };
                match news {
                    None => deployment.take_settled(&folder, &mut known).await,
                    Some(None) => return,
                    Some(Some(Ok(news))) => deployment.take_news(&folder, news, &mut known).await,
                    Some(Some(Err(error))) => {
                        tracing::error!(slot, %error, "the folder is watched no more; restart to watch it again");
                        return;
                    }
                }
            }
        });
    }

    async fn take_news(&self, folder: &Path, news: News, known: &mut Known) {
        let slot = self.slot.name().as_str();
        for (name, why) in news.ignored {
            self.ignore(known, &name, why);
        }
        for name in &news.moved_in {
            known.ignored.remove(name);
            self.take_file(folder, name, false).await;
        }
        if news.links || news.elsewhere {
            let which = if news.elsewhere { Which::All } else { Which::Links };
            self.take_replaced(folder, which, known).await;
        }
        if news.again {
            tracing::info!(slot, folder = %folder.display(), "the folder is there and is watched");
            self.take_present(folder, known).await;
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

    /// Says once in the log why a name is ignored.
    fn ignore(&self, known: &mut Known, name: &str, why: &str) {
        if known.ignore(name, why) {
            tracing::warn!(slot = self.slot.name().as_str(), name, "not taken from the folder: {why}");
        }
    }

    /// Takes the newest of what lies in the folder, where its component is not known yet.
    async fn take_present(&self, folder: &Path, known: &mut Known) {
        let which = if is_linked(folder) { Which::All } else { Which::Links };
        let Ok(Looked { seen, ignored }) = self.look(folder, which).await else { return };
        for (name, why) in &ignored {
            self.ignore(known, name, why);
        }
        known.seen = seen;
        self.take_newest(folder, which, known, move |name| !ignored.contains_key(name)).await;
    }

    /// Looks again at the files that lay in the folder and might have been half of one.
    async fn take_settled(&self, folder: &Path, known: &mut Known) {
        let Some((_, names)) = known.unsettled.take() else { return };
        self.take_newest(folder, Which::Links, known, move |name| names.iter().any(|known| known == name))
            .await;
    }

    async fn take_newest(
        &self,
        folder: &Path,
        which: Which,
        known: &mut Known,
        wanted: impl Fn(&str) -> bool + Send + 'static,
    ) {
        let path = folder.to_owned();
        let Ok(Ok(found)) = background::run(move || settled(&path, which, wanted)).await else { return };
        for (name, why) in found.ignored {
            self.ignore(known, &name, why);
        }
        known.wait_for(found.unsettled);
        if let Some(name) = found.newest {
            known.ignored.remove(&name);
            self.take_file(folder, &name, true).await;
        }
    }

    async fn look(&self, folder: &Path, which: Which) -> io::Result<Looked> {
        let (path, cap) = (folder.to_owned(), self.slot.yard.sandbox.component_bytes);
        background::run(move || look(&path, which, cap)).await.map_err(io::Error::other)?
    }

    /// Takes the components that a replaced link has brought: those that are not what was seen under their names, and
    /// those that nobody knows.
    async fn take_replaced(&self, folder: &Path, which: Which, known: &mut Known) {
        let Looked { seen: now, ignored } = match self.look(folder, which).await {
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
            self.take_file(folder, name, known.seen.get(name) == Some(digest)).await;
        }
        if which == Which::All {
            known.seen.clear();
        }
        known.seen.extend(now);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_said_once() {
        let mut known = Known::default();
        let mut said = |reason| known.ignore("a.wasm", reason);
        assert_eq!(["one", "one", "other", "other"].map(&mut said), [true, false, true, false]);
    }
}
