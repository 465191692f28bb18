//! ONNX models as graphs: `y = 10 * x0 + x1 + 0.5`, and `ids` passed on.

use bulkhead::inference::GraphError;

use super::{
    world::{Kind, input},
    *,
};

fn floats(name: &str, shape: &[u32], numbers: &[f32]) -> Input {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    input(name, shape, Kind::Float32, &bytes)
}

fn longs(name: &str, shape: &[u32], numbers: &[i64]) -> Input {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    input(name, shape, Kind::Int64, &bytes)
}

/// A folder with a model, and the configuration of a graph over it.
fn configured(file: &Path) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let model = [second().write(folder.path(), "second")];
    let config = format!(
        "[embedding]\nmodels = {model:?}\ngraphs = {{ toy = {file:?} }}\n[slots.triage]\nmodels = [\"toy\", \"second\"]"
    );
    (folder, config)
}

fn toy() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/onnx/toy.onnx")
}

#[tokio::test(flavor = "multi_thread")]
async fn onnx_graph_computes_under_its_names() {
    let (_folder, config) = configured(&toy());
    let probe = Probe::configured(&config).await;
    let x = || floats("x", &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let ids = || longs("ids", &[1, 1], &[7]);
    assert_eq!(probe.compute("toy", vec![x(), ids()]).await, Ok(vec![vec![12.5], vec![34.5]]));
    for (inputs, fault) in [
        (vec![x()], "input \"ids\" is missing"),
        (vec![x(), ids(), ids()], "input \"ids\" is given twice"),
        (vec![floats("x", &[3, 2], &[1.0; 4]), ids()], "which are not its 16 bytes"),
        (vec![x(), longs("ids", &[1, 1], &[1 << 40])], "has a number beyond 32 bits"),
        (vec![x(), longs("z", &[1, 1], &[1])], "input \"z\" is not one of x, ids"),
    ] {
        let refused = probe.compute("toy", inputs).await.unwrap_err();
        assert!(
            refused.starts_with("ErrorCode::InvalidArgument: ") && refused.contains(fault),
            "{fault}: {refused}"
        );
    }
    let refused = probe.compute("toy", vec![floats("x", &[1, 3], &[1.0; 3]), ids()]).await.unwrap_err();
    assert!(!refused.contains("rten"), "what runs it stays inside: {refused}");
    probe.assert_at_rest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_onnx_file_ends_the_start() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("bad.onnx");
    std::fs::write(&file, b"nothing").unwrap();
    let (_models, config) = configured(&file);
    let parts = Parts::new(&config);
    let (settings, models) = (parts.config.table().unwrap(), models_dir(&parts.config).unwrap());
    let error = Inference::start(settings, &models, parts.metrics.set().unwrap()).err().unwrap();
    assert!(matches!(&error, bulkhead::inference::StartError::Graph(GraphError::Load { .. })), "{error}");
    assert!(
        error.to_string().contains("bad.onnx") && error.to_string().contains("embedding.graphs"),
        "{error}"
    );
}

/// Token ids go past the tokenizer, and come out as the text would.
#[tokio::test(flavor = "multi_thread")]
async fn token_ids_stand_for_their_text() {
    let (_folder, config) = configured(&toy());
    let probe = Probe::configured(&config).await;
    let texts = strings(&["hello world good", "ahoy"]);
    let wanted = probe.typed("second", &texts, None).await;
    // Ids are places in the vocabulary, see `models::WORDS`.
    let ids = longs("input_ids", &[2, 3], &[4, 5, 6, 12, 0, 0]);
    let mask = longs("attention_mask", &[2, 3], &[1, 1, 1, 1, 0, 0]);
    assert_eq!(probe.compute("second", vec![ids.clone(), mask.clone()]).await, wanted);
    let nothing = longs("attention_mask", &[2, 3], &[1, 1, 1, 0, 0, 0]);
    let unknown = longs("input_ids", &[2, 3], &[4, 5, 6, 99, 0, 0]);
    for (inputs, fault) in [
        (vec![ids.clone()], "input \"attention_mask\" is missing"),
        (vec![mask.clone()], "input \"input_ids\" is missing"),
        (vec![ids.clone(), nothing], "input 1: it has no tokens"),
        (vec![unknown, mask.clone()], "input 1: it has the token id 99"),
        (vec![ids.clone(), mask.clone(), input("text", &[1], Kind::Byte, b"a")], "does not go with"),
    ] {
        let refused = probe.compute("second", inputs).await.unwrap_err();
        assert!(
            refused.starts_with("ErrorCode::InvalidArgument: ") && refused.contains(fault),
            "{fault}: {refused}"
        );
    }
}
