//! `wasi:nn`: the loaded models as named graphs. What a graph takes and gives stands in the WIT of
//! `bulkhead:host/embeddings`; everything else of the interface is the standard's.

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
use crate::{self as models, Denied, Gate, Refusal};

pub use self::tensor::Tensor;

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
            "wasi:nn/tensor.tensor": super::Tensor,
            "wasi:nn/graph.graph": super::Graph,
            "wasi:nn/inference.graph-execution-context": super::Context,
        },
    });
}

/// The version of all four interfaces.
const VERSION: &str = "0.2.0-rc-2024-10-28";

/// `wasi:nn`, over the slot's [`Gate`].
#[derive(Clone, Copy, Debug)]
pub struct NnCapability;

impl Capability for NnCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[ERRORS, TENSOR, INFERENCE, GRAPH]
    }
}

/// Errors and what they say.
const ERRORS: Interface = Interface {
    name: "wasi:nn/errors",
    version: VERSION,
    is_general: false,
    functions: &[("[method]error.code", Read), ("[method]error.data", Read)],
    add_to_linker: |instance| {
        errors::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// Tensors.
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

/// Computing.
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

/// Finding a graph.
const GRAPH: Interface = Interface {
    name: "wasi:nn/graph",
    version: VERSION,
    is_general: false,
    functions: &[("[method]graph.init-execution-context", Read), ("load", Read), ("load-by-name", Read)],
    add_to_linker: |instance| {
        graph::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// A graph that a guest has found.
#[derive(Clone, Debug)]
pub struct Graph(models::Graph);

/// What a guest computes with: its graph, for calls keep nothing.
#[derive(Debug)]
pub struct Context(Graph);

/// An error that a guest can ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NnError {
    code: ErrorCode,
    text: String,
}

impl HostResource for Graph {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl HostResource for Context {
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

    /// What the guest handed over is not what the graph takes.
    fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, text)
    }
}

impl From<Denied> for NnError {
    fn from(denied: Denied) -> Self {
        let code = match denied {
            Denied::NotAllowed { .. } => ErrorCode::Security,
            Denied::NotLoaded { .. } => ErrorCode::NotFound,
        };
        Self::new(code, denied.to_string())
    }
}

impl From<Refusal> for NnError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Invalid(_) => ErrorCode::InvalidArgument,
            Refusal::Deadline => ErrorCode::Timeout,
            Refusal::Overloaded | Refusal::Quota { .. } | Refusal::Stopped | Refusal::Internal => {
                ErrorCode::RuntimeError
            }
        };
        Self::new(code, refusal.to_string())
    }
}

/// What a graph gives, by name.
type Outputs = Vec<(String, Tensor)>;

/// A result as the guest sees it: an error becomes a resource.
type Answer<T> = wasmtime::Result<Result<Resource<T>, Resource<NnError>>>;

fn answer<T: HostResource>(capabilities: &mut Capabilities, result: Result<T, NnError>) -> Answer<T> {
    Ok(match result {
        Ok(value) => Ok(capabilities.push_resource(value)?),
        Err(error) => Err(capabilities.push_resource(error)?),
    })
}

fn gate(resources: &SlotResources) -> Result<&Gate, NnError> {
    let none = || NnError::new(ErrorCode::NotFound, "this slot's service uses no models");
    resources.get().ok_or_else(none)
}

/// Computes with a graph of the slot's.
async fn compute(
    resources: &SlotResources,
    graph: &models::Graph,
    named: Vec<(String, Tensor)>,
) -> Result<Outputs, NnError> {
    let gate = gate(resources)?;
    match graph {
        models::Graph::Model(model) => model::compute(gate, model, named).await,
        models::Graph::Head(head) => head::compute(gate, head, named).await,
        models::Graph::Onnx(graph) => onnx::compute(gate, graph, named).await,
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
    ) -> Answer<Graph> {
        let text = "graphs are not loaded from bytes; use load-by-name";
        answer(self, Err(NnError::new(ErrorCode::UnsupportedOperation, text)))
    }

    fn load_by_name(&mut self, name: String) -> Answer<Graph> {
        let found = gate(&self.resources).and_then(|gate| Ok(Graph(gate.graph(&name)?)));
        answer(self, found)
    }
}

impl graph::HostGraph for Capabilities {
    fn init_execution_context(&mut self, graph: Resource<Graph>) -> Answer<Context> {
        let graph = self.resource(&graph)?.clone();
        answer(self, Ok(Context(graph)))
    }

    fn drop(&mut self, graph: Resource<Graph>) -> wasmtime::Result<()> {
        self.delete_resource(graph)?;
        Ok(())
    }
}

impl inference::Host for Capabilities {}

impl inference::HostGraphExecutionContext for Capabilities {
    async fn compute(
        &mut self,
        context: Resource<Context>,
        inputs: Vec<inference::NamedTensor>,
    ) -> wasmtime::Result<Result<Vec<inference::NamedTensor>, Resource<NnError>>> {
        let Context(graph) = self.resource(&context)?;
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

    fn drop(&mut self, context: Resource<Context>) -> wasmtime::Result<()> {
        self.delete_resource(context)?;
        Ok(())
    }
}
