//! Guests rank and classify texts.

use super::*;

const QUERY: &str = "what does a passport cost?";
const TEXTS: [&str; 3] =
    ["the town hall opens at nine", "passports are issued in room twelve.", "a new bin costs ten euros"];

impl Probe {
    async fn rank(&self, model: &str, texts: &[String]) -> Result<Vec<(u32, f32)>, String> {
        let (model, texts) = (model.to_owned(), texts.to_vec());
        let called = self.call(move |probe, store| {
            Box::pin(async move { probe.exports().call_rank(store, &model, QUERY, &texts).await })
        });
        called.await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_rank_with_allowed_models() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/inference/tests/golden");
    let [ranks, embeds, classifies] =
        ["bert-cross", "xlm-roberta", "roberta-classes"].map(|name| golden.join(name));
    let slot = "models = [\"bert-cross\", \"xlm-roberta\"]";
    let probe = Probe::start(&[&embeds, &ranks, &classifies], slot).await;
    let ranked = probe.rank("bert-cross", &strings(&TEXTS)).await.unwrap();
    let mut numbers: Vec<u32> = ranked.iter().map(|(index, _)| *index).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2]);
    assert!(ranked.is_sorted_by(|(_, one), (_, other)| one >= other), "{ranked:?}");
    assert!(probe.metric("bulkhead_inference_tokens_total{model=\"bert-cross\",slot=\"triage\"}") > 30.0);
    let scores = probe.graph("bert-cross", &strings(&TEXTS), None).await.unwrap();
    assert!(
        scores.len() == 3 && scores.iter().flatten().all(|score| (0.0..=1.0).contains(score)),
        "{scores:?}"
    );
    for (model, part) in [
        ("xlm-roberta", "invalid: model `xlm-roberta` embeds texts"),
        ("roberta-classes", "unknown-model: slot triage may not use `roberta-classes`"),
    ] {
        let refused = probe.rank(model, &strings(&TEXTS)).await.unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    let refused = probe.rank("bert-cross", &[]).await.unwrap_err();
    assert_eq!(refused, "invalid: the list of inputs is empty");
    probe.assert_at_rest().await;
}
