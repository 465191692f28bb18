//! Host values behind a guest's handles, which count against the memory of the call.

use wasmtime::component::Resource;

use super::Capabilities;

/// Bytes that an entry of the resource table takes in addition to its value, at least.
pub(super) const ENTRY_BYTES: usize = 128;

/// A host value behind a handle of a guest.
pub trait HostResource: Send + 'static {
    /// Returns the bytes that it takes in the host.
    fn bytes(&self) -> usize;
}

/// The trap of a guest whose memories and host resources together exceed the memory of the call.
#[derive(Debug, thiserror::Error)]
#[error(
    "the memories, tables and host resources of the call take more than {0} bytes together; drop some, or raise \
     memory_bytes"
)]
pub struct ResourceMemoryExceeded(usize);

impl Capabilities {
    /// Adds a value to the table, within the memory of the call.
    ///
    /// # Errors
    /// When the call may not use so much memory.
    pub fn push_resource<T: HostResource>(&mut self, value: T) -> wasmtime::Result<Resource<T>> {
        if !self.budget.take(value.bytes().saturating_add(ENTRY_BYTES)) {
            return Err(ResourceMemoryExceeded(self.budget.limit()).into());
        }
        Ok(self.table.push(value)?)
    }

    /// Returns a value in the table.
    ///
    /// # Errors
    /// When the guest has no such handle.
    pub fn resource<T: HostResource>(&self, handle: &Resource<T>) -> wasmtime::Result<&T> {
        Ok(self.table.get(handle)?)
    }

    /// Removes a value from the table and returns it.
    ///
    /// # Errors
    /// When the guest has no such handle.
    pub fn delete_resource<T: HostResource>(&mut self, handle: Resource<T>) -> wasmtime::Result<T> {
        let value = self.table.delete(handle)?;
        self.budget.release(value.bytes().saturating_add(ENTRY_BYTES));
        Ok(value)
    }
}
