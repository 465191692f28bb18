//! Tests of downloads from a toy hub.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod server;

use std::collections::HashMap;
use std::fs;

use bulkhead_inference::progress::Silent;
use tempfile::TempDir;

use self::server::{Page, Server};
use super::*;
use crate::tests::wheel::model_files;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex::encode(Sha256::digest(bytes))
}

/// Starts a hub that has `org/toy`: weights behind a redirect to another host, as the real one.
fn hub() -> (Server, Server) {
    let storage = Server::start();
    let hub = Server::start();
    let mut names =
        vec!["README.md".to_owned(), "onnx/model.onnx".to_owned(), "pytorch_model.bin".to_owned()];
    for (name, bytes) in model_files() {
        names.push(name.to_owned());
        let path = format!("/org/toy/resolve/{COMMIT}/{name}");
        if name == "model.safetensors" {
            let digest = sha256(&bytes);
            let size = bytes.len();
            storage.page("/bucket/weights", Page::ok(&bytes));
            let redirect = Page::redirect(&format!("{}/bucket/weights?signature=secret", storage.address));
            hub.page(
                &path,
                redirect
                    .header("X-Linked-Etag", &format!("\"{digest}\""))
                    .header("X-Linked-Size", &size.to_string()),
            );
        } else {
            hub.page(&path, Page::ok(&bytes).header("ETag", &format!("\"{}\"", &sha256(&bytes)[..40])));
        }
    }
    listing(&hub, "main", &names);
    listing(&hub, "v1%2Fbeta", &names);
    (hub, storage)
}

fn listing(hub: &Server, revision: &str, names: &[String]) {
    let siblings: Vec<_> = names.iter().map(|name| serde_json::json!({ "rfilename": name })).collect();
    let text = serde_json::json!({ "sha": COMMIT, "siblings": siblings, "private": false }).to_string();
    hub.page(&format!("/api/models/org/toy/revision/{revision}"), Page::ok(text.as_bytes()));
}

fn settings(hub: &Server, cache: &TempDir) -> HubSettings {
    HubSettings {
        endpoint: hub.address.clone(),
        cache: cache.path().to_path_buf(),
        token: None,
        offline: false,
    }
}

fn toy(value: &str) -> HubModel {
    HubModel::parse(value).unwrap()
}

#[test]
fn model_is_fetched_once_into_cache() {
    let (hub, storage) = hub();
    let cache = TempDir::new().unwrap();
    let settings = settings(&hub, &cache);
    assert_eq!(find_cached(&toy("org/toy"), &settings), None);
    let cached = download(&toy("org/toy"), &settings, &mut Silent).unwrap();
    let root = cache.path().join("models--org--toy");
    assert_eq!((cached.commit.as_str(), &cached.folder), (COMMIT, &root.join("snapshots").join(COMMIT)));
    assert_eq!(ModelFolder::open(&cached.folder).unwrap().dims().unwrap(), 4);
    assert_eq!(fs::read_to_string(root.join("refs/main")).unwrap(), COMMIT);
    let weights = model_files().pop().unwrap().1;
    assert_eq!(fs::read(root.join("blobs").join(sha256(&weights))).unwrap(), weights);
    assert!(
        !hub.requests()
            .iter()
            .any(|request| request.path.contains("onnx") || request.path.contains("README"))
    );
    // Again: only the list is asked for. From the cache: nothing is.
    let before = hub.requests().len();
    assert_eq!(download(&toy("org/toy"), &settings, &mut Silent).unwrap(), cached);
    assert_eq!((hub.requests().len(), storage.requests().len()), (before + 1, 1));
    assert_eq!(find_cached(&toy("org/toy"), &settings), Some(cached.clone()));
    assert_eq!(find_cached(&toy(&format!("org/toy@{COMMIT}")), &settings), Some(cached.clone()));
    let offline = HubSettings { offline: true, endpoint: "http://127.0.0.1:1".to_owned(), ..settings };
    assert_eq!(download(&toy("org/toy"), &offline, &mut Silent).unwrap(), cached);
}

#[test]
fn a_revision_is_asked_for_by_name() {
    let (hub, _storage) = hub();
    let cache = TempDir::new().unwrap();
    let settings = settings(&hub, &cache);
    let cached = download(&toy("org/toy@v1/beta"), &settings, &mut Silent).unwrap();
    assert_eq!(find_cached(&toy("org/toy@v1/beta"), &settings), Some(cached));
    assert_eq!(find_cached(&toy("org/toy"), &settings), None);
    let fault = download(&toy("org/toy@v2"), &settings, &mut Silent).unwrap_err().to_string();
    assert!(fault.contains("`org/toy@v2`") && fault.contains("404") && fault.contains("no such"), "{fault}");
}

