//! Runs wasmtime's compiler.

use std::sync::Arc;

use super::{CompileError, code::MachineCode};
use crate::engine::Engine;

/// How components are compiled.
#[derive(Debug)]
pub(super) enum Translator {
    /// On a thread of this process.
    InProcess(Arc<Engine>),
    /// The same, counted, once a gate lets it.
    #[cfg(test)]
    Gated(Arc<Engine>, Arc<super::tests::Gate>),
}

impl Translator {
    pub(super) fn new(engine: &Arc<Engine>) -> Self {
        Self::InProcess(Arc::clone(engine))
    }

    pub(super) async fn translate(&self, wasm: Arc<[u8]>) -> Result<MachineCode, CompileError> {
        let engine = match self {
            Self::InProcess(engine) => engine,
            #[cfg(test)]
            Self::Gated(engine, gate) => {
                gate.pass().await;
                engine
            }
        };
        let engine = Arc::clone(engine);
        let compile = move || engine.wasmtime().precompile_component(&wasm);
        let compiled = super::in_background(compile).await?;
        compiled.map(MachineCode::new).map_err(|error| CompileError::Refused(format!("{error:#}").into()))
    }
}
