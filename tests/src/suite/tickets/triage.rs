//! Decisions, sessions, versions.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn decision_has_shape_of_replaced_service() {
    let service = Service::start("").await;
    let decision = service.decision("ahoy mate port").await;
    assert_eq!(decision["user_text"], "ahoy mate port");
    assert_eq!(decision["category"], json!({ "name": "harbour", "auto_publish": true }));
    let action = json!({
        "name": "fees", "description": "the fees are told", "type": "StaticAnswer",
        "answer": "Mooring costs 12 EUR a night.",
    });
    assert_eq!(decision["action"], action);
    // Scores 35 / 3 and 8.
    let likely = 1.0 / (1.0 + (8.0_f64 - 35.0 / 3.0).exp());
    assert!((decision["confidence"].as_f64().unwrap() - likely).abs() < 1e-4, "{decision}");
    assert_eq!(decision["extracted_values"], Value::Null);
    assert!(!decision["reasoning"].as_str().unwrap().is_empty());
    assert_eq!(decision["alternatives"][0]["name"], "greeting");

    let decision = service.decision("hello world good").await;
    assert_eq!(decision["category"], json!({ "name": "greeting", "auto_publish": false }));
    assert_eq!(
        (&decision["action"]["type"], &decision["action"]["answer"]),
        (&json!("AIAnswer"), &Value::Null)
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unsure_has_no_category() {
    let service = Service::start("").await;
    // Scores 8.0 and 8: as sure of the one as of the other.
    let decision = service.decision("fair").await;
    assert_eq!(decision["category"]["name"], "other");
    assert_eq!(decision["action"]["type"], "NoAction");
    assert!(decision["confidence"].as_f64().unwrap() <= 0.5001);
    assert!(decision["internal_note"].as_str().unwrap().starts_with("other: "));
    let empty = service.decision(" \n").await;
    assert_eq!((&empty["category"]["name"], &empty["confidence"]), (&json!("other"), &json!(1.0)));
    let signs = service.decision("\u{1F6A2}\u{2693} 12!").await;
    assert_eq!((&signs["category"]["name"], &signs["confidence"]), (&json!("other"), &json!(1.0)));
    assert_eq!(signs["reasoning"], "In der Nachricht steht kein Wort, nach dem sie sich zuordnen ließe.");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_of_program_has_own_action() {
    let folder = TempDir::new().unwrap();
    let file = "[[actions]]\nname = \"file\"\ndescription = \"nobody reads it\"\ntype = \"NoAction\"\n";
    let rules = format!("auto_reply = \"file\"\n{RULES}\n{file}");
    let service = Service::with(&configured(folder.path(), &rules, "")).await;
    let bounce = "Mail delivery failed: returning message to sender\n\nahoy mate port";
    let decision = service.decision(bounce).await;
    assert_eq!(
        (&decision["category"]["name"], &decision["action"]["name"]),
        (&json!("other"), &json!("file"))
    );
    assert_eq!(service.decision("ahoy mate port").await["action"]["name"], "fees");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reused_instance_decides_as_a_fresh_one() {
    let (fresh, reused) = (Service::start("").await, Service::start("[slots.triage]\nreuse = true\n").await);
    for text in ["ahoy mate port", "hello world good", "fair", "hello world, write to eva@example.org"] {
        assert_eq!(reused.decision(text).await, fresh.decision(text).await, "{text}");
    }
    fresh.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_extracted_with_their_types() {
    let service = Service::start("").await;
    let decision = service.decision("hello world, write to eva@example.org").await;
    let values = decision["extracted_values"].as_object().unwrap();
    assert!(values.values().any(|value| value == "eva@example.org"), "{values:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_echoed_or_made() {
    let service = Service::start("").await;
    let longest = "x".repeat(128);
    for (session, header) in [
        ("6fa459ea-ee8a-4ca4-894e-db77e160355e", true),
        ("Ticket 4711/a", true),
        (longest.as_str(), true),
        ("Straße", false),
        ("a\r\nb: c", false),
    ] {
        let answer = service.triage(&json!({ "text": "ahoy", "session_id": session, "more": 1 })).await;
        assert_eq!((answer.status, &answer.json()["session_id"]), (200, &json!(session)));
        assert_eq!(answer.header("x-session-id"), header.then_some(session));
    }
    let mut made = Vec::new();
    for body in [
        json!({ "text": "ahoy" }),
        json!({ "text": "ahoy", "session_id": null }),
        json!({ "text": "ahoy", "session_id": "" }),
    ] {
        let answer = service.triage(&body).await;
        let session = answer.json()["session_id"].as_str().unwrap().to_owned();
        assert_eq!(session.as_bytes()[14], b'4', "{session} is of version 4");
        assert_eq!(answer.header("x-session-id"), Some(session.as_str()));
        made.push(session);
    }
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 3);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_versions_of_many_cost_few_calls() {
    let service = Service::start("").await;
    let began = std::time::Instant::now();
    for _ in 0..20 {
        let asked = futures_util::future::join_all((0..10).map(|_| service.get("/api/v1/prompt_versions")));
        assert!(asked.await.iter().all(|answer| answer.status == 200));
    }
    for slot in ["triage", "answer"] {
        let ok = format!("bulkhead_calls_total{{outcome=\"ok\",slot=\"{slot}\"}}");
        let calls = service.host.metric(&ok).await;
        // One in five seconds.
        assert!(calls <= 1.0 + began.elapsed().as_secs_f64() / 5.0, "{slot}: {calls} calls");
        assert!(calls >= 1.0);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_versions_are_shown() {
    let service = Service::start("").await;
    let health = service.get("/api/v1/health").await;
    assert_eq!((health.status, health.text.as_str()), (200, "{\"status\":\"healthy\"}"));
    let versions = service.get("/api/v1/prompt_versions").await.json();
    let of_answers = json!({ "agent": null, "format": null, "judge": null });
    let mut expected = json!({ "categories": null, "examples": null, "role": null });
    expected.as_object_mut().unwrap().extend(of_answers.as_object().unwrap().clone());
    assert_eq!(versions, expected);
    let detailed = service.get("/api/v1/prompt_versions?details=1").await.json();
    let about = &detailed["categories"];
    assert_eq!(about["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(about["source"], "configuration");
    assert!(about["component"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(detailed["agent"]["sha256"].as_str().unwrap().len(), 64);
    assert_ne!(about["component"], detailed["agent"]["component"]);
    service.stop().await;
}

/// A ticket is still answered when nothing classifies: it goes to a clerk, and the reasoning says why.
#[tokio::test(flavor = "multi_thread")]
async fn tickets_without_classifier_need_a_clerk() {
    let folder = TempDir::new().unwrap();
    let without_examples = RULES.lines().filter(|line| !line.trim().starts_with("examples"));
    let rules = without_examples.collect::<Vec<_>>().join("\n");
    let config = configured(folder.path(), &rules, "");
    let without_heads = config.lines().filter(|line| !line.starts_with("heads"));
    let service = Service::with(&without_heads.collect::<Vec<_>>().join("\n")).await;
    let decision = service.decision("ahoy mate port").await;
    assert_eq!((&decision["category"]["name"], &decision["confidence"]), (&json!("other"), &json!(0.0)));
    assert!(
        decision["reasoning"].as_str().unwrap().contains("the classifier cannot answer: none is loaded"),
        "{decision}"
    );
    service.stop().await;
}

/// Examples in the configuration are enough: the head is trained at the first start and kept for the next.
#[tokio::test(flavor = "multi_thread")]
async fn missing_head_is_trained_from_examples() {
    let folder = TempDir::new().unwrap();
    let model = ToyModel { normalize: Some(false), ..ToyModel::default() }.write(folder.path(), "toy");
    let rules = RULES
        .replace(
            "[\"ahoy mate, fair wind to the port\"]",
            "[\"ahoy mate port\", \"fair wind\", \"port wind\", \"ahoy\", \"mate fair\"]",
        )
        .replace(
            "[\"hello world, good day\"]",
            "[\"hello world\", \"good day\", \"hello\", \"world\", \"good world\"]",
        );
    let rules_file = folder.path().join("rules.toml");
    std::fs::write(&rules_file, rules).unwrap();
    let config = format!(
        "[embedding]\nmodels = [{model:?}]\n[tickets]\ntriage = {rules_file:?}\n[services.captcha]\nenabled = false"
    );
    let service = Service::with(&config).await;
    let decision = service.decision("ahoy port").await;
    assert_eq!(decision["category"]["name"], "harbour", "{decision}");
    assert_eq!(service.decision("hello good world").await["category"]["name"], "greeting");
    let kept = service.host.folder().join("data/heads");
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_describes_itself() {
    let service = Service::start("").await;
    let document = service.get("/api/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    for path in ["/api/v1/triage", "/api/v1/answer", "/api/v1/health", "/api/v1/prompt_versions"] {
        assert!(document["paths"].get(path).is_some(), "{path}");
    }
    // What it says of a decision is true of one.
    let triage = service.triage(&json!({ "text": "ahoy mate" })).await.json();
    let described = &document["components"]["schemas"]["TriageOutput"];
    let mut schema = described.clone();
    schema["components"] = document["components"].clone();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("file:///triage.json", schema).unwrap();
    let index = compiler.compile("file:///triage.json", &mut schemas).unwrap();
    schemas.validate(&triage, index).unwrap_or_else(|error| panic!("{error:#}\n{triage:#}"));
    let page = service.get("/api/docs").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.text.contains("docs/swagger-ui-bundle.js"), "{}", page.text);
    assert_eq!(service.get("/api/docs/swagger-ui-bundle.js").await.status, 200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn series_have_names_of_replaced_service() {
    let service = Service::start("").await;
    service.decision("ahoy mate").await;
    service.get("/api/v1/nothing").await;
    let metrics = service.host.metrics().await;
    for (series, value) in [
        ("http_requests_total{method=\"POST\",path=\"/api/v1/triage\",status=\"200\"}", 1.0),
        ("http_requests_total{method=\"GET\",path=\"unmatched\",status=\"404\"}", 1.0),
        ("http_request_duration_seconds_count{method=\"POST\",path=\"/api/v1/triage\",status=\"200\"}", 1.0),
        ("triage_run_duration_seconds_count{outcome=\"success\"}", 1.0),
        ("triage_runs_in_progress", 0.0),
        ("answer_runs_in_progress", 0.0),
        ("status{zammad_ai_status=\"ready\"}", 1.0),
        ("status{zammad_ai_status=\"active\"}", 0.0),
    ] {
        assert_eq!(metrics.get(&format!("zammad_ai_{series}")), Some(&value), "{series} in {metrics:#?}");
    }
    service.stop().await;
}
