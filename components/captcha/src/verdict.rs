//! Verdicts on payloads: whether they are valid, and why not.

/// Why a payload is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The challenge's life is over.
    Expired,
    /// As often used as the site allows, or invalidated.
    Replayed,
    /// Not signed by this site's keys.
    BadSignature,
    /// Does not solve the challenge.
    WrongSolution,
    /// Issued for another site.
    WrongSite,
    /// Issued to another client.
    WrongClient,
    /// Issued for another action.
    WrongAction,
    /// Failed too often before.
    TooManyFailures,
}

/// The outcome of judging a payload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// None: valid.
    pub rejected: Option<Reason>,
    /// The cost that was issued, once the signature has been checked.
    pub cost: Option<u32>,
    /// Milliseconds that the client says it worked.
    pub reported_time_ms: Option<f64>,
    /// Unix seconds at which the challenge expires, once the signature has been checked.
    pub expires_at: Option<u64>,
    /// The action signed into the challenge.
    pub action: Option<String>,
}

impl Verdict {
    /// A refusal of which nothing more is known.
    pub fn rejected(reason: Reason) -> Self {
        Self { rejected: Some(reason), ..Self::default() }
    }
}
