//! What a section holds.

use super::Moment;

/// A group of figures that is collected at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Section {
    Database,
    Processes,
    Slots,
    Mail,
    Sources,
    Sessions,
}

impl Section {
    /// Every section, the cheap ones first, for they are collected in this order.
    pub const ALL: [Self; 6] =
        [Self::Database, Self::Sources, Self::Mail, Self::Sessions, Self::Slots, Self::Processes];

    /// Its name in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Processes => "processes",
            Self::Slots => "slots",
            Self::Mail => "mail",
            Self::Sources => "sources",
            Self::Sessions => "sessions",
        }
    }

    /// Whether collecting it scans a large table.
    pub const fn is_statistics(self) -> bool {
        matches!(self, Self::Processes | Self::Slots)
    }
}

/// The figures of one section.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Figures {
    Database(Database),
    Processes(Processes),
    Slots(Slots),
    Mail(Mail),
    Sources(Sources),
    Sessions(Sessions),
}

/// A setting of the server whose value is a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeSetting {
    /// Its name.
    pub name: String,
    /// Its value, bytes.
    pub bytes: u64,
}

/// The database server, seen from the node that answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Open connections.
    pub connections: u64,
    /// Most connections there may be.
    pub connection_limit: Option<u64>,
    /// Locks that somebody waits for.
    pub lock_waits: u64,
    /// Whether the node is ready in a cluster; `None` where the server knows no clusters.
    pub cluster_ready: Option<bool>,
    /// Whether the server writes a log that a replica could follow.
    pub replication_log: bool,
    /// Sizes that matter for the system's queries.
    pub size_settings: Vec<SizeSetting>,
    /// Figures that the tables have no column for.
    pub lacking: Vec<Lacking>,
}

/// Figures that need a column which older releases of the appointment system do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacking {
    /// [`Slots::outdated`] and its oldest change.
    OutdatedSlots,
    /// [`Processes::external_user_ids`].
    ExternalUserIds,
}

/// Appointments that are linked to a citizen's account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalUserIds {
    /// Of any status.
    pub all: u64,
    /// Confirmed ones.
    pub confirmed: u64,
}

/// Appointments; one that takes several slots counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Processes {
    pub total: u64,
    pub blocked: u64,
    pub called: u64,
    pub confirmed: u64,
    pub deleted: u64,
    pub missed: u64,
    pub parked: u64,
    pub pending: u64,
    pub reserved: u64,
    pub preconfirmed: u64,
    pub queued: u64,
    pub processing: u64,
    /// `None` where the tables have no column for it.
    pub external_user_ids: Option<ExternalUserIds>,
    pub since_midnight: u64,
    pub last_seven_days: u64,
    pub last_insert: Option<Moment>,
}

/// Bookable times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Free slots older than their opening hours; `None` where the tables have no column for it.
    pub outdated: Option<u64>,
    /// The oldest change that they lack.
    pub outdated_oldest: Option<Moment>,
    /// Internal capacity of free slots; `None` without a free slot.
    pub free: Option<u64>,
}

/// Mails that wait to be sent; ages in seconds, negative for the future.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Mail {
    pub queued: u64,
    pub oldest_seconds: Option<i64>,
    pub newest_seconds: Option<i64>,
}

/// When other parts of the system last did their work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sources {
    pub last_import: Option<Moment>,
    pub last_calculation: Option<Moment>,
}

/// A place of work and who is logged in there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Scope {
    pub id: u64,
    pub name: Option<String>,
    pub active_sessions: u64,
}

/// A department and its places of work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Department {
    pub id: u64,
    pub name: Option<String>,
    pub scopes: Vec<Scope>,
}

/// Who is logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sessions {
    pub active: u64,
    pub departments: Vec<Department>,
}
