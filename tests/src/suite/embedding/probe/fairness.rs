//! Guests that embed while clients have long requests.

use bulkhead::inference::{CallTerms, EmbedParameters};
use bulkhead_inference::engine::{Caller, CallerKind};
use std::time::{Duration, Instant};

use super::*;

const MODEL: &str = "all-MiniLM-L6-v2";
/// Calls of the guest.
const CALLS: usize = 20;
/// The most turns that may begin while one of them waits, see the tests of callers over HTTP.
const TURNS: f64 = 8.0;

/// Embeds 256 texts of a caller over and over.
async fn keep_busy(inference: &Inference, id: u64) {
    let caller = Caller { kind: CallerKind::Anonymous, id, weight: 1 };
    let model = inference.default_model().unwrap();
    let text = "Where do I apply for a new passport, and what do I have to bring along? ".repeat(3);
    loop {
        let terms = CallTerms::until(caller, Instant::now() + Duration::from_secs(600));
        inference.embed(model, vec![text.clone(); 256], &EmbedParameters::default(), terms).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guest_passes_long_requests_of_clients() {
    const WAITED: &str = "embedding_caller_queue_turns_sum{caller=\"slot\"}";
    let folder = pulled(known(MODEL).unwrap());
    let probe = Probe::start(&[&folder], "cpu_ms = 100000\ndeadline_ms = 600000").await;
    let ask = async {
        eventually("the queue is long", async || probe.inference.stats().waiting_texts > 512).await;
        let before = probe.metric(WAITED);
        for _ in 0..CALLS {
            probe.typed(MODEL, &strings(&["My street lamp is broken."]), None).await.unwrap();
        }
        let turns = (probe.metric(WAITED) - before) / CALLS as f64;
        assert!(turns <= TURNS, "{turns} turns before a guest's call");
        assert!(probe.inference.stats().waiting_by_kind.anonymous > 0);
    };
    tokio::select! {
        _ = join_all([1, 2, 3, 4].map(|id| keep_busy(&probe.inference, id))) => panic!("long requests have an end"),
        () = ask => {}
    }
    probe.assert_at_rest().await;
}
