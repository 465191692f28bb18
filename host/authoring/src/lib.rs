//! What authors of components use on the command line, without a host: the WIT of the binary, what a component is made
//! of, calls and test cases, and templates. It knows no service: the worlds are handed in as data.

mod commands;
mod component;
mod embedded;
mod platform;
mod report;
mod run;
mod scaffold;
mod signature;
mod wit;

pub use self::{
    commands::{AuthorCommand, WitCommand},
    component::fit::check,
    platform::AuthorPlatform,
    report::{AuthoringFailure, CommandReport},
};
