//! Remaining uses of a challenge: claims, replays and failed attempts.

use std::time::Duration;

use crate::algorithm::Hash;
use crate::error::Error;
use crate::host::Host;
use crate::policy::Site;
use crate::verdict::Reason;

/// The ledger entry of one signed challenge.
pub struct Spending<'a> {
    host: &'a dyn Host,
    site: &'a Site,
    id: String,
    until: u64,
    limit: u32,
}

impl<'a> Spending<'a> {
    /// Opens the entry of the challenge with this `signature`. The id comes from the signature alone, hence from
    /// nothing a client can vary: hex SHA-256 of its text, as captchaservice stores it. A challenge without expiry is
    /// remembered for one `timeout_seconds`. The host remembers it a little longer, to tolerate clock differences.
    pub fn new(
        host: &'a dyn Host,
        site: &'a Site,
        signature: &str,
        expires_at: Option<f64>,
        now: Duration,
    ) -> Self {
        let until = match expires_at {
            Some(seconds) => seconds.ceil() as u64,
            None => now.as_secs().saturating_add(site.timeout_seconds.into()),
        };
        let id = hex::encode(Hash::Sha256.digest(signature.as_bytes()));
        Self { host, site, id, until, limit: site.max_verifies }
    }

    /// Returns the same entry with a limit of one use.
    pub fn once(self) -> Self {
        Self { limit: 1, ..self }
    }

    /// Returns why the challenge is used up, if it is. Advisory: [`Self::claim`] decides.
    pub fn exhausted(&self) -> Result<Option<Reason>, Error> {
        match self.host.spent(&self.id)? >= self.limit {
            true => self.cause().map(Some),
            false => Ok(None),
        }
    }

    /// Spends the challenge once. `None`: done; else why it could not be.
    pub fn claim(&self) -> Result<Option<Reason>, Error> {
        match self.host.claim(&self.id, self.until, self.limit, false)? {
            true => Ok(None),
            false => self.cause().map(Some),
        }
    }

    /// Spends all that is left; returns whether anything was left.
    pub fn claim_all(&self) -> Result<bool, Error> {
        self.host.claim(&self.id, self.until, self.limit, true)
    }

    /// Counts a wrong solution. The last one that the site allows uses the challenge up, so that later attempts,
    /// right or wrong, cost no derivation.
    pub fn fail(&self) -> Result<Reason, Error> {
        let allowed = self.site.max_failures.max(1);
        let failures = self.host.record_failure(&self.id, self.until)?;
        if failures == allowed {
            self.host.claim(&self.failed_id(), self.until, 1, false)?;
            self.claim_all()?;
            self.host.warn("a challenge was used up by wrong solutions");
        }
        Ok(if failures > allowed { Reason::TooManyFailures } else { Reason::WrongSolution })
    }

    /// Returns why the challenge is used up.
    fn cause(&self) -> Result<Reason, Error> {
        let failed = self.host.spent(&self.failed_id())? > 0;
        Ok(if failed { Reason::TooManyFailures } else { Reason::Replayed })
    }

    /// Returns the id of the ledger entry that marks a challenge as used up by failures.
    fn failed_id(&self) -> String {
        hex::encode(Hash::Sha256.digest(format!("failed:{}", self.id).as_bytes()))
    }
}
