//! text-embeddings-inference's endpoints, rule by rule.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn lists_give_vectors_in_order() {
    let service = Service::start("").await;
    let one = service.post("/embed", &json!({ "inputs": "hello world" })).await;
    assert_eq!((one.status, one.json()), (200, json!([[4.5, 1.0, -4.5, 0.5]])));
    let three = service.post("/embed", &json!({ "inputs": ["hello", "day", "hello"] })).await.json();
    let firsts: Vec<f64> = three.as_array().unwrap().iter().map(|row| row[0].as_f64().unwrap()).collect();
    assert_eq!(firsts, [4.0, 7.0, 4.0]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn model_has_its_own_path_and_vectors() {
    let service = Service::start("").await;
    for path in ["/embed", "/", "/tei/first/embed", "/tei/first"] {
        let answer = service.post(path, &json!({ "inputs": "hello" })).await;
        assert_eq!((answer.status, answer.json()), (200, json!([[4.0, 1.0, -4.0, 0.5]])), "{path}");
    }
    for path in ["/tei/second/embed", "/tei/second", "/tei/%73econd/embed"] {
        let answer = service.post(path, &json!({ "inputs": "hello" })).await;
        assert_eq!(answer.json(), json!([[4.0, 2.0, -4.0, 0.5]]), "{path}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_segment_is_404_without_default() {
    let service = Service::start("").await;
    for path in
        ["/tei/third/embed", "/tei/First/embed", "/tei/third", "/tei/third/v1/embeddings", "/tei/x/tokenize"]
    {
        let body = json!({ "inputs": "hello", "input": "hello" });
        let message = service.post(path, &body).await.assert_error(404, "not_found");
        assert!(message.contains("/tei/"), "{message}");
    }
    service.get("/tei/third/info").await.assert_error(404, "not_found");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn info_has_members_of_both_servers() {
    let service = Service::start("").await;
    let info = service.get("/info").await.json();
    assert_eq!(info["model_id"], "first");
    assert_eq!((&info["embedding_dimension"], &info["max_input_length"]), (&json!(4), &json!(512)));
    assert_eq!(
        (&info["pooling"], &info["model_type"]),
        (&json!("mean"), &json!({ "embedding": { "pooling": "mean" } }))
    );
    for member in [
        "model_sha",
        "model_dtype",
        "max_concurrent_requests",
        "max_batch_tokens",
        "max_batch_requests",
        "max_client_batch_size",
        "auto_truncate",
        "tokenization_workers",
        "version",
        "sha",
        "docker_label",
    ] {
        assert!(info.get(member).is_some(), "{member}");
    }
    assert_eq!(service.get("/tei/second/info").await.json()["model_id"], "second");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retired_parameter_is_refused_on_every_path() {
    let service = Service::start("").await;
    for query in ["model=first", "model", "model=", "a=b&%6dodel=second"] {
        for path in ["/embed", "/", "/tei/first/embed", "/tei/first"] {
            let answer = service.post(&format!("{path}?{query}"), &json!({ "inputs": "hello" })).await;
            let message = answer.assert_error(400, "invalid_request");
            assert!(message.contains("/tei/"), "{message}");
        }
        for path in ["/info", "/tei/first/info"] {
            service.get(&format!("{path}?{query}")).await.assert_error(400, "invalid_request");
        }
    }
    assert_eq!(service.get("/info?Model=x&other=1").await.status, 200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fields_of_tei_are_honoured() {
    let service = Service::start("").await;
    let embed = async |body: Value| vector(&service.post("/embed", &body).await.json()[0]);
    let scaled = embed(json!({ "inputs": "hello", "normalize": true })).await;
    assert!((scaled.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-6);
    assert_eq!(embed(json!({ "inputs": "hello", "normalize": false })).await, [4.0, 1.0, -4.0, 0.5]);
    assert_eq!(embed(json!({ "inputs": "hello", "dimensions": 2 })).await, [4.0, 1.0]);
    let null = json!({
        "inputs": "hello", "normalize": null, "dimensions": null, "truncate": null, "truncation_direction": null,
        "prompt_name": null,
    });
    assert_eq!(embed(null).await, [4.0, 1.0, -4.0, 0.5]);
    for (member, value) in [
        ("dimensions", json!(0)),
        ("dimensions", json!(5)),
        ("dimensions", json!("2")),
        ("normalize", json!(1)),
        ("truncation_direction", json!("up")),
        ("prompt_name", json!("query")),
        ("prompt_name", json!(3)),
    ] {
        let mut body = json!({ "inputs": "hello" });
        body[member] = value;
        service.post("/embed", &body).await.assert_error(400, "invalid_request");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requested_prompts_precede_their_texts() {
    let service = Service::start("default_prompts = { second = \"passage\" }\n").await;
    let embed = async |body: Value| vector(&service.post("/tei/second/embed", &body).await.json()[0]);
    let query = embed(json!({ "inputs": "hello", "prompt_name": "query" })).await;
    assert_eq!(query, second().mean(&[12, 4]));
    assert_eq!(embed(json!({ "inputs": "hello" })).await, second().mean(&[13, 4]), "the configured default");
    service.stop().await;
    let service = Service::start("").await;
    let plain = service.post("/tei/second/embed", &json!({ "inputs": "hello" })).await.json();
    assert_eq!(vector(&plain[0]), second().mean(&[4]), "none unless asked for");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_prompt_name_means_no_prompt() {
    let service = Service::start("default_prompts = { second = \"passage\" }\n").await;
    let body = json!({ "inputs": "hello", "prompt_name": "" });
    let plain = service.post("/tei/second/embed", &body).await.json();
    assert_eq!(vector(&plain[0]), second().mean(&[4]));
    let body = json!({ "input": "hello", "model": "second", "prompt_name": "" });
    let plain = service.post("/v1/embeddings", &body).await.json();
    assert_eq!(vector(&plain["data"][0]["embedding"]), second().mean(&[4]));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn static_models_normalise_as_configured() {
    for (config, length) in [("", 33.25_f32.sqrt()), ("normalize = \"always\"\n", 1.0)] {
        let service = Service::start(config).await;
        let length_of = |vector: Vec<f32>| vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        let answer = service.post("/embed", &json!({ "inputs": "hello" })).await.json();
        assert!((length_of(vector(&answer[0])) - length).abs() < 1e-6, "{answer}");
        let answer = service.post("/v1/embeddings", &json!({ "input": "hello" })).await.json();
        assert!((length_of(vector(&answer["data"][0]["embedding"])) - length).abs() < 1e-6, "{answer}");
        let answer = service.post("/embed", &json!({ "inputs": "hello", "normalize": false })).await.json();
        assert_eq!(vector(&answer[0]), [4.0, 1.0, -4.0, 0.5], "the call says no");
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_say_what_the_work_took() {
    let service = Service::start("").await;
    let inputs = json!(["hello", "zzz", "h\u{e9} day", "qqq"]);
    for (path, member) in [("/embed", "inputs"), ("/v1/embeddings", "input")] {
        let answer = service.post(path, &json!({ member: inputs })).await;
        assert_eq!(answer.header("x-zero-vectors"), Some("2; inputs=\"1 3\""), "{path}");
        assert_eq!(answer.header("x-compute-type"), Some("cpu"));
        assert_eq!(answer.header("x-compute-characters"), Some("17"));
        assert!(answer.header("x-compute-tokens").unwrap().parse::<usize>().unwrap() >= 2);
        for name in ["compute", "total", "tokenization", "queue", "inference"] {
            let time = answer.header(&format!("x-{name}-time")).unwrap_or_else(|| panic!("{name}"));
            assert!(time.parse::<u64>().is_ok(), "{name}: {time}");
        }
    }
    let whole = service.post("/embed", &json!({ "inputs": "hello" })).await;
    assert_eq!(whole.header("x-zero-vectors"), None);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_truncated_or_refused() {
    let service = Service::start("max_input_length = 2\n").await;
    let long = json!({ "inputs": ["hello world good", "day", "good day hello"] });
    let cut = service.post("/embed", &long).await;
    assert_eq!(cut.header("x-truncated-inputs"), Some("2"));
    let firsts: Vec<f64> =
        cut.json().as_array().unwrap().iter().map(|row| row[0].as_f64().unwrap()).collect();
    assert_eq!(firsts, [4.5, 7.0, 6.5]);
    let left = json!({ "inputs": "hello world good", "truncation_direction": "Left" });
    assert_eq!(vector(&service.post("/embed", &left).await.json()[0])[0], 5.5);
    let whole = service.post("/embed", &json!({ "inputs": "hello world" })).await;
    assert_eq!(whole.header("x-truncated-inputs"), None);
    let refused = json!({ "inputs": ["day", "hello world good"], "truncate": false });
    let message = service.post("/embed", &refused).await.assert_error(400, "invalid_request");
    for part in ["input 1", "3 tokens", "limit is 2"] {
        assert!(message.contains(part), "{message}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_words_count_and_leave_no_trace() {
    let service = Service::start("").await;
    let unknown = service.post("/embed", &json!({ "inputs": "zzz qqq" })).await;
    assert_eq!((unknown.status, unknown.json()), (200, json!([[0.0, 0.0, 0.0, 0.0]])));
    let mixed = service.post("/embed", &json!({ "inputs": "zzz hello" })).await.json();
    assert_eq!(vector(&mixed[0]), [4.0, 1.0, -4.0, 0.5]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_shown_with_their_places() {
    let service = Service::start("").await;
    let answer = service.post("/tokenize", &json!({ "inputs": ["Hello  winds", "\u{e9} day"] })).await;
    let rows = answer.json();
    let shown = |row: usize| -> Vec<(u64, String, u64, u64)> {
        rows[row]
            .as_array()
            .unwrap()
            .iter()
            .map(|token| {
                assert_eq!(token["special"], false);
                let number = |name: &str| token[name].as_u64().unwrap();
                (number("id"), token["text"].as_str().unwrap().to_owned(), number("start"), number("stop"))
            })
            .collect()
    };
    let first: Vec<(u64, u64, u64)> =
        shown(0).into_iter().map(|(id, _, start, stop)| (id, start, stop)).collect();
    assert_eq!(first, [(4, 0, 5), (9, 7, 11), (11, 11, 12)]);
    let last = shown(1).pop().unwrap();
    assert_eq!((last.0, last.2, last.3), (7, 2, 5), "characters, not bytes");
    service.post("/tokenize", &json!({ "inputs": [] })).await.assert_error(400, "invalid_request");
    let long = "hello \u{e9} ".repeat(7_000);
    let answer = service.post("/tokenize", &json!({ "inputs": long })).await.json();
    let tokens = answer[0].as_array().unwrap();
    let last = tokens.last().unwrap();
    let places = (last["start"].as_u64().unwrap(), last["stop"].as_u64().unwrap());
    assert_eq!(places, (long.chars().count() as u64 - 2, long.chars().count() as u64 - 1), "{last}");
    let longer = json!({ "inputs": "hello ".repeat(11_000) });
    let refused = service.post("/tokenize", &longer).await.assert_error(400, "invalid_request");
    assert!(refused.contains("at most 65536 are tokenized at once"), "{refused}");
    service.stop().await;
}
