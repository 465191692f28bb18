//! The dates between which a certificate chain is valid.

use std::time::Duration;

use bulkhead_telemetry::timestamp::rfc3339_seconds;
use rustls::{
    CertificateError, Error, RootCertStore,
    client::verify_server_cert_signed_by_trust_anchor,
    pki_types::{CertificateDer, UnixTime},
    server::ParsedCertificate,
};

/// Before the end of a certificate's validity, the time in which its renewal is asked for, seconds.
const SOON: u64 = 14 * 86_400;

/// The dates between which all certificates of a chain are valid, Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CertificateDates {
    not_before: u64,
    not_after: u64,
}

impl CertificateDates {
    /// Returns the dates of a chain. A date that cannot be read counts as no limit.
    pub(super) fn of(chain: &[CertificateDer<'_>]) -> Self {
        let mut dates = Self { not_before: 0, not_after: u64::MAX };
        for certificate in chain {
            if let Some(CertificateError::NotValidYetContext { not_before, .. }) = judge(certificate, 0) {
                dates.not_before = dates.not_before.max(not_before.as_secs());
            }
            if let Some(CertificateError::ExpiredContext { not_after, .. }) = judge(certificate, u64::MAX) {
                dates.not_after = dates.not_after.min(not_after.as_secs());
            }
        }
        dates
    }

    /// Describes what is wrong with the dates at a time, Unix seconds, and what to do; also where they end soon.
    pub(super) fn fault(self, now: u64) -> Option<String> {
        let Self { not_before, not_after } = self;
        if now < not_before {
            let (start, now) = (rfc3339_seconds(not_before), rfc3339_seconds(now));
            Some(format!(
                "it is not valid before {start}, and the clock shows {now}: correct the clock, or use a certificate that is \
                 valid"
            ))
        } else if now > not_after {
            Some(format!("it expired at {}: renew it", rfc3339_seconds(not_after)))
        } else if not_after - now < SOON {
            Some(format!("it expires at {}, within 14 days: renew it", rfc3339_seconds(not_after)))
        } else {
            None
        }
    }
}

/// Returns what a verifier without authorities says of a certificate at a time, Unix seconds: it reads the dates first.
fn judge(certificate: &CertificateDer<'_>, time: u64) -> Option<CertificateError> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let time = UnixTime::since_unix_epoch(Duration::from_secs(time));
    let judged = verify_server_cert_signed_by_trust_anchor(&parsed, &RootCertStore::empty(), &[], time, &[]);
    match judged {
        Err(Error::InvalidCertificate(error)) => Some(error),
        _ => None,
    }
}
