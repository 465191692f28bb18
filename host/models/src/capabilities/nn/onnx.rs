//! Computes with an ONNX model, with the names, shapes and types of its own inputs and outputs.

use std::sync::Arc;

use bulkhead_inference::onnx::OnnxError;
use bulkhead_telemetry::quoted;

use super::{NnError, NnTensor, Outputs, bindings::wasi::nn::errors::ErrorCode};
use crate::{NamedOnnx, SlotModelAccess};

/// Runs the graph on the inputs and returns all of its outputs.
pub(super) async fn compute(
    access: &SlotModelAccess,
    graph: &Arc<NamedOnnx>,
    named: Vec<(String, NnTensor)>,
) -> Result<Outputs, NnError> {
    let inputs = named.into_iter().map(|(name, tensor)| match tensor.value() {
        Ok(value) => Ok((name, value)),
        Err(fault) => Err(NnError::invalid(format!("input \"{}\" {fault}", quoted(&name)))),
    });
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let running = Arc::clone(graph);
    let outputs =
        access.compute(false, move || running.graph.run(inputs)).await?.map_err(|error| match error {
            OnnxError::Input(fault) => NnError::invalid(fault),
            OnnxError::Run(reason) => {
                tracing::error!(graph = graph.name, reason, "an ONNX graph failed");
                NnError::new(ErrorCode::RuntimeError, "the graph failed; the host's log has the reason")
            }
        })?;
    Ok(outputs.into_iter().map(|(name, value)| (name, NnTensor::from_value(value))).collect())
}
