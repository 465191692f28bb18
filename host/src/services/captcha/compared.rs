//! How two versions' answers to one captcha call are compared.

use super::world::{GuestIssued, Verdict};
use crate::invoke::{Compared, json_members};

/// Members of a challenge that two challenges never share: random bytes, what is derived from them or signs them, and
/// the moment of the call.
const VOLATILE: [&str; 7] =
    ["challenge", "expiresAt", "keyPrefix", "keySignature", "nonce", "salt", "signature"];

impl Compared for GuestIssued {
    fn members(&self) -> Vec<(String, String)> {
        let mut members = json_members("document", &self.challenge, &VOLATILE);
        members.push(("cost".into(), self.cost.to_string()));
        members.push(("visits".into(), self.visits.to_string()));
        members
    }
}

impl Compared for Verdict {
    fn members(&self) -> Vec<(String, String)> {
        let Self { rejected, cost, reported_time_ms, expires_at, action } = self;
        vec![
            ("rejected".into(), format!("{rejected:?}")),
            ("cost".into(), format!("{cost:?}")),
            ("reported-time-ms".into(), format!("{reported_time_ms:?}")),
            ("expires-at".into(), format!("{expires_at:?}")),
            ("action".into(), format!("{action:?}")),
        ]
    }
}
