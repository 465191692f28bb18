//! Whether the configured listeners can be opened, and whether a running host of the data folder has them.

use std::{collections::BTreeSet, fs, io, net::SocketAddr};

use bulkhead_config::Config;
use bulkhead_http::listen;
use bulkhead_service::MachineFinding;
use tokio::runtime;

use super::limits;

/// What a finding about a listener is called.
const CHECK: &str = "ports";
/// The state of a socket that listens, in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// Opens every listener and closes it again. `hosts` are the processes that use the data folder.
pub(super) fn examine(config: &Config, hosts: &[u32]) -> anyhow::Result<Vec<MachineFinding>> {
    if !limits::may_open_files() {
        return Ok(vec![MachineFinding::failure(
            CHECK,
            "too few files may be open to try them; raise ulimit -n",
        )]);
    }
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    // Sockets belong to a runtime.
    let _entered = runtime.enter();
    Ok(config.listeners().iter().map(|(key, address)| listener(key, *address, hosts)).collect())
}

fn listener(key: &str, address: SocketAddr, hosts: &[u32]) -> MachineFinding {
    let error = match listen::bind(key, address, None) {
        Ok(_) if address.port() == 0 => {
            return MachineFinding::fine(CHECK, format!("{key} takes any free port of {}", address.ip()));
        }
        Ok(_) => return MachineFinding::fine(CHECK, format!("{address} of {key} is free")),
        Err(error) => error,
    };
    if error.cause.kind() != io::ErrorKind::AddrInUse {
        return MachineFinding::failure(CHECK, error.to_string());
    }
    let owners = hosts.iter().map(|host| (*host, listens_at(*host, address.port())));
    let owners: Vec<_> = owners.filter(|(_, listens)| !matches!(listens, Ok(false))).collect();
    match owners.iter().find(|(_, listens)| listens.is_ok()).or(owners.first()) {
        Some((host, Ok(_))) => MachineFinding::fine(
            CHECK,
            format!(
                "the running host of this data folder (process {host}) listens on {address}, as {key} says"
            ),
        ),
        Some((host, Err(_))) => MachineFinding::warning(
            CHECK,
            format!(
                "{address} of {key} is in use, perhaps by the running host of this data folder (process {host}); run this \
                 command as root to know"
            ),
        ),
        None => MachineFinding::failure(CHECK, error.to_string()),
    }
}

/// Returns whether a process listens at a port.
///
/// # Errors
/// When this user may not see its sockets.
fn listens_at(process: u32, port: u16) -> io::Result<bool> {
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{process}/net/{name}")));
    let sockets: BTreeSet<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| listening(table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let mut files = fs::read_dir(format!("/proc/{process}/fd"))?;
    Ok(files.any(|file| {
        let link = file.and_then(|file| fs::read_link(file.path()));
        link.is_ok_and(|link| link.to_str().is_some_and(|name| sockets.contains(name)))
    }))
}

/// Returns the inodes of the sockets that listen at a port, given a table as `proc_pid_net(5)` describes it.
fn listening(table: &str, port: u16) -> impl Iterator<Item = &str> {
    table.lines().filter_map(move |line| {
        let [_, local, _, LISTENS, _, _, _, _, _, inode, ..] =
            line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let (_, local_port) = local.rsplit_once(':')?;
        (u16::from_str_radix(local_port, 16) == Ok(port)).then_some(inode)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::{net::TcpListener, process};

    use bulkhead_service::Severity::{self, Failure, Fine};

    use super::*;

    /// Returns how much it matters that `address` is wanted, and what is said.
    fn judged(address: SocketAddr, hosts: &[u32]) -> (Severity, String) {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let found = listener("server.listen", address, hosts);
        (found.severity, found.text)
    }

    #[test]
    fn taken_port_has_its_owner_named() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, own) = (taken.local_addr().unwrap(), process::id());
        let (severity, text) = judged(address, &[]);
        assert!(severity == Failure && text.contains("choose another port"), "{text}");
        let (severity, text) = judged(address, &[own]);
        assert!(severity == Fine && text.contains(&format!("process {own}")), "{text}");
        drop(taken);
        let (severity, text) = judged(address, &[]);
        assert!(severity == Fine && text.contains("is free"), "{text}");
    }

    #[test]
    fn foreign_address_fails() {
        let (severity, text) = judged("192.0.2.1:0".parse().unwrap(), &[process::id()]);
        assert!(severity == Failure && text.contains("no interface"), "{text}");
    }

    #[test]
    fn only_listening_sockets_count() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 256 1\n   \
                     1: 020200C0:07E8 507100CB:01BB 01 00000000:00000000 00:00000000 00000000     0        0 7357 1\n";
        assert_eq!(listening(table, 0x07e8).collect::<Vec<_>>(), ["256"]);
        assert_eq!(listening(table, 0x01bb).count(), 0);
    }
}
