//! The key, personal data and the component keep apart.

use std::path::Path;

use super::*;

const LETTER: &str = "Sehr geehrte Frau Huber,\ndie Anlegestelle ist zu, mein Name ist Petra Vogel, geboren am 12.03.1951, Birkenweg 14, 80331 München. \
    Aktenzeichen 503.884211.7, Ticket#20261184, Wagen M-AB 1234, Reisepass C01X00T47, Konto DE89 3704 0044 0532 0130 00. Literal: [EMAIL_1]. \
    Schreiben Sie an p.vogel@post.example, Frau Huber weiß Bescheid.\nMit freundlichen Grüßen\nPetra Vogel\n0171 2345678";
/// What of it must not leave the house.
const PERSONAL: [&str; 12] = [
    "Huber",
    "Petra",
    "Vogel",
    "12.03.1951",
    "Birkenweg 14",
    "80331",
    "503.884211.7",
    "20261184",
    "M-AB 1234",
    "C01X00T47",
    "0130 00",
    "2345678",
];

#[tokio::test(flavor = "multi_thread")]
async fn personal_data_is_masked_and_restored() {
    let says =
        Says(category("greeting", 0.9, "[NAME_1] waits for mail at [EMAIL_1], not [EMAIL_9] or [LITERAL_1]"));
    let (service, endpoint) = service([says], "").await;
    let decision = service.decision(LETTER).await;
    let sent = endpoint.only().text;
    for value in PERSONAL {
        assert!(!sent.contains(value), "{value} was sent: {sent}");
    }
    assert!(sent.contains("die Anlegestelle ist zu"), "the rest was sent");
    assert_eq!(decision["user_text"], LETTER);
    assert_eq!(decision["extracted_values"]["email"], "p.vogel@post.example");
    let told = reasoning(&decision);
    let restored = "Petra Vogel waits for mail at p.vogel@post.example, not or [EMAIL_1]";
    assert!(told.ends_with(restored), "{told}");
    service.stop().await;
}

/// What answers, metrics and what the component says are without the key; the endpoint alone receives it.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_goes_to_the_endpoint_alone() {
    let says = Says(category("greeting", 0.9, "hello"));
    let (service, endpoint) = service([says, Behaviour::Status(500, None)], "retries = 0").await;
    let mut told = service.decision(AHOY).await.to_string();
    told.push_str(&service.decision(AHOY).await.to_string());
    told.push_str(&service.get("/api/v1/prompt_versions?details=1").await.text);
    let metrics = service.host.client().get(service.host.admin_url("/metrics")).send().await.unwrap();
    told.push_str(&metrics.text().await.unwrap());
    assert!(told.contains("bulkhead_llm_calls_total") && !told.contains(LLM_KEY), "{told}");
    for request in endpoint.received() {
        assert_eq!(request.authorization.as_deref(), Some(format!("Bearer {LLM_KEY}").as_str()));
        assert!(!request.text.contains(LLM_KEY));
    }
    service.stop().await;
}

/// The components are given a model to ask, and no address, key or name of it.
#[test]
fn components_cannot_reach_the_endpoint() {
    for component in ["triage.wasm", "answer.wasm"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/components").join(component);
        let wasm = std::fs::read(path).unwrap();
        let has = |text: &[u8]| wasm.windows(text.len()).any(|window| window == text);
        assert!(has(b"bulkhead:host/llm"), "{component}");
        for word in [&b"wasi:sockets"[..], b"wasi:http", b"chat/completions", b"Authorization", b"Bearer"] {
            assert!(!has(word), "{component}: {}", String::from_utf8_lossy(word));
        }
    }
}
