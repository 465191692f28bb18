//! The state of a call as a type of this crate, which can implement traits of bindings that the runtime generates.

use bulkhead_runtime::capabilities::Capabilities;
use wasmtime::component::HasData;

/// The capabilities of the call that imports a function.
pub(crate) struct ModelCall<'a>(pub &'a mut Capabilities);

/// The linker's view of a store: a [`ModelCall`].
pub(crate) struct ModelCallData;

impl HasData for ModelCallData {
    type Data<'a> = ModelCall<'a>;
}
