//! The errors of pulls from registries.

use std::io;

/// Why a component could not be pulled.
#[derive(Debug, thiserror::Error)]
#[error("{reference}: {fault}")]
pub struct PullError {
    /// What was asked for.
    pub reference: String,
    /// Why.
    pub fault: Fault,
}

/// A fault of a pull, and how to fix it. No text contains a credential, or text of the registry other than names.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The configuration does not allow it.
    #[error("{0}")]
    NotAllowed(String),
    /// A file that the registry's settings name cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The connection is refused or broken, or the registry fails.
    #[error(
        "the registry does not return the component: {0}; check that it runs and that this host may connect to it"
    )]
    Unreachable(String),
    /// The time is over.
    #[error(
        "the registry does not answer in time; try again, or raise registries.NAME.read_timeout_ms or timeout_ms"
    )]
    Timeout,
    /// The registry wants credentials, or others.
    #[error(
        "the registry does not let this host pull it (status {0}); set registries.NAME.username and password, or \
         auth_file, to an account that may, and check that there is such a repository"
    )]
    Denied(u16),
    /// The registry does not take the credentials that it was shown.
    #[error(
        "the registry refuses the {} of registries.{name} (status {status}){}",
        if *from_file { "credentials in auth_file" } else { "user name or password" },
        if *status == 403 { ", or the account may not pull this repository" } else { "" }
    )]
    WrongLogin {
        /// The registry's name in the configuration.
        name: String,
        /// Whether the credentials are of a file.
        from_file: bool,
        /// What it answered with.
        status: u16,
    },
    /// The registry sends for a token to somebody else.
    #[error(
        "the registry wants a token from {0}; where that is its own, add it to registries.NAME.allow, and it gets the \
         credentials"
    )]
    ForeignRealm(String),
    /// The registry sends somewhere that nothing is fetched from.
    #[error(
        "the registry redirects to {target}, {why}; where that is its own, add it to registries.NAME.allow"
    )]
    Redirect {
        /// Where to.
        target: String,
        /// Why not.
        why: &'static str,
    },
    /// There is no end to its redirects, or no target.
    #[error("the registry redirects without end or target; fix the registry")]
    RedirectLoop,
    /// The manifest or layer does not exist.
    #[error("the registry has no such manifest or layer; check that it was pushed, and under this name")]
    NotFound,
    /// It is something else than a component.
    #[error("it is not a component: {0}")]
    MediaType(String),
    /// It is too large: what, the bytes that it may have, and what to do.
    #[error("its {0} has more than {1} bytes; {2}")]
    TooLarge(&'static str, usize, &'static str),
    /// It is not what was asked for.
    #[error(
        "its {what} is {found} and not {wanted}: damaged or forged; push it again, and check the registry"
    )]
    DigestMismatch {
        /// Manifest or layer.
        what: &'static str,
        /// The digest that it must have.
        wanted: String,
        /// What came.
        found: String,
    },
    /// What came makes no sense.
    #[error("the registry's {0} is malformed; check that this is a registry, and push the component again")]
    Malformed(&'static str),
    /// The data folder takes nothing.
    #[error("cannot keep what arrives: {0}; make the data folder writable and check that its disk has room")]
    Storage(io::Error),
}

impl PullError {
    /// A word for programs.
    pub const fn code(&self) -> &'static str {
        self.fault.code()
    }
}

impl Fault {
    /// Every word of [`Fault::code`].
    pub const CODES: [&'static str; 12] = [
        "registry-not-allowed",
        "registry-settings",
        "registry-unreachable",
        "registry-timeout",
        "registry-denied",
        "redirect-refused",
        "not-found",
        "media-type",
        "too-large",
        "digest-mismatch",
        "malformed-answer",
        "storage",
    ];

    /// A word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAllowed(_) => "registry-not-allowed",
            Self::Settings(_) => "registry-settings",
            Self::Unreachable(_) => "registry-unreachable",
            Self::Timeout => "registry-timeout",
            Self::Denied(_) | Self::WrongLogin { .. } | Self::ForeignRealm(_) => "registry-denied",
            Self::Redirect { .. } | Self::RedirectLoop => "redirect-refused",
            Self::NotFound => "not-found",
            Self::MediaType(_) => "media-type",
            Self::TooLarge(..) => "too-large",
            Self::DigestMismatch { .. } => "digest-mismatch",
            Self::Malformed(_) => "malformed-answer",
            Self::Storage(_) => "storage",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_listed() {
        let (text, digest) = (String::new, |found: &str| found.to_owned());
        let faults = [
            Fault::NotAllowed(text()),
            Fault::Settings(text()),
            Fault::Unreachable(text()),
            Fault::Timeout,
            Fault::Denied(401),
            Fault::WrongLogin { name: text(), from_file: false, status: 401 },
            Fault::ForeignRealm(text()),
            Fault::Redirect { target: text(), why: "" },
            Fault::RedirectLoop,
            Fault::NotFound,
            Fault::MediaType(text()),
            Fault::TooLarge("component", 1, ""),
            Fault::DigestMismatch { what: "layer", wanted: digest("a"), found: digest("b") },
            Fault::Malformed("manifest"),
            Fault::Storage(io::ErrorKind::StorageFull.into()),
        ];
        let codes: BTreeSet<_> = faults.iter().map(Fault::code).collect();
        assert_eq!(codes, BTreeSet::from(Fault::CODES));
    }
}
