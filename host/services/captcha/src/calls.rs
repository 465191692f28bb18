//! The calls of the slot: issue a challenge, judge a payload, invalidate one; with their metrics.

pub(crate) mod answer;
pub(crate) mod client;
mod shadow_diff;
mod solve_time;
mod token;

use std::{net::IpAddr, sync::Arc, time::Instant};

use bulkhead_ledger::Solve;
use bulkhead_runtime::invoke::{self, accept_any};

use self::token::WidgetResult;
use crate::{
    CaptchaCallError, CaptchaService, IssuedChallenge, PayloadJudgement, RejectionReason, ServedSite,
    metrics::{ClientLabels, Event},
    world::{Client, Verdict},
};

impl CaptchaService {
    /// Refuses a client on the site's deny list.
    fn refuse_denied(&self, site: &ServedSite, address: IpAddr) -> Result<(), CaptchaCallError> {
        if site.denies(address) {
            self.metrics.rejected(Some(&site.key), RejectionReason::DeniedClient.as_str());
            return Err(CaptchaCallError::Denied);
        }
        Ok(())
    }

    /// Issues a challenge to the client at `address`. During a canary, a client stays with one version, and so does a
    /// payload; one version may judge challenges of the other.
    ///
    /// # Errors
    /// See [`CaptchaCallError`].
    pub async fn issue(
        &self,
        site: &ServedSite,
        address: IpAddr,
        action: Option<&str>,
    ) -> Result<IssuedChallenge, CaptchaCallError> {
        self.refuse_denied(site, address)?;
        let client = self.client(site, address);
        let allow_listed = client.allow_listed;
        let policy = Arc::clone(&site.policy);
        let action = action.map(str::to_owned);
        let key = sticky_key(site, client.exact.first().map_or("", String::as_str));
        let answer =
            invoke::call_shadowed(&self.slot, Some(&key), "issue", answer::issued, move |captcha, store| {
                Box::pin(async move {
                    captcha
                        .bulkhead_captcha_challenges()
                        .call_issue(store, &policy, &client, action.as_deref())
                        .await
                })
            });
        let issued = answer.await?.map_err(CaptchaCallError::of_guest)?;
        self.ledger.record_issued(&site.key);
        let expires_at = self.now().as_secs().saturating_add(site.policy.timeout_seconds.into());
        self.ledger.remember_issued(expires_at, || issued.ledger_id());
        self.metrics.issued(&site.key, issued.cost);
        let labels = ClientLabels { visits: issued.visits, ..labels(site, Some(issued.cost), allow_listed) };
        self.metrics.event(&labels, Event::ChallengeRequest);
        Ok(issued)
    }

    /// Judges a payload (JSON text of an object, which may be a widget result) and spends it once if it is valid.
    ///
    /// # Errors
    /// See [`CaptchaCallError`].
    pub async fn verify(
        &self,
        site: &ServedSite,
        address: IpAddr,
        payload: &str,
        action: Option<&str>,
    ) -> Result<PayloadJudgement, CaptchaCallError> {
        self.verify_at(&[site], address, payload, action).await
    }

    /// Judges a payload for the first of `sites` that it can be for, else for the last. No sites are an internal error.
    ///
    /// # Errors
    /// See [`CaptchaCallError`].
    pub(crate) async fn verify_at(
        &self,
        sites: &[&ServedSite],
        address: IpAddr,
        payload: &str,
        action: Option<&str>,
    ) -> Result<PayloadJudgement, CaptchaCallError> {
        let since = Instant::now();
        let mut sites = sites.iter();
        while let Some(site) = sites.next() {
            let client = self.client(site, address);
            let allow_listed = client.allow_listed;
            let judged = match token::is_widget_result(payload) {
                _ if site.denies(address) => {
                    Ok((PayloadJudgement::rejected(RejectionReason::DeniedClient, self.now()), None))
                }
                true => self.redeem(site, payload, action).await.map(|judged| (judged, None)),
                false => self
                    .judge(site, client, payload, action)
                    .await
                    .map(|(judged, verdict)| (judged, Some(verdict))),
            };
            if sites.len() > 0 && answer::may_fit_another_site(&judged) {
                continue;
            }
            self.metrics.verified(since.elapsed());
            match &judged {
                Ok((judged, verdict)) => {
                    self.record_judgement(site, judged, verdict.as_ref(), (address, allow_listed));
                }
                Err(CaptchaCallError::Malformed(_)) => {}
                Err(_) => self.metrics.event(&labels(site, None, allow_listed), Event::VerifyError),
            }
            return judged.map(|(judged, _)| judged);
        }
        Err(CaptchaCallError::Internal)
    }

