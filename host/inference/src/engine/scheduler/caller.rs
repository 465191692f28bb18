//! Callers, their kinds, and the shares of the kinds.

/// A kind of callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallerKind {
    /// Guests of a slot, and the host itself.
    Slot,
    /// Clients with a configured key.
    Key,
    /// Clients without one.
    Anonymous,
}

impl CallerKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Slot, Self::Key, Self::Anonymous];

    /// Returns the name for metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slot => "slot",
            Self::Key => "key",
            Self::Anonymous => "anonymous",
        }
    }
}

/// For whom a request works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its kind.
    pub kind: CallerKind,
    /// Number among its kind.
    pub id: u64,
    /// Its part of the kind's share, beside others of the kind; 0 counts as 1.
    pub weight: u32,
}

impl Caller {
    /// The host, which works for its slots: imports and measurements.
    pub const HOST: Self = Self { kind: CallerKind::Slot, id: 0, weight: 1 };
}

/// What kinds of callers get while others wait too, in per cent. What one does not use others get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// At least this for slots.
    pub slots: u8,
    /// At most this for all anonymous callers together.
    pub anonymous: u8,
}

impl Default for Shares {
    fn default() -> Self {
        Self { slots: 25, anonymous: 50 }
    }
}

/// The smallest share of a kind: each goes on.
const LEAST_SHARE: f64 = 0.01;

impl Shares {
    /// Returns the part of all turns that a kind gets while the kinds in `waiting` wait: anonymous callers beside the
    /// others, slots beside keys.
    pub(super) fn of(self, kind: CallerKind, waiting: ByKind<bool>) -> f64 {
        let part = |per_cent: u8| (f64::from(per_cent) / 100.0).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let anonymous = part(self.anonymous);
        let known = 1.0 - anonymous;
        let slots = (part(self.slots) / known).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        let beside_anonymous = if waiting.anonymous { known } else { 1.0 };
        match kind {
            CallerKind::Anonymous if waiting.slot || waiting.key => anonymous,
            CallerKind::Anonymous => 1.0,
            CallerKind::Slot if waiting.key => beside_anonymous * slots,
            CallerKind::Key if waiting.slot => beside_anonymous * (1.0 - slots),
            CallerKind::Slot | CallerKind::Key => beside_anonymous,
        }
    }
}

/// A value for each kind of callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind<T> {
    /// Of slots.
    pub slot: T,
    /// Of keys.
    pub key: T,
    /// Of anonymous callers.
    pub anonymous: T,
}

impl<T> ByKind<T> {
    /// Returns the value of a kind.
    pub const fn get(&self, kind: CallerKind) -> &T {
        match kind {
            CallerKind::Slot => &self.slot,
            CallerKind::Key => &self.key,
            CallerKind::Anonymous => &self.anonymous,
        }
    }

    pub(in crate::engine) const fn get_mut(&mut self, kind: CallerKind) -> &mut T {
        match kind {
            CallerKind::Slot => &mut self.slot,
            CallerKind::Key => &mut self.key,
            CallerKind::Anonymous => &mut self.anonymous,
        }
    }

    pub(in crate::engine) fn map<U>(self, convert: impl Fn(T) -> U) -> ByKind<U> {
        ByKind { slot: convert(self.slot), key: convert(self.key), anonymous: convert(self.anonymous) }
    }
}

impl ByKind<usize> {
    pub(in crate::engine) const fn plus(self, other: Self) -> Self {
        Self {
            slot: self.slot + other.slot,
            key: self.key + other.key,
            anonymous: self.anonymous + other.anonymous,
        }
    }
}
