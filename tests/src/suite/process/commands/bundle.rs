//! Bundles: what a site exports and signs, a site without a network imports as a whole or not at all.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

use bulkhead_tests::{
    child::{Finished, Launch},
    guests::{HttpGuest, answering},
    operator::{self, Operator},
    signer::Signer,
};
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use crate::process::{SITE, envelope};

const BLOCK: usize = 512;

/// A bundle of a host in whose slot an operator has put another component than the configured one, and with an app that has only
/// the one that was pushed.
struct Exported {
    folder: TempDir,
    signer: Signer,
    bytes: Vec<u8>,
}

impl Exported {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("a.wasm");
        fs::write(&file, answering('A', "").component()).unwrap();
        let slots = format!("[slots.captcha]\ncomponent = {file:?}\n[apps.board]\npath_prefix = '/board'\n");
        let config = format!("{}{slots}{SITE}", operator::tokens());
        let host = Launch::serve_with(folder.path(), &config).ready().await;
        let deploy = Operator::new(&host.admin_url(""), operator::DEPLOY);
        let version = deploy.push(answering('B', "").component()).await;
        deploy.swap(&version).await;
        let deploy = deploy.of("board");
        let version = deploy.push(HttpGuest::answering(200, "pinned").component()).await;
        deploy.swap(&version).await;
        host.stop().await;
        let model = folder.path().join("data/models/toy");
        fs::create_dir_all(&model).unwrap();
        fs::write(model.join("model.safetensors"), [7; 3000]).unwrap();
        fs::create_dir_all(folder.path().join("data/models/.packed")).unwrap();
        fs::write(folder.path().join("data/models/.packed/toy.packed"), "made again").unwrap();

        let mut exported = Self { folder, signer: Signer::new(), bytes: Vec::new() };
        let shown = exported.export().await;
        assert!(shown.contains("2 components") && shown.contains("captcha.sites.shop.secret"), "{shown}");
        exported
    }

    /// Exports the site in the folder; returns what the command prints.
    async fn export(&mut self) -> String {
        let bundle = self.folder.path().join("town.bundle");
        let exported = bulkhead("export", self.folder.path(), &["--output", bundle.to_str().unwrap()]);
        let exported = exported.env("BULKHEAD_SERVER__LISTEN", "127.0.0.1:0").finish().await;
        assert!(exported.succeeded(), "{}", exported.stderr);
        self.bytes = fs::read(&bundle).unwrap();
        exported.stdout
    }

    /// Writes a bundle with these bytes, signed.
    fn signed(&self, bytes: &[u8]) -> PathBuf {
        let bundle = self.folder.path().join("signed.bundle");
        fs::write(&bundle, bytes).unwrap();
        fs::write(self.folder.path().join("signed.bundle.minisig"), self.signer.sign(bytes, 1_800_000_000))
            .unwrap();
        bundle
    }

    /// Asserts that a bundle is refused with these words, and that nothing has changed.
    async fn assert_refused(&self, bundle: &Path, key: &str, expected: &str) {
        let site = TempDir::new().unwrap();
        let refused = import(site.path(), bundle, key).await;
        assert!(!refused.succeeded(), "{expected}: {}", refused.stdout);
        assert!(refused.stderr.contains(expected), "{expected}: {}", refused.stderr);
        let data = site.path().join("data");
        let left = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let of_data = left(&data).into_iter().filter(|name| name != "models").count();
        assert_eq!((of_data, left(&data.join("models")).len()), (0, 0), "{expected}");
    }
}

/// `bulkhead bundle` with the configuration and the data folder of a host in `folder`.
fn bulkhead(command: &str, folder: &Path, arguments: &[&str]) -> Launch {
    let (config, data) = (folder.join("bulkhead.toml"), folder.join("data"));
    let launch = Launch::bulkhead(&["bundle", command, "--data-dir", data.to_str().unwrap()]);
    let launch = if config.exists() { launch.args(&["--config", config.to_str().unwrap()]) } else { launch };
    launch.args(arguments)
}

async fn import(site: &Path, bundle: &Path, key: &str) -> Finished {
    bulkhead("import", site, &[bundle.to_str().unwrap(), "--key", key]).finish().await
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_bundle_is_served() {
    let exported = Exported::new().await;
    let bytes = String::from_utf8_lossy(&exported.bytes);
    assert!(!bytes.contains("the secret of the shop") && !bytes.contains("made again"));
    let bundle = exported.signed(&exported.bytes);
    let site = TempDir::new().unwrap();
    // The second replaces the first.
    for _ in 0..2 {
        let imported = import(site.path(), &bundle, &exported.signer.key()).await;
        assert!(imported.succeeded(), "{}", imported.stderr);
        assert!(imported.stdout.contains("captcha.sites.shop.secret"), "{}", imported.stdout);
    }
    let data = site.path().join("data");
    assert_eq!(fs::read(data.join("models/toy/model.safetensors")).unwrap(), [7; 3000]);
    let names = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_str().unwrap().starts_with('.')).count(), 0);
    let names = fs::read_dir(data.join("bundle")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["components-2", "configuration.toml"]);

    let config = data.join("bundle/configuration.toml");
    let host = Launch::bulkhead(&["serve", "--config", config.to_str().unwrap()])
        .ephemeral()
        .env("BULKHEAD_CAPTCHA__SITES__SHOP__SECRET", "the secret of the shop")
        .ready()
        .await;
    let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!((status, body["challenge"]["letter"].as_str()), (200, Some("B")), "{body}");
    assert_eq!(host.status(&host.url("/board")).await, 200);
    host.stop().await;
}

