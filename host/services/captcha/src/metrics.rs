//! Metrics of the captcha service. Every label value comes from a bounded set.

pub(crate) mod pool;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use bulkhead_telemetry::{
    MetricSet,
    bounds::TIMES,
    family::{Family, Kind, families},
    series::{Series, Summary, Timer},
};
use prometheus::{Gauge, Histogram, IntCounter, Registry, Result};

/// Bounds for the cost of challenges: rounds, iterations, N or passes.
const COSTS: &[f64] = &[1.0, 10.0, 100.0, 500.0, 1e3, 2e3, 3e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6];

families! {
    CAPTCHA_REQUESTS: Kind::Counter, "captcha_requests_total" ["site", "outcome"] "",
        "Verification requests.";
    CAPTCHA_EVENTS: Kind::Counter, "captcha_events_total"
        ["site_key", "difficulty", "is_whitelisted", "same_source_address_request_count", "event_type"] "",
        "All captcha events: challenge requests and verification attempts";
    CAPTCHA_SOLVE_TIME: Kind::Summary, "captcha_client_solve_time_milliseconds"
        ["site_key", "difficulty", "is_whitelisted", "same_source_address_request_count"] "milliseconds",
        "Solve time that clients report with a good solution.";
    CAPTCHA_INVALIDATED: Kind::Gauge, "captcha_invalidated_payloads" [] "",
        "Spent payloads that have not expired.";
    CAPTCHA_VERIFY: Kind::Timer(TIMES), "captcha_verify_duration_seconds" [] "seconds",
        "Time to judge a payload.";
    CAPTCHA_ROWS: Kind::Gauge, "captcha_active_rows" ["table"] "",
        "Rows in the ledger that have not expired.";
    CAPTCHA_COST: Kind::Histogram(COSTS), "captcha_issued_cost" ["site"] "",
        "Cost of issued challenges.";
    CAPTCHA_REJECTIONS: Kind::Counter, "captcha_rejections_total" ["site", "reason"] "",
        "Refused captcha requests by reason.";
    CAPTCHA_CLAIMS_WITHOUT_LEDGER: Kind::Counter, "captcha_claims_without_ledger_total" [] "",
        "Payloads accepted without a durable claim, while the ledger's database did not answer.";
}

/// The label of callers that did not authenticate as a configured site.
pub const UNKNOWN_SITE: &str = "unknown";

/// What happened to a challenge or payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A challenge was issued.
    ChallengeRequest,
    /// A payload was accepted.
    VerifySuccess,
    /// A payload was refused.
    VerifyFailure,
    /// Judging a payload failed.
    VerifyError,
    /// A payload was spent without being judged.
    Invalidate,
}

impl Event {
    /// Returns the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChallengeRequest => "challenge_request",
            Self::VerifySuccess => "verify_success",
            Self::VerifyFailure => "verify_failure",
            Self::VerifyError => "verify_error",
            Self::Invalidate => "invalidate",
        }
    }
}

/// A table of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedgerTable {
    /// Visits.
    CaptchaRequest,
    /// Spent payloads.
    InvalidatedPayload,
}

impl LedgerTable {
    /// Returns the table's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CaptchaRequest => "captcha_request",
            Self::InvalidatedPayload => "invalidated_payload",
        }
    }
}

/// The labels of a client.
#[derive(Clone, Copy, Debug)]
pub struct ClientLabels<'a> {
    /// Key of a configured site; any other counts under [`UNKNOWN_SITE`].
    pub site: &'a str,
    /// Cost of the challenge.
    pub cost: u32,
    /// Whether the address is on the site's allow list.
    pub whitelisted: bool,
    /// Challenge requests from the address inside the window, the current one included.
    pub visits: u64,
}

/// The metrics of the captcha service.
pub struct CaptchaMetrics {
    sites: ArcSwap<BTreeSet<String>>,
    requests: Series<IntCounter, 2>,
    events: Series<IntCounter, 5>,
    solve_time: Series<Summary, 4>,
    invalidated: Series<Gauge, 0>,
    verify: Timer,
    rows: Series<Gauge, 1>,
    cost: Series<Histogram, 1>,
    rejections: Series<IntCounter, 2>,
    claims_without_ledger: IntCounter,
}

