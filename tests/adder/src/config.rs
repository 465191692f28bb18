//! `[adder]`: which numbers the service takes.

use bulkhead_config::{
    reader::Reader,
    tables::{Context, ServiceTable},
};

/// Small enough for every sum to fit.
const LARGEST: i64 = 4_000_000_000;
/// As many as a test needs.
const DEFAULT: u32 = 1_000_000;

/// The service's table.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Largest number that is taken.
    pub largest: u32,
}

impl ServiceTable for Settings {
    const NAME: &'static str = "adder";

    fn read(reader: &mut Reader, _context: &mut Context<'_>) -> Self {
        reader.table(Self::NAME, |r| Self {
            largest: r.key("largest", "Largest number that is added to").integer(1..=LARGEST, DEFAULT),
        })
    }
}
