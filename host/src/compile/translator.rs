//! Where wasmtime's compiler runs.

use std::sync::Arc;

use super::{CompileError, code::MachineCode, process::CompileProcess};
use crate::{config::sandbox::Sandbox, engine::Engine};

/// Runs the compiler: in a process of its own, and in unit tests, whose program is not the host's, in this one.
#[derive(Debug)]
pub(super) enum Translator {
    /// A process for each component.
    Process(CompileProcess),
    /// This process, counted, once a gate opens.
    #[cfg(test)]
    Gated(Arc<Engine>, Arc<super::tests::Gate>),
}

impl Translator {
    pub(super) fn new(engine: &Engine, sandbox: &Sandbox) -> Self {
        Self::Process(CompileProcess::new(engine.code_settings(), sandbox))
    }

    pub(super) async fn translate(&self, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        match self {
            Self::Process(process) => process.translate(wasm).await,
            #[cfg(test)]
            Self::Gated(engine, gate) => {
                gate.pass().await;
                let code = engine.wasmtime().precompile_component(&wasm);
                code.map(MachineCode::new).map_err(|error| CompileError::Refused(format!("{error:#}").into()))
            }
        }
    }
}
