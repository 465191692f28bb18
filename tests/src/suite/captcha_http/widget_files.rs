//! The widget's files, served from a folder.

use base64::{Engine, prelude::BASE64_STANDARD};
use bulkhead_tests::TestHost;
use reqwest::{Response, StatusCode, header};
use serde_json::{Value, json};
use sha2::{Digest, Sha384};
use tempfile::TempDir;

use super::{CONFIG, Captcha};

const SCRIPT: &str = "export const answer = 42;\n";

/// A folder as the package has it, with files that are not to be served.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("main")).unwrap();
    for (path, text) in [("main/altcha.js", SCRIPT), ("altcha.css", "a {}"), (".secret", "hidden")] {
        std::fs::write(folder.path().join(path), text).unwrap();
    }
    folder
}

fn config(folder: &TempDir) -> String {
    let table = format!("[captcha]\nwidget_dir = \"{}\"\n", folder.path().join(".").display());
    CONFIG.replacen("[captcha]\n", &table, 1)
}

async fn start(folder: &TempDir) -> Captcha {
    Captcha(TestHost::builder().config(&config(folder)).start().await)
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn files_are_listed_with_their_integrity() {
    let folder = folder();
    let captcha = start(&folder).await;
    let response = captcha.get("/widget/files").send().await.unwrap();
    assert_eq!(header(&response, "access-control-allow-origin"), "*");
    let list: Value = response.json().await.unwrap();
    let release = list["release"].as_str().unwrap();
    let paths: Vec<_> = list["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["altcha.css", "main/altcha.js"]);
    let script = &list["files"][1];
    let integrity = format!("sha384-{}", BASE64_STANDARD.encode(Sha384::digest(SCRIPT)));
    let url = format!("/api/v1/captcha/widget/files/{release}/main/altcha.js");
    let expected =
        json!({ "path": "main/altcha.js", "url": url, "integrity": integrity, "bytes": SCRIPT.len() });
    assert_eq!(script, &expected);
    let response = captcha.0.client().get(captcha.0.url(&url)).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), SCRIPT);
    captcha.stop().await;
}

#[tokio::test]
async fn only_files_of_a_release_are_immutable() {
    let folder = folder();
    let captcha = start(&folder).await;
    let list: Value = captcha.get("/widget/files").send().await.unwrap().json().await.unwrap();
    let release = list["release"].as_str().unwrap();
    let immutable = "public, max-age=31536000, immutable";
    for (path, caching, kind) in [
        (format!("{release}/main/altcha.js"), immutable, "text/javascript; charset=utf-8"),
        (format!("{release}/altcha.css"), immutable, "text/css; charset=utf-8"),
        ("main/altcha.js".to_owned(), "no-cache", "text/javascript; charset=utf-8"),
    ] {
        let get = || captcha.get(&format!("/widget/files/{path}"));
        let response = get().send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header(&response, "cache-control"), caching, "{path}");
        assert_eq!(header(&response, "content-type"), kind, "{path}");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header(&response, "access-control-allow-origin"), "*", "{path}");
        let etag = header(&response, "etag").to_owned();
        let known = get().header(header::IF_NONE_MATCH, &etag).send().await.unwrap();
        assert_eq!(known.status(), StatusCode::NOT_MODIFIED, "{path}");
        let other = get().header(header::IF_NONE_MATCH, "W/\"other\"").send().await.unwrap();
        assert_eq!(other.status(), 200, "{path}");
    }
    captcha.stop().await;
}

/// The paths go out as they are; a client of HTTP would resolve them first.
#[tokio::test]
async fn nothing_beside_the_files_is_served() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let folder = folder();
    let captcha = start(&folder).await;
    for path in [
        "../../../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/altcha.css",
        "main/../altcha.css",
        "main%2f..%2faltcha.css",
        "./altcha.css",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        ".secret",
        "main",
        "main/",
        "altcha.css%00",
        "ALTCHA.CSS",
        "0123456789abcdef/altcha.css",
    ] {
        let mut socket = tokio::net::TcpStream::connect(captcha.0.address()).await.unwrap();
        let request = format!(
            "GET /api/v1/captcha/widget/files/{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
        assert!(!answer.contains("hidden") && !answer.contains("root:"), "{path}: {answer}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn without_a_folder_there_are_no_files() {
    let captcha = Captcha::start().await;
    for path in ["/widget/files", "/widget/files/altcha.js"] {
        assert_eq!(super::read(captcha.get(path)).await.0, 404, "{path}");
    }
    captcha.stop().await;
}

/// They can be no routes, and are no reason not to serve captchas.
#[tokio::test]
async fn files_with_odd_names_are_not_served() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = folder();
    let odd = folder.path().join("an odd folder");
    std::fs::create_dir(&odd).unwrap();
    for path in [
        folder.path().join("a b.js"),
        folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9.js")),
        folder.path().join(".hidden.js"),
        odd.join("a.js"),
    ] {
        std::fs::write(path, "hidden").unwrap();
    }
    let captcha = start(&folder).await;
    let list: Value = captcha.get("/widget/files").send().await.unwrap().json().await.unwrap();
    let paths: Vec<_> = list["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["altcha.css", "main/altcha.js"]);
    for path in ["a%20b.js", "caf%E9.js", ".hidden.js", "an%20odd%20folder/a.js"] {
        let status = captcha.get(&format!("/widget/files/{path}")).send().await.unwrap().status();
        assert_eq!(status, 404, "{path}");
    }
    captcha.stop().await;
}

#[tokio::test]
async fn unfit_folders_keep_the_host_from_starting() {
    let folder = folder();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("passwd.js")).unwrap();
    let Err(reason) = TestHost::builder().config(&config(&folder)).try_start().await else {
        panic!("the host starts");
    };
    assert!(reason.contains("passwd.js leads out of captcha.widget_dir"), "{reason}");
    let missing = CONFIG.replacen("[captcha]\n", "[captcha]\nwidget_dir = \"/no/such/folder\"\n", 1);
    let Err(reason) = TestHost::builder().config(&missing).try_start().await else {
        panic!("the host starts");
    };
    assert!(reason.contains("/no/such/folder") && reason.contains("captcha.widget_dir"), "{reason}");
}
