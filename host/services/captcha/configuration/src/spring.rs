//! The Java service's property names, and the configuration keys that they set.
//!
//! Spring binds loosely: `max-verifies-per-payload`, `maxVerifiesPerPayload` and
//! `MAX_VERIFIES_PER_PAYLOAD` are one property. So names are compared without case, dashes and
//! underscores, with `#` for an index.

pub(super) mod datasource;

use std::iter;

/// Properties that do not belong to a site.
const PROPERTIES: [(&str, &str); 11] = [
    ("captchahmackey", "captcha.hmac_key"),
    ("captchacaptchatimeoutseconds", "captcha.captcha_timeout_seconds"),
    ("captchasourceaddresswindowseconds", "captcha.source_address_window_seconds"),
    ("managementendpointswebexposureinclude", "management.endpoints.web.exposure.include"),
    ("managementendpointswebexposureinclude#", "management.endpoints.web.exposure.include.#"),
    ("managementendpointswebexposureexclude", "management.endpoints.web.exposure.exclude"),
    ("managementendpointswebexposureexclude#", "management.endpoints.web.exposure.exclude.#"),
    ("managementendpointswebbasepath", "management.endpoints.web.base_path"),
    ("managementendpointhealthshowdetails", "management.endpoint.health.show_details"),
    ("managementserverport", "management.server.port"),
    ("managementserveraddress", "management.server.address"),
];

/// A site's properties; `site-secret` is how the Java service's documentation misspells `secret`.
const SITE_PROPERTIES: [(&str, &str); 9] = [
    ("secret", "secret"),
    ("sitesecret", "secret"),
    ("maxverifiesperpayload", "max_verifies_per_payload"),
    ("difficultymap#minvisits", "difficulty_map.#.min_visits"),
    ("difficultymap#cost", "difficulty_map.#.cost"),
    ("sourceaddressipv4netsize", "source_address_ipv4_net_size"),
    ("sourceaddressipv6netsize", "source_address_ipv6_net_size"),
    ("whitelistedsourceaddresses", "whitelisted_source_addresses"),
    ("whitelistedsourceaddresses#", "whitelisted_source_addresses.#"),
];

/// The warning about the Java service's certificate.
pub(super) const LOST_TLS: &str = "the Java service's TLS would be lost; write its certificate and key into PEM files and \
                                   name them in server.tls.cert and server.tls.key";

/// The path of the endpoint `prometheus` in the Java service's own `application.yml`.
pub(super) const SCRAPE_PATH: &str = "metrics";

/// Checks whether a list of endpoint ids has `prometheus` without the endpoint at whose path the Java service serves
/// it.
pub(super) fn maps_scrape<'i>(ids: impl Iterator<Item = &'i str> + Clone) -> bool {
    let has = |wanted: &str| ids.clone().any(|id| id.trim().eq_ignore_ascii_case(wanted));
    has("prometheus") && !has(SCRAPE_PATH) && !has("*")
}

/// Returns the key that a property sets; the property is split at its dots and indexes.
pub(super) fn key_of_property(words: &[&str]) -> Option<Vec<String>> {
    match words {
        ["captcha", "sites", site, rest @ ..] => {
            let head = ["captcha", "sites", site].map(str::to_owned);
            Some(head.into_iter().chain(look_up(&SITE_PROPERTIES, rest)?).collect())
        }
        _ => look_up(&PROPERTIES, words),
    }
}

/// Returns the keys that a variable such as `CAPTCHA_SITES_MY_SITE_SECRET` may set, likeliest first.
///
/// A variable does not show where a site's key ends; the Java service's keys have no underscores.
pub(super) fn keys_of_variable(name: &str) -> Vec<Vec<String>> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split('_').collect();
    let ["captcha", "sites", rest @ ..] = words.as_slice() else {
        return key_of_property(&words).into_iter().collect();
    };
    let key = |length| {
        let (site, property) = rest.split_at_checked(length)?;
        let site = site.join("_");
        key_of_property(&[&["captcha", "sites", &site], property].concat())
    };
    (1..rest.len()).filter_map(key).collect()
}

/// Checks whether a key holds a secret, whose text counts as it is written.
pub(super) fn is_secret(path: &[String]) -> bool {
    path.last().is_some_and(|last| last == "secret" || last == "hmac_key")
}

/// Checks for one of Spring's words for false.
pub(super) fn is_false(text: &str) -> bool {
    ["false", "off", "no", "0"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Returns a context path without the slash at its end, which Spring cuts, too.
pub(super) fn path_prefix(context_path: &str) -> String {
    context_path.trim().trim_end_matches('/').to_owned()
}

/// Returns a name as Spring compares it.
pub(super) fn fold(name: &str) -> String {
    name.replace(['-', '_'], "").to_ascii_lowercase()
}

/// Returns a variable that configures Spring Security to require tokens.
pub(super) fn security(environment: &[(String, String)]) -> Option<&str> {
    let secured = |name: &str| {
        name.starts_with("SPRING_SECURITY_OAUTH2_") || name.starts_with("spring.security.oauth2.")
    };
    environment.iter().map(|(name, _)| name.as_str()).find(|name| secured(name))
}

/// Finds the key of a property in a table.
fn look_up(table: &[(&str, &str)], words: &[&str]) -> Option<Vec<String>> {
    let (mut name, mut indexes) = (String::new(), Vec::new());
    for word in words {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            name.push('#');
            indexes.push(*word);
        } else {
            name.push_str(&fold(word));
        }
    }
    let (_, path) = table.iter().find(|(known, _)| *known == name)?;
    let mut indexes = indexes.into_iter().chain(iter::repeat("0"));
    let segment = |part| {
        if part == "#" { indexes.next() } else { Some(part) }
    };
    path.split('.').map(segment).map(|part| part.map(str::to_owned)).collect()
}
