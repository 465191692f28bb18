//! ONNX Runtime in processes of Python.

use std::{path::Path, process::Command};

use bulkhead_inference::encoder::Dtype;

use crate::process::{Server, dialog::Dialog, target, tests};

/// What runs batches of ids.
pub fn engine(model: &Path, dtype: Dtype, threads: usize) -> Dialog {
    Dialog::start(python("onnx_engine.py", model, dtype).arg(threads.to_string()))
}

/// A minimal server: `runs` requests run at once, over `threads` threads each.
pub fn server(model: &Path, dtype: Dtype, threads: usize, runs: usize) -> Server {
    let mut command = python("onnx_server.py", model, dtype);
    Server::start(command.args([threads.to_string(), runs.to_string()]))
}

fn python(script: &str, model: &Path, dtype: Dtype) -> Command {
    let source = tests();
    let tools = target().join("test-tools");
    let python = tools.join("python/bin/python");
    assert!(python.is_file(), "no Python packages; run `just bench`");
    let mut command = Command::new(python);
    command
        .env("PYTHONPATH", source.join("data/embedding"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(source.join("bench/src/measures/embedding").join(script))
        .arg(model)
        .arg(tools.join("onnx"))
        .arg(dtype.name());
    command
}
