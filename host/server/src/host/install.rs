//! Puts what a bundle holds into its places: everything or nothing, also where a power cut interrupts it.
//!
//! A bundle is unpacked into hidden folders beside its places. A file in that of the data folder then says that it is whole
//! and checked: from there on, an import and each start of a host put the parts into their places, whatever is left of them.
//! The configuration is the last part that moves, in one step. The components of each import have a folder of their own, which
//! stays until the configuration is replaced: a start reads the old configuration or the new one, each with what it names.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use bulkhead_config::{Config, tables::MissingTable};
use bulkhead_os::{data_folder, files};
use bulkhead_service::ServiceList;

/// The folder of the imported configuration and of its components, in the data folder.
pub(crate) const BUNDLE: &str = "bundle";
/// The configuration in a bundle, and in that folder.
pub(crate) const CONFIGURATION: &str = "configuration.toml";
/// The folder of components in a bundle. An import puts a hyphen and a number after it.
pub(crate) const COMPONENTS: &str = "components";
/// The folders that a bundle is unpacked into, and that replaced files are moved to. Hosts and exports ignore them.
pub(crate) const UNPACKED: &str = ".bundle.new";
const REPLACED: &str = ".bundle.old";
/// The file that says that a bundle is unpacked as a whole and checked.
const WHOLE: &str = "whole";

/// Folders of services whose files a bundle carries, by their names in it.
pub(crate) type Folders = Vec<(&'static str, PathBuf)>;

/// Returns the folders of all services.
///
/// # Errors
/// When the configuration was read without a table of a service.
pub(crate) fn folders(services: ServiceList, config: &Config) -> Result<Folders, MissingTable> {
    let each = services.iter().map(|service| service.bundled_folders(config));
    each.collect::<Result<Vec<_>, _>>().map(|folders| folders.into_iter().flatten().collect())
}

/// Puts the parts of an import that had not ended into their places, and logs that. Returns whether the configuration of the
/// bundle may have changed, so that it must be read again.
pub(crate) fn complete_interrupted(services: ServiceList, config: &Config) -> bool {
    let data = &config.data_dir;
    // A folder of a newer version stays as it is; the start refuses it.
    let Ok(folders) = folders(services, config) else { return false };
    if data_folder::check(data).is_err() {
        return false;
    }
    match complete(data, &folders) {
        Ok(is_completed) => {
            if is_completed {
                tracing::warn!("the import of a bundle had not ended and is complete now");
            }
            is_completed
        }
        Err(error) => {
            tracing::error!(
                %error,
                "the import of a bundle was interrupted and cannot be completed; the next start tries again"
            );
            false
        }
    }
}

/// Locks a data folder for an import, until the file is dropped or the process ends. Where the file system has no locks,
/// imports do without.
///
/// # Errors
/// When another import has the lock, or the folder cannot be opened.
pub(crate) fn lock(data: &Path) -> io::Result<File> {
    let folder = File::open(data)?;
    match folder.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::WouldBlock,
            "another import into this folder has not ended; wait until it has, and import again",
        )),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(folder),
    }
}

