//! Tests of messages to systemd, on sockets of their own.

#![allow(clippy::unwrap_used)]

use super::*;

/// Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the socket of a unit with these variables.
fn of_unit(variables: &[(&str, &str)]) -> io::Result<Option<NotifySocket>> {
    let value = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).into());
    NotifySocket::of(value)
}

fn next(listening: &UnixDatagram) -> String {
    listening.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = [0; 4096];
    let count = listening.recv(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).chars().take(count).collect()
}

#[test]
fn messages_reach_a_socket_by_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let listening = UnixDatagram::bind(&path).unwrap();
    let unit = of_unit(&[(SOCKET, path.to_str().unwrap())]).unwrap().unwrap();
    unit.ready().unwrap();
    assert_eq!(next(&listening), "READY=1");
    unit.status("serving\nREADY=0").unwrap();
    assert_eq!(next(&listening), "STATUS=serving READY=0");
    unit.reloading().unwrap();
    let reloading = next(&listening);
    let since_boot = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    assert!(since_boot.parse::<u64>().unwrap() > 0, "{reloading}");
    unit.feed_watchdog().unwrap();
    unit.stopping().unwrap();
    assert_eq!((next(&listening), next(&listening)), ("WATCHDOG=1".to_owned(), "STOPPING=1".to_owned()));
}

#[test]
fn messages_reach_an_abstract_socket() {
    let name = format!("bulkhead-systemd-tests-{}", process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listening = UnixDatagram::bind_addr(&address).unwrap();
    let unit = of_unit(&[(SOCKET, &format!("@{name}"))]).unwrap().unwrap();
    unit.ready().unwrap();
    assert_eq!(next(&listening), "READY=1");
}

#[test]
fn process_without_unit_has_no_socket() {
    assert!(of_unit(&[]).unwrap().is_none());
    assert!(of_unit(&[(SOCKET, ""), (WATCHDOG, "1000000")]).unwrap().is_none());
    for unsupported in ["vsock:2:1234", "relative/path"] {
        let refused = of_unit(&[(SOCKET, unsupported)]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported, "{unsupported}");
    }
}

#[test]
fn watchdog_is_only_of_this_process() {
    let watchdog = |variables: &[(&str, &str)]| {
        let all = [&[(SOCKET, "/run/systemd/notify"), (WATCHDOG, "30000000")], variables].concat();
        of_unit(&all).unwrap().unwrap().watchdog()
    };
    let own = process::id().to_string();
    assert_eq!(watchdog(&[]), Some(Duration::from_secs(30)));
    assert_eq!(watchdog(&[(WATCHDOG_PROCESS, &own)]), Some(Duration::from_secs(30)));
    assert_eq!(watchdog(&[(WATCHDOG_PROCESS, "1")]), None);
    assert_eq!(watchdog(&[(WATCHDOG_PROCESS, "")]), None);
    let without = of_unit(&[(SOCKET, "/run/systemd/notify"), (WATCHDOG, "0")]).unwrap().unwrap();
    assert_eq!(without.watchdog(), None);
}
