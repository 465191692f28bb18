//! A registry that does what it should not.

use bulkhead_tests::{
    artifact::{IMAGE, INDEX, digest},
    host::eventually,
    servers::fake_registry::Behaviour::{Drips, Floods, Hangs, Redirects, Says, Status},
};

use super::*;

/// Settings with short times.
fn hasty(fake: &FakeRegistry) -> String {
    plain(&fake.host()) + "read_timeout_ms = 400\ntimeout_ms = 1500\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn registry_faults_are_named_without_changes() {
    let fake = FakeRegistry::start().await;
    let b = artifact('B');
    let (layer, size) = (digest(&b.layer), b.layer.len());
    let holds = |repository: &str, artifact: &Artifact| fake.holds(repository, "1", artifact);
    let other = vec![b'x'; size];
    let says = |kind, text: Vec<u8>| Says(kind, text);
    let elsewhere = "http://127.0.0.1:1/blob".to_owned();
    let two = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [
        { "mediaType": IMAGE, "digest": b.digest(), "size": 1, "platform": { "architecture": "wasm", "os": "wasip1" } },
        { "mediaType": IMAGE, "digest": digest(b"x"), "size": 1, "platform": { "architecture": "wasm", "os": "wasip2" } },
    ] });
    let cases = [
        // The manifest.
        ("hangs", "/manifests/", Hangs, 504, "registry-timeout"),
        ("drips", "/manifests/", Drips, 504, "registry-timeout"),
        ("huge", "/manifests/", Floods(IMAGE), 413, "too-large"),
        ("fails", "/manifests/", Status(500), 502, "registry-unreachable"),
        ("busy", "/manifests/", Status(429), 502, "registry-unreachable"),
        ("forbidden", "/manifests/", Status(403), 502, "registry-denied"),
        ("locked", "/manifests/", Status(401), 502, "registry-denied"),
        ("page", "/manifests/", says("text/html", b.text()), 422, "media-type"),
        ("garbage", "/manifests/", says(IMAGE, b"{".to_vec()), 502, "malformed-answer"),
        ("two-faced", "/manifests/", says(INDEX, b.text()), 422, "media-type"),
        ("index", "/manifests/", says(INDEX, two.to_string().into_bytes()), 422, "media-type"),
        ("circle", "/manifests/", Redirects(fake.url("/v2/circle/manifests/1")), 502, "redirect-refused"),
        // The layer.
        ("silent", "/blobs/", Hangs, 504, "registry-timeout"),
        ("trickle", "/blobs/", Drips, 504, "registry-timeout"),
        ("endless", "/blobs/", Floods("application/wasm"), 502, "digest-mismatch"),
        ("damaged", "/blobs/", says("application/wasm", other), 502, "digest-mismatch"),
        ("short", "/blobs/", says("application/wasm", b.layer[..size - 1].to_vec()), 502, "digest-mismatch"),
        ("gone", "/blobs/", Status(404), 404, "not-found"),
        ("loop", "/blobs/", Redirects(fake.url("/v2/loop/blobs/again")), 502, "redirect-refused"),
        ("unsafe", "/blobs/", Redirects(elsewhere), 502, "redirect-refused"),
        ("private", "/blobs/", Redirects("https://127.0.0.1:1/blob".into()), 502, "redirect-refused"),
        ("metadata", "/blobs/", Redirects("https://169.254.169.254/latest".into()), 502, "redirect-refused"),
        ("mapped", "/blobs/", Redirects("https://[::ffff:10.0.0.1]/blob".into()), 502, "redirect-refused"),
        ("named", "/blobs/", Redirects("https://localhost:1/blob".into()), 502, "redirect-refused"),
        ("user", "/blobs/", Redirects("https://eva:x@example.org/blob".into()), 502, "redirect-refused"),
        ("scheme", "/blobs/", Redirects("file:///etc/passwd".into()), 502, "redirect-refused"),
    ];
    let host = hosting_a().config(&hasty(&fake)).start().await;
    for (repository, part, behaviour, status, code) in cases {
        holds(repository, &b);
        fake.does(&format!("/v2/{repository}{part}"), behaviour);
        let said = refused(&host, &format!("oci://{}/{repository}:1", fake.host()), status, code).await;
        assert!(said.starts_with(&format!("oci://{}/{repository}:1: ", fake.host())), "{said}");
        assert!(!said.contains("no secrets here"), "{said}");
    }
    // What is not what its name says.
    let wanted = format!("sha256:{}", "0".repeat(64));
    fake.does(&format!("/v2/forged/manifests/{wanted}"), says(IMAGE, b.text()));
    refused(&host, &format!("oci://{}/forged@{wanted}", fake.host()), 502, "digest-mismatch").await;
    // Declared larger than a component may be, so that it is not even asked for.
    holds("large", &b.clone().with("/layers/0/size", json!(1_u64 << 40)));
    let said = refused(&host, &format!("oci://{}/large:1", fake.host()), 413, "too-large").await;
    assert!(said.contains("sandbox.component_bytes"), "{said}");
    assert!(!fake.received().iter().any(|one| one.path == format!("/v2/large/blobs/{layer}")));
    holds("archive", &b.clone().with("/layers/0/mediaType", json!("application/vnd.oci.image.layer.v1.tar")));
    refused(&host, &format!("oci://{}/archive:1", fake.host()), 422, "media-type").await;
    assert_untouched(&host).await;
    // All of it took no place from those that come after.
    holds("good", &b);
    assert_eq!(pull(&host, &format!("oci://{}/good:1", fake.host())).await.0, 201);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn index_leads_to_its_component() {
    let fake = FakeRegistry::start().await;
    let (b, c) = (artifact('B'), artifact('C'));
    fake.holds("town", "b", &b);
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [
        { "mediaType": IMAGE, "digest": digest(b"x"), "size": 1, "platform": { "architecture": "amd64", "os": "linux" } },
        { "mediaType": IMAGE, "digest": b.digest(), "size": 1, "platform": { "architecture": "wasm", "os": "wasip2" } },
    ] });
    let index = index.to_string().into_bytes();
    fake.does("/manifests/both", Says(INDEX, index.clone()));
    let host = hosting_a().config(&plain(&fake.host())).start().await;
    let (status, version) = pull(&host, &format!("oci://{}/town:both", fake.host())).await;
    assert_eq!(status, 201, "{version}");
    assert_eq!(version["source"], format!("oci://{}/town:both@{}", fake.host(), digest(&index)));

    let first = fake.holds("town", "moving", &b);
    let (status, version) = pull(&host, &format!("oci://{}/town:moving", fake.host())).await;
    assert_eq!(status, 201, "{version}");
    fake.holds("town", "moving", &c);
    operator(&host).swap(version["id"].as_str().unwrap()).await;
    assert_eq!(letter(&host, 1).await, 'B');
    let active = operator(&host).slot().await["active"].clone();
    assert_eq!(active["source"], format!("oci://{}/town:moving@{first}", fake.host()));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_pulls_nothing_any_more() {
    let fake = FakeRegistry::start().await;
    fake.holds("town", "1", &artifact('B'));
    fake.does("/v2/hangs/", Hangs);
    let host = hosting_a().config(&plain(&fake.host())).start().await;
    let operator = operator(&host);
    let wanted = |repository: &str| json!({ "reference": format!("oci://{}/{repository}:1", fake.host()) });
    let hanging = wanted("hangs");
    let asked = async |count: usize| fake.received().len() == count;
    for round in 1..=3 {
        let leaving = tokio::spawn({
            let (operator, hanging) = (operator.clone(), hanging.clone());
            async move { operator.try_post("/versions", &hanging).await }
        });
        eventually("the registry is asked", async || asked(round).await).await;
        leaving.abort();
        eventually("the pull is given up", async || fake.abandoned() == round).await;
    }
    assert_untouched(&host).await;
    // Two that hang leave no place for a third, and all places for components that are sent.
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let (operator, hanging) = (operator.clone(), hanging.clone());
            tokio::spawn(async move { operator.try_post("/versions", &hanging).await })
        })
        .collect();
    eventually("both hang", async || asked(5).await).await;
    let (status, error) = operator.post("/versions", &wanted("town")).await;
    assert_eq!((status, error["error"].as_str()), (503, Some("busy")), "{error}");
    operator.push(answering('C', "").component()).await;
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    eventually("there are places again", async || operator.post("/versions", &wanted("town")).await.0 == 201)
        .await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_names_are_refused_without_requests() {
    let fake = FakeRegistry::start().await;
    let settings = plain(&fake.host()) + "repositories = [\"town\"]\n";
    let host = hosting_a().config(&settings).start().await;
    let at = |name: &str| format!("oci://{}/{name}", fake.host());
    for reference in [
        at("town/../../../etc/passwd:1"),
        at("town/%2e%2e/x:1"),
        at("town:1/../../x"),
        at("town:1?x=y"),
        at("town@sha256:../../x"),
        at("//town:1"),
        at("town\n:1"),
        at("town"),
        format!("oci://eva@{}/town:1", fake.host()),
        format!("http://{}/town:1", fake.host()),
        "file:///etc/passwd".to_owned(),
        String::new(),
    ] {
        refused(&host, &reference, 400, "invalid-request").await;
    }
    refused(&host, &at("townhall:1"), 403, "registry-not-allowed").await;
    refused(&host, "oci://127.0.0.1/town:1", 403, "registry-not-allowed").await;
    let said = refused(&host, "oci://registry.example.org/town:1", 403, "registry-not-allowed").await;
    assert!(said.contains("[registries.NAME] and host = \"registry.example.org\""), "{said}");
    let operator = operator(&host);
    for body in [json!({}), json!({ "reference": at("town:1"), "force": true }), json!({ "reference": 1 })] {
        let (status, error) = operator.post("/versions", &body).await;
        assert_eq!((status, error["error"].as_str()), (400, Some("invalid-request")), "{error}");
    }
    // Nobody passes a file off as what a registry gave.
    let source = "/v1/slots/captcha/versions?source=oci://127.0.0.1/town@sha256:00";
    let file = answering('B', "").component();
    let request = host.client().post(host.admin_url(source)).bearer_auth(operator::DEPLOY);
    let answer = request.header("content-type", "application/wasm").body(file).send().await.unwrap();
    assert_eq!(answer.status(), 400, "{}", answer.text().await.unwrap());
    let wanted = json!({ "reference": at("town:1") });
    for (operator, status) in [
        (Operator::nobody(&host.admin_url("")), 401),
        (Operator::new(&host.admin_url(""), operator::READ), 403),
    ] {
        assert_eq!(operator.post("/versions", &wanted).await.0, status);
    }
    assert_eq!(fake.received().len(), 0);
    assert_untouched(&host).await;
    host.stop().await;
}
