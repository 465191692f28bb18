//! Runs `just package --check`: looks at the packages with the tools of their formats, installs and runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{FeatureSet, Release, VERSION, smoke};
use crate::command::{Outcome, capture, program, run};
use crate::{files, install::apt};

/// What the checks run.
const PACKAGES: [&str; 5] = ["lintian", "mmdebstrap", "podman", "runc", "systemd"];
/// Where apt on this machine may have its distribution's packages from, in either form.
const SOURCES: [&str; 3] = [
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d/debian.sources",
    "/etc/apt/sources.list.d/ubuntu.sources",
];
/// The namespaces of a container, as `unshare` names them.
const NAMESPACES: [&str; 6] = ["mount", "pid", "net", "ipc", "uts", "cgroup"];
/// Name of the container and the volume.
const NAME: &str = "bulkhead-check";

/// What happens in a fresh system after the package NAME was copied to `/tmp`: it is installed, serves as its user with the
/// installed configuration, stops, and is purged, which keeps data.
const INSTALLED: &str = r#"chroot "$1" sh -exc '
    apt-get install --yes --no-install-recommends /tmp/NAME_*.deb
    bulkhead --version
    as="setpriv --reuid=bulkhead --regid=bulkhead --clear-groups"
    $as bulkhead config check --config /etc/bulkhead/bulkhead.toml
    $as bulkhead serve --config /etc/bulkhead/bulkhead.toml &
    host=$!
    tries=300
    until bulkhead health; do
        kill -0 $host
        tries=$((tries - 1))
        test $tries -gt 0
        sleep 1
    done
    kill $host
    wait $host
    touch /var/lib/bulkhead/kept
    apt-get purge --yes NAME | tee /tmp/purged
    grep --quiet "/var/lib/bulkhead is kept" /tmp/purged
    test -e /var/lib/bulkhead/kept
    test ! -e /etc/bulkhead
'"#;

/// How a container of the image is waited for, by the check that the image has. The argument is the container.
const HEALTHY: &str = r#"
    tries=300
    until podman --runtime runc healthcheck run "$1"; do
        test "$(podman inspect --format '{{.State.Running}}' "$1")" = true
        tries=$((tries - 1))
        test $tries -gt 0
        sleep 1
    done
"#;

/// Runs every check, and names those that failed.
pub(super) fn all(release: &Release, made: &[PathBuf]) -> Outcome {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("check", &PACKAGES)?;
    }
    let of_kind = |extension: &str| {
        let found = made.iter().find(|path| path.extension().is_some_and(|own| own == extension));
        found.map(PathBuf::as_path).ok_or_else(|| format!("no .{extension} was made"))
    };
    let (debian, image) = (of_kind("deb")?, of_kind("tar")?);
    let mut failed = Vec::new();
    let mut check = |name: &'static str, outcome: Outcome| match outcome {
        Ok(()) => println!("check: {name} passed"),
        Err(reason) => {
            eprintln!("check: {name} failed: {reason}");
            failed.push(name);
        }
    };
    check("lintian", run(program("lintian", ["--fail-on", "error,warning"]).arg(debian)));
    check("systemd-analyze", unit(release));
    check("mmdebstrap", installed(release, debian));
    check("podman", contained(release, image));
    if release.features == FeatureSet::Edge {
        check("services", smoke::test(release));
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed checks: {}", failed.join(", "))) }
}

/// Verifies the unit, with the built binary in place of the installed one, and how far it is confined.
fn unit(release: &Release) -> Outcome {
    let text = files::read(&release.stage.join("lib/systemd/system/bulkhead.service"))?;
    let binary = release.binary.to_string_lossy();
    let unit = Release::folder().join("check/bulkhead.service");
    files::write(&unit, text.replace("/usr/bin/bulkhead", &binary).as_bytes())?;
    run(program("systemd-analyze", ["verify", "--man=no"]).arg(&unit))?;
    capture(
        program("systemd-analyze", ["security", "--no-pager", "--offline=true", "--threshold=25"]).arg(&unit),
    )
    .map(drop)
}

