//! `wasi:nn`: the loaded models as named graphs. The WIT of `bulkhead:host/embeddings` describes their inputs and outputs;
//! everything else of the interface follows the standard.

mod head;
mod model;
mod onnx;
mod tensor;

use std::sync::Arc;

use bulkhead_runtime::capabilities::{
    Access::Read, Capabilities, Capability, HostResource, Interface, SlotResources,
};
use wasmtime::component::{HasSelf, Resource};

use self::bindings::wasi::nn::{
    errors::{self, ErrorCode},
    graph, inference, tensor as wit,
};
use crate::{InferenceError, ModelAccessError, NamedGraph, SlotModelAccess};

/// Bindings of the standard's interfaces.
#[allow(missing_docs)]
pub mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/deps/nn",
        world: "wasi:nn/ml",
        imports: {
            default: trappable,
            "wasi:nn/inference.[method]graph-execution-context.compute": async | trappable,
        },
        with: {
            "wasi:nn/errors.error": super::NnError,
            "wasi:nn/tensor.tensor": super::NnTensor,
            "wasi:nn/graph.graph": super::NnGraph,
            "wasi:nn/inference.graph-execution-context": super::NnContext,
        },
    });
}

/// The version of all four interfaces.
const VERSION: &str = "0.2.0-rc-2024-10-28";

/// `wasi:nn`, over the slot's [`SlotModelAccess`].
#[derive(Clone, Copy, Debug)]
pub struct NnCapability;

impl Capability for NnCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[ERRORS, TENSOR, INFERENCE, GRAPH]
    }
}

