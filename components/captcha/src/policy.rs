//! A site's policy and a client's identity, as the host passes them.

/// The ALTCHA protocol of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Number search; widgets of major version 1 and 2.
    V1,
    /// Key derivation; widgets of major version 3 and later.
    V2,
}

/// From the `min_visits`th visit of a client inside the window, a challenge costs `cost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LadderStep {
    /// 0 and 1 both mean the first visit.
    pub min_visits: u32,
    /// The cost from that visit on.
    pub cost: u32,
}

/// A target solve time, on top of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoPolicy {
    /// Milliseconds on the client's device.
    pub target_solve_ms: u32,
    /// The cheapest challenge.
    pub min_cost: u32,
    /// The most expensive challenge.
    pub max_cost: u32,
}

/// Difficulty policy of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difficulty {
    /// Costs by visit count; with `auto`, a floor that may be empty.
    pub ladder: Vec<LadderStep>,
    /// Load-dependent costs.
    pub auto: Option<AutoPolicy>,
}

/// The part of the client's address that a challenge is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Anyone may hand in the solution.
    None,
    /// The client's network.
    Network,
    /// The client's full address.
    Exact,
}

/// A site and its policy. Its secrets stay with the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The site's public key, signed into its challenges.
    pub key: String,
    /// Whether to issue and accept exactly what captchaservice 2.x does: one raw key for all sites, no `data`.
    pub compat: bool,
    /// The protocol of issued challenges.
    pub protocol: Protocol,
    /// Whether to judge payloads of protocol v1 too, whatever is issued.
    pub accept_v1: bool,
    /// Key derivation in ALTCHA's spelling: `PBKDF2/SHA-256`.
    pub algorithm: String,
    /// KiB for Argon2id, block size for scrypt.
    pub memory_cost: Option<u32>,
    /// Lanes for Argon2id, p for scrypt.
    pub parallelism: Option<u32>,
    /// Whether to pick the counter beforehand and sign the key, so that verifying costs two HMACs.
    pub deterministic: bool,
    /// Maximum counter in deterministic mode, from 1.
    pub counter_max: u32,
    /// Difficulty policy.
    pub difficulty: Difficulty,
    /// Binding of challenges to clients.
    pub binding: Binding,
    /// Lifetime of a challenge, seconds.
    pub timeout_seconds: u32,
    /// Number of times one solved challenge is accepted.
    pub max_verifies: u32,
    /// Number of failed attempts after which a challenge is refused; 0 counts as 1.
    pub max_failures: u32,
    /// Name of the key that signs challenges.
    pub signing_key: String,
    /// Name of the key that signs derived keys.
    pub key_signing_key: String,
}

impl Site {
    /// Returns whether payloads of protocol v1 are judged.
    pub fn accepts_v1(&self) -> bool {
        self.accept_v1 || self.protocol == Protocol::V1
    }
}

/// A client, without its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Opaque keys of the client's network, the newest first.
    pub network: Vec<String>,
    /// Opaque keys of the full address, the newest first.
    pub exact: Vec<String>,
    /// Whether the client is on the site's allow-list: challenges cost 1.
    pub allow_listed: bool,
}

impl Client {
    /// Returns the client's keys at the granularity of `binding`, the newest first.
    pub fn keys(&self, binding: Binding) -> &[String] {
        match binding {
            Binding::None => &[],
            Binding::Network => &self.network,
            Binding::Exact => &self.exact,
        }
    }
}
