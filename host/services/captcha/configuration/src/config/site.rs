//! Reads the tables `[captcha.sites.KEY]`.

use std::{collections::BTreeSet, time::Duration};

use bulkhead_config::{formats, reader::Reader, secret::Secret};
use bulkhead_pow::PowAlgorithm;
use unicode_normalization::UnicodeNormalization;

use super::{
    Auto, Binding, COMPAT_IPV6_NET_SIZE, COST, COUNTER_MAX, LadderStep, MAX_FAILURES_PER_CHALLENGE,
    MAX_VERIFIES, MAX_VERIFIES_PER_PAYLOAD, Protocol, SECRET_CHARS, SIGNATURE_SECRET_CHARS,
    SOURCE_ADDRESS_IPV4_NET_SIZE, SOURCE_ADDRESS_IPV6_NET_SIZE, Site, WIDGET_CALLS_PER_MINUTE,
    speed::WIDGET_TIMEOUT,
    work::{MAX_LANES, WorkParameters},
};

const PROTOCOLS: [(&str, Protocol); 2] = [("v1", Protocol::V1), ("v2", Protocol::V2)];
const BINDINGS: [(&str, Binding); 3] =
    [("none", Binding::None), ("network", Binding::Network), ("exact", Binding::Exact)];

impl Site {
    pub(super) fn read(r: &mut Reader) -> Self {
        let secrets = read_secrets(r);
        let signature_secrets = read_signature_secrets(r);
        let compat = r.key("compat", "Behave as captchaservice 2.x").flag(false);
        let protocol = r.key("protocol", "ALTCHA protocol that is issued").choice(&PROTOCOLS, Protocol::V2);
        let work = read_work(r, protocol, compat);
        let mut site = Self {
            secrets,
            signature_secrets,
            compat,
            protocol,
            accept_v1: r
                .key("accept_v1", "Judge v1 payloads whatever is issued")
                .default_text("true with protocol v1, else false")
                .optional_flag()
                .unwrap_or(protocol == Protocol::V1),
            algorithm: work.algorithm,
            memory_cost: work.memory_cost,
            parallelism: work.parallelism,
            deterministic: read_deterministic(r, protocol, compat),
            counter_max: r
                .key("counter_max", "Deterministic challenges draw their counter from 1 to this")
                .integer(1..=65_536, COUNTER_MAX),
            difficulty_map: read_ladder(r, work),
            auto: r.optional_table("auto", |r| read_auto(r, work)).flatten(),
            binding: read_binding(r, compat),
            max_verifies_per_payload: r
                .key("max_verifies_per_payload", "How often one solved challenge is accepted")
                .integer(1..=MAX_VERIFIES, MAX_VERIFIES_PER_PAYLOAD),
            max_failures_per_challenge: r
                .key("max_failures_per_challenge", "Failures after which a challenge is refused")
                .integer(1..=1_000_000, MAX_FAILURES_PER_CHALLENGE),
            source_address_ipv4_net_size: r
                .key("source_address_ipv4_net_size", "IPv4 prefix that makes a client's network")
                .integer(0..=32, SOURCE_ADDRESS_IPV4_NET_SIZE),
            source_address_ipv6_net_size: r
                .key("source_address_ipv6_net_size", "IPv6 prefix that makes a client's network")
                .default_text("64; 128 with compat")
                .optional_integer(0..=128)
                .unwrap_or(if compat { COMPAT_IPV6_NET_SIZE } else { SOURCE_ADDRESS_IPV6_NET_SIZE }),
            whitelisted_source_addresses: r
                .key("whitelisted_source_addresses", "Clients whose challenges cost 1")
                .list("addresses or networks", formats::network)
                .unwrap_or_default(),
            denied_source_addresses: r
                .key("denied_source_addresses", "Clients that are refused; wins over the list above")
                .list("addresses or networks", formats::network)
                .unwrap_or_default(),
            allowed_origins: r
                .key("allowed_origins", "Origins whose pages may use the widget endpoints")
                .list("origins, * for all", formats::web_origin)
                .unwrap_or_default(),
            widget_calls_per_minute: r
                .key("widget_calls_per_minute", "Widget calls a minute that one client may make")
                .integer(1..=1_000_000, WIDGET_CALLS_PER_MINUTE),
        };
        if !r.is_set("difficulty_map") && !r.is_set("auto") {
            site.difficulty_map = default_ladder(r, work);
        }
        check_ladder_bounds(r, &site);
        warn_of_unsolvable(r, &site);
        site
    }
}

