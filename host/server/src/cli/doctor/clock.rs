//! Whether the clock can be right: the time is later than that of anything that was written before.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bulkhead_service::MachineFinding;
use bulkhead_telemetry::timestamp::rfc3339_seconds;

/// What a finding about the clock is called.
const CHECK: &str = "clock";
/// This program, whose time is that of its build or installation.
const PROGRAM: &str = "/proc/self/exe";
/// Beginning of the year in which this check was made, Unix seconds.
const EARLIEST: u64 = 1_767_225_600;
/// A file may be that much later than the clock: hosts on one network file system differ.
const TOLERANCE: Duration = Duration::from_secs(600);

/// Compares the clock with this program and with the files of a data folder.
pub(super) fn examine(folder: Option<&Path>) -> MachineFinding {
    let files = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let files = files.map(|file| file.path()).chain([PathBuf::from(PROGRAM)]);
    let newest = files.filter_map(|file| Some((fs::metadata(&file).ok()?.modified().ok()?, file))).max();
    judge(SystemTime::now(), newest)
}

/// Judges the time `now`, given the newest file and its time.
fn judge(now: SystemTime, newest: Option<(SystemTime, PathBuf)>) -> MachineFinding {
    let remedy = "set it (timedatectl, chronyc); until then certificates, tokens and challenges are judged by a wrong time";
    let shown = |time| rfc3339_seconds(unix(time));
    match newest {
        _ if unix(now) < EARLIEST => MachineFinding::warning(
            CHECK,
            format!("the clock shows {}, which is in the past; {remedy}", shown(now)),
        ),
        Some((time, file)) if time > now + TOLERANCE => MachineFinding::warning(
            CHECK,
            format!("the clock shows {}, but {} is of {}; {remedy}", shown(now), file.display(), shown(time)),
        ),
        _ => MachineFinding::fine(CHECK, format!("the clock shows {}", shown(now))),
    }
}

/// Returns Unix seconds, 0 before 1970.
fn unix(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use bulkhead_service::Severity::{Fine, Warning};

    use super::*;

    #[test]
    fn clock_before_a_file_is_named() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let file = |time| Some((time, PathBuf::from("/data/newest")));
        for (now, newest, severity, named) in [
            (at(7), None, Warning, "1970-01-01T00:00:07Z"),
            (at(EARLIEST - 1), file(at(7)), Warning, "2025-12-31T23:59:59Z"),
            (at(EARLIEST), None, Fine, "2026-01-01T00:00:00Z"),
            (at(EARLIEST), file(at(EARLIEST) + TOLERANCE), Fine, "2026-01-01T00:00:00Z"),
            (at(EARLIEST), file(at(EARLIEST + 601)), Warning, "/data/newest is of 2026-01-01T00:10:01Z"),
            (UNIX_EPOCH - TOLERANCE, None, Warning, "1970-01-01T00:00:00Z"),
        ] {
            let found = judge(now, newest);
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.text.contains(named), "{found:?}");
        }
    }
}
