//! A site's policy and a client's identity, as the host hands them over.

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

/// Aims at a solve time, on top of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoPolicy {
    /// Milliseconds on the client's device.
    pub target_solve_ms: u32,
    /// The cheapest challenge.
    pub min_cost: u32,
    /// The dearest challenge.
    pub max_cost: u32,
}

/// How a challenge's cost is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difficulty {
    /// Costs by visit count; with `auto`, a floor that may be empty.
    pub ladder: Vec<LadderStep>,
    /// What the load asks for.
    pub auto: Option<AutoPolicy>,
}

/// To what part of the client's address a challenge is bound.
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
    /// Issue and accept exactly what captchaservice 2.x does: one raw key for all sites, no `data`.
    pub compat: bool,
    /// What is issued.
    pub protocol: Protocol,
    /// Judge payloads of protocol v1 too, whatever is issued.
    pub accept_v1: bool,
    /// As ALTCHA spells it: `PBKDF2/SHA-256`.
    pub algorithm: String,
    /// KiB for Argon2id, block size for scrypt.
    pub memory_cost: Option<u32>,
    /// Lanes for Argon2id, p for scrypt.
    pub parallelism: Option<u32>,
    /// Pick the counter beforehand and sign the key, so that verifying costs two HMACs.
    pub deterministic: bool,
    /// Deterministic mode draws the counter from 1 to this.
    pub counter_max: u32,
    /// How a challenge's cost is found.
    pub difficulty: Difficulty,
    /// Who may hand in a solution.
    pub binding: Binding,
    /// Life of a challenge, seconds.
    pub timeout_seconds: u32,
    /// How often one solved challenge is accepted.
    pub max_verifies: u32,
    /// After this many failed attempts a challenge is refused; 0 is taken as 1.
    pub max_failures: u32,
    /// Name of the key that signs challenges.
    pub signing_key: String,
    /// Name of the key that signs derived keys.
    pub key_signing_key: String,
}

impl Site {
    /// Whether payloads of protocol v1 are judged.
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
    /// On the site's allow-list: challenges cost 1.
    pub allow_listed: bool,
}

impl Client {
    /// The client's keys at the granularity of `binding`, the newest first.
    pub fn keys(&self, binding: Binding) -> &[String] {
        match binding {
            Binding::None => &[],
            Binding::Network => &self.network,
            Binding::Exact => &self.exact,
        }
    }
}
