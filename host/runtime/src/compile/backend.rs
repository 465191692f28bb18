//! The backend that runs wasmtime's compiler.

use std::sync::Arc;

use bulkhead_config::sandbox::Sandbox;

#[cfg(feature = "compiler")]
use super::process::CompileProcess;
use super::{CompileError, code::MachineCode};
use crate::engine::Engine;

/// Runs the compiler: in a child process, or in unit tests, whose binary is not the host's, in this process.
#[derive(Debug)]
pub(super) enum CompileBackend {
    /// A child process for each component.
    #[cfg(feature = "compiler")]
    Process(CompileProcess),
    /// Nothing: this program has no compiler.
    #[cfg(not(feature = "compiler"))]
    Absent,
    /// This process, counted, once a gate opens.
    #[cfg(all(test, feature = "compiler"))]
    Gated(Arc<Engine>, Arc<super::tests::Gate>),
}

impl CompileBackend {
    #[cfg(not(feature = "compiler"))]
    pub(super) const fn new(_: &Engine, _: &Sandbox) -> Self {
        Self::Absent
    }

    #[cfg(feature = "compiler")]
    pub(super) fn new(engine: &Engine, sandbox: &Sandbox) -> Self {
        Self::Process(CompileProcess::new(engine.code_settings(), sandbox))
    }

    pub(super) async fn compile(&self, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        match self {
            #[cfg(not(feature = "compiler"))]
            Self::Absent => {
                drop(wasm);
                Err(CompileError::NoCompiler)
            }
            #[cfg(feature = "compiler")]
            Self::Process(process) => process.compile(wasm).await,
            #[cfg(all(test, feature = "compiler"))]
            Self::Gated(engine, gate) => {
                gate.pass().await;
                let code = engine.wasmtime().precompile_component(&wasm);
                code.map(MachineCode::new).map_err(|error| CompileError::Refused(format!("{error:#}").into()))
            }
        }
    }
}
