//! What the operator decides: plain types, a file a concern. Read by [`load()`].
//!
//! Every value has a default that is a named constant beside it, with the trade-off in one line.

pub mod captcha;
pub mod embedding;
pub mod grants;
pub mod limits;
pub mod located;
pub mod management;
pub mod registries;
pub mod rollout;
pub mod sandbox;
pub mod secret;
pub mod server;
pub mod sharing;
pub mod signatures;
pub mod slot_id;
pub mod slots;
pub mod spec;
pub mod status;
pub mod tickets;
pub mod tokens;
pub mod watch;

mod alias;
mod database_url;
mod edit;
mod environment;
mod file;
pub(crate) mod forms;
mod import;
mod listeners;
mod load;
mod problems;
mod reader;
mod reference;
mod spring;
mod tree;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use edit::{EditError, Rotation, SitesFile};
pub use import::{Format, ImportError, Imported, import_application, import_triage_yml};
pub use load::{ConfigFile, Flag, Loaded, Sources, load};
pub use problems::{Origin, Problem, Problems};
pub use reference::{KeyDoc, reference};
pub use spec::{HostSpec, ServiceSpec};

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
    /// How hosts on one database keep together.
    pub sharing: sharing::Sharing,
    /// Where components may be pulled from.
    pub registries: Vec<registries::Registry>,
    /// Which services run, and where.
    pub services: slots::Services,
    /// The embedding service.
    pub embedding: embedding::Embedding,
    /// Ticket triage and answers.
    pub tickets: tickets::Tickets,
    /// The captcha service.
    pub captcha: captcha::Captcha,
    /// The status service.
    pub status: status::Status,
    /// The captcha service's operational endpoints, under Spring's names.
    pub management: management::Management,
}

impl Config {
    /// File of the embedded appointment database.
    pub fn embedded_appointments(&self) -> PathBuf {
        self.data_dir.join("appointments.sqlite")
    }

    /// URL of the knowledge base, which may hold a password.
    pub fn knowledge_url(&self) -> secret::Secret {
        let embedded = tickets::knowledge::KnowledgeDatabase::embedded(&self.data_dir);
        self.tickets.knowledge.url.url(&embedded)
    }
}
