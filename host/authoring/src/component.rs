//! What a component is made of, and which world it fits.

pub(crate) mod export_types;
pub(crate) mod exports;
pub(crate) mod fit;
pub(crate) mod inspection;
pub(crate) mod sizes;
