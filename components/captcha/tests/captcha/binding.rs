//! Tests that challenges are valid for one site, one action and, if the site says so, one client.

use bulkhead_captcha::issue::issue;
use bulkhead_captcha::policy::{Binding, Client, Site};
use bulkhead_captcha::verdict::Reason;
use bulkhead_captcha::verify::{invalidate, verify};
use serde_json::Value;

use crate::native_host::{NativeHost, client, compat_site, site};
use crate::payloads::{refusal, solve, solved};

#[test]
fn other_site_refuses_despite_equal_keys() {
    let host = NativeHost::new();
    let other = Site { key: "site-b".to_owned(), ..site() };
    let payload = solved(&host, &site(), &client("a"));
    assert_eq!(refusal(&host, &other, &client("a"), &payload), Some(Reason::WrongSite));
    assert!(!invalidate(&host, &other, &payload.to_string()).unwrap());
    assert_eq!(refusal(&host, &site(), &client("a"), &payload), None);
}

#[test]
fn siteless_challenge_needs_compat_mode() {
    let host = NativeHost::new();
    let payload = solved(&host, &compat_site(), &client("a"));
    assert_eq!(refusal(&host, &site(), &client("a"), &payload), Some(Reason::WrongSite));
    let other = Site { key: "site-b".to_owned(), ..compat_site() };
    assert_eq!(refusal(&host, &other, &client("a"), &payload), None, "as in captchaservice");
}

#[test]
fn compat_mode_refuses_other_site() {
    let host = NativeHost::new();
    let payload = solved(&host, &site(), &client("a"));
    let other = Site { key: "site-b".to_owned(), ..compat_site() };
    assert_eq!(refusal(&host, &other, &client("a"), &payload), Some(Reason::WrongSite));
}

#[test]
fn actions_are_compared_when_asked_for() {
    let host = NativeHost::new();
    let site = Site { max_verifies: 9, ..site() };
    let challenge = issue(&host, &site, &client("a"), Some("login")).unwrap().challenge;
    let payload = solve(&host, &challenge);
    let plain = solved(&host, &site, &client("a"));
    let judge =
        |payload: &Value, action| verify(&host, &site, &client("a"), &payload.to_string(), action).unwrap();
    let verdict = judge(&payload, Some("login"));
    assert_eq!((verdict.rejected, verdict.action.as_deref()), (None, Some("login")));
    let verdict = judge(&payload, None);
    assert_eq!((verdict.rejected, verdict.action.as_deref()), (None, Some("login")));
    assert_eq!(judge(&payload, Some("pay")).rejected, Some(Reason::WrongAction));
    assert_eq!(judge(&plain, Some("login")).rejected, Some(Reason::WrongAction));
}

#[test]
fn clients_are_compared_at_the_sites_granularity() {
    let host = NativeHost::new();
    // The same network, another address; the network's key has been rotated since.
    let neighbour = Client { network: vec!["net-a-newer".to_owned(), "net-a-new".to_owned()], ..client("b") };
    let stranger = client("c");
    for (binding, near, far) in [
        (Binding::None, None, None),
        (Binding::Network, None, Some(Reason::WrongClient)),
        (Binding::Exact, Some(Reason::WrongClient), Some(Reason::WrongClient)),
    ] {
        let site = Site { binding, max_verifies: 9, ..site() };
        let payload = solved(&host, &site, &client("a"));
        assert_eq!(refusal(&host, &site, &client("a"), &payload), None);
        assert_eq!(refusal(&host, &site, &neighbour, &payload), near, "{binding:?}");
        assert_eq!(refusal(&host, &site, &stranger, &payload), far, "{binding:?}");
        assert_eq!(refusal(&host, &site, &Client::default(), &payload), far, "{binding:?}");
    }
}

#[test]
fn binding_site_refuses_unbound_challenge() {
    let host = NativeHost::new();
    let payload = solved(&host, &site(), &client("a"));
    let bound = Site { binding: Binding::Network, ..site() };
    assert_eq!(refusal(&host, &bound, &client("a"), &payload), Some(Reason::WrongClient));
}

#[test]
fn binding_refusal_costs_nothing() {
    let host = NativeHost::new();
    let site = Site { binding: Binding::Exact, deterministic: false, ..site() };
    let payload = solved(&host, &site, &client("a"));
    for _ in 0..10 {
        assert_eq!(refusal(&host, &site, &client("b"), &payload), Some(Reason::WrongClient));
    }
    assert_eq!(host.derivations.get(), 0);
    assert_eq!(refusal(&host, &site, &client("a"), &payload), None);
}
