//! What is asked, and how the answers become figures. The text is one for all databases, see [`super::dialect`].

use super::{
    Clock, CollectError, Department, Figures, Mail, Processes, Scope, Section, Sessions, Slots, Sources,
    connection::{
        Column::{self, Integer, Text},
        Connections, Parameter, Row,
    },
    server,
};

/// One pass over the appointments. Rows that belong to another appointment do not count.
const PROCESSES: &str = "SELECT COUNT(*),
    COUNT(CASE WHEN status = 'blocked' THEN 1 END),
    COUNT(CASE WHEN status = 'called' THEN 1 END),
    COUNT(CASE WHEN status = 'confirmed' THEN 1 END),
    COUNT(CASE WHEN status = 'deleted' THEN 1 END),
    COUNT(CASE WHEN status = 'missed' THEN 1 END),
    COUNT(CASE WHEN status = 'parked' THEN 1 END),
    COUNT(CASE WHEN status = 'pending' THEN 1 END),
    COUNT(CASE WHEN status = 'reserved' THEN 1 END),
    COUNT(CASE WHEN status = 'preconfirmed' THEN 1 END),
    COUNT(CASE WHEN status = 'queued' THEN 1 END),
    COUNT(CASE WHEN status = 'processing' THEN 1 END),
    COUNT(CASE WHEN external_user_id <> '' THEN 1 END),
    COUNT(CASE WHEN external_user_id <> '' AND status = 'confirmed' THEN 1 END),
    COUNT(CASE WHEN IPTimeStamp > ? AND is_booking = 1 THEN 1 END),
    COUNT(CASE WHEN IPTimeStamp > ? AND is_booking = 1 THEN 1 END),
    CAST(MAX(CASE WHEN IPTimeStamp > 0 AND IPTimeStamp <= ? THEN IPTimeStamp END) AS {int})
FROM (
    SELECT {status} AS status, external_user_id, IPTimeStamp,
        CASE WHEN StandortID <> 0 AND vorlaeufigeBuchung = 0 AND Abholer = 0 THEN 1 END AS is_booking
    FROM buerger
    WHERE istFolgeterminvon IS NULL OR istFolgeterminvon = 0
) AS appointment";

/// The second bound follows from the first and lets an index on `updateTimestamp` help.
const OUTDATED: &str = "SELECT COUNT(*), {oldest}
FROM slot s
JOIN oeffnungszeit o ON o.OeffnungszeitID = s.availabilityID
WHERE s.status = 'free'
    AND s.updateTimestamp < o.updated_at
    AND s.updateTimestamp < (SELECT MAX(updated_at) FROM oeffnungszeit)";

const FREE: &str = "SELECT CAST(SUM(intern) AS {int}) FROM slot WHERE status = 'free'";

const MAIL: &str = "SELECT COUNT(*), CAST(MIN(createTimestamp) AS {int}), CAST(MAX(createTimestamp) AS {int})
FROM mailqueue";

/// Configuration rows that other parts write when they are done.
const LAST_IMPORT: &str = "sources_dldb_last";
const LAST_CALCULATION: &str = "status__calculateSlotsLastRun";
const NOTES: &str = "SELECT name, value FROM config WHERE name IN (?, ?)";

const ACTIVE: &str = "SELECT COUNT(*) FROM nutzer WHERE SessionID <> '' AND sessionExpiry > {local}";

const DEPARTMENTS: &str = "SELECT CAST(b.BehoerdenID AS {int}), b.Name, CAST(s.StandortID AS {int}),
    s.Bezeichnung, COUNT(n.NutzerID)
FROM behoerde b
LEFT JOIN standort s ON s.BehoerdenID = b.BehoerdenID
LEFT JOIN nutzer n ON n.StandortID = s.StandortID AND n.SessionID <> '' AND n.sessionExpiry > {local}
GROUP BY b.BehoerdenID, b.Name, s.StandortID, s.Bezeichnung
ORDER BY b.BehoerdenID, s.StandortID";

