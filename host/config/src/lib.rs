//! Holds the operator's configuration as plain types, one file for each concern. [`load()`] reads it.
//!
//! Every value has a default: a named constant next to it, with the trade-off in one line.

pub mod edit;
pub mod import;
pub mod reader;
pub mod registries;
pub mod sandbox;
pub mod secret;
pub mod server;
pub mod services;
pub mod sharing;
pub mod slots;
pub mod tables;

mod load;
mod problems;

#[cfg(test)]
mod tests;

use std::{net::SocketAddr, path::PathBuf};

pub use load::{ConfigFile, Flag, HostSpec, Loaded, Sources, alias, load, reference};
pub use problems::{Origin, Problem, Problems};
pub use reader::{KeyDoc, database_url, formats, tree};
pub use server::tokens;
pub use slots::{ServiceSpec, grants, rollout, signatures, slot_id, watch};
use tables::{MissingTable, ServiceTable, Tables};

/// The whole configuration of a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder for everything the host writes: databases, generated secrets, compiled code. Absolute.
    pub data_dir: PathBuf,
    /// Bring a demonstration site for every service.
    pub demo: bool,
    /// Listeners and HTTP limits.
    pub server: server::Server,
    /// The operators' listener.
    pub admin: server::Admin,
    /// Log format and level.
    pub log: server::Log,
    /// Limits that hold for all slots together.
    pub sandbox: sandbox::Sandbox,
    /// The slots of all services.
    pub slots: slots::Slots,
    /// How hosts on one database keep to the same versions.
    pub sharing: sharing::Sharing,
    /// Where components may be pulled from.
    pub registries: Vec<registries::Registry>,
    /// Which services run, and where.
    pub services: services::Services,
    /// The tables of the services.
    tables: Tables,
    /// Listeners that these tables name, by the keys that set their addresses.
    opened: Vec<(String, SocketAddr)>,
}

impl Config {
    /// Returns the address of every listener of the host, with the key that sets it.
    pub fn listeners(&self) -> Vec<(String, SocketAddr)> {
        let mut listeners = vec![
            ("server.listen".to_owned(), self.server.listen),
            ("server.admin_listen".to_owned(), self.server.admin_listen),
        ];
        for (name, service) in self.services.each() {
            let own = service.listen.filter(|_| service.enabled);
            listeners.extend(own.map(|address| (format!("services.{name}.listen"), address)));
        }
        listeners.extend(self.opened.iter().cloned());
        listeners
    }

    /// Returns the table of a service.
    ///
    /// # Errors
    /// When the configuration was read for a host without it.
    pub fn table<T: ServiceTable>(&self) -> Result<&T, MissingTable> {
        self.tables.get()
    }

    /// Changes the table of a service.
    ///
    /// # Errors
    /// When the configuration was read for a host without it.
    pub fn edit_table<T: ServiceTable>(&mut self, edit: impl FnOnce(&mut T)) -> Result<(), MissingTable> {
        self.tables.edit(edit)
    }
}
