//! Runs components without a host: calls of exports, test cases, and values as text.

pub(crate) mod call;
pub(crate) mod cases;
pub(crate) mod program;
pub(crate) mod values;
