//! Looks up names, and keeps the addresses that may be connected to.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use tokio::{net::lookup_host, sync::Semaphore};

/// Look-ups at once. Each occupies a thread of the runtime until the system answers, also when nobody waits any more.
const LOOKUPS: usize = 8;

/// Finds the addresses of a name.
pub trait NameLookup: Send + Sync {
    /// Returns the addresses of `host`, with `port`.
    fn lookup(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// The system's resolver, with a bound of look-ups at once. Clones share the bound.
#[derive(Clone, Debug)]
pub struct SystemLookup(Arc<Semaphore>);

impl Default for SystemLookup {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LOOKUPS)))
    }
}

impl NameLookup for SystemLookup {
    fn lookup(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let (host, lookups) = (host.to_owned(), Arc::clone(&self.0));
        Box::pin(async move {
            let permit = lookups.acquire_owned().await.map_err(io::Error::other)?;
            // A task of its own keeps the permit until the thread is free.
            let asked = tokio::spawn(async move {
                let found = lookup_host((host.as_str(), port)).await.map(Iterator::collect::<Vec<_>>);
                drop(permit);
                found
            });
            asked.await.map_err(io::Error::other)?
        })
    }
}

/// Why a name has no address to connect to.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The look-up failed.
    #[error("the look-up failed: {0}")]
    Failed(io::Error),
    /// It has no address.
    #[error("it has no address")]
    NoAddress,
    /// It has only addresses that are refused, such as this one.
    #[error("it leads to {0}")]
    Refused(IpAddr),
}

/// Looks up a name once and returns the addresses that `admits` accepts.
///
/// # Errors
/// When there is no such address.
pub async fn resolve(
    lookup: &dyn NameLookup,
    host: &str,
    port: u16,
    admits: impl Fn(IpAddr) -> bool + Send,
) -> Result<Vec<SocketAddr>, LookupError> {
    let found = lookup.lookup(host, port).await.map_err(LookupError::Failed)?;
    let first = found.first().map(SocketAddr::ip).ok_or(LookupError::NoAddress)?;
    let admitted: Vec<_> = found.into_iter().filter(|found| admits(found.ip())).collect();
    if admitted.is_empty() { Err(LookupError::Refused(first)) } else { Ok(admitted) }
}
