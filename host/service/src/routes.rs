//! The routes of a host, which services add and remove while it runs.

mod listeners;

use std::{
    borrow::Cow,
    fmt, mem,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::Router;
use bulkhead_config::services::Services;
use bulkhead_http::listen::{ListenError, Reserved};
use bulkhead_telemetry::logs;
use tokio::sync::Mutex as AsyncMutex;

pub use self::listeners::ListenerSettings;
use self::listeners::{Listeners, SocketClosed};
use super::ServedAt;

/// Owner of the routes that belong to no service.
const HOST: &str = "the host";
/// The setting that names the address of the shared listener.
const SHARED_SETTING: &str = "server.listen";

/// Why the routes of a host have not changed.
#[derive(Debug, thiserror::Error)]
pub enum RoutesError {
    /// Two routes have the same path, or a path is malformed.
    #[error("the routes of {service} do not fit beside the others of their listener: {reason}")]
    Conflict {
        /// The service whose routes were added last.
        service: String,
        /// What the router reports.
        reason: String,
    },
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The host is stopping.
    #[error("the host is stopping")]
    Stopping,
}

/// Where a listener listens: its address, `None` for the shared one, and the setting that names it.
#[derive(Clone, Debug)]
struct ListenAddress {
    address: Option<SocketAddr>,
    setting: Cow<'static, str>,
}

impl ListenAddress {
    const SHARED: Self = Self { address: None, setting: Cow::Borrowed(SHARED_SETTING) };

    /// Returns whether both are one listener. With port 0, each setting gets a port of its own.
    fn is_same(&self, other: &Self) -> bool {
        self.address == other.address
            && (self.address.is_none_or(|address| address.port() != 0) || self.setting == other.setting)
    }
}

/// A router and the listener that serves it.
#[derive(Clone)]
struct Placed {
    place: ListenAddress,
    router: Router,
    /// Whether it takes what no other router of the listener takes.
    is_rest: bool,
}

/// The routers of a listener: its routes, and what takes the rest.
struct Wanted {
    place: ListenAddress,
    routes: Router,
    rest: Option<Router>,
}

/// Routers that are set and removed together.
#[derive(Clone)]
struct RouteEntry {
    service: String,
    name: String,
    routers: Vec<Placed>,
}

/// The entries in the order in which they came, and the listeners once the host serves.
#[derive(Default)]
struct RouteTable {
    entries: Vec<RouteEntry>,
    listeners: Option<Listeners>,
    is_stopped: bool,
}

/// The routes of a host by listener. Clones share them.
///
/// A change replaces the routers of the listeners that it concerns. A request ends on the router that it began with. A
/// listener is opened with its first router; after its last one it is closed, and its requests end within
/// `server.drain_seconds`. Only the shared listener stays open without routes. A listener whose last router goes to an
/// overlapping address, such as from all addresses of a port to one of them, is closed before the other is opened.
#[derive(Clone)]
pub struct Routes {
    /// Where each service is served.
    services: Arc<Services>,
    table: Arc<Mutex<RouteTable>>,
    /// Held during a change, which may wait for a listener to close.
    change_lock: Arc<AsyncMutex<()>>,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes").finish_non_exhaustive()
    }
}

impl Routes {
    /// Returns the empty routes of a host with these services. Nothing is served before [`open`](Self::open).
    pub fn new(services: Services) -> Self {
        let shared = vec![Placed { place: ListenAddress::SHARED, router: Router::new(), is_rest: false }];
        let host = RouteEntry { service: HOST.to_owned(), name: String::new(), routers: shared };
        let table = RouteTable { entries: vec![host], ..RouteTable::default() };
        Self { services: Arc::new(services), table: Arc::new(Mutex::new(table)), change_lock: Arc::default() }
    }

    /// Sets the router of the shared listener that belongs to no service.
    ///
    /// # Errors
    /// See [`set`](Self::set).
    pub async fn set_shared(&self, router: Router) -> Result<(), RoutesError> {
        let routers = vec![Placed { place: ListenAddress::SHARED, router, is_rest: false }];
        self.replace(RouteEntry { service: HOST.to_owned(), name: String::new(), routers }).await
    }

