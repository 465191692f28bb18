//! A served site: its policy for the guest, its keys, and its secrets as hashes.

use std::{net::IpAddr, sync::Arc, time::Duration};

use bulkhead_config::secret::Secret;
use bulkhead_runtime::keys::{Key, KeyRing, MasterKey, NamedKeys};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use super::{
    config::{self, Site},
    world::{AutoPolicy, Binding, Difficulty, LadderStep, Policy, Protocol},
};

/// Name of the key of all sites in compatible mode: the raw master key, as captchaservice uses it.
const COMPAT_KEY: &str = "compat";

/// A site of the running service.
#[derive(Debug)]
pub struct ServedSite {
    /// Its public key.
    pub key: String,
    /// Its configuration.
    pub config: Site,
    /// The settings that the guest receives.
    pub(super) policy: Arc<Policy>,
    /// The keys of widget results; the first one signs.
    pub(super) token_keys: Vec<Key>,
    secrets: Vec<[u8; 32]>,
    /// Keeps the keys in the ring, where components name them, until the last request for the site ends.
    _keys: Vec<NamedKeys>,
}

impl ServedSite {
    /// Returns a site, whose keys are added to `ring` for components.
    pub(super) fn new(
        key: &str,
        config: &Site,
        timeout: Duration,
        masters: &[MasterKey],
        ring: &KeyRing,
    ) -> Self {
        let secrets = config.secrets.iter().map(|secret| hash(secret.expose())).collect();
        // The derived keys stay, for results from before a secret was configured.
        let secret = |secret: &Secret| Key::new(secret.expose());
        let token_keys = config.signature_secrets.iter().map(secret);
        let token_keys = token_keys.chain(derived(masters, b"captcha widget result", key)).collect();
        let policy = policy(key, config, timeout);
        let keys = keys(&policy, masters, ring);
        Self {
            key: key.to_owned(),
            config: config.clone(),
            policy: Arc::new(policy),
            token_keys,
            secrets,
            _keys: keys,
        }
    }

    /// Checks in constant time whether `secret` is one of the site's.
    pub(super) fn accepts(&self, secret: &str) -> Choice {
        let secret = hash(secret);
        self.secrets.iter().fold(Choice::from(0), |accepted, known| accepted | known.ct_eq(&secret))
    }

    /// Returns the milliseconds per unit of cost at which the least cost meets the target; `None` without `auto`.
    pub(super) fn expected_pace(&self) -> Option<f64> {
        let auto = self.config.auto?;
        Some(auto.target_solve.as_secs_f64() * 1000.0 / f64::from(auto.min_cost.max(1)))
    }

    /// Checks whether the client at `address` is on the site's deny list, which takes precedence over the allow list.
    pub(super) fn denies(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.config.denied_source_addresses.iter().any(|range| range.contains(&address))
    }
}

/// Adds a site's keys to the ring, where components name them.
fn keys(policy: &Policy, masters: &[MasterKey], ring: &KeyRing) -> Vec<NamedKeys> {
    if policy.compat {
        let raw = || masters.iter().map(|master| Key::new(master.raw())).collect();
        return vec![ring.get_or_insert_with(COMPAT_KEY, raw)];
    }
    let named =
        |name: &str, purpose: &[u8]| ring.get_or_insert_with(name, || derived(masters, purpose, &policy.key));
    vec![
        named(&policy.signing_key, b"captcha challenge"),
        named(&policy.key_signing_key, b"captcha derived key"),
    ]
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// Derives one key per master key, the current one first.
fn derived(masters: &[MasterKey], purpose: &[u8], site: &str) -> Vec<Key> {
    masters.iter().map(|master| Key::new(master.derive(purpose, site.as_bytes()))).collect()
}

/// Returns the settings that the guest receives.
fn policy(key: &str, site: &Site, timeout: Duration) -> Policy {
    let ladder = site.difficulty_map.iter();
    let ladder = ladder.map(|step| LadderStep { min_visits: step.min_visits, cost: step.cost }).collect();
    let difficulty = match site.auto {
        None => Difficulty::Ladder(ladder),
        Some(auto) => {
            let target_solve_ms = u32::try_from(auto.target_solve.as_millis()).unwrap_or(u32::MAX);
            Difficulty::Auto((
                ladder,
                AutoPolicy { target_solve_ms, min_cost: auto.min_cost, max_cost: auto.max_cost },
            ))
        }
    };
    let name = |use_: &str| if site.compat { COMPAT_KEY.to_owned() } else { format!("{use_}/{key}") };
    Policy {
        key: key.to_owned(),
        compat: site.compat,
        protocol: match site.protocol {
            config::Protocol::V1 => Protocol::V1,
            config::Protocol::V2 => Protocol::V2,
        },
        accept_v1: site.accept_v1,
        algorithm: site.algorithm.as_str().to_owned(),
        memory_cost: site.memory_cost,
        parallelism: site.parallelism,
        deterministic: site.deterministic,
        counter_max: site.counter_max,
        difficulty,
        binding: match site.binding {
            config::Binding::None => Binding::None,
            config::Binding::Network => Binding::Network,
            config::Binding::Exact => Binding::Exact,
        },
        timeout_seconds: u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX),
        max_verifies: site.max_verifies_per_payload,
        max_failures: site.max_failures_per_challenge,
        signing_key: name("challenge"),
        key_signing_key: name("derived-key"),
    }
}
