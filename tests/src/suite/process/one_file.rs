//! One binary, one folder: nothing else is needed, and nothing else is written.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
};

use bulkhead_tests::child::{Launch, program};
use rustix::process::geteuid;
use tempfile::TempDir;

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A folder of its own for an unprivileged user; as root one has to be made up.
fn home() -> (TempDir, Option<u32>) {
    let home = TempDir::new().unwrap();
    let user = geteuid().is_root().then_some(NOBODY);
    if user.is_some() {
        chown(home.path(), user, user).unwrap();
    }
    (home, user)
}

#[tokio::test]
async fn binary_serves_with_empty_environment() {
    let (home, user) = home();
    let place = TempDir::new().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let binary = place.path().join("bulkhead");
    fs::copy(program(), &binary).unwrap();

    let launch = Launch::new(&binary, &["serve", "--demo"]).ephemeral().in_folder(place.path());
    let launch = launch.env("HOME", home.path().to_str().unwrap());
    let host = user.into_iter().fold(launch, Launch::by_user).ready().await;
    assert_eq!(host.status(&host.admin_url("/health/live")).await, 200);
    assert_eq!(host.status(&host.admin_url("/health/ready")).await, 200);
    assert_eq!(host.status(&host.url("/api/v1/captcha/widget/challenge?siteKey=demo")).await, 200);
    assert_eq!(host.status(&host.url("/terminvereinbarung/api/2/healthcheck/")).await, 200);
    host.stop().await;

    assert_eq!(names(place.path()), ["bulkhead"], "the working folder is left alone");
    let data = home.path().join(".local/share/bulkhead");
    assert_eq!(mode(&data), 0o700);
    assert_eq!(names(&data), ["captcha.sqlite", "compiled", "demo", "format", "lock", "secrets"]);
    assert_eq!(mode(&data.join("captcha.sqlite")), 0o600);
    let secrets = data.join("secrets");
    assert_eq!(mode(&secrets), 0o700);
    assert_eq!(names(&secrets), ["captcha.key", "host.key"]);
    for name in names(&secrets) {
        assert_eq!(mode(&secrets.join(&name)), 0o600, "{name}");
        let secret = fs::read_to_string(secrets.join(&name)).unwrap();
        assert_eq!(secret.len(), 8 + 1 + 64, "a checksum, and 256 bits in hexadecimal");
    }
}

#[tokio::test]
async fn without_demo_there_is_no_demonstration_site() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve(folder.path()).ready().await;
    assert_eq!(host.status(&host.url("/api/v1/captcha/widget/challenge?siteKey=demo")).await, 404);
    let warned = host.log();
    // Nor a model, of which the log says how to get it.
    let warned =
        warned.iter().filter(|line| line["level"] == "WARN" && line["message"] != "model not loaded");
    let warned = warned.collect::<Vec<_>>();
    let about = |text| warned.iter().filter(|line| line["message"].as_str().unwrap().contains(text)).count();
    let told = [
        "captcha.sites",
        "status token",
        "tickets are not classified",
        "not answered",
        "set tickets.api_key",
    ];
    assert_eq!((warned.len(), told.map(about)), (5, [1; 5]), "{warned:?}");
    host.stop().await;
}

#[tokio::test]
async fn secret_readable_by_others_is_refused() {
    let folder = TempDir::new().unwrap();
    Launch::serve(folder.path()).ready().await.stop().await;
    let secret = folder.path().join("data/secrets/captcha.key");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    let finished = Launch::serve(folder.path()).finish().await;
    assert_eq!(finished.status.code(), Some(1));
    assert!(
        finished.stderr.contains("captcha.key") && finished.stderr.contains("chmod 600"),
        "{}",
        finished.stderr
    );
    let text = fs::read_to_string(&secret).unwrap();
    assert!(!finished.stderr.contains(&text));
}
