//! What is remembered of what operators do.

use super::super::*;

#[tokio::test(flavor = "multi_thread")]
async fn audit_log_has_moves_with_their_actors() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let old = operator.slot().await["active"]["id"].as_str().unwrap().to_owned();
    let new = operator.push(answering('B', "").component()).await;
    operator.change("canary", json!({ "version": new, "weight": 10, "reason": "careful\nnow" })).await;
    operator.change("promote", json!({ "reason": "all is well" })).await;
    let retired = async || operator.stage(&old).await == "retired";
    bulkhead_tests::host::eventually("the old version is freed", retired).await;

    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let (_, audit) = admin.get("/v1/audit?slot=captcha").await;
    let entries = audit["entries"].as_array().unwrap();
    let of = |version: &str| -> Vec<(String, String, u64)> {
        let own = entries.iter().filter(|entry| entry["version"] == version);
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        own.map(|entry| (text(entry, "stage"), text(entry, "actor"), entry["generation"].as_u64().unwrap()))
            .collect()
    };
    let step = |stage: &str, actor: &str, generation| (stage.to_owned(), actor.to_owned(), generation);
    assert_eq!(
        of(&new),
        [
            step("received", "deploy", 0),
            step("checked", "deploy", 0),
            step("compiled", "deploy", 0),
            step("trialled", "deploy", 0),
            step("candidate", "deploy", 1),
            step("active", "deploy", 2),
        ]
    );
    let expected = [step("active", "host", 0), step("draining", "deploy", 2), step("retired", "host", 2)];
    assert_eq!(of(&old), expected);
    let file = host.folder().join("data/slots/audit.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().count(), entries.len(), "a line each");
    assert!(text.contains(r"careful\\nnow"), "{text}");
    host.stop().await;
}

