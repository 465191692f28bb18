//! `bulkhead:status/appointments`: raw figures of the appointment system, from memory.

use wasmtime::component::HasSelf;

use self::bindings::bulkhead::status::appointments::{self as wit, Error};
use crate::{
    appointments::{self, Collector, Lacking, Snapshot},
    capabilities::{Access::Read, Capabilities, Capability, Interface},
};

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
        path: ["../wit/deps/logging", "../wit/status"],
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

/// What is known of the appointment system.
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
        Ok(look(self, request, |collector| whole(&collector.snapshot(statistics), collector)))
    }

    fn read_partial(&mut self, statistics: bool) -> wasmtime::Result<Result<wit::PartialFigures, Error>> {
        let request = if statistics { "all partial figures" } else { "partial figures" };
        Ok(look(self, request, |collector| partial(&collector.snapshot(statistics), collector)))
    }
}

fn look<T>(capabilities: &Capabilities, request: &str, read: impl FnOnce(&Collector) -> T) -> Result<T, Error>
where
    T: Clone + std::fmt::Debug + Send + 'static,
{
    let unavailable = || Error::Unavailable("this slot's service reads no appointment system".into());
    let collector = capabilities.resources.get::<Collector>();
    let key = capabilities.shadow.key(request);
    capabilities.shadow.replay_or(key, || collector.map(read).ok_or_else(unavailable))
}

/// Without the sections that lack a figure.
fn whole(snapshot: &Snapshot, collector: &Collector) -> wit::Figures {
    let is_whole = |processes: &&appointments::Processes| processes.external_user_ids.is_some();
    let is_dated = |slots: &&appointments::Slots| slots.outdated.is_some();
    wit::Figures {
        processes: snapshot.processes().filter(is_whole).map(processes),
        slots: snapshot.slots().filter(is_dated).map(slots),
        ..partial(snapshot, collector).figures
    }
}

fn partial(snapshot: &Snapshot, collector: &Collector) -> wit::PartialFigures {
    let figures = wit::Figures {
        now: moment(&snapshot.now),
        database: snapshot.database().map(database),
        processes: snapshot.processes().map(processes),
        slots: snapshot.slots().map(slots),
        mail: snapshot.mail().map(mail),
        sources: snapshot.sources().map(sources),
        sessions: snapshot.sessions().map(sessions),
        collections: collector.collections().into_iter().map(collection).collect(),
    };
    let lacking = |lacking| match lacking {
        Lacking::OutdatedSlots => wit::Lacking::OutdatedSlots,
        Lacking::ExternalUserIds => wit::Lacking::ExternalUserIds,
    };
    wit::PartialFigures { figures, lacking: snapshot.lacking().into_iter().map(lacking).collect() }
}

fn moment(moment: &appointments::Moment) -> wit::Moment {
    wit::Moment { text: moment.text.clone(), unix_seconds: moment.unix_seconds }
}

fn collection(collection: appointments::Collection) -> wit::Collection {
    let section = match collection.section {
        appointments::Section::Database => wit::Section::Database,
        appointments::Section::Processes => wit::Section::Processes,
        appointments::Section::Slots => wit::Section::Slots,
        appointments::Section::Mail => wit::Section::Mail,
        appointments::Section::Sources => wit::Section::Sources,
        appointments::Section::Sessions => wit::Section::Sessions,
    };
    wit::Collection {
        section,
        succeeded_at: collection.succeeded_at,
        duration_seconds: collection.took.map(|took| took.as_secs_f64()),
        error: collection.error.map(str::to_owned),
        successes: collection.successes,
        failures: collection.failures,
    }
}

fn database(section: &appointments::Database) -> wit::Database {
    let sizes = section.size_settings.iter();
    let size = |setting: &appointments::SizeSetting| wit::SizeSetting {
        name: setting.name.clone(),
        bytes: setting.bytes,
    };
    wit::Database {
        connections: section.connections,
        connection_limit: section.connection_limit,
        lock_waits: section.lock_waits,
        cluster_ready: section.cluster_ready,
        replication_log: section.replication_log,
        size_settings: sizes.map(size).collect(),
    }
}

fn processes(section: &appointments::Processes) -> wit::Processes {
    let linked = section.external_user_ids.unwrap_or_default();
    wit::Processes {
        total: section.total,
        blocked: section.blocked,
        called: section.called,
        confirmed: section.confirmed,
        deleted: section.deleted,
        missed: section.missed,
        parked: section.parked,
        pending: section.pending,
        reserved: section.reserved,
        preconfirmed: section.preconfirmed,
        queued: section.queued,
        processing: section.processing,
        with_external_user_id: linked.all,
        confirmed_with_external_user_id: linked.confirmed,
        since_midnight: section.since_midnight,
        last_seven_days: section.last_seven_days,
        last_insert: section.last_insert.as_ref().map(moment),
    }
}

fn slots(section: &appointments::Slots) -> wit::Slots {
    wit::Slots {
        outdated: section.outdated.unwrap_or(0),
        outdated_oldest: section.outdated_oldest.as_ref().map(moment),
        free: section.free,
    }
}

fn mail(section: &appointments::Mail) -> wit::Mail {
    let appointments::Mail { queued, oldest_seconds, newest_seconds } = *section;
    wit::Mail { queued, oldest_seconds, newest_seconds }
}

fn sources(section: &appointments::Sources) -> wit::Sources {
    wit::Sources {
        last_import: section.last_import.as_ref().map(moment),
        last_calculation: section.last_calculation.as_ref().map(moment),
    }
}

fn sessions(section: &appointments::Sessions) -> wit::Sessions {
    let scope = |scope: &appointments::Scope| wit::Scope {
        id: scope.id,
        name: scope.name.clone(),
        active_sessions: scope.active_sessions,
    };
    let department = |department: &appointments::Department| wit::Department {
        id: department.id,
        name: department.name.clone(),
        scopes: department.scopes.iter().map(scope).collect(),
    };
    wit::Sessions {
        active: section.active,
        departments: section.departments.iter().map(department).collect(),
    }
}
