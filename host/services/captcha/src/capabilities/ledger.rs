//! The capability `bulkhead:captcha/ledger`: visits and spent challenges in the service's storage.

use bulkhead_ledger::{Ledger, StorageError};
use bulkhead_runtime::capabilities::{
    Access::{Read, Write},
    Capabilities, Capability, Interface,
};
use wasmtime::component::HasSelf;

use self::bindings::bulkhead::captcha::ledger::{self, Error, SiteLoad, Visits};

/// Bindings of the interface.
#[allow(missing_docs)]
pub mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package bulkhead:slot;
            world offered {
                import bulkhead:captcha/ledger@0.1.1;
            }
        ",
        path: "../../../wit/captcha",
        world: "bulkhead:slot/offered",
        imports: { default: async | trappable },
    });
}

/// Implements `bulkhead:captcha/ledger` with the slot's [`Ledger`].
#[derive(Clone, Copy, Debug)]
pub struct LedgerCapability;

impl Capability for LedgerCapability {
    fn interfaces(&self) -> &'static [Interface] {
        &[LEDGER]
    }
}

/// The interface and its functions.
const LEDGER: Interface = Interface {
    name: "bulkhead:captcha/ledger",
    version: "0.1.1",
    is_general: false,
    functions: &[
        ("record-visit", Write),
        ("load", Read),
        ("spent", Read),
        ("claim", Write),
        ("record-failure", Write),
    ],
    add_to_linker: |instance| {
        ledger::add_to_linker_instance::<_, HasSelf<Capabilities>>(instance, |guest| &mut guest.capabilities)
    },
};

/// Returns a handle of its own, so that no call borrows the guest's state while it waits.
fn ledger_of(capabilities: &Capabilities) -> Result<Ledger, Error> {
    let ledger = capabilities.resources.get::<Ledger>().cloned();
    ledger.ok_or_else(|| Error::Unavailable("this slot's service has no ledger".into()))
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Invalid(text) => Self::Invalid(text),
            // The text of the database stays in the log, which the ledger writes once for many calls.
            error => {
                tracing::debug!(%error, "the ledger's storage does not answer");
                Self::Unavailable("the ledger's storage does not answer".into())
            }
        }
    }
}

/// Returns the error for a shadow call that would make a change that the live call did not make.
fn suppressed<T>() -> Result<T, Error> {
    Err(Error::Unavailable(
        "a shadow version cannot make changes, and the live version did not make this one".into(),
    ))
}

/// Returns a ledger's answer in the guest's types.
async fn answer<T>(
    ledger: Result<Ledger, Error>,
    ask: impl AsyncFnOnce(Ledger) -> Result<T, StorageError>,
) -> Result<T, Error> {
    Ok(ask(ledger?).await?)
}

impl ledger::Host for Capabilities {
    async fn record_visit(
        &mut self,
        site: String,
        client: Vec<String>,
        allow_listed: bool,
    ) -> wasmtime::Result<Result<Visits, Error>> {
        let key = self.shadow.key(format_args!("visit {site} {client:?} {allow_listed}"));
        let recorded =
            answer(ledger_of(self), async |ledger| ledger.record_visit(&site, &client, allow_listed).await);
        let record =
            async { recorded.await.map(|visits| Visits { client: visits.client, site: visits.site }) };
        Ok(self.shadow.replay_or_write(key, suppressed, record).await)
    }

    async fn load(&mut self, site: String) -> wasmtime::Result<Result<SiteLoad, Error>> {
        let load = |ledger: Ledger| {
            let load = ledger.load(&site);
            SiteLoad {
                issued_per_minute: load.issued_per_minute,
                failure_ratio: load.failure_ratio,
                solve_time_ms: load.solve_time_ms,
                solve_cost: load.solve_cost,
            }
        };
        let key = self.shadow.key(format_args!("load {site}"));
        Ok(self.shadow.replay_or(key, || ledger_of(self).map(load)))
    }

    async fn spent(&mut self, id: String) -> wasmtime::Result<Result<u32, Error>> {
        let spent = answer(ledger_of(self), async |ledger| ledger.spent(&id).await);
        let key = self.shadow.key(format_args!("spent {id}"));
        Ok(self.shadow.replay_or_read(key, spent).await)
    }

    async fn claim(
        &mut self,
        id: String,
        expires_at: u64,
        limit: u32,
        all: bool,
    ) -> wasmtime::Result<Result<bool, Error>> {
        let claim = answer(ledger_of(self), async |ledger| ledger.claim(&id, expires_at, limit, all).await);
        // Without the expiry, which may differ between the two calls.
        let key = self.shadow.key(format_args!("claim {id} {limit} {all}"));
        Ok(self.shadow.replay_or_write(key, suppressed, claim).await)
    }

    async fn record_failure(&mut self, id: String, expires_at: u64) -> wasmtime::Result<Result<u32, Error>> {
        let record = answer(ledger_of(self), async |ledger| ledger.record_failure(&id, expires_at).await);
        let key = self.shadow.key(format_args!("failure {id}"));
        Ok(self.shadow.replay_or_write(key, suppressed, record).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_errors_are_hidden_from_guests() {
        let database_error = "no such table: captcha_request".to_owned();
        let text = format!("{:?}", Error::from(StorageError::Unavailable(database_error)));
        assert!(!text.contains("captcha_request"), "{text}");
    }
}
