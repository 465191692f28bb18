//! The backend that runs wasmtime's compiler.

use std::sync::Arc;

use bulkhead_config::sandbox::Sandbox;

use super::{CompileError, code::MachineCode, process::CompileProcess};
use crate::engine::Engine;

/// Runs the compiler: in a child process, or in unit tests, whose binary is not the host's, in this process.
#[derive(Debug)]
pub(super) enum CompileBackend {
    /// A child process for each component.
    Process(CompileProcess),
    /// This process, counted, once a gate opens.
    #[cfg(test)]
    Gated(Arc<Engine>, Arc<super::tests::Gate>),
}

impl CompileBackend {
    pub(super) fn new(engine: &Engine, sandbox: &Sandbox) -> Self {
        Self::Process(CompileProcess::new(engine.code_settings(), sandbox))
    }

    pub(super) async fn compile(&self, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        match self {
            Self::Process(process) => process.compile(wasm).await,
            #[cfg(test)]
            Self::Gated(engine, gate) => {
                gate.pass().await;
                let code = engine.wasmtime().precompile_component(&wasm);
                code.map(MachineCode::new).map_err(|error| CompileError::Refused(format!("{error:#}").into()))
            }
        }
    }
}