/// The functions of errors.
const ERRORS: Interface = Interface {
    name: "wasi:nn/errors",
    version: VERSION,
    is_general: false,
    functions: &[("[method]error.code", Read), ("[method]error.data", Read)],
    add_to_linker: |instance| {
        errors::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// The functions of tensors.
const TENSOR: Interface = Interface {
    name: "wasi:nn/tensor",
    version: VERSION,
    is_general: false,
    functions: &[
        ("[constructor]tensor", Read),
        ("[method]tensor.dimensions", Read),
        ("[method]tensor.ty", Read),
        ("[method]tensor.data", Read),
    ],
    add_to_linker: |instance| {
        wit::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// The function that computes.
const INFERENCE: Interface = Interface {
    name: "wasi:nn/inference",
    version: VERSION,
    is_general: false,
    functions: &[("[method]graph-execution-context.compute", Read)],
    add_to_linker: |instance| {
        inference::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| {
            &mut guest.capabilities
        })
    },
};

/// The functions that find a graph.
const GRAPH: Interface = Interface {
    name: "wasi:nn/graph",
    version: VERSION,
    is_general: false,
    functions: &[("[method]graph.init-execution-context", Read), ("load", Read), ("load-by-name", Read)],
    add_to_linker: |instance| {
        graph::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// A tensor: little-endian elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NnTensor {
    dimensions: Vec<u32>,
    kind: wit::TensorType,
    data: Vec<u8>,
}

/// A graph that a guest has loaded by name.
#[derive(Clone, Debug)]
pub struct NnGraph(NamedGraph);

/// An execution context: only its graph, because calls keep no state.
#[derive(Debug)]
pub struct NnContext(NnGraph);

/// An error whose code and text a guest can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NnError {
    code: ErrorCode,
    text: String,
}

impl HostResource for NnGraph {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl HostResource for NnContext {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl HostResource for NnError {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.text.capacity()
    }
}

impl NnError {
    fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Returns the error for an input that the graph does not accept.
    fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, text)
    }
}

impl From<ModelAccessError> for NnError {
    fn from(error: ModelAccessError) -> Self {
        let code = match error {
            ModelAccessError::NotAllowed { .. } => ErrorCode::Security,
            ModelAccessError::NotLoaded { .. } => ErrorCode::NotFound,
        };
        Self::new(code, error.to_string())
    }
}

impl From<InferenceError> for NnError {
    fn from(error: InferenceError) -> Self {
        let code = match error {
            InferenceError::Invalid(_)
            | InferenceError::TooLarge { .. }
            | InferenceError::TooManyTerms { .. } => ErrorCode::InvalidArgument,
            InferenceError::Deadline { .. } => ErrorCode::Timeout,
            InferenceError::Overloaded { .. }
            | InferenceError::Quota { .. }
            | InferenceError::Stopped
            | InferenceError::Internal => ErrorCode::RuntimeError,
        };
        Self::new(code, error.to_string())
    }
}

/// The output tensors of a graph, by name.
type Outputs = Vec<(String, NnTensor)>;

/// A result for the guest, whose value and error are resources.
type NnResult<T> = wasmtime::Result<Result<Resource<T>, Resource<NnError>>>;

/// Hands a value or an error to the guest as a resource.
fn into_guest_result<T: HostResource>(
    capabilities: &mut Capabilities,
    result: Result<T, NnError>,
) -> NnResult<T> {
    Ok(match result {
        Ok(value) => Ok(capabilities.push_resource(value)?),
        Err(error) => Err(capabilities.push_resource(error)?),
    })
}

/// Returns the slot's access to the models.
fn model_access(resources: &SlotResources) -> Result<&SlotModelAccess, NnError> {
    let none = || NnError::new(ErrorCode::NotFound, "this slot's service uses no models");
    resources.get().ok_or_else(none)
}

/// Computes with a graph that the slot may use.
async fn compute(
    resources: &SlotResources,
    graph: &NamedGraph,
    named: Vec<(String, NnTensor)>,
) -> Result<Outputs, NnError> {
    let access = model_access(resources)?;
    match graph {
        NamedGraph::Model(model) => model::compute(access, model, named).await,
        NamedGraph::Head(head) => head::compute(access, head, named).await,
        NamedGraph::Onnx(graph) => onnx::compute(access, graph, named).await,
    }
}

impl errors::Host for Capabilities {}

impl errors::HostError for Capabilities {
    fn code(&mut self, error: Resource<NnError>) -> wasmtime::Result<ErrorCode> {
        Ok(self.resource(&error)?.code)
    }

    fn data(&mut self, error: Resource<NnError>) -> wasmtime::Result<String> {
        Ok(self.resource(&error)?.text.clone())
    }

    fn drop(&mut self, error: Resource<NnError>) -> wasmtime::Result<()> {
        self.delete_resource(error)?;
        Ok(())
    }
}

impl graph::Host for Capabilities {
    fn load(
        &mut self,
        _builder: Vec<graph::GraphBuilder>,
        _encoding: graph::GraphEncoding,
        _target: graph::ExecutionTarget,
    ) -> NnResult<NnGraph> {
        let text = "graphs are not loaded from bytes; use load-by-name";
        into_guest_result(self, Err(NnError::new(ErrorCode::UnsupportedOperation, text)))
    }

    fn load_by_name(&mut self, name: String) -> NnResult<NnGraph> {
        let found = model_access(&self.resources).and_then(|access| Ok(NnGraph(access.graph(&name)?)));
        into_guest_result(self, found)
    }
}

impl graph::HostGraph for Capabilities {
    fn init_execution_context(&mut self, graph: Resource<NnGraph>) -> NnResult<NnContext> {
        let graph = self.resource(&graph)?.clone();
        into_guest_result(self, Ok(NnContext(graph)))
    }

    fn drop(&mut self, graph: Resource<NnGraph>) -> wasmtime::Result<()> {
        self.delete_resource(graph)?;
        Ok(())
    }
}

impl inference::Host for Capabilities {}

impl inference::HostGraphExecutionContext for Capabilities {
    async fn compute(
        &mut self,
        context: Resource<NnContext>,
        inputs: Vec<inference::NamedTensor>,
    ) -> wasmtime::Result<Result<Vec<inference::NamedTensor>, Resource<NnError>>> {
        let NnContext(graph) = self.resource(&context)?;
        let graph = graph.clone();
        let mut named = Vec::with_capacity(inputs.len());
        for (name, tensor) in inputs {
            named.push((name, self.delete_resource(tensor)?));
        }
        let resources = Arc::clone(&self.resources);
        let outputs = match compute(&resources, &graph.0, named).await {
            Ok(outputs) => outputs,
            Err(error) => return Ok(Err(self.push_resource(error)?)),
        };
        let mut given = Vec::with_capacity(outputs.len());
        for (name, tensor) in outputs {
            given.push((name, self.push_resource(tensor)?));
        }
        Ok(Ok(given))
    }

    fn drop(&mut self, context: Resource<NnContext>) -> wasmtime::Result<()> {
        self.delete_resource(context)?;
        Ok(())
    }
}