    /// Sets the routers of an entry of a service, in place of those that the entry has. The entry with the empty name has
    /// those that [`Service::start`](super::Service::start) returned. Returns once listeners without routes are closed, so
    /// that their addresses are free; requests in flight may end later.
    ///
    /// # Errors
    /// Why nothing has changed: routes that conflict, an address that cannot be bound, or the host is stopping.
    pub async fn set(
        &self,
        service: &str,
        entry: &str,
        routers: Vec<(ServedAt, Router)>,
    ) -> Result<(), RoutesError> {
        let placed = |(at, router)| self.placed(service, at, router);
        let routers = routers.into_iter().map(placed).collect::<Result<Vec<_>, RoutesError>>()?;
        self.replace(RouteEntry { service: service.to_owned(), name: entry.to_owned(), routers }).await
    }

    /// Removes an entry of a service. Does nothing if there is no such entry.
    ///
    /// # Errors
    /// The host is stopping.
    pub async fn remove(&self, service: &str, entry: &str) -> Result<(), RoutesError> {
        let (service, name) = (service.to_owned(), entry.to_owned());
        self.replace(RouteEntry { service, name, routers: Vec::new() }).await
    }

    /// Opens the listeners, of which the shared one has the address of `shared`, serves the routes on the current runtime, and
    /// returns the address of the shared listener.
    ///
    /// # Errors
    /// When routes conflict or an address cannot be bound.
    pub fn open(&self, shared: Reserved, settings: ListenerSettings) -> Result<SocketAddr, RoutesError> {
        let mut table = self.lock();
        let mut listeners = Listeners::new(shared, settings);
        listeners.apply(routers_by_listener(&table.entries)?)?;
        let shared = listeners.shared_address();
        table.listeners = Some(listeners);
        Ok(shared)
    }

    /// Answers 404 from now on where no route takes a request, because all services have started.
    ///
    /// # Errors
    /// The host is stopping.
    pub async fn end_start(&self) -> Result<(), RoutesError> {
        // A reload may move a listener, which is closed meanwhile.
        let _change = self.change_lock.lock().await;
        let mut table = self.lock();
        let RouteTable { entries, listeners: Some(listeners), .. } = &mut *table else {
            return Err(RoutesError::Stopping);
        };
        let wanted = routers_by_listener(entries)?;
        listeners.end_start();
        // The same places as before, so that none is closed.
        listeners.apply(wanted)?;
        Ok(())
    }

    /// Waits until the requests of all listeners have ended, after the listeners were closed by their settings' `stopping`,
    /// and removes every route.
    pub async fn stop(&self) {
        let listeners = {
            let mut table = self.lock();
            table.is_stopped = true;
            table.listeners.take()
        };
        if let Some(listeners) = listeners {
            listeners.ended().await;
        }
        self.close();
    }

    /// Removes every route, and aborts what is served still. Afterwards nothing can be added.
    pub fn close(&self) {
        let stopped = RouteTable { is_stopped: true, ..RouteTable::default() };
        let table = mem::replace(&mut *self.lock(), stopped);
        // A router may own a context with these routes, so that it is dropped without the lock.
        drop(table);
    }

    async fn replace(&self, entry: RouteEntry) -> Result<(), RoutesError> {
        let change = Arc::clone(&self.change_lock).lock_owned().await;
        let cleared = self.clear_addresses(&entry)?;
        let closed = if cleared.is_empty() {
            self.apply(entry)?
        } else {
            let routes = self.clone();
            // On a task of its own, so that a caller that goes away does not leave the listeners closed.
            let moved = tokio::spawn(async move {
                let _change = change;
                for closed in cleared {
                    closed.await;
                }
                routes.apply(entry).inspect_err(|_| routes.reopen())
            });
            moved.await.map_err(|_| RoutesError::Stopping)??
        };
        for closed in closed {
            closed.await;
        }
        Ok(())
    }

    /// Closes the listeners that the entry makes room for at addresses that it needs. They hold no route afterwards.
    fn clear_addresses(&self, entry: &RouteEntry) -> Result<Vec<SocketClosed>, RoutesError> {
        let mut table = self.lock();
        let RouteTable { entries, listeners: Some(listeners), .. } = &mut *table else {
            return Ok(Vec::new());
        };
        let entries = with_entry(entries, entry.clone());
        // Routes that conflict close nothing.
        let wanted: Vec<ListenAddress> =
            routers_by_listener(&entries)?.into_iter().map(|wanted| wanted.place).collect();
        Ok(listeners.close_overlapping(&wanted))
    }

