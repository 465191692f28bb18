use std::future::Future;

use wasmtime::{Store, component::InstancePre};

use crate::capabilities::Guest;

/// What a slot asks of its components: a world of the WIT, through its generated bindings.
pub trait World: Sized + Send + Sync + 'static {
    /// `package:name/world@version`.
    const NAME: &'static str;
    /// Names that a component must export, with versions.
    const EXPORTS: &'static [&'static str];
    /// A linked component whose exports have been found.
    type Linked: Clone + Send + Sync + 'static;

    /// Finds the exports; fails when their types are wrong.
    ///
    /// # Errors
    /// wasmtime's word on the first export that does not fit.
    fn link(linked: InstancePre<Guest>) -> wasmtime::Result<Self::Linked>;

    /// A fresh instance in `store`.
    fn instantiate(
        linked: &Self::Linked,
        store: &mut Store<Guest>,
    ) -> impl Future<Output = wasmtime::Result<Self>> + Send;

    /// Calls the world's `self-test`.
    fn self_test(
        &self,
        store: &mut Store<Guest>,
    ) -> impl Future<Output = wasmtime::Result<Result<(), String>>> + Send;
}