/// Installs, runs and purges the package in a fresh system of this machine's release.
fn installed(release: &Release, package: &Path) -> Outcome {
    let system = files::read(Path::new("/etc/os-release"))?;
    let name = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let name = name.ok_or_else(|| "this machine's release has no VERSION_CODENAME".to_owned())?;
    let copy = format!("--customize-hook=copy-in {} /tmp", package.display());
    let mut command = program("mmdebstrap", ["--variant=minbase", "--format=null", &copy]);
    let script = INSTALLED.replace("NAME", release.features.name());
    command.arg(format!("--customize-hook={script}")).args([name, "/dev/null"]);
    run(command.args(SOURCES.iter().filter(|file| has_sources(Path::new(file)))))
}

/// Returns whether a file of apt names sources. Where they have moved, the old file has comments only.
fn has_sources(file: &Path) -> bool {
    let is_source = |line: &str| line.starts_with("deb ") || line.starts_with("Types:");
    files::read(file).is_ok_and(|text| text.lines().any(is_source))
}

/// Runs the image with a read-only root until it is healthy, and stops it.
fn contained(release: &Release, image: &Path) -> Outcome {
    let refused = refused_namespaces();
    if !refused.is_empty() {
        return Err(format!(
            "this machine refuses the namespaces that a container needs: {}; check the image on another one",
            refused.join(", ")
        ));
    }
    remove_container();
    capture(&mut podman(&["load", "--quiet", "--input", &image.to_string_lossy()]))?;
    let outcome = run_container(release);
    remove_container();
    outcome
}

/// Returns the namespaces that the kernel or a sandbox does not let this user make.
fn refused_namespaces() -> Vec<&'static str> {
    let user: &[&str] = if apt::is_root() { &[] } else { &["--user", "--map-root-user"] };
    let is_refused = |name: &&str| {
        let mut unshare = program("unshare", user);
        capture(unshare.arg(format!("--{name}")).args(["--fork", "true"])).is_err()
    };
    NAMESPACES.into_iter().filter(is_refused).collect()
}

/// Returns a command of podman. The other runtime, crun, takes no control groups of both versions; and without systemd there is no
/// timer for the image's check.
fn podman(arguments: &[&str]) -> Command {
    let mut command = program("podman", ["--runtime", "runc"]);
    command.args(arguments).env("DISABLE_HC_SYSTEMD", "true");
    command
}

fn run_container(release: &Release) -> Outcome {
    let volume = format!("{NAME}:/var/lib/bulkhead");
    let image = format!("localhost/{}:{VERSION}", release.features.name());
    // The image is healthy without a network. The limits are below those of a sandbox, which podman's own may exceed.
    let options = "run --detach --network none --read-only --read-only-tmpfs=false --cap-drop=all --ulimit nofile=4096:4096 \
                   --ulimit nproc=4096:4096";
    let arguments: Vec<&str> =
        options.split_whitespace().chain(["--name", NAME, "--volume", &volume, &image]).collect();
    capture(&mut podman(&arguments))?;
    let with_log = |reason: String| {
        let log = capture(&mut podman(&["logs", NAME])).unwrap_or_default();
        format!("{reason}\n{log}")
    };
    capture(&mut program("sh", ["-ec", HEALTHY, "healthy", NAME])).map_err(with_log)?;
    capture(&mut podman(&["stop", "--time", "60", NAME]))?;
    let code = capture(&mut podman(&["inspect", "--format", "{{.State.ExitCode}}", NAME]))?;
    if code.trim() == "0" { Ok(()) } else { Err(with_log(format!("it ended with the code {}", code.trim()))) }
}

/// Removes what an earlier or an interrupted check left; a missing one is not an error.
fn remove_container() {
    let _ = capture(&mut podman(&["rm", "--force", NAME]));
    let _ = capture(&mut podman(&["volume", "rm", "--force", NAME]));
}
