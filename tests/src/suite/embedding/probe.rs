//! Models from inside a sandbox: the example component `embed-probe`, through `bulkhead:host/embeddings` and through
//! `wasi:nn`.

mod fairness;
mod heads;
mod onnx;
mod ranking;
mod refusals;
mod tensors;
mod world;

use std::{path::Path, sync::Arc};

use bulkhead::{
    inference::{Inference, SlotModelAccess, metrics::InferenceMetrics, models_dir},
    invoke::{self, CallError},
    services::list::TRIAGE,
    slots::Slot,
};
use bulkhead_sources::catalog::known;
use bulkhead_tests::{host::eventually, parts::Parts, pulled::pulled, samples::Samples};
use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tempfile::TempDir;
use wasmtime::Store;

use self::world::{EmbedProbe, Input};
use super::{Service, second, vector};

type Vectors = Result<Vec<Vec<f32>>, String>;
type Called<T> = Result<Result<T, String>, CallError>;
type StoreData = bulkhead::capabilities::StoreData;

/// The example in a slot that may use some models.
struct Probe {
    slot: Arc<Slot<EmbedProbe>>,
    inference: Arc<Inference>,
    parts: Parts,
}

impl Probe {
    /// With `slot` below `[slots.triage]` and the models in these folders.
    async fn start(models: &[&Path], slot: &str) -> Self {
        let config = format!("[embedding]\nmodels = {models:?}\nthreads = 1\n[slots.triage]\n{slot}");
        Self::configured(&config).await
    }

    /// With a configuration, and the grant for what the example imports beyond the slot's own interfaces.
    async fn configured(config: &str) -> Self {
        let grant = "[slots.triage]\ngrants = [\"bulkhead:host/rerank\"]\n";
        let config = match config.contains("[slots.triage]\n") {
            true => config.replace("[slots.triage]\n", grant),
            false => format!("{config}\n{grant}"),
        };
        let parts = Parts::new(&config);
        let (settings, folder) = (parts.config.table().unwrap(), models_dir(&parts.config).unwrap());
        let figures = parts.metrics.set::<InferenceMetrics>().unwrap();
        let inference = Arc::new(Inference::start(settings, &folder, Arc::clone(&figures)).unwrap());
        let settings = parts.slot(TRIAGE).clone();
        let mut resources = parts.resources(TRIAGE);
        let (models, figures) = (Some(Arc::clone(&inference)), figures.slot(TRIAGE));
        resources.insert(Arc::new(SlotModelAccess::new(&settings, models, figures)));
        let slot =
            Arc::new(Slot::new(parts.context.clone(), settings, resources, parts.metrics.slot(TRIAGE)));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/components/embed-probe.wasm");
        let wasm = std::fs::read(path).unwrap();
        let version = slot.prepare(wasm.into(), "test").await.unwrap();
        invoke::run_self_test(&slot, &version).await.unwrap();
        slot.activate(version);
        Self { slot, inference, parts }
    }

