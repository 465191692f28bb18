//! The state of a call as a type of this crate, which can implement traits of bindings that the runtime generates.

use bulkhead_runtime::capabilities::Capabilities;
use wasmtime::component::HasData;

/// The capabilities of the call that imports a function.
pub(super) struct TicketCall<'a>(pub &'a mut Capabilities);

/// The linker's view of a store: a [`TicketCall`].
pub(super) struct TicketCallData;

impl HasData for TicketCallData {
    type Data<'a> = TicketCall<'a>;
}
