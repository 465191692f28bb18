//! Where a registry may send: to itself, to what it is allowed beside, and over TLS to public addresses, so that no
//! registry has this host call on the machines around it.

use std::{collections::BTreeSet, error::Error};

use bulkhead_config::registries::Registry;
use bulkhead_outgoing::{
    address::is_public,
    lookup::{LookupError, SystemLookup, resolve},
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::Fault;

/// Whether `registry` may redirect to `target`, as far as its text tells; [`Guarded`] sees to the rest.
pub(super) fn permit(registry: &Registry, target: &Url) -> Result<(), Fault> {
    if registry.allows(target) {
        return Ok(());
    }
    let refused = |why| Err(Fault::Redirect { target: target.origin().ascii_serialization(), why });
    if target.scheme() != "https" {
        return refused("without TLS");
    }
    if !target.username().is_empty() || target.password().is_some() {
        return refused("with a user's name");
    }
    let is_open = match target.host() {
        Some(Host::Ipv4(address)) => is_public(address.into()),
        Some(Host::Ipv6(address)) => is_public(address.into()),
        // Its own name is resolved wherever it leads, so that it must be its own origin.
        Some(Host::Domain(name)) => registry.names().all(|own| own != name),
        None => false,
    };
    if is_open { Ok(()) } else { refused("which is not a public address") }
}

/// A name leads to an address that is not public.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it leads to an address that is not public")]
pub(super) struct NotPublic;

/// Resolves the registry's own names, and others as far as they lead to public addresses.
pub(super) struct Guarded {
    own: BTreeSet<String>,
    lookup: SystemLookup,
}

impl Guarded {
    pub(super) fn new(registry: &Registry) -> Self {
        Self { own: registry.names().map(str::to_owned).collect(), lookup: SystemLookup::default() }
    }
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (is_own, lookup) = (self.own.contains(name.as_str()), self.lookup.clone());
        Box::pin(async move {
            let admits = |address| is_own || is_public(address);
            match resolve(&lookup, name.as_str(), 0, admits).await {
                Ok(found) => Ok::<Addrs, Box<dyn Error + Send + Sync>>(Box::new(found.into_iter())),
                Err(LookupError::Failed(error)) => Err(error.into()),
                Err(LookupError::NoAddress | LookupError::Refused(_)) => Err(NotPublic.into()),
            }
        })
    }
}
