//! Installs programs and packages: by apt, cargo, npm and pip.

pub mod apt;
pub mod cargo_tool;
pub mod npm;
pub mod python;
pub mod test_tools;
