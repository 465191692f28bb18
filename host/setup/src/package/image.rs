//! Makes a container image from scratch: the binary, the shared libraries that it loads, certificate authorities, the
//! licences of all of them, and a user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Release, VERSION, stage};
use crate::command::{Outcome, capture, program, run};
use crate::{files, install::apt, paths};

/// What builds images without a daemon, and certificate authorities.
const PACKAGES: [&str; 2] = ["buildah", "ca-certificates"];
/// The certificate authorities of Debian, in one file.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// The user of the image; its number is in `host/deploy/Containerfile` too.
const USERS: &str = "bulkhead:x:10001:10001:Bulkhead:/var/lib/bulkhead:/sbin/nologin\n";
const GROUPS: &str = "bulkhead:x:10001:\n";

/// Makes the image, and returns the path of an archive that `podman load` and `docker load` take.
pub(super) fn make(release: &Release) -> Outcome<PathBuf> {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("image", &PACKAGES)?;
    }
    let context = Release::folder().join("image");
    files::remove_folder(&context)?;
    lay_out(release, &context)?;
    let tag = format!("localhost/{}:{VERSION}", release.features.name());
    // Docker's format, because that of OCI has no health check; registries and runtimes take both.
    run(program("buildah", ["build", "--quiet", "--format", "docker", "--isolation", "chroot", "--file"])
        .arg(paths::workspace().join("host/deploy/Containerfile"))
        .args(["--timestamp", &release.time, "--tag", &tag])
        .arg(&context))?;
    let path = Release::folder().join(format!("{}-image.tar", release.name()));
    // The tool adds to an archive that is there.
    let _ = std::fs::remove_file(&path);
    run(&mut program(
        "buildah",
        ["push", "--quiet", &tag, &format!("docker-archive:{}:{tag}", path.display())],
    ))?;
    Ok(path)
}

/// Lays out the folders that the image is made of: `root`, and `data` for the data folder.
fn lay_out(release: &Release, context: &Path) -> Outcome {
    let root = context.join("root");
    files::create_folder(&context.join("data"))?;
    stage::install(&release.binary, &root.join("usr/bin/bulkhead"), "755")?;
    let documents = release.stage.join("share/doc/bulkhead");
    for name in ["LICENSE", "NOTICES.txt", "bulkhead.cdx.json", "rust"] {
        stage::copy(&documents.join(name), &root.join("usr/share/doc/bulkhead").join(name))?;
    }
    let mut packages = BTreeSet::from(["ca-certificates".to_owned()]);
    for library in libraries(&release.binary)? {
        stage::install(&library, &in_root(&root, &library), "755")?;
        packages.insert(owner(&library)?);
    }
    stage::install(Path::new(AUTHORITIES), &in_root(&root, Path::new(AUTHORITIES)), "644")?;
    for package in packages {
        let licence = Path::new("/usr/share/doc").join(package).join("copyright");
        stage::install(&licence, &in_root(&root, &licence), "644")?;
    }
    files::write(&root.join("etc/passwd"), USERS.as_bytes())?;
    files::write(&root.join("etc/group"), GROUPS.as_bytes())
}

/// Returns the path in the image of a file of this machine.
fn in_root(root: &Path, file: &Path) -> PathBuf {
    root.join(file.strip_prefix("/").unwrap_or(file))
}

/// Returns the shared libraries that a binary loads, with the loader.
fn libraries(binary: &Path) -> Outcome<Vec<PathBuf>> {
    let listed = capture(program("ldd", [binary]).env("LC_ALL", "C"))?;
    if listed.contains("not found") {
        return Err(format!("{} needs libraries that are not here:\n{listed}", binary.display()));
    }
    Ok(loaded(&listed))
}

/// Reads what `ldd` prints: `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)` for the loader.
fn loaded(listed: &str) -> Vec<PathBuf> {
    let path = |line: &str| -> Option<PathBuf> {
        let (_, path) = line.trim().rsplit_once("=> ").unwrap_or(("", line.trim()));
        let (path, _) = path.rsplit_once(" (")?;
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    listed.lines().filter_map(path).collect()
}

/// Returns the Debian package that a library is from.
fn owner(library: &Path) -> Outcome<String> {
    let named = |path: &Path| capture(program("dpkg-query", ["--search"]).arg(path));
    let real = std::fs::canonicalize(library).unwrap_or_else(|_| library.to_owned());
    // Since /lib is a link, the package may name the file with or without /usr.
    let short = real.strip_prefix("/usr").map(|rest| Path::new("/").join(rest));
    let found = [Ok(real.clone()), short].into_iter().flatten().find_map(|path| named(&path).ok());
    let found =
        found.ok_or_else(|| format!("no Debian package has {}; its licence is missing", real.display()))?;
    Ok(found.split(':').next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_ldd() {
        let listed = "\tlinux-vdso.so.1 (0x00007fff)\n\tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f0)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x00007f1)\n";
        let read: Vec<_> = loaded(listed).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(read, ["/lib/x86_64-linux-gnu/libgcc_s.so.1", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(loaded("\tstatically linked\n").is_empty());
    }
}
