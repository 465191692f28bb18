//! Too much at once, too late, and clients that leave.

use super::*;

/// Texts that keep a thread busy: a rare ideograph sends them to the reference tokenizer, which is slow.
fn batch(texts: usize) -> Value {
    json!({ "inputs": vec!["hello world good day fair wind \u{20000} ".repeat(20); texts] })
}

fn retry_after(answer: &Answer) -> u32 {
    answer.header("retry-after").unwrap().parse().unwrap()
}

/// Seconds of work for one thread.
fn much_work() -> Value {
    batch(20_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn full_queue_is_429_while_health_answers() {
    let config = "queue_texts = 64\nthreads = 1\nmax_batch_size = 100000\nmax_input_length = 100000\n";
    let service = Service::start(config).await;
    let much = much_work();
    let large = service.post("/embed", &much);
    let many = async {
        service.wait_for("embedding_waiting_texts", |texts| texts > 0.0).await;
        let mut refused = 0;
        for _ in 0..200 {
            let answer = service.post("/embed", &batch(64)).await;
            if answer.status == 429 {
                answer.assert_error(429, "rate_limited");
                assert!(retry_after(&answer) >= 1);
                refused += 1;
            }
            assert_eq!(service.get("/health").await.status, 200);
            if refused > 3 {
                break;
            }
        }
        refused
    };
    let (large, refused) = tokio::join!(large, many);
    assert_eq!(large.status, 200, "what waits alone is let in");
    assert!(refused > 0);
    assert_eq!(service.post("/embed", &batch(64)).await.status, 200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn full_queue_has_room_for_keys() {
    let config = "queue_texts = 64\nthreads = 1\nmax_batch_size = 100000\nmax_input_length = 100000\n\
                  [embedding.shares]\nanonymous = 50\n[embedding.keys.shop]\nkey = \"secret\"\n";
    let service = Service::start(config).await;
    let much = much_work();
    let large = service.post("/embed", &much);
    let others = async {
        service.wait_for("embedding_waiting_texts", |texts| texts > 1000.0).await;
        service.post("/embed", &batch(2)).await.assert_error(429, "rate_limited");
        let with_key = service.host.client().post(service.host.url("/embed")).bearer_auth("secret");
        assert_eq!(service.send(with_key.json(&batch(16))).await.status, 200);
    };
    let (large, ()) = tokio::join!(large, others);
    assert_eq!(large.status, 200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokenize_queues_like_embed() {
    let config = "queue_texts = 64\nthreads = 1\nmax_batch_size = 100000\nmax_input_length = 100000\n";
    let service = Service::start(config).await;
    let much = much_work();
    let large = service.post("/embed", &much);
    let refused = async {
        service.wait_for("embedding_waiting_texts", |texts| texts > 64.0).await;
        let answer = service.post("/tokenize", &json!({ "inputs": ["hello", "world"] })).await;
        answer.assert_error(429, "rate_limited");
        assert!(retry_after(&answer) >= 1);
    };
    let (large, ()) = tokio::join!(large, refused);
    assert_eq!(large.status, 200);
    assert_eq!(service.post("/tokenize", &json!({ "inputs": ["hello", "world"] })).await.status, 200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_beyond_an_idle_host_is_413() {
    let config = "request_timeout_seconds = 1\nwork_seconds = 1\nthreads = 1\nmax_batch_size = 1000000\n\
                  queue_texts = 1000000\n";
    let service = Service::start(config).await;
    // The first shows how fast the model is, and the second is refused at once.
    for _ in 0..2 {
        let answer = service.post("/embed", &much_work()).await;
        let message = answer.assert_error(413, "payload_too_large");
        assert_eq!(answer.header("retry-after"), None);
        let most = message.rsplit_once("send at most ").unwrap().1.strip_suffix(" such texts").unwrap();
        assert!((1..20_000).contains(&most.parse::<usize>().unwrap()), "{message}");
    }
    assert_eq!(service.post("/embed", &json!({ "inputs": "hello" })).await.status, 200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn begun_work_goes_on_waiting_is_429() {
    let config =
        "request_timeout_seconds = 1\nthreads = 1\nmax_batch_size = 1000000\nqueue_texts = 1000000\n";
    let service = Service::start(config).await;
    let much = batch(40_000);
    let first = service.post("/embed", &much);
    let second = async {
        service.wait_for("embedding_waiting_texts", |texts| texts > 0.0).await;
        // Of one caller and no shorter: it comes after the first.
        service.post("/embed", &much).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.status, 200, "it takes longer than a second, and has begun in time");
    second.assert_error(429, "rate_limited");
    assert!(retry_after(&second) >= 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_client_withdraws_its_texts() {
    let config = "threads = 1\nmax_batch_size = 1000000\nqueue_texts = 1000000\n";
    let service = Service::start(config).await;
    let request = service.host.client().post(service.host.url("/embed")).json(&much_work());
    tokio::select! {
        _ = request.send() => panic!("it takes longer"),
        () = service.wait_for("embedding_waiting_texts", |texts| texts > 0.0) => {}
    }
    // What comes next does not wait for it.
    assert_eq!(service.post("/embed", &json!({ "inputs": "hello" })).await.status, 200);
    service.wait_for("embedding_waiting_texts", |texts| texts == 0.0).await;
    let text = service.get("/metrics").await.text;
    assert!(text.lines().any(|line| line == r#"embedding_texts_total{model="first"} 1"#), "{text}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_get_their_own_vectors() {
    let service = Service::start("").await;
    let ask = async |id: usize, word: &str| {
        for count in 1..20 {
            let answer = service.post("/embed", &json!({ "inputs": vec![word; count] })).await.json();
            let rows = answer.as_array().unwrap();
            assert_eq!(rows.len(), count);
            assert!(rows.iter().all(|row| row[0].as_f64() == Some(id as f64)));
        }
    };
    tokio::join!(ask(4, "hello"), ask(5, "world"), ask(6, "good"), ask(7, "day"), ask(8, "fair"));
    service.stop().await;
}
