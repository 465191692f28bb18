use std::collections::HashMap;

use super::kdf::{Parameters, Refused};

/// Challenges kept ahead for one recipe: a burst of this size costs signatures only.
const AHEAD: usize = 256;
/// Challenges kept ahead for each call that a recipe has had, up to [`AHEAD`]. Nobody is charged for work done ahead,
/// so a component must not be able to ask for much of it with one call.
const AHEAD_PER_CALL: usize = 2;
/// Recipes served ahead; a recipe asked for first when this many are known is always minted on demand.
const RECIPES: usize = 32;
/// Bytes of nonce and of salt.
const RANDOM_BYTES: usize = 16;
/// Highest counter.
const COUNTER_MAX: u64 = 1 << 16;

/// What makes minted challenges exchangeable: they know neither site nor client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// The derivation.
    pub parameters: Parameters,
    /// The counter is drawn from 1 to this.
    pub counter_max: u32,
}

/// A random challenge whose answer is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minted {
    /// 16 random bytes.
    pub nonce: Vec<u8>,
    /// 16 random bytes.
    pub salt: Vec<u8>,
    /// The answer.
    pub counter: u32,
    /// The key for `nonce || uint32-big-endian(counter)`.
    pub derived_key: Vec<u8>,
}

impl Recipe {
    pub(super) fn check(&self) -> Result<(), Refused> {
        if self.counter_max == 0 || u64::from(self.counter_max) > COUNTER_MAX {
            let value = self.counter_max.into();
            return Err(Refused::Range { name: "counter-max", range: "1 to 65536", value });
        }
        self.parameters.check_cost()
    }

    pub(super) fn mint(&self) -> Result<Minted, Refused> {
        let random = |bytes: &mut [u8]| {
            getrandom::fill(bytes).map_err(|error| Refused::Unfit(format!("no random bytes: {error}")))
        };
        let (mut nonce, mut salt, mut draw) = (vec![0; RANDOM_BYTES], vec![0; RANDOM_BYTES], [0; 8]);
        random(&mut nonce)?;
        random(&mut salt)?;
        random(&mut draw)?;
        // 64 random bits over at most 65536 values: the bias is under 2^-48.
        let counter = u64::from_le_bytes(draw).checked_rem(self.counter_max.into()).unwrap_or(0) as u32 + 1;
        let password = [nonce.as_slice(), &counter.to_be_bytes()].concat();
        let derived_key = self.parameters.derive(&password, &salt)?;
        Ok(Minted { nonce, salt, counter, derived_key })
    }
}

/// Challenges minted in idle time.
#[derive(Default)]
pub(super) struct MintedPool {
    recipes: HashMap<Recipe, Shelf>,
}

#[derive(Default)]
struct Shelf {
    minted: Vec<Minted>,
    /// Being minted by a thread at this moment.
    coming: usize,
    /// Calls that asked for one.
    calls: usize,
}

impl Shelf {
    fn filled(&self) -> usize {
        self.minted.len() + self.coming
    }

    fn room(&self) -> bool {
        self.filled() < AHEAD.min(self.calls.saturating_mul(AHEAD_PER_CALL))
    }
}

impl MintedPool {
    /// One from the shelf; the recipe is served ahead from now on.
    pub(super) fn take(&mut self, recipe: Recipe) -> Option<Minted> {
        if self.recipes.len() >= RECIPES && !self.recipes.contains_key(&recipe) {
            return None;
        }
        let shelf = self.recipes.entry(recipe).or_default();
        shelf.calls = shelf.calls.saturating_add(1);
        shelf.minted.pop()
    }

    /// A recipe whose shelf has room; the caller mints it and gives it to `put`.
    pub(super) fn wanted(&mut self) -> Option<Recipe> {
        let wanting = self.recipes.iter_mut().filter(|(_, shelf)| shelf.room());
        let (recipe, shelf) = wanting.min_by_key(|(_, shelf)| shelf.filled())?;
        shelf.coming += 1;
        Some(*recipe)
    }