/// Warns about challenges that no widget solves, at which visitors wait until it gives up.
fn warn_of_unsolvable(r: &mut Reader, site: &Site) {
    if site.breaks_widgets() {
        let name = site.algorithm.as_str();
        let text = format!(
            "no published widget solves {name} at a cost above 1, since altcha up to 3.2 cuts the digest after each \
             round: visitors wait 90 s in vain; set PBKDF2/{name}"
        );
        r.warn("algorithm", text);
    }
    if let Some(most) = site.greatest_cost()
        && site.min_solve_time(most) > WIDGET_TIMEOUT
    {
        let text = format!(
            "no browser solves a challenge of cost {most} within the {} s that the widget allows; lower the cost or \
             counter_max",
            WIDGET_TIMEOUT.as_secs()
        );
        r.warn(if site.auto.is_some() { "auto" } else { "difficulty_map" }, text);
    }
}

fn read_secrets(r: &mut Reader) -> Vec<Secret> {
    let secrets = r
        .key("secret", "What the site's back end proves itself with; two while rotating")
        .aliases(&["site_secret", "secrets"])
        .required()
        .secret_or_list();
    if secrets.as_ref().is_some_and(|secrets| !matches!(secrets.len(), 1 | 2)) {
        r.problem("secret", "must be one secret or two");
    }
    // Counts characters, not bytes. Warnings never quote a secret.
    let is_short = |secret: &String| secret.chars().count() < SECRET_CHARS;
    if secrets.iter().flatten().any(is_short) {
        r.warn(
            "secret",
            format!(
                "has fewer than {SECRET_CHARS} characters and can be guessed; make a longer one at random"
            ),
        );
    }
    let composed = |secret: &String| Secret::new(secret.nfc().collect::<String>());
    secrets.iter().flatten().map(composed).collect()
}

fn read_signature_secrets(r: &mut Reader) -> Vec<Secret> {
    let secrets = r
        .key(
            "signature_secret",
            "Signs widget results, so that a back end can check them; two while rotating",
        )
        .default_text("a key derived from hmac_key")
        .secret_or_list()
        .unwrap_or_default();
    if secrets.len() > 2 {
        r.problem("signature_secret", "must be one secret or two");
    }
    if secrets.iter().any(|secret| secret.chars().count() < SIGNATURE_SECRET_CHARS) {
        let text =
            format!("must have at least {SIGNATURE_SECRET_CHARS} characters; make a longer one at random");
        r.problem("signature_secret", text);
    }
    secrets.into_iter().map(Secret::new).collect()
}

fn read_work(r: &mut Reader, protocol: Protocol, compat: bool) -> WorkParameters {
    let plain = compat || protocol == Protocol::V1;
    let default = if plain { PowAlgorithm::Sha256 } else { PowAlgorithm::Pbkdf2Sha256 };
    let work = WorkParameters {
        algorithm: r
            .key("algorithm", "Proof-of-work function of issued challenges")
            .default_text("PBKDF2/SHA-256; SHA-256 with compat or protocol v1")
            .choice(&PowAlgorithm::NAMES, default),
        memory_cost: r
            .key("memory_cost", "KiB for ARGON2ID, block size for SCRYPT")
            .optional_integer(1..=65_536),
        parallelism: r
            .key("parallelism", "Lanes for ARGON2ID and SCRYPT")
            .optional_integer(1..=i64::from(MAX_LANES)),
    };
    let problems = [
        ("algorithm", work.algorithm_problem(protocol, compat)),
        ("memory_cost", work.memory_problem()),
        ("parallelism", work.parallelism_problem()),
    ];
    for (key, problem) in problems {
        if let Some(problem) = problem {
            r.problem(key, problem);
        }
    }
    work
}

fn read_deterministic(r: &mut Reader, protocol: Protocol, compat: bool) -> bool {
    let written = r
        .key("deterministic", "Draw the counter beforehand, so that judging costs two HMACs")
        .default_text("true; false with compat or protocol v1")
        .optional_flag();
    let reason = match (compat, protocol) {
        (true, _) => "compat = true",
        (_, Protocol::V1) => "protocol = \"v1\"",
        (_, Protocol::V2) => return written.unwrap_or(true),
    };
    if written == Some(true) {
        r.problem("deterministic", format!("is impossible with {reason}; leave it out"));
    }
    false
}

fn read_binding(r: &mut Reader, compat: bool) -> Binding {
    let binding = r
        .key("binding", "To what part of the client's address a challenge is bound")
        .choice(&BINDINGS, Binding::None);
    if compat && binding != Binding::None {
        r.problem("binding", "must be none with compat = true, whose challenges carry no data");
    }
    binding
}

