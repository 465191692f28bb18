//! Machine code of a component, from a trusted source.

use wasmtime::component::Component;

use crate::engine::Engine;

/// Serialized machine code that this host's compiler made. Only [`super::backend`] and, for code that
/// they have authenticated, [`super::cache`] and [`super::pack`] make one: machine code from anywhere else would run outside the sandbox.
#[derive(Debug)]
pub(super) struct MachineCode(Vec<u8>);

impl MachineCode {
    /// Wraps bytes that the compiler returned, or whose origin is proved.
    pub(super) const fn new(code: Vec<u8>) -> Self {
        Self(code)
    }

    /// Returns the serialized bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Maps the code as executable.
    ///
    /// # Errors
    /// When it was compiled for another engine.
    pub(super) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        // SAFETY: the bytes are what wasmtime's own compiler made: this host's backend returned them just now, the cache
        // proved with a secret of this host that it stored them, or a pack proved that it is part of this program or was
        // signed by a key that the configuration trusts. wasmtime checks that they are for this engine.
        #[allow(unsafe_code)]
        unsafe {
            Component::deserialize(engine.wasmtime(), &self.0)
        }
    }
}
