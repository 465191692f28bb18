//! Which components may answer, and how they come to the host.

mod built_in;
pub mod compiling;
mod deprecated;
mod folder;
mod machine_code;
mod push;
mod refused;
mod stubs;
pub mod unusable;
mod worlds;
