//! The stores of a host: their database, their settings, and the task that deletes what has expired.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use bulkhead_os::{clock::HostClock, damaged_files::DamagedFiles};
use tokio::task::JoinHandle;

use super::{
    change::{Change, check_key, check_keys},
    config::{KeyValueSettings, StoreSettings},
    database::Database,
    error::{FailureLog, KeyValueError, StoreFailure},
};

/// Pause between two rounds in which expired values are deleted.
const SWEEP_PAUSE: Duration = Duration::from_secs(60);

/// A page of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPage {
    /// The keys.
    pub keys: Vec<String>,
    /// Where the next page begins; `None` after the last one.
    pub cursor: Option<u64>,
}

/// The stores of a host.
pub struct KeyValue {
    database: Database,
    settings: KeyValueSettings,
    failures: FailureLog,
    /// Deletes expired values.
    sweeper: JoinHandle<()>,
}

impl fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValue").field("stores", &self.settings.stores).finish_non_exhaustive()
    }
}

impl Drop for KeyValue {
    fn drop(&mut self) {
        self.sweeper.abort();
    }
}

impl KeyValue {
    /// Opens the database; where none is configured, a file in `data_dir`. A server need not answer yet. A damaged file is set
    /// aside and recorded in `damaged_files`.
    ///
    /// # Errors
    /// When a file cannot be opened, or a URL is invalid.
    pub async fn open(
        settings: &KeyValueSettings,
        data_dir: &Path,
        clock: HostClock,
        damaged_files: &DamagedFiles,
    ) -> Result<Arc<Self>, KeyValueError> {
        let opened = Database::open(&settings.database, data_dir, clock, damaged_files).await;
        let database = opened.map_err(|failure| {
            let text = format!("the stores cannot be opened: {failure}; check keyvalue.database");
            KeyValueError::Settings(text)
        })?;
        let settings = settings.clone();
        Ok(Arc::new_cyclic(|own| Self {
            database,
            settings,
            failures: FailureLog::default(),
            sweeper: tokio::spawn(sweep_again(own.clone())),
        }))
    }

    /// Returns whether there is a store of this name.
    pub(crate) fn has(&self, store: &str) -> bool {
        self.settings.stores.contains_key(store)
    }

    fn store(&self, store: &str) -> Result<&StoreSettings, StoreFailure> {
        let settings = self.settings.stores.get(store);
        settings.ok_or_else(|| StoreFailure::Refused("there is no such store".to_owned()))
    }

    fn logged<T>(&self, answer: Result<T, StoreFailure>) -> Result<T, KeyValueError> {
        answer.map_err(|failure| self.failures.record(failure))
    }

    /// Returns the value of each key that exists.
    ///
    /// # Errors
    /// See [`KeyValueError`].
    pub async fn values(&self, store: &str, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>, KeyValueError> {
        let values = async {
            self.store(store)?;
            check_keys(keys.iter())?;
            self.database.values(store, keys).await
        };
        self.logged(values.await)
    }

    /// Returns whether a key exists.
    ///
    /// # Errors
    /// See [`KeyValueError`].
    pub async fn exists(&self, store: &str, key: &str) -> Result<bool, KeyValueError> {
        let exists = async {
            self.store(store)?;
            check_key(key)?;
            self.database.exists(store, key).await
        };
        self.logged(exists.await)
    }

    /// Returns the first page of keys, or the one at the cursor of another page.
    ///
    /// # Errors
    /// See [`KeyValueError`].
    pub async fn page(&self, store: &str, cursor: Option<u64>) -> Result<KeyPage, KeyValueError> {
        let page = async {
            self.store(store)?;
            let after = i64::try_from(cursor.unwrap_or_default());
            let after =
                after.map_err(|_| StoreFailure::Refused("the cursor is not one of a page".to_owned()))?;
            let (keys, cursor) = self.database.page(store, after).await?;
            Ok::<_, StoreFailure>(KeyPage { keys, cursor })
        };
        self.logged(page.await)
    }

    /// Checks what can be checked of a change without the store.
    pub(crate) fn check(&self, store: &str, change: &Change) -> Result<(), KeyValueError> {
        self.logged(self.store(store).and_then(|settings| change.check(settings)))
    }

    /// Makes a change, and returns the sum of an increment, zero for others.
    ///
    /// # Errors
    /// See [`KeyValueError`]; nothing is changed then, but what a database did that answered too late.
    pub async fn write(&self, store: &str, change: &Change) -> Result<u64, KeyValueError> {
        let written = async {
            let settings = self.store(store)?;
            change.check(settings)?;
            self.database.write(store, settings, change).await
        };
        self.logged(written.await)
    }

    /// Deletes values that have expired, and returns how many.
    ///
    /// # Errors
    /// See [`KeyValueError`].
    pub async fn sweep(&self) -> Result<u64, KeyValueError> {
        let mut deleted = 0;
        for (store, settings) in &self.settings.stores {
            loop {
                let expired = self.logged(self.database.expire(store, settings).await)?;
                deleted += expired;
                if expired == 0 {
                    break;
                }
            }
        }
        Ok(deleted)
    }

    /// Returns whether the database is expected to answer: its file was opened, or it is a server, which is connected to on first
    /// use.
    pub fn is_reached(&self) -> bool {
        self.database.is_reached()
    }

    /// Returns why nothing can be written to the disk of the database, read-only or full; `None` if it can, and of a server.
    pub fn disk_fault(&self) -> Option<&'static str> {
        self.database.disk_fault()
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// Why it does not, for the log.
    pub async fn ping(&self) -> Result<(), String> {
        // No store has an empty name.
        self.database.exists("", "").await.map(drop).map_err(|failure| failure.to_string())
    }

    /// Checks that the database accepts a write.
    ///
    /// # Errors
    /// Why it does not, for the log.
    pub async fn probe(&self) -> Result<(), String> {
        self.database.probe().await.map_err(|failure| failure.to_string())
    }

    /// Closes the database's idle connections, and opens no more.
    pub async fn close(&self) {
        self.sweeper.abort();
        self.database.close().await;
    }
}

/// Deletes what has expired, until the stores are dropped.
async fn sweep_again(stores: Weak<KeyValue>) {
    loop {
        tokio::time::sleep(SWEEP_PAUSE).await;
        let Some(stores) = stores.upgrade() else { return };
        // The log has the error.
        let _ = stores.sweep().await;
    }
}
