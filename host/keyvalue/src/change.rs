//! Changes to a store, and the quotas that are counted with them.

use super::{
    config::{KEY_BYTES, StoreSettings},
    error::StoreFailure,
};

/// Most keys of a batch.
pub(crate) const BATCH_KEYS: usize = 1000;

/// A change to a store, made completely or not at all.
#[derive(Clone, Debug)]
pub enum Change {
    /// Sets the values of keys.
    Set(Vec<(String, Vec<u8>)>),
    /// Deletes the keys that exist.
    Delete(Vec<String>),
    /// Adds to the number of a key.
    Increment {
        /// The key.
        key: String,
        /// What is added.
        delta: u64,
    },
}

/// What a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) keys: i64,
    /// Bytes of keys and values together.
    pub(crate) bytes: i64,
    /// The number of the key that was added last, by which keys are listed.
    pub(crate) last_id: i64,
}

/// The rows of one store, in a transaction that no other one of the store runs beside.
pub(crate) trait Rows {
    /// Returns what the store holds, and locks it until the end of the transaction.
    async fn usage(&mut self) -> Result<Usage, sqlx::Error>;
    async fn set_usage(&mut self, usage: Usage) -> Result<(), sqlx::Error>;
    /// Returns the number of a key, and the bytes that it takes with its value, expired or not.
    async fn find(&mut self, key: &str) -> Result<Option<(i64, i64)>, sqlx::Error>;
    /// Returns the value of a key unless it has expired.
    async fn value(&mut self, key: &str) -> Result<Option<Vec<u8>>, sqlx::Error>;
    async fn put(&mut self, id: i64, key: &str, value: &[u8]) -> Result<(), sqlx::Error>;
    async fn remove(&mut self, key: &str) -> Result<(), sqlx::Error>;
    /// Deletes values that have expired, within a number of them, and returns the bytes of each.
    async fn expire(&mut self) -> Result<Vec<i64>, sqlx::Error>;
}

impl Usage {
    fn remove(&mut self, bytes: i64) {
        self.keys -= 1;
        self.bytes -= bytes;
    }
}

/// Checks the length of a key.
pub(crate) fn check_key(key: &str) -> Result<(), StoreFailure> {
    if (1..=KEY_BYTES).contains(&key.len()) {
        return Ok(());
    }
    let text = format!("a key must have 1 to {KEY_BYTES} bytes, this one has {}", key.len());
    Err(StoreFailure::Refused(text))
}

/// Checks the number of keys of a batch, and their lengths.
pub(crate) fn check_keys<'k>(keys: impl ExactSizeIterator<Item = &'k String>) -> Result<(), StoreFailure> {
    if keys.len() > BATCH_KEYS {
        let text = format!("a batch may have {BATCH_KEYS} keys, this one has {}", keys.len());
        return Err(StoreFailure::Refused(text));
    }
    for key in keys {
        check_key(key)?;
    }
    Ok(())
}

impl Change {
    /// Checks what can be checked without the store.
    pub(crate) fn check(&self, settings: &StoreSettings) -> Result<(), StoreFailure> {
        match self {
            Self::Set(pairs) => {
                check_keys(pairs.iter().map(|(key, _)| key))?;
                let most = settings.value_bytes;
                match pairs.iter().find(|(_, value)| value.len() as u64 > most) {
                    None => Ok(()),
                    Some((_, value)) => {
                        let text = format!("a value may have {most} bytes, this one has {}", value.len());
                        Err(StoreFailure::Refused(text))
                    }
                }
            }
            Self::Delete(keys) => check_keys(keys.iter()),
            Self::Increment { key, .. } => check_key(key),
        }
    }

    /// Makes the change within the store's quotas, and returns the sum of an increment, zero for others. After an error the
    /// transaction must not be committed.
    pub(crate) async fn apply(
        &self,
        rows: &mut impl Rows,
        settings: &StoreSettings,
    ) -> Result<u64, StoreFailure> {
        let before = rows.usage().await?;
        let mut usage = before;
        let mut answer = 0;
        match self {
            Self::Set(pairs) => {
                for (key, value) in pairs {
                    put(rows, &mut usage, key, value).await?;
                }
            }
            Self::Delete(keys) => {
                for key in keys {
                    if let Some((_, bytes)) = rows.find(key).await? {
                        rows.remove(key).await?;
                        usage.remove(bytes);
                    }
                }
            }
            Self::Increment { key, delta } => {
                let value = rows.value(key).await?;
                answer = sum(value.as_deref(), *delta).map_err(StoreFailure::Refused)?;
                put(rows, &mut usage, key, answer.to_string().as_bytes()).await?;
            }
        }
        let excess = |usage: Usage| {
            let is_over = |now: i64, then: i64, quota: u64| now > then && now.cast_unsigned() > quota;
            if is_over(usage.keys, before.keys, settings.keys) {
                Some(("keys", settings.keys))
            } else {
                is_over(usage.bytes, before.bytes, settings.bytes).then_some(("bytes", settings.bytes))
            }
        };
        if excess(usage).is_some() {
            for bytes in rows.expire().await? {
                usage.remove(bytes);
            }
        }
        if let Some((unit, quota)) = excess(usage) {
            return Err(StoreFailure::Refused(format!("the store is full: it may hold {quota} {unit}")));
        }
        rows.set_usage(usage).await?;
        Ok(answer)
    }
}

async fn put(rows: &mut impl Rows, usage: &mut Usage, key: &str, value: &[u8]) -> Result<(), StoreFailure> {
    let bytes = i64::try_from(key.len() + value.len()).unwrap_or(i64::MAX);
    let id = match rows.find(key).await? {
        Some((id, replaced)) => {
            usage.bytes -= replaced;
            id
        }
        None => {
            usage.keys += 1;
            usage.last_id += 1;
            usage.last_id
        }
    };
    usage.bytes = usage.bytes.saturating_add(bytes);
    Ok(rows.put(id, key, value).await?)
}

/// Adds to a number in decimal digits; a key without value holds zero.
pub(crate) fn sum(value: Option<&[u8]>, delta: u64) -> Result<u64, String> {
    let number = match value {
        None => 0,
        Some(value) => {
            let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse::<u64>().ok());
            number.ok_or("the value is not a number in decimal digits")?
        }
    };
    number.checked_add(delta).ok_or_else(|| "the sum has more than 64 bits".to_owned())
}

/// Deletes values of a store that have expired, within a number of them, and returns how many.
pub(crate) async fn expire(rows: &mut impl Rows) -> Result<u64, StoreFailure> {
    let mut usage = rows.usage().await?;
    let expired = rows.expire().await?;
    for bytes in &expired {
        usage.remove(*bytes);
    }
    rows.set_usage(usage).await?;
    Ok(expired.len() as u64)
}