/// Another import has the lock of the data folder.
#[tokio::test(flavor = "multi_thread")]
async fn second_import_at_once_is_refused() {
    let exported = Exported::new().await;
    let bundle = exported.signed(&exported.bytes);
    let site = TempDir::new().unwrap();
    let data = site.path().join("data");
    fs::create_dir(&data).unwrap();
    let first = File::open(&data).unwrap();
    first.lock().unwrap();
    let refused = import(site.path(), &bundle, &exported.signer.key()).await;
    assert!(!refused.succeeded(), "{}", refused.stdout);
    assert!(refused.stderr.contains("wait until it has, and import again"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    drop(first);
    let imported = import(site.path(), &bundle, &exported.signer.key()).await;
    assert!(imported.succeeded(), "{}", imported.stderr);
}

/// The bundle is whole and checked: nothing of it is in its place yet.
#[tokio::test(flavor = "multi_thread")]
async fn start_completes_an_interrupted_import() {
    let site = TempDir::new().unwrap();
    let data = site.path().join("data");
    let text = |more: &str| format!("data_dir = {data:?}\n{more}");
    let component = data.join("bundle/components-1/captcha.wasm");
    let imported = format!("[slots.captcha]\ncomponent = {component:?}\n{SITE}");
    for (name, text) in [
        ("bundle/configuration.toml", text("")),
        (".bundle.new/configuration.toml", text(&imported)),
        (".bundle.new/whole", String::new()),
        ("models/.bundle.old/toy/model.safetensors", "old".to_owned()),
        ("models/.bundle.new/toy/model.safetensors", "new".to_owned()),
    ] {
        let path = data.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir(data.join(".bundle.new/components-1")).unwrap();
    fs::write(data.join(".bundle.new/components-1/captcha.wasm"), answering('B', "").component()).unwrap();
    let config = data.join("bundle/configuration.toml");
    let host = Launch::bulkhead(&["serve", "--config", config.to_str().unwrap()]).ephemeral().ready().await;
    let (status, body) = host.post("/api/v1/captcha/challenge", &envelope()).await;
    assert_eq!((status, body["challenge"]["letter"].as_str()), (200, Some("B")), "{body}");
    host.stop().await;
    assert_eq!(fs::read_to_string(data.join("models/toy/model.safetensors")).unwrap(), "new");
    for folder in [&data, &data.join("models")] {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.filter(|name| name.to_str().unwrap().starts_with(".bundle")).count(), 0);
    }
}

/// Where the header of a file of a bundle begins.
fn header(bundle: &[u8], name: &str) -> usize {
    let blocks = bundle.chunks(BLOCK);
    let is_it = |block: &[u8]| block.starts_with(name.as_bytes()) && block[name.len()] == 0;
    blocks.into_iter().position(is_it).unwrap_or_else(|| panic!("no {name}")) * BLOCK
}

/// Changes the header of a file, and corrects its sum.
fn changed(bundle: &[u8], name: &str, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let (mut bundle, at) = (bundle.to_vec(), header(bundle, name));
    let block = &mut bundle[at..at + BLOCK];
    change(block);
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bundle
}

fn rename(block: &mut [u8], name: &str) {
    block[..100].fill(0);
    block[..name.len()].copy_from_slice(name.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_bundle_changes_nothing() {
    let exported = Exported::new().await;
    let (whole, key) = (&exported.bytes, exported.signer.key());
    let bundle = exported.signed(whole);
    exported.assert_refused(&bundle, &Signer::new().key(), "by any of the keys").await;
    exported.assert_refused(&bundle, "nonsense", "no minisign key").await;
    let newer = TempDir::new().unwrap();
    let data = newer.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("format"), "format 3 of the data folder\n").unwrap();
    let refused = import(newer.path(), &bundle, &key).await;
    assert!(!refused.succeeded() && refused.stderr.contains("has format 3"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(&data).unwrap().count(), 1);
    let read_only = TempDir::new().unwrap();
    let [folder, file] = [read_only.path(), bundle.as_path()].map(|path| path.to_str().unwrap());
    let arguments = ["bundle", "import", file, "--key", &key, "--data-dir", folder];
    let refused = Launch::bulkhead_with_read_only(read_only.path(), &arguments).finish().await;
    assert!(!refused.succeeded() && refused.stderr.contains("cannot write /"), "{}", refused.stderr);
    for at in [0, BLOCK + 10, whole.len() / 2, whole.len() - 1] {
        let mut altered = whole.clone();
        altered[at] ^= 1;
        fs::write(&bundle, altered).unwrap();
        exported.assert_refused(&bundle, &key, "by any of the keys").await;
    }
    fs::write(&bundle, &whole[..whole.len() - BLOCK]).unwrap();
    exported.assert_refused(&bundle, &key, "by any of the keys").await;
    let site = TempDir::new().unwrap();
    import(site.path(), &bundle, &key).await;
    assert!(!site.path().join("data").exists(), "nothing is unpacked before the signature is verified");
    fs::remove_file(&bundle).unwrap();
    // No process writes to it, so opening it would never return.
    mkfifoat(CWD, &bundle, Mode::RUSR).unwrap();
    exported.assert_refused(&bundle, &key, "put a plain file there").await;
    fs::remove_file(&bundle).unwrap();
    exported.assert_refused(&bundle, &key, &format!("cannot read {}: ", bundle.display())).await;
    fs::write(&bundle, whole).unwrap();
    fs::remove_file(exported.folder.path().join("signed.bundle.minisig")).unwrap();
    exported.assert_refused(&bundle, &key, "minisign -Sm").await;
}

/// What a signer was deceived about, or has made otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn signed_bundle_is_checked_as_whole() {
    const MODEL: &str = "models/toy/model.safetensors";
    let exported = Exported::new().await;
    let (whole, key) = (&exported.bytes, exported.signer.key());
    let model = header(whole, MODEL);
    let after_model = model + BLOCK + 3000_usize.next_multiple_of(BLOCK);
    let mut flipped = whole.clone();
    flipped[model + BLOCK] ^= 1;
    let missing = [&whole[..model], &whole[after_model..]].concat();
    let twice = [&whole[..after_model], &whole[model..]].concat();
    let escape = |name: &str| changed(whole, MODEL, |block| rename(block, name));
    for (bytes, expected) in [
        (flipped, "is not what its manifest says"),
        (missing, "is missing"),
        (twice, "is there twice"),
        (escape("../model.safetensors"), "not below its own folder"),
        (escape("models/../../x"), "not below its own folder"),
        (escape("/tmp/x"), "not below its own folder"),
        (escape("models/toy/other"), "is not in its manifest"),
        (changed(whole, MODEL, |block| block[156] = b'2'), "a link, a folder or a device"),
        (changed(whole, "manifest.json", |block| rename(block, "first")), "does not begin with a manifest"),
        (whole[..after_model].to_vec(), "ends too early"),
        ([&whole[..], b"more"].concat(), "follows the end"),
    ] {
        exported.assert_refused(&exported.signed(&bytes), &key, expected).await;
    }
}

/// What the exporting site runs, and this one would refuse at its next start.
#[tokio::test(flavor = "multi_thread")]
async fn pack_and_value_are_checked_first() {
    let (folder, signer) = (TempDir::new().unwrap(), Signer::new());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, secret_key, pack, config) =
        (path("a.wasm"), path("key"), path("a.cwasm"), path("bulkhead.toml"));
    fs::write(&file, answering('A', "").component()).unwrap();
    fs::write(&secret_key, signer.secret_key()).unwrap();
    let other =
        ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"][usize::from(cfg!(target_arch = "x86_64"))];
    let compile: [&str; 9] =
        ["component", "compile", &file, "--sign", &secret_key, "--target", other, "--output", &pack];
    let compiled = Launch::bulkhead(&compile).env("BULKHEAD_DATA_DIR", &path("none")).finish().await;
    assert!(compiled.succeeded(), "{}", compiled.stderr);
    let packed = |key: &str| {
        format!("[sandbox]\npack_keys = [{key:?}]\n[slots.captcha]\ncomponent = {pack:?}\n{SITE}")
    };
    // A variable of the exporting host takes its place there.
    let value = format!("[server]\nlisten = 'nowhere'\n{SITE}");
    let cases = [
        (packed(&signer.key()), "compiled for target"),
        (packed(&Signer::new().key()), "no key of sandbox.pack_keys"),
        (value, "server.listen: must be"),
    ];
    let mut exported = Exported { folder, signer, bytes: Vec::new() };
    for (text, expected) in cases {
        fs::write(&config, text).unwrap();
        exported.export().await;
        let bundle = exported.signed(&exported.bytes);
        exported.assert_refused(&bundle, &exported.signer.key(), expected).await;
    }
}
