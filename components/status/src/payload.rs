//! The status payload in its two spellings.
//!
//! Members and their order are those of the replaced server. Its numbers come from a database driver, so that a sum
//! is text while a count is a number, and empty values are left out. [`Wire::Legacy`] does the same, value for value;
//! [`Wire::Typed`] follows the published schema and has more members.

use bulkhead_status_figures::{Database, Department, Figures, Mail, Processes, Sessions, Slots, Sources};

use crate::{
    error::Error,
    json::{Json, Object},
    version,
};

/// The schema that the payload refers to.
pub const SCHEMA: &str = "https://schema.berlin.de/queuemanagement/status.json";

/// Spelling of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// As in the published schema.
    Typed,
    /// As the replaced server wrote them.
    Legacy,
}

impl Wire {
    /// Returns a sum or a server variable: text in the legacy spelling.
    fn number(self, number: u64) -> Json {
        match self {
            Self::Typed => number.into(),
            Self::Legacy => number.to_string().into(),
        }
    }

    /// Returns an empty figure as 0, or leaves it out in the legacy spelling.
    fn or_zero<T: Default>(self, figure: Option<T>) -> Option<T> {
        match self {
            Self::Typed => Some(figure.unwrap_or_default()),
            Self::Legacy => figure,
        }
    }

    fn is_typed(self) -> bool {
        self == Self::Typed
    }
}

/// Returns the payload's JSON text, and the Unix seconds at which the oldest of its figures were collected.
///
/// # Errors
///
/// Fails when no section is known.
pub fn payload(figures: &Figures, wire: Wire, version: &str) -> Result<(String, f64), Error> {
    let collected_at = figures
        .collected_at()
        .ok_or_else(|| Error::Unknown("no figures of the appointment system are known".into()))?;
    let mut data = Object::default();
    data.put("$schema", SCHEMA);
    if let Some(section) = &figures.database {
        data.put("database", database(section, wire));
    }
    data.put_filled("processes", processes(figures, wire));
    if let Some(section) = &figures.mail {
        data.put("mail", mail(section, wire));
    }
    if let Some(Sources { last_import: Some(last), .. }) = &figures.sources {
        let mut dldb = Object::default();
        dldb.put("last", last.text.as_str());
        let mut sources = Object::default();
        sources.put("dldb", dldb);
        data.put("sources", sources);
    }
    if let Some(section) = &figures.sessions {
        data.put("useraccounts", accounts(section, wire));
    }
    data.put("version", deployed(version, wire));
    Ok((data.text(), collected_at))
}

fn database(section: &Database, wire: Wire) -> Object {
    let on = |state: bool| if state { "ON" } else { "OFF" };
    let ratio = section.connection_ratio();
    let mut object = Object::default();
    object.put("nodeConnections", ratio);
    if wire.is_typed() {
        object.put("nodeConnectionsPercent", (ratio * 100.0).round());
    }
    object.put("clusterStatus", on(section.cluster_ready == Some(true)));
    object.put("logbin", on(section.replication_log));
    object.put("problems", section.problems());
    object.put("locks", wire.number(section.lock_waits));
    object.put("threads", wire.number(section.connections));
    object
}

/// Returns appointments, slots and their last calculation, which is known without statistics too.
fn processes(figures: &Figures, wire: Wire) -> Object {
    let mut object = Object::default();
    if let Some(section) = &figures.processes {
        put_counters(&mut object, section, wire);
    }
    if let Some(section) = &figures.slots {
        put_slots(&mut object, section, wire);
    }
    let last = figures.sources.as_ref().and_then(|sources| sources.last_calculation.as_ref());
    if let Some(last) = last {
        object.put("lastCalculate", last.text.as_str());
        if wire.is_typed() {
            object.put("lastCalculateSlot", last.text.as_str());
        }
    }
    object
}

fn put_counters(object: &mut Object, section: &Processes, wire: Wire) {
    for (status, count) in section.counted() {
        object.put(status, wire.number(count));
    }
    if wire.is_typed() {
        for (status, count) in section.uncounted() {
            object.put(status, count);
        }
        object.put("total", section.total);
    }
    if let Some(linked) = section.external_user_ids {
        object.put("withExternalUserId", wire.number(linked.all));
        object.put("confirmedWithExternalUserId", wire.number(linked.confirmed));
    }
    // In the old server, sums over no rows are absent and counters over no rows are 0.
    let rows = (section.total > 0).then_some(());
    let sum = |figure: u64| wire.or_zero(rows.map(|()| figure)).map(|figure| wire.number(figure));
    object.put_some("sinceMidnight", sum(section.since_midnight));
    object.put_some("last7days", sum(section.last_seven_days));
    if let Some(last) = &section.last_insert {
        object.put("lastInsert", last.text.as_str());
        if wire.is_typed() {
            object.put_some("lastInsertTimestamp", last.unix_seconds);
        }
    }
}

fn put_slots(object: &mut Object, section: &Slots, wire: Wire) {
    object.put_some("outdated", section.outdated);
    object.put_some("outdatedOldest", section.outdated_oldest.as_ref().map(|oldest| oldest.text.as_str()));
    object.put_some("freeSlots", wire.or_zero(section.free).map(|free| wire.number(free)));
}

fn mail(section: &Mail, wire: Wire) -> Object {
    let mut object = Object::default();
    object.put("queueCount", section.queued);
    object.put_some("oldestSeconds", wire.or_zero(section.oldest_seconds));
    object.put_some("newestSeconds", wire.or_zero(section.newest_seconds));
    object
}

fn accounts(section: &Sessions, wire: Wire) -> Object {
    let mut departments = Object::default();
    for department in &section.departments {
        departments.put(department.id.to_string(), members_of(department, wire));
    }
    let mut object = Object::default();
    object.put("activeSessions", section.active);
    match wire {
        Wire::Typed => object.put("departments", departments),
        Wire::Legacy => object.put_filled("departments", departments),
    }
    object
}

fn members_of(department: &Department, wire: Wire) -> Object {
    let mut scopes = Object::default();
    for scope in &department.scopes {
        let mut object = Object::default();
        object.put("activeSessions", scope.active_sessions);
        object.put_some("name", scope.name.as_deref());
        scopes.put(scope.id.to_string(), object);
    }
    if department.scopes.is_empty() && wire == Wire::Legacy {
        // The old server's outer join has a row without a scope, under an empty key and without a name.
        let mut unassigned = Object::default();
        unassigned.put("activeSessions", 0_u64);
        scopes.put("", unassigned);
    }
    let mut object = Object::default();
    object.put("activeSessions", department.active_sessions());
    object.put_some("name", department.name.as_deref());
    object.put("scopes", scopes);
    object
}

fn deployed(version: &str, wire: Wire) -> Object {
    let mut object = Object::default();
    for (name, part) in ["major", "minor", "patch"].into_iter().zip(version::parts(version)) {
        object.put(name, if wire.is_typed() { version::typed(part) } else { part.into() });
    }
    object
}
