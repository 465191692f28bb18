//! A double-array trie from byte strings to numbers: one load a byte, four bytes a node.
//!
//! A unit is `base << 10 | valued << 9 | leaf << 8 | label`. The child for byte `b` of a unit lies at index
//! `base ^ b` and has `b` as its label; no two units share a base, so the label alone proves the descent. A leaf
//! keeps its value in place of its base; a unit that has both a value and children keeps the value in a leaf at
//! `base`. Unused units have label 0, which no key contains. (After Aoe's double array, 1989, with the exclusive
//! or of the darts-clone library.)

/// Unit 0 is the root.
#[derive(Clone, Copy)]
pub(super) struct Trie<'a> {
    units: &'a [u32],
}

const LEAF: u32 = 1 << 8;
const VALUED: u32 = 1 << 9;
const SHIFT: u32 = 10;
/// Bases, units and values stay below this.
const BOUND: u32 = 1 << (32 - SHIFT);

impl<'a> Trie<'a> {
    /// Takes little-endian units that [`check`] has passed.
    pub(super) fn new(units: &'a [u32]) -> Self {
        Self { units }
    }

    pub(super) fn root(self) -> u32 {
        self.units.first().map_or(0, |unit| u32::from_le(*unit))
    }

    /// Returns the unit that a byte leads to.
    #[inline(always)]
    pub(super) fn child(self, unit: u32, byte: u8) -> Option<u32> {
        if unit & LEAF != 0 || byte == 0 {
            return None;
        }
        let child = u32::from_le(*self.units.get(((unit >> SHIFT) ^ u32::from(byte)) as usize)?);
        (child & 0xff == u32::from(byte)).then_some(child)
    }

    /// Returns whether a key ends at this unit.
    #[inline(always)]
    pub(super) fn ends(unit: u32) -> bool {
        unit & (LEAF | VALUED) != 0
    }

    /// Returns the value of the key that ends at this unit.
    #[inline(always)]
    pub(super) fn value(self, unit: u32) -> Option<u32> {
        match unit & (LEAF | VALUED) {
            0 => None,
            VALUED => self.units.get((unit >> SHIFT) as usize).map(|leaf| u32::from_le(*leaf) >> SHIFT),
            _ => Some(unit >> SHIFT),
        }
    }
}

/// Checks that all values of a trie are below `bound`, and that a value is where a unit says so.
pub(super) fn check(units: &[u32], bound: u32) -> bool {
    units.iter().map(|unit| u32::from_le(*unit)).all(|unit| match unit & (LEAF | VALUED) {
        0 => true,
        VALUED => units
            .get((unit >> SHIFT) as usize)
            .map(|leaf| u32::from_le(*leaf))
            .is_some_and(|leaf| leaf & LEAF != 0 && leaf >> SHIFT < bound),
        _ => unit >> SHIFT < bound,
    })
}

/// A key and its value.
pub(super) type Key<'a> = (&'a [u8], u32);