#[test]
fn the_token_goes_to_the_hub_only() {
    let (hub, storage) = hub();
    let cache = TempDir::new().unwrap();
    let settings = HubSettings { token: Some("hf_secret".to_owned()), ..settings(&hub, &cache) };
    download(&toy("org/toy"), &settings, &mut Silent).unwrap();
    assert!(
        hub.requests().iter().all(|request| request.authorization.as_deref() == Some("Bearer hf_secret"))
    );
    assert!(storage.requests().iter().all(|request| request.authorization.is_none()));
    assert!(!format!("{settings:?}").contains("secret"));
}

#[test]
fn refusals_say_what_to_do() {
    for (status, token, hint) in [
        (401, None, "set HF_TOKEN"),
        (403, Some("hf_x"), "no access"),
        (429, None, "too many requests"),
        (500, None, "try again later"),
    ] {
        let (hub, _storage) = hub();
        let cache = TempDir::new().unwrap();
        hub.page("/api/models/org/toy/revision/main", Page::status(status));
        let settings = HubSettings { token: token.map(str::to_owned), ..settings(&hub, &cache) };
        let fault = download(&toy("org/toy"), &settings, &mut Silent).unwrap_err().to_string();
        assert!(fault.contains(hint) && fault.contains(&status.to_string()), "{fault}");
    }
    let cache = TempDir::new().unwrap();
    let offline = HubSettings {
        endpoint: "http://127.0.0.1:1".to_owned(),
        cache: cache.path().to_path_buf(),
        token: None,
        offline: true,
    };
    let fault = download(&toy("org/toy"), &offline, &mut Silent).unwrap_err().to_string();
    assert!(fault.contains("HF_HUB_OFFLINE"), "{fault}");
    let unreachable = HubSettings { offline: false, ..offline };
    let fault = download(&toy("org/toy"), &unreachable, &mut Silent).unwrap_err().to_string();
    assert!(fault.contains("127.0.0.1:1"), "{fault}");
}

#[test]
fn altered_and_cut_files_are_refused() {
    let weights = model_files().pop().unwrap().1;
    let path = format!("/org/toy/resolve/{COMMIT}/model.safetensors");
    let digest = sha256(&weights);
    let mut altered = weights.clone();
    *altered.last_mut().unwrap() ^= 1;
    for (page, part) in [
        (Page::ok(&altered).header("ETag", &digest), "not the pinned"),
        (
            Page::ok(&weights[..50])
                .header("ETag", &digest)
                .header("X-Linked-Size", &weights.len().to_string()),
            "broke off",
        ),
        (Page::ok(&weights).cut(50).header("ETag", &digest), "broke off"),
        (Page::ok(&weights), "no digest"),
        (Page::ok(&weights).header("ETag", "../../evil"), "no digest"),
        (Page::redirect("ftp://elsewhere/"), "away from https"),
        (Page::redirect(&path), "redirects"),
        (Page::status(302), "leads nowhere"),
    ] {
        let (hub, _storage) = hub();
        let cache = TempDir::new().unwrap();
        hub.page(&path, page);
        let settings = settings(&hub, &cache);
        let fault = download(&toy("org/toy"), &settings, &mut Silent).unwrap_err().to_string();
        assert!(fault.contains(part), "expected {part}: {fault}");
        assert_eq!(find_cached(&toy("org/toy"), &settings), None);
        let blobs = fs::read_dir(cache.path().join("models--org--toy/blobs")).unwrap();
        let mut unfinished = blobs.map(|blob| blob.unwrap().file_name().into_string().unwrap());
        let kept = unfinished.any(|name| name.contains("incomplete"));
        assert_eq!(kept, part == "broke off", "what is not wrong is kept for another attempt");
    }
}

#[test]
fn download_resumes_where_it_broke_off() {
    let weights = model_files().pop().unwrap().1;
    let path = format!("/org/toy/resolve/{COMMIT}/model.safetensors");
    let digest = sha256(&weights);
    let page = || Page::ok(&weights).header("ETag", &digest);
    // The second attempt meets a server that sends parts, and one that does not.
    for second in [page().in_parts(), page()] {
        let (hub, _storage) = hub();
        let cache = TempDir::new().unwrap();
        let settings = settings(&hub, &cache);
        hub.page(&path, page().cut(50));
        assert!(download(&toy("org/toy"), &settings, &mut Silent).is_err());
        hub.page(&path, second);
        let cached = download(&toy("org/toy"), &settings, &mut Silent).unwrap();
        assert_eq!(fs::read(cached.folder.join("model.safetensors")).unwrap(), weights);
        let asked = hub.requests().into_iter().filter(|request| request.path == path);
        assert_eq!(asked.filter_map(|request| request.start).collect::<Vec<_>>(), [50]);
    }
    // A wrong leftover is detected, and fetched again by the next attempt.
    let (hub, _storage) = hub();
    let cache = TempDir::new().unwrap();
    let settings = settings(&hub, &cache);
    hub.page(&path, page().in_parts());
    let blobs = cache.path().join("models--org--toy/blobs");
    fs::create_dir_all(&blobs).unwrap();
    fs::write(blobs.join(format!("{digest}.bulkhead.incomplete")), [7; 50]).unwrap();
    let fault = download(&toy("org/toy"), &settings, &mut Silent).unwrap_err().to_string();
    assert!(fault.contains("not the pinned"), "{fault}");
    assert!(download(&toy("org/toy"), &settings, &mut Silent).is_ok());
}

