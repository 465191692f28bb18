//! Puts what a bundle holds into its places: everything or nothing, also where a power cut interrupts it.
//!
//! A bundle is unpacked into hidden folders beside its places. A file in that of the data folder then says that it is whole
//! and checked: from there on, an import and each start of a host put the parts into their places, whatever is left of them.
//! The folder with that file is the last part that moves.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use bulkhead_config::{Config, tables::MissingTable};
use bulkhead_os::{data_folder, files};
use bulkhead_service::ServiceList;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// The folder of imported components and their configuration, in the data folder.
pub(crate) const BUNDLE: &str = "bundle";
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

/// Puts the parts of an import that was interrupted into their places, and logs that. Returns whether the configuration of the
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
                tracing::warn!("the import of a bundle was interrupted and is complete now");
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

/// Removes what an import has left that was interrupted before it was whole, and puts back what an earlier version has moved
/// away.
///
/// # Errors
/// What cannot be written, or an import that cannot be completed.
pub(crate) fn clear(data: &Path, folders: &Folders) -> io::Result<()> {
    complete(data, folders)?;
    // It must not come back as a part of what the next import replaces.
    remove(fs::remove_file(data.join(BUNDLE).join(WHOLE)))?;
    for folder in roots(data, folders) {
        put_back(folder)?;
        for left in [UNPACKED, REPLACED] {
            remove(fs::remove_dir_all(folder.join(left)))?;
        }
    }
    Ok(())
}

/// Decides that what is unpacked takes its places, and puts it there.
///
/// # Errors
/// What cannot be written. If it was decided, the next start of a host goes on.
pub(crate) fn install(data: &Path, folders: &Folders) -> io::Result<()> {
    // What is unpacked is durable before the decision is.
    roots(data, folders).filter(|folder| folder.is_dir()).try_for_each(sync)?;
    files::replace(&data.join(UNPACKED).join(WHOLE), &[])?;
    complete(data, folders).map(drop)
}

/// Returns whether a bundle is unpacked as a whole and checked, so that it takes its places.
pub(crate) fn is_decided(data: &Path) -> bool {
    data.join(UNPACKED).join(WHOLE).exists()
}

/// Puts what was decided on into its places, the data folder's part last; returns whether there was something.
fn complete(data: &Path, folders: &Folders) -> io::Result<bool> {
    if !is_decided(data) {
        return Ok(false);
    }
    let lock = File::open(data)?;
    // Of an import and a start, or of two starts, the second finds that it is done. Where there are no locks, they do without.
    let _ = lock.lock();
    if !is_decided(data) {
        return Ok(false);
    }
    for (_, folder) in folders {
        let entries = match fs::read_dir(folder.join(UNPACKED)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            exchange(&entry.path(), &folder.join(&name), &folder.join(REPLACED).join(&name))?;
        }
        sync(folder)?;
    }
    let (new, bundle) = (data.join(UNPACKED), data.join(BUNDLE));
    // A start that reads the configuration meanwhile finds one of both, where the file system can exchange them.
    if renameat_with(CWD, &new, CWD, &bundle, RenameFlags::EXCHANGE).is_err() {
        exchange(&new, &bundle, &data.join(REPLACED).join(BUNDLE))?;
    }
    sync(data)?;
    let _ = fs::remove_file(bundle.join(WHOLE));
    for folder in roots(data, folders) {
        for left in [UNPACKED, REPLACED] {
            let _ = fs::remove_dir_all(folder.join(left));
        }
    }
    Ok(true)
}

/// Returns the folders that get parts of a bundle.
pub(crate) fn roots<'a>(data: &'a Path, folders: &'a Folders) -> impl Iterator<Item = &'a Path> {
    [data].into_iter().chain(folders.iter().map(|(_, folder)| folder.as_path()))
}

