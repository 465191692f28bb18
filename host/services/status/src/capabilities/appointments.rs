//! `bulkhead:status/appointments`: raw figures of the appointment system, from memory.

use bulkhead_appointments::{
    Collection, Collector, Database, Department, Figures, Lacking, Mail, Moment, Processes, Scope, Section,
    Sessions, Slots, Sources,
};
use bulkhead_runtime::capabilities::{Access::Read, Capabilities, Capability, Interface};
use wasmtime::component::HasSelf;

use self::bindings::bulkhead::status::appointments::{self as wit, Error};

/// Bindings of the interface.
#[allow(missing_docs)]
pub mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package bulkhead:slot;
            world offered {
                import bulkhead:status/appointments@0.1.1;
            }
        ",
        path: "../../../wit/status",
        world: "bulkhead:slot/offered",
        imports: { default: trappable },
    });
}

/// `bulkhead:status/appointments`, over the slot's [`Collector`].
#[derive(Clone, Copy, Debug)]
pub struct AppointmentsCapability;

impl Capability for AppointmentsCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[APPOINTMENTS]
    }
}

/// The functions that read figures.
const APPOINTMENTS: Interface = Interface {
    name: "bulkhead:status/appointments",
    version: "0.1.1",
    is_general: false,
    functions: &[("read", Read), ("read-partial", Read)],
    add_to_linker: |instance| {
        wit::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

impl wit::Host for Capabilities {
    fn read(&mut self, statistics: bool) -> wasmtime::Result<Result<wit::Figures, Error>> {
        let request = if statistics { "all figures" } else { "figures" };
        Ok(read_figures(self, request, |collector| without_partial(collector.figures(statistics))))
    }

    fn read_partial(&mut self, statistics: bool) -> wasmtime::Result<Result<wit::PartialFigures, Error>> {
        let request = if statistics { "all partial figures" } else { "partial figures" };
        Ok(read_figures(self, request, |collector| collector.figures(statistics).into()))
    }
}

/// Reads from the collector, or replays the recorded answer.
fn read_figures<T>(
    capabilities: &Capabilities,
    request: &str,
    read: impl FnOnce(&Collector) -> T,
) -> Result<T, Error>
where
    T: Clone + std::fmt::Debug + Send + 'static,
{
    let unavailable = || Error::Unavailable("this slot's service reads no appointment system".into());
    let collector = capabilities.resources.get::<Collector>();
    let key = capabilities.shadow.key(request);
    capabilities.shadow.replay_or(key, || collector.map(read).ok_or_else(unavailable))
}

/// Removes the sections that lack a figure.
fn without_partial(mut figures: Figures) -> wit::Figures {
    figures.processes = figures.processes.filter(|processes| processes.external_user_ids.is_some());
    figures.slots = figures.slots.filter(|slots| slots.outdated.is_some());
    wit::PartialFigures::from(figures).figures
}

impl From<Figures> for wit::PartialFigures {
    fn from(figures: Figures) -> Self {
        Self {
            figures: wit::Figures {
                now: figures.now.into(),
                database: figures.database.map(wit::Database::from),
                processes: figures.processes.map(wit::Processes::from),
                slots: figures.slots.map(wit::Slots::from),
                mail: figures.mail.map(wit::Mail::from),
                sources: figures.sources.map(wit::Sources::from),
                sessions: figures.sessions.map(wit::Sessions::from),
                collections: figures.collections.into_iter().map(wit::Collection::from).collect(),
            },
            lacking: figures.lacking.into_iter().map(wit::Lacking::from).collect(),
        }
    }
}

impl From<Lacking> for wit::Lacking {
    fn from(lacking: Lacking) -> Self {
        match lacking {
            Lacking::OutdatedSlots => Self::OutdatedSlots,
            Lacking::ExternalUserIds => Self::ExternalUserIds,
        }
    }
}

impl From<Moment> for wit::Moment {
    fn from(Moment { text, unix_seconds }: Moment) -> Self {
        Self { text, unix_seconds }
    }
}

impl From<Section> for wit::Section {
    fn from(section: Section) -> Self {
        match section {
            Section::Database => Self::Database,
            Section::Processes => Self::Processes,
            Section::Slots => Self::Slots,
            Section::Mail => Self::Mail,
            Section::Sources => Self::Sources,
            Section::Sessions => Self::Sessions,
        }
    }
}

impl From<Collection> for wit::Collection {
    fn from(collection: Collection) -> Self {
        let Collection { section, succeeded_at, duration_seconds, error, successes, failures } = collection;
        Self { section: section.into(), succeeded_at, duration_seconds, error, successes, failures }
    }
}

impl From<Database> for wit::Database {
    fn from(database: Database) -> Self {
        let sizes = database.size_settings.into_iter();
        Self {
            connections: database.connections,
            connection_limit: database.connection_limit,
            lock_waits: database.lock_waits,
            cluster_ready: database.cluster_ready,
            replication_log: database.replication_log,
            size_settings: sizes.map(|(name, bytes)| wit::SizeSetting { name, bytes }).collect(),
        }
    }
}

impl From<Processes> for wit::Processes {
    fn from(processes: Processes) -> Self {
        let linked = processes.external_user_ids.unwrap_or_default();
        Self {
            total: processes.total,
            blocked: processes.blocked,
            called: processes.called,
            confirmed: processes.confirmed,
            deleted: processes.deleted,
            missed: processes.missed,
            parked: processes.parked,
            pending: processes.pending,
            reserved: processes.reserved,
            preconfirmed: processes.preconfirmed,
            queued: processes.queued,
            processing: processes.processing,
            with_external_user_id: linked.all,
            confirmed_with_external_user_id: linked.confirmed,
            since_midnight: processes.since_midnight,
            last_seven_days: processes.last_seven_days,
            last_insert: processes.last_insert.map(wit::Moment::from),
        }
    }
}

impl From<Slots> for wit::Slots {
    fn from(Slots { outdated, outdated_oldest, free }: Slots) -> Self {
        Self {
            outdated: outdated.unwrap_or(0),
            outdated_oldest: outdated_oldest.map(wit::Moment::from),
            free,
        }
    }
}

impl From<Mail> for wit::Mail {
    fn from(Mail { queued, oldest_seconds, newest_seconds }: Mail) -> Self {
        Self { queued, oldest_seconds, newest_seconds }
    }
}

impl From<Sources> for wit::Sources {
    fn from(Sources { last_import, last_calculation }: Sources) -> Self {
        Self {
            last_import: last_import.map(wit::Moment::from),
            last_calculation: last_calculation.map(wit::Moment::from),
        }
    }
}

impl From<Sessions> for wit::Sessions {
    fn from(Sessions { active, departments }: Sessions) -> Self {
        let scope = |Scope { id, name, active_sessions }| wit::Scope { id, name, active_sessions };
        let department = |Department { id, name, scopes }| wit::Department {
            id,
            name,
            scopes: scopes.into_iter().map(scope).collect(),
        };
        Self { active, departments: departments.into_iter().map(department).collect() }
    }
}
