//! Reads and stores the tables of services.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    sync::Arc,
};

use super::{reader::Reader, server::Server, services::Services};

/// A table at the top of the configuration that a service reads.
pub trait ServiceTable: Any + Clone + Send + Sync {
    /// Its name in the configuration.
    const NAME: &'static str;
    /// Paths in dotted form whose members are chosen names, not keys.
    const CHOSEN_NAMES: &'static [&'static str] = &[];
    /// Keys in dotted form that name a settings file, whose content counts as the value.
    const SETTINGS_FILES: &'static [&'static str] = &[];

    /// Reads the table; `context` has the tables that were read before it.
    fn read(reader: &mut Reader, context: &mut Context<'_>) -> Self;
}

/// How one table is read, and which of its paths need special treatment.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec {
    /// The table's name in the configuration.
    pub name: &'static str,
    /// See [`ServiceTable::CHOSEN_NAMES`].
    pub chosen_names: &'static [&'static str],
    /// See [`ServiceTable::SETTINGS_FILES`].
    pub settings_files: &'static [&'static str],
    read: fn(&mut Reader, &mut Context<'_>),
}

impl TableSpec {
    /// Describes the table of type `T`.
    pub const fn of<T: ServiceTable>() -> Self {
        Self {
            name: T::NAME,
            chosen_names: T::CHOSEN_NAMES,
            settings_files: T::SETTINGS_FILES,
            read: read::<T>,
        }
    }

    /// Reads the table and keeps it in the context.
    pub(super) fn read(&self, reader: &mut Reader, context: &mut Context<'_>) {
        (self.read)(reader, context);
    }
}

fn read<T: ServiceTable>(reader: &mut Reader, context: &mut Context<'_>) {
    let table = T::read(reader, context);
    context.tables.insert(table);
}

/// The context in which a table is read.
pub struct Context<'c> {
    server: &'c Server,
    services: &'c Services,
    environment: &'c [(String, String)],
    tables: Tables,
    listeners: Vec<(&'static str, SocketAddr)>,
}

impl<'c> Context<'c> {
    /// Begins with no table read.
    pub(super) fn new(
        server: &'c Server,
        services: &'c Services,
        environment: &'c [(String, String)],
    ) -> Self {
        Self { server, services, environment, tables: Tables::default(), listeners: Vec::new() }
    }

    /// Returns a table that has been read before this one.
    ///
    /// # Errors
    /// When it is read later, or not at all.
    pub fn table<T: ServiceTable>(&self) -> Result<&T, MissingTable> {
        self.tables.get()
    }

    /// Returns the environment variables, sorted by name.
    pub fn environment(&self) -> &'c [(String, String)] {
        self.environment
    }

    /// Returns the address at which a service is served.
    pub fn address(&self, service: &str) -> SocketAddr {
        self.services.get(service).listen.unwrap_or(self.server.listen)
    }

    /// Reports that `service` opens a listener of its own where it is on; `key` sets the address.
    pub fn opens(&mut self, service: &str, key: &'static str, address: SocketAddr) {
        if self.services.get(service).enabled {
            self.listeners.push((key, address));
        }
    }

    /// Returns every table that was read, and every listener that was reported.
    pub(super) fn finish(self) -> (Tables, Vec<(&'static str, SocketAddr)>) {
        (self.tables, self.listeners)
    }
}

/// A table that a configuration was read without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration was read without the table `{0}`; name its type in the host's list of tables")]
pub struct MissingTable(&'static str);

/// Tables of services, one of each type.
#[derive(Clone, Default)]
pub(super) struct Tables(BTreeMap<TypeId, StoredTable>);

#[derive(Clone)]
struct StoredTable {
    name: &'static str,
    table: Arc<dyn Any + Send + Sync>,
}

impl Tables {
    fn insert<T: ServiceTable>(&mut self, table: T) {
        self.0.insert(TypeId::of::<T>(), StoredTable { name: T::NAME, table: Arc::new(table) });
    }

    /// Returns the table of a type.
    pub(super) fn get<T: ServiceTable>(&self) -> Result<&T, MissingTable> {
        let stored = self.0.get(&TypeId::of::<T>());
        stored.and_then(|stored| stored.table.downcast_ref()).ok_or(MissingTable(T::NAME))
    }

    /// Changes the table of a type; clones of these tables keep it as it was.
    pub(super) fn edit<T: ServiceTable>(&mut self, edit: impl FnOnce(&mut T)) -> Result<(), MissingTable> {
        let mut table: T = self.get::<T>()?.clone();
        edit(&mut table);
        self.insert(table);
        Ok(())
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names only: a table may hold secrets.
        f.debug_set().entries(self.0.values().map(|stored| stored.name)).finish()
    }
}