/// A byte and the keys that go on with it.
type Group<'a> = (u8, &'a [Key<'a>]);

/// Builds a trie's units (little-endian) from sorted, distinct, non-empty keys without zero bytes; `None` when
/// they are not that or are too many (some millions of nodes).
pub(super) fn build(keys: &[Key]) -> Option<Vec<u32>> {
    let sorted = keys.is_sorted_by(|one, other| one.0 < other.0);
    let sound = keys.iter().all(|(key, value)| !key.is_empty() && !key.contains(&0) && *value < BOUND);
    if !sorted || !sound {
        return None;
    }
    let mut builder = Builder::new();
    // nodes that wait for their children: unit, keys below it, bytes of them already used
    let mut waiting = vec![(0usize, keys, 0usize)];
    let mut groups: Vec<Group> = Vec::new();
    while let Some((unit, keys, depth)) = waiting.pop() {
        let own = keys.first().filter(|(key, _)| key.len() == depth).map(|(_, value)| *value);
        let below = if own.is_some() { keys.get(1..)? } else { keys };
        if below.is_empty() {
            if let Some(value) = own {
                builder.set_leaf(unit, value)?;
            }
            continue;
        }
        groups.clear();
        groups.extend(
            below
                .chunk_by(|one, other| one.0.get(depth) == other.0.get(depth))
                .filter_map(|group| Some((*group.first()?.0.get(depth)?, group))),
        );
        let base = builder.place(own.is_some(), &groups)?;
        builder.set_base(unit, base, own)?;
        for (label, group) in groups.iter().rev() {
            waiting.push((base ^ usize::from(*label), group, depth + 1));
        }
    }
    Some(builder.units.into_iter().map(u32::to_le).collect())
}

const BLOCK: usize = 256;
/// Free units are looked for in this many last blocks only, so that building stays linear.
const OPEN_BLOCKS: usize = 16;
const NONE: u32 = u32::MAX;

struct Builder {
    units: Vec<u32>,
    taken: Vec<bool>,
    base_taken: Vec<bool>,
    /// Links between free units, in rising order.
    after: Vec<u32>,
    before: Vec<u32>,
    first: u32,
    last: u32,
}

impl Builder {
    fn new() -> Self {
        let mut builder = Self {
            units: Vec::new(),
            taken: Vec::new(),
            base_taken: Vec::new(),
            after: Vec::new(),
            before: Vec::new(),
            first: NONE,
            last: NONE,
        };
        builder.extend();
        builder.take(0);
        builder
    }

    /// Finds a base whose units for these labels are all free, and takes them.
    fn place(&mut self, valued: bool, groups: &[Group]) -> Option<usize> {
        let labels =
            || valued.then_some(0).into_iter().chain(groups.iter().map(|(label, _)| usize::from(*label)));
        let lead = labels().next()?;
        let mut free = self.first;
        let base = loop {
            if free == NONE {
                let start = self.extend();
                break start ^ lead;
            }
            let base = free as usize ^ lead;
            let fits = |label: usize| self.taken.get(base ^ label) == Some(&false);
            if self.base_taken.get(base) == Some(&false) && labels().all(fits) {
                break base;
            }
            free = *self.after.get(free as usize)?;
        };
        if base >= BOUND as usize {
            return None;
        }
        *self.base_taken.get_mut(base)? = true;
        for label in labels() {
            self.take(base ^ label);
            *self.units.get_mut(base ^ label)? = u32::try_from(label).ok()?;
        }
        Some(base)
    }

    fn set_leaf(&mut self, unit: usize, value: u32) -> Option<()> {
        *self.units.get_mut(unit)? |= LEAF | value << SHIFT;
        Some(())
    }

    fn set_base(&mut self, unit: usize, base: usize, value: Option<u32>) -> Option<()> {
        let valued = if value.is_some() { VALUED } else { 0 };
        *self.units.get_mut(unit)? |= valued | u32::try_from(base).ok()? << SHIFT;
        if let Some(value) = value {
            self.set_leaf(base, value)?;
        }
        Some(())
    }

    /// Adds a block of free units, closes the oldest open one, and returns the new block's start.
    fn extend(&mut self) -> usize {
        let start = self.units.len();
        let end = start + BLOCK;
        self.units.resize(end, 0);
        self.taken.resize(end, false);
        self.base_taken.resize(end, false);
        self.after.resize(end, NONE);
        self.before.resize(end, NONE);
        for unit in start..end {
            self.link(unit as u32);
        }
        if let Some(closed) = start.checked_sub(OPEN_BLOCKS * BLOCK) {
            for unit in closed..closed + BLOCK {
                if self.taken.get(unit) == Some(&false) {
                    self.take(unit);
                }
            }
        }
        start
    }

    fn link(&mut self, unit: u32) {
        let last = self.last;
        if let Some(before) = self.before.get_mut(unit as usize) {
            *before = last;
        }
        match self.after.get_mut(last as usize) {
            Some(after) => *after = unit,
            None => self.first = unit,
        }
        self.last = unit;
    }

    /// Takes a unit out of the list of free ones.
    fn take(&mut self, unit: usize) {
        let link = |links: &[u32]| links.get(unit).copied().unwrap_or(NONE);
        let (before, after) = (link(&self.before), link(&self.after));
        match self.after.get_mut(before as usize) {
            Some(slot) => *slot = after,
            None => self.first = after,
        }
        match self.before.get_mut(after as usize) {
            Some(slot) => *slot = before,
            None => self.last = before,
        }
        if let Some(taken) = self.taken.get_mut(unit) {
            *taken = true;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use std::collections::BTreeMap;

    use super::*;

    fn find(trie: Trie, key: &[u8]) -> Option<u32> {
        let mut unit = trie.root();
        for byte in key {
            unit = trie.child(unit, *byte)?;
        }
        trie.value(unit)
    }

    #[test]
    fn trie_equals_a_map() {
        let mut map = BTreeMap::new();
        let mut state = 1u64;
        for value in 0..30_000 {
            let mut key = Vec::new();
            loop {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                key.push(((state >> 40) % if key.len() < 3 { 255 } else { 7 } + 1) as u8);
                if state >> 62 == 0 {
                    break;
                }
            }
            map.insert(key, value);
        }
        let keys: Vec<_> = map.iter().map(|(key, value)| (key.as_slice(), *value)).collect();
        let units = build(&keys).unwrap();
        assert!(check(&units, 30_000) && !check(&units, 20_000));
        let trie = Trie::new(&units);
        for (key, value) in &map {
            assert_eq!(find(trie, key), Some(*value));
            let mut longer = key.clone();
            longer.push(9);
            assert_eq!(find(trie, &longer), map.get(&longer).copied());
            let shorter = &key[..key.len() - 1];
            assert_eq!(find(trie, shorter), map.get(shorter).copied());
        }
        assert_eq!(find(trie, &[0]), None);
    }

    #[test]
    fn few_and_unfit_keys() {
        let empty = build(&[]).unwrap();
        assert_eq!(find(Trie::new(&empty), b"a"), None);
        let one = build(&[(b"a", 3)]).unwrap();
        assert_eq!(find(Trie::new(&one), b"a"), Some(3));
        assert_eq!(find(Trie::new(&[]), b"a"), None);
        for unfit in [
            [(&b"b"[..], 0), (b"a", 1)],
            [(b"a", 0), (b"a", 1)],
            [(b"", 0), (b"a", 1)],
            [(b"\0", 0), (b"a", 1)],
        ] {
            assert!(build(&unfit).is_none());
        }
        assert!(build(&[(b"a", BOUND)]).is_none());
    }
}
