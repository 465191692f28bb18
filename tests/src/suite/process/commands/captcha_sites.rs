//! `bulkhead captcha site` edits the configuration file and has the running host read it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

use bulkhead_tests::{
    child::{Bulkhead, Finished, Launch},
    operator,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::operate::bulkhead;
use crate::process::SITE;

const SECRET: &str = "the secret of the shop";

fn config(folder: &Path) -> String {
    let data = folder.join("data");
    format!("# The town's host.\ndata_dir = {data:?} # on the large disk\n{}{SITE}", operator::tokens())
}

struct Town {
    folder: TempDir,
    host: Bulkhead,
}

impl Town {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let host = Launch::serve_with(folder.path(), &config(folder.path())).ready().await;
        Self { folder, host }
    }

    fn file(&self) -> String {
        self.folder.path().join("bulkhead.toml").to_str().unwrap().to_owned()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    async fn site(&self, token: &str, arguments: &[&str]) -> Finished {
        let file = self.file();
        let arguments = [&["captcha", "site"], arguments, &["--config", &file]].concat();
        bulkhead(&self.host, token, &arguments).await
    }

    /// What a command that succeeds prints.
    async fn done(&self, arguments: &[&str]) -> String {
        let finished = self.site(operator::ADMIN, arguments).await;
        assert!(finished.succeeded(), "{arguments:?}: {}", finished.stderr);
        finished.stdout.trim().to_owned()
    }

    async fn fails(&self, arguments: &[&str], code: i32, said: &str) {
        let before = self.text();
        let finished = self.site(operator::ADMIN, arguments).await;
        assert_eq!(finished.status.code(), Some(code), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{said}\n{}", finished.stderr);
        assert_eq!(self.text(), before);
    }

    /// Status of a challenge.
    async fn challenge(&self, site: &str, secret: &str) -> u16 {
        let body = json!({ "siteKey": site, "siteSecret": secret, "clientAddress": "192.0.2.7" });
        self.host.post("/api/v1/captcha/challenge", &body).await.0
    }
}

#[tokio::test]
async fn a_site_lives_from_add_to_remove() {
    let town = Town::start().await;
    let original = town.text();
    let first = town.done(&["add", "museum", "--origin", "https://www.example.org"]).await;
    assert!(first.len() == 64 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    assert_eq!((town.challenge("museum", &first).await, town.challenge("shop", SECRET).await), (200, 200));
    assert!(town.text().starts_with(original.trim_end()), "comments and order stay: {}", town.text());

    let second = town.done(&["rotate-secret", "museum"]).await;
    assert_ne!(first, second);
    assert_eq!((town.challenge("museum", &first).await, town.challenge("museum", &second).await), (200, 200));
    assert_eq!(town.done(&["rotate-secret", "museum", "--finish"]).await, "");
    assert_eq!((town.challenge("museum", &first).await, town.challenge("museum", &second).await), (401, 200));
    let answer = town.done(&["rotate-secret", "museum", "--revoke", "--json"]).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let third = answer["secret"].as_str().unwrap();
    assert_eq!((town.challenge("museum", &second).await, town.challenge("museum", third).await), (401, 200));

    let list = town.done(&["list"]).await;
    assert!(list.contains("museum") && list.contains("https://www.example.org"), "{list}");
    let listed: Value = serde_json::from_str(&town.done(&["list", "--json"]).await).unwrap();
    assert_eq!(listed["sites"][0]["site"], "museum");
    for secret in [third, SECRET] {
        assert!(!list.contains(secret) && !listed.to_string().contains(secret), "{list} {listed}");
    }

    assert_eq!(town.done(&["remove", "museum"]).await, "");
    assert_eq!((town.challenge("museum", third).await, town.challenge("shop", SECRET).await), (401, 200));
    assert_eq!(town.text().trim_end(), original.trim_end());
    town.host.stop().await;
}

#[tokio::test]
async fn changes_at_once_are_all_made() {
    let town = Town::start().await;
    let keys = ["a", "b", "c", "d", "e", "f"];
    let town_at = &town;
    let secrets = join_all(keys.map(|key| async move { town_at.done(&["add", key]).await })).await;
    for (key, secret) in keys.iter().zip(secrets) {
        assert_eq!(town.challenge(key, &secret).await, 200, "{key}");
    }
    town.host.stop().await;
}

#[tokio::test]
async fn wrong_site_changes_are_refused() {
    let town = Town::start().await;
    town.fails(&["add", "shop"], 1, "the site `shop` exists already").await;
    town.fails(&["add", ""], 2, "must not be empty").await;
    town.fails(&["add", "x", "--origin", "www.example.org"], 2, "must be an origin").await;
    town.fails(&["remove", "museum"], 1, "has no site `museum`").await;
    town.fails(&["rotate-secret", "museum"], 1, "has no site `museum`").await;
    town.fails(&["rotate-secret", "shop", "--finish"], 1, "no rotation to finish").await;
    let none = bulkhead(&town.host, operator::ADMIN, &["captcha", "site", "remove", "shop"]).await;
    assert_eq!(none.status.code(), Some(2));
    assert!(none.stderr.contains("--config"), "{}", none.stderr);

    let before = town.text();
    for (token, code) in [("", 2), (operator::READ, 5), ("bulkhead_unknown", 5)] {
        let finished = town.site(token, &["add", "museum"]).await;
        assert_eq!(finished.status.code(), Some(code), "{token}: {}", finished.stderr);
        assert!(finished.stderr.contains("--no-reload"), "{}", finished.stderr);
        assert_eq!((town.text(), finished.stdout.as_str()), (before.clone(), ""));
    }
    let quiet = town.site("", &["add", "museum", "--no-reload"]).await;
    assert!(quiet.succeeded(), "{}", quiet.stderr);
    assert_eq!(town.challenge("museum", quiet.stdout.trim()).await, 401, "not before a reload");

    let broken = format!("{}no_such_key = 1\n", town.text());
    fs::write(town.file(), &broken).unwrap();
    for arguments in [&["remove", "museum"][..], &["add", "bakery"], &["list"]] {
        town.fails(arguments, 3, "no_such_key").await;
    }
    town.host.stop().await;
}

/// The secret is lost then, and the host must not go on with another one than the file has.
#[tokio::test]
async fn untaken_secret_is_reported_after_the_change() {
    let town = Town::start().await;
    let file = town.file();
    // A pipe whose reader has left is closed for writers; `/dev/full` takes nothing.
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    for (key, json, stdout) in
        [("museum", false, Stdio::from(full.try_clone().unwrap())), ("zoo", true, closed.into())]
    {
        let form = if json { &["--json"][..] } else { &[] };
        let arguments = [&["captcha", "site", "add", key, "--config", &file], form].concat();
        let launch = Launch::bulkhead(&arguments).stdout(stdout);
        let launch = launch.env("BULKHEAD_ADMIN_URL", &town.host.admin_url(""));
        let finished = launch.env("BULKHEAD_ADMIN_TOKEN", operator::ADMIN).finish().await;
        assert_eq!(finished.status.code(), Some(1), "{key}: {}", finished.stderr);
        for said in ["is written", "has read it", "was not shown", "rotate-secret", "--revoke"] {
            assert!(finished.stderr.contains(said), "{said}\n{}", finished.stderr);
        }
        let text = town.text();
        let (_, site) = text.split_once(&format!("[captcha.sites.{key}]\nsecret = \"")).unwrap();
        let (secret, _) = site.split_once('"').unwrap();
        assert!(!finished.stderr.contains(secret), "{}", finished.stderr);
        assert_eq!(town.challenge(key, secret).await, 200, "the host has read it");
        let other = town.done(&["rotate-secret", key, "--revoke"]).await;
        assert_eq!((town.challenge(key, secret).await, town.challenge(key, &other).await), (401, 200));
    }
    let arguments = ["captcha", "site", "remove", "zoo", "--json", "--config", &file];
    let launch = Launch::bulkhead(&arguments).stdout(full.into());
    let launch = launch.env("BULKHEAD_ADMIN_URL", &town.host.admin_url(""));
    let finished = launch.env("BULKHEAD_ADMIN_TOKEN", operator::ADMIN).finish().await;
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("cannot write to standard output"), "{}", finished.stderr);
    assert!(finished.stderr.contains("has read it"), "{}", finished.stderr);
    town.host.stop().await;
}

/// The file has the site, and the host that answers does not read that file.
#[tokio::test]
async fn file_of_another_host_ends_with_failure() {
    let town = Town::start().await;
    let other = town.folder.path().join("other.toml");
    fs::write(&other, config(town.folder.path())).unwrap();
    let arguments = ["captcha", "site", "add", "museum", "--config", other.to_str().unwrap()];
    let finished = bulkhead(&town.host, operator::ADMIN, &arguments).await;
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains("check that it runs with"), "{}", finished.stderr);
    let secret = finished.stdout.trim();
    assert!(
        secret.len() == 64 && fs::read_to_string(&other).unwrap().contains(secret),
        "{}",
        finished.stderr
    );
    assert_eq!(town.challenge("museum", secret).await, 401);
    let quiet = [&arguments[..3], &["bakery", "--no-reload"], &arguments[4..]].concat();
    let quiet = bulkhead(&town.host, operator::ADMIN, &quiet).await;
    assert!(quiet.succeeded(), "{}", quiet.stderr);
    town.host.stop().await;
}

/// Runs `bulkhead captcha site` where no host is.
async fn without_host(file: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Finished {
    let file = file.to_str().unwrap();
    let arguments = [&["captcha", "site"], arguments, &["--config", file]].concat();
    // Nothing listens on the discard port.
    let launch = Launch::bulkhead(&arguments).env("BULKHEAD_ADMIN_URL", "http://127.0.0.1:9");
    let launch = environment.iter().fold(launch, |launch, (name, value)| launch.env(name, value));
    launch.finish().await
}

#[tokio::test]
async fn file_alone_changes_without_a_host() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("bulkhead.toml");
    fs::write(&file, config(folder.path())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let added = without_host(&file, &["add", "museum"], &[]).await;
    assert!(added.succeeded(), "{}", added.stderr);
    assert!(added.stderr.contains("no host answers"), "{}", added.stderr);
    assert!(fs::read_to_string(&file).unwrap().contains(added.stdout.trim()));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[tokio::test]
async fn site_of_environment_names_its_variable() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("bulkhead.toml");
    fs::write(&file, config(folder.path())).unwrap();
    let bakery = ("CAPTCHA_SITES_BAKERY_SECRET", "of-the-environment");
    let ladder = [
        ("CAPTCHA_SITES_BAKERY_DIFFICULTYMAP_0_MINVISITS", "1"),
        ("CAPTCHA_SITES_BAKERY_DIFFICULTYMAP_0_COST", "1"),
    ];
    let shop = ("BULKHEAD_CAPTCHA__SITES__SHOP__SECRET", "of-the-environment");
    for (arguments, environment, said) in [
        (["remove", "bakery"], &[bakery, ladder[0], ladder[1]][..], "CAPTCHA_SITES_BAKERY"),
        (["rotate-secret", "bakery"], &[bakery, ladder[0], ladder[1]], "CAPTCHA_SITES_BAKERY"),
        (["rotate-secret", "shop"], &[shop], "BULKHEAD_CAPTCHA__SITES__SHOP__SECRET takes precedence over"),
    ] {
        let before = fs::read_to_string(&file).unwrap();
        let finished = without_host(&file, &arguments, environment).await;
        assert_eq!(finished.status.code(), Some(1), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{said}\n{}", finished.stderr);
        assert_eq!((fs::read_to_string(&file).unwrap(), finished.stdout.as_str()), (before, ""));
    }
    let list = without_host(&file, &["list"], &[bakery, ladder[0], ladder[1]]).await;
    assert!(list.stdout.contains("bakery") && !list.stdout.contains(bakery.1), "{}", list.stdout);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_stays() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("etc");
    fs::create_dir(&place).unwrap();
    let file = place.join("bulkhead.toml");
    fs::write(&file, config(folder.path())).unwrap();
    for path in [folder.path(), &place] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let name = file.to_str().unwrap();
    let arguments = ["captcha", "site", "add", "museum", "--no-reload", "--config", name];
    let finished = Launch::bulkhead(&arguments).by_user(65_534).finish().await;
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("cannot write") && finished.stderr.contains(name),
        "{}",
        finished.stderr
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), config(folder.path()));
}
