//! The state of a call as a type of this crate, which may implement the traits of bindings that the runtime generates.

use bulkhead_runtime::capabilities::Capabilities;
use wasmtime::component::HasData;

/// The capabilities of the call that imports a function.
pub(super) struct Call<'a>(pub &'a mut Capabilities);

/// What the linker borrows of a store: a [`Call`].
pub(super) struct CallData;

impl HasData for CallData {
    type Data<'a> = Call<'a>;
}