impl fmt::Debug for CaptchaMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptchaMetrics").field("sites", &self.sites).finish_non_exhaustive()
    }
}

impl MetricSet for CaptchaMetrics {
    const FAMILIES: &'static [&'static Family] = ALL;

    fn register(registry: &Registry) -> Result<Self> {
        Ok(Self {
            sites: ArcSwap::default(),
            requests: Series::register(&CAPTCHA_REQUESTS, registry)?,
            events: Series::register(&CAPTCHA_EVENTS, registry)?,
            solve_time: Series::register(&CAPTCHA_SOLVE_TIME, registry)?,
            invalidated: Series::register(&CAPTCHA_INVALIDATED, registry)?,
            verify: Series::<Timer, 0>::register(&CAPTCHA_VERIFY, registry)?.get([]),
            rows: Series::register(&CAPTCHA_ROWS, registry)?,
            cost: Series::register(&CAPTCHA_COST, registry)?,
            rejections: Series::register(&CAPTCHA_REJECTIONS, registry)?,
            claims_without_ledger: Series::<IntCounter, 0>::register(
                &CAPTCHA_CLAIMS_WITHOUT_LEDGER,
                registry,
            )?
            .get([]),
        })
    }
}

impl CaptchaMetrics {
    /// Sets the configured sites: only these become labels. Their series begin at zero: requests by verdict, costs, and
    /// refused requests by each reason, those of requests without a site included.
    pub(crate) fn set_sites<'a>(
        &self,
        keys: impl IntoIterator<Item = &'a str>,
        payload_reasons: &[&str],
        request_reasons: &[&str],
    ) {
        let sites: BTreeSet<String> = keys.into_iter().map(str::to_owned).collect();
        let unknown = (UNKNOWN_SITE, request_reasons);
        for (site, reasons) in sites.iter().map(|site| (site.as_str(), payload_reasons)).chain([unknown]) {
            self.requests.get([site, verdict(true)]);
            self.requests.get([site, verdict(false)]);
            for reason in reasons {
                self.rejections.get([site, reason]);
            }
        }
        for site in &sites {
            self.cost.get([site]);
        }
        self.sites.store(Arc::new(sites));
    }

    /// Counts a verification request by its verdict. Requests without valid credentials, and those
    /// that do not parse, have no site.
    pub fn request(&self, site: Option<&str>, valid: bool) {
        self.requests.with([self.label(site), verdict(valid)], IntCounter::inc);
    }

    /// Counts an event.
    pub fn event(&self, client: &ClientLabels<'_>, event: Event) {
        let site = self.label(Some(client.site));
        let (cost, listed) = (client.cost.to_string(), flag(client.whitelisted));
        let visits = visits(client.visits);
        self.events.with([site, &cost, listed, visits, event.as_str()], IntCounter::inc);
    }

    /// Records a solve time that a client reported with a valid solution, milliseconds.
    pub(crate) fn solve_time(&self, client: &ClientLabels<'_>, millis: f64) {
        let site = self.label(Some(client.site));
        let (cost, listed) = (client.cost.to_string(), flag(client.whitelisted));
        let labels = [site, &cost, listed, visits(client.visits)];
        self.solve_time.with(labels, |times| times.observe(millis));
    }

    /// Records the cost of an issued challenge.
    pub fn issued(&self, site: &str, cost: u32) {
        self.cost.with([self.label(Some(site))], |costs| costs.observe(cost.into()));
    }

    /// Counts a refused request by one of a fixed set of reasons.
    pub fn rejected(&self, site: Option<&str>, reason: &'static str) {
        self.rejections.with([self.label(site), reason], IntCounter::inc);
    }

    /// Records the time that judging a payload took.
    pub fn verified(&self, elapsed: Duration) {
        self.verify.observe(elapsed);
    }

    /// Sets the rows of a table that have not expired; `None` when they could not be counted.
    pub(crate) fn set_rows(&self, table: LedgerTable, rows: Option<u64>) {
        let rows = rows.map_or(f64::NAN, |rows| rows as f64);
        self.rows.get([table.as_str()]).set(rows);
        if table == LedgerTable::InvalidatedPayload {
            self.invalidated.get([]).set(rows);
        }
    }

    /// Sets the claims since the start that were granted without the ledger's database.
    pub(crate) fn set_claims_without_ledger(&self, total: u64) {
        self.claims_without_ledger.inc_by(total.saturating_sub(self.claims_without_ledger.get()));
    }

    /// Returns the label of a site: its key, or [`UNKNOWN_SITE`].
    fn label<'a>(&self, site: Option<&'a str>) -> &'a str {
        let sites = self.sites.load();
        site.filter(|site| sites.contains(*site)).unwrap_or(UNKNOWN_SITE)
    }
}

