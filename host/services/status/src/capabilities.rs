//! What the service offers to the guests of its slot.

pub mod appointments;