/// Completes an import that was interrupted, or else removes what it has left. Needs the [`lock`].
///
/// # Errors
/// What cannot be written, or an import that cannot be completed.
pub(crate) fn clear(data: &Path, folders: &Folders) -> io::Result<()> {
    finish(data, folders)?;
    for folder in roots(data, folders) {
        for left in [UNPACKED, REPLACED] {
            match fs::remove_dir_all(folder.join(left)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    Ok(())
}

/// Decides that what is unpacked takes its places, and puts it there. Needs the [`lock`].
///
/// # Errors
/// What cannot be written. If it was decided, the next start of a host goes on.
pub(crate) fn install(data: &Path, folders: &Folders) -> io::Result<()> {
    decide(data, folders)?;
    finish(data, folders)
}

/// Makes what is unpacked durable, and then the decision.
fn decide(data: &Path, folders: &Folders) -> io::Result<()> {
    let (new, target) = (data.join(UNPACKED), next_components(data)?);
    let (unpacked, named) = (new.join(COMPONENTS), new.join(target.file_name().unwrap_or_default()));
    // A bundle without components has the folder too: its number is that of the import.
    fs::create_dir_all(&unpacked)?;
    fs::rename(unpacked, named)?;
    fs::create_dir_all(data.join(BUNDLE))?;
    roots(data, folders).chain([new.as_path()]).filter(|folder| folder.is_dir()).try_for_each(sync)?;
    files::replace(&new.join(WHOLE), &[])
}

/// Returns whether a bundle is unpacked as a whole and checked, so that it takes its places.
pub(crate) fn is_decided(data: &Path) -> bool {
    data.join(UNPACKED).join(WHOLE).exists()
}

/// Completes an import that was decided on. Returns whether there was one.
fn complete(data: &Path, folders: &Folders) -> io::Result<bool> {
    if !is_decided(data) {
        return Ok(false);
    }
    let folder = File::open(data)?;
    // Waits for an import, or another start, that moves the parts now. Where there are no locks, they do without.
    let _ = folder.lock();
    finish(data, folders)?;
    Ok(true)
}

/// Puts what was decided on into its places, if there is something, and removes what it has replaced.
fn finish(data: &Path, folders: &Folders) -> io::Result<()> {
    if !is_decided(data) {
        return Ok(());
    }
    while let Some(next) = next_move(data, folders)? {
        next.run()?;
    }
    remove_replaced(data, folders);
    Ok(())
}

/// Returns the folders that get parts of a bundle.
pub(crate) fn roots<'a>(data: &'a Path, folders: &'a Folders) -> impl Iterator<Item = &'a Path> {
    [data].into_iter().chain(folders.iter().map(|(_, folder)| folder.as_path()))
}

/// Returns where the components of the next import will be.
///
/// # Errors
/// When the folder of the imports before cannot be read.
pub(crate) fn next_components(data: &Path) -> io::Result<PathBuf> {
    let bundle = data.join(BUNDLE);
    let newest = names(&bundle)?.iter().filter_map(|name| number(name)).max();
    Ok(bundle.join(format!("{COMPONENTS}-{}", newest.map_or(1, |newest| newest.saturating_add(1)))))
}

/// Returns the number of an import, given the name of the folder of its components.
fn number(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix(COMPONENTS)?.strip_prefix('-')?.parse().ok()
}

/// A file or a folder that gets another name in one step.
#[derive(Debug)]
struct Move {
    from: PathBuf,
    to: PathBuf,
}

/// Returns the next step of an import that was decided on, given what the steps before have left; `None` after the last.
fn next_move(data: &Path, folders: &Folders) -> io::Result<Option<Move>> {
    for (_, folder) in folders {
        let Some(name) = names(&folder.join(UNPACKED))?.into_iter().next() else { continue };
        let (target, new) = (folder.join(&name), folder.join(UNPACKED).join(&name));
        return Ok(Some(match target.symlink_metadata().is_ok() {
            true => Move { from: target, to: folder.join(REPLACED).join(name) },
            false => Move { from: new, to: target },
        }));
    }
    let (new, bundle) = (data.join(UNPACKED), data.join(BUNDLE));
    let left = names(&new)?;
    let components = left.iter().find(|name| number(name).is_some());
    let next = components.or_else(|| left.iter().find(|name| *name == CONFIGURATION));
    Ok(next.map(|name| Move { from: new.join(name), to: bundle.join(name) }))
}

impl Move {
    fn run(&self) -> io::Result<()> {
        self.rename().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write {}: {error}", self.to.display()))
        })
    }

    fn rename(&self) -> io::Result<()> {
        let parents = [self.from.parent(), self.to.parent()];
        parents.into_iter().flatten().try_for_each(fs::create_dir_all)?;
        // A folder of an earlier interruption. A file is replaced.
        if self.to.is_dir() {
            fs::remove_dir_all(&self.to)?;
        }
        fs::rename(&self.from, &self.to)?;
        parents.into_iter().flatten().try_for_each(sync)
    }
}

/// Removes what an import has replaced, and its decision. What cannot be removed stays until the next import.
fn remove_replaced(data: &Path, folders: &Folders) {
    let bundle = data.join(BUNDLE);
    let found = names(&bundle).unwrap_or_default();
    let newest = found.iter().filter_map(|name| number(name)).max();
    for name in found.iter().filter(|name| *name != CONFIGURATION && number(name) != newest) {
        let _ = fs::remove_dir_all(bundle.join(name));
    }
    for folder in roots(data, folders) {
        let _ = fs::remove_dir_all(folder.join(REPLACED));
    }
    for (_, folder) in folders {
        let _ = fs::remove_dir_all(folder.join(UNPACKED));
    }
    // The last, so that the next start goes on with the rest.
    let _ = fs::remove_dir_all(data.join(UNPACKED));
}

/// Returns the names in a folder, in order; none if there is no such folder.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tempfile::TempDir;

    use super::*;

    /// A data folder with a folder of models in it, in which an import was interrupted.
    struct Interrupted {
        data: TempDir,
        folders: Folders,
    }

    impl Interrupted {
        /// Writes `files`, whose text is that of their import.
        fn with(files: &[(&str, &str)]) -> Self {
            let data = TempDir::new().unwrap();
            for (name, text) in files {
                let path = data.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            let folders = vec![("models", data.path().join("models"))];
            Self { data, folders }
        }

        /// Asserts that these are all files.
        fn assert_files(&self, expected: &[(&str, &str)]) {
            let mut found = Vec::new();
            let mut pending = vec![self.data.path().to_owned()];
            while let Some(folder) = pending.pop() {
                for entry in fs::read_dir(folder).unwrap().flatten() {
                    let path = entry.path();
                    if path.is_dir() {
                        pending.push(path);
                    } else {
                        let name = path.strip_prefix(self.data.path()).unwrap().to_str().unwrap().to_owned();
                        found.push((name, fs::read_to_string(&path).unwrap()));
                    }
                }
            }
            found.sort();
            let found: Vec<_> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            assert_eq!(found, expected);
        }
    }

    const OLD: [(&str, &str); 5] = [
        ("bundle/components-7/a.wasm", "old"),
        ("bundle/configuration.toml", "old"),
        ("models/kept/a", "old"),
        ("models/one/a", "old"),
        ("models/two/a", "old"),
    ];
    const UNPACKED_FILES: [(&str, &str); 4] = [
        (".bundle.new/components/a.wasm", "new"),
        (".bundle.new/configuration.toml", "new"),
        ("models/.bundle.new/one/a", "new"),
        ("models/.bundle.new/three/a", "new"),
    ];
    const NEW: [(&str, &str); 6] = [
        ("bundle/components-8/a.wasm", "new"),
        ("bundle/configuration.toml", "new"),
        ("models/kept/a", "old"),
        ("models/one/a", "new"),
        ("models/three/a", "new"),
        ("models/two/a", "old"),
    ];

    /// Asserts that the configuration is there, and that the components of its import are.
    fn assert_readable(bundle: &Path) {
        let text = fs::read_to_string(bundle.join(CONFIGURATION)).unwrap();
        let components = bundle.join(if text == "old" { "components-7" } else { "components-8" });
        assert_eq!(fs::read_to_string(components.join("a.wasm")).unwrap(), text);
    }

    #[test]
    fn import_stopped_at_any_step_completes() {
        for steps in 0.. {
            let site = Interrupted::with(&[&OLD[..], &UNPACKED_FILES].concat());
            let (data, bundle) = (site.data.path(), site.data.path().join(BUNDLE));
            assert_eq!(next_components(data).unwrap(), bundle.join("components-8"));
            decide(data, &site.folders).unwrap();
            let mut done = 0;
            while let Some(next) = next_move(data, &site.folders).unwrap().filter(|_| done < steps) {
                assert_readable(&bundle);
                next.run().unwrap();
                done += 1;
            }
            assert_readable(&bundle);
            assert!(complete(data, &site.folders).unwrap());
            site.assert_files(&NEW);
            assert!(!complete(data, &site.folders).unwrap());
            if done < steps {
                // Two models of which one replaces another, the components, the configuration.
                assert_eq!(done, 5);
                return;
            }
        }
    }

    #[test]
    fn interrupted_removal_goes_on() {
        let left = [
            ("models/.bundle.old/one/a", "old"),
            ("bundle/components-7/a.wasm", "old"),
            (".bundle.new/whole", ""),
        ];
        let site = Interrupted::with(&[&NEW[..], &left].concat());
        clear(site.data.path(), &site.folders).unwrap();
        site.assert_files(&NEW);
    }

    #[test]
    fn model_written_during_interruption_is_replaced() {
        let left = [("models/.bundle.old/one/a", "older"), ("models/one/a", "written meanwhile")];
        let [components, configuration, kept, _, two] = OLD;
        let old = [components, configuration, kept, two];
        let site = Interrupted::with(&[&old[..], &left, &UNPACKED_FILES].concat());
        install(site.data.path(), &site.folders).unwrap();
        site.assert_files(&NEW);
    }

    #[test]
    fn undecided_import_leaves_what_was() {
        let site = Interrupted::with(&[&OLD[..], &UNPACKED_FILES].concat());
        assert!(!complete(site.data.path(), &site.folders).unwrap());
        clear(site.data.path(), &site.folders).unwrap();
        site.assert_files(&OLD);
    }

    #[test]
    fn bundle_without_components_replaces_them() {
        let configuration = [(".bundle.new/configuration.toml", "new")];
        let site = Interrupted::with(&[&OLD[..], &configuration].concat());
        install(site.data.path(), &site.folders).unwrap();
        let [_, (configuration, _), models @ ..] = OLD;
        site.assert_files(&[&[(configuration, "new")][..], &models].concat());
        assert!(next_components(site.data.path()).unwrap().ends_with("components-9"));
    }

    #[test]
    fn second_import_at_once_is_refused() {
        let site = Interrupted::with(&OLD);
        let first = lock(site.data.path()).unwrap();
        let refused = lock(site.data.path()).unwrap_err();
        assert!(refused.to_string().contains("import again"), "{refused}");
        drop(first);
        lock(site.data.path()).unwrap();
    }
}
