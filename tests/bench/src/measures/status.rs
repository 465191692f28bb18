//! The status service on MariaDB with 300,000 appointments and a million slots: one full collection beside the
//! statements that the replaced server ran for each request, and answers from memory beside a no-op component.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use bulkhead::appointments::{Clock, Collector, CollectorOptions, DatabaseLocation};
use bulkhead_tests::servers::mariadb::MariaDb;
use sqlx::{Connection as _, Executor as _, MySqlConnection, mysql::MySqlConnectOptions};

use crate::{
    load::{Done, Load, Timed},
    options::Options,
    process::{Process, Server, binary::Host},
    report::{Report, Target},
};

const TOKEN: &str = "bench";
const STATUS: &str = "/terminvereinbarung/api/2/status/";
const CONNECTIONS: usize = 16;

/// 300,000 appointments of 24 statuses and shapes, 2000 opening hours, a million slots.
const ROWS: &str = "
INSERT INTO buerger (StandortID, Name, IPTimeStamp, vorlaeufigeBuchung, istFolgeterminvon, status, external_user_id)
    SELECT 1 + seq % 200, CONCAT('Person ', seq), UNIX_TIMESTAMP() - seq * 16, seq % 24 = 1,
        IF(seq % 8 = 7, seq - 1, NULL),
        ELT(1 + seq % 12, 'confirmed', 'confirmed', 'confirmed', 'confirmed', 'confirmed', 'confirmed', 'confirmed',
            'deleted', 'preconfirmed', 'reserved', 'missed', 'queued'),
        IF(seq % 3 = 0, CONCAT('citizen-', seq), NULL)
    FROM seq_1_to_300000;
INSERT INTO oeffnungszeit (scope_id, updated_at)
    SELECT 1 + seq % 200, NOW() - INTERVAL 1 DAY - INTERVAL seq SECOND FROM seq_1_to_2000;
INSERT INTO slot (scopeID, availabilityID, public, intern, status, updateTimestamp)
    SELECT 1 + seq % 200, 1 + seq % 2000, 1, 1 + seq % 4, IF(seq % 2, 'free', 'full'), NOW() - INTERVAL seq % 3600 SECOND
    FROM seq_1_to_1000000;
ANALYZE TABLE buerger, slot, oeffnungszeit;";

/// What a full request of the replaced server costs: its process query twice, and the two over slots.
const REPLACED: [&str; 4] =
    [PROCESSES, PROCESSES, OUTDATED, "SELECT SUM(intern) FROM slot WHERE status = 'free'"];

const PROCESSES: &str = "
SELECT SUM(b.status = 'blocked'), SUM(b.status = 'called'), SUM(b.status = 'confirmed'), SUM(b.status = 'pending'),
    SUM(b.status = 'deleted'), SUM(b.status = 'missed'), SUM(b.status = 'parked'), SUM(b.status = 'reserved'),
    SUM(b.external_user_id IS NOT NULL AND b.external_user_id != ''),
    SUM(b.external_user_id IS NOT NULL AND b.external_user_id != '' AND b.status = 'confirmed'),
    activity.today, activity.week, activity.latest
FROM buerger b, (
    SELECT SUM(IPTimeStamp > UNIX_TIMESTAMP(CURDATE()) AND StandortID != 0 AND vorlaeufigeBuchung = 0 AND Abholer = 0)
            AS today,
        SUM(IPTimeStamp > UNIX_TIMESTAMP(CURDATE() - INTERVAL 7 DAY) AND StandortID != 0 AND vorlaeufigeBuchung = 0
            AND Abholer = 0) AS week,
        FROM_UNIXTIME(MAX(IPTimeStamp)) AS latest
    FROM buerger WHERE istFolgeterminvon IS NULL OR istFolgeterminvon = 0
) activity
WHERE b.istFolgeterminvon IS NULL OR b.istFolgeterminvon = 0";

const OUTDATED: &str = "
SELECT COUNT(*), MIN(o.updated_at)
FROM slot s LEFT JOIN oeffnungszeit o ON s.availabilityID = o.OeffnungszeitID
WHERE s.status = 'free' AND s.updateTimestamp < o.updated_at";

