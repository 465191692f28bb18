//! Which keys count at once, and what they mean for a slot.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::slots::{Limits, Slot as Settings, SlotName};

/// Digests of the keys that are set, see [`crate::config::Loaded::set`].
pub(super) type Set = BTreeMap<String, [u8; 32]>;

/// Keys below a slot that count at once; of `config`, `rollout` and `signatures` all.
const LIVE: [&str; 8] =
    ["cpu_ms", "deadline_ms", "response_bytes", "grants", "reuse", "config", "rollout", "signatures"];

/// Keys whose values differ.
pub(super) fn changes(before: &Set, after: &Set) -> BTreeSet<String> {
    let keys = before.keys().chain(after.keys());
    keys.filter(|key| before.get(*key) != after.get(*key)).cloned().collect()
}

/// Keys that count at once, and those that wait for a restart; `embeds` says whether there is an embedding service, which
/// has no slot.
pub(super) fn sort(
    keys: BTreeSet<String>,
    embeds: bool,
    is_used: impl Fn(SlotName) -> bool,
) -> (Vec<String>, Vec<String>) {
    // Whether keys let calls in at all is up to a restart, which these wait for then.
    let guards_otherwise = keys.contains("captcha.auth");
    let embeds_otherwise = keys.contains("services.embedding.enabled");
    let is_live = |key: &String| {
        let mut parts = key.split('.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("log"), Some("level"), None) | (Some("admin"), Some("tokens"), Some(_)) => true,
            (Some("captcha"), Some("sites"), Some(_)) => is_used(SlotName::Captcha),
            (Some("captcha"), Some("api_keys"), _) => !guards_otherwise && is_used(SlotName::Captcha),
            (Some("status"), Some("tokens"), _) => is_used(SlotName::Status),
            (Some("tickets"), Some("api_key"), None) => is_used(SlotName::Triage),
            (Some("embedding"), Some("api_keys"), _) => embeds && !embeds_otherwise,
            (Some("slots"), Some(slot), Some(name)) => {
                let slot = SlotName::ALL.into_iter().find(|known| known.as_str() == slot);
                slot.is_some_and(&is_used) && LIVE.contains(&name)
            }
            _ => false,
        }
    };
    keys.into_iter().partition(is_live)
}

/// The settings of a running slot with what counts at once taken from others, and the component that they name.
pub(super) fn live_settings(running: &Settings, wanted: &Settings) -> Settings {
    let Limits { cpu_ms, deadline, response_bytes, .. } = wanted.limits;
    Settings {
        component: wanted.component.clone(),
        limits: Limits { cpu_ms, deadline, response_bytes, ..running.limits.clone() },
        grants: wanted.grants.clone(),
        reuse: wanted.reuse,
        config: wanted.config.clone(),
        rollout: wanted.rollout.clone(),
        signatures: wanted.signatures.clone(),
        ..running.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::tests::settings;

    #[test]
    fn keys_are_told_apart_by_when_they_count() {
        let keys = [
            "slots.captcha.cpu_ms",
            "slots.captcha.config.mode",
            "slots.captcha.rollout.margin_percent",
            "slots.captcha.max_concurrent",
            "slots.captcha.component",
            "slots.status.cpu_ms",
            "server.listen",
            "log.level",
            "log.format",
            "admin.tokens.ops.scope",
            "admin.tls.cert",
            "captcha.sites.shop.secret",
            "captcha.hmac_key",
            "captcha.api_keys",
            "status.tokens",
            "tickets.api_key",
            "embedding.api_keys",
        ];
        let keys = keys.map(str::to_owned).into();
        let (live, restart) = sort(keys, false, |slot| slot == SlotName::Captcha);
        assert_eq!(
            live,
            [
                "admin.tokens.ops.scope",
                "captcha.api_keys",
                "captcha.sites.shop.secret",
                "log.level",
                "slots.captcha.config.mode",
                "slots.captcha.cpu_ms",
                "slots.captcha.rollout.margin_percent"
            ]
        );
        assert_eq!(restart.len(), 10, "{restart:?}");
    }

    #[test]
    fn callers_keys_count_at_once_where_they_let_calls_in() {
        let live = |keys: &[&str], embeds| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            sort(keys, embeds, |slot| slot != SlotName::Status).0
        };
        let all = ["captcha.api_keys", "captcha.api_keys.0", "embedding.api_keys", "tickets.api_key"];
        assert_eq!(live(&all, true), all);
        assert_eq!(live(&["embedding.api_keys"], false), [""; 0]);
        assert_eq!(live(&["captcha.api_keys", "captcha.auth"], true), [""; 0]);
        assert_eq!(live(&["embedding.api_keys", "services.embedding.enabled"], true), [""; 0]);
        assert_eq!(live(&["tickets.llm.api_key"], true), [""; 0]);
    }

    #[test]
    fn what_counts_at_once_is_taken_and_the_rest_left() {
        let wanted = Settings {
            limits: Limits { cpu_ms: 7, max_concurrent: 99, memory_bytes: 1, ..Limits::DEFAULT },
            grants: vec!["wasi:io/poll".into()],
            reuse: true,
            models: Some(Vec::new()),
            ..settings()
        };
        let live = live_settings(&settings(), &wanted);
        assert_eq!((live.limits.cpu_ms, live.reuse, live.grants.len()), (7, true, 1));
        let Limits { max_concurrent, memory_bytes, .. } = live.limits;
        assert_eq!(
            (max_concurrent, memory_bytes),
            (Limits::DEFAULT.max_concurrent, Limits::DEFAULT.memory_bytes)
        );
        assert_eq!(live.models, None);
    }
}
