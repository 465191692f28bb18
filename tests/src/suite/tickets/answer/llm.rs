//! Answers by a language model: what it is shown, what of its words is believed, and what happens when it fails.

mod faults;
mod injection;

use bulkhead_tests::servers::llm::{
    Behaviour::{self, Says, Slow},
    FakeLlm, sentences,
};

use super::*;

/// What the passage says, in other words.
const GROUNDED: &str = "Mooring costs 12 EUR for a night.";
/// The passage's own words, which stand in where the model has none.
const EXTRACTED: &str = "Mooring costs 12 EUR a night.";

/// `[tickets.answer]` and `[tickets.llm]` for an endpoint; `more` goes below the latter.
pub(super) fn asking(endpoint: &FakeLlm, more: &str) -> String {
    format!("strategy = \"llm\"\n{}", llm_settings(endpoint, more))
}

/// A service with a base and an endpoint, which does one thing after the other.
async fn service(behaviours: impl IntoIterator<Item = Behaviour>, more: &str) -> (Service, FakeLlm) {
    let endpoint = FakeLlm::start(behaviours).await;
    (Service::answering(&asking(&endpoint, more)).await, endpoint)
}

/// The answer in a category that publishes.
async fn answered(service: &Service, text: &str) -> Value {
    service.reply(text, "harbour", "answer").await
}

/// Asserts that the passage's own sentences were answered, published as ever, and that the answer gives the reason.
fn assert_fallen_back(reply: &Value, reason: &str) {
    assert!(reply["response"].as_str().unwrap().starts_with(EXTRACTED), "{reply}");
    let told = reply["reason"].as_str().unwrap();
    assert!(told.starts_with("Written without the language model (") && told.contains(reason), "{told}");
    assert_eq!(reply["auto_publish"], true, "{reply}");
}

async fn calls(service: &Service, outcome: &str) -> f64 {
    let name = format!("bulkhead_llm_calls_total{{outcome=\"{outcome}\",slot=\"answer\"}}");
    service.host.metric(&name).await
}

