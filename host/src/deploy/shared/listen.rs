use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::time::timeout;

use super::{Shared, depot::CHANNEL, jittered};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Has the database tell of changes, for as long as the state is there. It is a hint only: without it changes are seen a
/// little later. A connection that has gone silent is given up when the database does not answer the next look.
pub(super) async fn listen(shared: Weak<Shared>) {
    loop {
        let Some(state) = shared.upgrade() else { return };
        let (hint, mut heads) = (Arc::clone(&state.hint), state.heads.subscribe());
        let (options, pause) = (state.depot.options.clone(), jittered(state.poll));
        drop(state);
        if let Some(mut listener) = open(options).await {
            // Whatever was told before is seen now.
            hint.notify_one();
            loop {
                let away = async { heads.wait_for(|heads| heads.away.is_some()).await.map(drop) };
                tokio::select! {
                    told = listener.try_recv() => match told {
                        Ok(Some(_)) => hint.notify_one(),
                        Ok(None) | Err(_) => break,
                    },
                    _ = away => break,
                }
            }
        }
        tokio::time::sleep(pause).await;
    }
}

async fn open(options: PgConnectOptions) -> Option<PgListener> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options);
    let open = async {
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen(CHANNEL).await?;
        Ok::<_, sqlx::Error>(listener)
    };
    timeout(PATIENCE, open).await.ok()?.ok()
}
