//! What the host holds for a guest's handles: it counts against the call's memory.

use wasmtime::component::Resource;

use super::Capabilities;

/// Bytes that an entry of the resource table takes beside its value, at least.
pub(super) const ENTRY_BYTES: usize = 128;

/// A value behind a handle of a guest.
pub trait Held: Send + 'static {
    /// Bytes that it takes in the host.
    fn bytes(&self) -> usize;
}

/// Trap of a guest whose resources take more than it may use.
#[derive(Debug, thiserror::Error)]
#[error(
    "the memories, tables and host resources of the call take more than {0} bytes together; drop some, or raise \
     memory_bytes"
)]
pub struct HeldBytesExceeded(usize);

impl Capabilities {
    /// Puts a value into the table, within the call's memory.
    ///
    /// # Errors
    /// When the call may not use so much memory.
    pub fn hold<T: Held>(&mut self, value: T) -> wasmtime::Result<Resource<T>> {
        if !self.budget.take(value.bytes().saturating_add(ENTRY_BYTES)) {
            return Err(HeldBytesExceeded(self.budget.limit()).into());
        }
        Ok(self.table.push(value)?)
    }

    /// Returns a value in the table.
    ///
    /// # Errors
    /// When the guest has no such handle.
    pub fn held<T: Held>(&self, handle: &Resource<T>) -> wasmtime::Result<&T> {
        Ok(self.table.get(handle)?)
    }

    /// Takes a value out of the table.
    ///
    /// # Errors
    /// When the guest has no such handle.
    pub fn release<T: Held>(&mut self, handle: Resource<T>) -> wasmtime::Result<T> {
        let value = self.table.delete(handle)?;
        self.budget.give_back(value.bytes().saturating_add(ENTRY_BYTES));
        Ok(value)
    }
}
