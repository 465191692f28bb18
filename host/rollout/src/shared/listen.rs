//! Listening for the change notifications of the shared database.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::time::timeout;

use super::{SharedState, jittered, store::CHANNEL};

/// Limit of the time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Listens for change notifications until the shared state is dropped. Notifications are hints: without them
/// changes are seen at the next poll. A silent connection is closed when a poll fails.
pub(super) async fn listen(shared: Weak<SharedState>) {
    loop {
        let Some(current) = shared.upgrade() else { return };
        let (hint, mut heads) = (Arc::clone(&current.hint), current.heads.subscribe());
        let (options, pause) = (current.store.options.clone(), jittered(current.poll_interval));
        drop(current);
        if let Some(mut listener) = open(options).await {
            // Polls once, because notifications before this moment are lost.
            hint.notify_one();
            loop {
                let unreachable =
                    async { heads.wait_for(|heads| heads.unreachable.is_some()).await.map(drop) };
                tokio::select! {
                    notification = listener.try_recv() => match notification {
                        Ok(Some(_)) => hint.notify_one(),
                        Ok(None) | Err(_) => break,
                    },
                    _ = unreachable => break,
                }
            }
        }
        tokio::time::sleep(pause).await;
    }
}

async fn open(options: PgConnectOptions) -> Option<PgListener> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(CONNECT_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options);
    let open = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen(CHANNEL).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    timeout(CONNECT_TIMEOUT, open).await.ok()?.ok()
}
