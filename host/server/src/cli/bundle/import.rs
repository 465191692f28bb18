//! Checks a bundle, and puts its parts into their places once all of it is checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File},
    io::{BufReader, Read, Seek as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail, ensure};
use bulkhead_config::{Config, HostSpec, Problem, edit::EditedFile};
use bulkhead_os::{data_folder, files};
use bulkhead_rollout::signature::{FileSignature, SignedReader};
use bulkhead_runtime::{
    compile::check_code,
    slots::{self, read_component},
};
use rustix::process::geteuid;

use super::{
    SIGNATURE,
    archive::{ArchiveReader, digest},
    configuration,
    manifest::{self, Manifest, component_slot},
};
use crate::host::install::{self, BUNDLE, COMPONENTS, CONFIGURATION, Folders, UNPACKED};

/// Bytes that stay free on each disk: the host goes on with them.
const LEFT_FREE: u64 = 16 << 20;

/// A bundle that was imported.
pub(super) struct Imported {
    pub(super) manifest: Manifest,
    /// The file of its configuration.
    pub(super) configuration: PathBuf,
    /// Problems of the configuration that secrets, their files and variables of the host may solve.
    pub(super) unsettled: Vec<Problem>,
}

/// Reads the signature beside a bundle.
pub(super) fn signature(bundle: &Path) -> anyhow::Result<String> {
    // One that is not there needs no signature.
    files::open(bundle).with_context(|| format!("cannot read {}", bundle.display()))?;
    let path = beside(bundle, SIGNATURE);
    files::read_text(&path).with_context(|| {
        format!("cannot read {}; sign the bundle with `minisign -Sm {}`", path.display(), bundle.display())
    })
}

/// Imports a bundle that one of `keys` has signed. Nothing changes unless all of it is as its manifest says; nothing is
/// written before its signature is verified.
pub(super) fn import(
    config: &Config,
    spec: &HostSpec,
    folders: Folders,
    bundle: &Path,
    signature: &str,
    keys: &[String],
) -> anyhow::Result<Imported> {
    let refused = |reason: String| anyhow!("{}: {reason}", bundle.display());
    let unreadable = || format!("cannot read {}", bundle.display());
    let signed = FileSignature::parse(signature, keys).map_err(refused)?;
    let mut file = files::open(bundle).with_context(unreadable)?;
    signed.reader(BufReader::new(&file)).and_then(SignedReader::finish).map_err(refused)?;
    file.rewind().with_context(unreadable)?;
    let mut reader = signed.reader(BufReader::new(&file)).map_err(refused)?;
    check_owner(&config.data_dir, geteuid().as_raw())?;
    data_folder::check(&config.data_dir)?;
    files::make_data_folder(&config.data_dir)?;
    let places = Places::new(&config.data_dir, folders)?;
    let unpacked = unpack(&mut reader, &places).with_context(|| format!("{} is refused", bundle.display()));
    // Someone may have changed it meanwhile. That says more than what is wrong with bytes that are not signed.
    reader.finish().map_err(refused)?;
    let manifest = unpacked?;
    let unsettled =
        places.check(&manifest, spec).with_context(|| format!("{} is refused", bundle.display()))?;
    let configuration = places.install(&manifest)?;
    Ok(Imported { manifest, configuration, unsettled })
}

/// Checks that a folder, if it exists, belongs to this user: the host could not read what another one imports, root included.
fn check_owner(folder: &Path, user: u32) -> anyhow::Result<()> {
    match fs::metadata(folder).map(|folder| folder.uid()) {
        Ok(owner) if owner != user => bail!(
            "{} belongs to user {owner}, and this command runs as user {user}; import as the owner, such as with `setpriv \
             --reuid={owner} --clear-groups`",
            folder.display()
        ),
        _ => Ok(()),
    }
}

