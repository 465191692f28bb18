//! Verdicts on payloads: whether they are valid, and why not.

/// Why a payload is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The challenge has expired.
    Expired,
    /// It has been used as often as the site allows, or was invalidated.
    Replayed,
    /// The site's keys did not sign it.
    BadSignature,
    /// The solution does not solve the challenge.
    WrongSolution,
    /// It was issued for another site.
    WrongSite,
    /// It was issued to another client.
    WrongClient,
    /// It was issued for another action.
    WrongAction,
    /// Too many attempts failed before.
    TooManyFailures,
}

/// The outcome of judging a payload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// `None` if valid.
    pub rejected: Option<Reason>,
    /// The cost that was issued, once the signature has been checked.
    pub cost: Option<u32>,
    /// Milliseconds of work that the client reports.
    pub reported_time_ms: Option<f64>,
    /// Unix seconds at which the challenge expires, once the signature has been checked.
    pub expires_at: Option<u64>,
    /// The action signed into the challenge.
    pub action: Option<String>,
}

impl Verdict {
    /// Creates a refusal without further facts.
    pub fn rejected(reason: Reason) -> Self {
        Self { rejected: Some(reason), ..Self::default() }
    }
}
