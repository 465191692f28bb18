//! Operations on a bucket, as the call's part in shadowing has it: recorded, replayed, or on an overlay.

use bulkhead_runtime::capabilities::ShadowMode;

use super::bindings::wasi::keyvalue::store::Error;
use crate::{
    change::{Change, sum},
    error::KeyValueError,
    overlay::Overlay,
    slot::StoreBucket,
    stores::KeyPage,
};

/// Returns the value of a key.
pub(super) async fn read(
    shadow: &ShadowMode,
    bucket: &StoreBucket,
    key: String,
) -> Result<Option<Vec<u8>>, Error> {
    let written = shadow.overlay::<Overlay>().and_then(|overlay| overlay.get(&bucket.store, &key));
    if let Some(value) = written {
        return Ok(value);
    }
    let request = shadow.key(format_args!("keyvalue get {} {key:?}", bucket.store));
    let keys = [key];
    let ask = async { Ok::<_, Error>(bucket.values(&keys).await?.pop().flatten()) };
    shadow.replay_or_read(request, ask).await
}

/// Returns the pairs of the keys that exist.
pub(super) async fn read_many(
    shadow: &ShadowMode,
    bucket: &StoreBucket,
    keys: Vec<String>,
) -> Result<Vec<Option<(String, Vec<u8>)>>, Error> {
    let request = shadow.key(format_args!("keyvalue get {} {keys:?}", bucket.store));
    let ask = async { Ok::<_, Error>(bucket.values(&keys).await?) };
    let mut values = shadow.replay_or_read(request, ask).await?;
    if let Some(overlay) = shadow.overlay::<Overlay>() {
        for (key, value) in keys.iter().zip(&mut values) {
            if let Some(written) = overlay.get(&bucket.store, key) {
                *value = written;
            }
        }
    }
    let pairs = keys.into_iter().zip(values);
    Ok(pairs.map(|(key, value)| value.map(|value| (key, value))).collect())
}

/// Returns whether a key exists.
pub(super) async fn exists(shadow: &ShadowMode, bucket: &StoreBucket, key: String) -> Result<bool, Error> {
    let written = shadow.overlay::<Overlay>().and_then(|overlay| overlay.get(&bucket.store, &key));
    if let Some(value) = written {
        return Ok(value.is_some());
    }
    let request = shadow.key(format_args!("keyvalue exists {} {key:?}", bucket.store));
    let ask = async { Ok::<_, Error>(bucket.exists(&key).await?) };
    shadow.replay_or_read(request, ask).await
}

/// Returns a page of keys. A shadow call does not see the keys in it that it has written itself.
pub(super) async fn page(
    shadow: &ShadowMode,
    bucket: &StoreBucket,
    cursor: Option<u64>,
) -> Result<KeyPage, Error> {
    let request = shadow.key(format_args!("keyvalue list {} {cursor:?}", bucket.store));
    let ask = async { Ok::<_, Error>(bucket.page(cursor).await?) };
    shadow.replay_or_read(request, ask).await
}

/// Makes a change. A shadow call is answered as the live call was where that made the same change, and its change goes to the
/// overlay.
pub(super) async fn write(shadow: &ShadowMode, bucket: &StoreBucket, change: Change) -> Result<u64, Error> {
    let request = shadow.key(format_args!("keyvalue write {} {change:?}", bucket.store));
    let ask = async { Some(bucket.write(&change).await.map_err(Error::from)) };
    let answer: Option<Result<u64, Error>> = shadow.replay_or_write(request, || None, ask).await;
    let Some(overlay) = shadow.overlay::<Overlay>() else {
        return answer.unwrap_or_else(|| Err(KeyValueError::Unavailable.into()));
    };
    if answer.is_none() {
        bucket.check(&change)?;
    }
    let after = match (answer, &change) {
        (Some(answer), _) => answer?,
        (None, Change::Increment { key, delta }) => {
            let value = read(shadow, bucket, key.clone()).await?;
            sum(value.as_deref(), *delta).map_err(KeyValueError::Refused)?
        }
        (None, Change::Set(_) | Change::Delete(_)) => 0,
    };
    overlay.write(&bucket.store, change, after)?;
    Ok(after)
}

#[cfg(test)]
mod tests;
