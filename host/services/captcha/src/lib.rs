//! The captcha service: whom it serves, what its component is asked, what is counted.

pub mod actuator;
pub mod alias;
mod answer;
pub mod capabilities;
mod client;
pub mod config;
#[cfg(test)]
mod configured;
pub mod edit;
pub mod http;
pub mod import;
pub mod metrics;
pub mod service;
mod shadow_diff;
mod site;
mod solve_time;
pub mod spec;
mod spring;
mod token;
mod world;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use bulkhead_config::slots::Slot as SlotSettings;
use bulkhead_ledger::{Ledger, Solve};
use bulkhead_runtime::capabilities::SlotResources;
use bulkhead_runtime::invoke::{self, accept_any};
use bulkhead_runtime::keys::{Key, MasterKey, NamedKeys};
use bulkhead_runtime::slots::{Slot, SlotContext};

use self::{
    client::Peppers,
    config::{Captcha as Settings, Site},
    metrics::{CaptchaMetrics, Client as Labels, Event},
    token::WidgetResult,
    world::Client,
};

pub use self::{
    answer::{CallError, Issued, Judged, Reason, RejectedRequest},
    site::ServedSite,
    world::{Captcha, Verdict},
};

/// Name, and bytes, of the key that a component's self-test signs with: no secret.
const SELF_TEST_KEY: &str = "self-test";

/// Sites by their public keys.
pub type Sites = BTreeMap<String, Arc<ServedSite>>;

/// The captcha service.
#[derive(Debug)]
pub struct CaptchaService {
    slot: Arc<Slot<Captcha>>,
    /// What a request takes one site of, and keeps to its end.
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
        let of_slot = resources.metrics.slot(slot.id());
        let peppers = Peppers::new(masters, settings.source_address_window.max(timeout));
        let slot = Arc::new(Slot::new(context, slot.clone(), resources, of_slot));
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

    /// Serves these sites from now on. A request that is under way keeps the site that it has.
    pub fn replace_sites(&self, settings: &BTreeMap<String, Site>) {
        let ring = &self.slot.resources.keys;
        let served = |(key, site): (&String, &Site)| {
            (key.clone(), Arc::new(ServedSite::new(key, site, self.timeout, &self.masters, ring)))
        };
        let sites: Sites = settings.iter().map(served).collect();
        self.metrics.know_sites(
            sites.keys().map(String::as_str),
            &Reason::ALL.map(Reason::as_str),
            &RejectedRequest::ALL.map(RejectedRequest::as_str),
        );
        self.sites.store(Arc::new(sites));
    }

    /// Returns the slot, for loading components into it.
    pub const fn slot(&self) -> &Arc<Slot<Captcha>> {
        &self.slot
    }

    /// The storage, for health.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Every site.
    pub fn sites(&self) -> Arc<Sites> {
        self.sites.load_full()
    }

    /// A site by its public key.
    pub fn site(&self, key: &str) -> Option<Arc<ServedSite>> {
        self.sites.load().get(key).cloned()
    }

    /// The site that `key` and `secret` name. An unknown site and a wrong secret cost the same time.
    pub fn authenticate(&self, key: &str, secret: &str) -> Option<Arc<ServedSite>> {
        let sites = self.sites.load();
        let named = sites.get(key);
        let compared = named.or_else(|| sites.values().next()).map(|site| site.accepts(secret));
        let accepted = compared.is_some_and(bool::from);
        named.filter(|_| accepted).cloned()
    }

    /// The sites whose secret is `secret`, comparing with every site's. Sites may share one.
    pub fn sites_by_secret(&self, secret: &str) -> Vec<Arc<ServedSite>> {
        self.sites.load().values().filter(|site| site.accepts(secret).into()).cloned().collect()
    }

    /// The time of day since the Unix epoch.
    fn now(&self) -> Duration {
        self.ledger.clock().unix()
    }

    fn client(&self, site: &ServedSite, address: IpAddr) -> Client {
        self.peppers.client(&site.config, address, self.now())
    }

    /// Fails for a client on the site's deny list.
    fn admit(&self, site: &ServedSite, address: IpAddr) -> Result<(), CallError> {
        if site.denies(address) {
            self.metrics.rejected(Some(&site.key), Reason::DeniedClient.as_str());
            return Err(CallError::Denied);
        }
        Ok(())
    }

