//! Bare machine code is never taken: neither what wasmtime has serialised nor a program, through whichever door.

use std::fs;

use bulkhead::{config::sandbox::STACK_BYTES, engine::CodeSettings};
use bulkhead_tests::host::{eventually, program};
use tempfile::TempDir;

use super::super::*;

/// Code that the host's own engine would run if it loaded it.
fn serialised() -> Vec<u8> {
    let settings = CodeSettings { stack_bytes: STACK_BYTES, reservation: None };
    let code = settings
        .compiling(true, None)
        .unwrap()
        .precompile_component(&answering('X', "").component())
        .unwrap();
    assert!(code.starts_with(b"\x7fELF"));
    code
}

/// Files that hold machine code, with what is said of them.
fn files() -> [(Vec<u8>, &'static str); 4] {
    let (code, stranger) = (serialised(), "it does not start with the bytes 00 61 73 6d of WebAssembly");
    let elf = fs::read(program()).unwrap();
    assert!(elf.starts_with(b"\x7fELF"));
    // As a component begins.
    let disguised = [b"\0asm\x0d\0\x01\0".as_slice(), &code].concat();
    [
        (code[..code.len() / 2].to_vec(), stranger),
        (code, stranger),
        (elf[..64 << 10].to_vec(), stranger),
        (disguised, "it is not a WebAssembly component"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_of_machine_code_are_refused() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    for (file, reason) in files() {
        let (status, refused) = operator.try_push(file).await;
        assert_eq!((status, refused["error"].as_str()), (422, Some("refused")), "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(reason), "{refused}");
        let version = refused["version"].as_str().unwrap();
        assert_eq!(operator.stage(version).await, "refused");
        let body = json!({ "version": version, "generation": 0 });
        for change in ["/swap", "/shadow"] {
            let (status, error) = operator.post(change, &body).await;
            assert_eq!((status, error["error"].as_str()), (409, Some("untried")), "{change}: {error}");
        }
    }
    assert_eq!((letter(&host, 1).await, operator.generation().await), ('A', 0));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_machine_code_is_refused() {
    for (file, reason) in files() {
        let host = hosting_a().component(file).start().await;
        assert_eq!(ask(&host, 1).await.status(), 503);
        let empty = operator(&host).slot().await["empty"].as_str().unwrap().to_owned();
        assert!(empty.contains(reason), "{empty}");
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_in_machine_code_is_refused() {
    let watched = TempDir::new().unwrap();
    let folder = watched.path().join("components");
    fs::create_dir(&folder).unwrap();
    let host =
        hosting_a().env("BULKHEAD_SLOTS__CAPTCHA__WATCH__FOLDER", folder.to_str().unwrap()).start().await;
    let operator = operator(&host);
    for (at, (file, reason)) in files().into_iter().enumerate() {
        let name = format!("code-{at}.wasm");
        fs::write(watched.path().join(&name), file).unwrap();
        fs::rename(watched.path().join(&name), folder.join(&name)).unwrap();
        eventually("the file is refused", async || {
            let (_, history) = operator.get("/v1/slots/captcha/history").await;
            history["versions"].as_array().unwrap().iter().any(|version| {
                let last = version["moves"].as_array().unwrap().last().unwrap().clone();
                version["source"].as_str().unwrap().ends_with(&name)
                    && last["stage"] == "refused"
                    && last["reason"].as_str().unwrap().contains(reason)
            })
        })
        .await;
    }
    let slot = operator.slot().await;
    assert_eq!((&slot["candidate"], &slot["generation"]), (&Value::Null, &json!(0)));
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}
