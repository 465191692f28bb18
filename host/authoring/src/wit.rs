//! The WIT that the binary speaks, and whether a version of a package fits an older one.

pub(crate) mod diff;
pub(crate) mod packages;