const fn verdict(valid: bool) -> &'static str {
    if valid { "valid" } else { "invalid" }
}

const fn flag(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// Returns the bucket of a visit count, so that one client cannot create series without bound. A visit after the window
/// counts as a first one.
const fn visits(count: u64) -> &'static str {
    match count {
        0 | 1 => "1",
        2 => "2",
        3 => "3",
        4 => "4",
        5 => "5",
        6 => "6",
        7 => "7",
        8 => "8",
        9 => "9",
        10 => "10",
        11..=100 => "11-100",
        _ => ">100",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use bulkhead_telemetry::exposition::Format;

    use super::*;

    fn text(act: impl FnOnce(&CaptchaMetrics)) -> String {
        let registry = Registry::new();
        let captcha = CaptchaMetrics::register(&registry).unwrap();
        captcha.set_sites(["test_site"], &["expired", "replayed"], &["unauthorized"]);
        act(&captcha);
        Format::Text.encode(&registry.gather()).unwrap()
    }

    fn event(cost: u32, count: &str, kind: &str, listed: bool, value: u32) -> String {
        format!(
            "captcha_events_total{{difficulty=\"{cost}\",event_type=\"{kind}\",\
             is_whitelisted=\"{listed}\",same_source_address_request_count=\"{count}\",\
             site_key=\"test_site\"}} {value}\n"
        )
    }

    const CLIENT: ClientLabels<'_> =
        ClientLabels { site: "test_site", cost: 1_000, whitelisted: false, visits: 1 };

    #[test]
    fn visit_counts_fall_into_buckets() {
        let text = text(|captcha| {
            for visits in [1, 2, 10, 11, 100, 101, 5_000] {
                captcha.event(&ClientLabels { visits, ..CLIENT }, Event::ChallengeRequest);
            }
        });
        for (count, value) in [("1", 1), ("2", 1), ("10", 1), ("11-100", 2), (">100", 2)] {
            let line = event(1_000, count, "challenge_request", false, value);
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }

    #[test]
    fn unknown_sites_do_not_become_labels() {
        let text = text(|captcha| {
            captcha.request(Some("evil\"} 1"), false);
            captcha.request(None, false);
            captcha.request(Some("test_site"), true);
            captcha.rejected(Some("evil"), "expired");
        });
        assert!(!text.contains("evil"));
        for line in [
            "captcha_requests_total{outcome=\"invalid\",site=\"unknown\"} 2\n",
            "captcha_requests_total{outcome=\"valid\",site=\"test_site\"} 1\n",
            "captcha_requests_total{outcome=\"invalid\",site=\"test_site\"} 0\n",
            "captcha_rejections_total{reason=\"expired\",site=\"test_site\"} 0\n",
            "captcha_rejections_total{reason=\"replayed\",site=\"test_site\"} 0\n",
            "captcha_rejections_total{reason=\"unauthorized\",site=\"unknown\"} 0\n",
            "captcha_issued_cost_count{site=\"test_site\"} 0\n",
            "captcha_rejections_total{reason=\"expired\",site=\"unknown\"} 1\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn ledger_rows_have_both_metric_names() {
        let text = text(|captcha| {
            captcha.set_rows(LedgerTable::InvalidatedPayload, Some(1));
            captcha.set_rows(LedgerTable::CaptchaRequest, None);
        });
        for line in [
            "captcha_invalidated_payloads 1\n",
            "captcha_active_rows{table=\"invalidated_payload\"} 1\n",
            "captcha_active_rows{table=\"captcha_request\"} NaN\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
