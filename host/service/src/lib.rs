//! What a service is to the host: the trait that it implements, and the context that it is started with.

mod component;
mod context;
mod extensions;
mod health;
mod registrar;
mod report;
pub mod shared_answer;
mod started;

use std::sync::Arc;

use bulkhead_config::{
    Config, ServiceSpec,
    alias::Aliases,
    secret::Secret,
    slots::{Slot as SlotSettings, SlotId},
    tables::{MissingTable, TableSpec},
};
use bulkhead_runtime::capabilities::{CapabilitySet, SlotResources};
use bulkhead_runtime::compile::ComponentDigest;
use futures_util::future::LocalBoxFuture;

pub use self::{
    component::{MayNotAnswer, try_out},
    context::{Context, SECRETS},
    extensions::Extensions,
    health::{DatabaseState, HostHealth, WatchedDatabase},
    registrar::MetricRegistrar,
    report::{Failing, Generations, ReadyReport},
    started::{Close, ServedAt, Started},
};

/// The services of a binary, in the order in which they are started and listed.
pub type ServiceList = &'static [&'static dyn Service];

/// A step of the start of a service. It runs on the task that starts the host, so that it need not be `Send`.
pub type Step<'a, T> = LocalBoxFuture<'a, anyhow::Result<T>>;

/// A database that a service offers for the state that hosts share.
#[derive(Clone, Debug)]
pub struct SharedDatabase {
    /// URL of a PostgreSQL database.
    pub url: Secret,
    /// The setting that names the database, for errors.
    pub setting: &'static str,
}

/// What the start page of `--demo` shows of a service, before the service starts and also where it is off.
#[derive(Clone, Debug, Default)]
pub struct PageEntry {
    /// Stands before every path of the service, after the prefix of `[services.NAME]`; empty or `/something`.
    pub base_path: String,
    /// Path of its API documentation, relative to both.
    pub docs: Option<&'static str>,
}

/// A service of a host. It is a value without state: what a running host has of it is in the [`Context`] or was given
/// back by [`Service::start`].
///
/// A host calls the methods in this order: [`add_demo`](Service::add_demo), [`prepare`](Service::prepare),
/// [`load`](Service::load), [`start`](Service::start). Each of them is called for every service before the next one is
/// called for any.
pub trait Service: Send + Sync {
    /// Returns its name in `[services.NAME]` and its slots.
    fn spec(&self) -> ServiceSpec;

    /// Returns its tables of the configuration, in reading order.
    fn tables(&self) -> &'static [TableSpec] {
        &[]
    }

    /// Returns the names that the services which it replaces have for its keys.
    fn aliases(&self) -> Aliases {
        Aliases::NONE
    }

    /// Returns its sets of metrics. They are registered also where the service is off.
    fn metrics(&self) -> &'static [MetricRegistrar] {
        &[]
    }

    /// Adds its capabilities to those that guests of the host may import. They are offered also where the service is off.
    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        capabilities
    }

    /// Checks what the configuration names outside of itself, such as files, as the start would. It is called only where
    /// the service is on. Returns warnings, each of which begins with its key.
    ///
    /// # Errors
    /// Why the host would not start, and which setting mends it.
    fn check_files(&self, _config: &Config) -> anyhow::Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Adds to the configuration what a demonstration has.
    ///
    /// # Errors
    /// When the configuration was read without a table of the service.
    fn add_demo(&self, _config: &mut Config) -> Result<(), MissingTable> {
        Ok(())
    }

    /// Returns its database for the state that hosts share, if the configuration names one that is fit for that.
    fn shared_database(&self, _config: &Config) -> Option<SharedDatabase> {
        None
    }

    /// Returns what the start page shows of it.
    fn page_entry(&self, _config: &Config) -> PageEntry {
        PageEntry::default()
    }

    /// Puts into [`Context::extensions`] what other services need, before any of them loads. It is called also where
    /// the service is off, and before a component is checked.
    ///
    /// # Errors
    /// Why the host cannot start, and which setting mends it.
    fn prepare(&self, _context: &Context) -> anyhow::Result<()> {
        Ok(())
    }

    /// Loads what takes time and other services need, such as models. It is called also where the service is off, and
    /// not where a component is only checked.
    ///
    /// # Errors
    /// Why the host cannot start, and which setting mends it.
    fn load<'a>(&'a self, _context: &'a Context) -> Step<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Adds to a slot's resources what it offers to the guests of every slot, those of other services among them.
    ///
    /// # Errors
    /// Only when a list of metric families is at fault.
    fn lend(
        &self,
        _context: &Context,
        _settings: &SlotSettings,
        _resources: &mut SlotResources,
    ) -> anyhow::Result<()> {
        Ok(())
    }

    /// Starts it. It is called only where the service is on.
    ///
    /// # Errors
    /// Why the host cannot start, and which setting mends it.
    fn start<'a>(&'a self, context: &'a Context) -> Step<'a, Started>;

    /// Checks a component of one of its slots without serving or writing anything.
    ///
    /// # Errors
    /// Everything that is wrong with it as [`MayNotAnswer`]; else why it cannot be checked.
    fn check<'a>(
        &'a self,
        _context: &'a Context,
        slot: SlotId,
        _wasm: Arc<[u8]>,
    ) -> Step<'a, ComponentDigest> {
        Box::pin(async move { Err(not_owned(slot)) })
    }
}

/// Returns the error of a check for a slot that no service has.
pub fn not_owned(slot: SlotId) -> anyhow::Error {
    anyhow::anyhow!("no service of this host owns the slot {slot}")
}
