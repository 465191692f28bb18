//! How one version follows another.

mod canary;
mod circuit;
mod diff;
mod rollback;
mod swap;