    /// Issues a challenge to the client at `address`. While a candidate is tried, a client stays with one version, and
    /// so does a payload: one version's challenges may be judged by the other.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn issue(
        &self,
        site: &ServedSite,
        address: IpAddr,
        action: Option<&str>,
    ) -> Result<Issued, CallError> {
        self.admit(site, address)?;
        let client = self.client(site, address);
        let allow_listed = client.allow_listed;
        let policy = Arc::clone(&site.policy);
        let action = action.map(str::to_owned);
        let key = sticky(site, client.exact.first().map_or("", String::as_str));
        let answer =
            invoke::call_shadowed(&self.slot, Some(&key), "issue", answer::issued, move |captcha, store| {
                Box::pin(async move {
                    captcha
                        .bulkhead_captcha_challenges()
                        .call_issue(store, &policy, &client, action.as_deref())
                        .await
                })
            });
        let issued = answer.await?.map_err(CallError::of_guest)?;
        self.ledger.record_issued(&site.key);
        let expires_at = self.now().as_secs().saturating_add(site.policy.timeout_seconds.into());
        self.ledger.remember_issued(expires_at, || issued.ledger_id());
        self.metrics.issued(&site.key, issued.cost);
        let labels = Labels { visits: issued.visits, ..labels(site, Some(issued.cost), allow_listed) };
        self.metrics.event(&labels, Event::ChallengeRequest);
        Ok(issued)
    }

    /// Judges a payload (JSON text of an object) and spends it once when it is valid. A widget result is a
    /// payload too.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn verify(
        &self,
        site: &ServedSite,
        address: IpAddr,
        payload: &str,
        action: Option<&str>,
    ) -> Result<Judged, CallError> {
        self.verify_at(&[site], address, payload, action).await
    }

    /// The same for the first of some sites that the payload can be for, else the last. None is an internal error.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn verify_at(
        &self,
        sites: &[&ServedSite],
        address: IpAddr,
        payload: &str,
        action: Option<&str>,
    ) -> Result<Judged, CallError> {
        let since = Instant::now();
        let mut sites = sites.iter();
        while let Some(site) = sites.next() {
            let client = self.client(site, address);
            let allow_listed = client.allow_listed;
            let judged = match token::is_widget_result(payload) {
                _ if site.denies(address) => Ok((Judged::rejected(Reason::DeniedClient, self.now()), None)),
                true => self.redeem(site, payload, action).await.map(|judged| (judged, None)),
                false => self
                    .judge(site, client, payload, action)
                    .await
                    .map(|(judged, verdict)| (judged, Some(verdict))),
            };
            if sites.len() > 0 && answer::is_foreign(&judged) {
                continue;
            }
            self.metrics.verified(since.elapsed());
            match &judged {
                Ok((judged, verdict)) => {
                    self.note_judged(site, judged, verdict.as_ref(), (address, allow_listed));
                }
                Err(CallError::Malformed(_)) => {}
                Err(_) => self.metrics.event(&labels(site, None, allow_listed), Event::VerifyError),
            }
            return judged.map(|(judged, _)| judged);
        }
        Err(CallError::Internal)
    }

    async fn judge(
        &self,
        site: &ServedSite,
        client: Client,
        payload: &str,
        action: Option<&str>,
    ) -> Result<(Judged, Verdict), CallError> {
        let policy = Arc::clone(&site.policy);
        let key = sticky(site, payload);
        let (payload, action) = (payload.to_owned(), action.map(str::to_owned));
        let answer =
            invoke::call_shadowed(&self.slot, Some(&key), "verify", accept_any, move |captcha, store| {
                Box::pin(async move {
                    let challenges = captcha.bulkhead_captcha_challenges();
                    challenges.call_verify(store, &policy, &client, &payload, action.as_deref()).await
                })
            });
        let verdict = answer.await?.map_err(CallError::of_guest)?;
        let judged = Judged {
            rejected: verdict.rejected.map(Reason::from),
            action: verdict.action.clone(),
            hostname: None,
            solved_at: self.now().as_secs(),
        };
        Ok((judged, verdict))
    }

    /// Accepts a widget result once.
    async fn redeem(
        &self,
        site: &ServedSite,
        payload: &str,
        action: Option<&str>,
    ) -> Result<Judged, CallError> {
        let judged = |rejected, result: Option<WidgetResult>| {
            let (solved_at, action, hostname) = result.map_or((self.now().as_secs(), None, None), |result| {
                (result.time, result.action, result.hostname)
            });
            Judged { rejected, action, hostname, solved_at }
        };
        let result = match WidgetResult::check(site, payload, self.now().as_secs()) {
            Ok(result) => result,
            Err(reason) => return Ok(judged(Some(reason), None)),
        };
        if action.is_some() && action != result.action.as_deref() {
            return Ok(judged(Some(Reason::WrongAction), Some(result)));
        }
        let fresh = self.ledger.claim(&result.ledger_id(), result.expires_at, 1, false).await?;
        Ok(judged((!fresh).then_some(Reason::Replayed), Some(result)))
    }

    /// Spends all that is left of a payload's challenge: true when anything was left.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn invalidate(
        &self,
        site: &ServedSite,
        address: IpAddr,
        payload: &str,
    ) -> Result<bool, CallError> {
        self.admit(site, address)?;
        let policy = Arc::clone(&site.policy);
        let key = sticky(site, payload);
        let payload = payload.to_owned();
        let answer =
            invoke::call_shadowed(&self.slot, Some(&key), "invalidate", accept_any, move |captcha, store| {
                Box::pin(async move {
                    captcha.bulkhead_captcha_challenges().call_invalidate(store, &policy, &payload).await
                })
            });
        let invalidated = answer.await?.map_err(CallError::of_guest)?;
        if invalidated {
            self.metrics.event(&labels(site, None, false), Event::Invalidate);
        }
        Ok(invalidated)
    }

    /// A server-signed result of an accepted payload, in base64; `hostname` is the page's.
    pub fn widget_result(
        &self,
        site: &ServedSite,
        judged: &Judged,
        hostname: Option<String>,
    ) -> Option<String> {
        let (now, timeout) = (self.now().as_secs(), site.policy.timeout_seconds);
        let result = WidgetResult::new(now, timeout, judged.action.clone(), hostname);
        self.ledger.remember_issued(result.expires_at, || Some(result.ledger_id()));
        site.token_keys.first().map(|key| result.sign(&site.key, key))
    }

    fn note_judged(
        &self,
        site: &ServedSite,
        judged: &Judged,
        verdict: Option<&Verdict>,
        (address, allow_listed): (IpAddr, bool),
    ) {
        let cost = verdict.and_then(|verdict| verdict.cost);
        let time = verdict.and_then(|verdict| solve_time::solve_time(verdict, site, self.now()));
        let valid = judged.rejected.is_none();
        self.metrics.request(Some(&site.key), valid);
        let expected_pace = site.expected_pace();
        let solve = time.map(|ms| Solve { address, ms, cost, expected_pace });
        // A client on the deny list says nothing about a site's load.
        if judged.rejected != Some(Reason::DeniedClient) {
            self.ledger.record_verified(&site.key, valid, solve);
        }
        let labels = labels(site, cost, allow_listed);
        match judged.rejected {
            None => {
                self.metrics.event(&labels, Event::VerifySuccess);
                if let Some(time) = time {
                    self.metrics.solve_time(&labels, time);
                }
            }
            Some(reason) => {
                self.metrics.rejected(Some(&site.key), reason.as_str());
                // As in captchaservice, a replay is no failure of the solver.
                if reason != Reason::Replayed {
                    self.metrics.event(&labels, Event::VerifyFailure);
                }
            }
        }
    }

    /// Counts a request that never came to a site.
    pub fn count_rejected_request(&self, kind: RejectedRequest) {
        self.metrics.request(None, false);
        self.metrics.rejected(None, kind.as_str());
    }
}

/// What one version answers for while another is tried: a client of a site, or a payload.
fn sticky(site: &ServedSite, what: &str) -> Vec<u8> {
    [site.key.as_bytes(), what.as_bytes()].join(&0)
}

/// Labels of an event whose visit count is not known: only issuing a challenge counts visits.
fn labels(site: &ServedSite, cost: Option<u32>, whitelisted: bool) -> Labels<'_> {
    Labels { site: &site.key, cost: cost.unwrap_or(0), whitelisted, visits: 0 }
}
