//! Binds the example to its WIT world.

use bulkhead_guest::Log;

use bindings::bulkhead::host::embeddings::{self, Options, Truncation};
use bindings::bulkhead::host::rerank;
use bindings::exports::example::embed_probe::probe::{Guest, Input, Kind};
use bindings::wasi::nn::errors::Error;
use bindings::wasi::nn::graph::{self, ExecutionTarget, Graph, GraphEncoding};
use bindings::wasi::nn::tensor::{Tensor, TensorType};

use crate::Packed;

/// Bindings generated from the WIT, with the `unsafe` code of the canonical ABI.
mod bindings {
    #![allow(unsafe_code, missing_docs)]
    #![allow(clippy::all, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    #![allow(clippy::indexing_slicing, clippy::todo)]

    wit_bindgen::generate!({
        // Dependencies first.
        path: ["../../wit/deps/nn", "../../wit/host", "wit"],
        world: "example:embed-probe/embed-probe",
        generate_all,
    });

    use super::Component;
    export!(Component);
}

/// This component's log.
const LOG: Log = Log::new("embed-probe");
/// Size of each hoarded tensor, bytes.
const HOARDED: usize = 64 << 10;

/// The component that implements the exports.
struct Component;

type Vectors = Result<Vec<Vec<f32>>, String>;

fn error_text(error: Error) -> String {
    format!("{:?}: {}", error.code(), error.data())
}

fn refused(error: embeddings::Error) -> String {
    match error {
        embeddings::Error::UnknownModel(text) => format!("unknown-model: {text}"),
        embeddings::Error::Invalid(text) => format!("invalid: {text}"),
        embeddings::Error::Busy(seconds) => format!("busy: {seconds}"),
        embeddings::Error::Failed(text) => format!("failed: {text}"),
    }
}

fn not_ranked(error: rerank::Error) -> String {
    match error {
        rerank::Error::UnknownModel(text) => format!("unknown-model: {text}"),
        rerank::Error::Invalid(text) => format!("invalid: {text}"),
        rerank::Error::Busy(seconds) => format!("busy: {seconds}"),
        rerank::Error::Failed(text) => format!("failed: {text}"),
    }
}

/// Loads the graph by name and computes in an execution context created for the call.
fn compute(model: &str, inputs: Vec<(String, Tensor)>) -> Vectors {
    let context = graph::load_by_name(model).and_then(|graph: Graph| graph.init_execution_context());
    let outputs = context.and_then(|context| context.compute(inputs)).map_err(error_text)?;
    let (name, rows) = outputs.into_iter().next().ok_or("the graph gave nothing")?;
    let [_, columns] = rows.dimensions().try_into().map_err(|shape| format!("{name} of {shape:?}"))?;
    Ok(crate::rows(&rows.data(), columns as usize))
}

impl Guest for Component {
    fn typed(model: String, texts: Vec<String>, prompt_name: Option<String>) -> Vectors {
        LOG.report_panics();
        let options = Options {
            prompt_name,
            refuse_long: false,
            truncation: Truncation::Right,
            normalize: None,
            dimensions: None,
        };
        embeddings::embed(&model, &texts, &options).map_err(refused)
    }

    fn describe(model: String) -> Result<(String, String, u32), String> {
        LOG.report_panics();
        let about = embeddings::describe(&model).map_err(refused)?;
        Ok((about.id, about.weights_sha256, about.dims))
    }

    fn graph(model: String, texts: Vec<String>, prompt_name: Option<String>) -> Vectors {
        LOG.report_panics();
        let Packed { bytes, offsets, count } = Packed::new(&texts);
        let size = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut inputs = vec![
            ("text".to_owned(), Tensor::new(&[size(&bytes)], TensorType::U8, &bytes)),
            ("offsets".to_owned(), Tensor::new(&[count], TensorType::I32, &offsets)),
        ];
        if let Some(name) = prompt_name {
            let name = name.into_bytes();
            inputs.push(("prompt_name".to_owned(), Tensor::new(&[size(&name)], TensorType::U8, &name)));
        }
        compute(&model, inputs)
    }

    fn compute(model: String, inputs: Vec<Input>) -> Vectors {
        LOG.report_panics();
        let tensor = |input: Input| {
            let kind = match input.kind {
                Kind::Byte => TensorType::U8,
                Kind::Int32 => TensorType::I32,
                Kind::Int64 => TensorType::I64,
                Kind::Float32 => TensorType::Fp32,
            };
            (input.name, Tensor::new(&input.dimensions, kind, &input.data))
        };
        compute(&model, inputs.into_iter().map(tensor).collect())
    }

    fn rank(model: String, query: String, texts: Vec<String>) -> Result<Vec<(u32, f32)>, String> {
        LOG.report_panics();
        let options = rerank::Options { raw_scores: true, refuse_long: false };
        let ranked = rerank::rank(&model, &query, &texts, options).map_err(not_ranked)?;
        Ok(ranked.into_iter().map(|text| (text.index, text.score)).collect())
    }

    fn load(bytes: Vec<u8>) -> Result<(), String> {
        LOG.report_panics();
        let loaded = graph::load(&[bytes], GraphEncoding::Onnx, ExecutionTarget::Cpu);
        loaded.map(drop).map_err(error_text)
    }

    fn hoard(count: u32) {
        LOG.report_panics();
        let zeros = vec![0; HOARDED];
        let tensor = |_| Tensor::new(&[HOARDED as u32], TensorType::U8, &zeros);
        drop((0..count).map(tensor).collect::<Vec<_>>());
    }
}

impl bindings::Guest for Component {
    fn self_test() -> Result<(), String> {
        LOG.report_panics();
        let packed = Packed::new(&["a".to_owned()]);
        if packed.count == 2 { Ok(()) } else { Err("one text does not have two offsets".to_owned()) }
    }
}
