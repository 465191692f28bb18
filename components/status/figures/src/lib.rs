//! Figures of an appointment system, as the host collects them and the status component reports them.

/// A group of figures that the host collects together.
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
    /// Every section in the order of collection, the cheap ones first.
    pub const ALL: [Self; 6] =
        [Self::Database, Self::Sources, Self::Mail, Self::Sessions, Self::Slots, Self::Processes];

    /// Returns the name for metrics, findings and logs.
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

    /// Returns whether collecting it scans a large table.
    pub const fn is_statistics(self) -> bool {
        matches!(self, Self::Processes | Self::Slots)
    }
}

/// Figures that need a column which older releases of the appointment system do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacking {
    /// [`Slots::outdated`] and its oldest change.
    OutdatedSlots,
    /// [`Processes::external_user_ids`].
    ExternalUserIds,
}

/// The collection state of one section.
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    /// The section.
    pub section: Section,
    /// Unix seconds of the last success.
    pub succeeded_at: Option<f64>,
    /// Seconds that the last attempt took.
    pub duration_seconds: Option<f64>,
    /// The error class of the last attempt if it failed, in one word.
    pub error: Option<String>,
    /// Number of successful attempts.
    pub successes: u64,
    /// Number of failed attempts.
    pub failures: u64,
}

/// A point in time as the clocks of the configured time zone show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// `2026-08-21 14:05:00`, or the database's text if that is not a time.
    pub text: String,
    /// `None` if the text is not a time.
    pub unix_seconds: Option<i64>,
}

/// The database server, seen from one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Open connections.
    pub connections: u64,
    /// Maximum number of connections.
    pub connection_limit: Option<u64>,
    /// Number of lock requests that wait.
    pub lock_waits: u64,
    /// Whether the node is ready in a cluster; `None` if the server has no cluster support.
    pub cluster_ready: Option<bool>,
    /// Whether the server writes a log that a replica could follow.
    pub replication_log: bool,
    /// Settings whose value is a size in bytes.
    pub size_settings: Vec<(String, u64)>,
}

impl Database {
    /// Returns the share of the connections in use, 0 to 1, rounded to two decimals; 0 without a limit.
    pub fn connection_ratio(&self) -> f64 {
        match self.connection_limit {
            None | Some(0) => 0.0,
            Some(limit) => (self.connections as f64 / limit as f64 * 100.0).round() / 100.0,
        }
    }

    /// Returns what is wrong with the settings, joined by `; `.
    pub fn problems(&self) -> String {
        self.too_small().map(|name| format!("{name} should be at least 32MB")).collect::<Vec<_>>().join("; ")
    }

    /// Returns the settings that are too small for the system's queries.
    pub fn too_small(&self) -> impl Iterator<Item = &'static str> {
        ["tmp_table_size", "max_heap_table_size"].into_iter().filter(|wanted| {
            self.size_settings.iter().any(|(name, bytes)| name == wanted && *bytes < TABLE_BYTES)
        })
    }
}

/// Minimum size of temporary tables in memory, bytes.
const TABLE_BYTES: u64 = 32_000_000;

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
    /// `None` if the tables have no column for it.
    pub external_user_ids: Option<ExternalUserIds>,
    pub since_midnight: u64,
    pub last_seven_days: u64,
    pub last_insert: Option<Moment>,
}

impl Processes {
    /// Returns the statuses that the wire format counts, with their names and in its order.
    pub const fn counted(&self) -> [(&'static str, u64); 8] {
        [
            ("blocked", self.blocked),
            ("called", self.called),
            ("confirmed", self.confirmed),
            ("pending", self.pending),
            ("deleted", self.deleted),
            ("missed", self.missed),
            ("parked", self.parked),
            ("reserved", self.reserved),
        ]
    }

    /// Returns the other statuses, so that all together are the total.
    pub fn uncounted(&self) -> [(&'static str, u64); 4] {
        let named = self.preconfirmed + self.queued + self.processing;
        let counted: u64 = self.counted().iter().map(|(_, count)| count).sum();
        [
            ("preconfirmed", self.preconfirmed),
            ("queued", self.queued),
            ("processing", self.processing),
            ("other", self.total.saturating_sub(counted + named)),
        ]
    }
}

/// Bookable times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Free slots older than their opening hours, which a calculation would change; `None` if the tables have no
    /// column for it.
    pub outdated: Option<u64>,
    /// The oldest change that they lack.
    pub outdated_oldest: Option<Moment>,
    /// Capacity of free slots; `None` without a free slot.
    pub free: Option<u64>,
}

/// Mails that wait to be sent; ages at the time of collection, negative for the future.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// Number of mails.
    pub queued: u64,
    /// Age of the oldest mail, seconds.
    pub oldest_seconds: Option<i64>,
    /// Age of the newest mail, seconds.
    pub newest_seconds: Option<i64>,
}

