//! The certificates of the host's own listeners: whether they can be served, and their dates.

use std::time::SystemTime;

use bulkhead_config::{Config, server::Tls};
use bulkhead_http::tls::Certificates;
use bulkhead_service::MachineFinding;

/// What a finding about a certificate is called.
const CHECK: &str = "certificates";

/// Reads each certificate that the configuration names.
pub(super) fn examine(config: &Config) -> Vec<MachineFinding> {
    let tables = [("server.tls", &config.server.tls), ("admin.tls", &config.admin.tls)];
    let named = tables.into_iter().filter_map(|(table, files)| Some((table, files.as_ref()?)));
    named.map(|(table, files)| judge(table, files)).collect()
}

fn judge(table: &str, files: &Tls) -> MachineFinding {
    let cert = files.cert.display();
    match Certificates::load(files) {
        Err(error) => MachineFinding::failure(CHECK, format!("{table}: {error}")),
        Ok(certificates) => match certificates.date_fault(SystemTime::now()) {
            Some(fault) => MachineFinding::warning(CHECK, format!("{cert} of {table}: {fault}")),
            None => MachineFinding::fine(CHECK, format!("{cert} of {table} is valid, for 14 days at least")),
        },
    }
}