#[test]
fn malformed_listings_are_refused() {
    for (text, part) in [
        ("not json", "malformed"),
        (r#"{"sha": "../../evil", "siblings": []}"#, "no commit"),
        (
            r#"{"sha": "0123456789abcdef0123456789abcdef01234567", "siblings": [{"rfilename": "../model.safetensors"}]}"#,
            "no model.safetensors",
        ),
    ] {
        let (hub, _storage) = hub();
        let cache = TempDir::new().unwrap();
        hub.page("/api/models/org/toy/revision/main", Page::ok(text.as_bytes()));
        let fault = download(&toy("org/toy"), &settings(&hub, &cache), &mut Silent).unwrap_err().to_string();
        assert!(fault.contains(part), "{fault}");
    }
}

#[test]
fn names_of_models() {
    for (value, id, revision) in [
        ("org/toy", "org/toy", "main"),
        ("a/B_1.2-c@v1", "a/B_1.2-c", "v1"),
        ("a/b@feature/x", "a/b", "feature/x"),
    ] {
        assert_eq!(
            HubModel::parse(value).unwrap(),
            HubModel { id: id.to_owned(), revision: revision.to_owned() }
        );
    }
    for value in
        ["", "toy", "a/b/c", "../x", "a/..", "a/b?x", "a/b@../x", "a/b@", "a b/c", "/x", "http://x/y"]
    {
        assert!(HubModel::parse(value).is_err(), "{value}");
    }
}

#[test]
fn wanted_files() {
    for name in ["config.json", "1_Pooling/config.json", "0_StaticEmbedding/model.safetensors"] {
        assert!(is_wanted(name), "{name}");
    }
    for name in [
        "onnx/config.json",
        "../config.json",
        "a/1_Pooling/config.json",
        "model.onnx",
        "_/config.json",
        "1_../config.json",
    ] {
        assert!(!is_wanted(name), "{name}");
    }
}

#[test]
fn sharded_weights_are_wanted_without_single_file() {
    let shards = [
        "config.json",
        WEIGHTS_INDEX,
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let others = ["model-1-of.safetensors", "model-a-of-b.safetensors", "openvino_model-1-of-2.safetensors"];
    assert_eq!(wanted(shards.into_iter().chain(others)), shards);
    assert_eq!(wanted(shards.into_iter().chain([WEIGHTS])), ["config.json", WEIGHTS]);
    assert_eq!(wanted(shards.into_iter().chain(["0_X/model.safetensors"])).len(), 5);
}

#[test]
fn settings_come_from_the_known_variables() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("token"), "hf_file\n").unwrap();
    let from = |variables: &[(&str, &str)]| {
        let map: HashMap<_, _> =
            variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        HubSettings::from_variables(|name| map.get(name).cloned())
    };
    let plain = from(&[("HOME", "/home/x")]);
    assert_eq!(plain.cache, PathBuf::from("/home/x/.cache/huggingface/hub"));
    assert!(plain.endpoint.starts_with("https://") && plain.token.is_none() && !plain.offline);
    assert_eq!(from(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]).cache, PathBuf::from("/c/huggingface/hub"));
    let home_text = home.path().to_str().unwrap();
    let set = from(&[
        ("HF_HOME", home_text),
        ("HF_ENDPOINT", "http://mirror/"),
        ("HF_HUB_OFFLINE", "True"),
        ("HOME", "/h"),
    ]);
    assert_eq!((set.cache, set.endpoint.as_str()), (home.path().join("hub"), "http://mirror"));
    assert_eq!((set.token.as_deref(), set.offline), (Some("hf_file"), true));
    let set = from(&[
        ("HF_HOME", home_text),
        ("HF_TOKEN", " hf_variable "),
        ("HF_HUB_CACHE", "/cache"),
        ("HF_HUB_OFFLINE", "0"),
    ]);
    assert_eq!(
        (set.token.as_deref(), set.cache, set.offline),
        (Some("hf_variable"), PathBuf::from("/cache"), false)
    );
}
