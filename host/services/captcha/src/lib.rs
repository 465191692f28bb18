//! The captcha service: its sites, and the slot that issues and judges their challenges.

pub mod actuator;
mod author_files;
mod calls;
pub mod capabilities;
mod command;
pub mod http;
pub mod metrics;
pub mod service;
mod site;
pub mod spec;
mod world;

use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use bulkhead_config::slots::SlotSettings;
use bulkhead_ledger::Ledger;
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::keys::{Key, MasterKey, NamedKeys};
use bulkhead_runtime::slots::{Slot, SlotContext};

use self::{
    calls::client::Peppers,
    config::{Captcha as Settings, Site},
    metrics::CaptchaMetrics,
    world::Client,
};

pub use bulkhead_captcha_configuration::{config, import};

pub use self::{
    calls::answer::{CaptchaCallError, IssuedChallenge, PayloadJudgement, RejectedRequest, RejectionReason},
    site::ServedSite,
    world::{Captcha, Verdict},
};

/// Name and bytes of the key that a component's self-test signs with; it is not a secret.
const SELF_TEST_KEY: &str = "self-test";

/// The sites by their public keys.
pub type Sites = BTreeMap<String, Arc<ServedSite>>;

/// The captcha service.
#[derive(Debug)]
pub struct CaptchaService {
    slot: Arc<Slot<Captcha>>,
    /// The sites. A request keeps the one that it has loaded to its end.
    sites: ArcSwap<Sites>,
    masters: Vec<MasterKey>,
    timeout: Duration,
    _self_test: NamedKeys,
    peppers: Peppers,
    ledger: Ledger,
    metrics: Arc<CaptchaMetrics>,
}

impl CaptchaService {
    /// Returns the service with an empty slot. `masters` holds the current master key first.
    pub fn new(
        settings: &Settings,
        slot: &SlotSettings,
        context: SlotContext,
        mut resources: SlotResources,
        masters: &[MasterKey],
        ledger: Ledger,
        metrics: Arc<CaptchaMetrics>,
    ) -> Self {
        let timeout = settings.captcha_timeout;
        resources.clock = ledger.clock().clone();
        resources.insert(Arc::new(ledger.clone()));
        let slot_metrics = resources.metrics.slot(slot.id());
        let peppers = Peppers::new(masters, settings.source_address_window.max(timeout));
        let slot = Arc::new(Slot::new(context, slot.clone(), resources, slot_metrics));
        let self_test =
            slot.resources.keys.get_or_insert_with(SELF_TEST_KEY, || vec![Key::new(SELF_TEST_KEY)]);
        let service = Self {
            slot,
            sites: ArcSwap::default(),
            masters: masters.to_vec(),
            timeout,
            _self_test: self_test,
            peppers,
            ledger,
            metrics,
        };
        service.replace_sites(&settings.sites);
        service
    }

    /// Replaces the sites. Requests in flight keep the site that they have.
    pub fn replace_sites(&self, settings: &BTreeMap<String, Site>) {
        let ring = &self.slot.resources.keys;
        let served = |(key, site): (&String, &Site)| {
            (key.clone(), Arc::new(ServedSite::new(key, site, self.timeout, &self.masters, ring)))
        };
        let sites: Sites = settings.iter().map(served).collect();
        self.metrics.set_sites(
            sites.keys().map(String::as_str),
            &RejectionReason::ALL.map(RejectionReason::as_str),
            &RejectedRequest::ALL.map(RejectedRequest::as_str),
        );
        self.sites.store(Arc::new(sites));
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<Captcha>> {
        &self.slot
    }

    /// Returns the ledger, for health checks.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns every site.
    pub fn sites(&self) -> Arc<Sites> {
        self.sites.load_full()
    }

    /// Returns a site by its public key.
    pub fn site(&self, key: &str) -> Option<Arc<ServedSite>> {
        self.sites.load().get(key).cloned()
    }

    /// Returns the site with this key and secret. An unknown site and a wrong secret take the same time.
    pub fn authenticate(&self, key: &str, secret: &str) -> Option<Arc<ServedSite>> {
        let sites = self.sites.load();
        let named = sites.get(key);
        let compared = named.or_else(|| sites.values().next()).map(|site| site.accepts(secret));
        let accepted = compared.is_some_and(bool::from);
        named.filter(|_| accepted).cloned()
    }

    /// Returns the sites with this secret, which several may share. Compares the secrets of all sites.
    pub(crate) fn sites_by_secret(&self, secret: &str) -> Vec<Arc<ServedSite>> {
        self.sites.load().values().filter(|site| site.accepts(secret).into()).cloned().collect()
    }

    /// Returns the time since the Unix epoch.
    fn now(&self) -> Duration {
        self.ledger.clock().unix()
    }

    /// Returns how the guest knows the client at `address`.
    fn client(&self, site: &ServedSite, address: IpAddr) -> Client {
        self.peppers.client(&site.config, address, self.now())
    }

    /// Counts a request that was refused before it reached a site.
    pub(crate) fn count_rejected_request(&self, kind: RejectedRequest) {
        self.metrics.request(None, false);
        self.metrics.rejected(None, kind.as_str());
    }
}
