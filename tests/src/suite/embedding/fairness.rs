//! Callers that take turns: short requests among long ones, quotas, and requests that are refused.

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;
use futures_util::future::join_all;

use super::*;

const KEYS: [&str; 4] = ["key-a", "key-b", "key-c", "key-d"];
/// Short requests of each kind.
const SHORT: usize = 20;
/// The most turns that may begin while one of them waits: its own to tokenize, what is tokenized for the next long
/// batch, and that batch, which then yields.
const TURNS: f64 = 8.0;

/// Starts a host with one thread, an encoder, a static model, and four keys beside which clients without a key may call.
async fn start() -> Service {
    let models = TempDir::new().unwrap();
    let encoder = pulled(known("all-MiniLM-L6-v2").unwrap());
    let first = ToyModel { prompts: json!({}), ..FIRST }.write(models.path(), "first");
    let keys: String = KEYS.iter().map(|key| format!("[embedding.keys.{key}]\nkey = {key:?}\n")).collect();
    let text = format!(
        "[embedding]\nmodels = [{encoder:?}, {first:?}]\nthreads = 1\n[embedding.shares]\nanonymous = 50\n{keys}"
    );
    let host = TestHost::builder().config(&text).start().await;
    Service { host, _models: models }
}

/// Embeds 256 texts of a key over and over.
async fn keep_busy(service: &Service, key: &str) {
    let text = "Where do I apply for a new passport, and what do I have to bring along? ".repeat(3);
    let body = json!({ "inputs": vec![text; 256] });
    loop {
        let request = service.host.client().post(service.host.url("/embed")).bearer_auth(key);
        let answer = service.send(request.json(&body)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

/// Returns a figure of the service's own metrics.
async fn figure(service: &Service, series: &str) -> f64 {
    let text = service.get("/metrics").await.text;
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {series} in {text}"))
}

/// Sends short requests one after the other, and returns how many turns began while each waited, on average.
async fn turns_waited(service: &Service, path: &str) -> f64 {
    const WAITED: &str = "embedding_caller_queue_turns_sum{caller=\"anonymous\"}";
    let before = figure(service, WAITED).await;
    for _ in 0..SHORT {
        let answer = service.post(path, &json!({ "inputs": "hello world" })).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    (figure(service, WAITED).await - before) / SHORT as f64
}

#[tokio::test(flavor = "multi_thread")]
async fn short_requests_pass_long_ones() {
    let service = start().await;
    let ask = async {
        service.wait_for("embedding_caller_waiting_texts{caller=\"key\"}", |texts| texts > 512.0).await;
        let encoder = turns_waited(&service, "/embed").await;
        assert!(encoder <= TURNS, "{encoder} turns before a short request");
        let of_static = turns_waited(&service, "/tei/first/embed").await;
        assert!(of_static <= 1.0, "{of_static} turns before a static model's request");
        assert!(figure(&service, "embedding_caller_waiting_texts{caller=\"key\"}").await > 0.0);
    };
    tokio::select! {
        _ = join_all(KEYS.map(|key| keep_busy(&service, key))) => panic!("long requests have an end"),
        () = ask => {}
    }
    // The clients have left, and what they had queued with them.
    service.wait_for("embedding_waiting_texts", |texts| texts == 0.0).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_beside_keys_need_permission() {
    let key = "[embedding.keys.shop]\nkey = \"secret\"\n";
    for (shares, status) in [("", 401), ("[embedding.shares]\nanonymous = 20\n", 200)] {
        let service = Service::start(&format!("{shares}{key}")).await;
        let body = json!({ "inputs": "hello" });
        assert_eq!(service.post("/embed", &body).await.status, status, "{shares}");
        for (bearer, status) in [("secret", 200), ("unknown", status)] {
            let request = service.host.client().post(service.host.url("/embed")).bearer_auth(bearer);
            assert_eq!(service.send(request.json(&body)).await.status, status, "{shares} {bearer}");
        }
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_without_meaning_end_the_start() {
    let shop = "[embedding.keys.shop]\nkey = \"sesame\"\n";
    for (config, part) in [
        (
            format!("[embedding]\napi_keys = [\"sesame \"]\n{shop}"),
            "must not be the key of embedding.api_keys",
        ),
        (
            format!("{shop}[embedding.keys.town]\nkey = \" sesame\\n\"\n"),
            "must not be the key of embedding.keys.shop",
        ),
        ("[embedding.keys.shop]\nkey = \"sesame\\nanother\"\n".to_owned(), "must be one line"),
        ("[embedding.shares]\nslots = 50\nanonymous = 50\n".to_owned(), "may be 95 together"),
    ] {
        let Err(error) = TestHost::builder().config(&config).try_start().await else {
            panic!("starts with {config}")
        };
        assert!(error.contains(part) && !error.contains("sesame"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_beyond_its_quota_is_429() {
    let key = "[embedding.keys.shop]\nkey = \"secret\"\ntokens_per_second = 1\n";
    let service = Service::start(key).await;
    let ask = async || {
        let request = service.host.client().post(service.host.url("/embed")).bearer_auth("secret");
        service.send(request.json(&json!({ "inputs": "hello world ".repeat(100) }))).await
    };
    let at_once = join_all((0..8).map(|_| ask())).await;
    assert_eq!(at_once.iter().filter(|answer| answer.status == 200).count(), 1, "one uses up all");
    let refused = ask().await;
    refused.assert_error(429, "rate_limited");
    let seconds: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((100..=200).contains(&seconds), "{seconds}");
    let refusals = "embedding_caller_refused_total{caller=\"key\",reason=\"tokens-per-second\"}";
    assert_eq!(figure(&service, refusals).await, 8.0);
    service.stop().await;
}
