//! Checks a bundle, and puts its parts into their places once all of it is checked.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow, bail, ensure};
use bulkhead_config::{Config, edit::EditedFile};
use bulkhead_os::{data_folder, files};
use bulkhead_rollout::signature::FileSignature;
use bulkhead_runtime::slots::{self, read_component};

use super::{
    COMPONENTS, CONFIGURATION, Folders, SIGNATURE,
    archive::{ArchiveReader, digest},
    manifest::{self, Manifest, component_slot},
};

/// The folder of imported components and their configuration, in the data folder.
const BUNDLE: &str = "bundle";
/// The folders that a bundle is unpacked into before it is checked, and that replaced files are moved to. Hosts and exports
/// ignore them.
const UNPACKED: &str = ".bundle.new";
const REPLACED: &str = ".bundle.old";

/// A bundle that was imported.
pub(super) struct Imported {
    pub(super) manifest: Manifest,
    /// The file of its configuration.
    pub(super) configuration: PathBuf,
}

/// Reads the signature beside a bundle.
pub(super) fn signature(bundle: &Path) -> anyhow::Result<String> {
    let path = beside(bundle, SIGNATURE);
    files::read_text(&path).with_context(|| {
        format!("cannot read {}; sign the bundle with `minisign -Sm {}`", path.display(), bundle.display())
    })
}

/// Imports a bundle that one of `keys` has signed. Nothing changes unless all of it is as its manifest says.
pub(super) fn import(
    config: &Config,
    folders: Folders,
    bundle: &Path,
    signature: &str,
    keys: &[String],
) -> anyhow::Result<Imported> {
    let refused = |reason: String| anyhow!("{}: {reason}", bundle.display());
    let signed = FileSignature::parse(signature, keys).map_err(refused)?;
    let file = File::open(bundle).with_context(|| format!("cannot read {}", bundle.display()))?;
    let mut reader = signed.reader(BufReader::new(file)).map_err(refused)?;
    data_folder::check(&config.data_dir)?;
    files::make_data_folder(&config.data_dir)?;
    let places = Places::new(&config.data_dir, folders)?;
    let unpacked = unpack(&mut reader, &places).with_context(|| format!("{} is refused", bundle.display()));
    // A signature that is wrong says more than what is wrong with bytes that are not signed.
    reader.finish().map_err(refused)?;
    let manifest = unpacked?;
    places.check(&manifest, config).with_context(|| format!("{} is refused", bundle.display()))?;
    let configuration = places.install(&manifest)?;
    Ok(Imported { manifest, configuration })
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
    let mut seen = BTreeSet::new();
    while let Some(member) = archive.next_member()? {
        let name = &member.name;
        let record = manifest.files.get(name).with_context(|| format!("{name} is not in its manifest"))?;
        ensure!(seen.insert(name.clone()), "{name} is there twice");
        let path = places.unpacked(name);
        let path = path.with_context(|| format!("{name} is of no kind that this program knows"))?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::create_new(&path)?;
        let sha256 = archive.copy(&member, &mut file)?;
        file.sync_all()?;
        ensure!(
            member.bytes == record.bytes && sha256 == record.sha256,
            "{name} is not what its manifest says"
        );
    }
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
}

impl Drop for Places {
    fn drop(&mut self) {
        for folder in self.roots() {
            let _ = fs::remove_dir_all(folder.join(UNPACKED));
        }
    }
}

impl Places {
    /// Puts back what an interrupted import has moved away, and removes what else it has left.
    fn new(data: &Path, folders: Folders) -> anyhow::Result<Self> {
        let places = Self { data: data.to_owned(), folders };
        for folder in places.roots() {
            put_back(folder).with_context(|| format!("cannot write to {}", folder.display()))?;
            for left in [UNPACKED, REPLACED] {
                match fs::remove_dir_all(folder.join(left)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error).with_context(|| format!("cannot write to {}", folder.display()));
                    }
                    _ => {}
                }
            }
        }
        Ok(places)
    }

    fn roots(&self) -> impl Iterator<Item = &Path> {
        [self.data.as_path()].into_iter().chain(self.folders.iter().map(|(_, folder)| folder.as_path()))
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

    /// Checks what a start of a host would refuse.
    fn check(&self, manifest: &Manifest, config: &Config) -> anyhow::Result<()> {
        for (key, file) in &manifest.components {
            let path = self.unpacked(file).context("a component is of no known kind")?;
            let wasm = read_component(&path, config.sandbox.component_bytes)?;
            slots::outline(&wasm).map_err(|reason| anyhow!("{file}, the component of {key}: {reason}"))?;
        }
        self.configuration(manifest).map(drop)
    }

    /// Returns the text of the configuration, which names the components where they will be.
    fn configuration(&self, manifest: &Manifest) -> anyhow::Result<String> {
        let mut edited =
            EditedFile::parse(&files::read_text(&self.data.join(UNPACKED).join(CONFIGURATION))?)?;
        edited.set_text(&["data_dir"], &self.data.display().to_string());
        for (key, file) in &manifest.components {
            let path = component_slot(key).context("a component has no slot")?;
            edited.set_text(&path, &self.data.join(BUNDLE).join(file).display().to_string());
        }
        Ok(edited.text())
    }

    /// Puts everything into its place, the configuration last; returns its file.
    fn install(&self, manifest: &Manifest) -> anyhow::Result<PathBuf> {
        let text = self.configuration(manifest)?;
        files::replace(&self.data.join(UNPACKED).join(CONFIGURATION), &[text.as_bytes()])?;
        for (name, folder) in &self.folders {
            let Ok(entries) = fs::read_dir(folder.join(UNPACKED)) else { continue };
            for entry in entries {
                let entry = entry?.file_name();
                if !is_installed(manifest, name, folder, &entry) {
                    exchange(&folder.join(UNPACKED).join(&entry), folder, &entry)?;
                }
            }
            File::open(folder)?.sync_all()?;
            let _ = fs::remove_dir_all(folder.join(REPLACED));
        }
        exchange(&self.data.join(UNPACKED), &self.data, OsStr::new(BUNDLE))?;
        File::open(&self.data)?.sync_all()?;
        let _ = fs::remove_dir_all(self.data.join(REPLACED));
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

/// Moves `new` to an entry of a folder; one that is there is moved away.
fn exchange(new: &Path, folder: &Path, entry: &OsStr) -> anyhow::Result<()> {
    let target = folder.join(entry);
    let moved = || {
        if target.exists() {
            let replaced = folder.join(REPLACED);
            fs::create_dir_all(&replaced)?;
            fs::rename(&target, replaced.join(entry))?;
        }
        fs::rename(new, &target)
    };
    moved().with_context(|| format!("cannot replace {}", target.display()))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