/// Every door that changes something leaves a line, and so does a component or a configuration that is refused; who
/// comes too late or makes no sense leaves none.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_change_is_audited() {
    let host = hosting_a().start().await;
    let (admin, reader) = (
        Operator::new(&host.admin_url(""), operator::ADMIN),
        Operator::new(&host.admin_url(""), operator::READ),
    );
    let entries = async || admin.get("/v1/audit?limit=10000").await.1["entries"].as_array().unwrap().clone();
    // Lines of operators; the host adds its own when a version has drained.
    let ours =
        async || entries().await.into_iter().filter(|line| line["actor"] == "admin").collect::<Vec<_>>();
    let (b, c) =
        (admin.push(answering('B', "").component()).await, admin.push(answering('C', "").component()).await);
    let mut before = ours().await.len();
    assert_eq!(before, 8, "received, checked, compiled, trialled");
    for (path, mut body, stage) in [
        ("/v1/slots/captcha/canary", json!({ "version": b, "weight": 5 }), "candidate"),
        ("/v1/slots/captcha/canary", json!({ "weight": 50 }), "candidate"),
        ("/v1/slots/captcha/shadow", json!({}), "candidate"),
        ("/v1/slots/captcha/rollback", json!({}), "draining"),
        ("/v1/slots/captcha/shadow", json!({ "version": b }), "candidate"),
        ("/v1/slots/captcha/promote", json!({}), "active"),
        ("/v1/slots/captcha/swap", json!({ "version": c }), "active"),
        ("/v1/slots/captcha/rollback", json!({}), "active"),
        ("/v1/config/reload", json!({}), "active"),
    ] {
        body["reason"] = json!(format!("because of {path}"));
        if path.starts_with("/v1/slots") {
            body["generation"] = admin.generation().await.into();
        }
        let (status, error) = reader.post_at(path, &body).await;
        assert_eq!((status, ours().await.len()), (403, before), "{path}: {error}");
        let (status, error) = Operator::nobody(&host.admin_url("")).post_at(path, &body).await;
        assert_eq!(
            (status, entries().await.iter().filter(|line| line["actor"] == "admin").count()),
            (401, before),
            "{error}"
        );
        let (status, answer) = admin.post_at(path, &body).await;
        assert_eq!(status, 200, "{path}: {answer}");
        let lines = ours().await;
        let new = &lines[before..];
        assert!(new.iter().any(|line| line["stage"] == stage), "{path}: {new:?}");
        assert!(
            new.iter().all(|line| line["reason"].as_str().unwrap().contains(&format!("because of {path}"))),
            "{new:?}"
        );
        before = lines.len();
        if path.starts_with("/v1/slots") {
            // Too late: nothing is done, and nothing noted.
            let (status, error) = admin.post_at(path, &body).await;
            assert_eq!((status, ours().await.len()), (409, before), "{path}: {error}");
        }
    }
    let (status, error) = admin.try_push(b"garbage".to_vec()).await;
    assert_eq!(status, 422, "{error}");
    std::fs::write(host.folder().join(bulkhead_tests::host::CONFIG_FILE), "nonsense = 1").unwrap();
    assert_eq!(admin.post_at("/v1/config/reload", &json!({})).await.0, 422);
    let lines = ours().await;
    let stages: Vec<_> = lines[before..].iter().map(|line| line["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["received", "refused", "refused"]);
    host.stop().await;
}

/// Who may not leaves lines too, though not without end, and hides nobody's.
#[tokio::test(flavor = "multi_thread")]
async fn refused_attempts_leave_a_few_lines() {
    let host = hosting_a().start().await;
    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let (path, body) = ("/v1/slots/captcha/swap", json!({ "version": "x", "generation": 0 }));
    let guesser = Operator::new(&host.admin_url(""), "a wrong token");
    let (mut refused, since) = (Vec::new(), std::time::Instant::now());
    for _ in 0..30 {
        refused.push(guesser.post_at(path, &body).await.0);
    }
    assert_eq!(refused[..10], [401; 10]);
    // Another one is looked at every six seconds.
    let judged = refused[10..].iter().filter(|status| **status == 401).count() as u64;
    let limited = refused[10..].iter().filter(|status| **status == 429).count() as u64;
    assert!(judged + limited == 20 && judged <= since.elapsed().as_secs() / 6 + 1, "{refused:?}");
    for _ in 0..30 {
        let reader = Operator::new(&host.admin_url(""), operator::READ);
        assert_eq!(reader.post_at(path, &body).await.0, 403);
    }
    let lines = async |actor: &str| {
        let (status, audit) = admin.get("/v1/audit?slot=access&limit=1000").await;
        assert_eq!(status, 200, "{audit}");
        let lines = audit["entries"].as_array().unwrap().iter().filter(|line| line["actor"] == actor);
        lines.map(|line| line["reason"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let written = async || (lines("unknown").await.len(), lines("read").await.len()) == (10, 10);
    bulkhead_tests::host::eventually("ten lines each", written).await;
    for (actor, code) in [("unknown", "unauthorized"), ("read", "forbidden")] {
        let reasons = lines(actor).await;
        let wanted = format!("POST /v1/slots/{{slot}}/swap from 127.0.0.1: {code}");
        assert!(reasons.iter().all(|reason| reason.starts_with(&wanted)), "{reasons:?}");
        assert!(!reasons.iter().any(|reason| reason.contains("wrong token")), "{reasons:?}");
    }
    let all = std::fs::read_to_string(host.folder().join("data/slots/audit.jsonl")).unwrap();
    assert_eq!(all.matches("\"slot\":\"access\"").count(), 20);
    let wrong_host = host.client().get(host.admin_url("/metrics")).header("host", "evil.example");
    assert_eq!(wrong_host.send().await.unwrap().status(), 421);
    host.stop().await;
}

/// What any web page can send from a browser on this machine hides no wrong token from the same address.
#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_refusal_has_its_lines() {
    let host = hosting_a().start().await;
    let ask = async |path: &str, token: Option<&str>, name: &str| {
        let mut request = host.client().get(host.admin_url(path)).header("host", name);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.unwrap().status().as_u16()
    };
    for _ in 0..20 {
        assert_eq!(ask("/metrics", None, "evil.example").await, 421);
        assert_eq!(ask("/v1/slots", None, "localhost").await, 401);
        let path = format!("/v1/slots?access_token={}", operator::ADMIN);
        assert_eq!(ask(&path, None, "localhost").await, 400);
    }
    assert_eq!(ask("/v1/slots/captcha", Some("a wrong token"), "localhost").await, 401);
    let admin = Operator::new(&host.admin_url(""), operator::ADMIN);
    let count = async |what: &str| {
        let (_, audit) = admin.get("/v1/audit?slot=access&limit=1000").await;
        let lines = audit["entries"].as_array().unwrap().iter();
        lines.filter(|line| line["reason"].as_str().unwrap().contains(what)).count()
    };
    for (what, lines) in [
        ("from 127.0.0.1: wrong-host `evil.example`", 10),
        ("GET /v1/slots from 127.0.0.1: unauthorized", 10),
        ("GET /v1/slots from 127.0.0.1: token-in-url", 10),
        ("GET /v1/slots/{slot} from 127.0.0.1: unauthorized", 1),
    ] {
        bulkhead_tests::host::eventually(what, async || count(what).await == lines).await;
    }
    let all = std::fs::read_to_string(host.folder().join("data/slots/audit.jsonl")).unwrap();
    assert!(!all.contains(operator::ADMIN), "the token is in the audit log");
    host.stop().await;
}
