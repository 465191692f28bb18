//! Pushes: of what answers already, of what is refused, and those that go on after their request.

use bulkhead_tests::{child::Launch, host::eventually};

use super::super::*;

#[tokio::test(flavor = "multi_thread")]
async fn push_of_active_version_changes_nothing() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let before = operator.slot().await;
    let (status, pushed) = operator.try_push(answering('A', "").component()).await;
    assert_eq!((status, &pushed["answering"]), (200, &json!(true)), "{pushed}");
    assert_eq!(pushed["id"], before["active"]["id"]);
    let (status, pushed) = operator.try_push(answering('B', "").component()).await;
    assert_eq!((status, &pushed["answering"]), (201, &json!(false)), "{pushed}");
    let slot = operator.slot().await;
    assert_eq!((&slot["generation"], &slot["active"]["moves"]), (&json!(0), &before["active"]["moves"]));

    operator.change("canary", json!({ "version": pushed["id"], "weight": 10 })).await;
    let (status, pushed) = operator.try_push(answering('B', "").component()).await;
    assert_eq!((status, &pushed["answering"]), (200, &json!(true)), "so does a candidate: {pushed}");
    assert_eq!(operator.stage(pushed["id"].as_str().unwrap()).await, "candidate");

    operator.change("shadow", json!({})).await;
    let (status, pushed) = operator.try_push(answering('B', "").component()).await;
    assert_eq!((status, &pushed["answering"]), (200, &json!(false)), "none is answered in shadow: {pushed}");
    assert_eq!(operator.slot().await["candidate"]["id"], pushed["id"]);
    let file = host.folder().join("b.wasm");
    std::fs::write(&file, answering('B', "").component()).unwrap();
    let push = Launch::bulkhead(&["component", "push", "captcha", file.to_str().unwrap()])
        .env("BULKHEAD_ADMIN_URL", &host.admin_url(""))
        .env("BULKHEAD_ADMIN_TOKEN", operator::DEPLOY);
    let finished = push.finish().await;
    assert!(
        finished.succeeded() && finished.stderr.contains("is the candidate already"),
        "{}",
        finished.stderr
    );
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_pushes_do_not_fill_history() {
    let host = hosting_a().env("BULKHEAD_SLOTS__CAPTCHA__ROLLOUT__HISTORY", "1").start().await;
    let operator = operator(&host);
    let version = operator.push(answering('B', "").component()).await;
    for number in 0..30 {
        let (status, error) = operator.try_push(format!("garbage {number}").into_bytes()).await;
        assert_eq!(status, 422, "{error}");
    }
    let (_, history) = operator.get("/v1/slots/captcha/history").await;
    assert_eq!(history["versions"].as_array().unwrap().len(), 2 + 10, "others are forgotten: {history}");
    operator.swap(&version).await;
    assert_eq!(letter(&host, 1).await, 'B');
    host.stop().await;
}

/// The job once it has ended.
async fn ended(operator: &Operator, path: &str) -> Value {
    let mut job = Value::Null;
    eventually("the job ends", async || {
        let (status, answer) = operator.get(path).await;
        assert_eq!(status, 200, "{answer}");
        job = answer;
        job["state"] != "running"
    })
    .await;
    job
}

fn stages(job: &Value) -> Vec<&str> {
    job["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn asynchronous_push_shows_its_stages() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let (status, path, job) = operator.start_push(answering('B', "").component()).await;
    assert_eq!((status, &job["slot"]), (202, &json!("captcha")), "{job}");
    assert_eq!(path, format!("/v1/jobs/{}", job["id"].as_str().unwrap()));
    let job = ended(&operator, &path).await;
    assert_eq!(stages(&job), ["received", "checked", "compiled", "trialled"], "{job}");
    assert_eq!((&job["state"], &job["error"]), (&json!("succeeded"), &Value::Null));
    assert_eq!(job["version"]["answering"], false);
    operator.swap(job["version"]["id"].as_str().unwrap()).await;
    assert_eq!(letter(&host, 1).await, 'B');

    let (_, path, _) = operator.start_push(answering('B', "").component()).await;
    let job = ended(&operator, &path).await;
    assert_eq!((stages(&job), &job["version"]["answering"]), (vec![], &json!(true)), "{job}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_job_has_error_of_the_request() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let (status, path, _) = operator.start_push(b"garbage".to_vec()).await;
    assert_eq!(status, 202);
    let job = ended(&operator, &path).await;
    assert_eq!((&job["state"], stages(&job)), (&json!("failed"), vec!["received", "refused"]), "{job}");
    let (status, mut error) = operator.try_push(b"garbage".to_vec()).await;
    error["status"] = status.into();
    assert_eq!((job["error"].clone(), &job["version"]), (error, &Value::Null));

    let reference = json!({ "reference": "oci://registry.example/captcha:1" });
    let request = host.client().post(host.admin_url("/v1/slots/captcha/versions")).json(&reference);
    let answer =
        request.header("prefer", "respond-async").bearer_auth(operator::DEPLOY).send().await.unwrap();
    assert_eq!(answer.status(), 202);
    assert_eq!(answer.headers()["preference-applied"], "respond-async");
    let path = answer.headers()["location"].to_str().unwrap().to_owned();
    let job = ended(&operator, &path).await;
    assert_eq!((&job["error"]["status"], stages(&job)), (&json!(403), vec![]), "{job}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_job_is_an_error() {
    let host = hosting_a().start().await;
    let (status, error) = operator(&host).get("/v1/jobs/00000000-0000-4000-8000-000000000000").await;
    assert_eq!((status, error["error"].as_str()), (404, Some("unknown-job")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("history"), "{error}");
    host.stop().await;
}
