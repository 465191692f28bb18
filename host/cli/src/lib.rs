//! What the subcommands of the command line share, those of every binary and those of services: the configuration that
//! they read, a client for the operators' API, output and exit codes.

pub mod client;
mod configuration;
pub mod exit;
pub mod output;
mod remote_error;
mod share;

pub use self::{
    configuration::{Configuration, check, make_data_folder, sources},
    remote_error::RemoteError,
    share::share,
};

/// Names the configuration file.
const CONFIG_VARIABLE: &str = "BULKHEAD_CONFIG";
/// Names the host that a command talks to.
const URL_VARIABLE: &str = "BULKHEAD_ADMIN_URL";
/// Holds the operator's token, which an argument would show in the list of processes.
const TOKEN_VARIABLE: &str = "BULKHEAD_ADMIN_TOKEN";
/// Names the file of the operator's token.
const TOKEN_FILE_VARIABLE: &str = "BULKHEAD_ADMIN_TOKEN_FILE";

/// Environment variables that set flags, and no keys of the configuration.
const FLAG_VARIABLES: [&str; 4] = [CONFIG_VARIABLE, URL_VARIABLE, TOKEN_VARIABLE, TOKEN_FILE_VARIABLE];