/// Times of the last runs of other parts of the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The last import of services and places.
    pub last_import: Option<Moment>,
    /// The last calculation of slots.
    pub last_calculation: Option<Moment>,
}

/// A place of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Its key.
    pub id: u64,
    /// Its name.
    pub name: Option<String>,
    /// Number of users logged in there.
    pub active_sessions: u64,
}

/// A department.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Department {
    /// Its key.
    pub id: u64,
    /// Its name.
    pub name: Option<String>,
    /// Its places of work.
    pub scopes: Vec<Scope>,
}

impl Department {
    /// Returns the number of users logged in at its places of work.
    pub fn active_sessions(&self) -> u64 {
        self.scopes.iter().map(|scope| scope.active_sessions).sum()
    }
}

/// Users who are logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// All of them, at a place of work or not.
    pub active: u64,
    /// By department.
    pub departments: Vec<Department>,
}

/// All known figures; `None` for a section that is not known, not requested, or too old.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Figures {
    pub now: Moment,
    pub database: Option<Database>,
    pub processes: Option<Processes>,
    pub slots: Option<Slots>,
    pub mail: Option<Mail>,
    pub sources: Option<Sources>,
    pub sessions: Option<Sessions>,
    /// Figures of these sections that the tables have no column for, sorted, each once.
    pub lacking: Vec<Lacking>,
    /// The collection state of every section.
    pub collections: Vec<Collection>,
}

impl Figures {
    /// Returns the known sections.
    pub fn known(&self) -> impl Iterator<Item = Section> {
        let known = [
            (Section::Database, self.database.is_some()),
            (Section::Processes, self.processes.is_some()),
            (Section::Slots, self.slots.is_some()),
            (Section::Mail, self.mail.is_some()),
            (Section::Sources, self.sources.is_some()),
            (Section::Sessions, self.sessions.is_some()),
        ];
        known.into_iter().filter(|(_, known)| *known).map(|(section, _)| section)
    }

    /// Returns the Unix seconds at which the oldest known section was collected; `None` if no section is known.
    pub fn collected_at(&self) -> Option<f64> {
        let known: Vec<Section> = self.known().collect();
        let known = self.collections.iter().filter(|collection| known.contains(&collection.section));
        known.filter_map(|collection| collection.succeeded_at).min_by(f64::total_cmp)
    }

    /// Returns the waiting mails with their ages as of now, if known.
    pub fn mail_now(&self) -> Option<Mail> {
        let grown = self.since(Section::Mail);
        let aged = |seconds: Option<i64>| seconds.map(|seconds| seconds.saturating_add(grown));
        self.mail.as_ref().map(|mail| Mail {
            queued: mail.queued,
            oldest_seconds: aged(mail.oldest_seconds),
            newest_seconds: aged(mail.newest_seconds),
        })
    }

    /// Returns the collection state of `section`.
    pub fn collection(&self, section: Section) -> Option<&Collection> {
        self.collections.iter().find(|collection| collection.section == section)
    }

    /// Returns the seconds since `section` was collected, by which ages have grown.
    fn since(&self, section: Section) -> i64 {
        match (self.now.unix_seconds, self.collection(section).and_then(|collection| collection.succeeded_at))
        {
            (Some(now), Some(at)) => now.saturating_sub(at.floor() as i64).max(0),
            _ => 0,
        }
    }

    /// Returns the seconds from `moment` to now; negative for the future.
    pub fn age(&self, moment: &Moment) -> Option<i64> {
        Some(self.now.unix_seconds? - moment.unix_seconds?)
    }
}
