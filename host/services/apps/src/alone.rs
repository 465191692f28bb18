//! A call that no client waits for: its response is read here, and not passed on.

use std::sync::Arc;

use bulkhead_runtime::capabilities::StoreData;
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;
use wasmtime::Store;

use crate::{
    call::{self, CallTask, GuestAnswer, GuestFault, Head},
    compared::BodyRecord,
    instance::AppInstance,
    progress::{CallProgress, TimeLimits},
    request::GuestRequest,
    response::GuestBody,
};

/// Gives a request to a guest, and reads its response, which has at most `limit` bytes.
pub(crate) async fn exchange(
    instance: &AppInstance,
    store: &mut Store<StoreData>,
    request: GuestRequest,
    progress: Arc<CallProgress>,
    limits: TimeLimits,
    limit: usize,
) -> wasmtime::Result<Result<GuestAnswer, GuestFault>> {
    let (head, responded) = oneshot::channel();
    let called = call::run(instance, store, request, head, Arc::clone(&progress), limits);
    let reading = async {
        read(responded, progress, limit).await;
        // The guest may go on after its response.
        std::future::pending::<GuestAnswer>().await
    };
    tokio::select! {
        answered = called => answered,
        answered = reading => Ok(Ok(answered)),
    }
}

async fn read(responded: oneshot::Receiver<Head>, progress: Arc<CallProgress>, limit: usize) {
    let Ok(Ok(response)) = responded.await else { return };
    // The call is the one that this is part of.
    let call = CallTask::spawn(std::future::pending());
    let record = BodyRecord::of(response.headers());
    let body = GuestBody::new(response.into_body(), progress, limit, None, call);
    let mut body = body.recorded(Some(record));
    while let Some(Ok(_)) = body.frame().await {}
}
