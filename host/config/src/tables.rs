//! Reads and stores the tables of services.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    sync::Arc,
};

use super::{
    reader::Reader,
    registries::Registry,
    server::Server,
    services::Services,
    slots::{
        Offers, SlotId, SlotSettings, SlotSpec,
        slot_id::{MAX_SLOTS, RESERVED},
    },
};

/// A table at the top of the configuration that a service reads.
pub trait ServiceTable: Any + Clone + Send + Sync {
    /// Its name in the configuration.
    const NAME: &'static str;
    /// Paths in dotted form whose members are chosen names, not keys.
    const CHOSEN_NAMES: &'static [&'static str] = &[];
    /// Whether its members are slots by their ids: as in `[slots.NAME]`, `_` in an environment variable means a dash there.
    const HAS_SLOTS: bool = false;
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
    /// See [`ServiceTable::HAS_SLOTS`].
    pub has_slots: bool,
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
            has_slots: T::HAS_SLOTS,
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
    read: ReadBefore<'c>,
    tables: Tables,
    listeners: Vec<(String, SocketAddr)>,
    slots: Vec<SlotSettings>,
}

/// What is read before the tables of services.
#[derive(Clone, Copy)]
pub(super) struct ReadBefore<'c> {
    pub(super) offers: Offers<'c>,
    pub(super) server: &'c Server,
    pub(super) services: &'c Services,
    pub(super) registries: &'c [Registry],
    pub(super) environment: &'c [(String, String)],
}

/// What the tables of services hold, and what they have reported while they were read.
pub(super) struct ReadTables {
    pub(super) tables: Tables,
    /// Listeners by the keys that set their addresses.
    pub(super) listeners: Vec<(String, SocketAddr)>,
    /// Slots that services add.
    pub(super) slots: Vec<SlotSettings>,
}

impl<'c> Context<'c> {
    /// Begins with no table read.
    pub(super) fn new(read: ReadBefore<'c>) -> Self {
        Self { read, tables: Tables::default(), listeners: Vec::new(), slots: Vec::new() }
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
        self.read.environment
    }

    /// Returns the address at which a service is served.
    pub fn address(&self, service: &str) -> SocketAddr {
        self.read.services.get(service).listen.unwrap_or(self.read.server.listen)
    }

    /// Returns the largest request body where a service names no smaller one, bytes.
    pub fn body_bytes(&self) -> usize {
        self.read.server.body_bytes
    }

    /// Returns the path prefixes of the services that are on, each with its service and the address that serves it. Services
    /// without a prefix are left out.
    pub fn path_prefixes(&self) -> impl Iterator<Item = (&'static str, SocketAddr, &str)> {
        let shared = self.read.server.listen;
        let services = self.read.services.each();
        let used = services.filter(|(_, service)| service.enabled && !service.path_prefix.is_empty());
        used.map(move |(name, service)| {
            (name, service.listen.unwrap_or(shared), service.path_prefix.as_str())
        })
    }

    /// Reports that `service` opens a listener of its own where it is on; `key` sets the address.
    pub fn opens(&mut self, service: &str, key: impl Into<String>, address: SocketAddr) {
        if self.read.services.get(service).enabled {
            self.listeners.push((key.into(), address));
        }
    }

    /// Returns the id of a slot that `service` adds while the host runs.
    ///
    /// # Errors
    /// What is wrong with the name: it is not a slot id, is reserved, or is that of another slot or of another service.
    pub fn slot_id(&self, service: &str, name: &str) -> Result<SlotId, String> {
        let id = SlotId::parse(name).map_err(|error| error.to_string())?;
        if RESERVED.contains(&name) {
            return Err("is a name that the audit log of the host uses; choose another one".to_owned());
        }
        let offers = self.read.offers;
        if offers.slots().any(|slot| slot.id == id) || self.slots.iter().any(|slot| slot.id() == id) {
            return Err("has the name of a slot of this host; choose another one".to_owned());
        }
        if offers.services.iter().any(|other| other.name == name && other.name != service) {
            return Err("has the name of a service of this host; choose another one".to_owned());
        }
        if offers.slots().count() + self.slots.len() >= MAX_SLOTS {
            return Err(format!(
                "comes after {MAX_SLOTS} slots in the order of names, and a host takes no more; remove this one or another"
            ));
        }
        Ok(id)
    }

    /// Reads the keys of a slot in the current table of `reader`, which is one of `table`, for a service that adds the slot
    /// while the host runs. A reload then applies changes of the settings like those of `[slots.NAME]`.
    pub fn slot(&mut self, reader: &mut Reader, spec: SlotSpec, table: &'static str) -> SlotSettings {
        let slot = SlotSettings::read_keys(reader, &spec, table, self.read.offers, "none: push one");
        if let Some(text) = slot.registry_fault(self.read.registries) {
            reader.problem("component", text);
        }
        self.slots.push(slot.clone());
        slot
    }

    /// Returns every table that was read, and what they have reported.
    pub(super) fn finish(self) -> ReadTables {
        let Self { tables, listeners, slots, .. } = self;
        ReadTables { tables, listeners, slots }
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
