//! A call that no client waits for: its response is read here, and not passed on.

use std::sync::Arc;

use bulkhead_runtime::capabilities::StoreData;
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;
use wasmtime::Store;

use crate::{
    call::{self, GuestAnswer, GuestFault},
    compared::BodyRecord,
    instance::AppInstance,
    progress::{CallProgress, Head, TimeLimits},
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
    let (sender, responded) = oneshot::channel();
    let respond = move |head: Head| {
        // The reader is polled as long as the call.
        let _ = sender.send(head);
    };
    let called = call::run(instance, store, request, respond, Arc::clone(&progress), limits);
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
    let record = BodyRecord::of(response.headers());
    let mut body = GuestBody::new(response.into_body(), progress, limit, None).recorded(Some(record));
    while let Some(Ok(_)) = body.frame().await {}
}
