//! What a slot may not have, or not so much of.

use super::*;

/// Two toy models in a folder.
fn models() -> (TempDir, [std::path::PathBuf; 2]) {
    let folder = TempDir::new().unwrap();
    let models = ["first", "second"].map(|name| second().write(folder.path(), name));
    (folder, models)
}

async fn probe(slot: &str) -> Probe {
    let (folder, [first, second]) = models();
    let probe = Probe::start(&[&first, &second], slot).await;
    drop(folder);
    probe
}

/// What both interfaces say of `model`.
async fn refused(probe: &Probe, model: &str) -> [String; 2] {
    let texts = strings(&["ahoy"]);
    [probe.typed(model, &texts, None).await.unwrap_err(), probe.graph(model, &texts, None).await.unwrap_err()]
}

#[tokio::test(flavor = "multi_thread")]
async fn default_model_is_allowed_without_list() {
    let probe = probe("").await;
    assert!(probe.typed("first", &strings(&["ahoy"]), None).await.is_ok());
    let [typed, graph] = refused(&probe, "second").await;
    let line =
        "slot triage may not use `second`; allow it with slots.triage.models = [\"first\", \"second\"]";
    assert_eq!((typed, graph), (format!("unknown-model: {line}"), format!("ErrorCode::Security: {line}")));
    let [typed, _] = refused(&probe, "nothing").await;
    assert!(typed.contains("may not use `nothing`"), "what is loaded is not told: {typed}");
    assert_eq!(probe.metric("bulkhead_inference_refused_total{reason=\"model\",slot=\"triage\"}"), 4.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_allows_what_is_on_it() {
    let probe = probe("models = [\"second\", \"third\"]").await;
    assert!(probe.graph("second", &strings(&["ahoy"]), None).await.is_ok());
    let [typed, _] = refused(&probe, "first").await;
    assert!(typed.contains("slots.triage.models = [\"second\", \"third\", \"first\"]"), "{typed}");
    let [typed, graph] = refused(&probe, "third").await;
    assert_eq!(typed, "unknown-model: `third` is not loaded: name it in embedding.models");
    assert_eq!(graph, "ErrorCode::NotFound: `third` is not loaded: name it in embedding.models");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_allows_nothing() {
    let probe = probe("models = []").await;
    let [typed, _] = refused(&probe, "first").await;
    assert!(typed.contains("slots.triage.models = [\"first\"]"), "{typed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_must_be_the_loaded_one() {
    let free = probe("").await;
    let sha256 = free.inference.default_model().unwrap().model.description().weights_sha256.clone();
    let right = format!("first@{}", &sha256[..8]);
    assert!(free.graph(&right, &strings(&["ahoy"]), None).await.is_ok());
    for wrong in ["first@00000000", "first@", &format!("first@{}", &sha256[..7])] {
        let [typed, _] = refused(&free, wrong).await;
        assert_eq!(
            typed,
            format!("unknown-model: `{wrong}` is not loaded: its weights are first@{}", &sha256[..12])
        );
    }

    let pinned = probe(&format!("models = [\"{right}\"]")).await;
    assert!(pinned.graph("first", &strings(&["ahoy"]), None).await.is_ok());
    let other = probe("models = [\"first@00000000\"]").await;
    assert!(refused(&other, "first").await[0].contains("is not loaded: its weights are"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_a_second_are_a_quota() {
    let probe = probe("inference_tokens_per_second = 1").await;
    assert!(probe.typed("first", &strings(&["ahoy mate good day"]), None).await.is_ok());
    let [typed, graph] = refused(&probe, "first").await;
    assert!(["busy: 1", "busy: 2", "busy: 3"].contains(&typed.as_str()), "{typed}");
    assert!(graph.starts_with("ErrorCode::RuntimeError: the tokens of this second are used up"), "{graph}");
    let refused = "bulkhead_inference_refused_total{reason=\"tokens-per-second\",slot=\"triage\"}";
    assert_eq!(probe.metric(refused), 2.0);
    probe.assert_at_rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_are_checked_as_over_http() {
    let probe = probe("").await;
    for (texts, fault) in [
        (vec![], "the list of inputs is empty"),
        (strings(&["ahoy", ""]), "input 1 is an empty string"),
        (vec!["ahoy".to_owned(); 2049], "2049 inputs are more than the maximum batch size of 2048"),
    ] {
        assert_eq!(probe.typed("first", &texts, None).await, Err(format!("invalid: {fault}")));
        assert_eq!(
            probe.graph("first", &texts, None).await,
            Err(format!("ErrorCode::InvalidArgument: {fault}"))
        );
    }
    let fault = probe.typed("first", &strings(&["ahoy"]), Some("none")).await.unwrap_err();
    assert_eq!(fault, "invalid: prompt_name `none` is not one of this model's prompts: passage, query");
}