    /// Opens the listeners again that were closed for a change which has failed.
    fn reopen(&self) {
        let mut table = self.lock();
        let RouteTable { entries, listeners: Some(listeners), .. } = &mut *table else { return };
        let reopened = routers_by_listener(entries).and_then(|wanted| Ok(listeners.apply(wanted)?));
        if let Err(error) = reopened {
            tracing::error!(%error, "a listener stays closed, because a change of its routes has failed; make the change again");
        }
    }

    /// Replaces an entry and returns what completes with the closing of listeners. Takes effect whole or not at all.
    fn apply(&self, entry: RouteEntry) -> Result<Vec<SocketClosed>, RoutesError> {
        let mut table = self.lock();
        if table.is_stopped {
            return Err(RoutesError::Stopping);
        }
        let entries = with_entry(&table.entries, entry);
        let wanted = routers_by_listener(&entries)?;
        let closed = match &mut table.listeners {
            Some(listeners) => listeners.apply(wanted)?,
            None => Vec::new(),
        };
        let replaced = mem::replace(&mut table.entries, entries);
        drop(table);
        drop(replaced);
        Ok(closed)
    }

    /// Returns a router of a service with the place of its listener.
    fn placed(&self, service: &str, at: ServedAt, router: Router) -> Result<Placed, RoutesError> {
        let own = |address, setting| ListenAddress { address: Some(address), setting };
        let (place, is_rest) = match at {
            ServedAt::Service => return self.placed_below_prefix(service, router),
            ServedAt::Address { address, setting } => (own(address, setting), false),
            ServedAt::Rest { listener: None } => (ListenAddress::SHARED, true),
            ServedAt::Rest { listener: Some((address, setting)) } => (own(address, setting), true),
        };
        Ok(Placed { place, router, is_rest })
    }

    /// Returns a router of a service at the service's listener, below its path prefix.
    fn placed_below_prefix(&self, service: &str, router: Router) -> Result<Placed, RoutesError> {
        let settings = self.services.get(service);
        let place = settings.listen.map_or(ListenAddress::SHARED, |address| ListenAddress {
            address: Some(address),
            setting: format!("services.{service}.listen").into(),
        });
        let router = match settings.path_prefix.as_str() {
            "" => router,
            prefix => checked(service, || Router::new().nest(prefix, router))?,
        };
        Ok(Placed { place, router, is_rest: false })
    }

    fn lock(&self) -> MutexGuard<'_, RouteTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the entries with one that is new or replaces an earlier one; an entry without routers is removed.
fn with_entry(entries: &[RouteEntry], entry: RouteEntry) -> Vec<RouteEntry> {
    let mut entries = entries.to_vec();
    let is_same = |known: &&mut RouteEntry| known.service == entry.service && known.name == entry.name;
    match entries.iter_mut().find(is_same) {
        Some(known) => known.routers = entry.routers,
        None => entries.push(entry),
    }
    entries.retain(|entry| !entry.routers.is_empty());
    entries
}

/// Merges the routers of each listener, in the order of their first ones.
fn routers_by_listener(entries: &[RouteEntry]) -> Result<Vec<Wanted>, RoutesError> {
    let mut listeners: Vec<Wanted> = Vec::new();
    for RouteEntry { service, routers, .. } in entries {
        for Placed { place, router, is_rest } in routers {
            let at = listeners.iter().position(|known| known.place.is_same(place)).unwrap_or(listeners.len());
            if at == listeners.len() {
                listeners.push(Wanted { place: place.clone(), routes: Router::new(), rest: None });
            }
            let Some(known) = listeners.get_mut(at) else { continue };
            if !is_rest {
                let merge = || mem::take(&mut known.routes).merge(router.clone());
                known.routes = checked(service, merge)?;
            } else if known.rest.replace(router.clone()).is_some() {
                let reason = "another router takes the rest of the paths already".to_owned();
                return Err(RoutesError::Conflict { service: service.clone(), reason });
            }
        }
    }
    Ok(listeners)
}

/// Returns the router that `build` makes of a service's routes. axum reports a conflict of routes by a panic only, which is not
/// a fault of the host and is not logged.
fn checked(service: &str, build: impl FnOnce() -> Router) -> Result<Router, RoutesError> {
    let built = logs::catch_panic(build);
    built.map_err(|reason| RoutesError::Conflict { service: service.to_owned(), reason })
}

#[cfg(test)]
mod tests;