    /// Has the component judge a payload.
    async fn judge(
        &self,
        site: &ServedSite,
        client: Client,
        payload: &str,
        action: Option<&str>,
    ) -> Result<(PayloadJudgement, Verdict), CaptchaCallError> {
        let policy = Arc::clone(&site.policy);
        let key = sticky_key(site, payload);
        let (payload, action) = (payload.to_owned(), action.map(str::to_owned));
        let answer =
            invoke::call_shadowed(&self.slot, Some(&key), "verify", accept_any, move |captcha, store| {
                Box::pin(async move {
                    let challenges = captcha.bulkhead_captcha_challenges();
                    challenges.call_verify(store, &policy, &client, &payload, action.as_deref()).await
                })
            });
        let verdict = answer.await?.map_err(CaptchaCallError::of_guest)?;
        let judged = PayloadJudgement {
            rejected: verdict.rejected.map(RejectionReason::from),
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
    ) -> Result<PayloadJudgement, CaptchaCallError> {
        let judged = |rejected, result: Option<WidgetResult>| {
            let (solved_at, action, hostname) = result.map_or((self.now().as_secs(), None, None), |result| {
                (result.time, result.action, result.hostname)
            });
            PayloadJudgement { rejected, action, hostname, solved_at }
        };
        let result = match WidgetResult::check(site, payload, self.now().as_secs()) {
            Ok(result) => result,
            Err(reason) => return Ok(judged(Some(reason), None)),
        };
        if action.is_some() && action != result.action.as_deref() {
            return Ok(judged(Some(RejectionReason::WrongAction), Some(result)));
        }
        let fresh = self.ledger.claim(&result.ledger_id(), result.expires_at, 1, false).await?;
        Ok(judged((!fresh).then_some(RejectionReason::Replayed), Some(result)))
    }

    /// Spends all remaining uses of a payload's challenge. Returns whether there were any.
    ///
    /// # Errors
    /// See [`CaptchaCallError`].
    pub async fn invalidate(
        &self,
        site: &ServedSite,
        address: IpAddr,
        payload: &str,
    ) -> Result<bool, CaptchaCallError> {
        self.refuse_denied(site, address)?;
        let policy = Arc::clone(&site.policy);
        let key = sticky_key(site, payload);
        let payload = payload.to_owned();
        let answer =
            invoke::call_shadowed(&self.slot, Some(&key), "invalidate", accept_any, move |captcha, store| {
                Box::pin(async move {
                    captcha.bulkhead_captcha_challenges().call_invalidate(store, &policy, &payload).await
                })
            });
        let invalidated = answer.await?.map_err(CaptchaCallError::of_guest)?;
        if invalidated {
            self.metrics.event(&labels(site, None, false), Event::Invalidate);
        }
        Ok(invalidated)
    }

    /// Returns the signed result of an accepted payload, in base64; `hostname` is the page's.
    pub(crate) fn widget_result(
        &self,
        site: &ServedSite,
        judged: &PayloadJudgement,
        hostname: Option<String>,
    ) -> Option<String> {
        let (now, timeout) = (self.now().as_secs(), site.policy.timeout_seconds);
        let result = WidgetResult::new(now, timeout, judged.action.clone(), hostname);
        self.ledger.remember_issued(result.expires_at, || Some(result.ledger_id()));
        site.token_keys.first().map(|key| result.sign(&site.key, key))
    }

    /// Records a judgement in the metrics and the ledger.
    fn record_judgement(
        &self,
        site: &ServedSite,
        judged: &PayloadJudgement,
        verdict: Option<&Verdict>,
        (address, allow_listed): (IpAddr, bool),
    ) {
        let cost = verdict.and_then(|verdict| verdict.cost);
        let time = verdict.and_then(|verdict| solve_time::solve_time(verdict, site, self.now()));
        let valid = judged.rejected.is_none();
        self.metrics.request(Some(&site.key), valid);
        let expected_pace = site.expected_pace();
        let solve = time.map(|ms| Solve { ms, cost, expected_pace });
        // Clients on the deny list do not count towards a site's load, nor do replays: they say nothing about difficulty.
        if !matches!(judged.rejected, Some(RejectionReason::DeniedClient | RejectionReason::Replayed)) {
            self.ledger.record_verified(&site.key, address, valid, solve);
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
                // As in captchaservice, a replay does not count as a failed solution.
                if reason != RejectionReason::Replayed {
                    self.metrics.event(&labels, Event::VerifyFailure);
                }
            }
        }
    }
}

/// Returns the key by which a canary assigns calls to versions: a client of a site, or a payload.
fn sticky_key(site: &ServedSite, subject: &str) -> Vec<u8> {
    [site.key.as_bytes(), subject.as_bytes()].join(&0)
}

/// Returns the labels of an event without a visit count: only issuing a challenge counts visits.
fn labels(site: &ServedSite, cost: Option<u32>, whitelisted: bool) -> ClientLabels<'_> {
    ClientLabels { site: &site.key, cost: cost.unwrap_or(0), whitelisted, visits: 0 }
}
