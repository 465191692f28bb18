//! The capabilities that the service provides to the guests of its slot.

pub mod appointments;
