//! The graph in its runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use rten::{Model, NodeId, RunErrorKind, RunOptions, ThreadPool, ValueOrView};

use rten_tensor::Layout as _;

use super::{Numbers, OnnxError, Value};
use crate::error::LoadError;

/// A graph, its ports and its threads.
pub(super) struct Runtime {
    model: Model,
    inputs: Vec<(String, NodeId)>,
    outputs: Vec<(String, NodeId)>,
    threads: Arc<ThreadPool>,
}

impl Runtime {
    pub(super) fn load(path: &Path, threads: usize) -> Result<Self, LoadError> {
        let bytes = std::fs::read(path).map_err(|error| LoadError::read(path, error))?;
        // A file from outside: whatever the parser makes of it stays with this file.
        let loaded = catch_unwind(|| Model::load(bytes));
        let loaded = loaded.map_err(|_| LoadError::malformed(path, "makes the ONNX parser panic"))?;
        let model = loaded.map_err(|error| LoadError::malformed(path, error.to_string()))?;
        let ports = |ids: &[NodeId]| {
            let port = |id: &NodeId| {
                let name = model.node_info(*id).and_then(|node| node.name().map(str::to_owned));
                name.map(|name| (name, *id))
            };
            ids.iter().map(port).collect::<Option<Vec<_>>>()
        };
        let (inputs, outputs) = (ports(model.input_ids()), ports(model.output_ids()));
        let (Some(inputs), Some(outputs)) = (inputs, outputs) else {
            return Err(LoadError::malformed(path, "has an input or output without a name"));
        };
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        Ok(Self { model, inputs, outputs, threads: Arc::new(ThreadPool::with_num_threads(threads)) })
    }

    pub(super) fn run(&self, inputs: Vec<(String, Value)>) -> Result<Vec<(String, Value)>, OnnxError> {
        let mut given: Vec<(NodeId, ValueOrView<'_>)> = Vec::with_capacity(inputs.len());
        for (name, value) in inputs {
            let id = self.input(&name)?;
            if given.iter().any(|(other, _)| *other == id) {
                return Err(OnnxError::Input(format!("input {name:?} is given twice")));
            }
            given.push((id, tensor(&name, value)?.into()));
        }
        if let Some((name, _)) =
            self.inputs.iter().find(|(_, id)| !given.iter().any(|(other, _)| other == id))
        {
            return Err(OnnxError::Input(format!("input {name:?} is missing")));
        }
        let wanted: Vec<NodeId> = self.outputs.iter().map(|(_, id)| *id).collect();
        let mut options = RunOptions::default();
        options.thread_pool = Some(Arc::clone(&self.threads));
        let ran = catch_unwind(AssertUnwindSafe(|| self.model.run(given, &wanted, Some(options))));
        let ran = ran.map_err(|_| OnnxError::Run("a panic; the log says where".to_owned()))?;
        let values = ran.map_err(|error| match error.kind() {
            RunErrorKind::InvalidInput => OnnxError::Input(error.to_string()),
            _ => OnnxError::Run(error.to_string()),
        })?;
        let names = self.outputs.iter().map(|(name, _)| name.clone());
        names.zip(values).map(|(name, value)| Ok((name.clone(), numbers(&name, value)?))).collect()
    }

    fn input(&self, name: &str) -> Result<NodeId, OnnxError> {
        let found = self.inputs.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        found.ok_or_else(|| {
            let known = self.inputs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            // Anybody may make it up, and the error is kept.
            let name: String = name.chars().take(100).collect();
            OnnxError::Input(format!("input {name:?} is not one of {known}"))
        })
    }
}

fn tensor(name: &str, value: Value) -> Result<rten::Value, OnnxError> {
    let Value { shape, numbers } = value;
    let fault = |error: &dyn std::error::Error| OnnxError::Input(format!("input {name:?}: {error}"));
    match numbers {
        Numbers::Floats(data) => rten::Value::from_shape(shape, data).map_err(|error| fault(&error)),
        Numbers::Integers(data) => rten::Value::from_shape(shape, data).map_err(|error| fault(&error)),
        Numbers::Bytes(data) => rten::Value::from_shape(shape, data).map_err(|error| fault(&error)),
    }
}

fn numbers(name: &str, value: rten::Value) -> Result<Value, OnnxError> {
    use rten::Value::{FloatTensor, Int32Tensor, UInt8Tensor};
    match value {
        FloatTensor(tensor) => {
            Ok(Value { shape: tensor.shape().to_vec(), numbers: Numbers::Floats(tensor.into_data()) })
        }
        Int32Tensor(tensor) => {
            Ok(Value { shape: tensor.shape().to_vec(), numbers: Numbers::Integers(tensor.into_data()) })
        }
        UInt8Tensor(tensor) => {
            Ok(Value { shape: tensor.shape().to_vec(), numbers: Numbers::Bytes(tensor.into_data()) })
        }
        other => {
            Err(OnnxError::Run(format!("output {name:?} is a {:?}, which is not handed on", other.dtype())))
        }
    }
}
