//! The platform with one service, which adds to numbers what its component adds: the proof that a binary has a service
//! of its own without a change to the platform.

mod added;
mod capability;
mod config;
mod http;
mod metrics;
mod service;
mod spec;
mod world;

use std::process::ExitCode;

use bulkhead_server::{Distribution, StartPage, cli};

use self::service::AdderPlugin;

fn main() -> ExitCode {
    cli::run(&Distribution {
        name: env!("CARGO_PKG_NAME"),
        about: env!("CARGO_PKG_DESCRIPTION"),
        services: &[&AdderPlugin],
        deprecated: &[],
        command_order: &[],
        start_page: StartPage { name: "Adder", first_guides: &[], last_guides: &[] },
    })
}
