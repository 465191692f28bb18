//! Holds the random number generator of the demonstration database.

/// SplitMix64 (Steele, Lea and Flood, 2014): the same seed gives the same numbers on every machine.
#[derive(Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a number from 0 below `end`; 0 when that is 0. The bias of the remainder does not matter here.
    pub(super) fn below(&mut self, end: i64) -> i64 {
        let end = u64::try_from(end).unwrap_or(0).max(1);
        i64::try_from(self.next_bits() % end).unwrap_or(0)
    }

    /// Returns true in `percent` of a hundred calls.
    pub(super) fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }
}