    async fn call<T: Send + 'static>(
        &self,
        export: impl for<'a> FnOnce(
            &'a EmbedProbe,
            &'a mut Store<StoreData>,
        ) -> BoxFuture<'a, wasmtime::Result<Result<T, String>>>
        + Send,
    ) -> Called<T> {
        invoke::call(&self.slot, invoke::accept_any, export).await
    }

    async fn typed(&self, model: &str, texts: &[String], prompt: Option<&str>) -> Vectors {
        let (model, texts, prompt) = (model.to_owned(), texts.to_vec(), prompt.map(str::to_owned));
        let called = self.call(move |probe, store| {
            Box::pin(
                async move { probe.exports().call_typed(store, &model, &texts, prompt.as_deref()).await },
            )
        });
        called.await.unwrap()
    }

    async fn graph(&self, model: &str, texts: &[String], prompt: Option<&str>) -> Vectors {
        let (model, texts, prompt) = (model.to_owned(), texts.to_vec(), prompt.map(str::to_owned));
        let called = self.call(move |probe, store| {
            Box::pin(
                async move { probe.exports().call_graph(store, &model, &texts, prompt.as_deref()).await },
            )
        });
        called.await.unwrap()
    }

    async fn compute(&self, model: &str, inputs: Vec<Input>) -> Vectors {
        let model = model.to_owned();
        let called = self.call(move |probe, store| {
            Box::pin(async move { probe.exports().call_compute(store, &model, &inputs).await })
        });
        called.await.unwrap()
    }

    fn metric(&self, series: &str) -> f64 {
        let text =
            bulkhead::telemetry::exposition::Format::Text.encode(&self.parts.metrics.gather()).unwrap();
        Samples::parse(&text).value(series)
    }

    /// No texts wait, no call runs, no memory is held.
    async fn assert_at_rest(&self) {
        eventually("the slot is at rest", async || {
            self.inference.stats().waiting_texts == 0
                && self.slot.metrics.in_flight.get() == 0.0
                && self.parts.context.engine.memory_in_use() == 0
        })
        .await;
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

async fn over_http(service: &Service, body: &Value) -> Vec<Vec<f32>> {
    let answer = service.post("/tei/second/embed", body).await.json();
    answer.as_array().unwrap().iter().map(vector).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_get_vectors_of_http_clients() {
    let service = Service::start("").await;
    let folder = TempDir::new().unwrap();
    let model = second().write(folder.path(), "second");
    let probe = Probe::start(&[&model], "").await;
    for texts in [&["hello world"] as &[&str], &["ahoy", "good day mate", "fair wind"]] {
        for prompt in [None, Some("query")] {
            let wanted = over_http(&service, &json!({ "inputs": texts, "prompt_name": prompt })).await;
            assert_eq!(probe.typed("second", &strings(texts), prompt).await, Ok(wanted.clone()));
            assert_eq!(probe.graph("second", &strings(texts), prompt).await, Ok(wanted), "{texts:?}");
        }
    }
    assert!(probe.metric("bulkhead_inference_tokens_total{model=\"second\",slot=\"triage\"}") > 0.0);
    assert!(probe.metric("bulkhead_inference_compute_seconds_count{slot=\"triage\"}") >= 8.0);
    probe.assert_at_rest().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_tells_what_it_is() {
    let folder = TempDir::new().unwrap();
    let model = second().write(folder.path(), "second");
    let probe = Probe::start(&[&model], "").await;
    let described = probe
        .call(|probe, store| Box::pin(async move { probe.exports().call_describe(store, "second").await }));
    let (id, sha256, dims) = described.await.unwrap().unwrap();
    let loaded = probe.inference.default_model().unwrap();
    assert_eq!((id, dims), (loaded.id.clone(), 4));
    assert_eq!(sha256, loaded.model.description().weights_sha256);
}

/// Through the whole stack, with the default model: a vector does not depend on the texts beside it.
#[tokio::test(flavor = "multi_thread")]
async fn one_text_equals_a_batch() {
    let model = pulled(known("multilingual-e5-small").unwrap());
    let probe = Probe::start(&[&model], "cpu_ms = 100000\ndeadline_ms = 600000").await;
    let texts = strings(&[
        "Wann kann ich meinen Personalausweis abholen?",
        "bin",
        "The lamp in front of number 12 has been out since Tuesday, and nobody came.",
    ]);
    let many = probe.graph("multilingual-e5-small", &texts, None).await.unwrap();
    assert_eq!(probe.typed("multilingual-e5-small", &texts, None).await.unwrap(), many);
    for (text, wanted) in texts.into_iter().zip(many) {
        assert_eq!(probe.graph("multilingual-e5-small", &[text], None).await.unwrap(), [wanted]);
    }
}

/// Callers that leave take their texts with them: what was queued is never embedded.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_call_withdraws_its_texts() {
    let model = pulled(known("multilingual-e5-small").unwrap());
    let probe = Arc::new(Probe::start(&[&model], "deadline_ms = 600000\nresponse_bytes = 100000000").await);
    let long = "Stra\u{df}enlaterne ".repeat(150);
    let texts = vec![long; 200];
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let (probe, texts) = (Arc::clone(&probe), texts.clone());
            tokio::spawn(async move { probe.graph("multilingual-e5-small", &texts, None).await.map(drop) })
        })
        .collect();
    eventually("the engine works", async || probe.inference.stats().batches > 0).await;
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    join_all(calls).await;
    probe.assert_at_rest().await;
    assert!(probe.inference.stats().texts < 800, "{:?}", probe.inference.stats());
}

/// A guest that waits for vectors is ended by its wall deadline, not charged for CPU time, and leaves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_vectors_ends_with_the_deadline() {
    let model = pulled(known("multilingual-e5-small").unwrap());
    let slot = "deadline_ms = 200\ncpu_ms = 100000\nresponse_bytes = 100000000";
    let probe = Probe::start(&[&model], slot).await;
    let texts = vec!["Stra\u{df}enlaterne ".repeat(150); 200];
    let called = probe.call(move |probe, store| {
        Box::pin(
            async move { probe.exports().call_typed(store, "multilingual-e5-small", &texts, None).await },
        )
    });
    // The engine's own deadline and the call's are the same moment: either may come first.
    match called.await {
        Ok(answer) => assert!(answer.unwrap_err().starts_with("failed: the deadline has passed")),
        Err(error) => assert!(error.to_string().contains("deadline"), "{error}"),
    }
    probe.assert_at_rest().await;
}
