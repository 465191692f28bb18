//! What authors of components use on the command line, without a host: the WIT of the binary, what a component is made
//! of, calls and test cases, and templates. It knows no service: the worlds are handed in as data.

mod call;
mod cases;
mod commands;
mod embedded;
mod export_types;
mod exports;
mod fit;
mod inspection;
mod packages;
mod platform;
mod program;
mod report;
mod scaffold;
mod signature;
mod sizes;
mod values;
mod wit_diff;

pub use self::{
    commands::{AuthorCommand, WitCommand},
    fit::check,
    platform::AuthorPlatform,
    report::{AuthoringFailure, CommandReport},
};
