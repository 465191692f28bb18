//! Apps that a reload adds, changes and removes.

mod room;

use std::{
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use bulkhead_tests::host::{CONFIG_FILE, program};
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// Writes a component into the host's folder, and returns its path as TOML.
fn written(host: &TestHost, name: &str, guest: &HttpGuest) -> String {
    let path = host.folder().join(name);
    std::fs::write(&path, guest.component()).unwrap();
    format!("'{}'", path.display())
}

/// Replaces the configuration below the services and reloads it; the answer.
async fn reload(host: &TestHost, apps: &str) -> Value {
    std::fs::write(host.folder().join(CONFIG_FILE), format!("{ALONE}{}{apps}", operator::tokens())).unwrap();
    let operator = operator::Operator::new(&host.admin_url(""), operator::ADMIN);
    let (status, answer) = operator.post_at("/v1/config/reload", &json!({ "reason": "test" })).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

async fn start(apps: &str) -> TestHost {
    TestHost::builder().config(&format!("{ALONE}{}{apps}", operator::tokens())).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_come_and_go_without_restart() {
    let host = start("").await;
    for round in 1..=3 {
        let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
        let app = format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n");
        let answer = reload(&host, &app).await;
        assert_eq!(answer["restart"], json!([]), "in round {round}: {answer}");
        eventually("the app answers", async || get(&host, "/one").await == (200, "one".to_owned())).await;
        reload(&host, "").await;
        eventually("the app is gone", async || get(&host, "/one").await.0 == 404).await;
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_app_goes_on() {
    let host = start("").await;
    let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let app = |keys: &str| format!("[apps.one]\ncomponent = {component}\n{keys}\n");
    reload(&host, &app("path_prefix = '/one'")).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    reload(&host, &app("path_prefix = '/two'\napi_keys = ['swordfish']")).await;
    eventually("the app has moved", async || get(&host, "/two").await.0 == 401).await;
    assert_eq!(get(&host, "/one").await.0, 404);
    // Another slot takes its place.
    reload(&host, &app("path_prefix = '/two'\nmemory_bytes = 1048576")).await;
    eventually("the app answers again", async || get(&host, "/two").await.0 == 200).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_component_takes_the_place() {
    let host = start("").await;
    let one = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let two = written(&host, "two.wasm", &HttpGuest::answering(200, "two"));
    let garbage = host.folder().join("garbage.wasm");
    std::fs::write(&garbage, "no component").unwrap();
    let app = |component: &str| format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n");
    reload(&host, &app(&one)).await;
    eventually("the app answers", async || get(&host, "/one").await == (200, "one".to_owned())).await;
    reload(&host, &app(&two)).await;
    eventually("the other one answers", async || get(&host, "/one").await == (200, "two".to_owned())).await;
    for name in ["nowhere.wasm", "garbage.wasm"] {
        reload(&host, &app(&format!("'{}'", host.folder().join(name).display()))).await;
        eventually("readiness says that the former one stays", async || {
            let (status, checks) = readiness(&host).await;
            let names = |reason: &str| name == "garbage.wasm" || reason.contains(name);
            status == 200 && checks.iter().any(|(check, reason)| check == "slot one" && names(reason))
        })
        .await;
        assert_eq!(get(&host, "/one").await, (200, "two".to_owned()), "{name}");
        reload(&host, &app(&two)).await;
        eventually("nothing is wrong", async || readiness(&host).await == (200, Vec::new())).await;
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_with_unusable_component_can_be_removed() {
    let host = start("").await;
    let one = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let garbage = host.folder().join("garbage.wasm");
    std::fs::write(&garbage, "no component").unwrap();
    let app = |component: &str| format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n");
    reload(&host, &app(&one)).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    reload(&host, &app(&format!("'{}'", garbage.display()))).await;
    eventually("the former one stays", async || {
        readiness(&host).await.1.iter().any(|(check, _)| check == "slot one")
    })
    .await;
    reload(&host, "").await;
    eventually("the app is gone", async || get(&host, "/one").await.0 == 404).await;
    eventually("nothing is wrong", async || readiness(&host).await == (200, Vec::new())).await;
    host.stop().await;
}

/// Writes a program into a folder that compiles as the host's does, once the file `gate` is there.
fn gated_program(folder: &Path) -> PathBuf {
    let (draft, path) = (folder.join("draft"), folder.join("compile"));
    let gate = folder.join("gate");
    let wait = format!("while [ ! -e {} ]; do /bin/sleep 0.02; done", gate.display());
    std::fs::write(&draft, format!("#!/bin/sh\n{wait}\nexec {} \"$@\"\n", program().display())).unwrap();
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o755)).unwrap();
    // A copy that this process never had open: else a child of another test may keep it from being run.
    assert!(Command::new("/bin/cp").arg("-p").args([&draft, &path]).status().unwrap().success());
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_key_waits_for_no_compilation() {
    let tools = TempDir::new().unwrap();
    let (compile, gate) = (gated_program(tools.path()), tools.path().join("gate"));
    std::fs::write(&gate, "").unwrap();
    let builder = TestHost::builder().config(&format!("{ALONE}{}", operator::tokens()));
    let builder = builder.compile_program(&compile).env("BULKHEAD_SANDBOX__CACHE", "false");
    let host = builder.start().await;
    let one = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let other = written(&host, "other.wasm", &HttpGuest::answering(200, "other"));
    let app =
        |key: &str| format!("[apps.one]\npath_prefix = '/one'\ncomponent = {one}\napi_keys = ['{key}']\n");
    let ask = async || answer(host.client().get(host.url("/one")).bearer_auth("former-key")).await.0;
    reload(&host, &app("former-key")).await;
    eventually("the app answers", async || ask().await == 200).await;
    std::fs::remove_file(&gate).unwrap();
    let added = format!("[apps.other]\npath_prefix = '/other'\ncomponent = {other}\n");
    reload(&host, &format!("{}{added}", app("other-key"))).await;
    eventually("the former key is refused", async || ask().await == 401).await;
    let (status, text) = get(&host, "/other").await;
    assert_eq!((status, code(&text).as_str()), (503, "starting"), "the other app is not compiled yet");
    std::fs::write(&gate, "").unwrap();
    eventually("the other app answers", async || get(&host, "/other").await.0 == 200).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_without_its_listener_stays() {
    let host = start("").await;
    let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let app = |keys: &str| format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n{keys}\n");
    reload(&host, &app("")).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    // With the slot that goes on, and with another one.
    for more in ["", "memory_bytes = 1048576"] {
        reload(&host, &app(&format!("listen = '{address}'\n{more}"))).await;
        eventually("readiness names the key", async || {
            let (_, checks) = readiness(&host).await;
            checks.iter().any(|(check, reason)| {
                check == "app one" && reason.contains("apps.one.listen") && !reason.contains("os error")
            })
        })
        .await;
        assert_eq!(get(&host, "/one").await, (200, "one".to_owned()), "{more}");
    }
    drop(taken);
    eventually("the app has moved", async || {
        let there = host.client().get(format!("http://{address}/one")).send().await;
        there.is_ok_and(|there| there.status() == 200) && get(&host, "/one").await.0 == 404
    })
    .await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_leave_listeners_to_each_other() {
    let host = start("").await;
    let one = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let two = written(&host, "two.wasm", &HttpGuest::answering(200, "two"));
    let free = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let [first, second] = free.each_ref().map(|free| free.local_addr().unwrap());
    drop(free);
    let text = async |address: SocketAddr, path: &str| {
        let there = host.client().get(format!("http://{address}{path}")).send().await.ok()?;
        there.text().await.ok()
    };
    // Both at one, apart, and in exchange.
    for (one_at, two_at) in [(first, first), (second, first), (first, second)] {
        let apps = format!(
            "[apps.one]\ncomponent = {one}\nlisten = '{one_at}'\n\
             [apps.two]\ncomponent = {two}\nlisten = '{two_at}'\npath_prefix = '/two'\n"
        );
        reload(&host, &apps).await;
        eventually("each app answers at its address", async || {
            text(one_at, "/").await.as_deref() == Some("one")
                && text(two_at, "/two").await.as_deref() == Some("two")
        })
        .await;
        eventually("nothing is wrong", async || readiness(&host).await == (200, Vec::new())).await;
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn app_with_new_store_waits_for_restart() {
    let host = start("").await;
    let component = written(&host, "one.wasm", &HttpGuest::answering(200, "one"));
    let app = format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\nkeyvalue = ['links']\n");
    for stores in [super::keyvalue::STORES, ""] {
        let answer = reload(&host, &format!("{app}{stores}")).await;
        assert!(!answer["live"].to_string().contains("apps.one"), "{answer}");
        assert!(answer["restart"].as_array().unwrap().contains(&json!("apps.one.keyvalue")), "{answer}");
    }
    eventually("readiness names the store", async || {
        let (status, checks) = readiness(&host).await;
        status == 200 && checks.iter().any(|(check, reason)| check == "app one" && reason.contains("links"))
    })
    .await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_app_answers_without_a_gap() {
    let host = start("").await;
    let ask = "(call $setting (i32.const 1024) (i32.const 5) (i32.const 28))";
    let component = written(&host, "one.wasm", &HttpGuest::showing(ask).with_data(1024, "token"));
    let app = |round: u64| {
        format!(
            "[apps.one]\npath_prefix = '/one'\ncomponent = {component}\nmax_concurrent = 4\n\
             secrets = {{ token = '{round}' }}\n"
        )
    };
    reload(&host, &app(0)).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    let (done, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let load = async {
        while !done.load(Ordering::Relaxed) {
            let (status, text) = get(&host, "/one").await;
            assert_eq!(status, 200, "{text}");
            answers.fetch_add(1, Ordering::Relaxed);
        }
    };
    let changes = async {
        for round in 1..=5 {
            let before = answers.load(Ordering::Relaxed);
            reload(&host, &app(round)).await;
            eventually("the new secret is used", async || get(&host, "/one").await.1 == round.to_string())
                .await;
            eventually("the load goes on", async || answers.load(Ordering::Relaxed) > before + 1).await;
        }
        done.store(true, Ordering::Relaxed);
    };
    tokio::join!(load, changes);
    let operator = operator::Operator::new(&host.admin_url(""), operator::READ).of("one");
    assert_eq!(operator.slot().await["world"], "wasi:http/proxy@0.2.12");
    assert!(host.metric("bulkhead_calls_total{outcome=\"ok\",slot=\"one\"}").await >= 10.0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_of_removed_app_is_reset() {
    let host = start("").await;
    let component = written(&host, "one.wasm", &HttpGuest::echoing());
    let limits = "stream_ms = 1500\nstream_idle_ms = 60000";
    reload(&host, &format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\n{limits}\n")).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    let mut socket =
        connected(&host, "POST /one HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n5\nbegun\n").await;
    read_until(&mut socket, "begun").await;
    reload(&host, "").await;
    eventually("the app is gone", async || get(&host, "/one").await.0 == 404).await;
    assert_reset(&mut socket).await;
    let series = "bulkhead_in_flight{slot=\"one\"}";
    eventually("its series are gone", async || host.metrics().await.find(series).is_none()).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_outlives_its_replaced_slot() {
    let host = start("").await;
    let component = written(&host, "one.wasm", &HttpGuest::echoing());
    let app = |keys: &str| {
        format!("[apps.one]\npath_prefix = '/one'\ncomponent = {component}\nmax_concurrent = 4\n{keys}\n")
    };
    reload(&host, &app("")).await;
    eventually("the app answers", async || get(&host, "/one").await.0 == 200).await;
    let mut socket =
        connected(&host, "POST /one HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n5\nbegun\n").await;
    read_until(&mut socket, "begun").await;
    // The new slot requires a key, which the stream began without.
    reload(&host, &app("memory_bytes = 1048576\napi_keys = ['swordfish']")).await;
    eventually("the new slot answers", async || get(&host, "/one").await.0 == 401).await;
    // Removed, and added under the same name, while the stream goes on.
    reload(&host, "").await;
    eventually("the app is gone", async || get(&host, "/one").await.0 == 404).await;
    reload(&host, &app("")).await;
    eventually("the app answers again", async || get(&host, "/one").await.0 == 200).await;
    socket.write_all(b"5\r\nended\r\n0\r\n\r\n").await.unwrap();
    read_until(&mut socket, "ended").await;
    host.stop().await;
}