pub fn measure(options: &Options, report: &mut Report) {
    let server = MariaDb::start();
    server.sql(&format!(
        "{}{ROWS}",
        include_str!("../../../../host/services/status/appointments/src/demo/schema/mariadb.sql")
    ));
    report.section("one full collection, 300k appointments and 1M slots on MariaDB", "replaced", "Bulkhead");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (theirs, ours) = runtime.block_on(collections(options, &server));
    let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    report.ratio("ms, best of all turns", &[best(&theirs)], &[best(&ours)], Target::AtMost(0.25));
    report.ratio("ms, medians", &theirs, &ours, Target::None);

    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bulkhead.toml");
    let text = format!("[status]\ndatabase = \"{}\"\ntokens = [\"{TOKEN}\"]\n", server.url());
    std::fs::write(&config, text).unwrap();
    let status = Host::start(folder.path(), &["--config", config.to_str().unwrap()]);
    let noop = Server::ours("fresh", 0);
    report.section("answers from memory, beside those of a no-op component without a log", "no-op", "status");
    let (full, fast) = (get(STATUS), get(&format!("{STATUS}?includeProcessStats=0")));
    let nothing = [crate::load::request("GET", crate::noop::PATH, "")];
    let [mut rates, mut micros] = [(); 2].map(|()| [Vec::new(), Vec::new()]);
    let mut p99 = Vec::new();
    // The first turn warms up and does not count.
    for round in 0..=options.rounds {
        let other = run(options, noop.address(), noop.process(), CONNECTIONS, &nothing);
        let own = run(options, status.public, &status.process, CONNECTIONS, &full);
        let probes = run(options, status.public, &status.process, 1, &fast).done;
        if round > 0 {
            for (side, turn) in [other, own].iter().enumerate() {
                rates[side].push(turn.done.rate());
                micros[side].push(turn.micros());
            }
            p99.push(percentile(&probes));
        }
    }
    let [other, own] = &rates;
    report.ratio("requests/s, all cores", other, own, Target::AtLeast(0.5));
    let [other, own] = &micros;
    report.processor(other, own, Target::None);
    report.figure("    the same", own, Target::AtMost(40.0));
    report.figure("p99 us with includeProcessStats=0, 1 connection", &p99, Target::None);
}

/// Milliseconds of each turn: the replaced server's statements one after the other, and ours.
async fn collections(options: &Options, server: &MariaDb) -> (Vec<f64>, Vec<f64>) {
    let url: MySqlConnectOptions = server.url().parse().unwrap();
    let mut connection = MySqlConnection::connect_with(&url).await.unwrap();
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let since = Instant::now();
        for statement in REPLACED {
            connection.execute(statement).await.unwrap();
        }
        let replaced = since.elapsed();
        let collector = collector(server);
        // Connecting is not collecting.
        collector.accounts().has_session("").await.unwrap();
        let since = Instant::now();
        collector.refresh(true).await;
        let collected = since.elapsed();
        let found = collector.figures(true);
        assert!(found.processes.is_some_and(|section| section.total > 250_000));
        assert!(found.slots.is_some());
        collector.close().await;
        if round > 0 {
            theirs.push(replaced.as_secs_f64() * 1e3);
            ours.push(collected.as_secs_f64() * 1e3);
        }
    }
    (theirs, ours)
}

fn collector(server: &MariaDb) -> Collector {
    let settings = CollectorOptions {
        location: DatabaseLocation::MariaDb(server.url()),
        clock: Clock::new("Europe/Berlin").unwrap(),
        statement_timeout: Duration::from_secs(60),
        max_age: Duration::from_secs(3600),
    };
    Collector::new(settings, |_| Duration::from_secs(3600)).unwrap()
}

fn get(path: &str) -> [Vec<u8>; 1] {
    [format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nx-token: {TOKEN}\r\n\r\n").into_bytes()]
}

fn run(
    options: &Options,
    address: SocketAddr,
    process: &Process,
    connections: usize,
    requests: &[Vec<u8>],
) -> Timed {
    let time = options.turn;
    let load = Load { address, connections, time, requests, once: false, expected: "", keep: false };
    process.timed(|| load.run())
}

fn percentile(done: &Done) -> f64 {
    let mut sorted = done.latencies.clone();
    sorted.sort();
    sorted[sorted.len() * 99 / 100].as_secs_f64() * 1e6
}