#[tokio::test(flavor = "multi_thread")]
async fn sentences_of_the_model_have_references() {
    let says = Says(sentences(&[(GROUNDED, &[1]), ("You pay at the harbour office.", &[1])]));
    let (service, endpoint) = service([says], "").await;
    let reply = answered(&service, QUESTION).await;
    assert_eq!(reply["response"], format!("{GROUNDED} You pay at the harbour office. [1]"));
    assert_eq!((&reply["auto_publish"], &reply["reason"]), (&json!(true), &Value::Null), "{reply}");
    let [document] = reply["documents"].as_array().unwrap().as_slice() else { panic!("{reply}") };
    assert_eq!(document["url"], "https://port.example/mooring");
    assert_eq!(document["quote"], format!("{EXTRACTED} … Pay at the harbour office."));
    assert_eq!(calls(&service, "ok").await, 1.0);

    let request = endpoint.only();
    assert_eq!(request.authorization.as_deref(), Some(format!("Bearer {LLM_KEY}").as_str()));
    let shown: Value = serde_json::from_str(&request.message("user")).unwrap();
    assert_eq!(shown["ticket"], QUESTION);
    assert_eq!(shown["passages"][0]["number"], 1);
    assert!(shown["passages"][0]["text"].as_str().unwrap().contains(EXTRACTED), "{shown}");
    let system = request.message("system");
    assert!(!system.contains("ooring") && system.contains("Write in English"), "{system}");
    let format = &request.json()["response_format"];
    assert_eq!((&format["type"], &format["json_schema"]["strict"]), (&json!("json_schema"), &json!(true)));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_sentences_are_removed() {
    let invented = ("Children moor for free on Sundays.", &[1][..]);
    let says = [
        Says(sentences(&[(GROUNDED, &[1]), invented])),
        Says(sentences(&[invented])),
        Says(sentences(&[(GROUNDED, &[9])])),
        Says(sentences(&[])),
    ];
    let (service, _endpoint) = service(says, "").await;
    let reply = answered(&service, QUESTION).await;
    assert_eq!(reply["response"], format!("{GROUNDED} [1]"));
    assert_eq!(reply["auto_publish"], false);
    assert!(reply["reason"].as_str().unwrap().contains("without a source"), "{reply}");
    for _ in 0..2 {
        let reply = answered(&service, QUESTION).await;
        assert!(reply["response"].as_str().unwrap().starts_with(EXTRACTED), "{reply}");
        assert!(
            reply["reason"].as_str().unwrap().contains("too little of its answer has a source"),
            "{reply}"
        );
        assert_eq!(reply["auto_publish"], false, "{reply}");
    }
    let reply = answered(&service, QUESTION).await;
    assert_no_answer(&reply);
    assert!(reply["reason"].as_str().unwrap().contains("The language model finds no answer"), "{reply}");
    let runs = |outcome| format!("zammad_ai_answer_run_duration_seconds_count{{outcome=\"{outcome}\"}}");
    assert_eq!(service.host.metric(&runs("success")).await, 3.0);
    assert_eq!(service.host.metric(&runs("no_answer")).await, 1.0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_publishes_and_nothing_else() {
    let (service, endpoint) = service([Says(sentences(&[(GROUNDED, &[1])]))], "").await;
    let reply = service.reply(QUESTION, "greeting", "answer").await;
    assert_eq!(
        (&reply["auto_publish"], &reply["documents"][0]["title"]),
        (&json!(false), &json!("Mooring cost"))
    );
    assert_eq!(endpoint.received().len(), 1);
    // Nobody is asked where nothing is to be written.
    service.reply(QUESTION, "harbour", "clerk").await;
    service.reply(QUESTION, "harbour", "fees").await;
    assert_no_answer(&answered(&service, " \n").await);
    assert_no_answer(&answered(&service, "Where can I borrow children's books?").await);
    assert_eq!(endpoint.received().len(), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn personal_data_is_masked_and_restored() {
    let says = Says(sentences(&[
        ("Mooring costs 12 EUR a night.", &[1]),
        ("Longer ships pay 20 EUR to [EMAIL_1].", &[1]),
        ("Pay at the harbour office, [NAME_1].", &[1]),
    ]));
    let endpoint = FakeLlm::start([says]).await;
    let folder = TempDir::new().unwrap();
    let config = answering(folder.path(), &asking(&endpoint, ""));
    let documents = DOCUMENTS.replace("pay 20 EUR.", "pay 20 EUR to master@port.example.");
    import(folder.path(), &documents, &[]).await;
    let service = Service { host: TestHost::builder().config(&config).start().await, _folder: folder };
    let ticket = "What does mooring cost? I asked master@port.example and got no answer.\nMy name is Eva Brandt, eva@post.example, 0171 2345678.";
    let reply = answered(&service, ticket).await;
    let sent = endpoint.only();
    for value in ["Brandt", "eva@", "2345678"] {
        assert!(!sent.text.contains(value), "{value} was sent: {}", sent.text);
        assert!(!reply["response"].as_str().unwrap().contains(value), "{reply}");
    }
    assert!(sent.message("user").contains("I asked [EMAIL_1]"), "{}", sent.text);
    let expected = "Mooring costs 12 EUR a night. Longer ships pay 20 EUR to master@port.example. [1]";
    assert_eq!(reply["response"], expected, "{reply}");
    assert_eq!(reply["auto_publish"], false);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_is_reported_with_its_version() {
    let (service, _endpoint) = service([Says(String::new())], "").await;
    let versions = service.get("/api/v1/prompt_versions").await.json();
    assert_eq!(
        versions,
        json!({
            "agent": null, "answer": 2, "categories": null, "examples": null, "format": null, "judge": null, "role": null
        })
    );
    let details = service.get("/api/v1/prompt_versions?details=1").await.json();
    assert_eq!(
        (&details["answer"]["version"], details["answer"]["sha256"].as_str().unwrap().len()),
        (&json!(2), 64)
    );
    assert_eq!(
        (&details["answer"]["source"], &details["agent"]["source"]),
        (&json!("component"), &json!("configuration"))
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strategy_without_endpoint_ends_the_start() {
    let refused = TestHost::builder().config("[tickets.answer]\nstrategy = \"llm\"").try_start().await;
    let refused = refused.err().unwrap();
    assert!(refused.contains("tickets.answer.strategy") && refused.contains("tickets.llm.url"), "{refused}");
    let refused = TestHost::builder().config("[tickets.answer]\nstrategy = \"magic\"").try_start().await;
    let refused = refused.err().unwrap();
    assert!(refused.contains("tickets.answer.strategy") && refused.contains("extractive"), "{refused}");
}
