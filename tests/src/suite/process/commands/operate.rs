//! `bulkhead component` and `bulkhead admin` against a running host.

use std::fs;

use bulkhead_tests::{
    child::{Bulkhead, Finished, Launch},
    guests::{Guest, answering},
    host::load,
    operator,
};
use serde_json::Value;
use sha2::Digest as _;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::process::SITE;

/// Runs `bulkhead` as an operator with a token.
pub async fn bulkhead(host: &Bulkhead, token: &str, arguments: &[&str]) -> Finished {
    let launch = Launch::bulkhead(arguments).env("BULKHEAD_ADMIN_URL", &host.admin_url(""));
    launch.env("BULKHEAD_ADMIN_TOKEN", token).finish().await
}

pub async fn done(host: &Bulkhead, arguments: &[&str]) -> String {
    let finished = bulkhead(host, operator::ADMIN, arguments).await;
    assert!(finished.succeeded(), "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

pub async fn fails(host: &Bulkhead, token: &str, arguments: &[&str], code: i32, said: &str) {
    let finished = bulkhead(host, token, arguments).await;
    assert_eq!(finished.status.code(), Some(code), "{arguments:?}: {}", finished.stderr);
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
}

#[tokio::test]
async fn component_is_pushed_promoted_and_rolled_back() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, wasm: Vec<u8>| {
        let path = folder.path().join(name);
        fs::write(&path, wasm).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) =
        (file("a.wasm", answering('A', "").component()), file("b.wasm", answering('B', "").component()));
    let (c, bad) = (file("c.wasm", answering('C', "").component()), file("bad.wasm", b"garbage".to_vec()));
    let config = format!("{}[slots.captcha]\ncomponent = {a:?}\n{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;

    let list = done(&host, &["component", "list"]).await;
    assert!(list.starts_with("SLOT ") && list.contains("captcha  0 ") && list.contains("a.wasm"), "{list}");
    let pushed = done(&host, &["component", "push", "captcha", &b, "--json"]).await;
    let pushed: Value = serde_json::from_str(&pushed).unwrap();
    let id = pushed["id"].as_str().unwrap();
    assert_eq!(pushed["answering"], false);
    let shown = done(&host, &["component", "canary", "captcha", "10", &id[..8], "--reason", "slowly"]).await;
    assert!(shown.contains("10 % of the calls") && shown.contains("90 % of the calls"), "{shown}");
    let shown = done(&host, &["component", "promote", "captcha"]).await;
    assert!(shown.contains("generation   2") && shown.contains(id), "{shown}");
    let shown = done(&host, &["component", "swap", "captcha", "--file", &c]).await;
    assert!(shown.contains("c.wasm") && shown.contains("active by admin"), "{shown}");
    let shown = done(&host, &["component", "rollback", "captcha"]).await;
    assert!(shown.contains("generation   4") && shown.contains(id), "{shown}");
    let history = done(&host, &["component", "history", "captcha"]).await;
    assert!(history.contains("candidate by admin: 10 % of the calls: slowly"), "{history}");
    let audit = done(&host, &["admin", "audit", "--slot", "captcha"]).await;
    assert!(audit.contains("  trialled ") && audit.contains("slowly"), "{audit}");
    assert_eq!(done(&host, &["component", "logs", "captcha"]).await, "");

    let admin = operator::ADMIN;
    fails(&host, admin, &["component", "push", "captcha", &bad], 3, "not a WebAssembly component").await;
    fails(&host, admin, &["component", "swap", "captcha", id, "--generation", "0"], 4, "generation 4").await;
    fails(&host, operator::READ, &["component", "rollback", "captcha"], 5, "the token's scope is read").await;
    fails(&host, "wrong", &["component", "list"], 5, "does not know the token").await;
    fails(
        &host,
        admin,
        &["component", "show", "captcha", "--url", "http://127.0.0.1:1"],
        6,
        "no answer from",
    )
    .await;
    fails(&host, admin, &["component", "swap", "captcha"], 2, "--file").await;
    host.stop().await;
}

#[tokio::test]
async fn repeated_push_shows_stages_and_succeeds() {
    let folder = TempDir::new().unwrap();
    let [a, b] = ['A', 'B'].map(|letter| {
        let path = folder.path().join(format!("{letter}.wasm"));
        fs::write(&path, answering(letter, "").component()).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let config = format!("{}[slots.captcha]\ncomponent = {a:?}\n{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let pushed = bulkhead(&host, operator::DEPLOY, &["component", "push", "captcha", &b]).await;
    let lines: Vec<&str> = pushed.stderr.lines().collect();
    assert!(lines[0].starts_with("pushing ") && lines[0].ends_with(" bytes"), "{lines:?}");
    assert_eq!(lines[1..5], ["received", "checked", "compiled", "trialled"], "{lines:?}");
    assert!(lines[5].ends_with("has passed its checks and its self-test"), "{lines:?}");
    for arguments in
        [["component", "push", "captcha", &a].as_slice(), &["component", "swap", "captcha", "--file", &a]]
    {
        let again = bulkhead(&host, operator::DEPLOY, arguments).await;
        assert_eq!(again.status.code(), Some(0), "{}", again.stderr);
        assert!(again.stderr.contains("answers already"), "{}", again.stderr);
    }
    for said in ["", "answers already"] {
        let swapped = bulkhead(&host, operator::DEPLOY, &["component", "swap", "captcha", "embedded"]).await;
        assert_eq!(swapped.status.code(), Some(0), "{}", swapped.stderr);
        assert!(swapped.stderr.contains(said), "{}", swapped.stderr);
        let shown = &swapped.stdout;
        assert!(shown.contains("generation   1") && shown.contains("from embedded"), "{shown}");
    }
    fails(&host, operator::ADMIN, &["component", "logs", "captcha", "--lines", "0"], 2, "1..=10000").await;
    fails(&host, operator::ADMIN, &["admin", "audit", "--lines", "10001"], 2, "1..=10000").await;
    host.stop().await;
}

#[tokio::test]
async fn a_component_is_exported_to_a_file() {
    let folder = TempDir::new().unwrap();
    let (a, file) = (folder.path().join("a.wasm"), folder.path().join("out.wasm"));
    let wasm = answering('A', "").component();
    fs::write(&a, &wasm).unwrap();
    let config = format!("{}[slots.captcha]\ncomponent = {a:?}\n{SITE}", operator::tokens());
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let out = file.to_str().unwrap();
    assert_eq!(done(&host, &["component", "export", "captcha", "-o", out]).await, "");
    assert_eq!(fs::read(&file).unwrap(), wasm);
    let arguments = ["component", "export", "captcha", "embedded", "--output", out];
    let exported = bulkhead(&host, operator::DEPLOY, &arguments).await;
    let digest = sha2::Sha256::digest(fs::read(&file).unwrap());
    assert!(exported.stderr.contains(&hex::encode(digest)), "{}", exported.stderr);
    done(&host, &["component", "check", "--slot", "captcha", out]).await;
    let told = done(&host, &["component", "export", "captcha", "-o", out, "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["bytes"], wasm.len());
    let unknown = ["component", "export", "captcha", "ffffffffffffffff", "-o", "-"];
    fails(&host, operator::DEPLOY, &unknown, 1, "knows no version").await;
    fails(&host, operator::READ, &arguments, 5, "the token's scope is read").await;
    let missing = folder.path().join("none/out.wasm");
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (unusable, reason) in [(&missing, "cannot write"), (&socket, "put a plain file there")] {
        let arguments = ["component", "export", "captcha", "-o", unusable.to_str().unwrap()];
        fails(&host, operator::DEPLOY, &arguments, 1, reason).await;
    }
    assert!(!fs::metadata(&socket).unwrap().is_file());
    host.stop().await;
}

#[tokio::test]
async fn check_lists_imported_stubs() {
    let folder = TempDir::new().unwrap();
    let imports = r#"
        (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
        (import "wasi:filesystem/preopens@0.2.3" "get-directories" (func $directories (param i32)))"#;
    for (name, guest) in [("plain", answering('A', "")), ("stubs", answering('A', "").with_imports(imports))]
    {
        let file = folder.path().join(name);
        fs::write(&file, guest.component()).unwrap();
        let check = ["component", "check", "--slot", "captcha", file.to_str().unwrap()];
        let checked = Launch::bulkhead(&check).env("HOME", folder.path().to_str().unwrap()).finish().await;
        assert!(checked.succeeded(), "{}", checked.stderr);
        let listed = checked.stdout.lines().find_map(|line| line.strip_prefix("stubs: "));
        let listed: Vec<&str> = listed.map_or(Vec::new(), |names| names.split(", ").collect());
        for stub in ["wasi:cli/exit", "wasi:filesystem/types", "wasi:filesystem/preopens"] {
            assert_eq!(listed.contains(&stub), name == "stubs", "{}", checked.stdout);
        }
    }
}

/// Answers every request with a component whose digest is said to be another.
async fn lying() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _ = socket.read(&mut head).await;
            let digest = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-digest: {digest}\r\ncontent-length: 4\r\nconnection: close\r\n\r\n\0asm"
            );
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    url
}

#[tokio::test]
async fn an_export_with_another_digest_writes_nothing() {
    let (folder, url) = (TempDir::new().unwrap(), lying().await);
    let file = folder.path().join("out.wasm");
    for out in [file.to_str().unwrap(), "-"] {
        let arguments = ["component", "export", "captcha", "0123456789abcdef", "-o", out];
        let launch = Launch::bulkhead(&arguments).env("BULKHEAD_ADMIN_URL", &url);
        let finished = launch.env("BULKHEAD_ADMIN_TOKEN", "token").finish().await;
        assert_eq!((finished.status.code(), finished.stdout.as_str()), (Some(1), ""), "{}", finished.stderr);
        assert!(finished.stderr.contains("which is not the expected component"), "{}", finished.stderr);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A file without a line break at its end takes what the command prints.
#[tokio::test]
async fn added_token_may_read() {
    let folder = TempDir::new().unwrap();
    let made = Launch::bulkhead(&["admin", "token", "dashboard"]).finish().await;
    assert!(made.stdout.starts_with("\n[admin.tokens.dashboard]\nscope = \"read\"\n"), "{}", made.stdout);
    let file = folder.path().join("bulkhead.toml");
    fs::write(&file, format!("# the last line ends here{}", made.stdout)).unwrap();
    let check = ["config", "check", "--config", file.to_str().unwrap()];
    let checked = Launch::bulkhead(&check).env("HOME", "/").finish().await;
    assert!(checked.succeeded(), "{}", checked.stderr);
    let config =
        load(&fs::read_to_string(&file).unwrap(), Vec::new(), vec![("data_dir".into(), "/data".into())])
            .unwrap();
    assert_eq!(config.admin.tokens.len(), 1, "the table is not a part of the comment");
}

#[tokio::test]
async fn token_is_shown_once_beside_its_hash() {
    let folder = TempDir::new().unwrap();
    let made = Launch::bulkhead(&["admin", "token", "ci", "--scope", "read"]).finish().await;
    assert!(made.succeeded(), "{}", made.stderr);
    let token = made.stderr.trim().rsplit(' ').next().unwrap();
    assert!(
        token.starts_with("bulkhead_") && token.len() > 40 && !made.stdout.contains(token),
        "{}",
        made.stdout
    );
    let other = Launch::bulkhead(&["admin", "token", "ci"]).finish().await;
    assert_ne!(other.stderr, made.stderr);

    let a = folder.path().join("a.wasm");
    fs::write(&a, Guest::default().component()).unwrap();
    let config = format!("{}[slots.captcha]\ncomponent = {a:?}\n{SITE}", made.stdout);
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    let file = folder.path().join("token");
    fs::write(&file, format!("{token}\n")).unwrap();
    let url = host.admin_url("");
    let list = ["component", "list", "--url", &url, "--token-file", file.to_str().unwrap()];
    let listed = Launch::bulkhead(&list).finish().await;
    assert!(listed.succeeded(), "{}", listed.stderr);
    assert!(!host.text().contains(token));
    host.stop().await;
}

/// Nobody is asked.
#[tokio::test]
async fn nonsensical_arguments_have_exit_code_2() {
    let nobody = "http://127.0.0.1:1";
    for (arguments, url, token, said) in [
        ("component list", "127.0.0.1:9901", "token", "BULKHEAD_ADMIN_URL must be a URL"),
        ("component list", "ftp://127.0.0.1:1", "token", "BULKHEAD_ADMIN_URL must be a URL"),
        ("component list", "http://", "token", "BULKHEAD_ADMIN_URL must be a URL"),
        ("config show", "http://eva:secret@127.0.0.1:1", "token", "without a user"),
        ("config show", "http://127.0.0.1:1/?secret", "token", "without a user, a query"),
        ("admin audit", nobody, "secret\nsecret", "has a line break"),
        ("admin audit", nobody, " \n", "is empty"),
        ("admin token a.b", nobody, "token", "letters, digits, - and _ only"),
        ("component push captcha embedded", nobody, "token", "`bulkhead component swap captcha embedded`"),
        ("component push captcha oci://Registry.example/a:1", nobody, "token", "must be oci://HOST"),
        ("component swap captcha --file oci://registry.example", nobody, "token", "must be oci://HOST"),
        ("component check --slot captcha oci://registry.example/a", nobody, "token", "must name a tag"),
    ] {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let launch = Launch::bulkhead(&arguments).env("BULKHEAD_ADMIN_URL", url).env("HOME", "/");
        let finished = launch.env("BULKHEAD_ADMIN_TOKEN", token).finish().await;
        assert_eq!(finished.status.code(), Some(2), "{arguments:?} {url}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{arguments:?}: {}", finished.stderr);
        assert!(!finished.stderr.contains("secret"), "{}", finished.stderr);
    }
    let without = Launch::bulkhead(&["component", "list"]).finish().await;
    assert_eq!(without.status.code(), Some(2), "{}", without.stderr);
    assert!(without.stderr.contains("no token: "), "{}", without.stderr);
}

#[tokio::test]
async fn shells_complete_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Launch::bulkhead(&["completions", shell]).finish().await;
        assert!(script.succeeded(), "{shell}: {}", script.stderr);
        for word in [
            "list", "show", "check", "push", "export", "swap", "canary", "shadow", "promote", "rollback",
            "history", "diff",
        ] {
            assert!(script.stdout.contains(word), "{shell} does not know {word}");
        }
        for word in ["logs", "reload", "undo", "audit", "trial", "reason", "generation", "token-file", "json"]
        {
            assert!(script.stdout.contains(word), "{shell} does not know {word}");
        }
    }
}