/// Reads the difficulty ladder. Returns an empty one if it is missing or invalid.
fn read_ladder(r: &mut Reader, work: WorkParameters) -> Vec<LadderStep> {
    let rows = r.rows("difficulty_map", |r| {
        let min_visits = r
            .key("min_visits", "From this visit inside the window on, the present one included")
            .required()
            .optional_integer(0..=100_000);
        let cost = "Rounds, iterations, N or passes, by algorithm; 5000 without a map and auto, for PBKDF2";
        let cost = read_cost(r, "cost", cost, work);
        Some(LadderStep { min_visits: min_visits?, cost: cost? })
    });
    let Some(mut ladder) = rows.and_then(|rows| rows.into_iter().collect::<Option<Vec<LadderStep>>>()) else {
        return Vec::new();
    };
    ladder.sort_by_key(|step| step.min_visits);
    if ladder.first().is_none_or(|step| step.min_visits > 1) {
        r.problem("difficulty_map", "has no entry for the first visit; add one with min_visits = 1");
    }
    let mut visits = BTreeSet::new();
    if !ladder.iter().all(|step| visits.insert(step.min_visits.max(1))) {
        r.problem("difficulty_map", "has two entries for one visit; 0 and 1 both mean the first");
    }
    ladder
}

/// Checks that the ladder, which is a floor for `auto`, is within the bounds of `auto`.
fn check_ladder_bounds(r: &mut Reader, site: &Site) {
    let Some(Auto { min_cost, max_cost, .. }) = site.auto else { return };
    let outside = |step: &&LadderStep| !(min_cost..=max_cost).contains(&step.cost);
    if let Some(step) = site.difficulty_map.iter().find(outside) {
        let text = format!(
            "has a cost of {}, which is outside auto.min_cost and auto.max_cost ({min_cost} to {max_cost}); change one \
             of them",
            step.cost
        );
        r.problem("difficulty_map", text);
    }
}

/// Returns the default ladder. Only PBKDF2 has one: a cost means other work with other algorithms.
fn default_ladder(r: &mut Reader, work: WorkParameters) -> Vec<LadderStep> {
    if work.is_hash() || work.takes_memory() {
        let name = work.algorithm.as_str();
        let text = format!("must be given with {name}, such as [{{ min_visits = 1, cost = 1000 }}]");
        r.problem("difficulty_map", text);
    }
    vec![LadderStep { min_visits: 1, cost: COST }]
}

fn read_auto(r: &mut Reader, work: WorkParameters) -> Option<Auto> {
    let target_solve = r
        .key("target_solve_ms", "Time that a client should take")
        .unit("milliseconds")
        .required()
        .optional_integer(1..=60_000)
        .map(Duration::from_millis);
    let min_cost = read_cost(r, "min_cost", "Least cost", work);
    let max_cost = read_cost(r, "max_cost", "Greatest cost", work);
    if min_cost.zip(max_cost).is_some_and(|(least, most)| least > most) {
        r.problem("min_cost", "is greater than max_cost; swap them");
    }
    Some(Auto { target_solve: target_solve?, min_cost: min_cost?, max_cost: max_cost? })
}

fn read_cost(r: &mut Reader, name: &'static str, doc: &'static str, work: WorkParameters) -> Option<u32> {
    let cost = r.key(name, doc).required().optional_integer(1..=i64::from(u32::MAX))?;
    if let Some(problem) = work.cost_problem(cost) {
        r.problem(name, problem);
        return None;
    }
    Some(cost)
}

/// The defaults of a site; the required secret is missing.
impl Default for Site {
    fn default() -> Self {
        Self {
            secrets: Vec::new(),
            signature_secrets: Vec::new(),
            compat: false,
            protocol: Protocol::V2,
            accept_v1: false,
            algorithm: PowAlgorithm::Pbkdf2Sha256,
            memory_cost: None,
            parallelism: None,
            deterministic: true,
            counter_max: COUNTER_MAX,
            difficulty_map: vec![LadderStep { min_visits: 1, cost: COST }],
            auto: None,
            binding: Binding::None,
            max_verifies_per_payload: MAX_VERIFIES_PER_PAYLOAD,
            max_failures_per_challenge: MAX_FAILURES_PER_CHALLENGE,
            source_address_ipv4_net_size: SOURCE_ADDRESS_IPV4_NET_SIZE,
            source_address_ipv6_net_size: SOURCE_ADDRESS_IPV6_NET_SIZE,
            whitelisted_source_addresses: Vec::new(),
            denied_source_addresses: Vec::new(),
            allowed_origins: Vec::new(),
            widget_calls_per_minute: WIDGET_CALLS_PER_MINUTE,
        }
    }
}
