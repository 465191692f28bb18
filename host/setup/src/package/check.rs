//! Runs `just package --check`: looks at the packages with the tools of their formats, installs and runs them.

use std::path::{Path, PathBuf};

use super::{Release, VERSION};
use crate::command::{Outcome, capture, program, run};
use crate::{apt, files};

/// What the checks run.
const PACKAGES: [&str; 5] = ["lintian", "mmdebstrap", "podman", "slirp4netns", "systemd"];
/// Where apt on this machine gets packages from, in either form.
const SOURCES: [&str; 2] = ["/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources"];
/// Name of the container and the volume.
const NAME: &str = "bulkhead-check";

/// What happens in a fresh system after the package was copied to `/tmp`: it is installed, serves as its user with the
/// installed configuration, stops, and is purged, which keeps data.
const INSTALLED: &str = r#"chroot "$1" sh -exc '
    apt-get install --yes --no-install-recommends /tmp/bulkhead_*.deb
    bulkhead --version
    as="setpriv --reuid=bulkhead --regid=bulkhead --clear-groups"
    $as bulkhead config check --config /etc/bulkhead/bulkhead.toml
    $as bulkhead serve --config /etc/bulkhead/bulkhead.toml &
    timeout 300 sh -c "until bulkhead health; do sleep 1; done"
    kill $!
    wait $!
    touch /var/lib/bulkhead/kept
    apt-get purge --yes bulkhead > /tmp/purged
    cat /tmp/purged
    grep --quiet "/var/lib/bulkhead is kept" /tmp/purged
    test -e /var/lib/bulkhead/kept
    test ! -e /etc/bulkhead
'"#;

/// How a container of the image is waited for.
const HEALTHY: &str =
    "timeout 300 sh -c 'until podman exec bulkhead-check /usr/bin/bulkhead health; do sleep 1; done'";

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
    check("mmdebstrap", installed(debian));
    check("podman", contained(image));
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
fn installed(package: &Path) -> Outcome {
    let release = files::read(Path::new("/etc/os-release"))?;
    let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let name = name.ok_or_else(|| "this machine's release has no VERSION_CODENAME".to_owned())?;
    let copy = format!("--customize-hook=copy-in {} /tmp", package.display());
    let mut command = program("mmdebstrap", ["--variant=minbase", "--format=null", &copy]);
    command.arg(format!("--customize-hook={INSTALLED}")).args([name, "/dev/null"]);
    run(command.args(SOURCES.iter().filter(|file| Path::new(file).is_file())))
}

/// Runs the image with a read-only root until it is healthy, and stops it.
fn contained(image: &Path) -> Outcome {
    remove_container();
    capture(program("podman", ["load", "--quiet", "--input"]).arg(image))?;
    let outcome = run_container();
    remove_container();
    outcome
}

fn run_container() -> Outcome {
    let volume = format!("{NAME}:/var/lib/bulkhead");
    let image = format!("localhost/bulkhead:{VERSION}");
    let run_args =
        ["run", "--detach", "--name", NAME, "--read-only", "--cap-drop=all", "--volume", &volume, &image];
    // A machine that refuses namespaces fails here, with podman's own words.
    capture(&mut program("podman", run_args))?;
    let with_log = |reason: String| {
        let log = capture(&mut program("podman", ["logs", NAME])).unwrap_or_default();
        format!("{reason}\n{log}")
    };
    capture(&mut program("sh", ["-c", HEALTHY])).map_err(with_log)?;
    capture(&mut program("podman", ["stop", "--time", "60", NAME]))?;
    let code = capture(&mut program("podman", ["inspect", "--format", "{{.State.ExitCode}}", NAME]))?;
    if code.trim() == "0" { Ok(()) } else { Err(with_log(format!("it ended with the code {}", code.trim()))) }
}

/// Removes what an earlier or an interrupted check left; a missing one is not an error.
fn remove_container() {
    let _ = capture(&mut program("podman", ["rm", "--force", NAME]));
    let _ = capture(&mut program("podman", ["volume", "rm", "--force", NAME]));
}
