//! Writes a bundle.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, anyhow, bail, ensure};
use bulkhead_config::{Config, edit::EditedFile, reference, registries::Reference, slots::SlotId};
use bulkhead_os::files;
use bulkhead_rollout::{LocalStore, Proof, SignedBytes, read_configured};

use super::{
    SIGNATURE,
    archive::{ArchiveWriter, digest},
    manifest::{self, FileRecord, Manifest, component_slot},
};
use crate::{
    distribution::Distribution,
    host::{
        SLOTS,
        install::{COMPONENTS, CONFIGURATION},
    },
};

/// The contents of a file of the bundle.
enum Content {
    Bytes(Arc<[u8]>),
    File(PathBuf),
}

impl Content {
    fn open(&self) -> anyhow::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(&**bytes),
            Self::File(path) => {
                Box::new(File::open(path).with_context(|| format!("cannot read {}", path.display()))?)
            }
        })
    }
}

/// What goes into a bundle.
#[derive(Default)]
struct Plan {
    contents: BTreeMap<String, Content>,
    manifest: Manifest,
}

/// Writes the bundle of a site, whose configuration is in `file`.
pub(super) fn export(
    distribution: &Distribution,
    config: &Config,
    folders: &[(&'static str, PathBuf)],
    file: Option<&Path>,
    output: &Path,
) -> anyhow::Result<Manifest> {
    let mut plan = Plan::default();
    plan.add_configuration(distribution, config, file)?;
    for (name, folder) in folders {
        plan.add_folder(name, folder, true)?;
    }
    plan.write_whole(output).with_context(|| format!("cannot write {}", output.display()))?;
    Ok(plan.manifest)
}

impl Plan {
    fn add(&mut self, name: String, content: Content) -> anyhow::Result<()> {
        let (sha256, bytes) = digest(&mut content.open()?)?;
        self.manifest.files.insert(name.clone(), FileRecord { bytes, sha256 });
        self.contents.insert(name, content);
        Ok(())
    }

    /// Adds the configuration, without its secrets, and the components that it names or that answer in its slots.
    fn add_configuration(
        &mut self,
        distribution: &Distribution,
        config: &Config,
        file: Option<&Path>,
    ) -> anyhow::Result<()> {
        let read =
            |file: &Path| files::read_text(file).with_context(|| format!("cannot read {}", file.display()));
        let text = file.map(read).transpose()?.unwrap_or_default();
        let mut edited = EditedFile::parse(&text)?;
        self.manifest.secrets = edited.remove_secrets(&reference(&distribution.spec()));
        let of_slots = config.slots.all().map(|slot| (slot.key("component"), None));
        let named =
            edited.texts_named("component").into_iter().map(|(path, text)| (path.join("."), Some(text)));
        let keys: BTreeMap<String, Option<String>> = of_slots.chain(named).collect();
        for (key, text) in keys {
            let Some([table, name, component]) = component_slot(&key) else {
                bail!("{key} names a slot that no host has");
            };
            let slot = SlotId::parse(name)?;
            let Some((wasm, signature)) = component_of(distribution, config, slot, &key, text.as_deref())?
            else {
                continue;
            };
            let file = format!("{COMPONENTS}/{name}.wasm");
            edited.set_text(&[table, name, component], &file);
            if let Some(signature) = signature {
                self.add(format!("{file}{SIGNATURE}"), Content::Bytes(signature.into_bytes().into()))?;
            }
            self.add(file.clone(), Content::Bytes(wasm))?;
            self.manifest.components.insert(key, file);
        }
        self.add(CONFIGURATION.to_owned(), Content::Bytes(edited.text().into_bytes().into()))
    }

    /// Adds the files of a folder, but none that is hidden at its top: those are not finished, or can be made again.
    fn add_folder(&mut self, name: &str, folder: &Path, is_top: bool) -> anyhow::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(|| format!("cannot read {}", folder.display()))?,
        };
        for entry in entries {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let Some(part) = entry.file_name().to_str().map(str::to_owned) else {
                bail!("{} has a name that is not UTF-8; rename it", path.display());
            };
            if is_top && part.starts_with('.') {
                continue;
            }
            let name = format!("{name}/{part}");
            if kind.is_dir() {
                self.add_folder(&name, &path, false)?;
            } else {
                ensure!(
                    kind.is_file(),
                    "{} is a link or a device; a bundle has plain files only",
                    path.display()
                );
                self.add(name, Content::File(path))?;
            }
        }
        Ok(())
    }

    /// Writes the bundle, or leaves the file as it was.
    fn write_whole(&self, output: &Path) -> anyhow::Result<()> {
        let path = files::output_path(output)?;
        let mut part = path.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let written = self.write(&part).and_then(|()| Ok(fs::rename(&part, &path)?));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }

    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut writer = ArchiveWriter::new(BufWriter::new(File::create(path)?));
        let text = self.manifest.text();
        ensure!(text.len() as u64 <= manifest::MOST_BYTES, "it has too many files");
        writer.add(manifest::FILE, text.len() as u64, &mut text.as_bytes())?;
        for (name, content) in &self.contents {
            let Some(record) = self.manifest.files.get(name) else { continue };
            let sha256 = writer.add(name, record.bytes, &mut content.open()?)?;
            ensure!(sha256 == record.sha256, "{name} has changed meanwhile; export again");
        }
        let file = writer.finish()?.into_inner().map_err(|error| error.into_error())?;
        Ok(file.sync_all()?)
    }
}

/// Returns the component that answers in a slot and its signature, or else the file that the configuration names; `None` for
/// the one that is built in.
fn component_of(
    distribution: &Distribution,
    config: &Config,
    slot: SlotId,
    key: &str,
    configured: Option<&str>,
) -> anyhow::Result<Option<SignedBytes>> {
    let (store, cap) = (LocalStore::new(config.data_dir.join(SLOTS)), config.sandbox.component_bytes);
    let active = store.active_component(slot, cap)?;
    let is_built_in = |wasm: &[u8]| configured.is_none() && distribution.component(slot) == Some(wasm);
    match (active, configured) {
        (Some((wasm, _)), _) if is_built_in(&wasm) => Ok(None),
        (Some(active), _) => Ok(Some(active)),
        (None, Some(reference)) if Reference::is_reference(reference) => {
            bail!(
                "{key} names {reference}, which is not in the data folder; start the host once, so that it pulls it"
            )
        }
        (None, Some(file)) => {
            let (wasm, proof) =
                read_configured(Path::new(file), cap).map_err(|reason| anyhow!("{key}: {reason}"))?;
            let signature = match proof {
                Proof::Signature(text) => Some(text),
                Proof::BuiltIn | Proof::None => None,
            };
            Ok(Some((wasm, signature)))
        }
        (None, None) => Ok(None),
    }
}
