//! Looks up sessions and passwords of the appointment system's users.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{
    Clock, CollectError,
    connection::{
        Column::{Integer, Text},
        Connections, Parameter,
    },
};

/// A session's row holds the SHA-256 of its key, in lower-case hexadecimal.
const SESSION: &str = "SELECT COUNT(*) FROM nutzer WHERE SessionID = ? AND sessionExpiry > {local}";
const PASSWORD: &str = "SELECT Passworthash FROM nutzer WHERE Name = ?";
/// The first characters of hashes hold their cost: `$2y$12$`, `$argon2id$v=19$m=65536,t=4,p=1$`.
const HASH_COSTS: &str = "SELECT DISTINCT CASE WHEN Passworthash LIKE '$argon2%' THEN SUBSTR(Passworthash, 1, 48) \
                          WHEN Passworthash LIKE '$2%' THEN SUBSTR(Passworthash, 1, 7) ELSE '' END FROM nutzer";

/// Looks accounts up.
#[derive(Clone, Debug)]
pub struct Accounts {
    connections: Arc<Connections>,
    clock: Clock,
}

impl Accounts {
    pub(super) fn new(connections: Arc<Connections>, clock: Clock) -> Self {
        Self { connections, clock }
    }

    /// Returns whether `key` belongs to a session that has not expired.
    ///
    /// # Errors
    /// When the database gives no answer.
    pub async fn has_session(&self, key: &str) -> Result<bool, CollectError> {
        let id = hex::encode(Sha256::digest(key));
        let parameters = [Parameter::Text(id), Parameter::Text(self.clock.text(Clock::now()))];
        let mut rows = self.connections.rows(SESSION, &parameters, &[Integer]).await?;
        Ok(rows.pop().is_some_and(|mut row| row.count() > 0))
    }

    /// Returns the password's hash of the user called `name`; `None` when there is no such user, or several.
    ///
    /// # Errors
    /// When the database gives no answer.
    pub async fn password_hash(&self, name: &str) -> Result<Option<String>, CollectError> {
        // No database accepts it in a text, so no user has this name.
        if name.contains('\0') {
            return Ok(None);
        }
        let name = [Parameter::Text(name.to_owned())];
        let mut rows = self.connections.rows(PASSWORD, &name, &[Text]).await?;
        match rows.len() {
            1 => Ok(rows.pop().and_then(|mut row| row.text())),
            _ => Ok(None),
        }
    }

    /// Returns the beginnings of all users' hashes that determine the cost of a check, each once.
    ///
    /// # Errors
    /// When the database gives no answer.
    pub async fn hash_costs(&self) -> Result<Vec<String>, CollectError> {
        let rows = self.connections.rows(HASH_COSTS, &[], &[Text]).await?;
        Ok(rows.into_iter().filter_map(|mut row| row.text()).collect())
    }
}
