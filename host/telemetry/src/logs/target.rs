//! The targets of our log lines: a name for each subject, which stays the same where code moves within its crate.

use std::fmt;

/// Prefix of the names of our crates.
const CRATES: &str = "bulkhead_";
/// End of the name of a service's crate.
const SERVICE: &str = "_service";
/// The module of a service that answers requests.
const REQUESTS: &str = "http";

/// Module paths whose lines have another target than the name of their crate.
const FIXED: [(&str, &str); 3] = [
    ("bulkhead", "bulkhead::host"),
    ("bulkhead_runtime::invoke", "bulkhead::call"),
    ("bulkhead_server", "bulkhead::host"),
];

/// The target of a log line as it is written, made of a module path: `bulkhead::NAME` for a crate of ours, and
/// `bulkhead::NAME::http` for the requests of a service. Targets of guests and libraries stay as they are.
pub(super) struct Target<'p>(pub(super) &'p str);

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_in = |module: &str| {
            self.0.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        if let Some((_, target)) = FIXED.iter().find(|(module, _)| is_in(module)) {
            return f.write_str(target);
        }
        let Some(path) = self.0.strip_prefix(CRATES) else { return f.write_str(self.0) };
        let mut names = path.split("::");
        let name = names.next().unwrap_or_default();
        match (name.strip_suffix(SERVICE), names.next()) {
            (None, _) => write!(f, "bulkhead::{name}"),
            (Some(service), Some(REQUESTS)) => write!(f, "bulkhead::{service}::{REQUESTS}"),
            (Some(service), _) => write!(f, "bulkhead::{service}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_that_of_the_subject() {
        for (path, target) in [
            ("bulkhead", "bulkhead::host"),
            ("bulkhead::cli::serve", "bulkhead::host"),
            ("bulkhead_server::host", "bulkhead::host"),
            ("bulkhead_rollout", "bulkhead::rollout"),
            ("bulkhead_rollout::deployment::start", "bulkhead::rollout"),
            ("bulkhead_runtime::slots", "bulkhead::runtime"),
            ("bulkhead_runtime::invoke::run", "bulkhead::call"),
            ("bulkhead_runtime::invoked", "bulkhead::runtime"),
            ("bulkhead_captcha_service", "bulkhead::captcha"),
            ("bulkhead_captcha_service::service", "bulkhead::captcha"),
            ("bulkhead_captcha_service::http::siteverify", "bulkhead::captcha::http"),
            ("bulkhead_http::access_log", "bulkhead::http"),
            ("guest", "guest"),
            ("hyper::proto", "hyper::proto"),
            ("bulkheads::a", "bulkheads::a"),
        ] {
            assert_eq!(Target(path).to_string(), target, "{path}");
        }
    }
}
