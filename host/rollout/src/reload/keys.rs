//! Keys of the configuration that take effect while the host runs, and the settings of a slot that result.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_config::slots::{Limits, SlotSettings as Settings};

/// Digests of the set keys, see [`bulkhead_config::Loaded::set`].
pub(super) type KeyDigests = BTreeMap<String, [u8; 32]>;

/// Keys below a slot that take effect at once; of `config`, `rollout` and `signatures` all.
const LIVE: [&str; 8] =
    ["cpu_ms", "deadline_ms", "response_bytes", "grants", "reuse", "config", "rollout", "signatures"];

/// Returns the keys whose values differ.
pub(super) fn changes(before: &KeyDigests, after: &KeyDigests) -> BTreeSet<String> {
    let keys = before.keys().chain(after.keys());
    keys.filter(|key| before.get(*key) != after.get(*key)).cloned().collect()
}

/// Keys that a service applies while it runs, with all keys below them.
#[derive(Clone, Copy, Debug)]
pub struct LiveKeys {
    /// The keys in dotted form.
    pub keys: &'static [&'static str],
    /// Keys that need a restart: if one of them changes, `keys` need the restart too.
    pub restart_keys: &'static [&'static str],
}

impl LiveKeys {
    /// Returns keys that always take effect at once.
    pub const fn always(keys: &'static [&'static str]) -> Self {
        Self { keys, restart_keys: &[] }
    }

    fn has(&self, key: &str) -> bool {
        let mut below = self.keys.iter().filter_map(|followed| key.strip_prefix(followed));
        below.any(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Partitions keys into those that take effect at once and those that need a restart.
pub(super) fn partition(
    keys: BTreeSet<String>,
    is_used: impl Fn(&str) -> bool,
    followed: &[LiveKeys],
) -> (Vec<String>, Vec<String>) {
    let waits = |followed: &&LiveKeys| followed.restart_keys.iter().any(|key| keys.contains(*key));
    let followed: Vec<&LiveKeys> = followed.iter().filter(|followed| !waits(followed)).collect();
    let is_live = |key: &String| {
        let mut parts = key.split('.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("log"), Some("level" | "access"), None) | (Some("admin"), Some("tokens"), Some(_)) => true,
            (Some("slots"), Some(slot), Some(name)) => is_used(slot) && LIVE.contains(&name),
            _ => followed.iter().any(|followed| followed.has(key)),
        }
    };
    keys.into_iter().partition(is_live)
}

/// Has live keys wait for a restart, too: those of each table that has a key beyond what the host was started with. That key
/// waits even if it has not changed.
pub(super) fn behind_ceilings(
    (live, restart): (Vec<String>, Vec<String>),
    beyond: &[String],
) -> (Vec<String>, Vec<String>) {
    let tables: Vec<&str> = beyond.iter().filter_map(|key| Some(key.rsplit_once('.')?.0)).collect();
    let waits = |key: &String| {
        let mut below = tables.iter().filter_map(|table| key.strip_prefix(table));
        below.any(|rest| rest.starts_with('.'))
    };
    let (waiting, live): (Vec<String>, Vec<String>) = live.into_iter().partition(waits);
    let restart: BTreeSet<String> =
        restart.into_iter().chain(waiting).chain(beyond.iter().cloned()).collect();
    (live, restart.into_iter().collect())
}

/// Returns the settings of a running slot with the live keys of `wanted`, and the component that it names.
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
    use crate::tests::settings;

    #[test]
    fn keys_are_partitioned_by_effect() {
        let keys = [
            "slots.captcha.cpu_ms",
            "slots.captcha.config.mode",
            "slots.captcha.rollout.margin_percent",
            "slots.captcha.max_concurrent",
            "slots.captcha.component",
            "slots.status.cpu_ms",
            "server.listen",
            "log.level",
            "log.access",
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
        let followed = [
            LiveKeys::always(&["captcha.sites"]),
            LiveKeys { keys: &["captcha.api_keys"], restart_keys: &["captcha.auth"] },
        ];
        let (live, restart) = partition(keys, |slot| slot == "captcha", &followed);
        assert_eq!(
            live,
            [
                "admin.tokens.ops.scope",
                "captcha.api_keys",
                "captcha.sites.shop.secret",
                "log.access",
                "log.level",
                "slots.captcha.config.mode",
                "slots.captcha.cpu_ms",
                "slots.captcha.rollout.margin_percent"
            ]
        );
        assert_eq!(restart.len(), 10, "{restart:?}");
    }

    #[test]
    fn callers_keys_are_live_unless_auth_changes() {
        let captcha = LiveKeys { keys: &["captcha.api_keys"], restart_keys: &["captcha.auth"] };
        let tickets = LiveKeys::always(&["tickets.api_key"]);
        let embedding =
            LiveKeys { keys: &["embedding.api_keys"], restart_keys: &["services.embedding.enabled"] };
        let live = |keys: &[&str], followed: &[LiveKeys]| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            partition(keys, |_| true, followed).0
        };
        let all = ["captcha.api_keys", "captcha.api_keys.0", "embedding.api_keys", "tickets.api_key"];
        let every = [captcha, tickets, embedding];
        assert_eq!(live(&all, &every), all);
        assert_eq!(live(&["embedding.api_keys"], &[captcha, tickets]), [""; 0]);
        assert_eq!(live(&["captcha.api_keys", "captcha.auth"], &every), [""; 0]);
        assert_eq!(live(&["embedding.api_keys", "services.embedding.enabled"], &every), [""; 0]);
        assert_eq!(live(&["tickets.llm.api_key"], &every), [""; 0]);
    }

    #[test]
    fn tables_beyond_ceilings_wait() {
        let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        let live = owned(&["apps.a.cpu_ms", "apps.b.component", "apps.b.memory_bytes", "apps.bc.cpu_ms"]);
        let beyond = owned(&["apps.b.memory_bytes", "apps.c.max_concurrent"]);
        let (live, restart) = behind_ceilings((live, owned(&["server.listen"])), &beyond);
        assert_eq!(live, ["apps.a.cpu_ms", "apps.bc.cpu_ms"]);
        let waiting = ["apps.b.component", "apps.b.memory_bytes", "apps.c.max_concurrent", "server.listen"];
        assert_eq!(restart, waiting);
    }

    #[test]
    fn only_live_settings_are_taken() {
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
