//! The fields by which a shadow comparison compares two answers to one captcha call.

use bulkhead_runtime::invoke::{ShadowDiff, json_fields};

use crate::world::{GuestIssued, Verdict};

/// Fields of a challenge that differ between any two challenges: random bytes, what is derived from them or signs them,
/// and the time of the call.
const VOLATILE: [&str; 7] =
    ["challenge", "expiresAt", "keyPrefix", "keySignature", "nonce", "salt", "signature"];

impl ShadowDiff for GuestIssued {
    fn fields(&self) -> Vec<(String, String)> {
        let mut fields = json_fields("document", &self.challenge, &VOLATILE);
        fields.push(("cost".into(), self.cost.to_string()));
        fields.push(("visits".into(), self.visits.to_string()));
        fields
    }
}

impl ShadowDiff for Verdict {
    fn fields(&self) -> Vec<(String, String)> {
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