/// Collects one section as it is at `now`, Unix seconds.
pub(super) async fn collect(
    section: Section,
    connections: &Connections,
    clock: &Clock,
    now: i64,
) -> Result<Figures, CollectError> {
    Ok(match section {
        Section::Database => Figures::Database(server::database(connections).await?),
        Section::Processes => Figures::Processes(processes(connections, clock, now).await?),
        Section::Slots => Figures::Slots(slots(connections, clock).await?),
        Section::Mail => Figures::Mail(mail(connections, now).await?),
        Section::Sources => Figures::Sources(sources(connections, clock).await?),
        Section::Sessions => Figures::Sessions(sessions(connections, clock, now).await?),
    })
}

/// The one row of an aggregate.
async fn aggregate(
    connections: &Connections,
    query: &str,
    parameters: &[Parameter],
    columns: &[Column],
) -> Result<Row, CollectError> {
    let row = connections.rows(query, parameters, columns).await?.pop();
    row.ok_or_else(|| CollectError::Failed("an aggregate without a row".into()))
}

async fn processes(connections: &Connections, clock: &Clock, now: i64) -> Result<Processes, CollectError> {
    let parameters = [clock.midnight(now, 0), clock.midnight(now, 7), now].map(Parameter::Integer);
    let mut row = aggregate(connections, PROCESSES, &parameters, &[Integer; 17]).await?;
    Ok(Processes {
        total: row.count(),
        blocked: row.count(),
        called: row.count(),
        confirmed: row.count(),
        deleted: row.count(),
        missed: row.count(),
        parked: row.count(),
        pending: row.count(),
        reserved: row.count(),
        preconfirmed: row.count(),
        queued: row.count(),
        processing: row.count(),
        with_external_user_id: row.count(),
        confirmed_with_external_user_id: row.count(),
        since_midnight: row.count(),
        last_seven_days: row.count(),
        last_insert: row.integer().map(|seconds| clock.moment(seconds)),
    })
}

async fn slots(connections: &Connections, clock: &Clock) -> Result<Slots, CollectError> {
    let mut outdated = aggregate(connections, OUTDATED, &[], &[Integer, Text]).await?;
    let mut free = aggregate(connections, FREE, &[], &[Integer]).await?;
    Ok(Slots {
        outdated: outdated.count(),
        outdated_oldest: outdated
            .text()
            .map(|text| clock.parse(&text).map_or_else(|| clock.foreign(text), |at| clock.moment(at))),
        free: free.integer().and_then(|capacity| u64::try_from(capacity).ok()),
    })
}

async fn mail(connections: &Connections, now: i64) -> Result<Mail, CollectError> {
    let mut row = aggregate(connections, MAIL, &[], &[Integer; 3]).await?;
    let age = |created: i64| now.saturating_sub(created);
    Ok(Mail {
        queued: row.count(),
        oldest_seconds: row.integer().map(age),
        newest_seconds: row.integer().map(age),
    })
}

async fn sources(connections: &Connections, clock: &Clock) -> Result<Sources, CollectError> {
    let names = [LAST_IMPORT, LAST_CALCULATION].map(|name| Parameter::Text(name.into()));
    let mut sources = Sources::default();
    for mut row in connections.rows(NOTES, &names, &[Text, Text]).await? {
        let (name, moment) = (row.text(), row.text().map(|text| clock.foreign(text)));
        match name.as_deref() {
            Some(LAST_IMPORT) => sources.last_import = moment,
            Some(LAST_CALCULATION) => sources.last_calculation = moment,
            _ => {}
        }
    }
    Ok(sources)
}

async fn sessions(connections: &Connections, clock: &Clock, now: i64) -> Result<Sessions, CollectError> {
    let now = [Parameter::Text(clock.text(now))];
    let active = aggregate(connections, ACTIVE, &now, &[Integer]).await?.count();
    let columns = [Integer, Text, Integer, Text, Integer];
    let mut departments: Vec<Department> = Vec::new();
    for mut row in connections.rows(DEPARTMENTS, &now, &columns).await? {
        let (id, name) = (row.count(), row.text());
        if departments.last().is_none_or(|last| last.id != id) {
            departments.push(Department { id, name, scopes: Vec::new() });
        }
        let scope = row.integer().and_then(|id| u64::try_from(id).ok());
        if let (Some(id), Some(department)) = (scope, departments.last_mut()) {
            let (name, active_sessions) = (row.text(), row.count());
            department.scopes.push(Scope { id, name, active_sessions });
        }
    }
    Ok(Sessions { active, departments })
}
