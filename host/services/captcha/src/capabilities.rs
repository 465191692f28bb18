//! The capabilities that the service offers to the guests of its slot.

pub mod ledger;
pub mod pow;
