//! The trait that a service implements, and the context that a host starts it with.

mod command;
mod context;
mod finding;
mod health;
mod page;
mod registrar;
mod routes;
pub mod single_flight;
mod started;

use std::{path::PathBuf, sync::Arc};

use bulkhead_config::{
    Config, ServiceSpec,
    alias::Aliases,
    secret::Secret,
    slots::{Limits, SlotId, SlotSettings},
    tables::{MissingTable, TableSpec},
};
use bulkhead_runtime::capabilities::{CapabilitySet, SlotResources};
use bulkhead_runtime::compile::ComponentDigest;
use bulkhead_runtime::slots::{AuthorFiles, ServedWorld, SlotWorld};
use futures_util::future::LocalBoxFuture;

pub use self::{
    command::{CommandSpec, FlagsSpec, ServiceCommand, ServiceFlags},
    context::{ComponentCheckError, Extensions, SECRETS_DIR, ServiceContext, SlotStarts, check_component},
    finding::{MachineFinding, Severity},
    health::{DatabaseState, FailedCheck, Generations, HostHealth, ReadyReport, WatchedDatabase},
    page::{PageEntry, PageForm, PageGuide},
    registrar::MetricRegistrar,
    routes::{ListenerSettings, Routes, RoutesError},
    started::{Close, ServedAt, Started},
};

/// The services of a binary, in the order in which they are started and listed.
pub type ServiceList = &'static [&'static dyn Service];

/// The future of a method of [`Service`]. It runs on the task that starts the host, so it need not be `Send`.
pub type ServiceFuture<'a, T> = LocalBoxFuture<'a, anyhow::Result<T>>;

/// A database that a service offers for the state that hosts share.
#[derive(Clone, Debug)]
pub struct SharedDatabase {
    /// URL of a PostgreSQL database.
    pub url: Secret,
    /// The setting that names the database, for errors.
    pub setting: &'static str,
}

/// A service of a host. The value has no state: the state of a running service is in the [`ServiceContext`], or was returned
/// by [`Service::start`].
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

    /// Returns the names of its keys in the systems that it replaces.
    fn aliases(&self) -> Aliases {
        Aliases::NONE
    }

    /// Returns the worlds that the components of its slots implement.
    fn worlds(&self) -> &'static [SlotWorld] {
        &[]
    }

    /// Returns the worlds of components that it serves without a slot of its own.
    fn served_worlds(&self) -> &'static [ServedWorld] {
        &[]
    }

    /// Returns the WIT of its worlds and interfaces, and templates of components.
    fn author_files(&self) -> AuthorFiles {
        AuthorFiles::NONE
    }

    /// Returns its sets of metrics, which are registered even where the service is off.
    fn metrics(&self) -> &'static [MetricRegistrar] {
        &[]
    }

    /// Returns the subcommands that it adds to the command line of the binary. They are offered also where the service is
    /// off.
    fn commands(&self) -> &'static [CommandSpec] {
        &[]
    }

    /// Returns the flags that it adds to the subcommand `serve`.
    fn serve_flags(&self) -> &'static [FlagsSpec] {
        &[]
    }

    /// Adds its capabilities to those that guests of the host may import. They are offered also where the service is off.
    fn add_capabilities(&self, capabilities: CapabilitySet) -> CapabilitySet {
        capabilities
    }

    /// Checks what the configuration names outside of its own table, such as files, as the start would. `services` are those
    /// of the binary. It is called only where the service is on. Returns warnings, each of which begins with its key.
    ///
    /// # Errors
    /// Why the host would not start, and which setting to change.
    fn check_files(&self, _config: &Config, _services: ServiceList) -> anyhow::Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Checks on this machine, for the command `doctor`, what the service needs and no other check covers, such as models.
    /// Nothing is started and nothing is written. It is called even where the service is off.
    fn examine(&self, _config: &Config) -> Vec<MachineFinding> {
        Vec::new()
    }

    /// Adds the settings of `--demo` to the configuration.
    ///
    /// # Errors
    /// When the configuration was read without a table of the service.
    fn add_demo(&self, _config: &mut Config) -> Result<(), MissingTable> {
        Ok(())
    }

    /// Returns folders whose files a bundle carries to a site without a network, such as models, each with a name of its own in
    /// the bundle. Entries whose name begins with a dot are left out.
    ///
    /// # Errors
    /// When the configuration was read without a table of the service.
    fn bundled_folders(&self, _config: &Config) -> Result<Vec<(&'static str, PathBuf)>, MissingTable> {
        Ok(Vec::new())
    }

    /// Returns its database for the state that hosts share, if the configured one is suitable.
    fn shared_database(&self, _config: &Config) -> Option<SharedDatabase> {
        None
    }

    /// Returns whether it has slots that only the configuration names, so that any slot id may be one of a host.
    fn adds_slots(&self) -> bool {
        false
    }

    /// Returns the limits of the slots that it may add while it runs, one for each: the instance pool gets room for their
    /// calls. It is called only where the service is on.
    fn reserved_limits(&self, _config: &Config) -> Vec<Limits> {
        Vec::new()
    }

    /// Returns its entry on the start page.
    fn page_entry(&self, _config: &Config) -> PageEntry {
        PageEntry::default()
    }

    /// Inserts into [`ServiceContext::extensions`] what other services need, before any of them loads. It is called even
    /// where the service is off, and before a component is checked.
    ///
    /// # Errors
    /// The reason why the host cannot start, and the setting that fixes it.
    fn prepare(&self, _context: &ServiceContext) -> anyhow::Result<()> {
        Ok(())
    }

    /// Loads what other services need and takes time to load, such as models. It is called even where the service is off,
    /// but not where a component is only checked.
    ///
    /// # Errors
    /// The reason why the host cannot start, and the setting that fixes it.
    fn load<'a>(&'a self, _context: &'a ServiceContext) -> ServiceFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Adds to a slot's resources what the service provides to the guests of every slot, including slots of other
    /// services.
    ///
    /// # Errors
    /// When a metric family is wrong.
    fn provide(
        &self,
        _context: &ServiceContext,
        _settings: &SlotSettings,
        _resources: &mut SlotResources,
    ) -> anyhow::Result<()> {
        Ok(())
    }

    /// Starts the service. It is called only where the service is on. Nothing is served before every service has started;
    /// what takes long may go on afterwards, as [`ServiceContext::deploy`] does.
    ///
    /// # Errors
    /// The reason why the host cannot start, and the setting that fixes it.
    fn start<'a>(&'a self, context: &'a ServiceContext) -> ServiceFuture<'a, Started>;

    /// Checks a component of one of its slots without serving or writing anything.
    ///
    /// # Errors
    /// Everything that is wrong with it as [`ComponentCheckError`]; else the reason why it cannot be checked.
    fn check<'a>(
        &'a self,
        _context: &'a ServiceContext,
        slot: SlotId,
        _wasm: Arc<[u8]>,
    ) -> ServiceFuture<'a, ComponentDigest> {
        Box::pin(async move { Err(not_owned(slot)) })
    }
}

/// Returns the error for a check of a slot that no service has.
pub fn not_owned(slot: SlotId) -> anyhow::Error {
    anyhow::anyhow!(
        "this host has no slot {slot}: no service owns it, and the configuration adds none of this name"
    )
}
