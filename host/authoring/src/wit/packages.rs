//! The WIT packages that the binary speaks, and how they are written to a folder.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    str,
};

use anyhow::{Context as _, anyhow, bail};
use bulkhead_runtime::slots::EmbeddedFile;
use wit_parser::{PackageId, PackageName, Resolve, SourceMap, UnresolvedPackageGroup, World, WorldId};

use crate::{platform::AuthorPlatform, signature::bare};

/// Folder of the packages that others use.
const DEPENDENCIES: &str = "deps";

/// The packages of a binary.
pub(crate) struct Packages {
    resolve: Resolve,
    folders: Vec<PackageFolder>,
}

/// The folder of one package.
struct PackageFolder {
    /// Below `wit`, such as `captcha` or `deps/io`.
    path: &'static str,
    package: PackageId,
    files: Vec<&'static EmbeddedFile>,
}

impl PackageFolder {
    /// Returns the last part of its path.
    fn name(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// Adds its files under a folder.
    fn add_files(&self, folder: &Path, files: &mut Vec<(PathBuf, &'static [u8])>) {
        for file in &self.files {
            let name = file.path.rsplit('/').next().unwrap_or(file.path);
            files.push((folder.join(name), file.bytes));
        }
    }
}

impl Packages {
    /// Reads the packages of a binary.
    pub(crate) fn of(platform: &AuthorPlatform) -> anyhow::Result<Self> {
        let mut files: BTreeMap<&'static str, Vec<&'static EmbeddedFile>> = BTreeMap::new();
        for file in platform.wit().filter(|file| file.path.ends_with(".wit")) {
            let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            files.entry(folder).or_default().push(file);
        }
        let mut groups = Vec::new();
        let mut names: Vec<(&'static str, PackageName, Vec<&'static EmbeddedFile>)> = Vec::new();
        for (folder, files) in files {
            let group = parse(&files)?;
            names.push((folder, group.main.name.clone(), files));
            groups.push(group);
        }
        let main = groups.pop().context("the binary carries no WIT")?;
        let mut resolve = Resolve::default();
        resolve.push_groups(main, groups).map_err(|error| anyhow!("{error}"))?;
        let folders = names.into_iter().filter_map(|(path, name, files)| {
            let package = *resolve.package_names.get(&name)?;
            Some(PackageFolder { path, package, files })
        });
        let folders = folders.collect();
        Ok(Self { resolve, folders })
    }

    /// Returns what all packages hold.
    pub(crate) const fn resolve(&self) -> &Resolve {
        &self.resolve
    }

    /// Returns the name of a package, with its version.
    fn name(&self, package: PackageId) -> String {
        self.resolve.packages.get(package).map(|package| package.name.to_string()).unwrap_or_default()
    }

    /// Returns the packages with a world that exports something and that no other package brings along.
    fn own(&self) -> impl Iterator<Item = &PackageFolder> {
        self.folders.iter().filter(|folder| !folder.path.starts_with(DEPENDENCIES))
    }

    /// Finds a world by its name, with or without package and version, or by the name of a package in which one world
    /// exports something.
    ///
    /// # Errors
    /// When none or several have the name.
    pub(crate) fn world(&self, wanted: &str) -> anyhow::Result<WorldId> {
        let implemented: Vec<(WorldId, &World, &PackageName)> = self.implemented().collect();
        let named: Vec<_> =
            implemented.iter().filter(|(_, world, package)| is_named(wanted, world, package)).collect();
        let of_package = implemented.iter().filter(|(_, _, package)| package.name == wanted);
        let found: Vec<_> = if named.is_empty() { of_package.collect() } else { named };
        if let [(id, ..)] = found.as_slice() {
            return Ok(*id);
        }
        let listed: Vec<_> = if found.is_empty() { implemented.iter().collect() } else { found };
        let names: Vec<String> =
            listed.iter().map(|(_, world, package)| package.interface_id(&world.name)).collect();
        bail!("there is no single world called {wanted}; name one of {}", names.join(", "))
    }

    /// Returns the worlds that export something, with their packages.
    fn implemented(&self) -> impl Iterator<Item = (WorldId, &World, &PackageName)> {
        self.resolve.worlds.iter().filter(|(_, world)| !world.exports.is_empty()).filter_map(
            move |(id, world)| {
                let package = self.resolve.packages.get(world.package?)?;
                Some((id, world, &package.name))
            },
        )
    }

    /// Returns every package that a package uses, also through others.
    fn dependencies(&self, package: PackageId) -> BTreeSet<PackageId> {
        let (mut found, mut pending) = (BTreeSet::new(), vec![package]);
        while let Some(next) = pending.pop() {
            for used in self.resolve.package_direct_deps(next) {
                if used != package && found.insert(used) {
                    pending.push(used);
                }
            }
        }
        found
    }

    /// Returns the packages that components of a world may import although the world does not name them: those of a world
    /// whose components need no slot, such as `wasi:keyvalue` for apps.
    pub(crate) fn offered(&self, platform: &AuthorPlatform, world: WorldId) -> BTreeSet<PackageId> {
        let name = self.implemented().find(|(id, ..)| *id == world);
        let name = name.map(|(_, world, package)| package.interface_id(&world.name)).unwrap_or_default();
        let Some(served) = platform.served.iter().find(|served| served.name == bare(&name)) else {
            return BTreeSet::new();
        };
        let capabilities = &platform.capabilities;
        let slot = served.contract(capabilities).slot;
        let mut found = BTreeSet::new();
        for interface in capabilities.interfaces().filter(|one| capabilities.is_granted(one, &slot, &[])) {
            let is_of = |package: &PackageId| {
                let name = self.name(*package);
                interface.name.split_once('/').is_some_and(|(package, _)| package == bare(&name))
            };
            for package in self.folders.iter().map(|folder| folder.package).filter(is_of) {
                found.insert(package);
                found.extend(self.dependencies(package));
            }
        }
        found
    }

    /// Returns the files of the package of a world and, under `deps`, of those that it uses, and of `offered` ones.
    pub(crate) fn files(
        &self,
        world: WorldId,
        offered: &BTreeSet<PackageId>,
    ) -> Vec<(PathBuf, &'static [u8])> {
        let package = self.package(world);
        package.map(|package| self.layout(package, offered, Path::new(""))).unwrap_or_default()
    }

    /// Returns the same for every package that brings a world for components, each in a folder of its own.
    pub(crate) fn all_files(&self, platform: &AuthorPlatform) -> Vec<(PathBuf, &'static [u8])> {
        let written = self.written(platform);
        written
            .flat_map(|(folder, offered)| self.layout(folder.package, &offered, Path::new(folder.name())))
            .collect()
    }

    /// Returns each package that brings a world for components, with those that it offers to them.
    fn written(
        &self,
        platform: &AuthorPlatform,
    ) -> impl Iterator<Item = (&PackageFolder, BTreeSet<PackageId>)> {
        let served = platform.served.iter().filter_map(move |served| {
            let world = self.world(served.name).ok()?;
            let folder = self.folders.iter().find(|folder| Some(folder.package) == self.package(world))?;
            Some((folder, self.offered(platform, world)))
        });
        self.own().map(|folder| (folder, BTreeSet::new())).chain(served)
    }

    /// Returns the package of a world.
    fn package(&self, world: WorldId) -> Option<PackageId> {
        self.resolve.worlds.get(world).and_then(|world| world.package)
    }

    fn layout(
        &self,
        package: PackageId,
        offered: &BTreeSet<PackageId>,
        base: &Path,
    ) -> Vec<(PathBuf, &'static [u8])> {
        let (mut used, mut files) = (self.dependencies(package), Vec::new());
        used.extend(offered);
        for folder in &self.folders {
            if folder.package == package {
                folder.add_files(base, &mut files);
            } else if used.contains(&folder.package) {
                folder.add_files(&base.join(DEPENDENCIES).join(folder.name()), &mut files);
            }
        }
        files
    }

    /// Returns the name of the package of a world, and of those that it uses or that are `offered`.
    pub(crate) fn names(&self, world: WorldId, offered: &BTreeSet<PackageId>) -> (String, Vec<String>) {
        let Some(package) = self.package(world) else { return Default::default() };
        let mut used = self.dependencies(package);
        used.extend(offered);
        used.remove(&package);
        (self.name(package), used.into_iter().map(|used| self.name(used)).collect())
    }

    /// Returns the names of the packages that [`all_files`](Self::all_files) writes.
    pub(crate) fn all_names(&self, platform: &AuthorPlatform) -> Vec<String> {
        self.written(platform).map(|(folder, _)| self.name(folder.package)).collect()
    }
}

/// Parses the files of one package.
fn parse(files: &[&'static EmbeddedFile]) -> anyhow::Result<UnresolvedPackageGroup> {
    let mut map = SourceMap::default();
    for file in files {
        map.push(Path::new(file.path), str::from_utf8(file.bytes)?);
    }
    map.parse().map_err(|(map, error)| anyhow!("{}", error.render(&map)))
}

/// Returns whether a world has this name, with or without its package and the version.
fn is_named(wanted: &str, world: &World, package: &PackageName) -> bool {
    let full = package.interface_id(&world.name);
    let without_version = full.split_once('@').map_or(&*full, |(name, _)| name);
    let without_namespace = without_version.split_once(':').map_or(without_version, |(_, name)| name);
    [&*full, without_version, without_namespace, &*world.name].contains(&wanted)
}

/// Writes files below a folder, which must not exist or be empty unless `replaces` is set.
///
/// # Errors
/// When the folder has files or is one, or a file cannot be written.
pub(crate) fn write<B: AsRef<[u8]>>(
    folder: &Path,
    files: impl IntoIterator<Item = (PathBuf, B)>,
    replaces: bool,
) -> anyhow::Result<usize> {
    if folder.exists() && !folder.is_dir() {
        bail!("{} is a file; name a folder", folder.display());
    }
    let is_free = replaces
        || match fs::read_dir(folder) {
            Ok(mut entries) => entries.next().is_none(),
            Err(_) => !folder.exists(),
        };
    if !is_free {
        bail!("{} has files already; name a folder that is empty or not there", folder.display());
    }
    let mut count = 0;
    for (name, bytes) in files {
        let path = folder.join(name);
        let text = || format!("cannot write {}", path.display());
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(text)?;
        }
        fs::write(&path, bytes.as_ref()).with_context(text)?;
        count += 1;
    }
    Ok(count)
}