/// Unpacks a bundle beside the places of its parts, and compares it with its manifest.
fn unpack(bundle: impl Read, places: &Places) -> anyhow::Result<Manifest> {
    let mut archive = ArchiveReader::new(bundle);
    let first = archive.next_member()?;
    let first = first.filter(|first| first.name == manifest::FILE && first.bytes <= manifest::MOST_BYTES);
    let first = first.context("it does not begin with a manifest")?;
    let mut text = Vec::new();
    archive.copy(&first, &mut text)?;
    let manifest = Manifest::parse(&text)?;
    places.check_room(&manifest)?;
    let (mut seen, mut made) = (BTreeSet::new(), BTreeSet::<PathBuf>::new());
    while let Some(member) = archive.next_member()? {
        let name = &member.name;
        let record = manifest.files.get(name).with_context(|| format!("{name} is not in its manifest"))?;
        ensure!(seen.insert(name.clone()), "{name} is there twice");
        let path = places.unpacked(name);
        let path = path.with_context(|| format!("{name} is of no kind that this program knows"))?;
        let differs = || format!("{name} is not what its manifest says");
        let unwritten = || format!("cannot write {}", path.display());
        ensure!(member.bytes == record.bytes, differs());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(unwritten)?;
            // Up to the folder that has existed before.
            let is_unpacked = |folder: &&Path| folder.components().any(|part| part.as_os_str() == UNPACKED);
            made.extend(folder.ancestors().take_while(is_unpacked).map(Path::to_owned));
        }
        let mut file = File::create_new(&path).with_context(unwritten)?;
        let sha256 = archive.copy(&member, &mut file)?;
        file.sync_all()?;
        ensure!(sha256 == record.sha256, differs());
    }
    // A file is durable once its folder is synchronized, too.
    made.iter().try_for_each(|folder| File::open(folder)?.sync_all())?;
    if let Some(missing) = manifest.files.keys().find(|name| !seen.contains(*name)) {
        bail!("{missing} is missing");
    }
    ensure!(seen.contains(CONFIGURATION), "{CONFIGURATION} is missing");
    Ok(manifest)
}

/// The folders that a bundle is put into. What is unpacked but not installed is removed at the end.
struct Places {
    data: PathBuf,
    folders: Folders,
    /// Where its components will be.
    components: PathBuf,
    _lock: File,
}

impl Drop for Places {
    fn drop(&mut self) {
        // From then on, the next start goes on.
        if install::is_decided(&self.data) {
            return;
        }
        for folder in install::roots(&self.data, &self.folders) {
            let _ = fs::remove_dir_all(folder.join(UNPACKED));
        }
    }
}

impl Places {
    /// Locks the data folder, and ends an interrupted import first.
    fn new(data: &Path, folders: Folders) -> anyhow::Result<Self> {
        let unprepared = || format!("cannot prepare {} for the import", data.display());
        let lock = install::lock(data).with_context(unprepared)?;
        install::clear(data, &folders).with_context(unprepared)?;
        let components = install::next_components(data).with_context(unprepared)?;
        Ok(Self { data: data.to_owned(), folders, components, _lock: lock })
    }

    /// Checks that each disk has room for the files that it gets.
    fn check_room(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let mut needed: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
        for (name, record) in &manifest.files {
            let Some(path) = self.unpacked(name) else { continue };
            let Some(folder) = path.ancestors().find(|above| above.is_dir()) else { continue };
            let (_, bytes) =
                needed.entry(fs::metadata(folder)?.dev()).or_insert_with(|| (folder.to_owned(), LEFT_FREE));
            *bytes = bytes.saturating_add(record.bytes);
        }
        for (folder, bytes) in needed.into_values() {
            // Where the system does not report it, writing shows it.
            if let Some(free) = files::free_bytes(&folder).filter(|free| *free < bytes) {
                bail!(
                    "the disk of {} has {} MiB free, and {} are needed; remove files",
                    folder.display(),
                    free >> 20,
                    (bytes >> 20) + 1
                );
            }
        }
        Ok(())
    }

    /// Returns where a file is unpacked; `None` for one of no known kind. No name leads to a hidden entry of a folder.
    fn unpacked(&self, name: &str) -> Option<PathBuf> {
        if name == CONFIGURATION {
            return Some(self.data.join(UNPACKED).join(name));
        }
        let (part, below) = name.split_once('/')?;
        if part == COMPONENTS {
            return (!below.contains('/')).then(|| self.data.join(UNPACKED).join(name));
        }
        let (_, folder) = self.folders.iter().find(|(known, _)| *known == part)?;
        (!below.starts_with('.')).then(|| folder.join(UNPACKED).join(below))
    }