/// Moves `new` to `target`; what is there is moved to `old`.
fn exchange(new: &Path, target: &Path, old: &Path) -> io::Result<()> {
    let moved = || {
        if target.exists() {
            old.parent().map_or(Ok(()), fs::create_dir_all)?;
            // Someone may have made the target again after an interruption.
            let _ = fs::remove_dir_all(old);
            fs::rename(target, old)?;
        }
        fs::rename(new, target)
    };
    moved().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot replace {}: {error}", target.display()))
    })
}

/// Moves entries of a folder back that were moved away and have not been replaced.
fn put_back(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder.join(REPLACED)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let target = folder.join(entry.file_name());
        if !target.exists() {
            fs::rename(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Ignores that what was to be removed is not there.
fn remove(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

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

    const OLD: [(&str, &str); 4] = [
        ("bundle/configuration.toml", "old"),
        ("models/kept/a", "old"),
        ("models/one/a", "old"),
        ("models/two/a", "old"),
    ];
    const NEW: [(&str, &str); 4] = [
        ("bundle/configuration.toml", "new"),
        ("models/kept/a", "old"),
        ("models/one/a", "new"),
        ("models/two/a", "new"),
    ];

    #[test]
    fn decided_import_goes_on_from_anywhere() {
        let decided = [(".bundle.new/configuration.toml", "new"), (".bundle.new/whole", "")];
        let old = |at: usize| OLD[at];
        for files in [
            vec![
                old(0),
                old(1),
                ("models/.bundle.old/one/a", "older"),
                old(2),
                old(3),
                ("models/.bundle.new/one/a", "new"),
                ("models/.bundle.new/two/a", "new"),
            ],
            vec![
                old(0),
                old(1),
                old(2),
                old(3),
                ("models/.bundle.new/one/a", "new"),
                ("models/.bundle.new/two/a", "new"),
            ],
            vec![
                old(0),
                old(1),
                ("models/.bundle.old/one/a", "old"),
                old(3),
                ("models/.bundle.new/one/a", "new"),
                ("models/.bundle.new/two/a", "new"),
            ],
            vec![
                old(0),
                old(1),
                ("models/.bundle.old/one/a", "old"),
                ("models/one/a", "new"),
                old(3),
                ("models/.bundle.new/two/a", "new"),
            ],
            vec![
                (".bundle.old/bundle/configuration.toml", "old"),
                old(1),
                ("models/one/a", "new"),
                ("models/two/a", "new"),
                ("models/.bundle.old/two/a", "old"),
            ],
            vec![old(1), ("models/one/a", "new"), ("models/two/a", "new")],
        ] {
            let site = Interrupted::with(&[&files[..], &decided].concat());
            assert!(complete(site.data.path(), &site.folders).unwrap());
            site.assert_files(&NEW);
            assert!(!complete(site.data.path(), &site.folders).unwrap());
        }
    }

    #[test]
    fn undecided_import_leaves_what_was() {
        let unpacked = [(".bundle.new/configuration.toml", "new"), ("models/.bundle.new/one/a", "new")];
        let site = Interrupted::with(&[&OLD[..], &unpacked].concat());
        assert!(!complete(site.data.path(), &site.folders).unwrap());
        clear(site.data.path(), &site.folders).unwrap();
        site.assert_files(&OLD);
        let [bundle, kept, one, two] = OLD;
        let moved = [bundle, kept, two, ("models/.bundle.old/one/a", one.1)];
        let site = Interrupted::with(&moved);
        clear(site.data.path(), &site.folders).unwrap();
        site.assert_files(&OLD);
    }

    #[test]
    fn installed_bundle_is_not_decided_again() {
        let unpacked = [(".bundle.new/configuration.toml", "new"), ("models/.bundle.new/one/a", "new")];
        let site = Interrupted::with(&[&OLD[..], &unpacked].concat());
        let data = site.data.path();
        install(data, &site.folders).unwrap();
        let expected = NEW.map(|(name, text)| (name, if name == "models/two/a" { "old" } else { text }));
        site.assert_files(&expected);
        // The end of an import was cut: the file is still in its place.
        fs::write(data.join("bundle/whole"), "").unwrap();
        clear(data, &site.folders).unwrap();
        site.assert_files(&expected);
    }
}
