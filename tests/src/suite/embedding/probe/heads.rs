//! Linear heads as graphs.

use std::path::PathBuf;

use bulkhead::inference::{GraphError, StartError};
use bulkhead_inference::head::{Coefficients, Head, Link, Record};

use super::{
    world::{Kind, input},
    *,
};

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn integers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A folder with the toy model `second` and a head over it: class `a` scores the vector's first number, class `b`
/// its second; feature 0 counts for `a`.
struct Made {
    folder: TempDir,
    model: PathBuf,
    record: Record,
}

impl Made {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let model = second().write(folder.path(), "second");
        let probe = Probe::start(&[&model], "").await;
        let about = probe.inference.default_model().unwrap().model.description().clone();
        let record = Record {
            model_id: "second".to_owned(),
            weights_sha256: about.weights_sha256,
            dtype: about.dtype,
            prompt: None,
            dims: 4,
            labels: strings(&["a", "b"]),
            link: Link::Softmax,
            sparse: Some(json!({ "kind": "words" })),
        };
        Self { folder, model, record }
    }

    fn config(&self, record: Record, slot: &str) -> String {
        let coefficients = Coefficients {
            weights: vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            bias: vec![0.0, 0.0],
            scale: vec![1.0, 1.0],
            shift: vec![0.0, 0.0],
            sparse: Some(vec![1.0, 0.0, 0.0, 0.0]),
        };
        let file = self.folder.path().join("head.safetensors");
        Head::new(record, coefficients).unwrap().write(&file).unwrap();
        let models = [&self.model];
        format!("[embedding]\nmodels = {models:?}\nheads = {{ tickets = {file:?} }}\n[slots.triage]\n{slot}")
    }
}

fn inputs(vectors: &[f32], indices: &[i32], values: &[f32], offsets: &[i32]) -> Vec<Input> {
    let size = |length: usize| u32::try_from(length).unwrap();
    vec![
        input("embedding", &[size(vectors.len() / 4), 4], Kind::Float32, &floats(vectors)),
        input("indices", &[size(indices.len())], Kind::Int32, &integers(indices)),
        input("values", &[size(values.len())], Kind::Float32, &floats(values)),
        input("offsets", &[size(offsets.len())], Kind::Int32, &integers(offsets)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_turns_vectors_into_probabilities() {
    let made = Made::new().await;
    let probe = Probe::configured(&made.config(made.record.clone(), "")).await;
    // Scores 2 and 0, and 0 + 3 and 1.
    let rows = [2.0, 0.0, 9.0, 9.0, 0.0, 1.0, 9.0, 9.0];
    let found = probe.compute("tickets", inputs(&rows, &[0], &[3.0], &[0, 0, 1])).await.unwrap();
    let likely = 1.0 / (1.0 + (-2.0_f32).exp());
    for row in &found {
        assert!((row[0] - likely).abs() < 1e-6 && (row[0] + row[1] - 1.0).abs() < 1e-6, "{found:?}");
    }
    assert_eq!(found.len(), 2);
    probe.assert_at_rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_head_input_is_refused_by_name() {
    let made = Made::new().await;
    let probe = Probe::configured(&made.config(made.record.clone(), "")).await;
    let row = [1.0, 2.0, 3.0, 4.0];
    let only = |vectors: Vec<Input>| vectors.into_iter().take(1).collect::<Vec<_>>();
    for (inputs, fault) in [
        (vec![], "input \"embedding\" is missing"),
        (only(inputs(&row, &[], &[], &[])), "needs sparse features"),
        (inputs(&row, &[], &[], &[0, 0])[..3].to_vec(), "come together or not at all"),
        (inputs(&row, &[2], &[1.0], &[0, 1]), "number 0 is 2, not below 2"),
        (inputs(&row, &[-1], &[1.0], &[0, 1]), "input \"indices\" has a number below 0"),
        (inputs(&row, &[0], &[f32::NAN], &[0, 1]), "is not finite"),
        (inputs(&row, &[0], &[1.0], &[0, 2]), "do not rise"),
        (inputs(&[f32::INFINITY; 4], &[], &[], &[0, 0]), "is not finite"),
        (inputs(&[], &[], &[], &[0]), "must have 1 to 2048 rows, not 0"),
        (
            vec![input("embedding", &[2, 2], Kind::Float32, &floats(&row))],
            "has rows of 2 numbers, the head takes 4",
        ),
        (vec![input("text", &[1], Kind::Byte, b"a")], "input \"text\" is not one of embedding, indices"),
    ] {
        let refused = probe.compute("tickets", inputs).await.unwrap_err();
        assert!(
            refused.starts_with("ErrorCode::InvalidArgument: ") && refused.contains(fault),
            "{fault}: {refused}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_listed_by_its_name() {
    let made = Made::new().await;
    let probe = Probe::configured(&made.config(made.record.clone(), "models = [\"second\"]")).await;
    let refused = probe.compute("tickets", inputs(&[0.0; 4], &[], &[], &[0, 0])).await.unwrap_err();
    assert!(refused.contains("slots.triage.models = [\"second\", \"tickets\"]"), "{refused}");
    let typed = Probe::configured(&made.config(made.record.clone(), "models = [\"tickets\"]")).await;
    let refused = typed.typed("tickets", &strings(&["ahoy"]), None).await.unwrap_err();
    assert_eq!(
        refused,
        "unknown-model: `tickets` is not loaded: it embeds no texts, but is a graph of wasi:nn"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn head_of_another_model_ends_the_start() {
    let made = Made::new().await;
    for (record, fault) in [
        (Record { weights_sha256: "0".repeat(64), ..made.record.clone() }, "`bulkhead triage train`"),
        (Record { dtype: "int8".to_owned(), ..made.record.clone() }, "trained with dtype `int8`"),
    ] {
        let parts = Parts::new(&made.config(record, ""));
        let (settings, folder) = (parts.config.table().unwrap(), models_dir(&parts.config).unwrap());
        let error = Inference::start(settings, &folder, parts.metrics.set().unwrap()).err().unwrap();
        assert!(matches!(error, StartError::Graph(GraphError::Mismatch { .. })));
        assert!(
            error.to_string().contains("the head `tickets` does not fit")
                && error.to_string().contains(fault)
        );
    }
    let config = made.config(made.record.clone(), "");
    std::fs::write(made.folder.path().join("head.safetensors"), b"nothing").unwrap();
    let parts = Parts::new(&config);
    let (settings, folder) = (parts.config.table().unwrap(), models_dir(&parts.config).unwrap());
    let error = Inference::start(settings, &folder, parts.metrics.set().unwrap()).err().unwrap().to_string();
    assert!(
        error.contains("the graph `tickets` cannot be loaded") && error.contains("head.safetensors"),
        "{error}"
    );
}
