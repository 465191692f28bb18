//! Queries the sections' figures. The SQL is the same for all databases, see [`super::dialect`].

use super::{
    Clock, CollectError, Department, ExternalUserIds, Mail, Moment, Processes, Scope, Section, Sessions,
    Slots, Sources,
    columns::{self, CHANGED, EXTERNAL_USER_ID},
    connection::{
        Column::{self, Integer, Text},
        Connections, Parameter, Row,
    },
    section::Collected,
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
    SELECT {status} AS status, {external} AS external_user_id, IPTimeStamp,
        CASE WHEN StandortID <> 0 AND vorlaeufigeBuchung = 0 AND Abholer = 0 THEN 1 END AS is_booking
    FROM buerger
    WHERE istFolgeterminvon IS NULL OR istFolgeterminvon = 0
) AS appointment";

/// The second bound follows from the first and lets an index on `updateTimestamp` help.
const OUTDATED: &str = "SELECT COUNT(*), {oldest}
FROM slot s
JOIN oeffnungszeit o ON o.OeffnungszeitID = s.availabilityID
WHERE s.status = 'free'
    AND s.updateTimestamp < o.{changed}
    AND s.updateTimestamp < (SELECT MAX({changed}) FROM oeffnungszeit)";

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
) -> Result<Collected, CollectError> {
    Ok(match section {
        Section::Database => {
            let database = server::database(connections).await?;
            Collected::Database(database, columns::lacking(connections).await?)
        }
        Section::Processes => Collected::Processes(processes(connections, clock, now).await?),
        Section::Slots => Collected::Slots(slots(connections, clock).await?),
        Section::Mail => Collected::Mail(mail(connections, now).await?),
        Section::Sources => Collected::Sources(sources(connections, clock).await?),
        Section::Sessions => Collected::Sessions(sessions(connections, clock, now).await?),
    })
}

/// Returns the only row of an aggregate.
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
    let linked_by = async |column: &str| {
        let query = PROCESSES.replace("{external}", column);
        aggregate(connections, &query, &parameters, &[Integer; 17]).await
    };
    let (mut row, are_linked) = match linked_by(EXTERNAL_USER_ID).await {
        Err(CollectError::Schema(_)) => (linked_by("NULL").await?, false),
        row => (row?, true),
    };
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
        external_user_ids: Some(ExternalUserIds { all: row.count(), confirmed: row.count() })
            .filter(|_| are_linked),
        since_midnight: row.count(),
        last_seven_days: row.count(),
        last_insert: row.integer().map(|seconds| clock.moment(seconds)),
    })
}

async fn slots(connections: &Connections, clock: &Clock) -> Result<Slots, CollectError> {
    let outdated = outdated(connections, clock).await?;
    let mut free = aggregate(connections, FREE, &[], &[Integer]).await?;
    let free = free.integer().and_then(|capacity| u64::try_from(capacity).ok());
    let (outdated, outdated_oldest) = outdated.map_or((None, None), |(count, oldest)| (Some(count), oldest));
    Ok(Slots { outdated, outdated_oldest, free })
}

/// Returns the outdated slots and the oldest change that they lack; `None` where no column says when opening hours
/// changed.
async fn outdated(
    connections: &Connections,
    clock: &Clock,
) -> Result<Option<(u64, Option<Moment>)>, CollectError> {
    for column in CHANGED {
        let oldest = connections.dialect().time_as_text(&format!("MIN(o.{column})"));
        let query = OUTDATED.replace("{oldest}", &oldest).replace("{changed}", column);
        let mut row = match aggregate(connections, &query, &[], &[Integer, Text]).await {
            Err(CollectError::Schema(_)) => continue,
            row => row?,
        };
        let moment =
            |text: String| clock.parse(&text).map_or_else(|| clock.foreign(text), |at| clock.moment(at));
        return Ok(Some((row.count(), row.text().map(moment))));
    }
    Ok(None)
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
