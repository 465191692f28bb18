//! What is refused stands in the audit log, with who asked for it and why not.

use bulkhead_tests::signer::Signer;

use super::super::*;

/// Lines of the audit log about one slot or door, the oldest first.
async fn lines(host: &TestHost, slot: &str) -> Vec<Value> {
    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let (status, audit) = admin.get(&format!("/v1/audit?slot={slot}&limit=1000")).await;
    assert_eq!(status, 200, "{audit}");
    audit["entries"].as_array().unwrap().clone()
}

/// The last line that an operator has caused in the captcha slot says that the version was refused, as the answer did. The host's
/// lines on versions whose last call has ended come when they end.
async fn assert_noted(host: &TestHost, refused: &Value) {
    let lines = lines(host, "captcha").await;
    let last = lines.iter().rfind(|line| line["actor"] != "host").unwrap();
    let noted = (&last["stage"], &last["actor"], &last["version"]);
    assert_eq!(noted, (&json!("refused"), &json!("deploy"), &refused["version"]), "{refused}");
    let flat = |text: &Value| text.as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(flat(&last["reason"]), flat(&refused["message"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refused_component_is_noted() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let guard = r#"(import "bulkhead:host/guard@0.1.1" "check-prompt" (func $check (param i32 i32 i32)))"#;
    let ungranted = Guest::call("(call $check (i32.const 0) (i32.const 0) (i32.const 16)) i32.const 0")
        .with_imports(guard);
    let memories = r#"(memory (export "memory") 1)"#.to_owned() + &"(memory 1)".repeat(9);
    for (component, reason) in [
        (b"garbage".to_vec(), "not a WebAssembly component"),
        (b"\x7fELF".to_vec(), "not a WebAssembly component"),
        (ungranted.component(), "grant it with slots.captcha.grants = [\"bulkhead:host/guard\"]"),
        (Guest::default().with_memory(&memories).component(), "it has 10 memories, over the limit of 4"),
        (Guest::default().with_self_test("unreachable").component(), "self-test failed"),
    ] {
        let (status, refused) = operator.try_push(component).await;
        assert_eq!(status, 422, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(reason), "{refused}");
        assert_noted(&host, &refused).await;
    }
    host.stop().await;
}

/// A signature that is bad, or older than one that has been taken, is refused and noted also where the component is known:
/// it changes nothing, but somebody has tried.
#[tokio::test(flavor = "multi_thread")]
async fn refused_signatures_of_known_versions_are_noted() {
    let signer = Signer::new();
    let host = hosting_a()
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__POLICY", "optional")
        .env("BULKHEAD_SLOTS__CAPTCHA__SIGNATURES__KEYS", &signer.key())
        .start()
        .await;
    let operator = operator(&host);
    let [b, c] = ['B', 'C'].map(|letter| answering(letter, "").component());
    let signed = async |component: &[u8], seconds: u64| {
        operator.try_push_signed(component.to_vec(), &signer.sign(component, seconds)).await
    };
    assert_eq!(signed(&b, 1_500_000_000).await.0, 201);
    let (status, version) = signed(&c, 1_600_000_000).await;
    assert_eq!(status, 201);
    let before = operator.slot().await;
    // An old version by its old signature, and a signature of something else.
    for signature in [signer.sign(&b, 1_500_000_000), signer.sign(&c, 1_700_000_000)] {
        let (status, refused) = operator.try_push_signed(b.clone(), &signature).await;
        assert_eq!(status, 422, "{refused}");
        assert_noted(&host, &refused).await;
    }
    // The same of a version that answers.
    operator.swap(version["id"].as_str().unwrap()).await;
    let (status, refused) = operator.try_push_signed(c.clone(), &signer.sign(&b, 1_700_000_000)).await;
    assert_eq!(status, 422, "{refused}");
    assert_noted(&host, &refused).await;

    // None of them has taken a version from those that can be gone back to.
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    let versions = history["versions"].as_array().unwrap().iter();
    let refused =
        versions.filter(|known| known["moves"].as_array().unwrap().last().unwrap()["stage"] == "refused");
    assert_eq!(refused.count(), 0, "{history}");
    operator.change("rollback", json!({})).await;
    assert_eq!(operator.slot().await["active"]["id"], before["active"]["id"]);
    host.stop().await;
}

/// A page whose name has come to lead to this machine (DNS rebinding) sends the page's name, which no browser lets it
/// change: no change is made for it, not even with a token that may.
#[tokio::test(flavor = "multi_thread")]
async fn rebound_names_change_nothing_and_are_noted() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let version = operator.push(answering('B', "").component()).await;
    let before = lines(&host, "captcha").await.len();
    let port = host.admin_url("").rsplit_once(':').unwrap().1.to_owned();
    let names = [
        "rebound.example".to_owned(),
        format!("rebound.example:{port}"),
        format!("127.0.0.1.nip.example:{port}"),
    ];
    for name in &names {
        let origin = format!("http://{name}");
        for (path, body) in [
            ("/v1/slots/captcha/swap", json!({ "version": version, "generation": 0 })),
            ("/v1/slots/captcha/canary", json!({ "version": version, "weight": 100, "generation": 0 })),
            ("/v1/config/reload", json!({})),
        ] {
            let request = host.client().post(host.admin_url(path)).bearer_auth(operator::ADMIN).json(&body);
            let request = request.header("host", name).header("origin", &origin);
            // What a proxy would add does not count.
            let request =
                request.header("x-forwarded-host", "localhost").header("forwarded", "host=localhost");
            let answer = request.send().await.unwrap();
            let status = answer.status();
            let allowed = answer.headers().keys().any(|name| name.as_str().starts_with("access-control"));
            let error: Value = answer.json().await.unwrap();
            assert_eq!((status.as_u16(), error["error"].as_str()), (421, Some("wrong-host")), "{name}{path}");
            assert!(!allowed, "{name}{path}");
        }
    }
    assert_eq!((letter(&host, 1).await, operator.generation().await), ('A', 0));
    assert_eq!(lines(&host, "captcha").await.len(), before);
    for name in names {
        let wanted = format!("from 127.0.0.1: wrong-host `{name}`");
        bulkhead_tests::host::eventually("the attempts are noted", async || {
            let lines = lines(&host, "access").await;
            let noted = lines.iter().filter(|line| line["reason"].as_str().unwrap().contains(&wanted));
            noted.count() == 3
        })
        .await;
    }
    host.stop().await;
}