    /// Shelves what `wanted` asked for; a recipe that cannot be minted is served ahead no more.
    pub(super) fn put(&mut self, recipe: Recipe, minted: Option<Minted>) {
        let Some(minted) = minted else {
            self.recipes.remove(&recipe);
            return;
        };
        if let Some(shelf) = self.recipes.get_mut(&recipe) {
            shelf.coming = shelf.coming.saturating_sub(1);
            shelf.minted.push(minted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Algorithm;

    fn recipe(cost: u32) -> Recipe {
        let parameters = Parameters {
            algorithm: Algorithm::Pbkdf2Sha256,
            cost,
            memory_cost: 0,
            parallelism: 0,
            key_length: 16,
        };
        Recipe { parameters, counter_max: 10 }
    }

    fn minted() -> Minted {
        Minted { nonce: vec![1], salt: vec![2], counter: 3, derived_key: vec![4] }
    }

    /// Fills every shelf; how many that took.
    fn fill(pool: &mut MintedPool) -> usize {
        let filling = std::iter::from_fn(|| {
            let recipe = pool.wanted()?;
            pool.put(recipe, Some(minted()));
            Some(())
        });
        filling.count()
    }

    #[test]
    fn one_call_asks_for_little_work_ahead() {
        let mut pool = MintedPool::default();
        assert_eq!(fill(&mut pool), 0, "nothing is minted that nobody asked for");
        assert_eq!(pool.take(recipe(1)), None);
        assert_eq!(fill(&mut pool), AHEAD_PER_CALL);
        assert_eq!(pool.take(recipe(1)), Some(minted()));
        assert_eq!(fill(&mut pool), AHEAD_PER_CALL + 1);
    }

    #[test]
    fn a_shelf_is_bounded_whatever_is_asked() {
        let mut pool = MintedPool::default();
        (0..10 * AHEAD).for_each(|_| drop(pool.take(recipe(1))));
        assert_eq!(fill(&mut pool), AHEAD);
    }

    #[test]
    fn what_is_being_minted_counts() {
        let mut pool = MintedPool::default();
        pool.take(recipe(1));
        let coming = std::iter::from_fn(|| pool.wanted()).count();
        assert_eq!(coming, AHEAD_PER_CALL);
    }

    #[test]
    fn recipes_are_bounded() {
        let mut pool = MintedPool::default();
        for cost in 1..=1000 {
            assert_eq!(pool.take(recipe(cost)), None);
        }
        assert_eq!(pool.recipes.len(), RECIPES);
        assert_eq!(fill(&mut pool), RECIPES * AHEAD_PER_CALL);
        assert_eq!(pool.take(recipe(1)), Some(minted()), "the first ones stay");
    }

    #[test]
    fn the_emptiest_shelf_is_filled_first() {
        let mut pool = MintedPool::default();
        (0..4).for_each(|_| drop(pool.take(recipe(1))));
        fill(&mut pool);
        pool.take(recipe(2));
        pool.take(recipe(1));
        assert_eq!(pool.wanted(), Some(recipe(2)));
    }

    #[test]
    fn a_recipe_that_cannot_be_minted_is_forgotten() {
        let mut pool = MintedPool::default();
        pool.take(recipe(1));
        let wanted = pool.wanted();
        assert_eq!(wanted, Some(recipe(1)));
        pool.put(recipe(1), None);
        assert_eq!(pool.wanted(), None);
        pool.put(recipe(1), Some(minted()));
        assert!(pool.recipes.is_empty(), "one that was on its way comes too late");
    }

    #[test]
    fn counters_are_drawn_from_one_to_the_highest() {
        let recipe = Recipe { counter_max: 4, ..recipe(1) };
        let mut drawn = [false; 4];
        // One of four is missing after so many draws less often than once in 10^49 runs.
        for _ in 0..400 {
            let counter = recipe.mint().map(|minted| minted.counter).unwrap_or_default() as usize;
            *drawn.get_mut(counter.wrapping_sub(1)).unwrap_or_else(|| unreachable!("{counter}")) = true;
        }
        assert_eq!(drawn, [true; 4]);
    }

    #[test]
    fn counters_have_a_cap() {
        for (counter_max, fits) in [(0, false), (1, true), (1 << 16, true), ((1 << 16) + 1, false)] {
            assert_eq!(Recipe { counter_max, ..recipe(1) }.check().is_ok(), fits, "{counter_max}");
        }
    }
}