    /// Checks what a start of a host would refuse, with the variables of this process. Returns problems of the configuration that
    /// other variables, or secrets, may solve.
    fn check(&self, manifest: &Manifest, spec: &HostSpec) -> anyhow::Result<Vec<Problem>> {
        let edited = EditedFile::parse(&self.configuration(manifest)?)?;
        let (sandbox, unsettled) = configuration::check(edited, spec, &manifest.secrets)?;
        for (key, file) in &manifest.components {
            let path = self.unpacked(file).context("a component is of no known kind")?;
            let wasm = read_component(&path, sandbox.component_bytes)?;
            let refused = |reason: String| anyhow!("{file}, the component of {key}: {reason}");
            slots::outline(&wasm).map_err(refused)?;
            check_code(&wasm, &sandbox).map_err(|error| refused(error.to_string()))?;
        }
        Ok(unsettled)
    }

    /// Returns the text of the configuration, which names the components where they will be.
    fn configuration(&self, manifest: &Manifest) -> anyhow::Result<String> {
        let mut edited =
            EditedFile::parse(&files::read_text(&self.data.join(UNPACKED).join(CONFIGURATION))?)?;
        edited.set_text(&["data_dir"], &self.data.display().to_string());
        for (key, file) in &manifest.components {
            let path = component_slot(key).context("a component has no slot")?;
            let file = Path::new(file).strip_prefix(COMPONENTS).context("a component is of no known kind")?;
            edited.set_text(&path, &self.components.join(file).display().to_string());
        }
        Ok(edited.text())
    }

    /// Puts everything into its place; returns the file of the configuration.
    fn install(&self, manifest: &Manifest) -> anyhow::Result<PathBuf> {
        let text = self.configuration(manifest)?;
        files::replace(&self.data.join(UNPACKED).join(CONFIGURATION), &[text.as_bytes()])?;
        for (name, folder) in &self.folders {
            let Ok(entries) = fs::read_dir(folder.join(UNPACKED)) else { continue };
            for entry in entries {
                let entry = entry?;
                if is_installed(manifest, name, folder, &entry.file_name()) {
                    match entry.file_type()?.is_dir() {
                        true => fs::remove_dir_all(entry.path())?,
                        false => fs::remove_file(entry.path())?,
                    }
                }
            }
        }
        install::install(&self.data, &self.folders).map_err(|error| {
            match install::is_decided(&self.data) {
                true => anyhow!(
                    "{error}; the next start of a host, or the next import, moves the rest into its place"
                ),
                false => error.into(),
            }
        })?;
        Ok(self.data.join(BUNDLE).join(CONFIGURATION))
    }
}

/// Returns whether a folder has an entry with the files of the bundle already: a host may have them mapped.
fn is_installed(manifest: &Manifest, name: &str, folder: &Path, entry: &OsStr) -> bool {
    let prefix = Path::new(name).join(entry);
    let mut files = manifest.files.iter().filter(|(file, _)| Path::new(file).starts_with(&prefix));
    files.all(|(file, record)| {
        let path = Path::new(file).strip_prefix(name).map(|file| folder.join(file));
        let found = path.ok().and_then(|path| digest(&mut File::open(path).ok()?).ok());
        found == Some((record.sha256.clone(), record.bytes))
    })
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn folder_of_another_user_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let user = geteuid().as_raw();
        check_owner(data.path(), user).unwrap();
        check_owner(&data.path().join("missing"), user + 1).unwrap();
        let refused = check_owner(data.path(), user + 1).unwrap_err().to_string();
        assert!(refused.contains(&format!("belongs to user {user}")), "{refused}");
    }

    #[test]
    fn bundle_larger_than_disk_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let places = Places::new(data.path(), vec![("models", data.path().join("models"))]).unwrap();
        let of_bytes = |bytes| {
            let record = manifest::FileRecord { bytes, sha256: String::new() };
            let files = [CONFIGURATION, "models/toy/a"].map(|name| (name.to_owned(), record.clone()));
            Manifest { files: files.into(), ..Manifest::default() }
        };
        places.check_room(&of_bytes(1)).unwrap();
        let refused = places.check_room(&of_bytes(u64::MAX)).unwrap_err().to_string();
        assert!(refused.contains("MiB free"), "{refused}");
    }
}
