use std::collections::HashMap;

use super::kdf::{Parameters, Refused};

/// Challenges kept ahead for one recipe: a burst of this size costs signatures only.
const AHEAD: usize = 256;
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
}

impl MintedPool {
    /// One from the shelf; the recipe is served ahead from now on.
    pub(super) fn take(&mut self, recipe: Recipe) -> Option<Minted> {
        if self.recipes.len() >= RECIPES && !self.recipes.contains_key(&recipe) {
            return None;
        }
        self.recipes.entry(recipe).or_default().minted.pop()
    }

    /// A recipe whose shelf has room; the caller mints it and gives it to `put`.
    pub(super) fn wanted(&mut self) -> Option<Recipe> {
        let filled = |shelf: &Shelf| shelf.minted.len() + shelf.coming;
        let (recipe, shelf) = self
            .recipes
            .iter_mut()
            .filter(|(_, shelf)| filled(shelf) < AHEAD)
            .min_by_key(|(_, shelf)| filled(shelf))?;
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
