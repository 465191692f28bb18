//! `wit export` and `wit diff`.

use std::{fs, path::Path};

use bulkhead_tests::child::Launch;
use tempfile::TempDir;
use wit_parser::Resolve;

use super::{done, fails, run};

#[tokio::test]
async fn exported_wit_is_complete() {
    let folder = TempDir::new().unwrap();
    let said = done(folder.path(), &["wit", "export", "one", "--world", "captcha"]).await;
    assert!(said.contains("to one: bulkhead:captcha@0.1.1, with "), "{said}");
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder.path().join("one")).unwrap();
    resolve.select_world(&[package], Some("captcha")).unwrap();
    assert!(folder.path().join("one/deps/host/host.wit").is_file());
    done(folder.path(), &["wit", "export", "all"]).await;
    for name in ["answer", "captcha", "host", "status", "triage", "http"] {
        Resolve::default().push_dir(folder.path().join("all").join(name)).unwrap();
    }
    let said = done(folder.path(), &["wit", "export", "http", "--world", "http"]).await;
    assert!(said.contains("wasi:keyvalue@0.2.0-draft"), "{said}");
    for name in ["config", "keyvalue", "logging"] {
        let file = format!("deps/{name}/{name}.wit");
        assert!(folder.path().join("http").join(&file).is_file(), "{file}");
        assert!(folder.path().join("all/http").join(&file).is_file(), "{file}");
    }
    let said = fails(folder.path(), &["wit", "export", "all"], 1).await;
    assert!(said.contains("all has files already"), "{said}");
    assert!(run(folder.path(), &["wit", "export", "all", "--force"]).await.succeeded());
    let said = fails(folder.path(), &["wit", "export", "one/captcha.wit"], 1).await;
    assert!(said.contains("captcha.wit is a file; name a folder"), "{said}");
    let said = fails(folder.path(), &["man", "one/captcha.wit"], 1).await;
    assert!(said.contains("captcha.wit is a file; name a folder"), "{said}");
    let said = fails(folder.path(), &["wit", "export", "other", "--world", "nothing"], 2).await;
    assert!(said.contains("there is no single world called nothing"), "{said}");
}

/// Both have what a world needs in `deps`: the exported packages as files, those of `wit` as links.
#[tokio::test]
async fn componentize_py_takes_both_layouts() {
    let (tests, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")), TempDir::new().unwrap());
    let tool = tests.join("../target/test-tools/componentize-py/bin/componentize-py");
    done(folder.path(), &["wit", "export", "all"]).await;
    for name in ["answer", "captcha", "status", "triage"] {
        let world = format!("bulkhead:{name}/{name}");
        for (layout, wit) in [("own", tests.join("../wit")), ("exported", folder.path().join("all"))] {
            let (wit, output) = (wit.join(name), folder.path().join(format!("{name}-{layout}")));
            let [wit, made] = [&wit, &output].map(|path| path.to_str().unwrap());
            let ended = Launch::new(&tool, &["-d", wit, "-w", &world, "bindings", made]).finish().await;
            assert!(ended.succeeded(), "{wit}: {}", ended.stderr);
            assert!(output.join("wit_world/__init__.py").is_file(), "{wit}");
        }
    }
}

#[tokio::test]
async fn diff_says_what_breaks() {
    let folder = TempDir::new().unwrap();
    for name in ["old", "new"] {
        done(folder.path(), &["wit", "export", name, "--world", "captcha"]).await;
    }
    let diff = ["wit", "diff", "old", "new"];
    let said = done(folder.path(), &diff).await;
    assert_eq!(said, "components that were built before still fit\n");
    let file = folder.path().join("new/captcha.wit");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("-> result<bool, error>", "-> result<u32, error>")).unwrap();
    let said = fails(folder.path(), &diff, 3).await;
    let line = "breaks: world captcha: bulkhead:captcha/challenges#invalidate: \
                func(site: site, payload: string) -> result<bool, error> has become \
                func(site: site, payload: string) -> result<u32, error>";
    assert!(said.contains(line), "{said}");
}
